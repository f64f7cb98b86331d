//! The file of a table: a header of 64 bytes, the table, and the SHA-256 of both.
//!
//! The header is the magic, the version, and the name of the table filled up with zeros.

use std::{
    fs::{self, File},
    io::{self, Read, Write},
    path::{Path, PathBuf},
};

use sha2::{Digest, Sha256};

use super::Name;
use crate::solver::Table;

const MAGIC: [u8; 8] = *b"LEVERET\n";
/// Changes with the form of the file, the numbers of positions, and the meaning of a byte.
const VERSION: u32 = 1;
const HEADER: usize = 64;
const CHECKSUM: usize = 32;

/// Why a table was not read or written.
#[derive(Debug, thiserror::Error)]
pub enum FileError {
    /// The operating system.
    #[error("{doing} {} failed: {reason}", path.display())]
    Files {
        /// What was being done.
        doing: &'static str,
        /// To which file or folder.
        path: PathBuf,
        /// What came of it.
        reason: io::Error,
    },
    /// The file does not begin as tables do.
    #[error("{} is not a table", .0.display())]
    NotATable(PathBuf),
    /// The file is of another version of this program.
    #[error("{} is of version {found}, not {VERSION}", path.display())]
    OtherVersion {
        /// The file.
        path: PathBuf,
        /// Its version.
        found: u32,
    },
    /// The file holds another table than its name says.
    #[error("{} holds another table than its name says", .0.display())]
    OtherTable(PathBuf),
    /// The file is too short or too long.
    #[error("{} has {found} bytes instead of {expected}", path.display())]
    WrongLength {
        /// The file.
        path: PathBuf,
        /// How long it must be.
        expected: u64,
        /// How long it is.
        found: u64,
    },
    /// The checksum does not fit the rest.
    #[error("{} is damaged: its checksum does not fit", .0.display())]
    Damaged(PathBuf),
}

impl FileError {
    /// Says what was being done to which file when the operating system failed.
    pub(super) fn files(doing: &'static str, path: &Path) -> impl FnOnce(io::Error) -> FileError {
        let path = path.to_owned();
        move |reason| FileError::Files { doing, path, reason }
    }
}

/// Reads a file and checks all of it, if it is there.
pub(super) fn read(path: &Path, name: Name) -> Result<Option<Table>, FileError> {
    let failed = || FileError::files("reading", path);
    let mut file = match File::open(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        opened => opened.map_err(failed())?,
    };
    let found = file.metadata().map_err(failed())?.len();
    let bytes = Table::bytes_of(name.key, name.most_hunters);
    let expected = (HEADER + bytes + CHECKSUM) as u64;

    let mut head = [0; HEADER];
    let whole_head = read_up_to(&mut file, &mut head).map_err(failed())?;
    if !head.starts_with(&MAGIC[..MAGIC.len().min(whole_head)]) || whole_head < MAGIC.len() {
        return Err(FileError::NotATable(path.to_owned()));
    }
    if whole_head == HEADER {
        let version = u32::from_le_bytes([head[8], head[9], head[10], head[11]]);
        if version != VERSION {
            return Err(FileError::OtherVersion { path: path.to_owned(), found: version });
        }
        if head != header(name) {
            return Err(FileError::OtherTable(path.to_owned()));
        }
    }
    if found != expected {
        return Err(FileError::WrongLength { path: path.to_owned(), expected, found });
    }
    let (mut table, mut checksum) = (vec![0; bytes], [0; CHECKSUM]);
    file.read_exact(&mut table).and_then(|()| file.read_exact(&mut checksum)).map_err(failed())?;
    if checksum != checksum_of(&head, &table) {
        return Err(FileError::Damaged(path.to_owned()));
    }
    Ok(Table::from_bytes(name.key, name.most_hunters, table))
}

/// Writes a file beside its place and moves it there.
pub(super) fn write(path: &Path, name: Name, table: &[u8]) -> Result<(), FileError> {
    let unfinished = path.with_extension("new");
    let head = header(name);
    let written = File::create(&unfinished).and_then(|mut file| {
        file.write_all(&head)?;
        file.write_all(table)?;
        file.write_all(&checksum_of(&head, table))?;
        file.sync_all()?;
        fs::rename(&unfinished, path)
    });
    if written.is_err() {
        // What is left of it is of no use, and the next attempt writes over it anyway.
        let _ = fs::remove_file(&unfinished);
    }
    written.map_err(FileError::files("writing", path))?;
    match path.parent() {
        Some(folder) => File::open(folder)
            .and_then(|folder| folder.sync_all())
            .map_err(FileError::files("syncing", folder)),
        None => Ok(()),
    }
}

fn header(name: Name) -> [u8; HEADER] {
    let mut header = [0; HEADER];
    let name = name.to_string();
    header[..8].copy_from_slice(&MAGIC);
    header[8..12].copy_from_slice(&VERSION.to_le_bytes());
    header[12..12 + name.len()].copy_from_slice(name.as_bytes());
    header
}

fn checksum_of(header: &[u8], table: &[u8]) -> [u8; CHECKSUM] {
    Sha256::new().chain_update(header).chain_update(table).finalize().into()
}

/// Reads until the buffer is full or the file ends; answers how much it was.
fn read_up_to(file: &mut File, buffer: &mut [u8]) -> io::Result<usize> {
    let mut filled = 0;
    while filled < buffer.len() {
        match file.read(&mut buffer[filled..])? {
            0 => break,
            more => filled += more,
        }
    }
    Ok(filled)
}
