//! The server's process: started, awaited, stopped.

use std::{
    fs::{self, File, OpenOptions},
    io::{self, Read, Seek, SeekFrom},
    os::unix::{fs::OpenOptionsExt, process::CommandExt},
    path::{Path, PathBuf},
    process::{Child, Command, ExitStatus},
    thread,
    time::{Duration, Instant},
};

use rustix::process::{Pid, Signal, kill_process};

use super::{
    Purpose,
    binaries::Binaries,
    cluster,
    error::{StartError, StopError, last_lines},
    keeper::Keeper,
    server_user::ServerUser,
    socket::{PORT, SocketFolder},
};

/// How long a server may take to get ready: it may have much to recover.
const READY_WITHIN: Duration = Duration::from_secs(300);

/// How long a server may take to write everything out at the end.
const STOPPED_WITHIN: Duration = Duration::from_secs(20);

/// At this size a log gives way at the next start; one older log is kept.
const LOG_LIMIT: u64 = 1 << 20;

/// What the service's server must not be talked out of, be it by a hand on its configuration files.
const DURABLE: &[&str] = &[
    "fsync=on",
    "full_page_writes=on",
    "synchronous_commit=on",
    // As durable, but in one call after a crash rather than file by file, which takes seconds.
    #[cfg(target_os = "linux")]
    "recovery_init_sync_method=syncfs",
];

const FOR_TESTS: &[&str] = &[
    "fsync=off",
    "full_page_writes=off",
    "synchronous_commit=off",
    "max_connections=400",
    "autovacuum=off",
    "max_wal_size=512MB",
];

const ALWAYS: &[&str] = &[
    "listen_addresses=",
    "unix_socket_permissions=0700",
    "timezone=UTC",
    "log_timezone=UTC",
    // Statements and details hold what players typed, such as addresses of mail.
    "log_min_error_statement=panic",
    "log_error_verbosity=terse",
    "log_checkpoints=off",
];

/// The server's process.
#[derive(Debug)]
pub(super) struct Postmaster {
    child: Child,
    ended: bool,
    keeper: Option<Keeper>,
    log: Log,
}

impl Postmaster {
    /// Starts the server and waits until it takes connections.
    pub(super) fn start(
        data_dir: &Path,
        binaries: &Binaries,
        user: &ServerUser,
        socket: &SocketFolder,
        purpose: Purpose,
        keeper: Option<Keeper>,
    ) -> Result<Postmaster, StartError> {
        let pgdata = cluster::folder(data_dir);
        let log = Log::open(data_dir)?;

        let signalled = match keeper {
            Some(_) => None,
            None => signalled_at_our_end(user, &binaries.postgres()),
        };
        let keeper = match (keeper, &signalled) {
            (Some(keeper), _) => Some(keeper),
            (None, Some(_)) => None,
            (None, None) => Some(Keeper::stopping()?),
        };
        let mut command = signalled.unwrap_or_else(|| user.command(binaries.postgres()));
        command.arg("-D").arg(fs::canonicalize(&pgdata).map_err(StartError::files("finding", &pgdata))?);
        let settings = match purpose {
            Purpose::Service => DURABLE,
            Purpose::Tests => FOR_TESTS,
        };
        for setting in ALWAYS.iter().chain(settings) {
            command.arg("-c").arg(setting);
        }
        command.arg("-c").arg(format!("port={PORT}"));
        // A list of folders: quoted, so that a comma is part of the name.
        let folder = socket.path().display().to_string().replace('"', "\"\"");
        command.arg("-c").arg(format!("unix_socket_directories=\"{folder}\""));
        // Its own group, or Ctrl-C would end it before we have finished with it.
        command.process_group(0).stdout(log.writer()?).stderr(log.writer()?);

        let child = command.spawn().map_err(StartError::run(command.get_program()))?;
        let mut postmaster = Postmaster { child, ended: false, keeper, log };
        if let Some(keeper) = &mut postmaster.keeper {
            // Without it there is still the orderly end.
            if let Err(error) = keeper.watch(postmaster.child.id()) {
                tracing::warn!(%error, "the private PostgreSQL would survive a kill -9 of this process");
            }
        }
        match postmaster.wait_until_ready(&pgdata) {
            Ok(()) => Ok(postmaster),
            Err(error) => {
                // It may have ended already; that it did not start is the error to show.
                let _ = postmaster.stop();
                Err(error)
            }
        }
    }

    /// Ends the server in good order, or else by force. Does nothing the second time.
    pub(super) fn stop(&mut self) -> Result<(), StopError> {
        if self.ended {
            return Ok(());
        }
        let pid = self.child.id();
        let stopped = self.end_child().map_err(|reason| StopError::System { pid, reason })?;
        self.ended = true;
        if let Some(keeper) = self.keeper.take() {
            keeper.dismiss();
        }
        stopped
    }

    fn end_child(&mut self) -> io::Result<Result<(), StopError>> {
        if let Some(status) = self.child.try_wait()? {
            let log = self.log.path.clone();
            return Ok(Err(StopError::EndedBefore { status: status.to_string(), log }));
        }
        let steps = [(Signal::INT, STOPPED_WITHIN), (Signal::QUIT, Duration::from_secs(5))];
        for (step, (signal, patience)) in steps.into_iter().enumerate() {
            self.signal(signal)?;
            if self.wait_for(patience)?.is_some() {
                let in_time = step == 0;
                return Ok(if in_time { Ok(()) } else { Err(StopError::Killed { waited: STOPPED_WITHIN }) });
            }
        }
        self.child.kill()?;
        self.child.wait()?;
        Ok(Err(StopError::Killed { waited: STOPPED_WITHIN }))
    }

    fn signal(&self, signal: Signal) -> io::Result<()> {
        let pid = i32::try_from(self.child.id()).ok().and_then(Pid::from_raw);
        kill_process(pid.expect("a child has a process id"), signal).map_err(io::Error::from)
    }

    fn wait_for(&mut self, patience: Duration) -> io::Result<Option<ExitStatus>> {
        let deadline = Instant::now() + patience;
        loop {
            if let Some(status) = self.child.try_wait()? {
                return Ok(Some(status));
            }
            if Instant::now() >= deadline {
                return Ok(None);
            }
            thread::sleep(Duration::from_millis(5));
        }
    }

    fn wait_until_ready(&mut self, pgdata: &Path) -> Result<(), StartError> {
        let began = Instant::now();
        let mut told = false;
        while !self.says_ready(pgdata) {
            let status = self.child.try_wait().map_err(StartError::run("postgres"))?;
            let log = self.log.path.clone();
            if let Some(status) = status {
                let status = status.to_string();
                return Err(StartError::Ended { status, log, tail: self.log.tail() });
            }
            if began.elapsed() > READY_WITHIN {
                return Err(StartError::TooSlow { waited: READY_WITHIN, log, tail: self.log.tail() });
            }
            if !told && began.elapsed() > Duration::from_secs(5) {
                told = true;
                tracing::info!(log = %log.display(), "PostgreSQL takes its time, probably to recover from a crash");
            }
            thread::sleep(Duration::from_millis(5));
        }
        Ok(())
    }

    /// Reads the state that the server writes to the eighth line of its pid file, as `pg_ctl` does.
    fn says_ready(&self, pgdata: &Path) -> bool {
        let text = fs::read_to_string(pgdata.join("postmaster.pid")).unwrap_or_default();
        let mut lines = text.lines();
        let is_its_own = lines.next().is_some_and(|pid| pid.trim().parse() == Ok(self.child.id()));
        is_its_own && lines.nth(6).is_some_and(|state| state.trim() == "ready")
    }
}

/// A command that asks the kernel for SIGINT, a fast shutdown, when our thread ends; or nothing where no `setpriv`
/// can do that. The user has changed before `setpriv` runs, since changing it would take the request back.
fn signalled_at_our_end(user: &ServerUser, program: &Path) -> Option<Command> {
    let setpriv = || {
        let mut command = user.command("setpriv");
        command.args(["--pdeathsig", "INT", "--"]);
        command
    };
    // BusyBox has a `setpriv` without it, macOS none at all.
    let can = setpriv().arg("true").output().is_ok_and(|output| output.status.success());
    can.then(|| {
        let mut command = setpriv();
        command.arg(program);
        command
    })
}

/// What the server writes to standard output and error.
#[derive(Debug)]
struct Log {
    path: PathBuf,
    file: File,
    /// Where this start begins.
    begin: u64,
}

impl Log {
    fn open(data_dir: &Path) -> Result<Log, StartError> {
        let path = data_dir.join("postgres.log");
        if fs::metadata(&path).is_ok_and(|about| about.len() > LOG_LIMIT) {
            let old = data_dir.join("postgres.log.1");
            fs::rename(&path, &old).map_err(StartError::files("renaming", &path))?;
        }
        let failed = StartError::files("opening", &path);
        let file = OpenOptions::new()
            .create(true)
            .append(true)
            .read(true)
            .mode(0o600)
            .open(&path)
            .map_err(failed)?;
        let begin = file.metadata().map_err(StartError::files("looking at", &path))?.len();
        Ok(Log { path, file, begin })
    }

    fn writer(&self) -> Result<File, StartError> {
        self.file.try_clone().map_err(StartError::files("opening", &self.path))
    }

    /// The last lines that this start has written.
    fn tail(&mut self) -> String {
        let mut bytes = Vec::new();
        let read =
            self.file.seek(SeekFrom::Start(self.begin)).and_then(|_| self.file.read_to_end(&mut bytes));
        match read {
            Ok(_) => last_lines(&String::from_utf8_lossy(&bytes)),
            Err(error) => format!("  ({error})"),
        }
    }
}
