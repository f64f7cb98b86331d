//! The house rules of the code, checked by reading it as text.
//!
//! A test that fails here says what was agreed. When there is a good reason against it, change the table below and
//! say the reason there.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    path::{Path, PathBuf},
};

/// Which modules a module may name. It may name itself; whatever is not listed here is not there yet.
const MAY_NAME: &[(&str, &[&str])] = &[
    ("rules", &[]),
    ("solver", &["rules"]),
    ("wall_clock", &[]),
    ("dice", &[]),
    ("telemetry", &[]),
    ("ids", &["wall_clock"]),
    ("config", &["telemetry"]),
    ("db", &["config", "dice"]),
    ("tables", &["rules", "solver"]),
    ("accounts", &["config", "db", "dice", "ids", "wall_clock"]),
    ("ratings", &["db", "ids", "rules", "wall_clock"]),
    ("events", &["config", "db", "ids", "wall_clock"]),
    ("games", &["db", "events", "ids", "ratings", "rules", "solver", "wall_clock"]),
    ("lobby", &["db", "dice", "events", "games", "ids", "ratings", "rules", "wall_clock"]),
    (
        "http",
        &[
            "accounts",
            "config",
            "dice",
            "events",
            "games",
            "ids",
            "lobby",
            "ratings",
            "rules",
            "solver",
            "wall_clock",
        ],
    ),
    (
        "app",
        &[
            "accounts",
            "config",
            "db",
            "dice",
            "events",
            "games",
            "http",
            "ids",
            "lobby",
            "ratings",
            "rules",
            "solver",
            "tables",
            "telemetry",
            "wall_clock",
        ],
    ),
    ("main", &[]),
    ("lib", &[]),
];

/// Single files that may name more, and why.
const EXCEPTIONS: &[(&str, &str, &str)] =
    &[("http/operations.rs", "db", "whether the service is ready depends on the migrations")];

/// Tables that one more module writes, and why.
const ALSO_WRITES: &[(&str, &str, &str)] = &[
    ("games", "player_event", "a move and the opponent's `your_turn` are one statement"),
    ("games", "player_log", "a move and the opponent's `your_turn` are one statement"),
];

/// Who may name an HTTP status: failures become one in `error`, and `finish` counts and logs them.
const NAMES_STATUS_CODE: &[&str] = &["http/error.rs", "http/finish.rs"];

/// Who reads a clock: the edge, and the tasks. Everybody else is told what time it is.
const READS_THE_CLOCK: &[&str] =
    &["wall_clock.rs", "app.rs", "main.rs", "games/computer.rs", "games/flags.rs", "lobby/matchmaker.rs"];

/// A file has no more lines than this, not counting its own tests …
const LINES: usize = 400;

/// … unless there is a reason.
const LONG_FOR_A_REASON: &[(&str, &str)] = &[
    ("app.rs", "everything is wired in one place: what there is, and the tasks in one list"),
    ("accounts/store.rs", "SQL reads best one clause a line, and the SQL of a module stands together"),
    ("games/store.rs", "SQL reads best one clause a line, and the SQL of a module stands together"),
    ("games/mod.rs", "what may be done to a game, one function each, under one lock"),
    (
        "http/accounts.rs",
        "the operations of a resource stand together, and their documentation is most of it",
    ),
    ("http/document.rs", "half of it is the text of the document"),
    ("http/games.rs", "the operations of a resource stand together, and their documentation is most of it"),
    ("http/lobby.rs", "the operations of a resource stand together, and their documentation is most of it"),
    ("http/players.rs", "the operations of a resource stand together, and their documentation is most of it"),
    ("lobby/challenges.rs", "SQL reads best one clause a line, and the SQL of a table stands together"),
    ("lobby/tickets.rs", "SQL reads best one clause a line, and the SQL of a table stands together"),
    ("main.rs", "the commands stand together, one function each"),
    ("lobby/matchmaker.rs", "one step of the matchmaker is one transaction, read from top to bottom"),
];

/// Attributes that must be `allow`, and why.
const ALLOWS: &[(&str, &str)] =
    &[("config.rs", "clap's derive makes the expectation twice, and one of the two is not met")];

/// A source file without its comments and its own tests.
struct Source {
    /// The path below `src`.
    path: String,
    /// All of it.
    whole: String,
    /// The code that ships.
    code: String,
}

impl Source {
    fn module(&self) -> &str {
        self.path.split(['/', '.']).next().unwrap_or_default()
    }
}

fn sources() -> Vec<Source> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let mut sources: Vec<Source> = rust_files(&root)
        .into_iter()
        .map(|file| {
            let path = file.strip_prefix(&root).expect("it lies below").to_string_lossy().replace('\\', "/");
            let whole = fs::read_to_string(&file).expect("it can be read");
            let ships = whole.split("#[cfg(test)]\nmod ").next().unwrap_or_default();
            let code = ships.lines().map(without_comment).collect::<Vec<_>>().join("\n");
            Source { path, whole, code }
        })
        .collect();
    sources.sort_by(|a, b| a.path.cmp(&b.path));
    assert!(sources.len() > 20, "the sources were not found");
    sources
}

fn rust_files(folder: &Path) -> Vec<PathBuf> {
    let entries =
        fs::read_dir(folder).expect("the folder can be read").map(|entry| entry.expect("an entry").path());
    entries
        .flat_map(|path| match path.extension() {
            _ if path.is_dir() => rust_files(&path),
            Some(extension) if extension == "rs" => vec![path],
            _ => Vec::new(),
        })
        .collect()
}

fn without_comment(line: &str) -> &str {
    let start = line.trim_start();
    if start.starts_with("//") { "" } else { line.split(" // ").next().unwrap_or_default() }
}

/// The names that follow `crate::`, in paths and in braces.
fn named_modules(code: &str) -> BTreeSet<String> {
    let mut named = BTreeSet::new();
    for rest in code.split("crate::").skip(1) {
        let Some(group) = rest.strip_prefix('{') else {
            named.insert(first_word(rest));
            continue;
        };
        let mut depth = 1;
        let mut item = String::new();
        for letter in group.chars() {
            match letter {
                '{' => depth += 1,
                '}' => depth -= 1,
                _ => {}
            }
            if depth == 0 || (depth == 1 && letter == ',') {
                named.insert(first_word(item.trim()));
                item.clear();
            } else {
                item.push(letter);
            }
            if depth == 0 {
                break;
            }
        }
    }
    named.remove("");
    named
}

fn first_word(text: &str) -> String {
    text.chars().take_while(|letter| letter.is_alphanumeric() || *letter == '_').collect()
}

#[test]
fn modules_name_only_what_stands_above_them() {
    let mut wrong = Vec::new();
    for source in sources() {
        let module = source.module();
        let Some((_, allowed)) = MAY_NAME.iter().find(|(name, _)| *name == module) else {
            panic!("{} is in no table: say in MAY_NAME what it may name", source.path)
        };
        for named in named_modules(&source.code) {
            let excepted = EXCEPTIONS.iter().any(|(path, name, _)| *path == source.path && *name == named);
            let is_module = MAY_NAME.iter().any(|(name, _)| *name == named);
            if is_module && named != module && !allowed.contains(&named.as_str()) && !excepted {
                wrong.push(format!("{} names {named}", source.path));
            }
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}

#[test]
fn the_rules_name_nothing_but_the_standard_library() {
    for source in sources().iter().filter(|source| source.module() == "rules") {
        for name in ["serde", "sqlx", "tokio", "chrono", "rand", "actix_web", "utoipa", "uuid", "tracing"] {
            assert!(!source.code.contains(&format!("{name}::")), "{} names {name}", source.path);
        }
    }
}

#[test]
fn the_edge_goes_through_the_domain() {
    for source in sources().iter().filter(|source| ["http", "app"].contains(&source.module())) {
        assert!(!source.code.contains("store::"), "{} reaches into a store", source.path);
    }
}

#[test]
fn statuses_are_named_in_one_place() {
    let naming: Vec<String> = naming(|source| source.code.contains("StatusCode"));
    assert_eq!(naming, NAMES_STATUS_CODE);
}

#[test]
fn only_the_edge_and_the_tasks_read_the_clock() {
    for path in naming(|source| source.code.contains("WallClock")) {
        let is_allowed = READS_THE_CLOCK.contains(&path.as_str()) || path.starts_with("http/");
        assert!(is_allowed, "{path} names WallClock: take the time as an argument");
    }
}

fn naming(is_wanted: impl Fn(&Source) -> bool) -> Vec<String> {
    sources().into_iter().filter(|source| is_wanted(source)).map(|source| source.path).collect()
}

/// The tables that a text inserts into, updates or deletes from.
fn written_tables(code: &str) -> BTreeSet<String> {
    let lower = code.to_lowercase();
    let words: Vec<&str> = lower
        .split(|letter: char| letter.is_whitespace() || "\"(),;".contains(letter))
        .filter(|word| !word.is_empty())
        .collect();
    let table_at = |position: usize| match words[position..] {
        ["insert", "into", table, ..] | ["delete", "from", table, ..] | ["merge", "into", table, ..] => {
            Some(table)
        }
        ["update", table, "set", ..]
        | ["update", table, _, "set", ..]
        | ["update", table, "as", _, "set", ..]
            if position == 0 || !["for", "key", "do"].contains(&words[position - 1]) =>
        {
            Some(table)
        }
        _ => None,
    };
    (0..words.len()).filter_map(table_at).map(str::to_owned).collect()
}

#[test]
fn a_table_is_written_by_one_module() {
    let migrations = Path::new(env!("CARGO_MANIFEST_DIR")).join("migrations");
    let mut tables = BTreeSet::new();
    for entry in fs::read_dir(migrations).expect("there are migrations") {
        let text =
            fs::read_to_string(entry.expect("an entry").path()).expect("it can be read").to_lowercase();
        tables.extend(text.split("create table ").skip(1).map(first_word));
    }
    let mut writers: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    for source in sources() {
        for table in written_tables(&source.code).intersection(&tables) {
            let module = source.module();
            if !ALSO_WRITES.iter().any(|(also, its, _)| *also == module && *its == table) {
                writers.entry(table.clone()).or_default().insert(module.to_owned());
            }
        }
    }
    for (table, modules) in &writers {
        assert_eq!(modules.len(), 1, "{table} is written by {modules:?}");
        assert!(!modules.contains("http") && !modules.contains("app"), "{table} is written at the edge");
    }
    let unwritten: Vec<&String> = tables.iter().filter(|table| !writers.contains_key(*table)).collect();
    assert!(unwritten.is_empty(), "nobody writes {unwritten:?}");
}

#[test]
fn files_are_short_or_have_a_reason() {
    for source in sources() {
        let lines = source.whole.split("#[cfg(test)]\nmod ").next().unwrap_or_default().lines().count();
        let has_reason = LONG_FOR_A_REASON.iter().any(|(path, _)| *path == source.path);
        assert!(
            lines <= LINES || has_reason,
            "{} has {lines} lines: split it, or give a reason",
            source.path
        );
    }
    let known = sources();
    for (path, _) in LONG_FOR_A_REASON {
        assert!(known.iter().any(|source| source.path == *path), "{path} is gone: take its reason away");
    }
}

#[test]
fn every_file_opens_with_what_it_is() {
    for source in sources() {
        assert!(source.whole.starts_with("//! "), "{} does not", source.path);
    }
}

#[test]
fn nothing_unwraps_and_nothing_is_hushed_up() {
    for source in sources() {
        assert!(!source.code.contains(".unwrap()"), "{}: expect(\"why it cannot fail\")", source.path);
        for hidden in ["todo!(", "unimplemented!(", "dbg!("] {
            assert!(!source.code.contains(hidden), "{} has {hidden}…)", source.path);
        }
        let is_allowed = ALLOWS.iter().any(|(path, _)| *path == source.path);
        assert!(
            is_allowed || !source.code.contains("#[allow("),
            "{}: #[expect(…, reason = \"…\")]",
            source.path
        );
    }
}

#[test]
fn text_is_read_as_it_is_meant() {
    let named = named_modules(
        "use crate::{\n    accounts::{self, Accounts},\n    ids::GameId,\n};\ncrate::rules::Role",
    );
    assert_eq!(named, ["accounts", "ids", "rules"].map(str::to_owned).into());
    let written = written_tables(
        "\"update game set x = 1\" \"select 1 for update skip locked\" \"insert into b (c) values (1) on conflict do update set c = 2\"",
    );
    assert_eq!(written, ["b", "game"].map(str::to_owned).into());
}
