//! Files of tables: what is written can be read, and nothing else is believed.

use leveret::{
    dice,
    rules::catch_the_hare::{BoardLines, TooFew},
    solver::{Key, Progress},
    tables::{Folder, Name, Priority, solve},
};
use std::{fs, path::PathBuf, sync::LazyLock};

const NAME: Name =
    Name { key: Key { board: BoardLines::NoDiagonals, too_few: TooFew::CannotEnclose }, most_hunters: 4 };

/// The bytes of a good file.
static GOOD: LazyLock<Vec<u8>> = LazyLock::new(|| {
    let scratch = Scratch::new();
    let folder = scratch.folder();
    let table = solve(NAME, Priority::Normal, &Progress::default(), |_| {}).unwrap();
    folder.write(&folder.lock().unwrap().unwrap(), &table).unwrap();
    let read = folder.open(NAME).unwrap().unwrap();
    assert_eq!(read.bytes(), table.bytes());
    assert_eq!(folder.names(), [NAME]);
    fs::read(folder.file(NAME)).unwrap()
});

/// A folder that goes with the test.
struct Scratch(PathBuf);

impl Scratch {
    fn new() -> Scratch {
        Scratch(std::env::temp_dir().join(format!("leveret-tables-{:016x}", dice::roll::<u64>())))
    }

    fn folder(&self) -> Folder {
        Folder::at(&self.0)
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

/// Why a file with these bytes is not believed.
#[track_caller]
fn refusal(scratch: &Scratch, name: Name, bytes: &[u8]) -> String {
    let folder = scratch.folder();
    fs::create_dir_all(folder.path()).unwrap();
    fs::write(folder.file(name), bytes).unwrap();
    folder.open(name).expect_err("it is refused").to_string()
}

#[test]
fn a_file_that_is_not_there_is_no_failure() {
    let folder = Scratch::new().folder();
    assert!(folder.open(NAME).unwrap().is_none());
    assert!(folder.names().is_empty());
}

#[test]
fn a_file_that_is_cut_short_or_too_long_is_refused() {
    let scratch = Scratch::new();
    for length in [0, 1, 7, 8, 11, 12, 63, 64, 65, GOOD.len() / 2, GOOD.len() - 32, GOOD.len() - 1] {
        let why = refusal(&scratch, NAME, &GOOD[..length]);
        assert!(why.contains("is not a table") || why.contains("bytes instead of"), "{length}: {why}");
    }
    let why = refusal(&scratch, NAME, &[GOOD.as_slice(), b"!"].concat());
    assert!(why.contains("bytes instead of"), "{why}");
}

#[test]
fn a_file_with_one_changed_bit_is_refused_wherever_it_is() {
    let scratch = Scratch::new();
    let somewhere = (0..GOOD.len()).step_by(GOOD.len() / 40);
    let ends = (0..80).chain(GOOD.len() - 40..GOOD.len());
    for (nth, place) in somewhere.chain(ends).enumerate() {
        let mut bytes = GOOD.clone();
        bytes[place] ^= 1 << (nth % 8);
        let why = refusal(&scratch, NAME, &bytes);
        let expected = match place {
            0..8 => "is not a table",
            8..12 => "is of version",
            12..64 => "holds another table",
            _ => "is damaged",
        };
        assert!(why.contains(expected), "byte {place}: {why}");
    }
}

#[test]
fn a_file_under_another_name_is_refused() {
    let other = Name { key: Key { board: BoardLines::LongDiagonals, ..NAME.key }, most_hunters: 5 };
    let why = refusal(&Scratch::new(), other, &GOOD);
    assert!(why.contains("holds another table than its name says"), "{why}");
}

#[test]
fn names_are_read_as_they_are_written() {
    assert_eq!(NAME.to_string(), "catch-the-hare-no-diagonals-cannot-enclose-4");
    assert_eq!(NAME.to_string().parse(), Ok(NAME));
    assert_eq!(Name::usual().to_string(), "catch-the-hare-alquerque-below-ten-12");
    for strange in ["", "catch-the-hare-alquerque-below-ten-9", "catch-the-hare-alquerque-below-ten-15"] {
        assert!(strange.parse::<Name>().is_err(), "{strange}");
    }
}

#[test]
fn one_at_a_time_makes_tables_in_a_folder() {
    let scratch = Scratch::new();
    let lock = scratch.folder().lock().unwrap().expect("nobody has it");
    assert!(scratch.folder().lock().unwrap().is_none());
    drop(lock);
    assert!(scratch.folder().lock().unwrap().is_some());
}
