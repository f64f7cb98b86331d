//! PostgreSQL without setup: a private server, run from the binaries on this machine.
//!
//! What holds:
//!
//! - It listens on a Unix socket in a folder of mode 0700, and on no network address.
//! - What it acknowledged is on disk: `fsync`, `full_page_writes` and `synchronous_commit` are forced on. Only
//!   [`PrivatePostgres::start_for_tests`] does otherwise; no setting and no variable leads there.
//! - One process at a time has a data folder, by a lock on its file `lock`, which the kernel lets go of when the
//!   process ends in whatever way. All repairs in the folder are done under that lock.
//! - The server ends with the process that started it, even after `kill -9`. Where that failed, the next start
//!   on the same folder ends what is left.
//! - PostgreSQL refuses to run as root, so under root it runs as `postgres` (or `nobody`).
//! - Everything here blocks: it is for the main thread, before the asynchronous runtime starts.
//!
//! A data folder holds `lock`, `postgres/` (the cluster), `postgres.log` and `socket/` (or, where that path
//! would be too long for a socket, a link to a folder with a shorter one).

mod binaries;
mod cluster;
mod error;
mod keeper;
mod leftovers;
mod postmaster;
mod server_user;
mod socket;

use std::{
    env,
    fs::{File, OpenOptions, TryLockError},
    os::unix::fs::OpenOptionsExt,
    path::{self, Path, PathBuf},
    thread,
    time::{Duration, Instant},
};

pub use error::{StartError, StopError};

use binaries::Binaries;
use keeper::Keeper;
use postmaster::Postmaster;
use server_user::ServerUser;
use socket::SocketFolder;

/// Where the data goes: `LEVERET_DATA_DIR`, or else `/var/lib/leveret` for root and the platform's data folder
/// for everybody else.
///
/// # Errors
///
/// [`StartError::NoHome`] when the user has no home folder.
pub fn default_data_dir() -> Result<PathBuf, StartError> {
    if let Some(dir) = env::var_os("LEVERET_DATA_DIR").filter(|dir| !dir.is_empty()) {
        return Ok(dir.into());
    }
    // Not below /root: the server's user could not enter there.
    if rustix::process::geteuid().is_root() {
        return Ok("/var/lib/leveret".into());
    }
    let dirs = directories::ProjectDirs::from("", "", "leveret").ok_or(StartError::NoHome)?;
    Ok(dirs.data_local_dir().to_owned())
}

/// What the server is for, which decides how careful it is with the data.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Purpose {
    /// Durable; outlives nothing but the data.
    Service,
    /// Fast, not durable; its whole folder goes with the process.
    Tests,
}

/// A running server of our own. Dropping it stops it.
#[derive(Debug)]
pub struct PrivatePostgres {
    url: String,
    postmaster: Postmaster,
    socket: SocketFolder,
    // Let go of last: fields are dropped in this order, after the server has been stopped.
    _lock: File,
}

impl PrivatePostgres {
    /// Starts the server on a data folder, which is made when it is not there; the binaries are looked for unless
    /// their folder is given.
    ///
    /// To be called on the main thread: on Linux the server ends with the *thread* that started it.
    ///
    /// # Errors
    ///
    /// Each [`StartError`] is one sentence that says what to do.
    pub fn start(data_dir: &Path, bin_dir: Option<&Path>) -> Result<PrivatePostgres, StartError> {
        PrivatePostgres::start_as(Purpose::Service, data_dir, bin_dir)
    }

    /// Starts a server that may lose its data at any time, for tests. **The whole folder is removed** when the
    /// process ends or this value is dropped. Any thread may call it. The URL is that of the maintenance database,
    /// where the service's role may make databases.
    ///
    /// # Errors
    ///
    /// As for [`PrivatePostgres::start`]; the folder must not exist yet.
    pub fn start_for_tests(data_dir: &Path) -> Result<PrivatePostgres, StartError> {
        PrivatePostgres::start_as(Purpose::Tests, data_dir, None)
    }

    /// Where to connect, for sqlx as well as for psql and pgbench.
    pub fn url(&self) -> &str {
        &self.url
    }

    /// Shuts the server down: clients are cut off, what they committed is kept.
    ///
    /// # Errors
    ///
    /// When the server had ended before, or would not end in time and was killed. No data is lost in either case.
    pub fn stop(mut self) -> Result<(), StopError> {
        self.stop_in_place()
    }

    fn start_as(
        purpose: Purpose,
        data_dir: &Path,
        bin_dir: Option<&Path>,
    ) -> Result<PrivatePostgres, StartError> {
        let data_dir = path::absolute(data_dir).map_err(StartError::files("finding", data_dir))?;
        let pgdata = cluster::folder(&data_dir);
        let binaries = Binaries::find(bin_dir, cluster::major_version(&pgdata)?, &pgdata)?;
        let user = ServerUser::choose(&pgdata)?;

        cluster::make_data_dir(&data_dir, &user, purpose)?;
        let keeper = match purpose {
            Purpose::Tests => Some(Keeper::removing(&data_dir)?),
            Purpose::Service => None,
        };
        let lock = lock(&data_dir)?;
        leftovers::end_all(&pgdata)?;
        if cluster::major_version(&pgdata)?.is_none() {
            cluster::create(&data_dir, &binaries, &user, purpose)?;
        }
        let socket = SocketFolder::prepare(&data_dir, &user)?;
        let postmaster = Postmaster::start(&data_dir, &binaries, &user, &socket, purpose, keeper)?;

        Ok(PrivatePostgres { url: socket.url(purpose), postmaster, socket, _lock: lock })
    }

    fn stop_in_place(&mut self) -> Result<(), StopError> {
        let stopped = self.postmaster.stop();
        self.socket.remove_if_outside();
        stopped
    }
}

impl Drop for PrivatePostgres {
    fn drop(&mut self) {
        if let Err(error) = self.stop_in_place() {
            tracing::warn!(%error, "private PostgreSQL");
        }
    }
}

/// How long to wait for the lock: a child that is just being started holds every lock of its parent until it has
/// become another program, and a service that is being replaced may be at its last steps.
const LOCK_PATIENCE: Duration = Duration::from_secs(1);
const LOCK_POLL: Duration = Duration::from_millis(20);

/// Takes the data folder for this process, until the file is closed.
fn lock(data_dir: &Path) -> Result<File, StartError> {
    let path = data_dir.join("lock");
    let file = OpenOptions::new()
        .create(true)
        .truncate(false)
        .write(true)
        .mode(0o600)
        .open(&path)
        .map_err(StartError::files("opening", &path))?;
    let begun = Instant::now();
    loop {
        match file.try_lock() {
            Ok(()) => return Ok(file),
            Err(TryLockError::WouldBlock) if begun.elapsed() < LOCK_PATIENCE => thread::sleep(LOCK_POLL),
            Err(TryLockError::WouldBlock) => return Err(StartError::InUse { data_dir: data_dir.to_owned() }),
            Err(TryLockError::Error(reason)) => return Err(StartError::files("locking", &path)(reason)),
        }
    }
}
