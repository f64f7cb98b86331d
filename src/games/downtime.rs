//! Time that the service was down is not charged to anybody.
//!
//! As long as a process lives, it shows so in one row of the database. Whoever comes next and finds that the last
//! sign is too old gives every game whose clock runs the time back that passed without a sign, as an entry of the
//! game's log, and only then is anybody's flag looked at. The row is held for that, so it happens once, however many
//! processes start at the same instant.

use chrono::TimeDelta;
use sqlx::{PgConnection, PgPool};

use crate::wall_clock::Timestamp;

/// How often a sign is shown.
const SHOWN_EVERY: TimeDelta = TimeDelta::seconds(1);

/// When nobody has shown a sign for longer than this, the service was down.
pub const DOWN_AFTER: TimeDelta = TimeDelta::seconds(5);

/// Shows that the service is alive; if it was down, gives the time back first. Answers to how many games.
///
/// To be called before a server takes requests, before anybody's flag is looked at, and every second. Where time was
/// given back, [`stay_alive`] comes next: with very many games that takes seconds, which is no break of its own.
///
/// # Errors
///
/// When the database fails; nothing is given back then.
pub async fn show_sign_of_life(db: &PgPool, now: Timestamp) -> Result<u64, sqlx::Error> {
    let last = sqlx::query_scalar!("select at from sign_of_life").fetch_one(db).await?;
    match last.map(|last| now - last) {
        Some(silence) if silence < SHOWN_EVERY => Ok(0),
        Some(silence) if silence <= DOWN_AFTER => {
            sqlx::query!(
                "update sign_of_life set at = greatest(at, $1) where at >= $2",
                now,
                now - DOWN_AFTER
            )
            .execute(db)
            .await?;
            Ok(0)
        }
        _ => come_back(db, now).await,
    }
}

/// Shows that the service is alive and was so while it gave time back, however long that took.
///
/// # Errors
///
/// When the database fails.
pub async fn stay_alive(db: &PgPool, now: Timestamp) -> Result<(), sqlx::Error> {
    sqlx::query!("update sign_of_life set at = greatest(at, $1)", now).execute(db).await?;
    Ok(())
}

/// Begins anew after the service was down, unless somebody else has done so meanwhile.
async fn come_back(db: &PgPool, now: Timestamp) -> Result<u64, sqlx::Error> {
    let mut tx = db.begin().await?;
    let last = sqlx::query_scalar!("select at from sign_of_life for update").fetch_one(&mut *tx).await?;
    if last.is_some_and(|last| now - last <= DOWN_AFTER) {
        return Ok(0);
    }
    let games = give_back(&mut tx, last, now).await?;
    sqlx::query!("update sign_of_life set at = $1, up_since = $1", now).execute(&mut *tx).await?;
    tx.commit().await?;
    if games > 0 {
        tracing::info!(games, last_sign = ?last, "the time that the service was down is given back");
    }
    Ok(games)
}

/// Gives every running clock back what passed of its turn since the last sign of life. Without one, no clock was
/// ever enforced, and every turn begins anew.
async fn give_back(
    tx: &mut PgConnection,
    last: Option<Timestamp>,
    now: Timestamp,
) -> Result<u64, sqlx::Error> {
    // Held first, and read after: what the log has then is what stands. A move holds nothing, and may still take
    // the number: then the turn is over that the time was for, and a new one has begun just now.
    sqlx::query!(
        r#"
        with held as (
            select
            from game
            where status = 'ongoing' and clock ->> 'kind' <> 'none'
            order by game_id
            for update
        )
        select count(*) as "held!" from held
        "#
    )
    .fetch_one(&mut *tx)
    .await?;
    let given = sqlx::query!(
        "
        with turn as (
            select
                game_id,
                max(number) as number,
                count(*) filter (where kind = 'move') as plies,
                -- Without a last sign of life the greatest is when the turn began.
                greatest($1, max(at) filter (where kind in ('started', 'move'))) as silent_since
            from game
            join game_event using (game_id)
            where game.status = 'ongoing' and game.clock ->> 'kind' <> 'none'
            group by game_id
        ),
        given as (
            insert into game_event (game_id, number, kind, at, role, data)
            select
                game_id, number + 1, 'time_given', $2,
                case plies % 2 when 0 then 'hounds'::game_role else 'hare' end,
                jsonb_build_object('ms', round(extract(epoch from $2 - silent_since) * 1000)::bigint)
            from turn
            where silent_since < $2
            on conflict do nothing
            returning game_id, data
        )
        update game
        set look_at = look_at + (given.data ->> 'ms')::bigint * interval '1 millisecond'
        from given
        where game.game_id = given.game_id
        ",
        last,
        now,
    )
    .execute(&mut *tx)
    .await?;
    Ok(given.rows_affected())
}
