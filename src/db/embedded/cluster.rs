//! The cluster on disk: made once, in a folder beside its place, and moved there when it is complete.

use std::{
    fs::{self, DirBuilder, File, Permissions},
    io::{self, Write},
    os::unix::fs::{DirBuilderExt, PermissionsExt},
    path::{Path, PathBuf},
    process::{Command, Output, Stdio},
};

use super::{
    Purpose,
    binaries::Binaries,
    error::{StartError, last_lines},
    leftovers,
    server_user::ServerUser,
};
use crate::dice;

/// The superuser, whom only an operator uses: `psql -U postgres`.
const SUPERUSER: &str = "postgres";

/// The database that every cluster has.
pub(super) const MAINTENANCE: &str = "postgres";

/// The role and the database of the service.
pub(super) const SERVICE: &str = "leveret";

const UNFINISHED: &str = "postgres.new-";

/// The cluster's folder in a data folder.
pub(super) fn folder(data_dir: &Path) -> PathBuf {
    data_dir.join("postgres")
}

/// The major version that made the cluster, or nothing when there is none.
pub(super) fn major_version(pgdata: &Path) -> Result<Option<u32>, StartError> {
    let path = pgdata.join("PG_VERSION");
    match fs::read_to_string(&path) {
        Ok(text) => {
            let garbled = |_| io::Error::new(io::ErrorKind::InvalidData, "it holds no version");
            text.trim().parse().map(Some).map_err(garbled).map_err(StartError::files("reading", &path))
        }
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(StartError::files("reading", &path)(error)),
    }
}

/// Makes the data folder if need be, and sees that the server can get there.
pub(super) fn make_data_dir(data_dir: &Path, user: &ServerUser, purpose: Purpose) -> Result<(), StartError> {
    // Looked at first, so that a folder in the wrong place is refused before it is made.
    if let Some(existing) = data_dir.ancestors().find(|ancestor| ancestor.exists()) {
        user.check_may_enter(existing)?;
    }
    if let Some(parent) = data_dir.parent() {
        fs::create_dir_all(parent).map_err(StartError::files("making", parent))?;
    }
    // The server's user passes through, but sees nothing besides its own folders.
    let mode = if rustix::process::geteuid().is_root() { 0o711 } else { 0o700 };
    match DirBuilder::new().mode(mode).create(data_dir) {
        // Once more, whatever the umask has taken away.
        Ok(()) => fs::set_permissions(data_dir, Permissions::from_mode(mode)),
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists && purpose == Purpose::Service => Ok(()),
        Err(error) => Err(error),
    }
    .map_err(StartError::files("making", data_dir))?;
    user.check_may_enter(data_dir)
}

/// Makes a cluster with the service's role and database.
pub(super) fn create(
    data_dir: &Path,
    binaries: &Binaries,
    user: &ServerUser,
    purpose: Purpose,
) -> Result<(), StartError> {
    remove_unfinished(data_dir);
    // A new name each time: the initdb of a killed process may still be at work in the last one.
    let building = data_dir.join(format!("{UNFINISHED}{:032x}", dice::roll::<u128>()));
    DirBuilder::new().mode(0o700).create(&building).map_err(StartError::files("making", &building))?;
    let built = build(&building, binaries, user, purpose).and_then(|()| {
        let pgdata = folder(data_dir);
        fs::rename(&building, &pgdata).map_err(StartError::files("making", &pgdata))?;
        File::open(data_dir).and_then(|dir| dir.sync_all()).map_err(StartError::files("syncing", data_dir))
    });
    if built.is_err() {
        remove_unfinished(data_dir);
    }
    built
}

fn build(
    building: &Path,
    binaries: &Binaries,
    user: &ServerUser,
    purpose: Purpose,
) -> Result<(), StartError> {
    user.own(building).map_err(StartError::files("handing over", building))?;

    // Texts compare by code point everywhere, so that the order of names does not depend on the machine.
    let locales: &[&[&str]] = match binaries.major() {
        17.. => &[&["--locale=C", "--locale-provider=builtin", "--builtin-locale=C.UTF-8"]],
        _ => &[&["--locale=C.UTF-8"], &["--locale=C"]],
    };
    for (tried, locale) in locales.iter().enumerate() {
        let mut initdb = user.command(binaries.initdb());
        initdb.arg("-D").arg(building).args(*locale).args(["--encoding=UTF8", "--no-sync"]);
        initdb.args(["--auth-local=trust", "--auth-host=reject"]).arg(format!("--username={SUPERUSER}"));
        let output = run(&mut initdb, "").map_err(StartError::run(binaries.initdb()))?;
        if output.status.success() {
            break;
        }
        let output = text_of(&output);
        if tried + 1 == locales.len() || !output.contains("invalid locale") {
            return Err(StartError::Create { pgdata: building.to_owned(), output: last_lines(&output) });
        }
    }

    // A server for one client on standard input: nothing to connect to, nothing to wait for.
    let mut single = user.command(binaries.postgres());
    single.arg("--single").arg("-D").arg(building).args(["-c", "fsync=off", "template1"]);
    let sql = match purpose {
        Purpose::Service => {
            format!("create role {SERVICE} login\ncreate database {SERVICE} owner {SERVICE}\n")
        }
        Purpose::Tests => format!("create role {SERVICE} login createdb\n"),
    };
    let output = run(&mut single, &sql).map_err(StartError::run(binaries.postgres()))?;
    let text = text_of(&output);
    // It goes on after a failed statement, and ends well.
    if !output.status.success() || text.contains("ERROR:") {
        return Err(StartError::Create { pgdata: building.to_owned(), output: last_lines(&text) });
    }

    match purpose {
        Purpose::Service => sync(building, binaries, user),
        Purpose::Tests => Ok(()),
    }
}

/// Sees the new files on disk. So far nothing was synced.
fn sync(building: &Path, binaries: &Binaries, user: &ServerUser) -> Result<(), StartError> {
    // The whole file system at once takes a tenth of the time that a thousand files take one by one.
    #[cfg(target_os = "linux")]
    if File::open(building).is_ok_and(|folder| rustix::fs::syncfs(folder).is_ok()) {
        return Ok(());
    }
    let mut initdb = user.command(binaries.initdb());
    initdb.arg("--sync-only").arg("-D").arg(building);
    let output = run(&mut initdb, "").map_err(StartError::run(binaries.initdb()))?;
    if output.status.success() {
        return Ok(());
    }
    Err(StartError::Create { pgdata: building.to_owned(), output: last_lines(&text_of(&output)) })
}

/// Removes what starts that were killed have left, once nothing works there any more.
fn remove_unfinished(data_dir: &Path) {
    for entry in fs::read_dir(data_dir).into_iter().flatten().flatten() {
        if !entry.file_name().to_string_lossy().starts_with(UNFINISHED) {
            continue;
        }
        let path = entry.path();
        if let Err(error) = leftovers::end_all(&path) {
            tracing::warn!(%error, "an unfinished cluster is still being made");
        }
        if let Err(error) = fs::remove_dir_all(&path) {
            tracing::warn!(path = %path.display(), %error, "an unfinished cluster cannot be removed");
        }
    }
}

fn run(command: &mut Command, input: &str) -> io::Result<Output> {
    let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn()?;
    if let Some(mut stdin) = child.stdin.take() {
        // A program that does not read has failed, and says why on its other end.
        let _ = stdin.write_all(input.as_bytes());
    }
    child.wait_with_output()
}

fn text_of(output: &Output) -> String {
    format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr))
}
