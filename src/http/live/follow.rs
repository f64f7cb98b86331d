//! One reader who follows a log: subscribe first, then read, then wait.

use std::time::Instant as Moment;

use actix_web::web::Data;
use bytes::{Bytes, BytesMut};
use serde_json::json;
use sqlx::PgPool;
use tokio::sync::watch;

use super::{
    render::{self, PlayerSnapshotView, REMATCH_AWAITED_FOR},
    slots::Slot,
};
use crate::{
    accounts::access::{AccessTokens, Claimant},
    dice,
    events::{
        Events, Topic,
        hub::{Beat, Entry, Subscription, Wake},
        player_log,
    },
    games::{
        self, Game,
        history::{self, Filter},
    },
    http::{
        error::{self, ApiError},
        lobby::{ChallengeView, PublicUrl, TicketView},
        views::{GameView, Instant},
    },
    ids::PlayerId,
    lobby::{challenges, presence::Presence, tickets},
    wall_clock::{Timestamp, WallClock},
};

/// After how many milliseconds a client should come back: each at a time of its own, so that not all of them stand at
/// the door when a server starts again.
fn retry_ms() -> u32 {
    1000 + dice::roll::<u32>() % 4000
}

/// So many of a player's games and challenges are in their snapshot.
const MOST_SHOWN: i64 = 200;

/// From how many seconds on a reader who took nothing is called stalled.
const STALLED_S: u64 = 10;

/// What all streams of a process need.
#[derive(Clone)]
pub struct Live {
    /// Where they wait.
    pub events: Data<Events>,
    /// What time it is.
    pub clock: Data<WallClock>,
    /// Which sessions have ended.
    pub tokens: Data<AccessTokens>,
    /// Who is there.
    pub presence: Data<Presence>,
    /// Where challenges are found.
    pub url: Data<PublicUrl>,
}

/// A reader of a log.
pub struct Follower {
    live: Live,
    db: Data<PgPool>,
    topic: Topic,
    subscription: Subscription,
    claimant: Option<Claimant>,
    endings: watch::Receiver<u64>,
    _slot: Slot,
    /// The number of the last event that was sent.
    last: i32,
    /// From when on nothing more is waited for.
    over_at: Option<Timestamp>,
    /// When the last chunk was handed over, until the next one is asked for.
    handed_at: Option<Moment>,
    done: bool,
}

/// What a reader begins with.
pub struct Beginning {
    /// The whole as it is now, as JSON, where there was nothing to go on from.
    pub snapshot: Option<String>,
    /// What was missing.
    pub entries: Vec<Entry>,
}

impl Beginning {
    /// Whether there is nothing to send.
    pub fn is_empty(&self) -> bool {
        self.snapshot.is_none() && self.entries.is_empty()
    }
}

impl Follower {
    /// Subscribes, and reads what there is after number `after`; all there is now if there is no such number.
    ///
    /// # Errors
    ///
    /// When there is no such log or the database fails.
    pub async fn begin(
        live: Live,
        db: Data<PgPool>,
        topic: Topic,
        claimant: Option<Claimant>,
        slot: Slot,
        after: Option<i32>,
    ) -> Result<(Follower, Beginning), ApiError> {
        let mut follower = Follower {
            subscription: live.events.hub().subscribe(topic),
            endings: live.tokens.endings(),
            live,
            db,
            topic,
            claimant,
            _slot: slot,
            last: 0,
            over_at: None,
            handed_at: None,
            done: false,
        };
        let beginning = match topic {
            Topic::Game(id) => {
                let (game, log) = games::log_since(&follower.db, id, after.unwrap_or(i32::MAX))
                    .await?
                    .ok_or_else(|| ApiError::new(error::NOT_FOUND, "no game has this id"))?;
                follower.begin_game(&game, &log, after)
            }
            Topic::Player(player) => follower.begin_player(player, after).await?,
        };
        follower.subscription.begin_at(follower.last);
        Ok((follower, beginning))
    }

    fn begin_game(&mut self, game: &Game, log: &[games::LogEntry], after: Option<i32>) -> Beginning {
        self.over_at = game.ended.map(|(_, at)| match game.rematch {
            Some(_) => at,
            None => at + REMATCH_AWAITED_FOR,
        });
        match after.filter(|after| (0..=game.last_event).contains(after)) {
            Some(after) => {
                let entries = render::game_entries(game, log);
                self.last = entries.last().map_or(after, |entry| entry.number);
                Beginning { snapshot: None, entries }
            }
            None => {
                self.last = game.last_event;
                let view = GameView::of(game, self.live.clock.now());
                Beginning { snapshot: Some(json!(view).to_string()), entries: Vec::new() }
            }
        }
    }

    async fn begin_player(&mut self, player: PlayerId, after: Option<i32>) -> Result<Beginning, ApiError> {
        // Read before the state: what happens in between is in the snapshot and told once more.
        let last = player_log::last_number(&**self.db, player).await?;
        if let Some(after) = after.filter(|after| (0..=last).contains(after)) {
            let entries = self.read(after).await?;
            let first = entries.first().map_or(last + 1, |entry| entry.number);
            if first == after + 1 {
                self.last = entries.last().map_or(after, |entry| entry.number);
                return Ok(Beginning { snapshot: None, entries });
            }
        }
        self.last = last;
        let snapshot = self.player_snapshot(player).await?;
        Ok(Beginning { snapshot: Some(json!(snapshot).to_string()), entries: Vec::new() })
    }

    async fn player_snapshot(&self, player: PlayerId) -> Result<PlayerSnapshotView, ApiError> {
        let now = self.live.clock.now();
        let going_on =
            Filter { player: Some(player), status: Some("ongoing".to_owned()), ..Filter::default() };
        let games = history::list(&self.db, &going_on, None, MOST_SHOWN).await?;
        let challenges = challenges::list_own(&self.db, player, MOST_SHOWN, now).await?;
        let view = |challenge| ChallengeView::of(challenge, &self.live.url);
        Ok(PlayerSnapshotView {
            games: games.iter().map(|game| GameView::of(game, now)).collect(),
            ticket: tickets::live(&self.db, player, now).await?.map(TicketView::from),
            challenges: challenges.into_iter().map(view).collect(),
            server_now: now.into(),
        })
    }

    /// The number of the last event that was sent.
    pub fn last(&self) -> i32 {
        self.last
    }

    /// Whether the log is over and nothing more is waited for.
    pub fn is_over(&self) -> bool {
        self.over_at.is_some_and(|at| at <= self.live.clock.now())
    }

    /// Reads what is in the database after this number.
    async fn read(&self, after: i32) -> Result<Vec<Entry>, sqlx::Error> {
        match self.topic {
            Topic::Game(id) => {
                let found = games::log_since(&self.db, id, after).await?;
                Ok(found.map(|(game, log)| render::game_entries(&game, &log)).unwrap_or_default())
            }
            Topic::Player(player) => {
                Ok(render::player_entries(player_log::since(&**self.db, player, after).await?))
            }
        }
    }

    /// What has been added to the log. A failure of the database is no end: the next beat tries again.
    pub async fn catch_up(&mut self) -> Vec<Entry> {
        // In a box, since what waits for nothing else should be small.
        let entries =
            Box::pin(self.subscription.since(self.last, async |after| self.read(after).await)).await;
        let entries = entries.unwrap_or_else(|err| {
            tracing::debug!(cause = %err, "a stream cannot read its log");
            Vec::new()
        });
        if let Some(entry) = entries.last() {
            self.last = entry.number;
            let now = self.live.clock.now();
            metrics::counter!("leveret_events_sent_total").increment(entries.len() as u64);
            if let Some(over_at) = entries.iter().filter_map(|entry| entry.over_at).next_back() {
                self.over_at = Some(over_at);
            }
            let lag = (now - entry.at).to_std().unwrap_or_default();
            metrics::histogram!("leveret_event_delivery_seconds").record(lag.as_secs_f64());
        }
        entries
    }

    /// Waits until there may be something to send.
    pub async fn wake(&mut self) -> Wake {
        let has_session = self.claimant.is_some();
        tokio::select! {
            wake = self.subscription.wake() => wake,
            _ = self.endings.changed(), if has_session => Wake::Mark,
        }
    }

    /// Why the stream ends now, as its last event, if it does.
    fn farewell(&self) -> Option<String> {
        if self.subscription.is_closing() {
            let data = json!({"reason": "restart", "retry_ms": retry_ms()}).to_string();
            return Some(render::frame(None, "goodbye", &data));
        }
        let reason = if self.has_lost_its_session() {
            "session_ended"
        } else if self.is_over() {
            "game_over"
        } else {
            return None;
        };
        Some(render::frame(None, "end", &json!({"reason": reason}).to_string()))
    }

    /// Whether the session that opened the stream has ended.
    pub fn has_lost_its_session(&self) -> bool {
        self.claimant.is_some_and(|claimant| self.live.tokens.has_ended(claimant.session))
    }

    /// Whether the process stops.
    pub fn is_closing(&self) -> bool {
        self.subscription.is_closing()
    }

    /// What a stream begins with, and the one that follows.
    pub fn first_chunk(&mut self, beginning: &Beginning) -> Bytes {
        let mut chunk = BytesMut::from(format!("retry: {}\n\n", retry_ms()).as_bytes());
        if let Some(snapshot) = &beginning.snapshot {
            chunk.extend_from_slice(render::frame(Some(self.last), "snapshot", snapshot).as_bytes());
        }
        self.finish_chunk(chunk, &beginning.entries)
    }

    /// The next piece of the stream; nothing at its end.
    pub async fn next_chunk(mut self) -> Option<(Result<Bytes, actix_web::Error>, Follower)> {
        self.handed_at = None;
        while !self.done {
            let wake = self.wake().await;
            let entries = self.catch_up().await;
            let mut chunk = BytesMut::new();
            if let Wake::Beat(Beat { closing: false, .. }) = wake {
                self.note_presence();
                let now = self.live.clock.now();
                let data = json!({"server_now": Instant::from(now), "last": self.last}).to_string();
                chunk.extend_from_slice(render::frame(None, "heartbeat", &data).as_bytes());
            }
            let chunk = self.finish_chunk(chunk, &entries);
            if !chunk.is_empty() {
                return Some((Ok(chunk), self));
            }
        }
        None
    }

    fn finish_chunk(&mut self, mut chunk: BytesMut, entries: &[Entry]) -> Bytes {
        for entry in entries {
            chunk.extend_from_slice(&entry.frame);
        }
        if let Some(farewell) = self.farewell() {
            chunk.extend_from_slice(farewell.as_bytes());
            self.done = true;
        }
        self.handed_at = Some(Moment::now());
        chunk.freeze()
    }

    fn note_presence(&self) {
        if let Some(claimant) = self.claimant {
            self.live.presence.note(claimant.player);
        }
    }
}

impl Drop for Follower {
    /// A chunk that was handed over and not sent for long: the reader took nothing, and the connection was cut.
    fn drop(&mut self) {
        let stalled = self.handed_at.map_or(0, |at| at.elapsed().as_secs());
        if stalled >= STALLED_S && !self.done {
            metrics::counter!("leveret_streams_cut_total").increment(1);
            tracing::info!(seconds = stalled, "a stream was cut: its reader took nothing");
        }
    }
}
