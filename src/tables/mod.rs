//! Tables of Catch the Hare on disk, and how they come to be.
//!
//! What holds:
//!
//! - A file is read whole and its checksum compared before anything in it is believed. What is damaged, cut short,
//!   of another version or of other rules is refused with a sentence that says so, and made anew.
//! - A file is written beside its place, synced, and moved there when it is complete.
//! - One process at a time makes tables in a folder, by a lock on its file `lock`, which the kernel lets go of when
//!   the process ends in whatever way.
//!
//! A table is read into memory rather than mapped: it is some 25 MB and takes some 30 ms, and a mapped file that is
//! cut short or written over by somebody else, after it was checked, could crash the service or lie to it.

mod background;
mod file;

use std::{
    fmt,
    fs::{self, File, OpenOptions, TryLockError},
    num::NonZeroUsize,
    path::{Path, PathBuf},
    str::FromStr,
    thread,
    time::Duration,
};

use crate::{
    rules::{
        Variant,
        catch_the_hare::{BoardLines, HouseRules, TooFew},
    },
    solver::{Key, MOST_HUNTERS, Progress, Stopped, Table},
};

pub use background::{Background, Settings};
pub use file::FileError;

/// How often whoever waits for a table is told how far it is.
const TELL_EVERY: Duration = Duration::from_millis(200);

/// Which table: the house rules that it depends on, and the number of hunters up to which it goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Name {
    /// The house rules.
    pub key: Key,
    /// The number of hunters.
    pub most_hunters: u8,
}

impl Name {
    /// The table of the games by the usual rules.
    pub fn usual() -> Name {
        let HouseRules { board, hunters, too_few } = HouseRules::DEFAULT;
        Name { key: Key { board, too_few }, most_hunters: hunters }
    }

    fn all() -> impl Iterator<Item = Name> {
        let keys =
            BoardLines::ALL.into_iter().flat_map(|board| TooFew::ALL.map(|too_few| Key { board, too_few }));
        keys.flat_map(|key| {
            key.numbers_of_hunters(MOST_HUNTERS).map(move |most_hunters| Name { key, most_hunters })
        })
    }
}

impl fmt::Display for Name {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Name { key: Key { board, too_few }, most_hunters } = self;
        write!(f, "{}-{board}-{too_few}-{most_hunters}", Variant::CatchTheHare)
    }
}

/// A text names no table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NoTable;

impl FromStr for Name {
    type Err = NoTable;

    fn from_str(text: &str) -> Result<Name, NoTable> {
        Name::all().find(|name| name.to_string() == text).ok_or(NoTable)
    }
}

/// A folder of tables.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Folder(PathBuf);

/// Held by the one process that makes tables in a folder.
#[derive(Debug)]
pub struct Lock(#[expect(dead_code, reason = "it is held, and let go of when it is dropped")] File);

impl Folder {
    /// The folder there, which is made when something is written to it.
    pub fn at(path: impl Into<PathBuf>) -> Folder {
        Folder(path.into())
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        &self.0
    }

    /// Where a table is, or would be.
    pub fn file(&self, name: Name) -> PathBuf {
        self.0.join(format!("{name}.table"))
    }

    /// The tables of which there are files, in whatever state these are.
    pub fn names(&self) -> Vec<Name> {
        let entries = fs::read_dir(&self.0).into_iter().flatten().flatten();
        let name = |file: fs::DirEntry| file.file_name().to_str()?.strip_suffix(".table")?.parse().ok();
        entries.filter_map(name).collect()
    }

    /// Reads a table and checks it, if there is one.
    ///
    /// # Errors
    ///
    /// When the file cannot be read, or is not to be believed.
    pub fn open(&self, name: Name) -> Result<Option<Table>, FileError> {
        file::read(&self.file(name), name)
    }

    /// Writes a table.
    ///
    /// # Errors
    ///
    /// When it cannot be written.
    pub fn write(&self, _lock: &Lock, table: &Table) -> Result<(), FileError> {
        let name = Name { key: table.key(), most_hunters: table.most_hunters() };
        file::write(&self.file(name), name, table.bytes())
    }

    /// Takes the folder for this process, and makes it when it is not there; none when another process has it.
    ///
    /// # Errors
    ///
    /// When it cannot be written to.
    pub fn lock(&self) -> Result<Option<Lock>, FileError> {
        fs::create_dir_all(&self.0).map_err(FileError::files("making", &self.0))?;
        let path = self.0.join("lock");
        let file = OpenOptions::new()
            .create(true)
            .truncate(false)
            .write(true)
            .open(&path)
            .map_err(FileError::files("opening", &path))?;
        match file.try_lock() {
            Ok(()) => Ok(Some(Lock(file))),
            Err(TryLockError::WouldBlock) => Ok(None),
            Err(TryLockError::Error(reason)) => Err(FileError::files("locking", &path)(reason)),
        }
    }
}

/// How much a solution may get in the way of everything else.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Priority {
    /// As any other work, on all cores.
    Normal,
    /// Only when nothing else wants the processor, on one core.
    Low,
}

/// Solves a table, and tells time and again what part is done.
///
/// # Errors
///
/// When it was asked to stop.
pub fn solve(
    name: Name,
    priority: Priority,
    progress: &Progress,
    mut tell: impl FnMut(f64),
) -> Result<Table, Stopped> {
    let work = || {
        let threads = match priority {
            Priority::Normal => thread::available_parallelism().unwrap_or(NonZeroUsize::MIN),
            Priority::Low => NonZeroUsize::MIN,
        };
        if priority == Priority::Low {
            step_back();
        }
        Table::solve(name.key, name.most_hunters, threads, progress)
    };
    thread::scope(|scope| {
        let waiting = thread::current();
        let worker = scope.spawn(move || {
            let table = work();
            waiting.unpark();
            table
        });
        while !worker.is_finished() {
            tell(progress.ratio());
            thread::park_timeout(TELL_EVERY);
        }
        // A panic is a mistake in the solver, which is for whoever waits to hear of.
        worker.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
    })
}

/// Lets everything else go first. On Linux a priority belongs to a thread, elsewhere to the whole process.
fn step_back() {
    #[cfg(target_os = "linux")]
    if let Err(error) = rustix::process::setpriority_process(None, 19) {
        tracing::debug!(%error, "the solver runs at the usual priority");
    }
}
