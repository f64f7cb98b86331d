//! SQL of the games. None of these functions begins or commits; [`append_move`] is one statement and needs neither.

use chrono::{DateTime, Utc};
use serde_json::{Map, Value};
use sqlx::{PgConnection, PgExecutor, types::Json};
use uuid::Uuid;

use super::{
    Absence, ClockSetting, Ending, Game, GameClock, LogEntry, NewGame, OnDrop,
    analysis::{Accuracy, PlayerAccuracy},
    clock::Tick,
    fair_play::Record,
    game::Seat,
    house_rules,
};
use crate::{
    ids::{GameId, PlayerId},
    ratings::RatingChange,
    rules::{ByRole, Play, Position, Role, Variant},
    solver::computer::Level,
    wall_clock::Timestamp,
};

struct GameRow {
    game_id: GameId,
    variant: String,
    rules: Json<Map<String, Value>>,
    clock: Json<ClockSetting>,
    pool_id: Option<String>,
    rated: bool,
    hounds_id: PlayerId,
    hare_id: PlayerId,
    hounds_username: Option<String>,
    hare_username: Option<String>,
    hounds_rating: Option<f64>,
    hare_rating: Option<f64>,
    hounds_provisional: bool,
    hare_provisional: bool,
    hounds_computer: Option<i16>,
    hare_computer: Option<i16>,
    hounds_away: bool,
    hare_away: bool,
    hounds_last_offer: Option<i32>,
    hare_last_offer: Option<i32>,
    start: String,
    hounds_seen: DateTime<Utc>,
    hare_seen: DateTime<Utc>,
    on_drop: String,
    drop_after_ms: i32,
    swap_roles: bool,
    rematch_of: Option<GameId>,
    rematch: Option<GameId>,
    created_at: DateTime<Utc>,
    last_event: i32,
    last_at: DateTime<Utc>,
    draw_offer: Option<String>,
    hounds_rematch: bool,
    hare_rematch: bool,
    result: Option<String>,
    reason: Option<String>,
    ended_at: Option<DateTime<Utc>>,
    moves: Vec<String>,
    ticked_at: Vec<DateTime<Utc>>,
    given_ms: Vec<Option<i64>>,
    changes: Option<Json<Vec<ChangeRow>>>,
}

#[derive(serde::Deserialize)]
struct ChangeRow {
    role: String,
    before: f64,
    after: f64,
    rd_before: f64,
    rd_after: f64,
    expected_score: f64,
    advantage: f64,
}

/// A row that makes no sense is our mistake: it names the table, the id and what is wrong.
fn inconsistent(id: GameId, what: impl std::fmt::Display) -> sqlx::Error {
    sqlx::Error::Decode(format!("game {id} makes no sense: {what}").into())
}

impl TryFrom<GameRow> for Game {
    type Error = sqlx::Error;

    fn try_from(row: GameRow) -> Result<Game, sqlx::Error> {
        let id = row.game_id;
        let variant: Variant = row.variant.parse().map_err(|err| inconsistent(id, err))?;
        let rules = house_rules::from_json(variant, &row.rules).map_err(|err| inconsistent(id, err))?;
        let start = Position::parse(rules, &row.start).map_err(|err| inconsistent(id, err))?;
        let play = Play::replay(rules, start, row.moves.iter().map(String::as_str))
            .map_err(|err| inconsistent(id, err))?;
        let on_drop = if row.rated {
            OnDrop::of_rated(row.clock.0)
        } else {
            OnDrop::from_word(&row.on_drop).ok_or_else(|| inconsistent(id, "nothing is done on a drop"))?
        };
        let draw_offer = row.draw_offer.map(|role| role.parse::<Role>()).transpose();
        let ended = match (row.reason, row.ended_at) {
            (Some(reason), Some(at)) => {
                let ending = Ending::from_words(row.result.as_deref(), &reason);
                Some((ending.ok_or_else(|| inconsistent(id, "no ending has this result and reason"))?, at))
            }
            _ => None,
        };
        let level = |number: Option<i16>| number.map(|number| Level::try_from(i64::from(number))).transpose();
        let by_rules = play.outcome().map(Ending::ByRules);
        if by_rules.is_some() && by_rules != ended.map(|(ending, _)| ending) {
            return Err(inconsistent(id, "it ended otherwise than its moves say"));
        }
        let ticks = row.ticked_at.iter().zip(&row.given_ms).map(|(at, given)| tick(*at, *given));
        let mut clock = GameClock::replay(row.clock.0, row.created_at, ticks);
        if let Some((_, at)) = ended {
            clock.stop(at);
        }
        Ok(Game {
            id,
            play,
            moves: row.moves,
            clock,
            pool: row.pool_id,
            rated: row.rated,
            seats: ByRole {
                hounds: Seat {
                    player: row.hounds_id,
                    username: row.hounds_username,
                    rating: row.hounds_rating,
                    provisional: row.hounds_provisional,
                    computer: level(row.hounds_computer).map_err(|err| inconsistent(id, err))?,
                    is_told_away: row.hounds_away,
                    last_offer: row.hounds_last_offer.and_then(|ply| u16::try_from(ply).ok()),
                },
                hare: Seat {
                    player: row.hare_id,
                    username: row.hare_username,
                    rating: row.hare_rating,
                    provisional: row.hare_provisional,
                    computer: level(row.hare_computer).map_err(|err| inconsistent(id, err))?,
                    is_told_away: row.hare_away,
                    last_offer: row.hare_last_offer.and_then(|ply| u16::try_from(ply).ok()),
                },
            },
            seen: ByRole { hounds: row.hounds_seen, hare: row.hare_seen },
            on_drop,
            drop_after: row.drop_after_ms.try_into().map_err(|err| inconsistent(id, err))?,
            swap_roles: row.swap_roles,
            created_at: row.created_at,
            last_at: row.last_at,
            last_event: row.last_event,
            draw_offer: draw_offer.map_err(|err| inconsistent(id, err))?,
            rematch_wanted: ByRole { hounds: row.hounds_rematch, hare: row.hare_rematch },
            rematch: row.rematch,
            rematch_of: row.rematch_of,
            ended,
            rating_changes: row.changes.and_then(|changes| changes_by_role(&changes.0)),
        })
    }
}

/// What an entry of the log is to the clock: given time, or else a move.
fn tick(at: Timestamp, given_ms: Option<i64>) -> Tick {
    given_ms.map_or(Tick::Moved(at), Tick::Given)
}

fn changes_by_role(rows: &[ChangeRow]) -> Option<ByRole<RatingChange>> {
    let of = |role: Role| {
        let row = rows.iter().find(|row| row.role == role.to_string())?;
        Some(RatingChange {
            before: row.before,
            after: row.after,
            rd_before: row.rd_before,
            rd_after: row.rd_after,
            expected_score: row.expected_score,
            role_offset: row.advantage,
        })
    };
    Some(ByRole { hounds: of(Role::Hounds)?, hare: of(Role::Hare)? })
}

/// Loads games with all that is known of them, in the order of `ids`.
pub async fn find_all(db: impl PgExecutor<'_>, ids: &[Uuid]) -> Result<Vec<Game>, sqlx::Error> {
    let rows = sqlx::query_as!(
        GameRow,
        r#"
        select
            game.game_id as "game_id: GameId", variant, rules as "rules: Json<Map<String, Value>>",
            clock as "clock: Json<ClockSetting>", pool_id, rated,
            hounds_id as "hounds_id: PlayerId", hare_id as "hare_id: PlayerId",
            hounds.username as hounds_username, hare.username as hare_username,
            hounds_rating, hare_rating, hounds_provisional, hare_provisional, hounds_computer, hare_computer,
            hounds_away, hare_away, log.hounds_last_offer, log.hare_last_offer,
            start, on_drop, drop_after_ms, swap_roles, rematch_of as "rematch_of: GameId", game.created_at, hounds_rematch, hare_rematch,
            result, reason, ended_at,
            greatest(game.created_at, up_since, hounds_presence.seen_at, case when hounds_computer is null then log.hounds_acted_at end)
                as "hounds_seen!",
            greatest(game.created_at, up_since, hare_presence.seen_at, case when hare_computer is null then log.hare_acted_at end)
                as "hare_seen!",
            (select rematch.game_id from game rematch where rematch.rematch_of = game.game_id) as "rematch: GameId",
            log.last_event as "last_event!", log.last_at as "last_at!", log.draw_offer,
            coalesce(log.moves, '{}') as "moves!: Vec<String>",
            coalesce(log.ticked_at, '{}') as "ticked_at!: Vec<DateTime<Utc>>",
            coalesce(log.given_ms, '{}') as "given_ms!: Vec<Option<i64>>",
            case when rated and status = 'finished' then (
                select jsonb_agg(jsonb_build_object(
                    'role', role, 'before', rating_before, 'after', rating_after, 'rd_before', rd_before,
                    'rd_after', rd_after, 'expected_score', expected_score, 'advantage', advantage
                ))
                from rating_event
                where rating_event.game_id = game.game_id
            ) end as "changes: Json<Vec<ChangeRow>>"
        from unnest($1::uuid[]) with ordinality as wanted (game_id, place)
        join game on game.game_id = wanted.game_id
        join player hounds on hounds.player_id = hounds_id
        join player hare on hare.player_id = hare_id
        left join presence hounds_presence on hounds_presence.player_id = hounds_id
        left join presence hare_presence on hare_presence.player_id = hare_id
        cross join sign_of_life
        cross join lateral (
            select
                max(number) as last_event,
                max(at) as last_at,
                max(at) filter (where role = 'hounds' and is_act) as hounds_acted_at,
                max(at) filter (where role = 'hare' and is_act) as hare_acted_at,
                max((data ->> 'ply')::integer) filter (where kind = 'draw_offered' and role = 'hounds')
                    as hounds_last_offer,
                max((data ->> 'ply')::integer) filter (where kind = 'draw_offered' and role = 'hare')
                    as hare_last_offer,
                array_agg(move order by number) filter (where kind = 'move') as moves,
                array_agg(at order by number) filter (where kind in ('move', 'time_given')) as ticked_at,
                array_agg((data ->> 'ms')::bigint order by number) filter (where kind in ('move', 'time_given'))
                    as given_ms,
                -- A draw offer stands until something else that clears it.
                (array_agg(case when kind = 'draw_offered' then role::text end order by number desc)
                    filter (where kind in ('move', 'draw_offered', 'draw_withdrawn', 'draw_declined', 'ended'))
                )[1] as draw_offer
            from (
                select number, kind, at, role, move, data,
                    -- What a side does by itself, and so a sign of life.
                    kind not in ('time_given', 'presence')
                        and (kind <> 'seat' or data ->> 'controller' = 'player') as is_act
                from game_event
                where game_event.game_id = game.game_id
            ) entry
        ) log
        order by place
        "#,
        ids,
    )
    .fetch_all(db)
    .await?;
    rows.into_iter().map(Game::try_from).collect()
}

/// Loads a game.
pub async fn find(db: impl PgExecutor<'_>, id: GameId) -> Result<Option<Game>, sqlx::Error> {
    Ok(find_all(db, &[id.0]).await?.pop())
}

/// Holds a game's row until the transaction ends. Whoever needs the row and a number of the log takes the row first:
/// the other way round, two could wait for each other.
pub async fn hold(tx: &mut PgConnection, id: GameId) -> Result<(), sqlx::Error> {
    sqlx::query!("select from game where game_id = $1 for update", id.0).execute(tx).await?;
    Ok(())
}

/// Loads a game and holds its row until the transaction ends. The row is held first and read after, so that what is
/// read is what the one who held it before has left.
pub async fn lock(tx: &mut PgConnection, id: GameId) -> Result<Option<Game>, sqlx::Error> {
    hold(tx, id).await?;
    find(tx, id).await
}

/// Appends the last move of a game to its log, unless something else took its number, and tells the opponent that it
/// is their turn, unless the game is over: one statement, which decides between all who try at once. Answers whether
/// it did.
pub async fn append_move(db: impl PgExecutor<'_>, game: &Game) -> Result<bool, sqlx::Error> {
    let next = game.play.turn();
    sqlx::query_scalar!(
        r#"
        with played as (
            insert into game_event (game_id, number, kind, at, role, ply, move)
            values ($1, $2, 'move', $3, $4::text::game_role, $5, $6)
            on conflict do nothing
            returning game_id, at, ply
        ),
        counted as (
            insert into player_log as log (player_id, last_number)
            select $7, 1 from played where $7::uuid is not null
            on conflict on constraint player_log_pkey do update set last_number = log.last_number + 1
            returning player_id, last_number
        ),
        told as (
            insert into player_event (player_id, number, kind, at, data)
            select player_id, last_number, 'your_turn', at, jsonb_build_object('game', game_id, 'ply', ply)
            from played, counted
        )
        select exists (select from played) as "played!"
        "#,
        game.id.0,
        game.last_event,
        game.last_at,
        next.other().to_string(),
        i16::try_from(game.ply()).unwrap_or(i16::MAX),
        game.moves.last().map_or("", String::as_str),
        game.told_of_turn().map(|player| player.0),
    )
    .fetch_one(db)
    .await
}

/// Something that happened in a game, other than a move.
#[derive(Clone, Copy, Debug)]
pub struct Happening<'a> {
    /// One of the kinds that the table knows.
    pub kind: &'a str,
    /// Whose doing it was.
    pub role: Option<Role>,
}

/// Appends to the log of a game that is held. The number comes from the game, which counts it; a move may take it
/// first, since moves hold nothing, and then the database refuses by the constraint `game_event_pkey`.
pub async fn append_event(
    tx: &mut PgConnection,
    game: &mut Game,
    happening: Happening<'_>,
    data: Option<&Value>,
    now: Timestamp,
) -> Result<(), sqlx::Error> {
    game.last_event += 1;
    sqlx::query!(
        r#"
        insert into game_event (game_id, number, kind, at, role, data)
        values ($1, $2, $3::text::game_event_kind, $4, $5::text::game_role, $6)
        "#,
        game.id.0,
        game.last_event,
        happening.kind,
        now,
        happening.role.map(|role| role.to_string()),
        data,
    )
    .execute(tx)
    .await?;
    Ok(())
}

/// Writes what a held game is now: everything that can change after it was made.
pub async fn update(tx: &mut PgConnection, game: &Game) -> Result<(), sqlx::Error> {
    let status = match game.ended {
        None => "ongoing",
        Some((Ending::Aborted, _)) => "aborted",
        Some(_) => "finished",
    };
    sqlx::query!(
        r#"
        update game
        set hounds_rematch = $2, hare_rematch = $3, status = $4, result = $5, reason = $6, ended_at = $7,
            hounds_computer = $8, hare_computer = $9, hounds_away = $10, hare_away = $11
        where game_id = $1
        "#,
        game.id.0,
        game.rematch_wanted.hounds,
        game.rematch_wanted.hare,
        status,
        game.ended.and_then(|(ending, _)| ending.result()).map(|result| result.to_string()),
        game.ended.map(|(ending, _)| ending.reason()),
        game.ended.map(|(_, at)| at),
        game.seats.hounds.computer.map(|level| i16::from(level.number())),
        game.seats.hare.computer.map(|level| i16::from(level.number())),
        game.seats.hounds.is_told_away,
        game.seats.hare.is_told_away,
    )
    .execute(tx)
    .await?;
    Ok(())
}

/// Writes a new game and the first event of its log.
pub async fn insert(
    tx: &mut PgConnection,
    new: &NewGame,
    start: Position,
    ratings: &ByRole<Option<(f64, bool)>>,
    now: Timestamp,
) -> Result<(), sqlx::Error> {
    sqlx::query!(
        r#"
        with made as (
            insert into game (
                game_id, variant, rules, clock, pool_id, rated, hounds_id, hare_id, hounds_rating,
                hounds_provisional, hare_rating, hare_provisional, start, seed, swap_roles, rematch_of, created_at,
                hounds_computer, hare_computer, look_at, on_drop, drop_after_ms
            )
            values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, $18, $19, $20, $21, $22)
            returning game_id, created_at
        )
        insert into game_event (game_id, number, kind, at)
        select game_id, 1, 'started', created_at from made
        "#,
        new.id.0,
        new.rules.variant().to_string(),
        Json(house_rules::to_json(&new.rules)) as _,
        Json(new.clock) as _,
        new.pool,
        new.rated,
        new.players.hounds.0,
        new.players.hare.0,
        ratings.hounds.map(|(rating, _)| rating),
        ratings.hounds.is_none_or(|(_, provisional)| provisional),
        ratings.hare.map(|(rating, _)| rating),
        ratings.hare.is_none_or(|(_, provisional)| provisional),
        start.to_string(),
        new.seed,
        new.swap_roles,
        new.rematch_of.map(|id| id.0),
        now,
        new.computer.hounds.map(|level| i16::from(level.number())),
        new.computer.hare.map(|level| i16::from(level.number())),
        GameClock::start(new.clock, now).next_look(now),
        new.on_drop.to_string(),
        new.drop_after.ms(),
    )
    .execute(tx)
    .await?;
    Ok(())
}

/// Seats a player in a live rated real-time game; the database refuses a second one.
pub async fn take_live_seat(
    tx: &mut PgConnection,
    player: PlayerId,
    game: GameId,
) -> Result<(), sqlx::Error> {
    sqlx::query!("insert into live_seat (player_id, game_id) values ($1, $2)", player.0, game.0)
        .execute(tx)
        .await?;
    Ok(())
}

/// Frees the seats of a game that has ended.
pub async fn leave_live_seats(tx: &mut PgConnection, game: GameId) -> Result<(), sqlx::Error> {
    sqlx::query!("delete from live_seat where game_id = $1", game.0).execute(tx).await?;
    Ok(())
}

/// The live rated real-time game that a player is in.
pub async fn live_game_of(conn: &mut PgConnection, player: PlayerId) -> Result<Option<GameId>, sqlx::Error> {
    sqlx::query_scalar!(
        r#"select game_id as "game_id: GameId" from live_seat where player_id = $1"#,
        player.0
    )
    .fetch_optional(conn)
    .await
}

/// Lets only one request of a player for a game against the computer go on at a time, until the transaction ends.
pub async fn one_request_at_a_time(tx: &mut PgConnection, player: PlayerId) -> Result<(), sqlx::Error> {
    sqlx::query!(
        "select pg_advisory_xact_lock(hashtextextended('computer game of ' || $1, 0))",
        player.to_string()
    )
    .execute(tx)
    .await?;
    Ok(())
}

/// The game that a request with this key has made, and the hash of that request.
pub async fn requested_before(
    tx: &mut PgConnection,
    player: PlayerId,
    key: &str,
) -> Result<Option<(GameId, Vec<u8>)>, sqlx::Error> {
    let first = sqlx::query!(
        r#"
        select game_id as "game_id: GameId", request_hash
        from game_request
        where player_id = $1 and idempotency_key = $2
        "#,
        player.0,
        key,
    )
    .fetch_optional(tx)
    .await?;
    Ok(first.map(|first| (first.game_id, first.request_hash)))
}

/// Notes which game a request has made.
pub async fn note_request(
    tx: &mut PgConnection,
    player: PlayerId,
    key: &str,
    hash: &[u8],
    game: GameId,
) -> Result<(), sqlx::Error> {
    sqlx::query!(
        "insert into game_request (player_id, idempotency_key, request_hash, game_id) values ($1, $2, $3, $4)",
        player.0,
        key,
        hash,
        game.0,
    )
    .execute(tx)
    .await?;
    Ok(())
}

/// How many games of a player against the computer go on.
pub async fn live_against_computer(tx: &mut PgConnection, player: PlayerId) -> Result<i64, sqlx::Error> {
    sqlx::query_scalar!(
        r#"
        select count(*) as "count!"
        from game
        where status = 'ongoing' and (hounds_computer is not null or hare_computer is not null)
            and $1 in (hounds_id, hare_id)
        "#,
        player.0,
    )
    .fetch_one(tx)
    .await
}

/// Games that go on and in which the computer moves a side's pieces, in the order of their ids, after `last`.
pub async fn live_with_computer(
    db: impl PgExecutor<'_>,
    last: Option<GameId>,
    limit: i64,
) -> Result<Vec<GameId>, sqlx::Error> {
    sqlx::query_scalar!(
        r#"
        select game_id as "game_id: GameId"
        from game
        where status = 'ongoing' and (hounds_computer is not null or hare_computer is not null)
            and ($1::uuid is null or game_id > $1)
        order by game_id
        limit $2
        "#,
        last.map(|id| id.0),
        limit,
    )
    .fetch_all(db)
    .await
}

/// A live rated game, with what happened in it since somebody last looked.
pub struct LiveGame {
    /// Its id.
    pub id: GameId,
    /// Its start, for a game that nobody has looked at.
    pub begun: Option<Play>,
    /// The moves since.
    pub new_moves: Vec<String>,
}

/// All live rated games with the moves that are new to whoever knows so many plies of these.
pub async fn new_moves_of_live_rated(
    db: impl PgExecutor<'_>,
    known: &[(GameId, u16)],
) -> Result<Vec<LiveGame>, sqlx::Error> {
    let ids: Vec<Uuid> = known.iter().map(|(id, _)| id.0).collect();
    let plies: Vec<i16> = known.iter().map(|(_, ply)| i16::try_from(*ply).unwrap_or(i16::MAX)).collect();
    let rows = sqlx::query!(
        r#"
        select
            game.game_id as "game_id!: GameId", variant as "variant!",
            case when known.ply is null then rules end as "rules: Json<Map<String, Value>>",
            case when known.ply is null then start end as start,
            array(
                select move
                from game_event
                where game_event.game_id = game.game_id and kind = 'move' and game_event.ply > coalesce(known.ply, 0)
                order by game_event.ply
            ) as "moves!: Vec<String>"
        from game
        left join unnest($1::uuid[], $2::smallint[]) as known (game_id, ply) on known.game_id = game.game_id
        where status = 'ongoing' and rated
        "#,
        &ids,
        &plies,
    )
    .fetch_all(db)
    .await?;
    rows.into_iter()
        .map(|row| {
            let id = row.game_id;
            let begun = match (row.rules, row.start) {
                (Some(rules), Some(start)) => Some(begun(id, &row.variant, &rules, &start)?),
                _ => None,
            };
            Ok(LiveGame { id, begun, new_moves: row.moves })
        })
        .collect()
}

/// A game as it was before its first move.
fn begun(id: GameId, variant: &str, rules: &Map<String, Value>, start: &str) -> Result<Play, sqlx::Error> {
    let variant: Variant = variant.parse().map_err(|err| inconsistent(id, err))?;
    let rules = house_rules::from_json(variant, rules).map_err(|err| inconsistent(id, err))?;
    let start = Position::parse(rules, start).map_err(|err| inconsistent(id, err))?;
    Play::begin(rules, start).map_err(|err| inconsistent(id, err))
}

/// The games that a player is in and that go on.
pub async fn ongoing_of(db: impl PgExecutor<'_>, player: PlayerId) -> Result<Vec<GameId>, sqlx::Error> {
    sqlx::query_scalar!(
        r#"
        select game_id as "game_id: GameId"
        from game
        where (hounds_id = $1 or hare_id = $1) and status = 'ongoing'
        order by game_id
        "#,
        player.0,
    )
    .fetch_all(db)
    .await
}

/// Counts a rated game that begins towards what its players are owed.
pub async fn count_role(
    tx: &mut PgConnection,
    player: PlayerId,
    pool: &str,
    role: Role,
) -> Result<(), sqlx::Error> {
    sqlx::query!(
        r#"
        insert into role_balance as balance (player_id, pool_id, debt, last_role)
        values ($1, $2, $3, $4)
        on conflict on constraint role_balance_pkey
            do update set debt = balance.debt + excluded.debt, last_role = excluded.last_role
        "#,
        player.0,
        pool,
        weight(role),
        role.to_string(),
    )
    .execute(tx)
    .await?;
    Ok(())
}

/// Gives back what a game that was aborted had counted: the balance is as if it had not been.
pub async fn uncount_role(
    tx: &mut PgConnection,
    player: PlayerId,
    pool: &str,
    role: Role,
    aborted: GameId,
) -> Result<(), sqlx::Error> {
    // Held first, and looked at after: a game that begins meanwhile is then seen.
    sqlx::query!(
        "select from role_balance where player_id = $1 and pool_id = $2 for update",
        player.0,
        pool,
    )
    .execute(&mut *tx)
    .await?;
    sqlx::query!(
        r#"
        update role_balance
        set debt = debt - $3, last_role = (
            select case when hounds_id = $1 then 'hounds' else 'hare' end
            from game
            where (hounds_id = $1 or hare_id = $1) and pool_id = $2 and rated and status <> 'aborted'
                and game_id <> $4
            order by game_id desc
            limit 1
        )
        where player_id = $1 and pool_id = $2
        "#,
        player.0,
        pool,
        weight(role),
        aborted.0,
    )
    .execute(tx)
    .await?;
    Ok(())
}

fn weight(role: Role) -> i32 {
    match role {
        Role::Hounds => 1,
        Role::Hare => -1,
    }
}

/// Notes because of whom a rated game was aborted: they did it, or did not begin to play in time.
pub async fn insert_abort(
    tx: &mut PgConnection,
    game: GameId,
    player: PlayerId,
    pool: &str,
    no_show: bool,
    now: Timestamp,
) -> Result<(), sqlx::Error> {
    sqlx::query!(
        "insert into abort (game_id, player_id, pool_id, no_show, aborted_at) values ($1, $2, $3, $4, $5)",
        game.0,
        player.0,
        pool,
        no_show,
        now,
    )
    .execute(tx)
    .await?;
    Ok(())
}

/// Holds some of the games that are to be looked at by now and that nobody else holds, those first that were due
/// first.
pub async fn hold_due(tx: &mut PgConnection, now: Timestamp, most: i64) -> Result<Vec<Uuid>, sqlx::Error> {
    sqlx::query_scalar!(
        "
        select game_id
        from game
        where status = 'ongoing' and look_at <= $1
        order by look_at
        limit $2
        for update skip locked
        ",
        now,
        most,
    )
    .fetch_all(tx)
    .await
}

/// Writes down when to look at held games again.
pub async fn look_again(
    tx: &mut PgConnection,
    games: &[Uuid],
    looks: &[Option<Timestamp>],
) -> Result<(), sqlx::Error> {
    sqlx::query!(
        "
        update game
        set look_at = next.look_at
        from unnest($1::uuid[], $2::timestamptz[]) next (game_id, look_at)
        where game.game_id = next.game_id
        ",
        games,
        looks as _,
    )
    .execute(tx)
    .await?;
    Ok(())
}

/// What happened in a game after a number of its log, and before that whatever concerns its clock.
pub async fn entries(db: impl PgExecutor<'_>, id: GameId, after: i32) -> Result<Vec<LogEntry>, sqlx::Error> {
    let rows = sqlx::query!(
        r#"
        select number, kind::text as "kind!", at, role::text as role, ply, move, data
        from game_event
        where game_id = $1 and (number > $2 or kind in ('move', 'time_given'))
        order by number
        "#,
        id.0,
        after,
    )
    .fetch_all(db)
    .await?;
    rows.into_iter()
        .map(|row| {
            let role = row.role.map(|role| role.parse::<Role>()).transpose();
            Ok(LogEntry {
                number: row.number,
                kind: row.kind,
                at: row.at,
                role: role.map_err(|err| inconsistent(id, err))?,
                ply: row.ply.and_then(|ply| u16::try_from(ply).ok()),
                text: row.r#move,
                data: row.data,
                clock: None,
            })
        })
        .collect()
}

/// Ongoing games with both players expected to stay, in which somebody has come or gone since the log last said so, as
/// far as their calls tell; `seen_after` is since when whoever is there has called.
pub async fn with_changed_presence(
    db: impl PgExecutor<'_>,
    seen_after: Timestamp,
    most: i64,
) -> Result<Vec<GameId>, sqlx::Error> {
    sqlx::query_scalar!(
        r#"
        select game_id as "game_id: GameId"
        from game
        cross join sign_of_life
        left join presence hounds on hounds.player_id = hounds_id
        left join presence hare on hare.player_id = hare_id
        where status = 'ongoing' and clock ->> 'kind' in ('per_turn', 'fischer')
            and (
                (hounds_id <> $2 and hounds_away <> (greatest(game.created_at, up_since, hounds.seen_at) < $1))
                or (hare_id <> $2 and hare_away <> (greatest(game.created_at, up_since, hare.seen_at) < $1))
            )
        order by game_id
        limit $3
        "#,
        seen_after,
        PlayerId::COMPUTER.0,
        most,
    )
    .fetch_all(db)
    .await
}

/// The sides of games that the computer is to play on in, and that showed their last sign of life at `by` or before.
pub async fn gone_from_computer_games(
    db: impl PgExecutor<'_>,
    now: Timestamp,
    most: i64,
) -> Result<Vec<Absence>, sqlx::Error> {
    let rows = sqlx::query!(
        r#"
        select game_id as "game_id: GameId", side.role as "role!", side.player_id as "player_id!: PlayerId",
            last.seen_at as "seen_at!"
        from game
        cross join sign_of_life
        cross join lateral (values ('hounds', hounds_id), ('hare', hare_id)) side (role, player_id)
        left join presence on presence.player_id = side.player_id
        cross join lateral (
            select greatest(game.created_at, up_since, presence.seen_at, max(at)) as seen_at
            from game_event
            where game_event.game_id = game.game_id and game_event.role::text = side.role
                and kind not in ('time_given', 'presence')
                and (kind <> 'seat' or data ->> 'controller' = 'player')
        ) last
        where status = 'ongoing' and on_drop = 'computer' and not rated
            and last.seen_at <= $1::timestamptz - drop_after_ms * interval '1 millisecond'
            and hounds_computer is null and hare_computer is null
        order by last.seen_at
        limit $2
        "#,
        now,
        most,
    )
    .fetch_all(db)
    .await?;
    rows.into_iter()
        .map(|row| {
            let role = row.role.parse().map_err(|err| inconsistent(row.game_id, err))?;
            Ok(Absence { game: row.game_id, role, player: row.player_id, since: row.seen_at })
        })
        .collect()
}

/// One move with when it was played.
pub struct MoveRow {
    /// Its ply, from 1.
    pub ply: i16,
    /// Its text.
    pub text: String,
    /// When it was played.
    pub at: Timestamp,
    /// What the mover had left after it; none without a clock.
    pub remaining_ms: Option<i64>,
}

/// The moves of a game.
pub async fn moves(db: impl PgExecutor<'_>, game: &Game) -> Result<Vec<MoveRow>, sqlx::Error> {
    let rows = sqlx::query!(
        r#"
        select ply, move as text, at, (data ->> 'ms')::bigint as given_ms
        from game_event
        where game_id = $1 and kind in ('move', 'time_given')
        order by number
        "#,
        game.id.0,
    )
    .fetch_all(db)
    .await?;
    let mut clock = GameClock::start(game.clock.setting(), game.created_at);
    let mut moves = Vec::with_capacity(rows.len());
    for row in rows {
        let tick = tick(row.at, row.given_ms);
        let remaining_ms = clock.tick(tick);
        if let (Some(ply), Some(text)) = (row.ply, row.text) {
            moves.push(MoveRow { ply, text, at: row.at, remaining_ms });
        }
    }
    Ok(moves)
}

/// Finished games of which it is not known how well they were played, in the order in which they ended, after `last`.
pub async fn not_analysed(
    db: impl PgExecutor<'_>,
    last: Option<(Timestamp, GameId)>,
    limit: i64,
) -> Result<Vec<(Timestamp, GameId)>, sqlx::Error> {
    let (at, id) = last.unwrap_or((Timestamp::UNIX_EPOCH, GameId(Uuid::nil())));
    let rows = sqlx::query!(
        r#"
        select ended_at as "ended_at!", game_id as "game_id: GameId"
        from game
        where status = 'finished' and not analysed and (ended_at, game_id) > ($1, $2)
        order by ended_at, game_id
        limit $3
        "#,
        at,
        id.0,
        limit,
    )
    .fetch_all(db)
    .await?;
    Ok(rows.into_iter().map(|row| (row.ended_at, row.game_id)).collect())
}

/// Writes how well both sides played, once; where the computer moved the pieces at the end, nobody's play is told.
pub async fn insert_accuracies(
    tx: &mut PgConnection,
    game: &Game,
    sides: &ByRole<Accuracy>,
) -> Result<(), sqlx::Error> {
    hold(&mut *tx, game.id).await?;
    for (role, side) in sides.iter() {
        if game.seats[role].computer.is_some() {
            continue;
        }
        sqlx::query!(
            r#"
            insert into accuracy (game_id, role, player_id, accuracy, choices, tests, passed)
            values ($1, $2::text::game_role, $3, $4, $5, $6, $7)
            on conflict on constraint accuracy_pkey do nothing
            "#,
            game.id.0,
            role.to_string(),
            game.seats[role].player.0,
            side.accuracy,
            i32::try_from(side.choices).unwrap_or(i32::MAX),
            i32::try_from(side.tests).unwrap_or(i32::MAX),
            i32::try_from(side.passed).unwrap_or(i32::MAX),
        )
        .execute(&mut *tx)
        .await?;
    }
    sqlx::query!("update game set analysed = true where game_id = $1", game.id.0).execute(tx).await?;
    Ok(())
}

/// How precisely a player played, by variant and role.
pub async fn accuracies_of(
    db: impl PgExecutor<'_>,
    player: PlayerId,
) -> Result<Vec<PlayerAccuracy>, sqlx::Error> {
    let rows = sqlx::query!(
        r#"
        select
            variant, role::text as "role!", count(*) as "games!", sum(choices) as "choices!",
            sum(accuracy * choices) / sum(choices) as "accuracy!"
        from accuracy
        join game on game.game_id = accuracy.game_id
        where player_id = $1 and choices > 0
        group by variant, role
        order by variant, role
        "#,
        player.0,
    )
    .fetch_all(db)
    .await?;
    let broken = |what: &dyn std::fmt::Display| sqlx::Error::Decode(format!("accuracy: {what}").into());
    rows.into_iter()
        .map(|row| {
            Ok(PlayerAccuracy {
                variant: row.variant.parse().map_err(|err| broken(&err))?,
                role: row.role.parse().map_err(|err| broken(&err))?,
                accuracy: row.accuracy,
                games: row.games,
                choices: row.choices,
            })
        })
        .collect()
}

/// Every account's tests in rated games, by variant and role.
pub async fn test_records(db: impl PgExecutor<'_>) -> Result<Vec<Record>, sqlx::Error> {
    let rows = sqlx::query!(
        r#"
        select
            username, is_bot, variant, role::text as "role!", count(*) as "games!", sum(tests) as "tests!",
            sum(passed) as "passed!", avg(accuracy) as "accuracy!",
            sum(tests * case role when 'hounds' then hounds_rating else hare_rating end) / sum(tests) as "rating!"
        from accuracy
        join game on game.game_id = accuracy.game_id
        join player on player.player_id = accuracy.player_id
        where rated and tests > 0
        group by player.player_id, variant, role
        "#,
    )
    .fetch_all(db)
    .await?;
    let broken = |what: &dyn std::fmt::Display| sqlx::Error::Decode(format!("accuracy: {what}").into());
    rows.into_iter()
        .map(|row| {
            Ok(Record {
                username: row.username,
                is_bot: row.is_bot,
                variant: row.variant.parse().map_err(|err| broken(&err))?,
                role: row.role.parse().map_err(|err| broken(&err))?,
                rating: row.rating,
                games: row.games,
                tests: row.tests,
                passed: row.passed,
                accuracy: row.accuracy,
            })
        })
        .collect()
}
