//! Under which user PostgreSQL runs: our own, or an unprivileged one when we are root.

use std::{
    env,
    ffi::OsStr,
    fs, io,
    os::unix::{
        fs::{MetadataExt, chown},
        process::CommandExt,
    },
    path::Path,
    process::{Command, Stdio},
};

use super::error::StartError;

/// Whom to prefer; the underscore is how macOS spells it.
const UNPRIVILEGED: [&str; 3] = ["postgres", "_postgres", "nobody"];

/// The user that the server runs under.
#[derive(Debug)]
pub(super) struct ServerUser {
    name: String,
    uid: u32,
    /// Only root changes the user; the group to change to.
    change_to_gid: Option<u32>,
}

impl ServerUser {
    /// Chooses the owner of existing data, or else the first unprivileged user that this machine has.
    pub(super) fn choose(pgdata: &Path) -> Result<ServerUser, StartError> {
        let uid = rustix::process::geteuid();
        if !uid.is_root() {
            return Ok(ServerUser { name: "yourself".into(), uid: uid.as_raw(), change_to_gid: None });
        }
        let passwd = fs::read_to_string("/etc/passwd").unwrap_or_default();
        let users = || passwd.lines().filter_map(parse_user).filter(|&(_, uid, _)| uid != 0);
        if let Ok(owner) = fs::metadata(pgdata).map(|data| (data.uid(), data.gid()))
            && owner.0 != 0
        {
            let name = users()
                .find(|user| user.1 == owner.0)
                .map_or_else(|| owner.0.to_string(), |user| user.0.into());
            return Ok(ServerUser { name, uid: owner.0, change_to_gid: Some(owner.1) });
        }
        UNPRIVILEGED
            .iter()
            .find_map(|&wanted| users().find(|&(name, ..)| name == wanted))
            .map(|(name, uid, gid)| ServerUser { name: name.into(), uid, change_to_gid: Some(gid) })
            .ok_or(StartError::NoUnprivilegedUser)
    }

    pub(super) fn uid(&self) -> u32 {
        self.uid
    }

    /// A command that runs under this user, in a folder that everybody may read, knowing nothing of our
    /// environment: neither our secrets nor the `PG…` variables.
    pub(super) fn command(&self, program: impl AsRef<OsStr>) -> Command {
        let mut command = Command::new(program);
        // On macOS a server without LC_ALL dies of "postmaster became multithreaded during startup".
        command.env_clear().env("LC_ALL", "C").current_dir("/").stdin(Stdio::null());
        for kept in ["PATH", "LD_LIBRARY_PATH"] {
            if let Some(value) = env::var_os(kept) {
                command.env(kept, value);
            }
        }
        if let Some(gid) = self.change_to_gid {
            command.uid(self.uid).gid(gid);
        }
        command
    }

    /// Hands a file or folder over to this user.
    pub(super) fn own(&self, path: &Path) -> io::Result<()> {
        match self.change_to_gid {
            Some(gid) => chown(path, Some(self.uid), Some(gid)),
            None => Ok(()),
        }
    }

    /// Checks that this user may enter a folder, which matters when it is not ourselves.
    pub(super) fn check_may_enter(&self, folder: &Path) -> Result<(), StartError> {
        let Some(gid) = self.change_to_gid else { return Ok(()) };
        let folder = fs::canonicalize(folder).map_err(StartError::files("finding", folder))?;
        let mut from_the_top: Vec<&Path> = folder.ancestors().collect();
        from_the_top.reverse();
        for ancestor in from_the_top {
            let about = fs::metadata(ancestor).map_err(StartError::files("looking at", ancestor))?;
            let enter = match about.uid() == self.uid {
                true => 0o100,
                false if about.gid() == gid => 0o010,
                false => 0o001,
            };
            if about.mode() & enter == 0 {
                return Err(StartError::Unreachable { user: self.name.clone(), folder: ancestor.to_owned() });
            }
        }
        Ok(())
    }
}

/// Reads `name:password:uid:gid:…`.
fn parse_user(line: &str) -> Option<(&str, u32, u32)> {
    let mut fields = line.split(':');
    let name = fields.next()?;
    let uid = fields.nth(1)?.parse().ok()?;
    let gid = fields.next()?.parse().ok()?;
    Some((name, uid, gid))
}
