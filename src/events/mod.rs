//! Live events: who is told to look again, and when.
//!
//! The logs are the record: a game's (`game_event`) and a player's ([`player_log`]). What is announced, after the
//! commit, only says "look again": to the streams of this process by the [`hub`], and to those of other processes by
//! the [`bus`]. Losing an announcement costs nothing but time: at each beat the hub is compared with the logs.

pub mod bus;
pub mod hub;
pub mod player_log;

use std::{fmt, str::FromStr};

use sqlx::PgPool;
use uuid::Uuid;

use self::{bus::Outbox, hub::Hub};
use crate::ids::{GameId, PlayerId};

/// A log that can be followed.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Topic {
    /// What happens in a game.
    Game(GameId),
    /// What a player is told.
    Player(PlayerId),
}

impl fmt::Display for Topic {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Topic::Game(id) => write!(f, "g{}", id.0.simple()),
            Topic::Player(id) => write!(f, "p{}", id.0.simple()),
        }
    }
}

/// A text that names no topic.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("not a topic")]
pub struct NotATopic;

impl FromStr for Topic {
    type Err = NotATopic;

    fn from_str(text: &str) -> Result<Topic, NotATopic> {
        let (kind, id) = text.split_at_checked(1).ok_or(NotATopic)?;
        let id = Uuid::try_parse(id).map_err(|_| NotATopic)?;
        match kind {
            "g" => Ok(Topic::Game(GameId(id))),
            "p" => Ok(Topic::Player(PlayerId(id))),
            _ => Err(NotATopic),
        }
    }
}

/// Where whatever has happened is announced. Its clones are one.
#[derive(Clone, Default)]
pub struct Events {
    hub: Hub,
    outbox: Outbox,
}

impl Events {
    /// Says, after the commit, that these logs have grown. Neither waits nor fails.
    pub fn announce(&self, topics: impl IntoIterator<Item = Topic>) {
        for topic in topics {
            self.hub.look_again(topic);
            self.outbox.put(topic);
        }
    }

    /// Compares the streams of this process with the database, and sends each its heartbeat.
    pub async fn beat(&self, db: &PgPool) {
        if let Err(err) = self.hub.compare(db).await {
            tracing::warn!(cause = %err, "cannot compare the streams with the database");
        }
        self.hub.beat();
    }

    /// Where the streams of this process wait.
    pub fn hub(&self) -> &Hub {
        &self.hub
    }

    /// What the other processes are yet to be told.
    pub fn outbox(&self) -> &Outbox {
        &self.outbox
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_topic_is_read_back_from_its_text() {
        let id = Uuid::from_u128(0x0199_f3a0_5c1e_7b3a_9d2e_6a1f_0c4b_8e21);
        for topic in [Topic::Game(GameId(id)), Topic::Player(PlayerId(id))] {
            assert_eq!(topic.to_string().parse(), Ok(topic));
        }
        for text in ["", "g", "é", "x0199f3a05c1e7b3a9d2e6a1f0c4b8e21", "g0199"] {
            assert_eq!(text.parse::<Topic>(), Err(NotATopic), "{text}");
        }
    }
}
