//! The SQL of accounts. Nothing here begins or commits a transaction.

use sqlx::PgConnection;

use super::{
    Me, Player, SessionEntry,
    access::StoredKey,
    names::{Bio, Username},
    refresh::{Record, Spent},
};
use crate::{
    ids::{PlayerId, SessionId},
    wall_clock::Timestamp,
};

/// Why a session ended.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum EndReason {
    LoggedOut,
    EndedByPlayer,
    PasswordChanged,
    TokenReused,
    Banned,
    AccountClosed,
}

impl EndReason {
    fn as_str(self) -> &'static str {
        match self {
            EndReason::LoggedOut => "logged-out",
            EndReason::EndedByPlayer => "ended-by-player",
            EndReason::PasswordChanged => "password-changed",
            EndReason::TokenReused => "token-reused",
            EndReason::Banned => "banned",
            EndReason::AccountClosed => "account-closed",
        }
    }
}

/// What is needed to check a password.
pub(super) struct Credentials {
    pub player: PlayerId,
    pub username: String,
    pub hash: String,
    pub banned: bool,
}

pub(super) struct NewSession<'a> {
    pub id: SessionId,
    pub player: PlayerId,
    pub user_agent: &'a str,
    pub address: &'a str,
    pub idempotency_key: Option<&'a str>,
}

pub(super) async fn insert_player(
    tx: &mut PgConnection,
    id: PlayerId,
    username: &Username,
    now: Timestamp,
) -> Result<(), sqlx::Error> {
    sqlx::query!(
        "insert into player (player_id, username, username_key, created_at) values ($1, $2, $3, $4)",
        id.0,
        username.as_str(),
        username.key(),
        now,
    )
    .execute(tx)
    .await?;
    Ok(())
}

pub(super) async fn put_password(
    tx: &mut PgConnection,
    player: PlayerId,
    hash: &str,
    now: Timestamp,
) -> Result<(), sqlx::Error> {
    sqlx::query!(
        "
        insert into password (player_id, hash, changed_at)
        values ($1, $2, $3)
        on conflict (player_id) do update set hash = excluded.hash, changed_at = excluded.changed_at
        ",
        player.0,
        hash,
        now,
    )
    .execute(tx)
    .await?;
    Ok(())
}

/// Finds the credentials behind a name, and whether the address had a session of the account before.
pub(super) async fn find_credentials(
    conn: &mut PgConnection,
    username_key: &str,
    address: &str,
) -> Result<Option<(Credentials, bool)>, sqlx::Error> {
    let row = sqlx::query!(
        r#"
        select player_id as "player: PlayerId", username as "username!", hash, banned_at is not null as "banned!",
            exists (
                select from session where session.player_id = player.player_id and session.address = $2
            ) as "known!"
        from player
        join password using (player_id)
        where username_key = $1 and closed_at is null
        "#,
        username_key,
        address,
    )
    .fetch_optional(conn)
    .await?;
    Ok(row.map(|row| {
        let credentials =
            Credentials { player: row.player, username: row.username, hash: row.hash, banned: row.banned };
        (credentials, row.known)
    }))
}

/// Finds the credentials of a player who is logged in.
pub(super) async fn find_credentials_of(
    conn: &mut PgConnection,
    player: PlayerId,
) -> Result<Option<Credentials>, sqlx::Error> {
    sqlx::query_as!(
        Credentials,
        r#"
        select player_id as "player: PlayerId", username as "username!", hash, banned_at is not null as "banned!"
        from player
        join password using (player_id)
        where player_id = $1 and closed_at is null
        "#,
        player.0,
    )
    .fetch_optional(conn)
    .await
}

/// Holds the player's row, and tells the credentials as they are then.
pub(super) async fn lock_credentials(
    tx: &mut PgConnection,
    player: PlayerId,
) -> Result<Option<Credentials>, sqlx::Error> {
    sqlx::query_scalar!("select player_id from player where player_id = $1 for no key update", player.0)
        .fetch_optional(&mut *tx)
        .await?;
    find_credentials_of(tx, player).await
}

pub(super) async fn find_me(conn: &mut PgConnection, player: PlayerId) -> Result<Option<Me>, sqlx::Error> {
    sqlx::query_as!(
        Me,
        r#"
        select player_id as "player_id: PlayerId", username as "username!", bio, is_bot, is_guest, created_at
        from player
        where player_id = $1 and closed_at is null
        "#,
        player.0,
    )
    .fetch_optional(conn)
    .await
}

pub(super) async fn find_player(
    conn: &mut PgConnection,
    username_key: &str,
) -> Result<Option<Player>, sqlx::Error> {
    sqlx::query_as!(
        Player,
        r#"
        select player_id as "player_id: PlayerId", username as "username!", bio, is_bot, is_guest, created_at,
            banned_at is not null as "banned!"
        from player
        where username_key = $1 and closed_at is null
        "#,
        username_key,
    )
    .fetch_optional(conn)
    .await
}

pub(super) async fn set_bio(tx: &mut PgConnection, player: PlayerId, bio: &Bio) -> Result<(), sqlx::Error> {
    sqlx::query!(
        "update player set bio = $2 where player_id = $1 and closed_at is null",
        player.0,
        bio.as_str()
    )
    .execute(tx)
    .await?;
    Ok(())
}

pub(super) async fn has_rated_games(conn: &mut PgConnection, player: PlayerId) -> Result<bool, sqlx::Error> {
    sqlx::query_scalar!(
        r#"select exists (select from rating_event where player_id = $1) as "exists!""#,
        player.0
    )
    .fetch_one(conn)
    .await
}

pub(super) async fn set_bot(tx: &mut PgConnection, player: PlayerId) -> Result<(), sqlx::Error> {
    sqlx::query!("update player set is_bot = true where player_id = $1 and closed_at is null", player.0)
        .execute(tx)
        .await?;
    Ok(())
}

pub(super) async fn set_banned(
    tx: &mut PgConnection,
    player: PlayerId,
    since: Option<Timestamp>,
) -> Result<(), sqlx::Error> {
    sqlx::query!("update player set banned_at = $2 where player_id = $1", player.0, since)
        .execute(tx)
        .await?;
    Ok(())
}

/// Takes away whatever tells who the player was.
pub(super) async fn close_player(
    tx: &mut PgConnection,
    player: PlayerId,
    now: Timestamp,
) -> Result<(), sqlx::Error> {
    sqlx::query!(
        "
        update player
        set username = case when is_guest then 'guest' end, bio = '', closed_at = $2, guest_key = null
        where player_id = $1
        ",
        player.0,
        now
    )
    .execute(&mut *tx)
    .await?;
    sqlx::query!("delete from password where player_id = $1", player.0).execute(&mut *tx).await?;
    sqlx::query!(
        "delete from refresh_token using session where session.session_id = refresh_token.session_id and player_id = $1",
        player.0,
    )
    .execute(&mut *tx)
    .await?;
    sqlx::query!("update session set user_agent = '', address = '' where player_id = $1", player.0)
        .execute(tx)
        .await?;
    Ok(())
}

/// Inserts a guest; answers whether the name was free.
pub(super) async fn insert_guest(
    tx: &mut PgConnection,
    id: PlayerId,
    name: &Username,
    key: Option<&[u8]>,
    now: Timestamp,
) -> Result<bool, sqlx::Error> {
    let made = sqlx::query!(
        "
        insert into player (player_id, username, username_key, is_guest, guest_key, created_at)
        values ($1, $2, $3, true, $4, $5)
        on conflict on constraint player_username_key do nothing
        ",
        id.0,
        name.as_str(),
        name.key(),
        key,
        now,
    )
    .execute(tx)
    .await?;
    Ok(made.rows_affected() == 1)
}

/// Forgets a key of a guest that was made before.
pub(super) async fn forget_guest_key(
    tx: &mut PgConnection,
    key: &[u8],
    made_before: Timestamp,
) -> Result<(), sqlx::Error> {
    sqlx::query!(
        "update player set guest_key = null where guest_key = $1 and created_at < $2",
        key,
        made_before
    )
    .execute(tx)
    .await?;
    Ok(())
}

/// Finds the guest that was made with a key, and whether it is banned.
pub(super) async fn find_guest_by_key(
    conn: &mut PgConnection,
    key: &[u8],
) -> Result<Option<(PlayerId, bool)>, sqlx::Error> {
    let row = sqlx::query!(
        r#"
        select player_id as "player_id: PlayerId", banned_at is not null as "banned!"
        from player
        where guest_key = $1
        "#,
        key
    )
    .fetch_optional(conn)
    .await?;
    Ok(row.map(|row| (row.player_id, row.banned)))
}

/// Holds a player's row; answers whether it is a guest's.
pub(super) async fn lock_guest(tx: &mut PgConnection, player: PlayerId) -> Result<bool, sqlx::Error> {
    let locked = sqlx::query_scalar!(
        "select is_guest from player where player_id = $1 and closed_at is null for no key update",
        player.0
    )
    .fetch_optional(tx)
    .await?;
    Ok(locked.unwrap_or(false))
}

/// Makes a guest an account of this name.
pub(super) async fn name_guest(
    tx: &mut PgConnection,
    player: PlayerId,
    username: &Username,
) -> Result<(), sqlx::Error> {
    sqlx::query!(
        "
        update player
        set username = $2, username_key = $3, is_guest = false, guest_key = null
        where player_id = $1 and is_guest
        ",
        player.0,
        username.as_str(),
        username.key(),
    )
    .execute(tx)
    .await?;
    Ok(())
}

/// The guests that were neither seen nor refreshed since then, the oldest first.
pub(super) async fn idle_guests(
    conn: &mut PgConnection,
    since: Timestamp,
    most: i64,
) -> Result<Vec<PlayerId>, sqlx::Error> {
    sqlx::query_scalar!(
        r#"
        select player_id as "player_id: PlayerId"
        from player
        left join presence using (player_id)
        where is_guest
            and closed_at is null
            and created_at < $1
            and coalesce(seen_at, created_at) < $1
            and not exists (
                select from session where session.player_id = player.player_id and last_used_at >= $1
            )
        order by created_at
        limit $2
        "#,
        since,
        most,
    )
    .fetch_all(conn)
    .await
}

/// Opens a session; one with the same idempotency key that has not ended is opened again.
pub(super) async fn open_session(
    tx: &mut PgConnection,
    session: NewSession<'_>,
    now: Timestamp,
) -> Result<SessionId, sqlx::Error> {
    sqlx::query!(
        "
        update session
        set idempotency_key = null
        where player_id = $1 and idempotency_key = $2 and ended_at is not null
        ",
        session.player.0,
        session.idempotency_key,
    )
    .execute(&mut *tx)
    .await?;
    sqlx::query_scalar!(
        r#"
        insert into session (session_id, player_id, created_at, last_used_at, user_agent, address, idempotency_key)
        values ($1, $2, $3, $3, $4, $5, $6)
        on conflict (player_id, idempotency_key) do update set last_used_at = excluded.last_used_at
        returning session_id as "session_id: SessionId"
        "#,
        session.id.0,
        session.player.0,
        now,
        session.user_agent,
        session.address,
        session.idempotency_key,
    )
    .fetch_one(tx)
    .await
}

/// Whether the player has a session that was opened with this idempotency key.
pub(super) async fn has_session_with_key(
    conn: &mut PgConnection,
    player: PlayerId,
    idempotency_key: &str,
) -> Result<bool, sqlx::Error> {
    sqlx::query_scalar!(
        r#"
        select exists (select from session where player_id = $1 and idempotency_key = $2) as "exists!"
        "#,
        player.0,
        idempotency_key,
    )
    .fetch_one(conn)
    .await
}

pub(super) async fn list_sessions(
    conn: &mut PgConnection,
    player: PlayerId,
    now: Timestamp,
) -> Result<Vec<SessionEntry>, sqlx::Error> {
    sqlx::query_as!(
        SessionEntry,
        r#"
        select session_id as "session_id: SessionId", session.created_at, last_used_at, user_agent, address
        from session
        join refresh_token using (session_id)
        where player_id = $1 and ended_at is null and spent_at is null and expires_at > $2
        order by last_used_at desc, session_id desc
        limit 200
        "#,
        player.0,
        now,
    )
    .fetch_all(conn)
    .await
}

/// Ends one session of the player, if it has not ended.
pub(super) async fn end_session(
    tx: &mut PgConnection,
    player: PlayerId,
    session: SessionId,
    reason: EndReason,
    now: Timestamp,
) -> Result<bool, sqlx::Error> {
    let done = sqlx::query!(
        "
        update session
        set ended_at = $3, end_reason = $4
        where session_id = $1 and player_id = $2 and ended_at is null
        ",
        session.0,
        player.0,
        now,
        reason.as_str(),
    )
    .execute(tx)
    .await?;
    Ok(done.rows_affected() > 0)
}

/// Ends all sessions of the player but one.
pub(super) async fn end_sessions(
    tx: &mut PgConnection,
    player: PlayerId,
    except: Option<SessionId>,
    reason: EndReason,
    now: Timestamp,
) -> Result<Vec<SessionId>, sqlx::Error> {
    sqlx::query_scalar!(
        r#"
        update session
        set ended_at = $3, end_reason = $4
        where player_id = $1 and ended_at is null and session_id is distinct from $2
        returning session_id as "session_id: SessionId"
        "#,
        player.0,
        except.map(|session| session.0),
        now,
        reason.as_str(),
    )
    .fetch_all(tx)
    .await
}

/// The session that a refresh token belongs to.
pub(super) struct TokenSession {
    pub session: SessionId,
    pub player: PlayerId,
    pub ended: bool,
}

/// Holds the session of a refresh token until the transaction ends: whoever refreshes it waits here.
pub(super) async fn lock_session_of(
    tx: &mut PgConnection,
    token_hash: &[u8],
) -> Result<Option<TokenSession>, sqlx::Error> {
    sqlx::query_as!(
        TokenSession,
        r#"
        select session_id as "session: SessionId", player_id as "player: PlayerId", ended_at is not null as "ended!"
        from session
        where session_id = (select session_id from refresh_token where token_hash = $1)
        for update
        "#,
        token_hash,
    )
    .fetch_optional(tx)
    .await
}

/// Reads a refresh token whose session is locked. `successor` tells a successor's hash from the salt.
pub(super) async fn find_token(
    tx: &mut PgConnection,
    token_hash: &[u8],
    successor: impl FnOnce(&[u8]) -> [u8; 32],
) -> Result<Option<Record>, sqlx::Error> {
    let row = sqlx::query!(
        "select expires_at, spent_at, salt, replayed_at from refresh_token where token_hash = $1",
        token_hash
    )
    .fetch_optional(&mut *tx)
    .await?;
    let Some(row) = row else { return Ok(None) };
    let (Some(at), Some(salt)) = (row.spent_at, row.salt) else {
        return Ok(Some(Record { expires_at: row.expires_at, spent: None }));
    };
    let successor_lives = sqlx::query_scalar!(
        r#"select exists (select from refresh_token where token_hash = $1 and spent_at is null) as "exists!""#,
        &successor(&salt),
    )
    .fetch_one(tx)
    .await?;
    let spent = Spent { at, salt, replayed: row.replayed_at.is_some(), successor_lives };
    Ok(Some(Record { expires_at: row.expires_at, spent: Some(spent) }))
}

pub(super) async fn spend_token(
    tx: &mut PgConnection,
    token_hash: &[u8],
    salt: &[u8],
    now: Timestamp,
) -> Result<(), sqlx::Error> {
    sqlx::query!(
        "update refresh_token set spent_at = $3, salt = $2 where token_hash = $1",
        token_hash,
        salt,
        now
    )
    .execute(tx)
    .await?;
    Ok(())
}

pub(super) async fn mark_replayed(
    tx: &mut PgConnection,
    token_hash: &[u8],
    now: Timestamp,
) -> Result<(), sqlx::Error> {
    sqlx::query!("update refresh_token set replayed_at = $2 where token_hash = $1", token_hash, now)
        .execute(tx)
        .await?;
    Ok(())
}

/// Adds the session's live token. The one before it must be spent or gone.
pub(super) async fn insert_token(
    tx: &mut PgConnection,
    session: SessionId,
    token_hash: &[u8],
    now: Timestamp,
    expires_at: Timestamp,
) -> Result<(), sqlx::Error> {
    sqlx::query!(
        "insert into refresh_token (token_hash, session_id, created_at, expires_at) values ($1, $2, $3, $4)",
        token_hash,
        session.0,
        now,
        expires_at,
    )
    .execute(tx)
    .await?;
    Ok(())
}

pub(super) async fn delete_tokens(tx: &mut PgConnection, session: SessionId) -> Result<(), sqlx::Error> {
    sqlx::query!("delete from refresh_token where session_id = $1", session.0).execute(tx).await?;
    Ok(())
}

pub(super) async fn touch_session(
    tx: &mut PgConnection,
    session: SessionId,
    address: &str,
    now: Timestamp,
) -> Result<(), sqlx::Error> {
    sqlx::query!(
        "update session set last_used_at = $2, address = $3 where session_id = $1",
        session.0,
        now,
        address
    )
    .execute(tx)
    .await?;
    Ok(())
}

pub(super) async fn list_ended_sessions(
    conn: &mut PgConnection,
    since: Timestamp,
) -> Result<Vec<(SessionId, Timestamp)>, sqlx::Error> {
    let rows = sqlx::query!(
        r#"select session_id as "session_id: SessionId", ended_at as "ended_at!" from session where ended_at >= $1"#,
        since,
    )
    .fetch_all(conn)
    .await?;
    Ok(rows.into_iter().map(|row| (row.session_id, row.ended_at)).collect())
}

/// Lists the keys that sign or may have signed a token that is still good.
pub(super) async fn list_keys(
    conn: &mut PgConnection,
    retired_since: Timestamp,
) -> Result<Vec<StoredKey>, sqlx::Error> {
    sqlx::query_as!(
        StoredKey,
        "
        select kid, secret, created_at, retired_at
        from signing_key
        where retired_at is null or retired_at > $1
        order by created_at, kid
        ",
        retired_since,
    )
    .fetch_all(conn)
    .await
}

/// Adds the key if there is none that signs. Processes that start at once come one after the other.
pub(super) async fn insert_first_key(tx: &mut PgConnection, key: &StoredKey) -> Result<(), sqlx::Error> {
    let exists = sqlx::query_scalar!(
        r#"select exists (select from signing_key where retired_at is null) as "exists!""#
    );
    if exists.fetch_one(&mut *tx).await? {
        return Ok(());
    }
    sqlx::query!("lock table signing_key in share row exclusive mode").execute(&mut *tx).await?;
    sqlx::query!(
        "
        insert into signing_key (kid, secret, created_at)
        select $1, $2, $3
        where not exists (select from signing_key where retired_at is null)
        ",
        key.kid,
        key.secret,
        key.created_at,
    )
    .execute(tx)
    .await?;
    Ok(())
}

pub(super) async fn insert_key(tx: &mut PgConnection, key: &StoredKey) -> Result<(), sqlx::Error> {
    sqlx::query!(
        "insert into signing_key (kid, secret, created_at) values ($1, $2, $3)",
        key.kid,
        key.secret,
        key.created_at,
    )
    .execute(tx)
    .await?;
    Ok(())
}

/// Retires the keys that sign, one rotation at a time.
pub(super) async fn retire_keys(tx: &mut PgConnection, at: Timestamp) -> Result<(), sqlx::Error> {
    sqlx::query!("lock table signing_key in share row exclusive mode").execute(&mut *tx).await?;
    sqlx::query!("update signing_key set retired_at = $1 where retired_at is null", at).execute(tx).await?;
    Ok(())
}

/// Deletes up to 1000 refresh tokens that expired, or whose session ended before `ended_before`.
pub(super) async fn delete_old_tokens(
    tx: &mut PgConnection,
    now: Timestamp,
    ended_before: Timestamp,
) -> Result<u64, sqlx::Error> {
    let done = sqlx::query!(
        "
        delete from refresh_token
        where token_hash in (
            select token_hash
            from refresh_token
            join session using (session_id)
            where expires_at <= $1 or ended_at < $2
            limit 1000
            for update of refresh_token skip locked
        )
        ",
        now,
        ended_before,
    )
    .execute(tx)
    .await?;
    Ok(done.rows_affected())
}

/// Deletes up to 1000 sessions without tokens that were last heard of before the given time.
pub(super) async fn delete_old_sessions(
    tx: &mut PgConnection,
    before: Timestamp,
) -> Result<u64, sqlx::Error> {
    let done = sqlx::query!(
        "
        delete from session
        where session_id in (
            select session_id
            from session
            where coalesce(ended_at, last_used_at) < $1
                and not exists (select from refresh_token where refresh_token.session_id = session.session_id)
            limit 1000
            for update skip locked
        )
        ",
        before,
    )
    .execute(tx)
    .await?;
    Ok(done.rows_affected())
}

/// Deletes the keys that were retired long ago.
pub(super) async fn delete_old_keys(
    tx: &mut PgConnection,
    retired_before: Timestamp,
) -> Result<u64, sqlx::Error> {
    let done =
        sqlx::query!("delete from signing_key where retired_at < $1", retired_before).execute(tx).await?;
    Ok(done.rows_affected())
}
