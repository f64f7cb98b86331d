//! A small shell that outlives us, to end the server and to clean up after `kill -9`.
//!
//! It holds the other end of a pipe from us, which the kernel closes when we end in whatever way. It has its own
//! process group, so what kills ours does not kill it.

use std::{
    io::{self, Write},
    os::unix::process::CommandExt,
    path::Path,
    process::{Child, Command, Stdio},
};

use super::error::StartError;

/// Reads the server's process id, or an empty line once it needs no ending; acts when the pipe closes.
/// Arguments: the signal, and the folder to remove or nothing.
///
/// A server without its files dies without giving its shared memory back, so each one that works in the folder is
/// waited for: the one that was told to end, and those that initdb runs, which end by themselves.
const SCRIPT: &str = r#"
trap '' HUP INT TERM
signal=$1 folder=$2 pid=
works() { for file in "$folder"/*/postmaster.pid; do [ -e "$file" ] && return 0; done; return 1; }
while read -r line; do pid=$line; done
[ -n "$pid" ] && kill -s "$signal" "$pid"
[ -n "$folder" ] || exit 0
# Between two servers of initdb there is none for a moment.
quiet=0 enough=8 tries=0
[ -n "$pid" ] && enough=1
while [ $quiet -lt $enough ] && [ $tries -lt 200 ]; do
    tries=$((tries + 1))
    if works; then quiet=0; else quiet=$((quiet + 1)); fi
    [ $quiet -lt $enough ] && sleep 0.05
done
[ -n "$pid" ] && works && kill -s KILL "$pid"
rm -rf "$folder"
# What was still writing there has noticed by now.
sleep 0.3
rm -rf "$folder"
"#;

/// The shell, and our end of the pipe.
#[derive(Debug)]
pub(super) struct Keeper(Child);

impl Keeper {
    /// One that stops the server gently and leaves the data.
    pub(super) fn stopping() -> Result<Keeper, StartError> {
        Keeper::start("INT", Path::new(""))
    }

    /// One that ends the server at once and removes the whole folder.
    pub(super) fn removing(data_dir: &Path) -> Result<Keeper, StartError> {
        Keeper::start("QUIT", data_dir)
    }

    fn start(signal: &str, removed: &Path) -> Result<Keeper, StartError> {
        let mut shell = Command::new("/bin/sh");
        shell.args(["-c", SCRIPT, "leveret-keeper", signal]).arg(removed);
        shell
            .current_dir("/")
            .process_group(0)
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .stderr(Stdio::null());
        shell.spawn().map(Keeper).map_err(StartError::run("/bin/sh"))
    }

    /// Tells it which process to end.
    pub(super) fn watch(&mut self, pid: u32) -> io::Result<()> {
        self.tell(&format!("{pid}\n"))
    }

    fn tell(&mut self, line: &str) -> io::Result<()> {
        self.0.stdin.as_mut().map_or(Ok(()), |pipe| pipe.write_all(line.as_bytes()))
    }

    /// Lets it go once the server has ended, so that it signals nobody who got that process id since.
    pub(super) fn dismiss(mut self) {
        let told = self.tell("\n");
        self.0.stdin = None;
        if let Err(error) = told.and_then(|()| self.0.wait()) {
            tracing::debug!(%error, "the keeper of the private PostgreSQL was gone");
        }
    }
}
