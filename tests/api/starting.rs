//! The private PostgreSQL: it starts where it is let, keeps what it was given, and leaves nothing running.

use std::{
    env,
    fs::{self, Permissions},
    io::{BufRead, BufReader},
    os::unix::{
        fs::{MetadataExt, PermissionsExt},
        process::CommandExt,
    },
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
    thread,
    time::{Duration, Instant},
};

use leveret::{
    db::embedded::{PrivatePostgres, StartError},
    dice,
};
use sqlx::{AssertSqlSafe, Connection, PgConnection};

use crate::harness::database::fastest_folder;

/// Tells this test binary, run by one of its own tests, to be the service that is killed.
const BE_THE_SERVICE: &str = "LEVERET_TEST_SERVICE_ON";

/// A folder that goes with the test.
struct Folder(PathBuf);

impl Folder {
    fn new() -> Folder {
        let folder = fastest_folder().join(format!("leveret-start-{:016x}", dice::roll::<u64>()));
        fs::create_dir(&folder).unwrap();
        fs::set_permissions(&folder, Permissions::from_mode(0o755)).unwrap();
        Folder(folder)
    }

    fn data_dir(&self) -> PathBuf {
        self.0.join("data")
    }

    fn pid_file(&self) -> PathBuf {
        self.data_dir().join("postgres/postmaster.pid")
    }

    fn start(&self) -> PrivatePostgres {
        start(&self.data_dir())
    }

    /// The process of the server that runs here.
    fn postmaster(&self) -> u32 {
        let text = fs::read_to_string(self.pid_file()).unwrap();
        text.lines().next().unwrap().trim().parse().unwrap()
    }

    fn server_uid(&self) -> u32 {
        fs::metadata(self.data_dir().join("postgres")).unwrap().uid()
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

fn start(data_dir: &Path) -> PrivatePostgres {
    PrivatePostgres::start(data_dir, None).unwrap_or_else(|error| panic!("{error}"))
}

/// Runs statements; the last one's single value, as text.
fn ask(postgres: &PrivatePostgres, statements: &[&str]) -> String {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        let mut connection = PgConnection::connect(postgres.url()).await.unwrap();
        let (last, earlier) = statements.split_last().unwrap();
        for statement in earlier {
            sqlx::query(AssertSqlSafe(*statement)).execute(&mut connection).await.unwrap();
        }
        let answer = sqlx::query_scalar(AssertSqlSafe(*last)).fetch_one(&mut connection).await.unwrap();
        connection.close().await.unwrap();
        answer
    })
}

const REMEMBER: [&str; 3] =
    ["create table kept (word text)", "insert into kept values ('hare')", "select word from kept"];
const RECALL: [&str; 1] = ["select word from kept"];

fn signal(name: &str, pid: u32) {
    assert!(Command::new("kill").args(["-s", name, &pid.to_string()]).status().unwrap().success());
}

/// Whether a process runs; one that only waits to be reaped does not.
fn runs(pid: u32) -> bool {
    let output = Command::new("ps").args(["-o", "stat=", "-p", &pid.to_string()]).output().unwrap();
    let state = String::from_utf8_lossy(&output.stdout).trim().to_owned();
    !state.is_empty() && !state.starts_with('Z')
}

#[track_caller]
fn eventually(what: &str, mut holds: impl FnMut() -> bool) {
    let began = Instant::now();
    while !holds() {
        assert!(began.elapsed() < Duration::from_secs(20), "still not so: {what}");
        thread::sleep(Duration::from_millis(5));
    }
}

/// A service in a process of its own, which is killed with this value.
struct Service(Child);

impl Service {
    /// Runs the test of this name as a service, in its own process group.
    fn start(test: &str, folder: &Folder) -> Service {
        let mut command = Command::new(env::current_exe().unwrap());
        command
            .args(["--exact", &format!("starting::{test}"), "--nocapture"])
            .env(BE_THE_SERVICE, folder.data_dir());
        command.process_group(0).stdout(Stdio::null()).stderr(Stdio::piped());
        let mut service = Service(command.spawn().unwrap());
        let mut lines = BufReader::new(service.0.stderr.take().unwrap()).lines();
        assert!(lines.any(|line| line.unwrap() == "it is up"), "the service starts");
        service
    }

    fn kill(&mut self) {
        self.0.kill().unwrap();
        self.0.wait().unwrap();
    }
}

impl Drop for Service {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Is the service, if this process was started as one.
fn be_the_service(start: impl FnOnce(&Path) -> PrivatePostgres) {
    if let Some(data_dir) = env::var_os(BE_THE_SERVICE) {
        let _postgres = start(Path::new(&data_dir));
        eprintln!("it is up");
        // Longer than any test waits. Its end is to be killed.
        thread::sleep(Duration::from_secs(60));
        std::process::exit(1);
    }
}

#[test]
fn a_restart_keeps_the_data() {
    let folder = Folder::new();
    let postgres = folder.start();
    assert_eq!(ask(&postgres, &REMEMBER), "hare");
    postgres.stop().unwrap();
    assert!(!folder.pid_file().exists());

    let postgres = folder.start();
    assert_eq!(ask(&postgres, &RECALL), "hare");
    drop(postgres);
    assert!(!folder.pid_file().exists());
}

#[test]
fn durability_cannot_be_configured_away() {
    let folder = Folder::new();
    folder.start().stop().unwrap();
    let overrides = folder.data_dir().join("postgres/postgresql.auto.conf");
    fs::write(overrides, "fsync = off\nfull_page_writes = off\nsynchronous_commit = off\n").unwrap();

    let postgres = folder.start();
    for setting in ["fsync", "full_page_writes", "synchronous_commit"] {
        assert_eq!(ask(&postgres, &[&format!("show {setting}")]), "on", "{setting}");
    }
}

#[test]
fn the_service_owns_its_database_but_is_no_superuser() {
    let folder = Folder::new();
    let postgres = folder.start();
    let owner = "select pg_get_userbyid(datdba)::text from pg_database where datname = current_database()";
    assert_eq!(ask(&postgres, &[owner]), "leveret");
    assert_eq!(
        ask(&postgres, &["select rolsuper::text from pg_roles where rolname = current_user"]),
        "false"
    );
    assert_eq!(ask(&postgres, &["show server_encoding"]), "UTF8");
}

#[test]
fn a_killed_postmaster_is_recovered() {
    let folder = Folder::new();
    let postgres = folder.start();
    ask(&postgres, &REMEMBER);
    signal("KILL", folder.postmaster());
    eventually("its end is noticed", || !runs(folder.postmaster()));
    let error = postgres.stop().unwrap_err();
    assert!(error.to_string().contains("ended by itself"), "{error}");

    assert_eq!(ask(&folder.start(), &RECALL), "hare");
}

#[test]
fn a_second_instance_is_refused_and_told_what_to_do() {
    let folder = Folder::new();
    let postgres = folder.start();
    let error = PrivatePostgres::start(&folder.data_dir(), None).unwrap_err();
    assert!(matches!(error, StartError::InUse { .. }), "{error}");
    let sentence = error.to_string();
    for part in [folder.data_dir().to_str().unwrap(), "LEVERET_DATA_DIR", "DATABASE_URL"] {
        assert!(sentence.contains(part), "{sentence}");
    }
    assert_eq!(ask(&postgres, &["select 'undisturbed'"]), "undisturbed");
}

#[test]
fn a_killed_service_takes_its_postgres_along() {
    be_the_service(start);
    let folder = Folder::new();
    let mut service = Service::start("a_killed_service_takes_its_postgres_along", &folder);
    let postmaster = folder.postmaster();
    assert!(runs(postmaster));
    let killed = Instant::now();
    service.kill();
    eventually("PostgreSQL has ended", || !runs(postmaster));
    println!("PostgreSQL had ended {:?} after its service", killed.elapsed());
    folder.start().stop().unwrap();
}

#[test]
fn a_killed_test_run_leaves_neither_process_nor_file() {
    be_the_service(|data_dir| PrivatePostgres::start_for_tests(data_dir).unwrap());
    let folder = Folder::new();
    let service = Service::start("a_killed_test_run_leaves_neither_process_nor_file", &folder);
    let postmaster = folder.postmaster();
    // The whole process group, as a terminal or a runner of tests does it.
    assert!(
        Command::new("kill")
            .args(["-s", "KILL", "--", &format!("-{}", service.0.id())])
            .status()
            .unwrap()
            .success()
    );
    eventually("PostgreSQL has ended", || !runs(postmaster));
    eventually("its folder is gone", || !folder.data_dir().exists());
}

#[test]
fn a_postgres_that_outlived_its_service_is_replaced() {
    let folder = Folder::new();
    let mut postgres = Some(folder.start());
    ask(postgres.as_ref().unwrap(), &REMEMBER);
    postgres.take().unwrap().stop().unwrap();

    // The same server, by hand: nobody holds the lock, and nothing ends it.
    let program = fs::read_to_string(folder.data_dir().join("postgres/postmaster.opts")).unwrap();
    let mut command = Command::new(program.split_whitespace().next().unwrap());
    command.arg("-D").arg(folder.data_dir().join("postgres")).args(["-c", "listen_addresses=", "-k"]);
    command
        .arg(folder.data_dir().join("socket"))
        .current_dir("/")
        .stdout(Stdio::null())
        .stderr(Stdio::null());
    if fs::metadata("/proc/self").is_ok_and(|own| own.uid() == 0) {
        command.uid(folder.server_uid());
    }
    let mut outliving = command.spawn().unwrap();
    eventually("it is ready", || fs::read_to_string(folder.pid_file()).unwrap_or_default().contains("ready"));

    // Unreaped here, as where process 1 reaps nobody.
    let replacement = folder.start();
    assert_eq!(ask(&replacement, &RECALL), "hare");
    assert_ne!(folder.postmaster(), outliving.id());
    outliving.wait().unwrap();
}

#[test]
fn a_pid_file_that_names_a_zombie_or_a_stranger_does_not_matter() {
    let folder = Folder::new();
    folder.start().stop().unwrap();
    for fate in ["alive", "zombie"] {
        let mut command = Command::new("sleep");
        command.arg("60").current_dir("/");
        // Of the server's own user, since it disregards the processes of others.
        if fs::metadata("/proc/self").is_ok_and(|own| own.uid() == 0) {
            command.uid(folder.server_uid());
        }
        let mut stranger = command.spawn().unwrap();
        if fate == "zombie" {
            stranger.kill().unwrap();
            eventually("it is a zombie", || !runs(stranger.id()));
        }
        let socket = folder.data_dir().join("socket");
        let text =
            format!("{}\n{}\n1\n5432\n{}\n", stranger.id(), folder.data_dir().display(), socket.display());
        fs::write(folder.pid_file(), &text).unwrap();
        fs::write(socket.join(".s.PGSQL.5432.lock"), &text).unwrap();

        let postgres = folder.start();
        assert_eq!(ask(&postgres, &["select 'up'"]), "up");
        postgres.stop().unwrap();
        assert_eq!(stranger.try_wait().unwrap().is_none(), fate == "alive", "the stranger is left alone");
        let _ = stranger.kill();
        stranger.wait().unwrap();
    }
}

#[test]
fn a_kill_in_the_midst_of_the_first_start_does_no_harm() {
    let folder = Folder::new();
    let unfinished = folder.data_dir().join("postgres.new-0123");
    fs::create_dir_all(unfinished.join("base")).unwrap();
    fs::set_permissions(folder.data_dir(), Permissions::from_mode(0o711)).unwrap();
    fs::write(unfinished.join("PG_VERSION"), "15\n").unwrap();
    let postgres = folder.start();
    assert_eq!(ask(&postgres, &["select 'up'"]), "up");
    assert!(!unfinished.exists());
}

#[test]
fn a_folder_with_a_long_and_odd_name_will_do() {
    let folder = Folder::new();
    let data_dir = folder.0.join("a name, with \"quotes\" & 100% more + ü").join("x".repeat(120));
    for _ in 0..2 {
        let postgres = start(&data_dir);
        assert_eq!(ask(&postgres, &["select 'up'"]), "up");
        let elsewhere = fs::read_link(data_dir.join("socket")).unwrap();
        assert_eq!(elsewhere.symlink_metadata().unwrap().mode() & 0o777, 0o700);
        postgres.stop().unwrap();
        assert!(!elsewhere.exists());
    }
}

#[test]
fn an_odd_but_short_name_is_quoted() {
    let folder = Folder::new();
    let postgres = start(&folder.0.join("a, \"b\" & 100%+ü"));
    assert_eq!(ask(&postgres, &["select 'up'"]), "up");
}

#[test]
fn the_server_never_runs_as_root() {
    let folder = Folder::new();
    let postgres = folder.start();
    assert_eq!(ask(&postgres, &["select 'up'"]), "up");
    for inside in ["postgres", "socket"] {
        assert_eq!(fs::metadata(folder.data_dir().join(inside)).unwrap().mode() & 0o777, 0o700);
    }
    let process = Path::new("/proc").join(folder.postmaster().to_string());
    if let Ok(own) = fs::metadata("/proc/self")
        && own.uid() == 0
    {
        assert_ne!(fs::metadata(process).unwrap().uid(), 0);
    }
}

#[test]
fn a_folder_that_the_server_may_not_enter_is_named() {
    let folder = Folder::new();
    fs::set_permissions(&folder.0, Permissions::from_mode(0o700)).unwrap();
    let root = fs::metadata(&folder.0).unwrap().uid() == 0;
    match PrivatePostgres::start(&folder.data_dir(), None) {
        Err(error) if root => assert!(error.to_string().contains(folder.0.to_str().unwrap()), "{error}"),
        other => assert!(other.is_ok() && !root),
    }
}

#[test]
fn data_of_another_version_is_refused_and_left_alone() {
    let folder = Folder::new();
    let pgdata = folder.data_dir().join("postgres");
    fs::create_dir_all(&pgdata).unwrap();
    fs::write(pgdata.join("PG_VERSION"), "9\n").unwrap();
    let error = PrivatePostgres::start(&folder.data_dir(), None).unwrap_err();
    assert!(matches!(error, StartError::OtherMajor { made_by: 9, .. }), "{error}");
    assert_eq!(fs::read_dir(&pgdata).unwrap().count(), 1);
}

#[test]
fn a_server_that_cannot_start_shows_its_reason() {
    let folder = Folder::new();
    folder.start().stop().unwrap();
    fs::write(folder.data_dir().join("postgres/postgresql.auto.conf"), "shared_buffers = much\n").unwrap();
    let error = PrivatePostgres::start(&folder.data_dir(), None).unwrap_err();
    assert!(error.to_string().contains("shared_buffers"), "{error}");
}

#[test]
fn nothing_listens_on_tcp() {
    let folder = Folder::new();
    let postgres = folder.start();
    assert_eq!(ask(&postgres, &["show listen_addresses"]), "");
    // Where /proc tells: none of the server's sockets is a listening one of TCP (state 0A).
    let listening: Vec<String> = ["/proc/net/tcp", "/proc/net/tcp6"]
        .iter()
        .flat_map(|path| {
            fs::read_to_string(path).unwrap_or_default().lines().map(str::to_owned).collect::<Vec<_>>()
        })
        .filter_map(|line| {
            let mut fields = line.split_whitespace().skip(3);
            (fields.next()? == "0A").then(|| format!("socket:[{}]", fields.nth(5).unwrap_or_default()))
        })
        .collect();
    let descriptors =
        fs::read_dir(format!("/proc/{}/fd", folder.postmaster())).into_iter().flatten().flatten();
    for open in descriptors.filter_map(|entry| fs::read_link(entry.path()).ok()) {
        assert!(!listening.iter().any(|socket| open == Path::new(socket)), "{}", open.display());
    }
}
