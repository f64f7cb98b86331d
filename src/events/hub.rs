//! To every live stream of this process: where streams wait, and what those of one log share.
//!
//! Nothing is queued for anybody. A log has one mark, a number that grows when somebody says "look again"; a stream
//! that sees it grow takes what it does not have yet. Whoever is first reads the database for all: the last few
//! entries are kept, ready to be sent, so that a thousand readers of one game cost one read for each move.

use std::{
    collections::{HashMap, VecDeque},
    ops::Range,
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicI32, Ordering},
    },
};

use bytes::Bytes;
use sqlx::{PgPool, types::Uuid};
use tokio::sync::{Mutex as AsyncMutex, watch};

use super::Topic;
use crate::{
    ids::{GameId, PlayerId},
    wall_clock::Timestamp,
};

/// So many of a log's last entries are kept for its readers.
const KEPT: usize = 16;

/// An entry of a log, ready to be sent.
#[derive(Clone, Debug)]
pub struct Entry {
    /// Its number in the log.
    pub number: i32,
    /// When it happened.
    pub at: Timestamp,
    /// All of it, as it goes out.
    pub frame: Bytes,
    /// Where in the frame its data lies.
    pub data: Range<usize>,
    /// If it ends the log: the instant from which nothing more is waited for.
    pub over_at: Option<Timestamp>,
}

/// What the process tells all its streams at once.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Beat {
    /// How many there were: each is a heartbeat.
    pub count: u64,
    /// Whether the process stops.
    pub closing: bool,
}

/// Where streams wait for their logs to grow. Its clones are one.
#[derive(Clone, Default)]
pub struct Hub(Arc<Shared>);

#[derive(Default)]
struct Shared {
    lines: Mutex<HashMap<Topic, Arc<Line>>>,
    beat: watch::Sender<Beat>,
}

/// What the readers of one log have in common.
struct Line {
    marks: watch::Sender<u64>,
    /// The last number that the database was seen to have.
    seen: AtomicI32,
    recent: AsyncMutex<Recent>,
}

/// The last entries of a log, as far as they were read.
#[derive(Default)]
struct Recent {
    /// The mark that stood when they were read.
    mark: u64,
    /// The number before the first of them, and that of the last; nothing when nothing was read yet.
    reach: Option<(i32, i32)>,
    entries: VecDeque<Entry>,
}

impl Recent {
    fn extend(&mut self, base: i32, fresh: Vec<Entry>) {
        let (mut before, mut last) = self.reach.unwrap_or((base, base));
        for entry in fresh {
            last = entry.number;
            self.entries.push_back(entry);
        }
        while self.entries.len() > KEPT {
            if let Some(dropped) = self.entries.pop_front() {
                before = dropped.number;
            }
        }
        self.reach = Some((before, last));
    }
}

impl Hub {
    /// Says that a log may have grown. Costs a look into a table when nobody reads it here.
    pub fn look_again(&self, topic: Topic) {
        if let Some(line) = self.lines().get(&topic) {
            line.mark();
        }
    }

    /// Says that any log may have grown.
    pub fn look_again_everywhere(&self) {
        self.lines().values().for_each(|line| line.mark());
    }

    /// Sends every stream its heartbeat.
    pub fn beat(&self) {
        self.0.beat.send_modify(|beat| beat.count += 1);
    }

    /// Lets every stream say goodbye and end, those that are yet to come too.
    pub fn close(&self) {
        self.0.beat.send_modify(|beat| beat.closing = true);
    }

    /// Follows a log. Subscribe first, then read the database, then wait: nothing is missed in between.
    pub fn subscribe(&self, topic: Topic) -> Subscription {
        let line = self.lines().entry(topic).or_insert_with(|| Arc::new(Line::new())).clone();
        let marks = line.marks.subscribe();
        Subscription { hub: self.clone(), topic, line, marks, beats: self.0.beat.subscribe() }
    }

    /// Compares every log that is read here with the database, all at once, and marks those that have grown: what a
    /// lost announcement would have told.
    ///
    /// # Errors
    ///
    /// When the database fails.
    pub async fn compare(&self, db: &PgPool) -> Result<(), sqlx::Error> {
        let topics: Vec<Topic> = self.lines().keys().copied().collect();
        let (mut games, mut players) = (Vec::new(), Vec::new());
        for topic in topics {
            match topic {
                Topic::Game(id) => games.push(id.0),
                Topic::Player(id) => players.push(id.0),
            }
        }
        for (id, number) in last_numbers_of_games(db, &games).await? {
            self.saw(Topic::Game(id), number);
        }
        for (id, number) in last_numbers_of_players(db, &players).await? {
            self.saw(Topic::Player(id), number);
        }
        Ok(())
    }

    fn saw(&self, topic: Topic, number: i32) {
        if let Some(line) = self.lines().get(&topic)
            && line.seen.fetch_max(number, Ordering::SeqCst) < number
        {
            line.mark();
        }
    }

    /// How many logs are read here.
    pub fn topics(&self) -> usize {
        self.lines().len()
    }

    fn lines(&self) -> MutexGuard<'_, HashMap<Topic, Arc<Line>>> {
        self.0.lines.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Line {
    fn new() -> Line {
        Line { marks: watch::Sender::new(0), seen: AtomicI32::new(0), recent: AsyncMutex::default() }
    }

    fn mark(&self) {
        self.marks.send_modify(|mark| *mark += 1);
    }
}

/// Why a stream was woken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Wake {
    /// Its log may have grown.
    Mark,
    /// A heartbeat is due, or the process stops.
    Beat(Beat),
}

/// One reader of a log.
pub struct Subscription {
    hub: Hub,
    topic: Topic,
    line: Arc<Line>,
    marks: watch::Receiver<u64>,
    beats: watch::Receiver<Beat>,
}

impl Subscription {
    /// Waits until there may be something to send.
    pub async fn wake(&mut self) -> Wake {
        // Neither sender is ever dropped while this one lives.
        tokio::select! {
            _ = self.marks.changed() => Wake::Mark,
            _ = self.beats.changed() => Wake::Beat(*self.beats.borrow()),
        }
    }

    /// Says at which number this reader begins. Where that is not what others have seen, all look again.
    pub fn begin_at(&self, number: i32) {
        let seen = self.line.seen.fetch_max(number, Ordering::SeqCst);
        if seen != 0 && seen != number {
            self.line.mark();
        }
    }

    /// Whether the process stops.
    pub fn is_closing(&self) -> bool {
        self.beats.borrow().closing
    }

    /// The entries after number `last`. `read` is asked for those after a number, once for all readers of the log
    /// when it was marked, and else only for one who lags behind what is kept.
    ///
    /// # Errors
    ///
    /// When reading fails.
    pub async fn since<E>(
        &self,
        last: i32,
        read: impl AsyncFn(i32) -> Result<Vec<Entry>, E>,
    ) -> Result<Vec<Entry>, E> {
        {
            let mut recent = self.line.recent.lock().await;
            // The mark is read before the database: whatever is announced later marks again.
            let mark = *self.line.marks.borrow();
            let base = recent.reach.map_or(last, |(_, reached)| reached);
            if recent.mark < mark {
                let fresh = read(base).await?;
                let all = (base == last).then(|| fresh.clone());
                recent.extend(base, fresh);
                recent.mark = mark;
                self.line.seen.fetch_max(recent.reach.map_or(base, |(_, reached)| reached), Ordering::SeqCst);
                if let Some(all) = all {
                    return Ok(all);
                }
            }
            match recent.reach {
                Some((before, _)) if last < before => {}
                _ => return Ok(recent.entries.iter().filter(|entry| entry.number > last).cloned().collect()),
            }
        }
        read(last).await
    }
}

impl Drop for Subscription {
    fn drop(&mut self) {
        let mut lines = self.hub.lines();
        // The table's own, and this one.
        if Arc::strong_count(&self.line) <= 2 {
            lines.remove(&self.topic);
        }
    }
}

async fn last_numbers_of_games(db: &PgPool, games: &[Uuid]) -> Result<Vec<(GameId, i32)>, sqlx::Error> {
    if games.is_empty() {
        return Ok(Vec::new());
    }
    let rows = sqlx::query!(
        r#"
        select wanted.game_id as "game_id!: GameId", last.number
        from unnest($1::uuid[]) as wanted (game_id)
        cross join lateral (
            select number
            from game_event
            where game_event.game_id = wanted.game_id
            order by number desc
            limit 1
        ) last
        "#,
        games,
    )
    .fetch_all(db)
    .await?;
    Ok(rows.into_iter().map(|row| (row.game_id, row.number)).collect())
}

async fn last_numbers_of_players(db: &PgPool, players: &[Uuid]) -> Result<Vec<(PlayerId, i32)>, sqlx::Error> {
    if players.is_empty() {
        return Ok(Vec::new());
    }
    let rows = sqlx::query!(
        r#"
        select player_id as "player_id: PlayerId", last_number
        from player_log
        where player_id = any($1)
        "#,
        players,
    )
    .fetch_all(db)
    .await?;
    Ok(rows.into_iter().map(|row| (row.player_id, row.last_number)).collect())
}

#[cfg(test)]
mod tests {
    use std::{cell::RefCell, convert::Infallible};

    use super::*;

    fn entry(number: i32) -> Entry {
        let at = Timestamp::UNIX_EPOCH;
        Entry { number, at, frame: Bytes::from(number.to_string()), data: 0..1, over_at: None }
    }

    /// A log of so many entries that notes after which number it was read.
    struct Log {
        length: RefCell<i32>,
        reads: RefCell<Vec<i32>>,
    }

    impl Log {
        async fn read(&self, after: i32) -> Result<Vec<Entry>, Infallible> {
            self.reads.borrow_mut().push(after);
            Ok((after + 1..=*self.length.borrow()).map(entry).collect())
        }

        async fn since(&self, reader: &Subscription, last: i32) -> Vec<i32> {
            let Ok(entries) = reader.since(last, async |after| self.read(after).await).await;
            entries.iter().map(|entry| entry.number).collect()
        }
    }

    fn a_topic() -> Topic {
        Topic::Game(GameId(Uuid::from_u128(7)))
    }

    #[tokio::test]
    async fn readers_of_one_log_share_one_read_for_each_mark() {
        let (hub, log) = (Hub::default(), Log { length: RefCell::new(3), reads: RefCell::default() });
        let readers: Vec<Subscription> = (0..50).map(|_| hub.subscribe(a_topic())).collect();
        for length in 4..7 {
            *log.length.borrow_mut() = length;
            hub.look_again(a_topic());
            for reader in &readers {
                assert_eq!(log.since(reader, length - 1).await, [length]);
            }
        }
        assert_eq!(*log.reads.borrow(), [3, 4, 5]);
    }

    #[tokio::test]
    async fn who_lags_behind_what_is_kept_reads_alone_and_disturbs_nobody() {
        let (hub, log) = (Hub::default(), Log { length: RefCell::new(100), reads: RefCell::default() });
        let (current, late) = (hub.subscribe(a_topic()), hub.subscribe(a_topic()));
        hub.look_again(a_topic());
        assert_eq!(log.since(&current, 99).await, [100]);
        assert_eq!(log.since(&late, 97).await, [98, 99, 100]);
        *log.length.borrow_mut() = 101;
        hub.look_again(a_topic());
        assert_eq!(log.since(&current, 100).await, [101]);
        assert_eq!(log.since(&late, 100).await, [101]);
        assert_eq!(*log.reads.borrow(), [99, 97, 100]);
    }

    #[tokio::test]
    async fn only_the_last_entries_are_kept_and_none_is_left_out() {
        let (hub, log) = (Hub::default(), Log { length: RefCell::new(100), reads: RefCell::default() });
        let reader = hub.subscribe(a_topic());
        hub.look_again(a_topic());
        assert_eq!(log.since(&reader, 0).await, (1..=100).collect::<Vec<_>>());
        assert_eq!(log.since(&reader, 90).await, (91..=100).collect::<Vec<_>>());
        assert_eq!(*log.reads.borrow(), [0], "what is kept is not read again");
        assert_eq!(log.since(&reader, 50).await, (51..=100).collect::<Vec<_>>());
    }

    #[tokio::test]
    async fn a_log_that_nobody_reads_is_forgotten() {
        let hub = Hub::default();
        let (one, other) = (hub.subscribe(a_topic()), hub.subscribe(a_topic()));
        drop(one);
        assert_eq!(hub.topics(), 1);
        drop(other);
        assert_eq!(hub.topics(), 0);
    }

    #[tokio::test]
    async fn a_reader_who_begins_further_on_has_the_others_look_again() {
        let hub = Hub::default();
        let mut behind = hub.subscribe(a_topic());
        behind.begin_at(9);
        hub.subscribe(a_topic()).begin_at(10);
        assert_eq!(behind.wake().await, Wake::Mark);
    }
}
