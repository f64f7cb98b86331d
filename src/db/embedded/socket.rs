//! The folder of the server's socket: in the data folder, or elsewhere when that path is too long.

use std::{
    env,
    fmt::Write,
    fs::{self, DirBuilder},
    os::unix::fs::{DirBuilderExt, MetadataExt, symlink},
    path::{Path, PathBuf},
};

use super::{
    Purpose,
    cluster::{MAINTENANCE, SERVICE},
    error::StartError,
    server_user::ServerUser,
};
use crate::dice;

/// The port only names the socket's file.
pub(super) const PORT: u16 = 5432;

/// The longest path that a socket may have.
const LONGEST: usize = if cfg!(target_os = "macos") { 103 } else { 107 };

/// A folder of mode 0700 that belongs to the server's user.
#[derive(Debug)]
pub(super) struct SocketFolder {
    path: PathBuf,
    /// The link in the data folder, when the folder itself is elsewhere.
    link: Option<PathBuf>,
}

impl SocketFolder {
    /// Makes the folder, or takes the one of the last start.
    pub(super) fn prepare(data_dir: &Path, user: &ServerUser) -> Result<SocketFolder, StartError> {
        let inside = data_dir.join("socket");
        let is_link = inside.is_symlink();
        if fits(&inside) {
            if is_link {
                fs::remove_file(&inside).map_err(StartError::files("removing", &inside))?;
            }
            if !inside.exists() {
                make(&inside, user)?;
            }
            return SocketFolder { path: inside, link: None }.without_leftovers();
        }

        if let Ok(target) = fs::read_link(&inside)
            && fits(&target)
            && is_ours(&target, user)
        {
            return SocketFolder { path: target, link: Some(inside) }.without_leftovers();
        }
        if is_link {
            fs::remove_file(&inside).map_err(StartError::files("removing", &inside))?;
        } else if inside.exists() {
            fs::remove_dir_all(&inside).map_err(StartError::files("removing", &inside))?;
        }
        let base = Some(env::temp_dir())
            .filter(|base| fits(&base.join(unguessable())) && user.check_may_enter(base).is_ok())
            .unwrap_or_else(|| "/tmp".into());
        let path = base.join(unguessable());
        make(&path, user)?;
        symlink(&path, &inside).map_err(StartError::files("making", &inside))?;
        Ok(SocketFolder { path, link: Some(inside) })
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// The address of the database, with everything in it that variables such as `PGPORT` could alter.
    pub(super) fn url(&self, purpose: Purpose) -> String {
        let database = match purpose {
            Purpose::Service => SERVICE,
            Purpose::Tests => MAINTENANCE,
        };
        let mut url = format!("postgres://{SERVICE}@localhost:{PORT}/{database}?host=");
        for &byte in self.path.as_os_str().as_encoded_bytes() {
            match byte {
                b'/' | b'-' | b'_' | b'.' | b'~' => url.push(byte.into()),
                _ if byte.is_ascii_alphanumeric() => url.push(byte.into()),
                _ => write!(url, "%{byte:02X}").expect("a string takes any text"),
            }
        }
        url
    }

    /// Removes the folder when it is not in the data folder, where it would be litter.
    pub(super) fn remove_if_outside(&self) {
        if let Some(link) = &self.link {
            let _ = fs::remove_dir_all(&self.path);
            let _ = fs::remove_file(link);
        }
    }

    /// Removes a socket and its lock that a killed server has left. Nobody else uses this folder: we hold the
    /// data folder's lock, and no server is alive on it.
    fn without_leftovers(self) -> Result<SocketFolder, StartError> {
        for name in [format!(".s.PGSQL.{PORT}"), format!(".s.PGSQL.{PORT}.lock")] {
            let path = self.path.join(name);
            if path.symlink_metadata().is_ok() {
                fs::remove_file(&path).map_err(StartError::files("removing", &path))?;
            }
        }
        Ok(self)
    }
}

/// Whether a socket in this folder has a path that is short enough, and that a URL can carry.
fn fits(folder: &Path) -> bool {
    let socket = folder.join(format!(".s.PGSQL.{PORT}"));
    socket.as_os_str().len() <= LONGEST && socket.to_str().is_some()
}

/// A name that nobody can take before us.
fn unguessable() -> String {
    format!("leveret-{:032x}", dice::roll::<u128>())
}

/// Makes a folder that must not exist yet.
fn make(folder: &Path, user: &ServerUser) -> Result<(), StartError> {
    DirBuilder::new().mode(0o700).create(folder).map_err(StartError::files("making", folder))?;
    user.own(folder).map_err(StartError::files("handing over", folder))
}

/// Whether a folder outside is still the one that we made: its name could have been read and taken since.
fn is_ours(folder: &Path, user: &ServerUser) -> bool {
    folder
        .symlink_metadata()
        .is_ok_and(|about| about.is_dir() && about.uid() == user.uid() && about.mode() & 0o777 == 0o700)
}
