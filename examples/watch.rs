//! How long a move takes to reach the opponent's stream, and what an open stream costs.
//!
//! ```text
//! cargo build --release --bin leveret
//! cargo run --release --example watch -- --games 100 --rate 500 --idle 10000
//! ```
//!
//! Starts a private PostgreSQL with full durability and one server process, opens streams on which nothing happens,
//! and then plays games at a steady rate while both sides of each have a stream open. Prints a table in Markdown.

#[path = "support/player.rs"]
mod player;
#[path = "support/process.rs"]
mod process;

use std::{
    collections::HashMap,
    process::ExitCode,
    sync::{Arc, Mutex, PoisonError},
    time::{Duration, Instant},
};

use clap::Parser;
use leveret::db::embedded::PrivatePostgres;
use player::{Id, Player, Snapshot, sign_up};
use process::{Outcome, ServerProcess, TemporaryFolder};
use rand::{RngExt, SeedableRng, rngs::StdRng};
use serde::Deserialize;
use tokio::{
    io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader},
    net::TcpStream,
    task::JoinSet,
    time::MissedTickBehavior,
};

/// How long idle streams are left alone before the memory is read: longer than a heartbeat.
const SETTLE: Duration = Duration::from_secs(12);

#[derive(Parser)]
struct Settings {
    /// How many games are played at once
    #[arg(long, default_value_t = 100, value_parser = clap::value_parser!(u16).range(1..=500))]
    games: u16,
    /// How many moves a second are played in all of them
    #[arg(long, default_value_t = 500, value_parser = clap::value_parser!(u32).range(1..))]
    rate: u32,
    /// For how many seconds
    #[arg(long, default_value_t = 15)]
    seconds: u64,
    /// How many streams are open on which nothing happens
    #[arg(long, default_value_t = 10_000)]
    idle: u32,
}

fn main() -> ExitCode {
    match run(&Settings::parse()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(err) => {
            eprintln!("watch: {err}");
            ExitCode::FAILURE
        }
    }
}

fn run(settings: &Settings) -> Outcome<()> {
    let folder = TemporaryFolder::new("watch");
    // On this thread: it ends with the thread that started it.
    let private = PrivatePostgres::start(folder.path(), None)?;
    let many = (settings.idle + 1000).to_string();
    let flags = ["--workers", "2", "--streams", &many, "--streams-per-address", &many];
    let server = ServerProcess::start(private.url(), &flags)?;
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    runtime.block_on(measure(settings, &server))?;
    for line in server.complaints().lines().iter().take(20) {
        eprintln!("from the server's log: {line}");
    }
    let stopped = server.stop()?;
    println!("\nThe server stopped {} ms after it was told to.", stopped.as_millis());
    Ok(())
}

async fn measure(settings: &Settings, server: &ServerProcess) -> Outcome<()> {
    let mut begun = Vec::new();
    for pair in &mut sign_up(server.address(), "idle", settings.games).await? {
        begun.push(begin(pair).await?);
    }
    let before = server.memory();
    let mut idle = Vec::new();
    for number in 0..settings.idle as usize {
        idle.push(open(server.address(), &begun[number % begun.len()].0).await?);
    }
    tokio::time::sleep(SETTLE).await;
    let after = server.memory();
    let told = Arc::new(Asked::default());
    // What was idle is not to be woken by what is played.
    let mut pairs = sign_up(server.address(), "player", settings.games).await?;
    let mut games = Vec::new();
    for pair in &mut pairs {
        games.push(begin(pair).await?);
    }
    let mut readers = JoinSet::new();
    for (game, _) in &games {
        readers.spawn(follow(open(server.address(), game).await?, game.clone(), told.clone()));
    }
    let cpu = server.cpu_seconds();
    let pace = Duration::from_secs_f64(f64::from(settings.games) / f64::from(settings.rate));
    let until = Instant::now() + Duration::from_secs(settings.seconds);
    let mut players = JoinSet::new();
    for (number, (pair, begun)) in pairs.into_iter().zip(games).enumerate() {
        let offset = pace.mul_f64(number as f64 / f64::from(settings.games));
        players.spawn(play(pair, begun, pace, offset, until, told.clone()));
    }
    let mut moves = 0;
    while let Some(played) = players.join_next().await {
        moves += played??;
    }
    tokio::time::sleep(Duration::from_secs(1)).await;
    let cpu = server.cpu_seconds() - cpu;
    let mut late = told.delays.lock().unwrap_or_else(PoisonError::into_inner).clone();
    late.sort_unstable();
    if late.len() as u64 != moves {
        return Err(format!("{moves} moves were played and {} were seen", late.len()).into());
    }
    let ms = |part: f64| late[((late.len() - 1) as f64 * part) as usize].as_secs_f64() * 1e3;
    println!("| {} idle streams | {} games |\n|---|---|", settings.idle, settings.games);
    println!(
        "| memory of the server {:.0} MB before, {:.0} MB with them: {:.1} KB a stream | {:.0} moves a second, \
         seen by the opponent after {:.1} ms (p50), {:.1} ms (p99), {:.1} ms at most; {:.0} % of a core |",
        before as f64 / 1e6,
        after as f64 / 1e6,
        after.saturating_sub(before) as f64 / 1e3 / f64::from(settings.idle.max(1)),
        moves as f64 / settings.seconds as f64,
        ms(0.5),
        ms(0.99),
        ms(1.0),
        100.0 * cpu / settings.seconds as f64,
    );
    drop(idle);
    Ok(())
}

/// When each move was asked for, and how long it took to be seen.
#[derive(Default)]
struct Asked {
    at: Mutex<HashMap<(String, u32), Instant>>,
    delays: Mutex<Vec<Duration>>,
}

/// A long game, and what may be played first.
async fn begin(pair: &mut [Player; 2]) -> Outcome<(String, String)> {
    let rules = r#""variant": "catch-the-hare", "rules": {"too_few": "cannot-enclose", "hunters": 14}"#;
    let wish = format!(r#"{{{rules}, "role": "hounds", "opponent": "{}"}}"#, pair[1].name);
    let answer = pair[0].create("POST", "/v1/challenges", &wish).await?;
    let path = format!("/v1/challenges/{}/accept", serde_json::from_slice::<Id<'_>>(answer)?.id);
    let answer = pair[1].create("POST", &path, "").await?;
    let game = serde_json::from_slice::<Snapshot<'_>>(answer)?;
    Ok((game.id.to_owned(), game.legal_moves[0].to_owned()))
}

/// Opens a stream, and leaves unread what follows its headers.
async fn open(address: &str, game: &str) -> Outcome<TcpStream> {
    let mut stream = TcpStream::connect(address).await?;
    stream.set_nodelay(true)?;
    let request = format!("GET /v1/games/{game}/events HTTP/1.1\r\nhost: watch\r\n\r\n");
    stream.write_all(request.as_bytes()).await?;
    let mut status = [0; 12];
    stream.read_exact(&mut status).await?;
    if status.ends_with(b" 200") { Ok(stream) } else { Err("a stream was refused".into()) }
}

/// Reads a stream, and notes how long each move took.
async fn follow(stream: TcpStream, game: String, told: Arc<Asked>) -> Outcome<()> {
    #[derive(Deserialize)]
    struct Event {
        ply: u32,
    }

    let mut lines = BufReader::new(stream).lines();
    let mut is_move = false;
    while let Some(line) = lines.next_line().await? {
        if line == "event: move" {
            is_move = true;
        } else if let (true, Some(data)) = (is_move, line.strip_prefix("data: ")) {
            is_move = false;
            let seen = Instant::now();
            let key = (game.clone(), serde_json::from_str::<Event>(data)?.ply);
            let asked = told.at.lock().unwrap_or_else(PoisonError::into_inner).remove(&key);
            if let Some(asked) = asked {
                told.delays.lock().unwrap_or_else(PoisonError::into_inner).push(seen - asked);
            }
        }
    }
    Ok(())
}

/// Plays random moves at a steady pace until the game or the time is over; answers how many.
async fn play(
    mut pair: [Player; 2],
    (game, first): (String, String),
    pace: Duration,
    offset: Duration,
    until: Instant,
    told: Arc<Asked>,
) -> Outcome<u64> {
    let mut rng = StdRng::seed_from_u64(offset.as_nanos() as u64);
    tokio::time::sleep(offset).await;
    let mut ticks = tokio::time::interval(pace);
    ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    let (mut ply, mut next) = (0, Some(first));
    while let Some(text) = next
        && Instant::now() < until
    {
        ticks.tick().await;
        let path = format!("/v1/games/{game}/moves/{}", ply + 1);
        let body = format!(r#"{{"move":"{text}"}}"#);
        let key = (game.clone(), ply + 1);
        told.at.lock().unwrap_or_else(PoisonError::into_inner).insert(key, Instant::now());
        let answer = pair[usize::from(ply % 2 == 1)].create("PUT", &path, &body).await?;
        let now = serde_json::from_slice::<Snapshot<'_>>(answer)?;
        ply = now.ply;
        next = now.turn.map(|_| now.legal_moves[rng.random_range(0..now.legal_moves.len())].to_owned());
    }
    Ok(ply.into())
}
