//! Between processes: PostgreSQL's NOTIFY, or NATS.
//!
//! A notice lists topics, as many as there are, and says that they may have grown. One task of each process sends
//! them, another one listens; nobody else waits for either. Notices may be lost: whenever a connection was, everybody
//! looks again, here and, by the notice `*`, in the other processes.

use std::{
    collections::HashSet,
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use async_nats::{Client, ConnectOptions, Event, Subscriber};
use futures_util::StreamExt;
use sqlx::{
    PgPool,
    postgres::{PgListener, PgPoolOptions},
};
use tokio::sync::{Notify, watch};

use super::{Events, Topic};
use crate::config::BusAddress;

/// The channel of PostgreSQL.
const CHANNEL: &str = "leveret_events";
/// The subject of NATS.
const SUBJECT: &str = "leveret.events";
/// So many topics fit into a notice of PostgreSQL, which has at most 7,999 bytes.
const TOPICS_IN_A_NOTICE: usize = 230;
/// With more topics than this waiting, it is cheaper to say that any log may have grown.
const MOST_WAITING: usize = 50_000;
/// Stands for every topic.
const EVERYTHING: &str = "*";
/// How long to wait after a notice, so that under load many topics share one.
const PACE: Duration = Duration::from_millis(4);
/// How long to wait before trying again.
const TRY_AGAIN: Duration = Duration::from_millis(250);

/// What the other processes are yet to be told. Its clones are one.
#[derive(Clone, Default)]
pub struct Outbox(Arc<Waiting>);

#[derive(Default)]
struct Waiting {
    batch: Mutex<Batch>,
    filled: Notify,
    answers: watch::Sender<bool>,
}

#[derive(Default)]
struct Batch {
    topics: HashSet<Topic>,
    everything: bool,
}

impl Outbox {
    /// Puts a topic in; what is in already is told once.
    pub fn put(&self, topic: Topic) {
        self.change(|batch| {
            batch.topics.insert(topic);
        });
    }

    /// Has the others look at everything again.
    fn put_everything(&self) {
        self.change(|batch| batch.everything = true);
    }

    /// Whether the bus answers.
    pub fn bus_answers(&self) -> bool {
        *self.0.answers.borrow()
    }

    /// Waits until the bus answers.
    pub async fn bus_answered(&self) {
        // The sender lives as long as this value.
        let _ = self.0.answers.subscribe().wait_for(|answers| *answers).await;
    }

    fn note_answers(&self, answers: bool) {
        self.0.answers.send_replace(answers);
    }

    fn change(&self, change: impl FnOnce(&mut Batch)) {
        let mut batch = self.0.batch.lock().unwrap_or_else(PoisonError::into_inner);
        change(&mut batch);
        if batch.everything || batch.topics.len() > MOST_WAITING {
            *batch = Batch { topics: HashSet::new(), everything: true };
        }
        drop(batch);
        self.0.filled.notify_one();
    }

    /// Takes what is in, as texts of notices, as soon as anything is.
    async fn take(&self) -> Vec<String> {
        loop {
            let batch = std::mem::take(&mut *self.0.batch.lock().unwrap_or_else(PoisonError::into_inner));
            if batch.everything {
                return vec![EVERYTHING.to_owned()];
            }
            if !batch.topics.is_empty() {
                let topics: Vec<String> = batch.topics.iter().map(ToString::to_string).collect();
                return topics.chunks(TOPICS_IN_A_NOTICE).map(|some| some.join(",")).collect();
            }
            self.0.filled.notified().await;
        }
    }
}

/// Why the bus does not work.
#[derive(Debug, thiserror::Error)]
enum BusError {
    #[error("{0}")]
    Postgres(#[from] sqlx::Error),
    #[error("{0}")]
    Connect(#[from] async_nats::ConnectError),
    #[error("{0}")]
    Publish(#[from] async_nats::PublishError),
    #[error("{0}")]
    Flush(#[from] async_nats::client::FlushError),
    #[error("{0}")]
    Subscribe(#[from] async_nats::SubscribeError),
    #[error("the connection was lost")]
    Lost,
}

/// Sends notices.
enum Publisher {
    Postgres(PgPool),
    Nats(Client),
}

impl Publisher {
    async fn publish(&self, notice: &str) -> Result<(), BusError> {
        match self {
            Publisher::Postgres(db) => {
                sqlx::query("select pg_notify($1, $2)").bind(CHANNEL).bind(notice).execute(db).await?;
            }
            Publisher::Nats(client) => {
                client.publish(SUBJECT, notice.to_owned().into()).await?;
                client.flush().await?;
            }
        }
        Ok(())
    }
}

/// Receives notices.
enum Listener {
    Postgres(Box<PgListener>),
    Nats(Subscriber),
}

impl Listener {
    /// The next notice.
    async fn next(&mut self) -> Result<String, BusError> {
        match self {
            Listener::Postgres(listener) => match listener.try_recv().await? {
                Some(notice) => Ok(notice.payload().to_owned()),
                None => Err(BusError::Lost),
            },
            Listener::Nats(subscriber) => {
                let message = subscriber.next().await.ok_or(BusError::Lost)?;
                Ok(String::from_utf8_lossy(&message.payload).into_owned())
            }
        }
    }
}

/// Sends and receives until it is dropped. `origin` is a number that no other process has: a process needs no
/// notices of its own.
pub async fn run(address: BusAddress, db: PgPool, events: Events, origin: u64) {
    loop {
        let Err(err) = connect_and_run(&address, &db, &events, origin).await;
        events.outbox.note_answers(false);
        tracing::warn!(cause = %err, "the bus between the processes does not answer");
        metrics::counter!("leveret_bus_reconnects_total").increment(1);
        tokio::time::sleep(TRY_AGAIN).await;
    }
}

async fn connect_and_run(
    address: &BusAddress,
    db: &PgPool,
    events: &Events,
    origin: u64,
) -> Result<std::convert::Infallible, BusError> {
    let (publisher, listener) = match address {
        BusAddress::Postgres => postgres(db).await?,
        BusAddress::Nats(url) => nats(url, events).await?,
    };
    events.outbox.note_answers(true);
    // What was said until now was said to nobody.
    events.hub.look_again_everywhere();
    events.outbox.put_everything();
    let (sent, received) = (send(publisher, events, origin), receive(listener, events, origin));
    tokio::select! {
        failure = sent => failure,
        failure = received => failure,
    }
}

async fn postgres(db: &PgPool) -> Result<(Publisher, Listener), BusError> {
    let mut listener = PgListener::connect_with(db).await?;
    listener.listen(CHANNEL).await?;
    // A notice need not survive a crash, so it does not wait for the disk.
    let options = (*db.connect_options()).clone().options([("synchronous_commit", "off")]);
    let sending = PgPoolOptions::new().max_connections(1).connect_lazy_with(options);
    Ok((Publisher::Postgres(sending), Listener::Postgres(Box::new(listener))))
}

/// Connects to NATS, which then connects again by itself.
async fn nats(url: &str, events: &Events) -> Result<(Publisher, Listener), BusError> {
    let told = events.clone();
    let client = ConnectOptions::new()
        .no_echo()
        .reconnect_delay_callback(|_| TRY_AGAIN)
        .event_callback(move |event| {
            let events = told.clone();
            async move { note(&event, &events) }
        })
        .connect(url)
        .await?;
    let subscriber = client.subscribe(SUBJECT).await?;
    // Subscribed before anybody is told that we listen.
    client.flush().await?;
    Ok((Publisher::Nats(client), Listener::Nats(subscriber)))
}

/// Follows what becomes of the connection to NATS.
fn note(event: &Event, events: &Events) {
    match event {
        Event::Connected => {
            events.outbox.note_answers(true);
            events.hub.look_again_everywhere();
            events.outbox.put_everything();
        }
        Event::Disconnected => {
            events.outbox.note_answers(false);
            metrics::counter!("leveret_bus_reconnects_total").increment(1);
            tracing::warn!("the connection to NATS is lost");
        }
        Event::SlowConsumer(_) => events.hub.look_again_everywhere(),
        other => tracing::debug!(event = %other, "NATS"),
    }
}

async fn send(
    publisher: Publisher,
    events: &Events,
    origin: u64,
) -> Result<std::convert::Infallible, BusError> {
    loop {
        for notice in events.outbox.take().await {
            publisher.publish(&format!("{origin:016x}:{notice}")).await?;
            metrics::counter!("leveret_notices_sent_total").increment(1);
        }
        tokio::time::sleep(PACE).await;
    }
}

async fn receive(
    mut listener: Listener,
    events: &Events,
    origin: u64,
) -> Result<std::convert::Infallible, BusError> {
    let own = format!("{origin:016x}");
    loop {
        let notice = listener.next().await?;
        let Some((from, topics)) = notice.split_once(':') else { continue };
        if from == own {
            continue;
        }
        metrics::counter!("leveret_notices_received_total").increment(1);
        if topics == EVERYTHING {
            events.hub.look_again_everywhere();
        }
        for topic in topics.split(',').filter_map(|text| text.parse::<Topic>().ok()) {
            events.hub.look_again(topic);
        }
    }
}

#[cfg(test)]
mod tests {
    use uuid::Uuid;

    use super::*;
    use crate::ids::GameId;

    fn game(number: usize) -> Topic {
        Topic::Game(GameId(Uuid::from_u128(number as u128)))
    }

    #[tokio::test]
    async fn what_is_put_twice_is_told_once() {
        let outbox = Outbox::default();
        for number in [1, 2, 1] {
            outbox.put(game(number));
        }
        let notices = outbox.take().await;
        assert_eq!(notices.len(), 1);
        assert_eq!(notices[0].split(',').count(), 2);
    }

    #[tokio::test]
    async fn a_notice_fits_into_what_postgres_allows() {
        let outbox = Outbox::default();
        (0..1000).for_each(|number| outbox.put(game(number)));
        let notices = outbox.take().await;
        assert_eq!(notices.iter().map(|notice| notice.split(',').count()).sum::<usize>(), 1000);
        assert!(notices.iter().all(|notice| notice.len() + 17 <= 7999), "{}", notices[0].len());
    }

    #[tokio::test]
    async fn an_outbox_that_nobody_empties_stays_small() {
        let outbox = Outbox::default();
        (0..=MOST_WAITING).for_each(|number| outbox.put(game(number)));
        assert_eq!(outbox.take().await, [EVERYTHING]);
    }
}
