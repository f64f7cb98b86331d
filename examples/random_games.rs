//! Plays random games over HTTP against two server processes, with all that players and bad connections do, and
//! then looks whether everything in the database fits together.
//!
//! ```text
//! cargo build --release --bin leveret
//! cargo run --release --example random_games -- --games 200 --accounts 40
//! ```
//!
//! Every request goes to one of the two processes, drawn at random. Any answer that should not be ends the run with
//! an error. At the end both processes must stop in time, `tests/audit.sql` must find nothing, and the ratings must
//! come out of the log as they are stored. Without `DATABASE_URL` a private PostgreSQL is started for the run; a
//! database that is given must be a fresh one.

#[path = "support/process.rs"]
mod process;
#[path = "support/site.rs"]
mod site;
#[path = "support/table.rs"]
mod table;

use std::{
    collections::{BTreeMap, HashMap},
    process::ExitCode,
    sync::{
        Arc, Mutex,
        atomic::{AtomicU64, Ordering},
    },
    time::{Duration, Instant},
};

use clap::Parser;
use leveret::{db::embedded::PrivatePostgres, dice};
use process::{Outcome, ServerProcess, TemporaryFolder, leveret as leveret_command};
use rand::{Rng, RngExt, SeedableRng, rngs::StdRng, seq::IndexedRandom};
use reqwest::Method;
use serde_json::{Value, json};
use site::{Account, Site};
use sqlx::{AssertSqlSafe, Connection, PgConnection};
use table::{Seats, Table, text};
use tokio::task::JoinSet;

const AUDIT: &str = include_str!("../tests/audit.sql");

/// For how long no game may end before the run is given up.
const PATIENCE: Duration = Duration::from_secs(180);

/// How long a player waits in a pool before giving up.
const TICKET_PATIENCE: Duration = Duration::from_secs(20);

const POOLS: [&str; 4] =
    ["hare-and-hounds", "hare-and-hounds-daily", "catch-the-hare", "catch-the-hare-daily"];

#[derive(Parser)]
struct Settings {
    /// How many games are played, at least
    #[arg(long, default_value_t = 200)]
    games: u64,
    /// How many accounts play them, each in up to two games at once
    #[arg(long, default_value_t = 40, value_parser = clap::value_parser!(u16).range(4..))]
    accounts: u16,
    /// What the players draw from [default: drawn]
    #[arg(long)]
    seed: Option<u64>,
    /// A fresh database
    #[arg(long, env = "DATABASE_URL", hide_env_values = true)]
    database_url: Option<String>,
}

/// All that the games have in common.
struct Hall {
    site: Site,
    /// Somebody who plays with nobody.
    stranger: Account,
    /// Everybody who is free to play, twice if in no game.
    free: Mutex<Vec<Arc<Account>>>,
    /// Who was matched and waits for the other one to notice, by game.
    matched: Mutex<HashMap<String, Arc<Account>>>,
    moves: AtomicU64,
    ended: Mutex<BTreeMap<String, u64>>,
    games: AtomicU64,
    /// How many games are to be played.
    wanted: u64,
}

fn main() -> ExitCode {
    match run(&Settings::parse()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(err) => {
            eprintln!("random_games: {err}");
            ExitCode::FAILURE
        }
    }
}

fn run(settings: &Settings) -> Outcome<()> {
    let folder = TemporaryFolder::new("random-games");
    let private = match settings.database_url {
        Some(_) => None,
        None => Some(PrivatePostgres::start_for_tests(folder.path())?),
    };
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    let url = match (&settings.database_url, &private) {
        (Some(url), _) => url.clone(),
        (None, Some(private)) => runtime.block_on(fresh_database(private.url()))?,
        (None, None) => return Err("no database".into()),
    };
    let url = url.as_str();
    let access_seconds = (2 * site::TOKEN_USED_FOR).as_secs().to_string();
    let start = || ServerProcess::start(url, &["--access-token-seconds", &access_seconds]);
    let servers = [start()?, start()?];
    let seed = settings.seed.unwrap_or_else(dice::roll);
    println!("seed {seed}, servers at {} and {}", servers[0].address(), servers[1].address());

    let addresses = servers.iter().map(|server| server.address().to_owned()).collect();
    let played = runtime.block_on(async {
        let mut rng = StdRng::seed_from_u64(seed);
        let hall = Arc::new(Hall::open(Site::new(addresses)?, settings, &mut rng).await?);
        let took = hall.clone().play(rng).await?;
        Outcome::Ok((hall, took))
    });
    let complaints: Vec<String> = servers.iter().flat_map(|server| server.complaints().lines()).collect();
    for line in complaints.iter().take(20) {
        eprintln!("from a server's log: {line}");
    }
    let (hall, took) = played?;
    for server in servers {
        let (cpu, memory) = (server.cpu_seconds(), server.memory() / 1_000_000);
        let stopped = server.stop()?;
        println!(
            "a server stopped within {stopped:?}, having used {cpu:.1} s of processor time and {memory} MB"
        );
    }
    let findings = runtime.block_on(audit(url))?;
    for finding in &findings {
        eprintln!("{finding}");
    }
    let rebuild = leveret_command(url)?.args(["ratings", "rebuild", "--check"]).output()?;
    let rebuild_says = String::from_utf8_lossy(&rebuild.stdout).trim().to_owned();

    hall.report(took)?;
    println!("audit of {} laws: {} findings", AUDIT.matches("-- name:").count(), findings.len());
    println!("leveret ratings rebuild --check: {rebuild_says}");
    println!("warnings and errors in the servers' logs: {}", complaints.len());
    if !findings.is_empty() || !complaints.is_empty() {
        return Err("something is off, see above".into());
    }
    if !rebuild.status.success() || !rebuild_says.starts_with("0 differences") {
        return Err("the ratings do not come out of the log as they are stored".into());
    }
    Ok(())
}

/// Makes a database on a private server, whose own one is for maintenance.
async fn fresh_database(url: &str) -> Outcome<String> {
    let mut db = PgConnection::connect(url).await?;
    sqlx::raw_sql("create database random_games").execute(&mut db).await?;
    Ok(url.replacen("/postgres?", "/random_games?", 1))
}

/// Runs all queries of the audit: a line for each row that they find.
async fn audit(url: &str) -> Outcome<Vec<String>> {
    let mut db = PgConnection::connect(url).await?;
    let mut findings = Vec::new();
    for section in AUDIT.split("-- name:").skip(1) {
        let (law, query) = section.split_once('\n').ok_or("a law without a query")?;
        let query = query.trim().trim_end_matches(';');
        let query = format!("select row_to_json(finding)::text from ({query}) finding limit 10");
        let rows: Vec<String> = sqlx::query_scalar(AssertSqlSafe(query)).fetch_all(&mut db).await?;
        findings.extend(rows.into_iter().map(|row| format!("not so: {}: {row}", law.trim())));
    }
    Ok(findings)
}

fn locked<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
}

impl Hall {
    /// Signs everybody up.
    async fn open(site: Site, settings: &Settings, rng: &mut StdRng) -> Outcome<Hall> {
        let mut free = Vec::new();
        for number in 0..settings.accounts {
            let account = Arc::new(Account::sign_up(&site, rng, format!("player-{number}")).await?);
            free.extend([account.clone(), account]);
        }
        let stranger = Account::sign_up(&site, rng, "stranger".to_owned()).await?;
        Ok(Hall {
            site,
            stranger,
            free: Mutex::new(free),
            matched: Mutex::default(),
            moves: AtomicU64::new(0),
            ended: Mutex::default(),
            games: AtomicU64::new(0),
            wanted: settings.games,
        })
    }

    /// Plays until enough games have ended. Answers how long that took.
    async fn play(self: Arc<Hall>, mut rng: StdRng) -> Outcome<Duration> {
        let began = Instant::now();
        let mut tasks = JoinSet::new();
        loop {
            while !self.is_done()
                && let Some(players) = self.choose(&mut rng)
            {
                let (hall, rng) = (self.clone(), StdRng::seed_from_u64(rng.next_u64()));
                tasks.spawn(async move {
                    match players {
                        Chosen::ForPool(player) => hall.wait_in_a_pool(player, rng).await,
                        Chosen::ForChallenge(players) => hall.challenge(players, rng).await,
                    }
                });
            }
            match tokio::time::timeout(PATIENCE, tasks.join_next()).await {
                Err(_) => return Err(format!("nothing has ended for {PATIENCE:?}").into()),
                Ok(None) => return Ok(began.elapsed()),
                Ok(Some(ended)) => ended??,
            }
        }
    }

    fn is_done(&self) -> bool {
        self.games.load(Ordering::Relaxed) >= self.wanted
    }

    /// Takes some who are free.
    fn choose(&self, rng: &mut StdRng) -> Option<Chosen> {
        let mut free = locked(&self.free);
        if free.is_empty() {
            return None;
        }
        let first = rng.random_range(0..free.len());
        let first = free.swap_remove(first);
        if rng.random() && !first.waits.swap(true, Ordering::Relaxed) {
            return Some(Chosen::ForPool(first));
        }
        match free.iter().position(|other| other.name != first.name) {
            Some(second) => Some(Chosen::ForChallenge([first, free.swap_remove(second)])),
            None => {
                free.push(first);
                None
            }
        }
    }

    fn free(&self, players: impl IntoIterator<Item = Arc<Account>>) {
        locked(&self.free).extend(players);
    }

    /// Joins a pool, and plays if matched. Whoever of the two notices last plays for both.
    async fn wait_in_a_pool(&self, player: Arc<Account>, mut rng: StdRng) -> Outcome<()> {
        let pool = POOLS[rng.random_range(0..POOLS.len())];
        let game = self.ticket(&player, pool, &mut rng).await;
        player.waits.store(false, Ordering::Relaxed);
        let Some(game) = game? else {
            self.free([player]);
            return Ok(());
        };
        let opponent = locked(&self.matched).remove(&game);
        let Some(opponent) = opponent else {
            locked(&self.matched).insert(game, player);
            return Ok(());
        };
        self.play_all(&format!("pool {pool}"), game, [player, opponent], rng).await
    }

    /// The game that a ticket leads to, unless there is a reason to have none.
    async fn ticket(&self, player: &Account, pool: &str, rng: &mut StdRng) -> Outcome<Option<String>> {
        let (site, path) = (&self.site, format!("/v1/pools/{pool}/ticket"));
        let joined = site.send(site.any(rng), Some(player), Method::PUT, &path, None).await?;
        for (status, problem) in [(409, "already-playing"), (429, "cooling-down")] {
            if joined.is_refusal(status, problem) {
                site.refused(&joined, status, problem)?;
                return Ok(None);
            }
        }
        let mut ticket = joined.body(201)?;
        let began = Instant::now();
        while ticket["status"] == "queued" {
            tokio::time::sleep(Duration::from_millis(rng.random_range(20..200))).await;
            let leaves = self.is_done() || began.elapsed() > TICKET_PATIENCE;
            let method = if leaves { Method::DELETE } else { Method::GET };
            ticket = site.send(site.any(rng), Some(player), method, &path, None).await?.body(200)?;
        }
        match text(&ticket, "status")? {
            "matched" => Ok(Some(text(&ticket, "game")?.to_owned())),
            "cancelled" => Ok(None),
            _ => Err(format!("a ticket that was looked after lapsed: {ticket}").into()),
        }
    }

    /// Two players agree on a game by a challenge, direct or open, casual or rated.
    async fn challenge(&self, players: [Arc<Account>; 2], mut rng: StdRng) -> Outcome<()> {
        let (site, rng) = (&self.site, &mut rng);
        let [challenger, accepter] = &players;
        let (direct, rated) = (rng.random(), rng.random_bool(0.4));
        let mut wish = if rated { self.rated_wish(rng).await? } else { casual_wish(rng) };
        if direct {
            wish["opponent"] = json!(accepter.name);
        }
        let to = site.any(rng);
        let made = site.send(to, Some(challenger), Method::POST, "/v1/challenges", Some(&wish)).await?;
        if wish["rules"]["hunters"] == 9 && wish["rules"]["too_few"] == "below-ten" {
            site.refused(&made, 422, "invalid-fields")?;
            self.free(players);
            return Ok(());
        }
        let path = format!("/v1/challenges/{}", text(&made.body(201)?, "id")?);
        let accept = format!("{path}/accept");
        let own = site.send(site.any(rng), Some(challenger), Method::POST, &accept, None).await?;
        site.refused(&own, 403, "not-your-challenge")?;
        if direct {
            let other = site.send(site.any(rng), Some(&self.stranger), Method::POST, &accept, None).await?;
            site.refused(&other, 404, "not-found")?;
        }
        if direct && rng.random_bool(0.05) {
            let decline = format!("{path}/decline");
            site.send(site.any(rng), Some(accepter), Method::POST, &decline, None).await?.body(200)?;
            let late = site.send(site.any(rng), Some(accepter), Method::POST, &accept, None).await?;
            site.refused(&late, 409, "challenge-over")?;
            self.free(players);
            return Ok(());
        }
        // Accepting and withdrawing at the same instant has exactly one outcome.
        let to = site.any(rng);
        let accepted = if rng.random_bool(0.05) {
            let (accepted, withdrawn) = tokio::join!(
                site.send(to, Some(accepter), Method::POST, &accept, None),
                site.send(site.other(to), Some(challenger), Method::DELETE, &path, None),
            );
            let (accepted, withdrawn) = (accepted?, withdrawn?);
            if withdrawn.status == 200 && !accepted.is_refusal(409, "already-playing") {
                site.refused(&accepted, 409, "challenge-over")?;
                self.free(players);
                return Ok(());
            } else if accepted.status == 201 {
                site.refused(&withdrawn, 409, "challenge-over")?;
            }
            accepted
        } else {
            site.send(to, Some(accepter), Method::POST, &accept, None).await?
        };
        if rated && accepted.status != 201 {
            site.refused(&accepted, 409, "already-playing")?;
            site.send(site.any(rng), Some(challenger), Method::DELETE, &path, None).await?.body(200)?;
            self.free(players);
            return Ok(());
        }
        let game = text(&accepted.body(201)?, "id")?.to_owned();
        let again = site.send(site.any(rng), Some(accepter), Method::POST, &accept, None).await?.body(200)?;
        if again["id"] != game {
            return Err(format!("accepting {path} again made another game: {again}").into());
        }
        let origin = format!(
            "{} {} challenge",
            if direct { "direct" } else { "open" },
            if rated { "rated" } else { "casual" }
        );
        let rng = StdRng::seed_from_u64(rng.next_u64());
        self.play_all(&origin, game, players, rng).await
    }

    /// A challenge with the rules and the clock of a pool.
    async fn rated_wish(&self, rng: &mut StdRng) -> Outcome<Value> {
        let path = format!("/v1/pools/{}", POOLS[rng.random_range(0..POOLS.len())]);
        let pool = self.site.send(self.site.any(rng), None, Method::GET, &path, None).await?.body(200)?;
        Ok(json!({"variant": pool["variant"], "rules": pool["rules"], "clock": pool["clock"], "rated": true}))
    }

    /// Plays a game and its rematches.
    async fn play_all(
        &self,
        origin: &str,
        game: String,
        players: [Arc<Account>; 2],
        rng: StdRng,
    ) -> Outcome<()> {
        let [one, other] = &players;
        let mut table = Table { site: &self.site, rng, stranger: &self.stranger, moves: &self.moves };
        let (mut origin, mut next) = (origin, Some(game));
        while let Some(id) = next {
            let game = table.read(&id).await?;
            let seats = Seats::of(&game, one.clone(), other.clone())?;
            let (game, rematch) = table.play_out(game, &seats).await?;
            self.games.fetch_add(1, Ordering::Relaxed);
            let mut ended = locked(&self.ended);
            let variant = text(&game, "variant")?;
            let result = game["result"].as_str().unwrap_or("none");
            *ended.entry(format!("{variant} | {result}, {}", text(&game, "reason")?)).or_default() += 1;
            *ended.entry(format!("{variant} | from {origin}")).or_default() += 1;
            (origin, next) = ("rematch", rematch);
        }
        self.free(players);
        Ok(())
    }

    /// Prints what was played.
    fn report(&self, took: Duration) -> Outcome<()> {
        println!("\n| variant | what | games |\n|---|---|---:|");
        for (what, games) in locked(&self.ended).iter() {
            println!("| {what} | {games} |");
        }
        let moves = self.moves.load(Ordering::Relaxed);
        println!(
            "\n{} games, {moves} moves ({:.0} a second), {} requests, {} of them refused as they had to be, in {:.1} s",
            self.games.load(Ordering::Relaxed),
            moves as f64 / took.as_secs_f64(),
            self.site.requests.load(Ordering::Relaxed),
            self.site.refused.load(Ordering::Relaxed),
            took.as_secs_f64(),
        );
        if !locked(&self.matched).is_empty() {
            return Err("somebody was matched with somebody who was not told".into());
        }
        Ok(())
    }
}

/// Who shall play, and how they find each other.
enum Chosen {
    ForPool(Arc<Account>),
    ForChallenge([Arc<Account>; 2]),
}

fn one_of<'a>(rng: &mut StdRng, words: &[&'a str]) -> Option<&'a str> {
    words.choose(rng).copied()
}

/// A challenge with rules, clock and role drawn at random.
fn casual_wish(rng: &mut StdRng) -> Value {
    let rules = if rng.random() {
        json!({
            "getting_away": one_of(rng, &["thirty-moves", "ten-vertical"]),
            "hare_start": one_of(rng, &["right-end", "centre", "random"]),
        })
    } else {
        json!({
            "board": one_of(rng, &["alquerque", "long-diagonals", "no-diagonals"]),
            "hunters": rng.random_range(9..=14),
            "too_few": one_of(rng, &["below-ten", "cannot-enclose"]),
        })
    };
    let variant = if rules.get("board").is_some() { "catch-the-hare" } else { "hare-and-hounds" };
    let clock = match rng.random_range(0..4) {
        0 => json!({"kind": "none"}),
        1 => json!({"kind": "per_turn", "turn_ms": 60_000}),
        2 => json!({"kind": "fischer", "initial_ms": 600_000, "increment_ms": 2000}),
        _ => json!({"kind": "correspondence", "days": rng.random_range(1..=14)}),
    };
    let role = one_of(rng, &["hounds", "hare", "random"]);
    json!({"variant": variant, "rules": rules, "clock": clock, "role": role, "swap_roles": rng.random::<bool>()})
}
