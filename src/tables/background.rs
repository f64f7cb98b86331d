//! What a server does about tables while it serves: it opens what is there, and makes the usual one if need be.
//!
//! A folder that cannot be used is no reason not to serve: the table is made all the same and kept in memory only.

use std::{sync::Arc, thread, time::Duration};

use super::{Folder, Name, Priority, solve};
use crate::solver::{Progress, Solver};

/// How often to look whether another process is done with the table.
const LOOK_AGAIN: Duration = Duration::from_secs(1);

/// Where a server has its tables, and whether it makes them.
#[derive(Clone, Debug)]
pub struct Settings {
    /// The folder, if one is known.
    pub folder: Option<Folder>,
    /// Whether the usual table is made when it is not there.
    pub make: bool,
}

/// The thread that does it. Dropping this stops the work.
///
/// Nobody waits for its end: on a busy machine it hardly gets to notice, and it may be cut off at any time, since a
/// file takes its place only when it is complete.
#[derive(Debug)]
pub struct Background {
    progress: Arc<Progress>,
}

impl Background {
    /// Starts it; what it opens or makes is added to the solver.
    ///
    /// # Errors
    ///
    /// When no thread can be started.
    pub fn start(settings: Settings, solver: Solver) -> std::io::Result<Background> {
        let progress = Arc::new(Progress::default());
        let work = Work { settings, solver, progress: progress.clone(), opened: 0 };
        thread::Builder::new().name("tables".to_owned()).spawn(move || work.done())?;
        Ok(Background { progress })
    }
}

impl Drop for Background {
    fn drop(&mut self) {
        self.progress.stop();
    }
}

struct Work {
    settings: Settings,
    solver: Solver,
    progress: Arc<Progress>,
    opened: u32,
}

impl Work {
    fn done(mut self) {
        show_progress(0.0);
        self.show_opened();
        let names = self.settings.folder.iter().flat_map(Folder::names).collect::<Vec<_>>();
        names.into_iter().for_each(|name| self.open(name));
        let usual = Name::usual();
        if !self.solver.knows(usual.key.with_hunters(usual.most_hunters)) && self.settings.make {
            self.make(usual);
        }
        if self.solver.knows(usual.key.with_hunters(usual.most_hunters)) {
            show_progress(1.0);
        }
    }

    /// Opens a table if it is there and as it should be.
    fn open(&mut self, name: Name) {
        match self.settings.folder.as_ref().map_or(Ok(None), |folder| folder.open(name)) {
            Ok(Some(table)) => {
                self.solver.add(table);
                self.opened += 1;
                self.show_opened();
                tracing::info!(table = %name, "table opened");
            }
            Ok(None) => {}
            Err(error) => {
                tracing::warn!(table = %name, "{error}; it is not used; make it anew by: leveret solve");
            }
        }
    }

    fn make(&mut self, name: Name) {
        let Some(folder) = self.settings.folder.clone() else {
            tracing::warn!(table = %name, "there is no folder for tables: it is made for this process only");
            return self.make_in(name, None);
        };
        let mut has_said = false;
        let lock = loop {
            match folder.lock() {
                Ok(Some(lock)) => break lock,
                Ok(None) if self.progress.is_stopped() => return,
                Ok(None) => {
                    if !has_said {
                        tracing::info!(table = %name, "another process is making it");
                        has_said = true;
                    }
                    thread::park_timeout(LOOK_AGAIN);
                }
                Err(error) => {
                    tracing::warn!(table = %name, "{error}; it is made for this process only");
                    return self.make_in(name, None);
                }
            }
        };
        // Another process may have made it in the meantime.
        if has_said {
            self.open(name);
        }
        if !self.solver.knows(name.key.with_hunters(name.most_hunters)) {
            self.make_in(name, Some((&folder, &lock)));
        }
    }

    fn make_in(&mut self, name: Name, folder: Option<(&Folder, &super::Lock)>) {
        tracing::info!(table = %name, "making a table in the background");
        let mut next = 10.0;
        let solved = solve(name, Priority::Low, &self.progress, |ratio| {
            show_progress(ratio);
            let percent = ratio * 100.0;
            if percent >= next {
                tracing::info!(table = %name, percent = percent as u8, "making a table");
                next = (percent / 10.0).floor() * 10.0 + 10.0;
            }
        });
        let Ok(table) = solved else {
            tracing::info!(table = %name, "the table is left unfinished");
            return;
        };
        if let Some((folder, lock)) = folder {
            match folder.write(lock, &table) {
                Ok(()) => tracing::info!(file = %folder.file(name).display(), "table made"),
                Err(error) => tracing::warn!(table = %name, "{error}; the next start makes it once more"),
            }
        }
        self.solver.add(table);
        self.opened += 1;
        self.show_opened();
    }

    fn show_opened(&self) {
        metrics::gauge!("leveret_solver_tables").set(self.opened);
    }
}

fn show_progress(ratio: f64) {
    metrics::gauge!("leveret_solver_progress_ratio").set(ratio);
}
