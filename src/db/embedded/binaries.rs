//! Finds PostgreSQL's programs on this machine.

use std::{
    env, fs,
    path::{Path, PathBuf},
    process::{Command, Stdio},
};

use super::error::{StartError, listed};

/// The oldest major version that is looked at.
pub(super) const OLDEST_MAJOR: u32 = 15;

/// Where packages put one version each: the parent, how the version's folder begins, and what follows below it.
const USUAL_PLACES: [(&str, &str, &str); 8] = [
    ("/usr/lib/postgresql", "", "bin"),
    ("/usr", "pgsql-", "bin"),
    ("/usr/libexec", "postgresql", ""),
    ("/opt/homebrew/opt", "postgresql", "bin"),
    ("/usr/local/opt", "postgresql", "bin"),
    ("/home/linuxbrew/.linuxbrew/opt", "postgresql", "bin"),
    ("/usr/local", "pgsql", "bin"),
    ("/Applications/Postgres.app/Contents/Versions", "", "bin"),
];

/// One installed PostgreSQL.
#[derive(Debug)]
pub(super) struct Binaries {
    folder: PathBuf,
    major: u32,
}

impl Binaries {
    /// Finds the version that made the data, or the newest when there is no data yet.
    pub(super) fn find(
        bin_dir: Option<&Path>,
        made_by: Option<u32>,
        pgdata: &Path,
    ) -> Result<Binaries, StartError> {
        let mut found: Vec<Binaries> = match bin_dir {
            Some(folder) => vec![
                Binaries::at(folder)
                    .ok_or_else(|| StartError::NoPostgresThere { bin_dir: folder.to_owned() })?,
            ],
            None => candidates().iter().filter_map(|folder| Binaries::at(folder)).collect(),
        };
        // Stable, so that among equals the one found first stays first.
        found.sort_by_key(|binaries| std::cmp::Reverse(binaries.major));
        if found.is_empty() {
            return Err(StartError::NoPostgres);
        }
        match made_by {
            None => Ok(found.swap_remove(0)),
            Some(made_by) => match found.iter().position(|binaries| binaries.major == made_by) {
                Some(position) => Ok(found.swap_remove(position)),
                None => {
                    let found = listed(found.iter().map(|binaries| binaries.major));
                    Err(StartError::OtherMajor { pgdata: pgdata.to_owned(), made_by, found })
                }
            },
        }
    }

    pub(super) fn major(&self) -> u32 {
        self.major
    }

    pub(super) fn initdb(&self) -> PathBuf {
        self.folder.join("initdb")
    }

    pub(super) fn postgres(&self) -> PathBuf {
        self.folder.join("postgres")
    }

    /// Looks at one folder, asking the server for its version.
    fn at(folder: &Path) -> Option<Binaries> {
        // Links are followed, since `initdb` looks for `postgres` beside itself.
        let folder = fs::canonicalize(folder.join("postgres")).ok()?.parent()?.to_owned();
        if !folder.join("initdb").exists() {
            return None;
        }
        let version = output_of(Command::new(folder.join("postgres")).arg("--version"))?;
        let major = major_of(&version).filter(|&major| major >= OLDEST_MAJOR)?;
        Some(Binaries { folder, major })
    }
}

/// The folders that may hold a PostgreSQL, each once.
fn candidates() -> Vec<PathBuf> {
    let mut folders: Vec<PathBuf> = output_of(Command::new("pg_config").arg("--bindir"))
        .map(|line| line.trim().into())
        .into_iter()
        .collect();
    for (parent, begins, below) in USUAL_PLACES {
        let entries = fs::read_dir(parent).into_iter().flatten().flatten();
        folders.extend(
            entries
                .filter(|entry| entry.file_name().to_string_lossy().starts_with(begins))
                .map(|entry| entry.path().join(below)),
        );
    }
    folders.extend(env::split_paths(&env::var_os("PATH").unwrap_or_default()));

    let mut programs: Vec<PathBuf> = Vec::new();
    for folder in folders {
        if let Ok(program) = fs::canonicalize(folder.join("postgres"))
            && !programs.contains(&program)
        {
            programs.push(program);
        }
    }
    programs.iter().filter_map(|program| program.parent()).map(Path::to_owned).collect()
}

fn output_of(command: &mut Command) -> Option<String> {
    let output = command.stdin(Stdio::null()).output().ok().filter(|output| output.status.success())?;
    String::from_utf8(output.stdout).ok()
}

/// Reads `postgres (PostgreSQL) 15.18 (Debian …)`, and `18beta1` too.
fn major_of(version: &str) -> Option<u32> {
    let number = version.strip_prefix("postgres (PostgreSQL) ")?;
    let digits = number.find(|letter: char| !letter.is_ascii_digit()).unwrap_or(number.len());
    number[..digits].parse().ok()
}

#[cfg(test)]
mod tests {
    use super::major_of;

    #[test]
    fn versions_are_read() {
        assert_eq!(major_of("postgres (PostgreSQL) 15.18 (Debian 15.18-0+deb12u1)\n"), Some(15));
        assert_eq!(major_of("postgres (PostgreSQL) 18beta1\n"), Some(18));
        assert_eq!(major_of("something else"), None);
    }
}
