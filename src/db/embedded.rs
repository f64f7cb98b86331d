//! A PostgreSQL of one's own: started from the machine's binaries when no address of a server is given.
//!
//! It listens on a unix socket in a folder that nobody else may enter, never on the network, and is as durable as
//! PostgreSQL is by default. One process at a time owns a data folder, by a lock on a file in it. PostgreSQL refuses
//! to run as root, so for root it runs as the user `postgres`, or `nobody`. It ends with this process: stopped in
//! order at the end, and by the parent-death signal (through `setpriv`, where the machine has it) after a crash.
//!
//! Start it on the main thread before the async runtime: the parent-death signal follows the thread that forked.

use std::{
    env,
    fs::{self, File, OpenOptions, TryLockError},
    io::{self, Read, Seek, SeekFrom},
    os::unix::{
        fs::{MetadataExt, PermissionsExt, chown},
        process::CommandExt,
    },
    path::{Path, PathBuf},
    process::{Child, Command, ExitStatus, Stdio},
    thread::sleep,
    time::{Duration, Instant},
};

/// Longest path of a unix socket that every platform takes, less the name of PostgreSQL's socket in it.
const LONGEST_SOCKET_DIR: usize = 103 - "/.s.PGSQL.5432.lock".len();
const START_TIMEOUT: Duration = Duration::from_secs(60);
const STOP_TIMEOUT: Duration = Duration::from_secs(30);
const POLL: Duration = Duration::from_millis(20);
/// The server's log is begun anew at a start when it is larger than this.
const LARGEST_LOG: u64 = 10 * 1024 * 1024;

/// Why the private PostgreSQL did not start. Each says what to do.
#[derive(Debug, thiserror::Error)]
pub enum StartError {
    /// No binaries.
    #[error(
        "no PostgreSQL is installed here: install it (Debian: apt-get install postgresql; Homebrew: brew install \
         postgresql@17), name its folder of programs in LEVERET_POSTGRES_BIN_DIR, or give the address of a server \
         in DATABASE_URL"
    )]
    NotInstalled,
    /// Binaries of other versions only.
    #[error(
        "the data in {data_dir} are of PostgreSQL {version}, which is not installed here: install it or set \
         LEVERET_DATA_DIR to another folder"
    )]
    OtherVersion {
        /// The folder.
        data_dir: PathBuf,
        /// The major version that made it.
        version: String,
    },
    /// Another process has the folder.
    #[error(
        "another leveret uses {0}: stop it, set LEVERET_DATA_DIR to another folder for a second one, or set \
         DATABASE_URL for two that share one database"
    )]
    InUse(PathBuf),
    /// No home to put data in.
    #[error("no folder for data is known on this machine: set LEVERET_DATA_DIR or DATABASE_URL")]
    NoDataDir,
    /// Root without anybody to run it as.
    #[error("PostgreSQL does not run as root and there is no user 'postgres' or 'nobody': set DATABASE_URL")]
    NoUnprivilegedUser,
    /// A folder or file.
    #[error("cannot use {path}: {cause}; set LEVERET_DATA_DIR to a folder that can be written")]
    Folder {
        /// Which.
        path: PathBuf,
        /// Why.
        cause: io::Error,
    },
    /// The data folder is below one that the server's user may not enter.
    #[error(
        "the user {user}, as whom PostgreSQL must run, cannot write in {path}: set LEVERET_DATA_DIR to a new folder or one of that user's"
    )]
    Unreachable {
        /// The folder.
        path: PathBuf,
        /// The user.
        user: String,
    },
    /// One of its programs failed.
    #[error("PostgreSQL's {program} failed: {output}")]
    Failed {
        /// Which.
        program: &'static str,
        /// The end of what it said.
        output: String,
    },
}

/// Where the data of the private PostgreSQL are kept unless somebody says otherwise.
///
/// # Errors
///
/// When the platform has no such place.
pub fn default_data_dir() -> Result<PathBuf, StartError> {
    if running_as_root() {
        return Ok(PathBuf::from("/var/lib/leveret"));
    }
    let dirs = directories::ProjectDirs::from("", "", "leveret").ok_or(StartError::NoDataDir)?;
    Ok(dirs.data_dir().to_owned())
}

/// What may be lost when the machine crashes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Durability {
    /// Nothing that was committed.
    Full,
    /// Everything: for tests, which throw it away anyway. No setting of the service leads here.
    NoneForTests,
}

/// A running private PostgreSQL; stopped when dropped.
#[derive(Debug)]
pub struct PrivatePostgres {
    child: Child,
    url: String,
    // Held as long as the server runs.
    _lock: File,
}

impl PrivatePostgres {
    /// Starts the server on this folder, which is made if need be.
    ///
    /// # Errors
    ///
    /// Why it did not start, and what to do.
    pub fn start(
        data_dir: &Path,
        bin_dir: Option<&Path>,
        durability: Durability,
    ) -> Result<PrivatePostgres, StartError> {
        let user = Unprivileged::find()?;
        make_dir(data_dir, 0o755, user.as_ref())?;
        let data_dir = &fs::canonicalize(data_dir).map_err(|cause| folder(data_dir, cause))?;
        let lock = lock(data_dir)?;
        let cluster = data_dir.join("postgres");
        let bin_dir = find_programs(bin_dir, data_dir, &cluster)?;
        let programs = Programs { bin_dir, user, home: data_dir.clone() };
        programs.check_reach(data_dir)?;

        remove_leftovers(data_dir, &cluster)?;
        if !cluster.join("PG_VERSION").exists() {
            programs.initialise(&cluster, durability)?;
        }
        let socket_dir = programs.socket_dir(data_dir)?;
        clear_socket(&socket_dir)?;
        let log = data_dir.join("postgres.log");
        let child = programs.serve(&cluster, &socket_dir, &log, durability)?;
        let url = format!("postgres://leveret@localhost/leveret?host={}", percent_encode(&socket_dir));
        let mut postgres = PrivatePostgres { child, url, _lock: lock };
        postgres.wait_until_ready(&programs, &socket_dir, &log)?;
        programs.create_database(&socket_dir)?;
        Ok(postgres)
    }

    /// The address of its database, for sqlx, psql and pgbench alike.
    pub fn url(&self) -> &str {
        &self.url
    }

    /// The id of the server's process.
    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    /// Stops the server: sessions are ended, everything is written.
    ///
    /// # Errors
    ///
    /// When it had to be killed; what was committed is safe all the same.
    pub fn stop(mut self) -> Result<(), StartError> {
        self.shut_down()
    }

    fn wait_until_ready(&mut self, programs: &Programs, socket_dir: &Path, log: &Path) -> Result<(), StartError> {
        let begun = Instant::now();
        loop {
            let ended = self.child.try_wait().map_err(|cause| folder(log, cause))?;
            if ended.is_some() || begun.elapsed() > START_TIMEOUT {
                return Err(StartError::Failed { program: "postgres", output: last_lines(log) });
            }
            let mut ask = programs.command("pg_isready");
            ask.arg("-q").arg("-h").arg(socket_dir).args(["-d", "postgres"]);
            if ask.status().is_ok_and(|status| status.success()) {
                return Ok(());
            }
            sleep(POLL);
        }
    }

    fn shut_down(&mut self) -> Result<(), StartError> {
        if matches!(self.child.try_wait(), Ok(Some(_))) {
            return Ok(());
        }
        // SIGINT is PostgreSQL's fast shutdown.
        let _ = Command::new("kill").args(["-INT", &self.child.id().to_string()]).status();
        let begun = Instant::now();
        while begun.elapsed() < STOP_TIMEOUT {
            if matches!(self.child.try_wait(), Ok(Some(_))) {
                return Ok(());
            }
            sleep(POLL);
        }
        let _ = self.child.kill();
        let _ = self.child.wait();
        Err(StartError::Failed { program: "postgres", output: "it did not stop in 30 s and was killed".to_owned() })
    }
}

impl Drop for PrivatePostgres {
    fn drop(&mut self) {
        if let Err(err) = self.shut_down() {
            tracing::warn!(cause = %err, "private PostgreSQL");
        }
    }
}

/// The user that the server runs as when this process is root.
#[derive(Clone, Debug)]
struct Unprivileged {
    name: String,
    uid: u32,
    gid: u32,
}

impl Unprivileged {
    /// Nobody in particular unless this process is root.
    fn find() -> Result<Option<Unprivileged>, StartError> {
        if !running_as_root() {
            return Ok(None);
        }
        let passwd = fs::read_to_string("/etc/passwd").unwrap_or_default();
        let entry = |wanted: &str| {
            passwd.lines().find_map(|line| {
                let mut fields = line.split(':');
                let name = fields.next()?;
                let (uid, gid) = (fields.nth(1)?.parse().ok()?, fields.next()?.parse().ok()?);
                (name == wanted).then(|| Unprivileged { name: name.to_owned(), uid, gid })
            })
        };
        entry("postgres").or_else(|| entry("nobody")).map(Some).ok_or(StartError::NoUnprivilegedUser)
    }
}

/// Whether this process is root, told by whom its own entry in /proc belongs to, or by `id`.
fn running_as_root() -> bool {
    if let Ok(own) = fs::metadata("/proc/self") {
        return own.uid() == 0;
    }
    Command::new("id").arg("-u").output().is_ok_and(|output| output.stdout.trim_ascii() == b"0")
}

fn folder(path: &Path, cause: io::Error) -> StartError {
    StartError::Folder { path: path.to_owned(), cause }
}

/// Makes a folder for the server's user. One that is there and has something in it is left to whom it belongs.
fn make_dir(path: &Path, mode: u32, owner: Option<&Unprivileged>) -> Result<(), StartError> {
    fs::create_dir_all(path).map_err(|cause| folder(path, cause))?;
    let mut entries = fs::read_dir(path).map_err(|cause| folder(path, cause))?;
    if let (Some(owner), None) = (owner, entries.next()) {
        chown(path, Some(owner.uid), Some(owner.gid)).map_err(|cause| folder(path, cause))?;
        fs::set_permissions(path, fs::Permissions::from_mode(mode)).map_err(|cause| folder(path, cause))?;
    }
    Ok(())
}

/// Holds the folder for this process. The lock goes with the process, however it ends.
fn lock(data_dir: &Path) -> Result<File, StartError> {
    let path = data_dir.join("leveret.lock");
    let file = OpenOptions::new().create(true).truncate(false).write(true).open(&path);
    let file = file.map_err(|cause| folder(&path, cause))?;
    match file.try_lock() {
        Ok(()) => Ok(file),
        Err(TryLockError::WouldBlock) => Err(StartError::InUse(data_dir.to_owned())),
        Err(TryLockError::Error(cause)) => Err(folder(&path, cause)),
    }
}

/// Finds PostgreSQL's programs: of the version that made the data, if there are any, else the newest.
fn find_programs(given: Option<&Path>, data_dir: &Path, cluster: &Path) -> Result<PathBuf, StartError> {
    let version = fs::read_to_string(cluster.join("PG_VERSION")).ok().map(|text| text.trim().to_owned());
    let mut candidates: Vec<PathBuf> = Vec::new();
    match given {
        Some(given) => candidates.push(given.to_owned()),
        None => {
            if let Ok(output) = Command::new("pg_config").arg("--bindir").output() {
                candidates.push(PathBuf::from(String::from_utf8_lossy(&output.stdout).trim()));
            }
            candidates.extend(versioned("/usr/lib/postgresql", "", "bin"));
            for opt in ["/opt/homebrew/opt", "/usr/local/opt", "/home/linuxbrew/.linuxbrew/opt"] {
                candidates.extend(versioned(opt, "postgresql@", "bin"));
                candidates.push(PathBuf::from(opt).join("postgresql/bin"));
            }
            candidates.extend(versioned("/usr", "pgsql-", "bin"));
            candidates.extend(env::split_paths(&env::var_os("PATH").unwrap_or_default()));
        }
    }
    candidates.retain(|dir| dir.join("postgres").is_file() && dir.join("initdb").is_file());
    if candidates.is_empty() {
        return Err(StartError::NotInstalled);
    }
    let Some(version) = version else { return Ok(candidates.swap_remove(0)) };
    let fitting = candidates.into_iter().find(|dir| major_version(dir).as_deref() == Some(version.as_str()));
    fitting.ok_or_else(|| StartError::OtherVersion { data_dir: data_dir.to_owned(), version })
}

/// Folders like /usr/lib/postgresql/17/bin, the newest first.
fn versioned(parent: &str, prefix: &str, below: &str) -> Vec<PathBuf> {
    let entries = fs::read_dir(parent).into_iter().flatten().flatten();
    let mut found: Vec<(u32, PathBuf)> = entries
        .filter_map(|entry| {
            let version = entry.file_name().to_str()?.strip_prefix(prefix)?.parse().ok()?;
            Some((version, entry.path().join(below)))
        })
        .collect();
    found.sort_by(|one, other| other.0.cmp(&one.0));
    found.into_iter().map(|(_, path)| path).collect()
}

/// "17" from "postgres (PostgreSQL) 17.2 (Debian …)".
fn major_version(bin_dir: &Path) -> Option<String> {
    let output = Command::new(bin_dir.join("postgres")).arg("--version").output().ok()?;
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let version = text.split_whitespace().find(|word| word.starts_with(|first: char| first.is_ascii_digit()))?;
    let digits: String = version.chars().take_while(char::is_ascii_digit).collect();
    Some(digits)
}

/// Clears away what a crash left, under our own lock. A server of a process that died is waited for, then stopped;
/// a pid file whose process does not work in this folder (it died, is a zombie, or its number was given to another)
/// is removed.
fn remove_leftovers(data_dir: &Path, cluster: &Path) -> Result<(), StartError> {
    let unfinished = data_dir.join("postgres.new");
    if unfinished.exists() {
        fs::remove_dir_all(&unfinished).map_err(|cause| folder(&unfinished, cause))?;
    }
    let pid_file = cluster.join("postmaster.pid");
    let begun = Instant::now();
    loop {
        let Ok(text) = fs::read_to_string(&pid_file) else { return Ok(()) };
        let pid = text.lines().next().and_then(|line| line.trim().parse::<u32>().ok());
        let Some(pid) = pid.filter(|pid| works_in(*pid, cluster)) else {
            return fs::remove_file(&pid_file).map_err(|cause| folder(&pid_file, cause));
        };
        if begun.elapsed() > Duration::from_secs(1) {
            let signal = if begun.elapsed() > Duration::from_secs(20) { "-KILL" } else { "-INT" };
            let _ = Command::new("kill").args([signal, &pid.to_string()]).status();
        }
        if begun.elapsed() > STOP_TIMEOUT {
            return Err(StartError::InUse(data_dir.to_owned()));
        }
        sleep(POLL * 5);
    }
}

/// Whether a process is alive and has this as its working folder, as a server has its data.
fn works_in(pid: u32, cluster: &Path) -> bool {
    if Path::new("/proc/self").exists() {
        return fs::read_link(format!("/proc/{pid}/cwd")).is_ok_and(|cwd| cwd == cluster);
    }
    // Without /proc (macOS), any live process of a server counts.
    let command = Command::new("ps").args(["-o", "comm=", "-p", &pid.to_string()]).output();
    command.is_ok_and(|output| String::from_utf8_lossy(&output.stdout).contains("postgres"))
}

/// Removes the socket of a server that is gone: nobody else has the folder.
fn clear_socket(socket_dir: &Path) -> Result<(), StartError> {
    for name in [".s.PGSQL.5432", ".s.PGSQL.5432.lock"] {
        match fs::remove_file(socket_dir.join(name)) {
            Ok(()) => {}
            Err(err) if err.kind() == io::ErrorKind::NotFound => {}
            Err(cause) => return Err(folder(&socket_dir.join(name), cause)),
        }
    }
    Ok(())
}

fn last_lines(log: &Path) -> String {
    let mut text = String::new();
    if let Ok(mut file) = File::open(log) {
        let length = file.metadata().map_or(0, |meta| meta.len());
        let _ = file.seek(SeekFrom::Start(length.saturating_sub(1500)));
        let _ = file.read_to_string(&mut text);
    }
    let lines: Vec<&str> = text.lines().collect();
    format!("{} (the whole log: {})", lines[lines.len().saturating_sub(5)..].join(" | "), log.display())
}

fn percent_encode(path: &Path) -> String {
    let keep = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.".contains(&byte);
    let bytes = path.as_os_str().as_encoded_bytes();
    bytes.iter().map(|byte| if keep(*byte) { char::from(*byte).to_string() } else { format!("%{byte:02X}") }).collect()
}

/// How to run PostgreSQL's programs here.
struct Programs {
    bin_dir: PathBuf,
    user: Option<Unprivileged>,
    home: PathBuf,
}

impl Programs {
    /// A program as the server's user, in a folder that this user can enter, without settings from outside.
    fn command(&self, program: &str) -> Command {
        let mut command = Command::new(self.bin_dir.join(program));
        self.confine(&mut command);
        command
    }

    fn confine(&self, command: &mut Command) {
        for (name, _) in env::vars_os() {
            if name.as_encoded_bytes().starts_with(b"PG") {
                command.env_remove(&name);
            }
        }
        command.env("LC_ALL", "C").current_dir(&self.home).stdin(Stdio::null());
        command.stdout(Stdio::null()).stderr(Stdio::null()).process_group(0);
        if let Some(user) = &self.user {
            command.uid(user.uid).gid(user.gid);
        }
    }

    /// Whether the server's user can enter the folder at all.
    fn check_reach(&self, path: &Path) -> Result<(), StartError> {
        let Some(user) = &self.user else { return Ok(()) };
        let mut test = Command::new("test");
        self.confine(&mut test);
        let reached = test.current_dir("/").arg("-w").arg(path).status().is_ok_and(|status| status.success());
        if reached {
            Ok(())
        } else {
            Err(StartError::Unreachable { path: path.to_owned(), user: user.name.clone() })
        }
    }

    fn run(&self, program: &'static str, command: &mut Command) -> Result<(), StartError> {
        let output = command.stdout(Stdio::piped()).stderr(Stdio::piped()).output();
        let output = output.map_err(|cause| folder(&self.bin_dir.join(program), cause))?;
        if output.status.success() {
            return Ok(());
        }
        let said = [output.stdout, output.stderr].concat();
        let said = String::from_utf8_lossy(&said).trim().replace('\n', " | ");
        Err(StartError::Failed { program, output: said })
    }

    /// Makes the cluster beside its place and moves it there whole, so that a crash midway leaves none.
    fn initialise(&self, cluster: &Path, durability: Durability) -> Result<(), StartError> {
        let unfinished = cluster.with_extension("new");
        let mut initdb = self.command("initdb");
        initdb.arg("-D").arg(&unfinished).args(["-U", "leveret", "-A", "trust", "-E", "UTF8", "--locale=C"]);
        if durability == Durability::NoneForTests {
            initdb.arg("--no-sync");
        }
        self.run("initdb", &mut initdb)?;
        fs::rename(&unfinished, cluster).map_err(|cause| folder(cluster, cause))
    }

    /// A folder for the socket that only the server's user and root may enter: in the data folder if its path is
    /// short enough, else in the folder for temporary files under a name that nobody can guess.
    fn socket_dir(&self, data_dir: &Path) -> Result<PathBuf, StartError> {
        let usual = data_dir.join("socket");
        let dir = if usual.as_os_str().len() <= LONGEST_SOCKET_DIR {
            usual
        } else {
            env::temp_dir().join(format!("leveret-{:032x}", crate::dice::roll::<u128>()))
        };
        make_dir(&dir, 0o700, self.user.as_ref())?;
        fs::set_permissions(&dir, fs::Permissions::from_mode(0o700)).map_err(|cause| folder(&dir, cause))?;
        Ok(dir)
    }

    fn serve(
        &self,
        cluster: &Path,
        socket_dir: &Path,
        log: &Path,
        durability: Durability,
    ) -> Result<Child, StartError> {
        let large = fs::metadata(log).is_ok_and(|meta| meta.len() > LARGEST_LOG);
        let mut options = OpenOptions::new();
        options.create(true).write(true);
        let file = if large { options.truncate(true) } else { options.append(true) }.open(log);
        let file = file.map_err(|cause| folder(log, cause))?;
        let errors = file.try_clone().map_err(|cause| folder(log, cause))?;

        let postgres = self.bin_dir.join("postgres");
        let mut command = match find_on_path("setpriv") {
            Some(setpriv) => {
                let mut command = Command::new(setpriv);
                // SIGINT, PostgreSQL's fast shutdown.
                command.args(["--pdeathsig", "INT", "--"]).arg(&postgres);
                command
            }
            None => Command::new(&postgres),
        };
        self.confine(&mut command);
        command.arg("-D").arg(cluster).arg("-k").arg(socket_dir).args(["-p", "5432"]);
        let mut settings = vec!["listen_addresses=", "max_connections=200", "shared_buffers=256MB", "logging_collector=off"];
        match durability {
            Durability::Full => settings.extend(["fsync=on", "full_page_writes=on", "synchronous_commit=on"]),
            Durability::NoneForTests => {
                settings.extend(["fsync=off", "full_page_writes=off", "synchronous_commit=off", "max_connections=500"]);
            }
        }
        for setting in settings {
            command.arg("-c").arg(setting);
        }
        command.stdout(file).stderr(errors);
        command.spawn().map_err(|cause| folder(&postgres, cause))
    }

    /// Makes the database `leveret` if it is not there.
    fn create_database(&self, socket_dir: &Path) -> Result<(), StartError> {
        let psql = |sql: &str| -> io::Result<ExitStatus> {
            let mut psql = self.command("psql");
            psql.arg("-h").arg(socket_dir).args(["-U", "leveret", "-d", "postgres", "-qtAc", sql]);
            psql.status()
        };
        let mut ask = self.command("psql");
        ask.arg("-h").arg(socket_dir).args(["-U", "leveret", "-d", "leveret", "-qtAc", "select 1"]);
        if ask.status().is_ok_and(|status| status.success()) {
            return Ok(());
        }
        match psql("create database leveret") {
            Ok(status) if status.success() => Ok(()),
            Ok(_) => Err(StartError::Failed { program: "psql", output: "create database leveret".to_owned() }),
            Err(cause) => Err(folder(&self.bin_dir.join("psql"), cause)),
        }
    }
}

fn find_on_path(program: &str) -> Option<PathBuf> {
    env::split_paths(&env::var_os("PATH")?).map(|dir| dir.join(program)).find(|path| path.is_file())
}
