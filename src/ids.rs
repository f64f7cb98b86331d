//! Typed ids: UUIDs of version 7, made from a time and random bits that the caller passes in.
//!
//! They sort by the time they were made, which the cursors of the lists rely on.

use std::{fmt, str::FromStr};

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;
use uuid::Uuid;

use crate::wall_clock::Timestamp;

macro_rules! id {
    ($(#[$doc:meta])* $name:ident) => {
        $(#[$doc])*
        #[derive(
            Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize, ToSchema, sqlx::Type,
        )]
        #[serde(transparent)]
        #[sqlx(transparent)]
        #[schema(value_type = String, format = "uuid", example = "0199f3a0-5c1e-7b3a-9d2e-6a1f0c4b8e21")]
        pub struct $name(pub Uuid);

        impl $name {
            /// Makes the id of a thing that comes into being at `now`.
            pub fn new(now: Timestamp, random: u128) -> Self {
                $name(uuid_v7(now, random))
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                self.0.fmt(f)
            }
        }

        impl FromStr for $name {
            type Err = uuid::Error;

            fn from_str(text: &str) -> Result<Self, uuid::Error> {
                text.parse().map($name)
            }
        }
    };
}

id! {
    /// A player's id: what the service knows them by, whatever they call themselves.
    PlayerId
}

impl PlayerId {
    /// The computer, which has a row among the players like everybody.
    pub const COMPUTER: PlayerId = PlayerId(Uuid::from_u128(0x0000_0000_0000_7000_8000_0000_0000_0001));
}
id! {
    /// A session's id: one log-in on one device.
    SessionId
}
id! {
    /// A game's id.
    GameId
}
id! {
    /// A challenge's id.
    ChallengeId
}
id! {
    /// A ticket's id: one wait in one pool.
    TicketId
}

fn uuid_v7(now: Timestamp, random: u128) -> Uuid {
    let millis = u64::try_from(now.timestamp_millis()).unwrap_or(0);
    let bits = random.to_be_bytes();
    let mut tail = [0; 10];
    tail.copy_from_slice(&bits[6..]);
    uuid::Builder::from_unix_timestamp_millis(millis, &tail).into_uuid()
}
