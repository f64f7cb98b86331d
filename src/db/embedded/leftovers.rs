//! Ends what an earlier process has left alive on a cluster, and takes its pid file out of the way.
//!
//! Only called under the lock of the data folder, so whatever still works there belongs to nobody.

use std::{
    fs,
    path::Path,
    process::Command,
    thread,
    time::{Duration, Instant},
};

use rustix::process::{Pid, Signal, kill_process, test_kill_process};

use super::error::StartError;

/// What to try in turn, and for how long.
const STEPS: [(Option<Signal>, Duration); 4] = [
    // The death of its parent has told it to end already.
    (None, Duration::from_secs(1)),
    (Some(Signal::INT), Duration::from_secs(15)),
    (Some(Signal::QUIT), Duration::from_secs(5)),
    (Some(Signal::KILL), Duration::from_secs(5)),
];

/// Returns when nothing works in this cluster any more and the next server will not mistake its pid file.
pub(super) fn end_all(pgdata: &Path) -> Result<(), StartError> {
    let Ok(pgdata) = fs::canonicalize(pgdata) else { return Ok(()) };
    let mut alive = residents(&pgdata);
    for (signal, patience) in STEPS {
        if alive.is_empty() {
            break;
        }
        if let Some(signal) = signal {
            tracing::warn!(pids = ?alive, ?signal, "ending an earlier PostgreSQL on the same data");
            // The postmaster ends its children; they mean other things by these signals.
            let postmaster = pid_in_file(&pgdata).filter(|pid| alive.contains(pid) && signal != Signal::KILL);
            for pid in postmaster.map_or_else(|| alive.clone(), |pid| vec![pid]) {
                // It may have ended since; whether it did is seen below.
                let _ = Pid::from_raw(pid).map(|pid| kill_process(pid, signal));
            }
        }
        let deadline = Instant::now() + patience;
        while !alive.is_empty() && Instant::now() < deadline {
            thread::sleep(Duration::from_millis(20));
            alive = residents(&pgdata);
        }
    }
    if !alive.is_empty() {
        return Err(StartError::Undead { pgdata, pids: alive });
    }
    disown_pid_file(&pgdata)
}

/// Sees to it that the pid file names no process besides us.
///
/// The next server would refuse to start while *any* process has the number: one that took it since, or the old
/// server itself as a zombie that nobody reaps. It does not mind its parent's number. The file stays, since by its
/// other lines the server checks for itself that the shared memory of the last one is not in use.
fn disown_pid_file(pgdata: &Path) -> Result<(), StartError> {
    let path = pgdata.join("postmaster.pid");
    let Ok(text) = fs::read_to_string(&path) else { return Ok(()) };
    let taken = pid_in_file(pgdata).and_then(Pid::from_raw).is_none_or(|pid| test_kill_process(pid).is_ok());
    if !taken {
        return Ok(());
    }
    let rest = text.split_once('\n').map_or("", |(_, rest)| rest);
    let written = pgdata.join("postmaster.pid.disowned");
    fs::write(&written, format!("{}\n{rest}", std::process::id()))
        .and_then(|()| fs::rename(&written, &path))
        .map_err(StartError::files("correcting", &path))
}

fn pid_in_file(pgdata: &Path) -> Option<i32> {
    // Negative numbers are those of servers for a single client.
    let text = fs::read_to_string(pgdata.join("postmaster.pid")).ok()?;
    text.lines().next()?.trim().parse::<i32>().ok().map(i32::abs).filter(|&pid| pid != 0)
}

/// The live processes of this cluster. Zombies are not alive.
fn residents(pgdata: &Path) -> Vec<i32> {
    if Path::new("/proc/self/stat").exists() {
        let entries = fs::read_dir("/proc").into_iter().flatten().flatten();
        let pids = entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok());
        pids.filter(|&pid| resides(pid, pgdata)).collect()
    } else {
        pid_in_file(pgdata).filter(|&pid| resides_by_ps(pid, pgdata)).into_iter().collect()
    }
}

fn resides(pid: i32, pgdata: &Path) -> bool {
    // The state follows the program's name, which may itself hold a parenthesis.
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    let state = stat.rsplit_once(") ").and_then(|(_, rest)| rest.chars().next());
    if matches!(state, None | Some('Z' | 'X')) {
        return false;
    }
    match fs::read_link(format!("/proc/{pid}/cwd")) {
        Ok(folder) => folder == pgdata,
        // Root in a container may not look there; everybody may read the arguments.
        Err(_) => {
            let arguments = fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
            let mut arguments = arguments.split(|&byte| byte == 0);
            arguments.any(|argument| argument == b"-D")
                && arguments.next() == Some(pgdata.as_os_str().as_encoded_bytes())
        }
    }
}

/// For systems without `/proc`, such as macOS: the postmaster only, whose end its children follow.
fn resides_by_ps(pid: i32, pgdata: &Path) -> bool {
    let Ok(output) =
        Command::new("ps").args(["-ww", "-o", "stat=,command=", "-p", &pid.to_string()]).output()
    else {
        return false;
    };
    let line = String::from_utf8_lossy(&output.stdout);
    let line = line.trim();
    !line.is_empty() && !line.starts_with('Z') && line.contains(&format!("-D {}", pgdata.display()))
}

#[cfg(test)]
mod tests {
    use std::{env, fs, path::Path, process};

    use super::{resides, resides_by_ps};

    #[test]
    fn a_process_is_told_by_the_folder_it_works_in() {
        let pid = i32::try_from(process::id()).unwrap();
        let here = env::current_dir().and_then(fs::canonicalize).unwrap();
        assert!(resides(pid, &here));
        assert!(!resides(pid, Path::new("/nowhere")));
        assert!(!resides_by_ps(pid, Path::new("/nowhere")));
    }
}
