//! Readers of streams, who come back with the last number that they have, and must never miss one.

use std::{
    collections::BTreeMap,
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
    time::{Duration, Instant},
};

use rand::rngs::StdRng;
use serde_json::Value;
use sqlx::{AssertSqlSafe, Connection, PgConnection};
use tokio::time::{sleep, timeout};

use super::{
    journal::Client,
    partners::{Club, locked},
    process::Outcome,
};

/// A stream sends something every ten seconds.
const SILENCE: Duration = Duration::from_secs(30);

/// How long a stream may take for what is in the log already.
const LAG: Duration = Duration::from_secs(45);

/// How often is looked whether a log is complete.
const LOOK: Duration = Duration::from_millis(200);

/// What the readers have in common.
#[derive(Default)]
pub struct Counts {
    /// Connections that were opened.
    pub opened: AtomicU64,
    /// Connections that ended with a goodbye.
    pub goodbyes: AtomicU64,
    /// Whether the reader of its own log has all of it, now that nobody plays any more.
    pub caught_up: AtomicBool,
}

/// What was read of one log.
#[derive(Default)]
pub struct Seen {
    /// The number of the last event.
    pub last: i32,
    /// What each event said.
    pub events: BTreeMap<i32, Value>,
    /// How many of its connections there were.
    pub opened: u64,
    /// Whether the last one has said goodbye.
    pub left_well: bool,
}

/// A reader.
pub struct Watcher {
    /// Where the games are.
    pub club: Arc<Club>,
    /// Whose stream it reads; a game's is anybody's.
    pub client: Arc<Client>,
    /// The database, to know when a log has been read to its end.
    pub database: String,
    /// Its dice.
    pub rng: StdRng,
    /// What all have in common.
    pub counts: Arc<Counts>,
}

impl Watcher {
    /// Follows one game after the other to its end.
    pub async fn games(mut self) -> Outcome<BTreeMap<String, Seen>> {
        let mut all = BTreeMap::new();
        while !self.club.closed.load(Ordering::Relaxed) {
            let next = locked(&self.club.unwatched).pop();
            let Some(game) = next else {
                sleep(LOOK).await;
                continue;
            };
            let path = format!("/v1/games/{game}/events");
            let last = format!("select max(number) from game_event where game_id = '{game}'");
            let club = self.club.clone();
            let is_complete = || club.closed.load(Ordering::Relaxed) || locked(&club.settled).contains(&game);
            let seen = self.follow(&path, false, &last, is_complete).await?;
            all.insert(game, seen);
        }
        Ok(all)
    }

    /// Follows what concerns the client, until it has all of it and the server stops.
    pub async fn own(mut self) -> Outcome<BTreeMap<String, Seen>> {
        let last = format!(
            "select last_number from player_log join player using (player_id) where username = '{}'",
            self.client.name
        );
        let club = self.club.clone();
        let is_complete = || club.closed.load(Ordering::Relaxed);
        let seen = self.follow("/v1/me/events", true, &last, is_complete).await?;
        if !seen.left_well {
            self.club.journal.fault("the stream of its own log ended without a goodbye");
        }
        Ok(BTreeMap::from([(self.client.name.clone(), seen)]))
    }

    async fn follow(
        &mut self,
        path: &str,
        own: bool,
        last: &str,
        is_complete: impl Fn() -> bool,
    ) -> Outcome<Seen> {
        let mut seen = Seen::default();
        let mut target: Option<(i32, Instant)> = None;
        loop {
            let address = self.club.addresses.any(&mut self.rng);
            let token = self.client.token(&self.club.addresses, &mut self.rng).await?;
            let url = format!("http://{address}{path}");
            let opened = self.client.open(&url, own.then_some(token.as_str()), seen.last).await;
            let Ok(mut response) = opened else {
                sleep(LOOK).await;
                continue;
            };
            match response.status().as_u16() {
                200 => {}
                204 => return Ok(seen),
                503 => {
                    sleep(LOOK).await;
                    continue;
                }
                status => return Err(format!("{status} to {path}").into()),
            }
            seen.opened += 1;
            seen.left_well = false;
            self.counts.opened.fetch_add(1, Ordering::Relaxed);
            let (mut text, mut heard) = (Vec::new(), Instant::now());
            loop {
                match timeout(LOOK, response.chunk()).await {
                    Ok(Ok(Some(piece))) => {
                        heard = Instant::now();
                        text.extend_from_slice(&piece);
                        self.take(path, &mut text, &mut seen)?;
                    }
                    Ok(Ok(None) | Err(_)) => break,
                    Err(_) if heard.elapsed() > SILENCE => {
                        self.club.journal.fault(format!("a stream of {path} is silent"));
                        break;
                    }
                    Err(_) => {}
                }
                if target.is_none() && is_complete() {
                    target = Some((self.number(last).await, Instant::now()));
                }
                let Some((number, since)) = target else { continue };
                if seen.last >= number && own {
                    self.counts.caught_up.store(true, Ordering::Relaxed);
                } else if seen.last >= number {
                    return Ok(seen);
                }
                if seen.last < number && since.elapsed() > LAG {
                    self.club.journal.fault(format!("{path} has {number} events, its stream {}", seen.last));
                    return Ok(seen);
                }
            }
            if target.is_some_and(|(number, _)| seen.last >= number) {
                return Ok(seen);
            }
        }
    }

    /// Takes the whole events out of what was read.
    fn take(&self, path: &str, text: &mut Vec<u8>, seen: &mut Seen) -> Outcome<()> {
        while let Some(end) = text.windows(2).position(|pair| pair == b"\n\n") {
            let frame: Vec<u8> = text.drain(..end + 2).collect();
            let frame = String::from_utf8(frame)?;
            let field = |name: &str| frame.lines().find_map(|line| line.strip_prefix(name));
            let data = serde_json::from_str(field("data: ").unwrap_or("null"))?;
            match (field("event: ").unwrap_or_default(), field("id: ")) {
                ("goodbye", _) => {
                    seen.left_well = true;
                    self.counts.goodbyes.fetch_add(1, Ordering::Relaxed);
                }
                ("snapshot", _) => {
                    self.club.journal.fault(format!("{path} does not know of number {}", seen.last));
                }
                (_, Some(number)) => {
                    let number: i32 = number.parse()?;
                    if number != seen.last + 1 {
                        self.club.journal.fault(format!("{path}: number {number} after {}", seen.last));
                    }
                    seen.last = number;
                    if seen.events.insert(number, data).is_some() {
                        self.club.journal.fault(format!("{path}: number {number} twice"));
                    }
                }
                _ => {}
            }
        }
        Ok(())
    }

    /// The last number of a log, as soon as the database answers.
    async fn number(&self, query: &str) -> i32 {
        loop {
            if let Ok(mut db) = PgConnection::connect(&self.database).await {
                let found =
                    sqlx::query_scalar::<_, Option<i32>>(AssertSqlSafe(query)).fetch_optional(&mut db);
                if let Ok(number) = found.await {
                    return number.flatten().unwrap_or(0);
                }
            }
            sleep(LOOK).await;
        }
    }
}
