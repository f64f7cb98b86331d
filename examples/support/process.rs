//! A server as operators run it: a process of its own, stopped by a signal.

use std::{
    env, fs,
    io::{BufRead, BufReader},
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
    sync::{
        Arc, Mutex, PoisonError,
        mpsc::{self, Sender},
    },
    thread,
    time::{Duration, Instant},
};

use rustix::process::{Pid, Signal, kill_process};

/// Whatever goes wrong ends the program, with a sentence that says what.
pub type Outcome<T> = Result<T, Box<dyn std::error::Error + Send + Sync>>;

/// How long a server may take to be ready.
const READY_WITHIN: Duration = Duration::from_secs(60);

/// How long a server may take to stop.
const STOPPED_WITHIN: Duration = Duration::from_secs(10);

/// A folder that goes when this value does.
pub struct TemporaryFolder(PathBuf);

impl TemporaryFolder {
    /// A name for a folder that does not exist yet.
    pub fn new(purpose: &str) -> TemporaryFolder {
        TemporaryFolder(env::temp_dir().join(format!("leveret-{purpose}-{}", std::process::id())))
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        &self.0
    }
}

impl Drop for TemporaryFolder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

/// The program `leveret` that was built beside this example: `target/<profile>/leveret`.
pub fn leveret(database_url: &str) -> Outcome<Command> {
    let example = env::current_exe()?;
    let folder = example.parent().and_then(Path::parent).ok_or("this example is in no folder")?;
    let program = folder.join("leveret");
    if !program.is_file() {
        return Err(format!(
            "{} is not there; build it by: cargo build --release --bin leveret",
            program.display()
        )
        .into());
    }
    let mut command = Command::new(program);
    // The machine's own settings stay out of it.
    for (name, _) in env::vars_os().filter(|(name, _)| name.to_string_lossy().starts_with("LEVERET_")) {
        command.env_remove(name);
    }
    command.env("DATABASE_URL", database_url).env("LEVERET_LOG_FORMAT", "json");
    Ok(command)
}

/// A running server.
pub struct ServerProcess {
    child: Child,
    address: String,
    complaints: Complaints,
}

/// The warnings and errors in the log of a server, which grow until it ends.
#[derive(Clone, Default)]
pub struct Complaints(Arc<Mutex<Vec<String>>>);

impl Complaints {
    /// Those so far.
    pub fn lines(&self) -> Vec<String> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn add(&self, line: String) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).push(line);
    }
}

impl ServerProcess {
    /// Starts one without rate limits, on a free port unless the settings say where, and waits until it is ready.
    pub fn start(database_url: &str, settings: &[&str]) -> Outcome<ServerProcess> {
        let mut command = leveret(database_url)?;
        // Of what is not a warning, only what the main program says: that it is ready. (Without sqlx the filter loses
        // that line after a notice that it keeps back.)
        command.env("LEVERET_LOG", "warn,sqlx=info,leveret=info,leveret::=warn");
        command.env("LEVERET_LISTEN", "127.0.0.1:0");
        command.args(["--rate-limits", "off", "--solve", "off"]).args(settings);
        let mut child = command.stdin(Stdio::null()).stderr(Stdio::piped()).spawn()?;
        let log = child.stderr.take().ok_or("the server has no log")?;
        let complaints = Complaints::default();
        let (ready, told) = mpsc::channel();
        let kept = complaints.clone();
        thread::spawn(move || follow(BufReader::new(log), &ready, &kept));
        let mut server = ServerProcess { child, address: String::new(), complaints };
        match told.recv_timeout(READY_WITHIN) {
            Ok(address) => server.address = address,
            Err(_) => {
                return Err(format!("the server did not get ready: {:?}", server.complaints.lines()).into());
            }
        }
        Ok(server)
    }

    /// Host and port.
    pub fn address(&self) -> &str {
        &self.address
    }

    /// The processor time that it has used, in seconds; zero where the system does not tell.
    pub fn cpu_seconds(&self) -> f64 {
        let stat = fs::read_to_string(format!("/proc/{}/stat", self.child.id())).unwrap_or_default();
        let after_name = stat.rsplit_once(") ").map_or("", |(_, rest)| rest);
        let ticks = after_name.split(' ').skip(11).take(2).filter_map(|ticks| ticks.parse::<f64>().ok());
        ticks.sum::<f64>() / 100.0
    }

    /// The memory that it holds, in bytes; zero where the system does not tell.
    pub fn memory(&self) -> u64 {
        let status = fs::read_to_string(format!("/proc/{}/status", self.child.id())).unwrap_or_default();
        let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
        let kilobytes = line.and_then(|rest| rest.split_whitespace().next()?.parse::<u64>().ok());
        kilobytes.unwrap_or(0) * 1024
    }

    /// The warnings and errors in its log.
    pub fn complaints(&self) -> Complaints {
        self.complaints.clone()
    }

    /// Asks it to stop, and answers how long it took; it must be in time and with exit code 0.
    pub fn stop(mut self) -> Outcome<Duration> {
        let asked = Instant::now();
        kill_process(Pid::from_child(&self.child), Signal::TERM)?;
        loop {
            if let Some(status) = self.child.try_wait()? {
                return if status.success() {
                    Ok(asked.elapsed())
                } else {
                    Err(format!("the server ended by {status}: {:?}", self.complaints.lines()).into())
                };
            }
            if asked.elapsed() > STOPPED_WITHIN {
                return Err(format!("the server had not stopped after {STOPPED_WITHIN:?}").into());
            }
            thread::sleep(Duration::from_millis(5));
        }
    }
}

impl Drop for ServerProcess {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Reads a log to its end: tells the address once it is there, and keeps what is not of level info.
fn follow(log: impl BufRead, ready: &Sender<String>, complaints: &Complaints) {
    for line in log.lines().map_while(Result::ok) {
        if let Some((_, rest)) = line.split_once("ready: http://")
            && let Some((address, _)) = rest.split_once('/')
        {
            let _ = ready.send(address.to_owned());
        } else if !line.contains(r#""level":"INFO""#) {
            complaints.add(line);
        }
    }
}
