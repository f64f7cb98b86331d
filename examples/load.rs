//! How many moves a second the service commits, beside what PostgreSQL alone can do on the same machine.
//!
//! ```text
//! cargo build --release --bin leveret
//! cargo run --release --example load -- --games 64 --seconds 10
//! ```
//!
//! Starts a private PostgreSQL with full durability and one server process, plays games over one kept connection for
//! each player, and before and after that lets `pgbench` do the least that a move needs: lock the game, write the
//! move, write the game, commit. Prints a table in Markdown.

#[path = "support/player.rs"]
mod player;
#[path = "support/process.rs"]
mod process;

use std::{
    fs,
    process::{Command, ExitCode},
    time::{Duration, Instant},
};

use clap::Parser;
use leveret::db::embedded::PrivatePostgres;
use player::{Id, Player, Snapshot, sign_up};
use process::{Outcome, ServerProcess, TemporaryFolder};
use rand::{Rng, RngExt, SeedableRng, rngs::StdRng};
use sqlx::{AssertSqlSafe, Connection, PgConnection};
use tokio::task::JoinSet;

/// For how long is played before it counts.
const WARM_UP: Duration = Duration::from_secs(2);

/// What `pgbench` plays in. Keys as the service has them, and nothing that a move could do without.
const BENCH_TABLES: &str = "
    create table bench_game (
        game_id uuid primary key, position text not null, ply integer not null, last_at timestamptz not null
    ) with (fillfactor = 70);
    create table bench_move (
        game_id uuid, number integer, at timestamptz not null, role text not null, move text not null,
        primary key (game_id, number)
    );
    insert into bench_game select md5(client::text)::uuid, 'a2b1b3/e2 hounds', 0, now()
    from generate_series(0, 499) client";

const BENCH_TRANSACTION: &str = r"begin;
select game_id, ply + 1 as ply from bench_game where game_id = md5(:client_id::text)::uuid for update \gset
insert into bench_move (game_id, number, at, role, move) values (:game_id, :ply, now(), 'hounds', 'b1-b2');
update bench_game set position = 'a2b1b3/e2 hounds', ply = :ply, last_at = now() where game_id = :game_id;
commit;
";

const BENCH_STATEMENT: &str = "with played as (
    update bench_game set position = 'a2b1b3/e2 hounds', ply = ply + 1, last_at = now()
    where game_id = md5(:client_id::text)::uuid returning game_id, ply
)
insert into bench_move (game_id, number, at, role, move) select game_id, ply, now(), 'hounds', 'b1-b2' from played;
";

#[derive(Parser)]
struct Settings {
    /// How many games are played at once
    #[arg(long, default_value_t = 64, value_parser = clap::value_parser!(u16).range(1..=500))]
    games: u16,
    /// For how many seconds each of the four runs goes
    #[arg(long, default_value_t = 10)]
    seconds: u64,
    /// How many connections to PostgreSQL the server may hold
    #[arg(long, default_value_t = 36)]
    pool_size: u32,
    /// How many threads of the server answer requests
    #[arg(long, default_value_t = 2)]
    workers: u16,
}

fn main() -> ExitCode {
    match run(&Settings::parse()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(err) => {
            eprintln!("load: {err}");
            ExitCode::FAILURE
        }
    }
}

fn run(settings: &Settings) -> Outcome<()> {
    let folder = TemporaryFolder::new("load");
    // On this thread: it ends with the thread that started it.
    let private = PrivatePostgres::start(folder.path(), None)?;
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let bench = runtime.block_on(Bench::prepare(private.url(), &folder))?;
    eprintln!("four runs of {} s each", settings.seconds);
    let before = bench.run(settings, "move.sql")?;
    let (workers, pool_size) = (settings.workers.to_string(), settings.pool_size.to_string());
    let server = ServerProcess::start(private.url(), &["--workers", &workers, "--pool-size", &pool_size])?;
    let mut players = runtime.block_on(sign_up(server.address(), "player", settings.games))?;
    let cpu = server.cpu_seconds();
    let played = runtime.block_on(play_all(&mut players, settings.seconds))?;
    let (cpu, memory) = (server.cpu_seconds() - cpu, server.memory());
    for line in server.complaints().lines() {
        eprintln!("from the server's log: {line}");
    }
    drop(players);
    server.stop()?;
    let after = bench.run(settings, "move.sql")?;
    let statement = bench.run(settings, "statement.sql")?;

    let reference = f64::midpoint(before, after);
    let moves = played.latencies.len() as f64 / settings.seconds as f64;
    let mut sorted = played.latencies;
    sorted.sort_unstable();
    let ms = |part: f64| {
        sorted
            .get(((sorted.len() as f64 * part) as usize).min(sorted.len().saturating_sub(1)))
            .map_or(0.0, in_ms)
    };
    println!(
        "\n{} cores, {}, {} games at once, {} s a run, {} connections of the server to PostgreSQL.\n",
        cores(),
        bench.version,
        settings.games,
        settings.seconds,
        settings.pool_size,
    );
    println!("| | a second | p50 | p99 | max |\n|---|---:|---:|---:|---:|");
    println!("| pgbench, one move in a transaction, before | {before:.0} | | | |");
    println!(
        "| **leveret, moves answered with 201** | **{moves:.0}** | {:.1} ms | {:.1} ms | {:.1} ms |",
        ms(0.5),
        ms(0.99),
        ms(1.0)
    );
    println!("| pgbench, one move in a transaction, after | {after:.0} | | | |");
    println!("| pgbench, one move in one statement | {statement:.0} | | | |");
    println!("\nleveret commits {:.0} % of what pgbench does in transactions.", 100.0 * moves / reference);
    println!(
        "{} games ended meanwhile and were followed by new ones; the server used {:.0} µs of processor time a move \
         and held {} MB.",
        played.games,
        1e6 * cpu / ((WARM_UP.as_secs_f64() + settings.seconds as f64) * moves),
        memory / 1_000_000,
    );
    Ok(())
}

fn in_ms(latency: &Duration) -> f64 {
    latency.as_secs_f64() * 1e3
}

fn cores() -> usize {
    std::thread::available_parallelism().map_or(0, usize::from)
}

/// PostgreSQL alone, by its own program.
struct Bench<'a> {
    folder: &'a TemporaryFolder,
    program: String,
    url: String,
    version: String,
}

impl Bench<'_> {
    /// Makes a database beside the service's, and writes the scripts.
    async fn prepare<'a>(service_url: &str, folder: &'a TemporaryFolder) -> Outcome<Bench<'a>> {
        let superuser = service_url.replacen("//leveret@", "//postgres@", 1);
        let mut db = PgConnection::connect(&superuser.replacen("/leveret?", "/postgres?", 1)).await?;
        sqlx::raw_sql("create database bench").execute(&mut db).await?;
        let durable = "select current_setting('fsync') || current_setting('synchronous_commit') || \
                       current_setting('full_page_writes')";
        if sqlx::query_scalar::<_, String>(durable).fetch_one(&mut db).await? != "ononon" {
            return Err("this PostgreSQL is not durable".into());
        }
        let version = "select 'PostgreSQL ' || current_setting('server_version')";
        let version = sqlx::query_scalar(version).fetch_one(&mut db).await?;
        let bin = "select setting from pg_config where name = 'BINDIR'";
        let bin: String = sqlx::query_scalar(bin).fetch_one(&mut db).await?;
        let url = superuser.replacen("/leveret?", "/bench?", 1);
        let mut db = PgConnection::connect(&url).await?;
        sqlx::raw_sql(AssertSqlSafe(BENCH_TABLES)).execute(&mut db).await?;
        fs::write(folder.path().join("move.sql"), BENCH_TRANSACTION)?;
        fs::write(folder.path().join("statement.sql"), BENCH_STATEMENT)?;
        Ok(Bench { folder, program: format!("{bin}/pgbench"), url, version })
    }

    /// Transactions a second.
    fn run(&self, settings: &Settings, script: &str) -> Outcome<f64> {
        let clients = settings.games.min(80).to_string();
        let seconds = settings.seconds.to_string();
        let mut command = Command::new(&self.program);
        command.args(["-n", "-M", "prepared", "-j", "2", "-c", &clients, "-T", &seconds, "-f"]);
        let output = command.arg(self.folder.path().join(script)).arg(&self.url).output()?;
        let text = String::from_utf8_lossy(&output.stdout);
        let tps = text.lines().find_map(|line| line.strip_prefix("tps = ")?.split(' ').next()?.parse().ok());
        tps.ok_or_else(|| format!("pgbench failed: {text}{}", String::from_utf8_lossy(&output.stderr)).into())
    }
}

/// What was played while it counted.
#[derive(Default)]
struct Played {
    latencies: Vec<Duration>,
    games: u64,
}

/// Plays in all pairs at once.
async fn play_all(pairs: &mut Vec<[Player; 2]>, seconds: u64) -> Outcome<Played> {
    let counts_from = Instant::now() + WARM_UP;
    let until = counts_from + Duration::from_secs(seconds);
    let mut seeds = StdRng::seed_from_u64(1);
    let mut tasks = JoinSet::new();
    for pair in pairs.drain(..) {
        let rng = StdRng::seed_from_u64(seeds.next_u64());
        tasks.spawn(play(pair, rng, counts_from, until));
    }
    let mut all = Played::default();
    while let Some(ended) = tasks.join_next().await {
        let (pair, played) = ended??;
        pairs.push(pair);
        all.latencies.extend(played.latencies);
        all.games += played.games;
    }
    Ok(all)
}

/// Plays one game after the other: random moves, each as soon as the last one is answered.
async fn play(
    mut pair: [Player; 2],
    mut rng: StdRng,
    counts_from: Instant,
    until: Instant,
) -> Outcome<([Player; 2], Played)> {
    let mut played = Played::default();
    // Long games: random ones of the other kinds last a dozen moves or two, and making games would be most of the work.
    let rules = r#""variant": "catch-the-hare", "rules": {"too_few": "cannot-enclose", "hunters": 14}"#;
    let wish = format!(r#"{{{rules}, "role": "hounds", "opponent": "{}"}}"#, pair[1].name);
    while Instant::now() < until {
        let answer = pair[0].create("POST", "/v1/challenges", &wish).await?;
        let path = format!("/v1/challenges/{}/accept", serde_json::from_slice::<Id<'_>>(answer)?.id);
        let answer = pair[1].create("POST", &path, "").await?;
        let game = serde_json::from_slice::<Snapshot<'_>>(answer)?;
        let (id, mut ply) = (game.id.to_owned(), game.ply);
        let mut next = Some(game.legal_moves[rng.random_range(0..game.legal_moves.len())].to_owned());
        while let Some(mv) = next
            && Instant::now() < until
        {
            let mover = &mut pair[usize::from(ply % 2 == 1)];
            let path = format!("/v1/games/{id}/moves/{}", ply + 1);
            let body = format!(r#"{{"move":"{mv}"}}"#);
            let asked = Instant::now();
            let answer = mover.create("PUT", &path, &body).await?;
            let answered = Instant::now();
            if answered >= counts_from && answered < until {
                played.latencies.push(answered - asked);
            }
            let game = serde_json::from_slice::<Snapshot<'_>>(answer)?;
            ply = game.ply;
            next =
                game.turn.map(|_| game.legal_moves[rng.random_range(0..game.legal_moves.len())].to_owned());
        }
        played.games += u64::from(Instant::now() < until);
    }
    Ok((pair, played))
}
