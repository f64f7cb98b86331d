//! Challenges: a player proposes a game, to a named player or to anyone.
//!
//! A challenge is open until one thing happens to it: it is accepted, declined or withdrawn, or it expires. A direct
//! one is known to its two players only.

use std::fmt;

use chrono::TimeDelta;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use sqlx::{Connection, PgConnection, PgPool, types::Json};
use utoipa::ToSchema;

use super::{
    is_guest, nonsense, pairing,
    pairing::Candidate,
    pools::{self, Pool},
    tickets,
};
use crate::{
    events::{
        Events, Topic,
        player_log::{self, Told},
    },
    games::{self, ClockSetting, CreateError, Grace, NewGame, OnDrop, house_rules},
    ids::{ChallengeId, GameId, PlayerId},
    rules::{ByRole, Role, RuleError, Rules},
    wall_clock::Timestamp,
};

/// So many challenges of one player may be open at once.
pub const OPEN_LIMIT: i64 = 20;

/// The role that the challenger wants.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum RoleWish {
    /// The pack.
    Hounds,
    /// The hare.
    Hare,
    /// A coin decides; in a rated game, who is owed which role.
    #[default]
    Random,
}

impl RoleWish {
    /// The role, if one was chosen.
    pub fn chosen(self) -> Option<Role> {
        match self {
            RoleWish::Hounds => Some(Role::Hounds),
            RoleWish::Hare => Some(Role::Hare),
            RoleWish::Random => None,
        }
    }
}

impl fmt::Display for RoleWish {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            RoleWish::Hounds => "hounds",
            RoleWish::Hare => "hare",
            RoleWish::Random => "random",
        })
    }
}

/// What became of a challenge.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ChallengeStatus {
    /// It can be accepted.
    Open,
    /// It was accepted, and this is the game.
    Accepted(GameId),
    /// The player it was sent to does not want it.
    Declined,
    /// Its challenger took it back.
    Withdrawn,
    /// Nobody took it in time.
    Expired,
}

impl fmt::Display for ChallengeStatus {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            ChallengeStatus::Open => "open",
            ChallengeStatus::Accepted(_) => "accepted",
            ChallengeStatus::Declined => "declined",
            ChallengeStatus::Withdrawn => "withdrawn",
            ChallengeStatus::Expired => "expired",
        })
    }
}

/// A challenge.
#[derive(Clone, Debug)]
pub struct Challenge {
    /// Its id.
    pub id: ChallengeId,
    /// How often it was changed, and one more.
    pub version: i32,
    /// Who made it.
    pub challenger: PlayerId,
    /// What the challenger is called; none when the account is closed.
    pub challenger_name: Option<String>,
    /// Whom it was sent to; nobody in particular if none.
    pub opponent: Option<PlayerId>,
    /// What that player is called; none when the account is closed, too.
    pub opponent_name: Option<String>,
    /// The rules.
    pub rules: Rules,
    /// The clock.
    pub clock: ClockSetting,
    /// The pool that it counts for.
    pub pool: Option<String>,
    /// Whether it changes ratings.
    pub rated: bool,
    /// The role that the challenger wants.
    pub role: RoleWish,
    /// What becomes of a side that leaves.
    pub on_drop: OnDrop,
    /// After how long it has left.
    pub drop_after: Grace,
    /// Whether a rematch swaps the roles.
    pub swap_roles: bool,
    /// What became of it.
    pub status: ChallengeStatus,
    /// When it was made.
    pub created_at: Timestamp,
    /// Until when it can be accepted.
    pub expires_at: Timestamp,
}

impl Challenge {
    /// Tells those whom it concerns what became of it: the challenger, whom it was sent to, and who accepted it.
    fn told(&self, accepter: Option<PlayerId>, status: ChallengeStatus) -> Vec<Told> {
        let game = match status {
            ChallengeStatus::Accepted(game) => Some(game),
            _ => None,
        };
        let concerned = [Some(self.challenger), self.opponent.or(accepter)].into_iter().flatten();
        concerned.map(|player| Told::challenge(player, self.id, &status.to_string(), game)).collect()
    }

    /// The same challenge on changed terms.
    fn changed(mut self, changes: &Changes) -> Result<Challenge, ChangeError> {
        let mut rules = house_rules::to_json(&self.rules);
        rules.extend(changes.rules.clone());
        self.rules = house_rules::from_json(self.rules.variant(), &rules)?;
        self.clock = changes.clock.unwrap_or(self.clock);
        self.clock.check().map_err(|(member, allowed)| ChangeError::Clock(member, allowed))?;
        self.role = changes.role.unwrap_or(self.role);
        self.swap_roles = changes.swap_roles.unwrap_or(self.swap_roles);
        self.drop_after = changes.drop_after.unwrap_or(self.drop_after);
        self.on_drop = match changes.on_drop {
            Some(kind) if !kind.fits(self.clock) => return Err(ChangeError::OnDropClock),
            Some(kind) => kind,
            None if self.on_drop.fits(self.clock) => self.on_drop,
            None => OnDrop::of_casual(self.clock),
        };
        Ok(self)
    }

    fn has_terms_of(&self, other: &Challenge) -> bool {
        let terms = |it: &Challenge| (it.rules, it.clock, it.role, it.swap_roles, it.on_drop, it.drop_after);
        terms(self) == terms(other)
    }

    fn may_be_seen_by(&self, player: Option<PlayerId>) -> bool {
        self.opponent.is_none() || player.is_some_and(|me| me == self.challenger || self.opponent == Some(me))
    }
}

/// A challenge that a player wants to make.
#[derive(Clone, Debug)]
pub struct NewChallenge {
    /// To whom; to anyone if none.
    pub opponent: Option<PlayerId>,
    /// The rules.
    pub rules: Rules,
    /// The clock.
    pub clock: ClockSetting,
    /// The role that the challenger wants.
    pub role: RoleWish,
    /// Whether it is to change ratings.
    pub rated: bool,
    /// What becomes of a side that leaves; a rated game is not asked.
    pub on_drop: Option<OnDrop>,
    /// After how long it has left; a rated game is not asked.
    pub drop_after: Option<Grace>,
    /// Whether a rematch swaps the roles.
    pub swap_roles: bool,
}

impl NewChallenge {
    fn check_on_drop(&self) -> Result<(), ChallengeError> {
        match self.on_drop {
            _ if self.rated && self.drop_after.is_some() => Err(ChallengeError::RatedDropAfter),
            Some(_) if self.rated => Err(ChallengeError::RatedOnDrop),
            Some(kind) if !kind.fits(self.clock) => Err(ChallengeError::OnDropClock),
            _ => Ok(()),
        }
    }

    /// What becomes of a side that leaves.
    fn on_drop(&self) -> OnDrop {
        if self.rated {
            OnDrop::of_rated(self.clock)
        } else {
            self.on_drop.unwrap_or_else(|| OnDrop::of_casual(self.clock))
        }
    }
}

/// What makes a request one that was sent before.
#[derive(Clone, Debug)]
pub struct Repeatable {
    /// The key that the caller chose.
    pub key: String,
    /// A hash of what was asked.
    pub request_hash: Vec<u8>,
}

/// Why no challenge was made.
#[derive(Debug, thiserror::Error)]
pub enum ChallengeError {
    /// Nobody plays against themselves.
    #[error("you cannot challenge yourself")]
    Oneself,
    /// Guests play no rated games.
    #[error("guests play no rated games")]
    Guest,
    /// The opponent is one.
    #[error("is a guest, who plays no rated games")]
    GuestOpponent,
    /// A member of the clock has a value that is not allowed.
    #[error("{0} {1}")]
    Clock(&'static str, &'static str),
    /// A rated game has no role to choose.
    #[error("must be 'random' in a rated challenge, which gives the role that is due")]
    RatedRole,
    /// In a rated game it is not a matter of choice.
    #[error("is for casual challenges; in a rated real-time game the other side may claim")]
    RatedOnDrop,
    /// Nor is the time.
    #[error("is for casual challenges; in a rated real-time game it is a minute")]
    RatedDropAfter,
    /// With days for a turn nobody is expected to stay.
    #[error("must be 'wait' with a correspondence clock")]
    OnDropClock,
    /// No pool has these rules.
    #[error("a rated challenge has the rules of a pool, and no open pool has these: {0}")]
    RatedRules(String),
    /// No pool with these rules has this clock.
    #[error("a rated challenge has the clock of a pool, and no open pool with these rules has this one: {0}")]
    RatedClock(String),
    /// The pool that it would count for is closed.
    #[error("the pool {0} is closed: no rated challenges with its rules and clock")]
    PoolClosed(String),
    /// The player has as many open challenges as one may have.
    #[error("{OPEN_LIMIT} of your challenges are open; withdraw one, or wait until one expires")]
    TooMany {
        /// When the first of them expires.
        first_expires_at: Timestamp,
    },
    /// The key stands for another request.
    #[error("this Idempotency-Key was sent with another body before")]
    KeyReused,
    /// The database failed.
    #[error("database failure")]
    Database(#[from] sqlx::Error),
}

/// Why a challenge was not answered.
#[derive(Debug, thiserror::Error)]
pub enum AnswerError {
    /// There is none, or it is not the caller's to know of.
    #[error("there is no such challenge")]
    NoSuchChallenge,
    /// It is not this player's to answer.
    #[error("{0}")]
    NotYours(&'static str),
    /// Something else has become of it.
    #[error("the challenge is over: it is {0}")]
    Over(ChallengeStatus),
    /// Its challenger has changed it since it was seen.
    #[error("the challenge has changed since you saw it")]
    Changed,
    /// Guests play no rated games.
    #[error("guests play no rated games")]
    Guest,
    /// The pool that it counts for was closed.
    #[error("the pool {0} was closed after the challenge was made")]
    PoolClosed(String),
    /// The caller is in this live rated game.
    #[error("you are in a live rated game; finish it first")]
    YouPlay(Option<GameId>),
    /// The challenger is in this live rated game.
    #[error("the challenger is in a live rated game; try again when it is over")]
    TheyPlay(Option<GameId>),
    /// The database failed.
    #[error("database failure")]
    Database(#[from] sqlx::Error),
}

/// What the challenger wants to change. What is none stays as it is.
#[derive(Clone, Debug, Default)]
pub struct Changes {
    /// The house rules that change.
    pub rules: Map<String, Value>,
    /// The clock.
    pub clock: Option<ClockSetting>,
    /// The role that the challenger wants.
    pub role: Option<RoleWish>,
    /// Whether a rematch swaps the roles.
    pub swap_roles: Option<bool>,
    /// What becomes of a side that leaves.
    pub on_drop: Option<OnDrop>,
    /// After how long it has left.
    pub drop_after: Option<Grace>,
}

/// Why a challenge was not changed.
#[derive(Debug, thiserror::Error)]
pub enum ChangeError {
    /// It cannot be had, or is over.
    #[error(transparent)]
    Answer(#[from] AnswerError),
    /// It is bound to its pool.
    #[error("a rated challenge has the terms of its pool; withdraw it and make another")]
    Rated,
    /// A house rule is unknown, has a value that is not allowed, or does not go with the others.
    #[error(transparent)]
    Rules(#[from] RuleError),
    /// A member of the clock has a value that is not allowed.
    #[error("{0} {1}")]
    Clock(&'static str, &'static str),
    /// With days for a turn nobody is expected to stay.
    #[error("must be 'wait' with a correspondence clock")]
    OnDropClock,
    /// The database failed.
    #[error("database failure")]
    Database(#[from] sqlx::Error),
}

/// What accepting did.
#[derive(Clone, Copy, Debug)]
pub enum Accepted {
    /// It made this game.
    Now(GameId),
    /// The same player had accepted before, and this is the game.
    Already(GameId),
}

struct ChallengeRow {
    challenge_id: ChallengeId,
    version: i32,
    challenger_id: PlayerId,
    challenger_name: Option<String>,
    challenger_gone: bool,
    opponent_id: Option<PlayerId>,
    opponent_name: Option<String>,
    variant: String,
    rules: Json<Map<String, Value>>,
    clock: Json<ClockSetting>,
    pool_id: Option<String>,
    rated: bool,
    role: String,
    on_drop: String,
    drop_after_ms: i32,
    swap_roles: bool,
    status: String,
    created_at: Timestamp,
    expires_at: Timestamp,
    game_id: Option<GameId>,
}

impl ChallengeRow {
    fn read(self, now: Timestamp) -> Result<Challenge, sqlx::Error> {
        let broken = |why: &dyn fmt::Display| nonsense(format!("challenge {}", self.challenge_id), why);
        let variant = self.variant.parse().map_err(|err| broken(&err))?;
        let rules = house_rules::from_json(variant, &self.rules).map_err(|err| broken(&err))?;
        let role = match self.role.as_str() {
            "hounds" => RoleWish::Hounds,
            "hare" => RoleWish::Hare,
            "random" => RoleWish::Random,
            _ => return Err(broken(&"its role is none")),
        };
        let on_drop = OnDrop::from_word(&self.on_drop).ok_or_else(|| broken(&"nothing is done on a drop"))?;
        let status = match (self.status.as_str(), self.game_id) {
            ("open", None) if self.challenger_gone => ChallengeStatus::Withdrawn,
            ("open", None) if self.expires_at <= now => ChallengeStatus::Expired,
            ("open", None) => ChallengeStatus::Open,
            ("accepted", Some(game)) => ChallengeStatus::Accepted(game),
            ("declined", None) => ChallengeStatus::Declined,
            ("withdrawn", None) => ChallengeStatus::Withdrawn,
            ("expired", None) => ChallengeStatus::Expired,
            _ => return Err(broken(&"its status is none")),
        };
        Ok(Challenge {
            id: self.challenge_id,
            version: self.version,
            challenger: self.challenger_id,
            challenger_name: self.challenger_name,
            opponent: self.opponent_id,
            opponent_name: self.opponent_name,
            rules,
            clock: self.clock.0,
            pool: self.pool_id,
            rated: self.rated,
            role,
            on_drop,
            drop_after: self.drop_after_ms.try_into().map_err(|err| broken(&err))?,
            swap_roles: self.swap_roles,
            status,
            created_at: self.created_at,
            expires_at: self.expires_at,
        })
    }
}

/// Makes a challenge. The same request sent again answers what the first one made, as it is by now.
///
/// # Errors
///
/// Why there is no such challenge.
pub async fn challenge(
    db: &PgPool,
    events: &Events,
    challenger: PlayerId,
    new: &NewChallenge,
    repeatable: Option<&Repeatable>,
    now: Timestamp,
    random: u128,
) -> Result<Challenge, ChallengeError> {
    let mut tx = db.begin().await?;
    one_at_a_time(&mut tx, challenger).await?;
    if let Some(repeatable) = repeatable
        && let Some(first) = made_before(&mut tx, challenger, repeatable).await?
    {
        return Ok(read(&mut tx, first, now).await?.ok_or(sqlx::Error::RowNotFound)?);
    }
    if new.opponent == Some(challenger) {
        return Err(ChallengeError::Oneself);
    }
    new.clock.check().map_err(|(member, allowed)| ChallengeError::Clock(member, allowed))?;
    new.check_on_drop()?;
    let pool = if new.rated {
        check_no_guest(&mut tx, challenger, new).await?;
        Some(rated_pool(&pools::all(&mut tx).await?, new)?)
    } else {
        None
    };
    if let Some(first_expires_at) = limit_reached(&mut tx, challenger, now).await? {
        return Err(ChallengeError::TooMany { first_expires_at });
    }
    let id = ChallengeId::new(now, random);
    insert(&mut tx, id, challenger, new, pool.as_deref(), repeatable, now).await?;
    let made = read(&mut tx, id, now).await?.ok_or(sqlx::Error::RowNotFound)?;
    let told = made.told(None, ChallengeStatus::Open);
    player_log::tell(&mut tx, &told, now).await?;
    tx.commit().await?;
    announce(events, &told);
    tracing::info!(challenge = %id, %challenger, rated = new.rated, direct = new.opponent.is_some(), "challenged");
    Ok(made)
}

async fn check_no_guest(
    tx: &mut PgConnection,
    challenger: PlayerId,
    new: &NewChallenge,
) -> Result<(), ChallengeError> {
    if is_guest(tx, challenger).await? {
        return Err(ChallengeError::Guest);
    }
    match new.opponent {
        Some(opponent) if is_guest(tx, opponent).await? => Err(ChallengeError::GuestOpponent),
        _ => Ok(()),
    }
}

/// The pool whose rules and clock these are, or what to change to get to one.
fn rated_pool(pools: &[Pool], new: &NewChallenge) -> Result<String, ChallengeError> {
    if new.role != RoleWish::Random {
        return Err(ChallengeError::RatedRole);
    }
    let (open, closed): (Vec<&Pool>, Vec<&Pool>) = pools.iter().partition(|pool| pool.closed_at.is_none());
    let fits = |pool: &&&Pool| pool.rules == new.rules && pool.clock == new.clock;
    if let Some(pool) = open.iter().find(fits) {
        return Ok(pool.id.clone());
    }
    if let Some(pool) = closed.iter().find(fits) {
        return Err(ChallengeError::PoolClosed(pool.id.clone()));
    }
    let names = |pools: Vec<&&Pool>| {
        let names: Vec<_> = pools.into_iter().map(|pool| format!("/v1/pools/{}", pool.id)).collect();
        if names.is_empty() {
            "there is none of this variant".to_owned()
        } else {
            format!("see {}", names.join(", "))
        }
    };
    let same_rules: Vec<_> = open.iter().filter(|pool| pool.rules == new.rules).collect();
    if same_rules.is_empty() {
        let variant = new.rules.variant();
        Err(ChallengeError::RatedRules(names(open.iter().filter(|pool| pool.variant == variant).collect())))
    } else {
        Err(ChallengeError::RatedClock(names(same_rules)))
    }
}

/// The challenge of this id, if this caller may know of it.
///
/// # Errors
///
/// When the database fails.
pub async fn find(
    db: &PgPool,
    id: ChallengeId,
    caller: Option<PlayerId>,
    now: Timestamp,
) -> Result<Option<Challenge>, sqlx::Error> {
    let mut conn = db.acquire().await?;
    Ok(read(&mut conn, id, now).await?.filter(|challenge| challenge.may_be_seen_by(caller)))
}

/// Up to `limit` challenges that can be accepted, the newest first: those to anyone, and those from and to the
/// caller. `before` is the last one of the page before.
///
/// # Errors
///
/// When the database fails.
pub async fn list(
    db: &PgPool,
    caller: Option<PlayerId>,
    before: Option<ChallengeId>,
    limit: i64,
    now: Timestamp,
) -> Result<Vec<Challenge>, sqlx::Error> {
    read_open(db, caller, Whose::Anyones, before, limit, now).await
}

/// Up to `limit` challenges from and to a player that can be accepted, the newest first.
///
/// # Errors
///
/// When the database fails.
pub async fn list_own(
    db: &PgPool,
    player: PlayerId,
    limit: i64,
    now: Timestamp,
) -> Result<Vec<Challenge>, sqlx::Error> {
    read_open(db, Some(player), Whose::Own, None, limit, now).await
}

/// Which open challenges are wanted.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Whose {
    /// Those to anyone, and one's own.
    Anyones,
    /// Those from and to the caller.
    Own,
}

async fn read_open(
    db: &PgPool,
    caller: Option<PlayerId>,
    whose: Whose,
    before: Option<ChallengeId>,
    limit: i64,
    now: Timestamp,
) -> Result<Vec<Challenge>, sqlx::Error> {
    let rows = sqlx::query_as!(
        ChallengeRow,
        r#"
        select
            challenge_id as "challenge_id: ChallengeId",
            version,
            challenger_id as "challenger_id: PlayerId",
            challenger.username as "challenger_name",
            challenger.closed_at is not null or challenger.banned_at is not null as "challenger_gone!",
            opponent_id as "opponent_id: PlayerId",
            opponent.username as "opponent_name?",
            variant,
            rules as "rules: Json<Map<String, Value>>",
            clock as "clock: Json<ClockSetting>",
            pool_id,
            rated,
            role,
            on_drop,
            drop_after_ms,
            swap_roles,
            status,
            challenge.created_at,
            expires_at,
            game_id as "game_id: GameId"
        from challenge
        join player challenger on challenger.player_id = challenger_id
        left join player opponent on opponent.player_id = opponent_id
        where status = 'open'
            and expires_at > $3
            and ((opponent_id is null and $5) or challenger_id = $1 or opponent_id = $1)
            and challenger.closed_at is null
            and challenger.banned_at is null
            and ($2::uuid is null or challenge_id < $2)
        order by challenge_id desc
        limit $4
        "#,
        caller.map(|player| player.0),
        before.map(|id| id.0),
        now,
        limit,
        whose == Whose::Anyones
    )
    .fetch_all(db)
    .await?;
    rows.into_iter().map(|row| row.read(now)).collect()
}

/// Changes a casual challenge that nobody has accepted yet. A change that changes nothing makes no new version.
///
/// # Errors
///
/// Why it stays as it is.
pub async fn change(
    db: &PgPool,
    events: &Events,
    player: PlayerId,
    id: ChallengeId,
    changes: &Changes,
    now: Timestamp,
) -> Result<Challenge, ChangeError> {
    let mut tx = db.begin().await?;
    // Whoever accepts it waits, and finds it changed; whoever accepted it first was faster.
    sqlx::query!("select from challenge where challenge_id = $1 for update", id.0).execute(&mut *tx).await?;
    let challenge = known(&mut tx, id, player, now).await?;
    if challenge.challenger != player {
        return Err(AnswerError::NotYours("only its challenger can change a challenge").into());
    }
    if challenge.status != ChallengeStatus::Open {
        return Err(AnswerError::Over(challenge.status).into());
    }
    if challenge.rated {
        return Err(ChangeError::Rated);
    }
    let changed = challenge.clone().changed(changes)?;
    if changed.has_terms_of(&challenge) {
        return Ok(challenge);
    }
    write_terms(&mut tx, &changed, now).await?;
    let changed = known(&mut tx, id, player, now).await?;
    let told = changed.told(None, ChallengeStatus::Open);
    player_log::tell(&mut tx, &told, now).await?;
    tx.commit().await?;
    announce(events, &told);
    Ok(changed)
}

async fn write_terms(tx: &mut PgConnection, changed: &Challenge, now: Timestamp) -> Result<(), sqlx::Error> {
    sqlx::query!(
        "
        update challenge
        set rules = $2, clock = $3, role = $4, swap_roles = $5, on_drop = $6, drop_after_ms = $7,
            expires_at = $8, version = version + 1
        where challenge_id = $1
        ",
        changed.id.0,
        Json(house_rules::to_json(&changed.rules)) as _,
        Json(changed.clock) as _,
        changed.role.to_string(),
        changed.swap_roles,
        changed.on_drop.to_string(),
        changed.drop_after.ms(),
        now + lifetime(changed.clock),
    )
    .execute(tx)
    .await?;
    Ok(())
}

/// Accepts a challenge, which makes its game; only if it is of this version still, where one is given.
///
/// # Errors
///
/// Why there is no game.
#[expect(clippy::too_many_arguments, reason = "each is a thing of its own, and time and chance are told")]
pub async fn accept(
    db: &PgPool,
    events: &Events,
    player: PlayerId,
    id: ChallengeId,
    version: Option<i32>,
    now: Timestamp,
    random: u128,
    seed: u64,
) -> Result<Accepted, AnswerError> {
    let mut conn = db.acquire().await?;
    let game = GameId::new(now, random);
    let mut tx = conn.begin().await?;
    if !mark_accepted(&mut tx, player, id, game, now).await? {
        tx.rollback().await?;
        return accepted_before(&mut conn, player, id, now).await;
    }
    let challenge = read(&mut tx, id, now).await?.ok_or(sqlx::Error::RowNotFound)?;
    if version.is_some_and(|seen| seen != challenge.version) {
        return Err(AnswerError::Changed);
    }
    if challenge.rated && is_guest(&mut tx, player).await? {
        return Err(AnswerError::Guest);
    }
    if let Some(pool) = &challenge.pool
        && pools::bare(&mut tx, pool).await?.is_none_or(|pool| pool.closed_at.is_some())
    {
        return Err(AnswerError::PoolClosed(pool.clone()));
    }
    let mut told = challenge.told(Some(player), ChallengeStatus::Accepted(game));
    if challenge.rated && challenge.clock.is_real_time() {
        told.extend(tickets::cancel_real_time(&mut tx, &[challenge.challenger, player], now).await?);
    }
    let new = NewGame {
        id: game,
        rules: challenge.rules,
        clock: challenge.clock,
        pool: challenge.pool.clone(),
        rated: challenge.rated,
        players: seats(&mut tx, &challenge, player, seed).await?,
        computer: ByRole::default(),
        seed: seed.cast_signed(),
        on_drop: challenge.on_drop,
        drop_after: challenge.drop_after,
        swap_roles: challenge.swap_roles,
        rematch_of: None,
    };
    match games::create(&mut tx, &new, now).await {
        Ok(_) => {
            told.extend(new.told());
            player_log::tell(&mut tx, &told, now).await?;
            tx.commit().await?;
            announce(events, &told);
        }
        Err(CreateError::AlreadyPlaying(busy)) => {
            tx.rollback().await?;
            let other = games::live_game_of(&mut conn, busy).await?;
            return Err(if busy == player {
                AnswerError::YouPlay(other)
            } else {
                AnswerError::TheyPlay(other)
            });
        }
        Err(CreateError::Database(err)) => return Err(err.into()),
    }
    tracing::info!(challenge = %id, %game, hounds = %new.players.hounds, hare = %new.players.hare, "accepted");
    Ok(Accepted::Now(game))
}

/// Answers the game of a challenge that the same player accepted before, or why it cannot be accepted.
async fn accepted_before(
    db: &mut PgConnection,
    player: PlayerId,
    id: ChallengeId,
    now: Timestamp,
) -> Result<Accepted, AnswerError> {
    let challenge = known(db, id, player, now).await?;
    if challenge.challenger == player {
        return Err(AnswerError::NotYours("nobody can accept their own challenge"));
    }
    match challenge.status {
        ChallengeStatus::Accepted(game) if plays(db, player, game).await? => Ok(Accepted::Already(game)),
        status => Err(AnswerError::Over(status)),
    }
}

/// Says that these were told something.
fn announce(events: &Events, told: &[Told]) {
    events.announce(told.iter().map(|told| Topic::Player(told.player)));
}

/// Who plays which role. In a rated game that is decided as it is in a pool, by the very same function.
async fn seats(
    tx: &mut PgConnection,
    challenge: &Challenge,
    accepter: PlayerId,
    seed: u64,
) -> Result<ByRole<PlayerId>, sqlx::Error> {
    let challenger = challenge.challenger;
    let as_role = |role| match role {
        Role::Hounds => ByRole { hounds: challenger, hare: accepter },
        Role::Hare => ByRole { hounds: accepter, hare: challenger },
    };
    match (challenge.role, &challenge.pool) {
        (RoleWish::Hounds, _) => Ok(as_role(Role::Hounds)),
        (RoleWish::Hare, _) => Ok(as_role(Role::Hare)),
        (RoleWish::Random, None) => Ok(as_role(pairing::coin(seed, challenger.0, accepter.0))),
        (RoleWish::Random, Some(pool)) => {
            let both = [due(tx, challenger, pool).await?, due(tx, accepter, pool).await?];
            // Equal ratings cost nothing, and being due the same role costs less than the limit: they always pair.
            let pair = pairing::pair(&both, seed).pop();
            Ok(pair.map_or(as_role(Role::Hounds), |pair| pair.seats.map(PlayerId)))
        }
    }
}

/// A candidate who differs from another one only in the role that is due.
async fn due(tx: &mut PgConnection, player: PlayerId, pool: &str) -> Result<Candidate, sqlx::Error> {
    let balance = sqlx::query!(
        "select debt, last_role from role_balance where player_id = $1 and pool_id = $2",
        player.0,
        pool
    )
    .fetch_optional(tx)
    .await?;
    let (debt, last_role) = balance.map_or((0, None), |row| (row.debt, row.last_role));
    Ok(Candidate {
        ticket: player.0,
        player: player.0,
        rating: 0,
        rd: 0,
        waited_s: 0,
        debt,
        last_role: tickets::role(last_role.as_deref())
            .map_err(|why| nonsense(format!("role balance of {player} in {pool}"), why))?,
        recent_opponents: [None; 3],
        blocked: Vec::new(),
    })
}

/// Declines a challenge; declining it again changes nothing.
///
/// # Errors
///
/// Why it was not declined.
pub async fn decline(
    db: &PgPool,
    events: &Events,
    player: PlayerId,
    id: ChallengeId,
    now: Timestamp,
) -> Result<Challenge, AnswerError> {
    let mut conn = db.acquire().await?;
    let mut tx = conn.begin().await?;
    let changed = sqlx::query!(
        "
        update challenge
        set status = 'declined', ended_at = $3
        where challenge_id = $1 and opponent_id = $2 and status = 'open' and expires_at > $3
        ",
        id.0,
        player.0,
        now
    )
    .execute(&mut *tx)
    .await?;
    let challenge = known(&mut tx, id, player, now).await?;
    if changed.rows_affected() == 1 {
        let told = challenge.told(None, ChallengeStatus::Declined);
        player_log::tell(&mut tx, &told, now).await?;
        tx.commit().await?;
        announce(events, &told);
    }
    if challenge.opponent != Some(player) {
        return Err(AnswerError::NotYours("only the player it was sent to can decline a challenge"));
    }
    match challenge.status {
        ChallengeStatus::Declined => Ok(challenge),
        status => Err(AnswerError::Over(status)),
    }
}

/// Withdraws a challenge; withdrawing it again changes nothing, nor does it when it is declined or expired.
///
/// # Errors
///
/// Why it was not withdrawn: above all, because it was accepted before.
pub async fn withdraw(
    db: &PgPool,
    events: &Events,
    player: PlayerId,
    id: ChallengeId,
    now: Timestamp,
) -> Result<Challenge, AnswerError> {
    let mut conn = db.acquire().await?;
    let mut tx = conn.begin().await?;
    let changed = sqlx::query!(
        "
        update challenge
        set status = 'withdrawn', ended_at = $3
        where challenge_id = $1 and challenger_id = $2 and status = 'open' and expires_at > $3
        ",
        id.0,
        player.0,
        now
    )
    .execute(&mut *tx)
    .await?;
    let challenge = known(&mut tx, id, player, now).await?;
    if changed.rows_affected() == 1 {
        let told = challenge.told(None, ChallengeStatus::Withdrawn);
        player_log::tell(&mut tx, &told, now).await?;
        tx.commit().await?;
        announce(events, &told);
    }
    if challenge.challenger != player {
        return Err(AnswerError::NotYours("only its challenger can withdraw a challenge"));
    }
    match challenge.status {
        ChallengeStatus::Accepted(_) => Err(AnswerError::Over(challenge.status)),
        _ => Ok(challenge),
    }
}

/// Makes this player's requests wait for one another until the transaction ends, so that they are counted right.
async fn one_at_a_time(tx: &mut PgConnection, player: PlayerId) -> Result<(), sqlx::Error> {
    sqlx::query!(
        "select pg_advisory_xact_lock(hashtextextended('leveret challenges ' || $1::text, 0))",
        player.to_string()
    )
    .execute(tx)
    .await?;
    Ok(())
}

async fn made_before(
    tx: &mut PgConnection,
    challenger: PlayerId,
    repeatable: &Repeatable,
) -> Result<Option<ChallengeId>, ChallengeError> {
    let first = sqlx::query!(
        r#"
        select challenge_id as "challenge_id: ChallengeId", request_hash
        from challenge
        where challenger_id = $1 and idempotency_key = $2
        "#,
        challenger.0,
        repeatable.key
    )
    .fetch_optional(tx)
    .await?;
    match first {
        Some(first) if first.request_hash.as_deref() != Some(&repeatable.request_hash) => {
            Err(ChallengeError::KeyReused)
        }
        first => Ok(first.map(|first| first.challenge_id)),
    }
}

/// When the first of a player's open challenges expires, if there are as many as there may be.
async fn limit_reached(
    tx: &mut PgConnection,
    challenger: PlayerId,
    now: Timestamp,
) -> Result<Option<Timestamp>, sqlx::Error> {
    let open = sqlx::query!(
        r#"
        select count(*) as "count!", min(expires_at) as first_expires_at
        from challenge
        where challenger_id = $1 and status = 'open' and expires_at > $2
        "#,
        challenger.0,
        now
    )
    .fetch_one(tx)
    .await?;
    Ok(open.first_expires_at.filter(|_| open.count >= OPEN_LIMIT))
}

/// A challenge to a slow game, or to one without a clock, has more time to be found.
fn lifetime(clock: ClockSetting) -> TimeDelta {
    if clock.is_real_time() { TimeDelta::hours(24) } else { TimeDelta::days(7) }
}

async fn insert(
    tx: &mut PgConnection,
    id: ChallengeId,
    challenger: PlayerId,
    new: &NewChallenge,
    pool: Option<&str>,
    repeatable: Option<&Repeatable>,
    now: Timestamp,
) -> Result<(), sqlx::Error> {
    sqlx::query!(
        "
        insert into challenge (
            challenge_id, challenger_id, opponent_id, variant, rules, clock, pool_id, rated, role, swap_roles,
            created_at, expires_at, idempotency_key, request_hash, on_drop, drop_after_ms
        )
        values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16)
        ",
        id.0,
        challenger.0,
        new.opponent.map(|player| player.0),
        new.rules.variant().to_string(),
        Json(house_rules::to_json(&new.rules)) as _,
        Json(new.clock) as _,
        pool,
        new.rated,
        new.role.to_string(),
        new.swap_roles,
        now,
        now + lifetime(new.clock),
        repeatable.map(|repeatable| repeatable.key.as_str()),
        repeatable.map(|repeatable| repeatable.request_hash.as_slice()),
        new.on_drop().to_string(),
        new.drop_after.unwrap_or_default().ms()
    )
    .execute(tx)
    .await?;
    Ok(())
}

async fn mark_accepted(
    tx: &mut PgConnection,
    player: PlayerId,
    id: ChallengeId,
    game: GameId,
    now: Timestamp,
) -> Result<bool, sqlx::Error> {
    let marked = sqlx::query!(
        "
        update challenge
        set status = 'accepted', ended_at = $4, game_id = $3
        from player challenger
        where challenge_id = $1
            and status = 'open'
            and expires_at > $4
            and challenger_id <> $2
            and (opponent_id is null or opponent_id = $2)
            and challenger.player_id = challenger_id
            and challenger.closed_at is null
            and challenger.banned_at is null
        ",
        id.0,
        player.0,
        game.0,
        now
    )
    .execute(tx)
    .await?;
    Ok(marked.rows_affected() == 1)
}

async fn plays(db: &mut PgConnection, player: PlayerId, game: GameId) -> Result<bool, sqlx::Error> {
    sqlx::query_scalar!(
        r#"select exists (select from game where game_id = $1 and $2 in (hounds_id, hare_id)) as "plays!""#,
        game.0,
        player.0
    )
    .fetch_one(db)
    .await
}

async fn known(
    db: &mut PgConnection,
    id: ChallengeId,
    player: PlayerId,
    now: Timestamp,
) -> Result<Challenge, AnswerError> {
    let challenge = read(db, id, now).await?;
    challenge.filter(|challenge| challenge.may_be_seen_by(Some(player))).ok_or(AnswerError::NoSuchChallenge)
}

async fn read(
    db: &mut PgConnection,
    id: ChallengeId,
    now: Timestamp,
) -> Result<Option<Challenge>, sqlx::Error> {
    let row = sqlx::query_as!(
        ChallengeRow,
        r#"
        select
            challenge_id as "challenge_id: ChallengeId",
            version,
            challenger_id as "challenger_id: PlayerId",
            challenger.username as "challenger_name",
            challenger.closed_at is not null or challenger.banned_at is not null as "challenger_gone!",
            opponent_id as "opponent_id: PlayerId",
            opponent.username as "opponent_name?",
            variant,
            rules as "rules: Json<Map<String, Value>>",
            clock as "clock: Json<ClockSetting>",
            pool_id,
            rated,
            role,
            on_drop,
            drop_after_ms,
            swap_roles,
            status,
            challenge.created_at,
            expires_at,
            game_id as "game_id: GameId"
        from challenge
        join player challenger on challenger.player_id = challenger_id
        left join player opponent on opponent.player_id = opponent_id
        where challenge_id = $1
        "#,
        id.0
    )
    .fetch_optional(db)
    .await?;
    row.map(|row| row.read(now)).transpose()
}
