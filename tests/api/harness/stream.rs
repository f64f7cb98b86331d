//! Streams of events as a browser reads them.

use std::time::Duration;

use reqwest::Response;
use serde_json::Value;

use super::player::{Client, Player};

/// Longer than anything takes that a test waits for.
const PATIENCE: Duration = Duration::from_secs(30);

/// An event as it came.
#[derive(Clone, Debug)]
pub struct Event {
    /// Its number, if it has one.
    pub id: Option<i64>,
    /// What happened.
    pub kind: String,
    /// What it says.
    pub data: Value,
}

/// A stream that somebody reads. It is cut when it is dropped.
pub struct Stream {
    response: Response,
    unread: Vec<u8>,
    /// The number of the last event with one.
    pub last: Option<i64>,
}

impl Client {
    /// Watches a game from now on.
    pub async fn watches(&self, game: &str) -> Stream {
        self.opens(&format!("/v1/games/{game}/events")).await
    }

    /// Watches a game after this number of its log.
    pub async fn watches_after(&self, game: &str, number: i64) -> Stream {
        self.with_header("last-event-id", &number.to_string()).watches(game).await
    }

    /// Opens any stream.
    pub async fn opens(&self, path: &str) -> Stream {
        let response = self.open(path).await;
        let header = |name: &str| response.headers().get(name).and_then(|value| value.to_str().ok());
        assert_eq!(response.status(), 200, "{path}");
        assert_eq!(header("content-type"), Some("text/event-stream"), "{path}");
        assert_eq!(header("cache-control"), Some("no-store"), "{path}");
        assert_eq!(header("x-accel-buffering"), Some("no"), "{path}");
        assert!(header("x-request-id").is_some(), "{path}");
        Stream { response, unread: Vec::new(), last: None }
    }
}

impl Player {
    /// Watches what concerns them.
    pub async fn watches_themselves(&self) -> Stream {
        self.opens("/v1/me/events").await
    }
}

impl Stream {
    /// The next event of any kind; nothing when the stream has ended.
    pub async fn next(&mut self) -> Option<Event> {
        loop {
            if let Some(end) = self.unread.windows(2).position(|end| end == b"\n\n") {
                let frame: Vec<u8> = self.unread.drain(..end + 2).collect();
                match read(std::str::from_utf8(&frame).expect("a stream is text")) {
                    Some(event) => {
                        self.last = event.id.or(self.last);
                        return Some(event);
                    }
                    None => continue,
                }
            }
            let chunk = tokio::time::timeout(PATIENCE, self.response.chunk()).await;
            match chunk.expect("something is sent in time") {
                Ok(Some(chunk)) => self.unread.extend_from_slice(&chunk),
                Ok(None) | Err(_) => return None,
            }
        }
    }

    /// The next event, heartbeats aside, which is of this kind.
    #[track_caller]
    pub fn next_event(&mut self, kind: &str) -> impl Future<Output = Event> {
        let caller = std::panic::Location::caller();
        async move {
            loop {
                let event = self.next().await;
                let event = event.unwrap_or_else(|| panic!("{caller}: the stream ended before {kind}"));
                if event.kind == kind {
                    return event;
                }
                assert_eq!(event.kind, "heartbeat", "{caller}: {kind} was expected, not {event:?}");
            }
        }
    }

    /// The next event with a number, which is this one.
    pub async fn reads_until(&mut self, number: i64) -> Vec<Event> {
        let mut events = Vec::new();
        while self.last.unwrap_or(0) < number {
            let event = self.next().await.unwrap_or_else(|| panic!("it ended before {number}: {events:?}"));
            if event.id.is_some() {
                events.push(event);
            }
        }
        events
    }

    /// The stream says this last, and ends.
    pub async fn ends_with(&mut self, kind: &str) -> Event {
        let event = self.next_event(kind).await;
        assert!(self.next().await.is_none(), "it goes on after {kind}");
        event
    }
}

/// Reads a frame; nothing for one that only tells when to come back.
fn read(frame: &str) -> Option<Event> {
    let field = |name: &str| {
        frame.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(": ").map(str::to_owned))
    };
    let data = field("data")?;
    Some(Event {
        id: field("id").map(|id| id.parse().expect("an id is a number")),
        kind: field("event").expect("an event has a kind"),
        data: serde_json::from_str(&data).unwrap_or_else(|err| panic!("{err}: {data}")),
    })
}
