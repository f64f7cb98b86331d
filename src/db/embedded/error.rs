//! Why the private PostgreSQL did not start or stop, each as one sentence that says what to do.

use std::{
    fmt, io,
    path::{Path, PathBuf},
    time::Duration,
};

use super::binaries::OLDEST_MAJOR;

/// Why the private PostgreSQL did not start.
#[derive(Debug, thiserror::Error)]
#[expect(missing_docs, reason = "each message says it")]
pub enum StartError {
    #[error(
        "no PostgreSQL {OLDEST_MAJOR} or newer was found on this machine: install it (`apt-get install postgresql` or \
         `brew install postgresql@17`), name its folder in LEVERET_POSTGRES_BIN_DIR, or set DATABASE_URL"
    )]
    NoPostgres,

    #[error(
        "{} holds no initdb and postgres of version {OLDEST_MAJOR} or newer that can be run: correct \
         LEVERET_POSTGRES_BIN_DIR or leave it out",
        bin_dir.display()
    )]
    NoPostgresThere { bin_dir: PathBuf },

    #[error(
        "{} was made by PostgreSQL {made_by}, but only {found} was found here: install PostgreSQL {made_by}, convert the \
         data with pg_upgrade, or set LEVERET_DATA_DIR to another folder",
        pgdata.display()
    )]
    OtherMajor { pgdata: PathBuf, made_by: u32, found: String },

    #[error(
        "another Leveret is using {}: stop it, set LEVERET_DATA_DIR to another folder, or set DATABASE_URL",
        data_dir.display()
    )]
    InUse { data_dir: PathBuf },

    #[error(
        "PostgreSQL refuses to run as root and /etc/passwd names neither `postgres` nor `nobody`: add a user `postgres`, \
         run Leveret as an ordinary user, or set DATABASE_URL"
    )]
    NoUnprivilegedUser,

    #[error(
        "PostgreSQL refuses to run as root, and the user `{user}`, under whom it would run, may not enter {}: set \
         LEVERET_DATA_DIR to a folder below /var/lib or another that everybody may enter",
        folder.display()
    )]
    Unreachable { user: String, folder: PathBuf },

    #[error("this user has no home folder: set LEVERET_DATA_DIR, or DATABASE_URL")]
    NoHome,

    #[error(
        "{action} {} failed ({reason}): correct that, set LEVERET_DATA_DIR to a folder that this user may write, or set \
         DATABASE_URL",
        path.display()
    )]
    Files { action: &'static str, path: PathBuf, reason: io::Error },

    #[error("running {} failed ({reason}): correct its installation, or set DATABASE_URL", program.display())]
    Run { program: PathBuf, reason: io::Error },

    #[error("no database could be made in {}; correct what PostgreSQL complains of:\n{output}", pgdata.display())]
    Create { pgdata: PathBuf, output: String },

    #[error("PostgreSQL ended while starting ({status}); correct what it complains of in {}:\n{tail}", log.display())]
    Ended { status: String, log: PathBuf, tail: String },

    #[error(
        "PostgreSQL was not ready after {} s and was stopped; see what it was doing in {}:\n{tail}",
        waited.as_secs(),
        log.display()
    )]
    TooSlow { waited: Duration, log: PathBuf, tail: String },

    #[error("an earlier PostgreSQL on {} does not end: end its processes {pids:?} and start again", pgdata.display())]
    Undead { pgdata: PathBuf, pids: Vec<i32> },
}

impl StartError {
    /// For `map_err`: a file could not be worked on.
    pub(super) fn files(action: &'static str, path: &Path) -> impl FnOnce(io::Error) -> StartError + use<> {
        let path = path.to_owned();
        move |reason| StartError::Files { action, path, reason }
    }

    /// For `map_err`: a program could not be run.
    pub(super) fn run(program: impl AsRef<Path>) -> impl FnOnce(io::Error) -> StartError {
        move |reason| StartError::Run { program: program.as_ref().to_owned(), reason }
    }
}

/// What was unusual about the end of the private PostgreSQL. Committed data is safe in each case.
#[derive(Debug, thiserror::Error)]
pub enum StopError {
    /// It was gone already: killed, or out of memory or disk.
    #[error("PostgreSQL had ended by itself ({status}); see {} for the reason", log.display())]
    EndedBefore {
        /// How it ended.
        status: String,
        /// The server's log.
        log: PathBuf,
    },
    /// It did not shut down in time and was killed; the next start repairs what that left.
    #[error("PostgreSQL did not stop within {} s and was killed; the next start recovers it", waited.as_secs())]
    Killed {
        /// How long it was given.
        waited: Duration,
    },
    /// The system refused to signal or await it.
    #[error("PostgreSQL could not be stopped ({reason}); end its process {pid}")]
    System {
        /// The postmaster.
        pid: u32,
        /// What the system said.
        reason: io::Error,
    },
}

/// The last lines of a text, as an error message shows them.
pub(super) fn last_lines(text: &str) -> String {
    let lines: Vec<&str> = text.lines().filter(|line| !line.trim().is_empty()).collect();
    let tail: Vec<String> =
        lines[lines.len().saturating_sub(12)..].iter().map(|line| format!("  {line}")).collect();
    if tail.is_empty() { "  (nothing)".into() } else { tail.join("\n") }
}

/// The name of a server version or of several, as an error message shows them.
pub(super) fn listed(versions: impl IntoIterator<Item = impl fmt::Display>) -> String {
    versions.into_iter().map(|version| version.to_string()).collect::<Vec<_>>().join(", ")
}
