//! Guests: whoever plays at once, under a made-up name and without a password. A guest can become an account, and is
//! removed when it has not been seen for long.

use chrono::TimeDelta;
use sha2::{Digest, Sha256};
use sqlx::{PgConnection, PgPool};

use super::{
    Accounts, Client, Drawn, Me, Tokens,
    access::{Claimant, KeyError},
    attempts::TooManyAttempts,
    names::{PasswordError, Username, UsernameError},
    password::{HashError, NewPasswordError, Salt},
    store,
};
use crate::{
    db::violates,
    ids::{PlayerId, SessionId},
    wall_clock::Timestamp,
};

/// A guest that has shown no sign of life for so long is removed.
const GUEST_MEMORY: TimeDelta = TimeDelta::days(30);

/// For so long a repeated request for a guest answers the first one's.
const KEY_MEMORY: TimeDelta = TimeDelta::hours(24);

/// So many characters make the key of a request for a guest hard to guess.
const KEY_CHARS: usize = 22;

/// So many guests are removed at once.
const REMOVED_AT_ONCE: i64 = 200;

/// Why there is no guest.
#[derive(Debug, thiserror::Error)]
#[expect(missing_docs, reason = "the messages tell")]
pub enum GuestError {
    #[error(transparent)]
    TooManyAttempts(#[from] TooManyAttempts),
    #[error(
        "the Idempotency-Key for a guest must be hard to guess, since whoever knows it has the guest: 22 or more characters"
    )]
    WeakKey,
    #[error("the guest is banned")]
    Banned,
    #[error("no access token")]
    Key(#[from] KeyError),
    #[error("database failure")]
    Database(#[from] sqlx::Error),
}

/// Why a guest did not become an account.
#[derive(Debug, thiserror::Error)]
#[expect(missing_docs, reason = "the messages tell")]
pub enum ClaimError {
    #[error(transparent)]
    TooManyAttempts(#[from] TooManyAttempts),
    #[error("username {0}")]
    Username(#[from] UsernameError),
    #[error("password {0}")]
    Password(#[from] PasswordError),
    #[error("the username is taken")]
    UsernameTaken,
    #[error("this is an account already")]
    NoGuest,
    #[error(transparent)]
    Hash(#[from] HashError),
    #[error("database failure")]
    Database(#[from] sqlx::Error),
}

/// What a guest wants to be called and to log in with. Deliberately without `Debug`.
pub struct Claim {
    /// The username.
    pub username: String,
    /// The password.
    pub password: String,
}

impl Accounts {
    /// Makes a guest and opens its session. A repeat with the same idempotency key within a day opens the same session
    /// again.
    ///
    /// # Errors
    ///
    /// When there were too many from this address, or the key could be guessed.
    pub async fn welcome_guest(
        &self,
        db: &PgPool,
        now: Timestamp,
        drawn: Drawn,
        client: Client,
    ) -> Result<(Me, Tokens), GuestError> {
        let key = client.idempotency_key.as_deref();
        if key.is_some_and(|key| key.len() < KEY_CHARS) {
            return Err(GuestError::WeakKey);
        }
        let key = key.map(|key| Sha256::digest(key).to_vec());
        self.attempts.admit_guest(&client.address, now)?;
        let mut tx = db.begin().await?;
        let id = PlayerId::new(now, drawn.player);
        let player = match insert_guest(&mut tx, id, drawn.player, key.as_deref(), now).await {
            Err(err) if violates(&err, "player_guest_key") => {
                tx.rollback().await?;
                tx = db.begin().await?;
                let known = key.as_deref().unwrap_or_default();
                let (guest, banned) = store::find_guest_by_key(&mut tx, known).await?.ok_or(err)?;
                if banned {
                    return Err(GuestError::Banned);
                }
                guest
            }
            made => made.map(|()| id)?,
        };
        let tokens = self.open_session(&mut tx, now, &drawn, &client, player).await?;
        let me = store::find_me(&mut tx, player).await?.ok_or(sqlx::Error::RowNotFound)?;
        tx.commit().await?;
        Ok((me, tokens?))
    }

    /// Makes a guest an account, with its games and its sessions. Claiming the same again answers the same.
    ///
    /// # Errors
    ///
    /// When the name or password cannot be had, or the caller is no guest.
    pub async fn claim_guest(
        &self,
        db: &PgPool,
        now: Timestamp,
        salt: Salt,
        address: &str,
        caller: Claimant,
        claim: Claim,
    ) -> Result<Me, ClaimError> {
        let Claim { username, password } = claim;
        self.attempts.admit_sign_up(address, now)?;
        let username = Username::parse(&username)?;
        let hash = self.hasher.hash_new(password.clone(), username.to_string(), salt).await;
        let hash = hash.map_err(|err| match err {
            NewPasswordError::Refused(err) => ClaimError::from(err),
            NewPasswordError::Hash(err) => ClaimError::from(err),
        })?;
        let mut tx = db.begin().await?;
        if !store::lock_guest(&mut tx, caller.player).await? {
            tx.rollback().await?;
            return self.claimed_before(db, caller.player, &username, password).await;
        }
        store::name_guest(&mut tx, caller.player, &username).await.map_err(|err| {
            if violates(&err, "player_username_key") { ClaimError::UsernameTaken } else { err.into() }
        })?;
        store::put_password(&mut tx, caller.player, &hash, now).await?;
        let me = store::find_me(&mut tx, caller.player).await?.ok_or(ClaimError::NoGuest)?;
        tx.commit().await?;
        Ok(me)
    }

    /// Answers who claimed this name with this password before.
    async fn claimed_before(
        &self,
        db: &PgPool,
        player: PlayerId,
        username: &Username,
        password: String,
    ) -> Result<Me, ClaimError> {
        let mut conn = db.acquire().await?;
        let me = store::find_me(&mut conn, player).await?.ok_or(ClaimError::NoGuest)?;
        let credentials = store::find_credentials_of(&mut conn, player).await?;
        drop(conn);
        let same_name = me.username == username.as_str();
        let stored = credentials.map(|credentials| credentials.hash);
        if same_name && self.hasher.verify(password, stored).await? {
            Ok(me)
        } else {
            Err(ClaimError::NoGuest)
        }
    }
}

/// Inserts a guest under the first made-up name that nobody has.
async fn insert_guest(
    tx: &mut PgConnection,
    id: PlayerId,
    random: u128,
    key: Option<&[u8]>,
    now: Timestamp,
) -> Result<(), sqlx::Error> {
    if let Some(key) = key {
        store::forget_guest_key(tx, key, now - KEY_MEMORY).await?;
    }
    for attempt in 0..3 {
        let name = Username::of_guest(random.rotate_left(attempt * 40));
        if store::insert_guest(tx, id, &name, key, now).await? {
            return Ok(());
        }
    }
    Err(sqlx::Error::RowNotFound)
}

/// The guests that have shown no sign of life for 30 days, some at once.
///
/// # Errors
///
/// When the database fails.
pub async fn idle_guests(db: &PgPool, now: Timestamp) -> Result<Vec<PlayerId>, sqlx::Error> {
    store::idle_guests(&mut *db.acquire().await?, now - GUEST_MEMORY, REMOVED_AT_ONCE).await
}

/// Removes a guest, if it still is one: its sessions end, its games stay under the name `guest`. Answers the sessions.
///
/// # Errors
///
/// When the database fails.
pub async fn remove_guest(
    db: &PgPool,
    player: PlayerId,
    now: Timestamp,
) -> Result<Option<Vec<SessionId>>, sqlx::Error> {
    let mut tx = db.begin().await?;
    if !store::lock_guest(&mut tx, player).await? {
        return Ok(None);
    }
    let ended = store::end_sessions(&mut tx, player, None, store::EndReason::AccountClosed, now).await?;
    store::close_player(&mut tx, player, now).await?;
    tx.commit().await?;
    Ok(Some(ended))
}
