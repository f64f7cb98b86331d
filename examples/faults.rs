//! Kills servers and PostgreSQL under clients that journal all they ask for and are told, and then looks whether what
//! was acknowledged is in the database, once, and nothing else.
//!
//! ```text
//! cargo build --bin leveret
//! cargo run --example faults -- --server-kills 50 --postgres-kills 20 --clients 8
//! ```
//!
//! A private PostgreSQL, durable as in service, two server processes, and pairs of clients that play casual and rated
//! games with races, repeats, draws, resignations and rematches. Meanwhile three readers follow streams through it all.
//! At the end one server is stopped while all play, the other one after. It exits with 1, and leaves its folder with
//! the journal and the database, if anything is off.

#[path = "support/journal.rs"]
mod journal;
#[path = "support/partners.rs"]
mod partners;
#[path = "support/process.rs"]
#[expect(dead_code, reason = "what a server costs is not looked at")]
mod process;
#[path = "support/verdict.rs"]
mod verdict;
#[path = "support/watcher.rs"]
mod watcher;

use std::{
    collections::BTreeMap,
    mem::forget,
    net::TcpListener,
    path::Path,
    process::ExitCode,
    sync::{Arc, atomic::Ordering},
    thread::sleep,
    time::{Duration, Instant},
};

use clap::Parser;
use journal::{Addresses, Client, Journal};
use leveret::{
    db::embedded::PrivatePostgres,
    dice,
    wall_clock::{Timestamp, WallClock},
};
use partners::Club;
use process::{Complaints, Outcome, ServerProcess, TemporaryFolder, leveret as leveret_command};
use rand::{RngExt, SeedableRng, rngs::StdRng, seq::SliceRandom};
use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;
use sqlx::{AssertSqlSafe, Connection, PgConnection};
use tokio::{runtime::Runtime, task::JoinHandle};
use verdict::{Database, Findings};
use watcher::{Counts, Seen, Watcher};

const AUDIT: &str = include_str!("../tests/audit.sql");

/// For so long after PostgreSQL is back may a server still complain of it: it waits five seconds for a connection.
const AFTERMATH: Duration = Duration::from_secs(6);

/// How long players and readers may take to finish.
const TO_FINISH: Duration = Duration::from_secs(150);

#[derive(Parser)]
struct Settings {
    /// How often a server is killed
    #[arg(long, default_value_t = 50)]
    server_kills: usize,
    /// How often PostgreSQL is stopped at once, as by pg_ctl stop -m immediate
    #[arg(long, default_value_t = 20)]
    postgres_kills: usize,
    /// How many clients play, in pairs
    #[arg(long, default_value_t = 8, value_parser = pairs)]
    clients: u16,
    /// What clients and kills are drawn from [default: drawn]
    #[arg(long)]
    seed: Option<u64>,
    /// Only 5 kills of a server and 2 of PostgreSQL
    #[arg(long)]
    short: bool,
}

fn main() -> ExitCode {
    let settings = Settings::parse();
    let folder = TemporaryFolder::new("faults");
    match run(&settings, folder.path()) {
        Ok(0) => ExitCode::SUCCESS,
        outcome => {
            match outcome {
                Ok(faults) => eprintln!("faults: {faults} faults, see above"),
                Err(err) => eprintln!("faults: {err}"),
            }
            eprintln!("the journal and the database are in {}", folder.path().display());
            // It would go with this value.
            forget(folder);
            ExitCode::FAILURE
        }
    }
}

/// Answers how many faults were found.
fn run(settings: &Settings, folder: &Path) -> Outcome<usize> {
    let seed = settings.seed.unwrap_or_else(dice::roll);
    let mut rng = StdRng::seed_from_u64(seed);
    let mut site = Site::start(folder, &mut rng)?;
    println!("seed {seed}, servers at {} and {}", site.address(0), site.address(1));
    let runtime = Runtime::new()?;
    let club = runtime.block_on(club(settings, folder, &site, &mut rng))?;
    let played = play(settings, &runtime, &mut site, &club, &mut rng)?;

    let journal = &club.journal;
    let findings = runtime.block_on(hold_against_the_database(&site.url, journal, &played))?;
    let rebuild = leveret_command(&site.url)?.args(["ratings", "rebuild", "--check"]).output()?;
    let rebuild_says = String::from_utf8_lossy(&rebuild.stdout).trim().to_owned();
    if !rebuild.status.success() || !rebuild_says.starts_with("0 differences") {
        journal.fault(format!("the ratings do not come out of the log as they are stored: {rebuild_says}"));
    }
    let errors = site.judge_log(journal);
    println!("\n| what | number |\n|---|---:|");
    println!("| kills of a server, of PostgreSQL | {}, {} |", site.server_kills, site.postgres_kills);
    report_play(settings, &club, &findings, &played);
    report_streams(&played);
    println!("| laws of the audit | {} |", AUDIT.matches("-- name:").count());
    println!("| leveret ratings rebuild --check | {rebuild_says} |");
    println!("| errors in the servers' logs while PostgreSQL was away | {errors} |");
    let [one, other] = played.stopped.map(|took| took.as_millis());
    println!("| SIGTERM to exit code 0, both servers | {one} ms, {other} ms |");
    println!("| faults | {} |", journal.faults());
    Ok(journal.faults())
}

/// What is left when all is over.
struct Played {
    /// For how long they played.
    took: Duration,
    /// What the streams of games have told.
    games: BTreeMap<String, Seen>,
    /// What one client's own stream has told.
    own: BTreeMap<String, Seen>,
    counts: Arc<Counts>,
    /// How long each server took to stop.
    stopped: [Duration; 2],
}

/// Lets all play and read while servers and PostgreSQL are killed, and then stops the servers one by one.
fn play(
    settings: &Settings,
    runtime: &Runtime,
    site: &mut Site,
    club: &Arc<Club>,
    rng: &mut StdRng,
) -> Outcome<Played> {
    let began = Instant::now();
    let counts = Arc::new(Counts::default());
    let watched = partners::locked(&club.free).first().cloned().ok_or("there are no clients")?;
    let mut reader = || Watcher {
        club: club.clone(),
        client: watched.clone(),
        database: site.url.clone(),
        rng: Client::fork(rng),
        counts: counts.clone(),
    };
    let of_games = vec![runtime.spawn(reader().games()), runtime.spawn(reader().games())];
    let own = runtime.spawn(reader().own());
    let pairs: Vec<_> =
        (0..settings.clients / 2).map(|_| runtime.spawn(club.clone().play(Client::fork(rng)))).collect();

    let mut victims = victims(settings);
    victims.shuffle(rng);
    for victim in victims {
        sleep(Duration::from_millis(rng.random_range(50..1500)));
        if club.journal.faults() > 0 || pairs.iter().any(JoinHandle::is_finished) {
            break;
        }
        match victim {
            Victim::Server => site.kill_server(rng)?,
            Victim::Postgres => site.kill_postgres(rng)?,
        }
    }
    sleep(Duration::from_secs(2));
    // One server stops while all play: what it has taken on is finished, and they go on with the other one.
    club.addresses.leave(&site.address(0));
    let first = site.stop(0)?;
    sleep(Duration::from_secs(1));
    club.closing.store(true, Ordering::Relaxed);
    finish_all(runtime, pairs, "the players")?;
    club.closed.store(true, Ordering::Relaxed);
    let games = finish_all(runtime, of_games, "the readers of games")?;
    let took = began.elapsed();
    // The other one stops while a stream is open.
    wait_for(|| counts.caught_up.load(Ordering::Relaxed) || own.is_finished())?;
    let second = site.stop(1)?;
    let own = finish_all(runtime, vec![own], "the reader of its own log")?;
    let [games, own] = [games, own].map(|maps| maps.into_iter().flatten().collect());
    Ok(Played { took, games, own, counts, stopped: [first, second] })
}

fn report_play(settings: &Settings, club: &Club, findings: &Findings, played: &Played) {
    let Club { journal, games, .. } = club;
    let records = journal.records();
    let answered = records.iter().filter_map(|record| record.answered.as_ref());
    let (acknowledged, refused): (Vec<_>, Vec<_>) =
        answered.partition(|answer| (200..300).contains(&answer.1));
    let (games, seconds) = (games.load(Ordering::Relaxed), played.took.as_secs_f64());
    println!("| games begun by {} clients in {seconds:.0} s | {games} |", settings.clients);
    println!("| requests, without repeats | {} |", records.len());
    println!("| sent, with repeats | {} |", journal.sent.load(Ordering::Relaxed));
    println!("| - outcome not told | {} |", journal.unknown.load(Ordering::Relaxed));
    println!("| - nobody listened | {} |", journal.unheard.load(Ordering::Relaxed));
    let repeated = records.iter().filter(|record| record.attempts > 1).count();
    println!("| requests sent more than once | {repeated} |");
    println!("| acknowledged | {} |", acknowledged.len());
    println!("| refused with a reason | {} |", refused.len());
    println!("| given up with unknown outcome | {} |", findings.given_up);
    println!("| - of these found in the log | {} |", findings.given_up_and_done);
    println!("| entries in the logs of games, each asked for | {} |", findings.events);
    println!("| answers that are a state of the log, in order | {} |", findings.answers);
}

fn report_streams(played: &Played) {
    let Played { games, own, counts, .. } = played;
    let events = |seen: &BTreeMap<String, Seen>| seen.values().map(|seen| seen.events.len()).sum::<usize>();
    let (opened, goodbyes) = (counts.opened.load(Ordering::Relaxed), counts.goodbyes.load(Ordering::Relaxed));
    let of_own: u64 = own.values().map(|seen| seen.opened).sum();
    println!("| streams followed: games, own log | {}, {} |", games.len(), own.len());
    println!("| - connections, of these for the own log | {opened}, {of_own} |");
    println!("| - connections ended by a goodbye | {goodbyes} |");
    println!("| - events, each number once: games, own log | {}, {} |", events(games), events(own));
}

fn pairs(text: &str) -> Result<u16, &'static str> {
    text.parse()
        .ok()
        .filter(|clients| *clients % 2 == 0 && (2..=100).contains(clients))
        .ok_or("must be even, 2 to 100")
}

/// What may be killed.
#[derive(Clone, Copy)]
enum Victim {
    Server,
    Postgres,
}

fn victims(settings: &Settings) -> Vec<Victim> {
    let (servers, postgres) =
        if settings.short { (5, 2) } else { (settings.server_kills, settings.postgres_kills) };
    let mut victims = vec![Victim::Server; servers];
    victims.extend(vec![Victim::Postgres; postgres]);
    victims
}

async fn club(settings: &Settings, folder: &Path, site: &Site, rng: &mut StdRng) -> Outcome<Arc<Club>> {
    let mut clients = Vec::new();
    for number in 0..settings.clients {
        let name = format!("client-{number}");
        clients.push(Arc::new(Client::sign_up(&site.address(0), name, rng).await?));
    }
    Ok(Arc::new(Club {
        journal: Journal::new(&folder.join("journal.ndjson"))?,
        addresses: Addresses::new(vec![site.address(0), site.address(1)]),
        free: clients.into(),
        closing: false.into(),
        closed: false.into(),
        games: 0.into(),
        unwatched: Vec::new().into(),
        settled: Default::default(),
    }))
}

fn wait_for(holds: impl Fn() -> bool) -> Outcome<()> {
    let began = Instant::now();
    while !holds() {
        if began.elapsed() > TO_FINISH {
            return Err("the reader of its own log does not have all of it".into());
        }
        sleep(Duration::from_millis(50));
    }
    Ok(())
}

/// Waits for all, and answers what they bring.
fn finish_all<T>(runtime: &Runtime, tasks: Vec<JoinHandle<Outcome<T>>>, who: &str) -> Outcome<Vec<T>> {
    runtime.block_on(async {
        let mut all = Vec::new();
        for task in tasks {
            match tokio::time::timeout(TO_FINISH, task).await {
                Ok(ended) => all.push(ended??),
                Err(_) => return Err(format!("{who} did not finish").into()),
            }
        }
        Ok(all)
    })
}

async fn hold_against_the_database(url: &str, journal: &Journal, played: &Played) -> Outcome<Findings> {
    let mut db = PgConnection::connect(url).await?;
    for section in AUDIT.split("-- name:").skip(1) {
        let (law, query) = section.split_once('\n').ok_or("a law without a query")?;
        let query = query.trim().trim_end_matches(';');
        let query = format!("select row_to_json(finding)::text from ({query}) finding limit 10");
        let rows: Vec<String> = sqlx::query_scalar(AssertSqlSafe(query)).fetch_all(&mut db).await?;
        rows.iter().for_each(|row| journal.fault(format!("not so: {}: {row}", law.trim())));
    }
    let database = Database::read(url).await?;
    for (of, seen) in played.games.iter().chain(&played.own) {
        database.compare_stream(journal, of, seen);
    }
    database.compare(journal)
}

/// PostgreSQL and the servers.
struct Site {
    folder: std::path::PathBuf,
    url: String,
    postgres: Option<PrivatePostgres>,
    ports: [u16; 2],
    servers: [Option<ServerProcess>; 2],
    clock: WallClock,
    /// From when to when PostgreSQL was away.
    away: Vec<(Timestamp, Timestamp)>,
    /// Of all servers that there were.
    complaints: Vec<Complaints>,
    server_kills: usize,
    postgres_kills: usize,
}

impl Site {
    /// To be called, as all that follows, on the main thread: PostgreSQL ends with the thread that started it.
    fn start(folder: &Path, rng: &mut StdRng) -> Outcome<Site> {
        let postgres = PrivatePostgres::start(folder, None)?;
        let ports = [free_port(rng)?, free_port(rng)?];
        let mut site = Site {
            folder: folder.to_owned(),
            url: postgres.url().to_owned(),
            postgres: Some(postgres),
            ports,
            servers: [None, None],
            clock: WallClock::system(),
            away: Vec::new(),
            complaints: Vec::new(),
            server_kills: 0,
            postgres_kills: 0,
        };
        site.start_server(0)?;
        site.start_server(1)?;
        Ok(site)
    }

    fn address(&self, number: usize) -> String {
        format!("127.0.0.1:{}", self.ports[number])
    }

    fn start_server(&mut self, number: usize) -> Outcome<()> {
        let server = ServerProcess::start(&self.url, &["--listen", &self.address(number)])?;
        self.complaints.push(server.complaints());
        self.servers[number] = Some(server);
        Ok(())
    }

    /// Kills a server and starts it again at once.
    fn kill_server(&mut self, rng: &mut StdRng) -> Outcome<()> {
        let number = rng.random_range(0..2);
        // Dropped, it is killed.
        drop(self.servers[number].take());
        self.server_kills += 1;
        self.start_server(number)
    }

    /// Ends PostgreSQL as `pg_ctl stop -m immediate` does, by SIGQUIT, and starts it again, at once or a little later.
    fn kill_postgres(&mut self, rng: &mut StdRng) -> Outcome<()> {
        let began = self.clock.now();
        let pid = std::fs::read_to_string(self.folder.join("postgres/postmaster.pid"))?;
        let pid = pid.lines().next().and_then(|pid| Pid::from_raw(pid.trim().parse().ok()?));
        kill_process(pid.ok_or("no process id of PostgreSQL")?, Signal::QUIT)?;
        drop(self.postgres.take());
        self.postgres_kills += 1;
        if rng.random_range(0..3) == 0 {
            sleep(Duration::from_millis(rng.random_range(0..4000)));
        }
        let postgres = PrivatePostgres::start(&self.folder, None)?;
        if postgres.url() != self.url {
            return Err("PostgreSQL came back elsewhere; a shorter TMPDIR prevents that".into());
        }
        self.postgres = Some(postgres);
        self.away.push((began, self.clock.now() + AFTERMATH));
        Ok(())
    }

    fn stop(&mut self, number: usize) -> Outcome<Duration> {
        let server = self.servers[number].take().ok_or("this server does not run")?;
        server.stop()
    }

    /// Nothing in the servers' logs is an error, other than while PostgreSQL was away. Answers how many of these.
    fn judge_log(&self, journal: &Journal) -> usize {
        let mut excused = 0;
        for line in self.complaints.iter().flat_map(Complaints::lines) {
            let entry: Value = serde_json::from_str(&line).unwrap_or_default();
            let at = entry["timestamp"].as_str().and_then(|at| at.parse::<Timestamp>().ok());
            let is_excused = at.is_some_and(|at| self.away.iter().any(|(from, to)| *from <= at && at <= *to));
            match entry["level"].as_str() {
                Some("WARN") => {}
                Some("ERROR") if is_excused && !line.contains("panicked") => excused += 1,
                _ => journal.fault(format!("in a server's log: {line}")),
            }
        }
        excused
    }
}

/// A port that is free, and none that the system hands out by itself: nobody shall take it while a server is down.
fn free_port(rng: &mut StdRng) -> Outcome<u16> {
    let mut ports = (0..1000).map(|_| rng.random_range(10_000..32_000));
    let free = |port: &u16| TcpListener::bind(("127.0.0.1", *port)).is_ok();
    ports.find(free).ok_or_else(|| "no port is free".into())
}
