//! Accounts: signing up, logging in and out, refreshing, the profile, closing.
//!
//! Told the time and handed randomness ([`Drawn`]); knows nothing of HTTP or of games. A session that ends is
//! refused at once by this process and by every other one when it looks again
//! ([`access::AccessTokens::refresh_from`]).

pub mod access;
pub mod attempts;
pub mod names;
pub mod password;
pub mod refresh;
mod store;

use chrono::TimeDelta;
use sqlx::{PgConnection, PgPool};

use self::{
    access::{AccessTokens, Claimant, KeyError, KeySecret},
    attempts::{Attempts, Familiarity, TooManyAttempts},
    names::{Bio, BioError, PasswordError, Username, UsernameError},
    password::{HashError, NewPasswordError, PasswordHasher, Salt},
    refresh::{RefreshToken, Verdict},
    store::{Credentials, EndReason, NewSession},
};
use crate::{
    config::AccountSettings,
    db::violates,
    ids::{PlayerId, SessionId},
    wall_clock::Timestamp,
};

/// How long sessions are remembered after their end, and with them the addresses that an owner uses.
const SESSION_MEMORY: TimeDelta = TimeDelta::days(90);

/// Where the client's address is read.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum AddressSource {
    /// From the connection.
    Peer,
    /// From the headers that the proxy in front sets.
    Proxy,
}

/// Everything that the operations share. Clones share it.
#[derive(Clone)]
pub struct Accounts {
    hasher: PasswordHasher,
    tokens: AccessTokens,
    attempts: Attempts,
    refresh_lifetime: TimeDelta,
    address_source: AddressSource,
}

/// Random values for an operation that opens a session.
pub struct Drawn {
    /// For a player's id.
    pub player: u128,
    /// For a session's id.
    pub session: u128,
    /// For the first refresh token.
    pub refresh_token: [u8; 32],
    /// For a password's hash.
    pub salt: Salt,
}

/// Where a request comes from.
pub struct Client {
    /// Its address, as [`attempts::network_of`] tells it.
    pub address: String,
    /// What it says it is.
    pub user_agent: String,
    /// What makes a repeat of the request known as one.
    pub idempotency_key: Option<String>,
}

/// A change of password. Deliberately without `Debug`.
pub struct PasswordChange {
    /// The password as it is.
    pub current: String,
    /// The password that is wanted.
    pub new: String,
}

/// An account as its owner sees it.
#[derive(Clone, Debug)]
pub struct Me {
    /// The player's id.
    pub player_id: PlayerId,
    /// The name, as it was written at sign-up.
    pub username: String,
    /// What the player says of themselves.
    pub bio: String,
    /// Whether a program plays.
    pub is_bot: bool,
    /// When they signed up.
    pub created_at: Timestamp,
}

/// An account as everybody sees it.
#[derive(Clone, Debug)]
pub struct Player {
    /// The player's id.
    pub player_id: PlayerId,
    /// The name, as it was written at sign-up.
    pub username: String,
    /// What the player says of themselves.
    pub bio: String,
    /// Whether a program plays.
    pub is_bot: bool,
    /// When they signed up.
    pub created_at: Timestamp,
    /// Whether the operator banned them.
    pub banned: bool,
}

/// A session that can still be refreshed.
#[derive(Clone, Debug)]
pub struct SessionEntry {
    /// Its id.
    pub session_id: SessionId,
    /// When it began.
    pub created_at: Timestamp,
    /// When it was last refreshed.
    pub last_used_at: Timestamp,
    /// What the client said it is.
    pub user_agent: String,
    /// From where it was last refreshed.
    pub address: String,
}

/// The tokens of a session. Deliberately without `Debug`.
pub struct Tokens {
    /// Who they speak for.
    pub claimant: Claimant,
    /// Good for requests.
    pub access_token: String,
    /// How long it is.
    pub access_lifetime: TimeDelta,
    /// Good for the next tokens, once.
    pub refresh_token: RefreshToken,
}

/// Why the accounts could not be started.
#[derive(Debug, thiserror::Error)]
pub enum StartError {
    /// The keys.
    #[error(transparent)]
    Keys(#[from] KeyError),
    /// Argon2's settings.
    #[error(transparent)]
    Hash(#[from] HashError),
}

/// Why nobody was signed up.
#[derive(Debug, thiserror::Error)]
#[expect(missing_docs, reason = "the messages tell")]
pub enum RegisterError {
    #[error(transparent)]
    TooManyAttempts(#[from] TooManyAttempts),
    #[error("username {0}")]
    Username(#[from] UsernameError),
    #[error("password {0}")]
    Password(#[from] PasswordError),
    #[error("the username is taken")]
    UsernameTaken,
    #[error(transparent)]
    Hash(#[from] HashError),
    #[error("no access token")]
    Key(#[from] KeyError),
    #[error("database failure")]
    Database(#[from] sqlx::Error),
}

/// Why nobody was logged in.
#[derive(Debug, thiserror::Error)]
#[expect(missing_docs, reason = "the messages tell")]
pub enum LogInError {
    #[error(transparent)]
    TooManyAttempts(#[from] TooManyAttempts),
    #[error("wrong username or password")]
    WrongCredentials,
    #[error("the account is banned")]
    Banned,
    #[error(transparent)]
    Hash(#[from] HashError),
    #[error("no access token")]
    Key(#[from] KeyError),
    #[error("database failure")]
    Database(#[from] sqlx::Error),
}

/// Why no new tokens were given out.
#[derive(Debug, thiserror::Error)]
#[expect(missing_docs, reason = "the messages tell")]
pub enum RefreshError {
    #[error("the refresh token is unknown, expired, or of an ended session")]
    Invalid,
    #[error("the refresh token was used before")]
    Reused,
    #[error("no access token")]
    Key(#[from] KeyError),
    #[error("database failure")]
    Database(#[from] sqlx::Error),
}

/// Why the password stays as it is.
#[derive(Debug, thiserror::Error)]
#[expect(missing_docs, reason = "the messages tell")]
pub enum ChangePasswordError {
    #[error(transparent)]
    TooManyAttempts(#[from] TooManyAttempts),
    #[error("wrong password")]
    WrongPassword,
    #[error("new password {0}")]
    Password(#[from] PasswordError),
    #[error(transparent)]
    Hash(#[from] HashError),
    #[error("database failure")]
    Database(#[from] sqlx::Error),
}

/// Why the account is not closed.
#[derive(Debug, thiserror::Error)]
#[expect(missing_docs, reason = "the messages tell")]
pub enum CloseAccountError {
    #[error(transparent)]
    TooManyAttempts(#[from] TooManyAttempts),
    #[error("wrong password")]
    WrongPassword,
    #[error(transparent)]
    Hash(#[from] HashError),
    #[error("database failure")]
    Database(#[from] sqlx::Error),
}

/// Why the profile stays as it is, or cannot be shown.
#[derive(Debug, thiserror::Error)]
#[expect(missing_docs, reason = "the messages tell")]
pub enum ProfileError {
    #[error("the account is closed")]
    Closed,
    #[error("bio {0}")]
    Bio(#[from] BioError),
    #[error("database failure")]
    Database(#[from] sqlx::Error),
}

/// Why the account is not declared a bot.
#[derive(Debug, thiserror::Error)]
#[expect(missing_docs, reason = "the messages tell")]
pub enum DeclareBotError {
    #[error("the account is closed")]
    Closed,
    #[error("rated games were played")]
    TooLate,
    #[error("database failure")]
    Database(#[from] sqlx::Error),
}

/// Why nobody was banned or unbanned.
#[derive(Debug, thiserror::Error)]
#[expect(missing_docs, reason = "the messages tell")]
pub enum BanError {
    #[error("no such player")]
    NoSuchPlayer,
    #[error("database failure")]
    Database(#[from] sqlx::Error),
}

impl Accounts {
    /// Gets ready, with limits on attempts and addresses read from the connection.
    ///
    /// # Errors
    ///
    /// When the settings are no good or the database fails.
    pub async fn start(
        db: &PgPool, settings: &AccountSettings, now: Timestamp, secret: KeySecret, decoy_salt: Salt,
    ) -> Result<Accounts, StartError> {
        Ok(Accounts {
            hasher: PasswordHasher::new(settings, decoy_salt)?,
            tokens: AccessTokens::start(db, settings, now, secret).await?,
            attempts: Attempts::limited(),
            refresh_lifetime: TimeDelta::days(settings.refresh_token_days),
            address_source: AddressSource::Peer,
        })
    }

    /// Lets everybody try as often as they like.
    pub fn without_limits(self) -> Accounts {
        Accounts { attempts: Attempts::unlimited(), ..self }
    }

    /// Reads addresses from the headers of a trusted proxy.
    pub fn behind_proxy(self) -> Accounts {
        Accounts { address_source: AddressSource::Proxy, ..self }
    }

    /// What issues and verifies access tokens.
    pub fn tokens(&self) -> &AccessTokens {
        &self.tokens
    }

    /// Where to read the client's address.
    pub fn address_source(&self) -> AddressSource {
        self.address_source
    }

    /// Signs somebody up and logs them in. A repeat with the same idempotency key, name and password logs in.
    ///
    /// # Errors
    ///
    /// When the name or password cannot be had.
    pub async fn register(
        &self, db: &PgPool, now: Timestamp, drawn: Drawn, client: Client, username: &str, password: String,
    ) -> Result<(Me, Tokens), RegisterError> {
        self.attempts.admit_sign_up(&client.address, now)?;
        let username = Username::parse(username)?;
        let hash = self.hasher.hash_new(password.clone(), username.to_string(), drawn.salt).await;
        let hash = hash.map_err(|err| match err {
            NewPasswordError::Refused(err) => RegisterError::from(err),
            NewPasswordError::Hash(err) => RegisterError::from(err),
        })?;
        let player = PlayerId::new(now, drawn.player);
        let mut tx = db.begin().await?;
        if let Err(err) = store::insert_player(&mut tx, player, &username, now).await {
            tx.rollback().await?;
            let taken = violates(&err, "player_username_key");
            return if taken { self.register_again(db, now, drawn, client, &username, password).await } else { Err(err.into()) };
        }
        store::put_password(&mut tx, player, &hash, now).await?;
        let tokens = self.open_session(&mut tx, now, &drawn, &client, player).await?;
        tx.commit().await?;
        let me = Me { player_id: player, username: username.to_string(), bio: String::new(), is_bot: false, created_at: now };
        Ok((me, tokens?))
    }

    async fn register_again(
        &self, db: &PgPool, now: Timestamp, drawn: Drawn, client: Client, username: &Username, password: String,
    ) -> Result<(Me, Tokens), RegisterError> {
        let Some(key) = client.idempotency_key.clone() else { return Err(RegisterError::UsernameTaken) };
        let mut conn = db.acquire().await?;
        let found = store::find_credentials(&mut conn, &username.key(), &client.address).await?;
        let Some((credentials, _)) = found else { return Err(RegisterError::UsernameTaken) };
        if !store::has_session_with_key(&mut conn, credentials.player, &key).await? {
            return Err(RegisterError::UsernameTaken);
        }
        drop(conn);
        self.log_in(db, now, drawn, client, username.as_str(), password).await.map_err(|err| match err {
            LogInError::TooManyAttempts(err) => err.into(),
            LogInError::WrongCredentials | LogInError::Banned => RegisterError::UsernameTaken,
            LogInError::Hash(err) => err.into(),
            LogInError::Key(err) => err.into(),
            LogInError::Database(err) => err.into(),
        })
    }

    /// Opens a session. A repeat with the same idempotency key opens the same session again, with new tokens.
    ///
    /// # Errors
    ///
    /// When the credentials are wrong: in the same words and after the same work, whatever is wrong about them.
    pub async fn log_in(
        &self, db: &PgPool, now: Timestamp, drawn: Drawn, client: Client, username: &str, password: String,
    ) -> Result<(Me, Tokens), LogInError> {
        let key = names::key_of(username).unwrap_or_default();
        let mut conn = db.acquire().await?;
        let found = store::find_credentials(&mut conn, &key, &client.address).await?;
        drop(conn);
        let (credentials, known) = found.unzip();
        let familiarity = if known == Some(true) { Familiarity::Known } else { Familiarity::Strange };
        self.attempts.admit(&key, &client.address, familiarity, now)?;
        let stored = credentials.as_ref().map(|credentials| credentials.hash.clone());
        let right = self.hasher.verify(password.clone(), stored).await.inspect_err(|_| {
            self.attempts.forgive(&key, &client.address, familiarity);
        })?;
        let Some(credentials) = credentials.filter(|_| right) else { return Err(LogInError::WrongCredentials) };
        self.attempts.forgive(&key, &client.address, familiarity);
        if credentials.banned {
            return Err(LogInError::Banned);
        }
        let better = match self.hasher.needs_rehash(&credentials.hash) {
            true => Some(self.hasher.hash_again(password, drawn.salt).await?),
            false => None,
        };
        self.admit_player(db, now, &drawn, &client, credentials, better).await
    }

    /// Opens the session of somebody who told the password, if it is still the password.
    async fn admit_player(
        &self, db: &PgPool, now: Timestamp, drawn: &Drawn, client: &Client, seen: Credentials, better: Option<String>,
    ) -> Result<(Me, Tokens), LogInError> {
        let mut tx = db.begin().await?;
        let current = store::lock_credentials(&mut tx, seen.player).await?.filter(|it| it.hash == seen.hash);
        let Some(current) = current else { return Err(LogInError::WrongCredentials) };
        if current.banned {
            return Err(LogInError::Banned);
        }
        if let Some(hash) = better {
            store::put_password(&mut tx, seen.player, &hash, now).await?;
        }
        let tokens = self.open_session(&mut tx, now, drawn, client, seen.player).await?;
        let me = store::find_me(&mut tx, seen.player).await?.ok_or(LogInError::WrongCredentials)?;
        tx.commit().await?;
        Ok((me, tokens?))
    }

    async fn open_session(
        &self, tx: &mut PgConnection, now: Timestamp, drawn: &Drawn, client: &Client, player: PlayerId,
    ) -> Result<Result<Tokens, KeyError>, sqlx::Error> {
        let session = NewSession {
            id: SessionId::new(now, drawn.session),
            player,
            user_agent: &client.user_agent,
            address: &client.address,
            idempotency_key: client.idempotency_key.as_deref(),
        };
        let session = store::open_session(tx, session, now).await?;
        let refresh_token = RefreshToken::first(drawn.refresh_token);
        store::delete_tokens(tx, session).await?;
        store::insert_token(tx, session, &refresh_token.hash(), now, now + self.refresh_lifetime).await?;
        Ok(self.tokens_for(Claimant { player, session }, refresh_token, now))
    }

    fn tokens_for(
        &self, claimant: Claimant, refresh_token: RefreshToken, now: Timestamp,
    ) -> Result<Tokens, KeyError> {
        let access_token = self.tokens.issue(claimant, now)?;
        Ok(Tokens { claimant, access_token, access_lifetime: self.tokens.lifetime(), refresh_token })
    }

    /// Spends a refresh token for the next tokens of its session.
    ///
    /// # Errors
    ///
    /// When the token is not good. If it was used before, the session ends.
    pub async fn refresh(
        &self, db: &PgPool, now: Timestamp, salt: [u8; 32], address: &str, token: &str,
    ) -> Result<Tokens, RefreshError> {
        let token = RefreshToken::parse(token).ok_or(RefreshError::Invalid)?;
        let hash = token.hash();
        let mut tx = db.begin().await?;
        let session = store::lock_session_of(&mut tx, &hash).await?.filter(|session| !session.ended);
        let session = session.ok_or(RefreshError::Invalid)?;
        let record = store::find_token(&mut tx, &hash, |salt| token.successor(salt).hash()).await?;
        let successor = match refresh::judge(record.ok_or(RefreshError::Invalid)?, now) {
            Verdict::Rotate => {
                let successor = token.successor(&salt);
                store::spend_token(&mut tx, &hash, &salt, now).await?;
                let expires_at = now + self.refresh_lifetime;
                store::insert_token(&mut tx, session.session, &successor.hash(), now, expires_at).await?;
                store::touch_session(&mut tx, session.session, address, now).await?;
                successor
            }
            Verdict::Replay(salt) => {
                store::mark_replayed(&mut tx, &hash, now).await?;
                token.successor(&salt)
            }
            Verdict::Expired => return Err(RefreshError::Invalid),
            Verdict::Reused => {
                store::end_session(&mut tx, session.player, session.session, EndReason::TokenReused, now).await?;
                tx.commit().await?;
                self.tokens.revoke(session.session, now);
                return Err(RefreshError::Reused);
            }
        };
        tx.commit().await?;
        let claimant = Claimant { player: session.player, session: session.session };
        Ok(self.tokens_for(claimant, successor, now)?)
    }

    /// Ends the session that the caller is in.
    ///
    /// # Errors
    ///
    /// When the database fails.
    pub async fn log_out(&self, db: &PgPool, now: Timestamp, caller: Claimant) -> Result<(), sqlx::Error> {
        self.end(db, now, caller.player, caller.session, EndReason::LoggedOut).await
    }

    /// Ends a session of the caller; does nothing if it has ended or is not theirs.
    ///
    /// # Errors
    ///
    /// When the database fails.
    pub async fn end_session(
        &self, db: &PgPool, now: Timestamp, caller: Claimant, session: SessionId,
    ) -> Result<(), sqlx::Error> {
        let reason =
            if session == caller.session { EndReason::LoggedOut } else { EndReason::EndedByPlayer };
        self.end(db, now, caller.player, session, reason).await
    }

    async fn end(
        &self, db: &PgPool, now: Timestamp, player: PlayerId, session: SessionId, reason: EndReason,
    ) -> Result<(), sqlx::Error> {
        let mut conn = db.acquire().await?;
        if store::end_session(&mut conn, player, session, reason, now).await? {
            self.tokens.revoke(session, now);
        }
        Ok(())
    }

    /// Ends all sessions of the caller, the one they are in included.
    ///
    /// # Errors
    ///
    /// When the database fails.
    pub async fn end_all_sessions(
        &self, db: &PgPool, now: Timestamp, caller: Claimant,
    ) -> Result<(), sqlx::Error> {
        let mut conn = db.acquire().await?;
        let ended = store::end_sessions(&mut conn, caller.player, None, EndReason::EndedByPlayer, now).await?;
        self.revoke_all(&ended, now);
        Ok(())
    }

    /// Changes the password and ends every session but the caller's.
    ///
    /// # Errors
    ///
    /// When the current password is wrong or the new one cannot be chosen.
    pub async fn change_password(
        &self, db: &PgPool, now: Timestamp, salt: Salt, address: &str, caller: Claimant, change: PasswordChange,
    ) -> Result<(), ChangePasswordError> {
        let seen = self.prove(db, now, address, caller.player, change.current).await?;
        let seen = seen.ok_or(ChangePasswordError::WrongPassword)?;
        let hash = self.hasher.hash_new(change.new, seen.username.clone(), salt).await;
        let hash = hash.map_err(|err| match err {
            NewPasswordError::Refused(err) => ChangePasswordError::from(err),
            NewPasswordError::Hash(err) => ChangePasswordError::from(err),
        })?;
        let mut tx = db.begin().await?;
        let current = store::lock_credentials(&mut tx, caller.player).await?;
        if current.is_none_or(|current| current.hash != seen.hash) {
            return Err(ChangePasswordError::WrongPassword);
        }
        store::put_password(&mut tx, caller.player, &hash, now).await?;
        let reason = EndReason::PasswordChanged;
        let ended = store::end_sessions(&mut tx, caller.player, Some(caller.session), reason, now).await?;
        tx.commit().await?;
        self.revoke_all(&ended, now);
        Ok(())
    }

    /// Closes the account for good: the name, the profile, the password and the sessions go, the games stay.
    ///
    /// # Errors
    ///
    /// When the password is wrong.
    pub async fn close_account(
        &self, db: &PgPool, now: Timestamp, address: &str, caller: Claimant, password: String,
    ) -> Result<(), CloseAccountError> {
        let seen = self.prove(db, now, address, caller.player, password).await?;
        let seen = seen.ok_or(CloseAccountError::WrongPassword)?;
        let mut tx = db.begin().await?;
        let current = store::lock_credentials(&mut tx, caller.player).await?;
        if current.is_none_or(|current| current.hash != seen.hash) {
            return Err(CloseAccountError::WrongPassword);
        }
        let ended = store::end_sessions(&mut tx, caller.player, None, EndReason::AccountClosed, now).await?;
        store::close_player(&mut tx, caller.player, now).await?;
        tx.commit().await?;
        self.revoke_all(&ended, now);
        Ok(())
    }

    /// Has a player who is logged in tell the password once more.
    async fn prove(
        &self, db: &PgPool, now: Timestamp, address: &str, player: PlayerId, password: String,
    ) -> Result<Option<Credentials>, ProveError> {
        let mut conn = db.acquire().await?;
        let credentials = store::find_credentials_of(&mut conn, player).await?;
        drop(conn);
        let key = player.to_string();
        self.attempts.admit(&key, address, Familiarity::Known, now)?;
        let stored = credentials.as_ref().map(|credentials| credentials.hash.clone());
        let verified = self.hasher.verify(password, stored).await;
        if !matches!(verified, Ok(false)) {
            self.attempts.forgive(&key, address, Familiarity::Known);
        }
        let right = verified?;
        Ok(credentials.filter(|_| right))
    }

    fn revoke_all(&self, sessions: &[SessionId], now: Timestamp) {
        for session in sessions {
            self.tokens.revoke(*session, now);
        }
    }
}

/// Why the password was not even looked at.
enum ProveError {
    TooManyAttempts(TooManyAttempts),
    Hash(HashError),
    Database(sqlx::Error),
}

macro_rules! prove_error_from {
    ($($source:ty => $variant:ident),*) => {$(
        impl From<$source> for ProveError {
            fn from(err: $source) -> ProveError {
                ProveError::$variant(err)
            }
        }
    )*};
}

prove_error_from!(TooManyAttempts => TooManyAttempts, HashError => Hash, sqlx::Error => Database);

impl From<ProveError> for ChangePasswordError {
    fn from(err: ProveError) -> ChangePasswordError {
        match err {
            ProveError::TooManyAttempts(err) => err.into(),
            ProveError::Hash(err) => err.into(),
            ProveError::Database(err) => err.into(),
        }
    }
}

impl From<ProveError> for CloseAccountError {
    fn from(err: ProveError) -> CloseAccountError {
        match err {
            ProveError::TooManyAttempts(err) => err.into(),
            ProveError::Hash(err) => err.into(),
            ProveError::Database(err) => err.into(),
        }
    }
}

/// Lists the sessions of a player that can still be refreshed, the last used first.
///
/// # Errors
///
/// When the database fails.
pub async fn list_sessions(
    db: &PgPool, now: Timestamp, player: PlayerId,
) -> Result<Vec<SessionEntry>, sqlx::Error> {
    store::list_sessions(&mut *db.acquire().await?, player, now).await
}

/// Reads the caller's own account.
///
/// # Errors
///
/// When the account is closed.
pub async fn find_me(db: &PgPool, player: PlayerId) -> Result<Me, ProfileError> {
    store::find_me(&mut *db.acquire().await?, player).await?.ok_or(ProfileError::Closed)
}

/// Changes what is given of the profile.
///
/// # Errors
///
/// When the text is no bio or the account is closed.
pub async fn update_profile(db: &PgPool, player: PlayerId, bio: Option<&str>) -> Result<Me, ProfileError> {
    let bio = bio.map(Bio::parse).transpose()?;
    let mut conn = db.acquire().await?;
    if let Some(bio) = bio {
        store::set_bio(&mut conn, player, &bio).await?;
    }
    store::find_me(&mut conn, player).await?.ok_or(ProfileError::Closed)
}

/// Declares that a program plays this account. Cannot be taken back.
///
/// # Errors
///
/// When rated games were played as a human.
pub async fn declare_bot(db: &PgPool, player: PlayerId) -> Result<Me, DeclareBotError> {
    let mut tx = db.begin().await?;
    store::lock_credentials(&mut tx, player).await?;
    let me = store::find_me(&mut tx, player).await?.ok_or(DeclareBotError::Closed)?;
    if me.is_bot {
        return Ok(me);
    }
    if store::has_rated_games(&mut tx, player).await? {
        return Err(DeclareBotError::TooLate);
    }
    store::set_bot(&mut tx, player).await?;
    tx.commit().await?;
    Ok(Me { is_bot: true, ..me })
}

/// Finds a player by name, without regard to case. Closed accounts are not found.
///
/// # Errors
///
/// When the database fails.
pub async fn find_player(db: &PgPool, username: &str) -> Result<Option<Player>, sqlx::Error> {
    let Some(key) = names::key_of(username) else { return Ok(None) };
    store::find_player(&mut *db.acquire().await?, &key).await
}

/// Bans a player and ends their sessions; every server refuses their tokens when it looks again.
///
/// # Errors
///
/// When there is no such player.
pub async fn ban(db: &PgPool, username: &str, now: Timestamp) -> Result<(), BanError> {
    let player = find_player(db, username).await?.ok_or(BanError::NoSuchPlayer)?.player_id;
    let mut tx = db.begin().await?;
    store::lock_credentials(&mut tx, player).await?;
    store::set_banned(&mut tx, player, Some(now)).await?;
    store::end_sessions(&mut tx, player, None, EndReason::Banned, now).await?;
    tx.commit().await?;
    Ok(())
}

/// Lets a banned player log in again.
///
/// # Errors
///
/// When there is no such player.
pub async fn unban(db: &PgPool, username: &str) -> Result<(), BanError> {
    let player = find_player(db, username).await?.ok_or(BanError::NoSuchPlayer)?.player_id;
    store::set_banned(&mut *db.acquire().await?, player, None).await?;
    Ok(())
}

/// Deletes a batch of what is no longer needed: refresh tokens, old sessions, old keys. Says how many rows went; call
/// it again while that is not zero.
///
/// # Errors
///
/// When the database fails.
pub async fn sweep(db: &PgPool, now: Timestamp) -> Result<u64, sqlx::Error> {
    let mut tx = db.begin().await?;
    let tokens = store::delete_old_tokens(&mut tx, now, now - TimeDelta::days(1)).await?;
    let sessions = store::delete_old_sessions(&mut tx, now - SESSION_MEMORY).await?;
    let keys = store::delete_old_keys(&mut tx, now - TimeDelta::days(1)).await?;
    tx.commit().await?;
    Ok(tokens + sessions + keys)
}
