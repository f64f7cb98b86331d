//! What players are told: a numbered log for each, without a gap.
//!
//! [`tell`] writes in the transaction of whatever it tells and must be its last statement: the counters are the last
//! rows that a transaction takes, all at once and in the order of the players, so that no two transactions wait for
//! each other. Knows nothing of what it says: ids and words only.

use chrono::TimeDelta;
use serde_json::{Value, json};
use sqlx::{PgConnection, PgExecutor};

use crate::{
    ids::{ChallengeId, GameId, PlayerId},
    wall_clock::Timestamp,
};

/// How long an event is kept.
const KEPT_FOR: TimeDelta = TimeDelta::days(30);

/// So many old events are swept at once.
const SWEPT_AT_ONCE: i64 = 5000;

/// Something that a player is told.
#[derive(Clone, Debug)]
pub struct Told {
    /// Who is told.
    pub player: PlayerId,
    kind: &'static str,
    data: Value,
}

impl Told {
    /// What became of the player's ticket in a pool.
    pub fn ticket(player: PlayerId, pool: &str, status: &str, game: Option<GameId>) -> Told {
        Told { player, kind: "ticket", data: json!({"pool": pool, "status": status, "game": game}) }
    }

    /// What became of a challenge that is the player's to know of.
    pub fn challenge(player: PlayerId, challenge: ChallengeId, status: &str, game: Option<GameId>) -> Told {
        let data = json!({"challenge": challenge, "status": status, "game": game});
        Told { player, kind: "challenge", data }
    }

    /// The player is in a new game.
    pub fn game_started(player: PlayerId, game: GameId, role: &str) -> Told {
        Told { player, kind: "game_started", data: json!({"game": game, "role": role}) }
    }

    /// It is the player's turn after so many plies.
    pub fn your_turn(player: PlayerId, game: GameId, ply: u16) -> Told {
        Told { player, kind: "your_turn", data: json!({"game": game, "ply": ply}) }
    }

    /// A game of the player's is over.
    pub fn game_ended(
        player: PlayerId,
        game: GameId,
        role: &str,
        result: Option<&str>,
        reason: &str,
    ) -> Told {
        let data = json!({"game": game, "role": role, "result": result, "reason": reason});
        Told { player, kind: "game_ended", data }
    }
}

/// Writes what players are told, in this order for each of them. Nothing but the commit may follow.
///
/// # Errors
///
/// When the database fails.
pub async fn tell(tx: &mut PgConnection, told: &[Told], now: Timestamp) -> Result<(), sqlx::Error> {
    // The computer reads no log, and a counter for all its games would have them wait for each other.
    let told: Vec<&Told> = told.iter().filter(|told| told.player != PlayerId::COMPUTER).collect();
    if told.is_empty() {
        return Ok(());
    }
    let players: Vec<_> = told.iter().map(|told| told.player.0).collect();
    let kinds: Vec<_> = told.iter().map(|told| told.kind.to_owned()).collect();
    let data: Vec<_> = told.iter().map(|told| told.data.clone()).collect();
    sqlx::query!(
        r#"
        with told as (
            select player_id, kind, data, place
            from unnest($1::uuid[], $2::text[], $3::jsonb[]) with ordinality as told (player_id, kind, data, place)
        ),
        counted as (
            insert into player_log as log (player_id, last_number)
            select player_id, count(*) from told group by player_id order by player_id
            on conflict on constraint player_log_pkey
                do update set last_number = log.last_number + excluded.last_number
            returning player_id, last_number
        )
        insert into player_event (player_id, number, kind, at, data)
        select
            player_id,
            last_number + 1 - row_number() over (partition by player_id order by place desc),
            kind::player_event_kind,
            $4,
            data
        from told
        join counted using (player_id)
        "#,
        &players,
        &kinds,
        &data,
        now,
    )
    .execute(tx)
    .await?;
    Ok(())
}

/// An event of a player's log.
#[derive(Clone, Debug)]
pub struct PlayerEvent {
    /// Its number.
    pub number: i32,
    /// One of the kinds that the table knows.
    pub kind: String,
    /// When it happened.
    pub at: Timestamp,
    /// What it says.
    pub data: Value,
}

/// The number of a player's last event; 0 for one who was never told anything.
///
/// # Errors
///
/// When the database fails.
pub async fn last_number(db: impl PgExecutor<'_>, player: PlayerId) -> Result<i32, sqlx::Error> {
    let last = sqlx::query_scalar!("select last_number from player_log where player_id = $1", player.0)
        .fetch_optional(db)
        .await?;
    Ok(last.unwrap_or(0))
}

/// What a player was told after this number, as far as it was not swept away.
///
/// # Errors
///
/// When the database fails.
pub async fn since(
    db: impl PgExecutor<'_>,
    player: PlayerId,
    after: i32,
) -> Result<Vec<PlayerEvent>, sqlx::Error> {
    sqlx::query_as!(
        PlayerEvent,
        r#"
        select number, kind::text as "kind!", at, data
        from player_event
        where player_id = $1 and number > $2
        order by number
        "#,
        player.0,
        after,
    )
    .fetch_all(db)
    .await
}

/// Throws away what nobody will ask for any more, a bounded number of events. Answers how many.
///
/// # Errors
///
/// When the database fails.
pub async fn sweep(db: impl PgExecutor<'_>, now: Timestamp) -> Result<u64, sqlx::Error> {
    let swept = sqlx::query!(
        "
        delete from player_event
        where (player_id, number) in (
            select player_id, number from player_event where at < $1 limit $2 for update skip locked
        )
        ",
        now - KEPT_FOR,
        SWEPT_AT_ONCE,
    )
    .execute(db)
    .await?;
    Ok(swept.rows_affected())
}
