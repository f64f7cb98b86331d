//! Signing up and logging in: how a session begins.

use sqlx::{PgConnection, PgPool};

use super::{
    Accounts, Client, Drawn, Me, Tokens,
    access::{Claimant, KeyError},
    attempts::{Familiarity, TooManyAttempts},
    names::{self, PasswordError, Username, UsernameError},
    password::{HashError, NewPasswordError},
    refresh::RefreshToken,
    store::{self, Credentials, NewSession},
};
use crate::{
    db::violates,
    ids::{PlayerId, SessionId},
    wall_clock::Timestamp,
};

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

impl Accounts {
    /// Signs somebody up and logs them in. A repeat with the same idempotency key, name and password logs in.
    ///
    /// # Errors
    ///
    /// When the name or password cannot be had.
    pub async fn register(
        &self,
        db: &PgPool,
        now: Timestamp,
        drawn: Drawn,
        client: Client,
        username: &str,
        password: String,
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
            return if taken {
                self.register_again(db, now, drawn, client, &username, password).await
            } else {
                Err(err.into())
            };
        }
        store::put_password(&mut tx, player, &hash, now).await?;
        let tokens = self.open_session(&mut tx, now, &drawn, &client, player).await?;
        tx.commit().await?;
        let me = Me {
            player_id: player,
            username: username.to_string(),
            bio: String::new(),
            is_bot: false,
            is_guest: false,
            created_at: now,
        };
        Ok((me, tokens?))
    }

    async fn register_again(
        &self,
        db: &PgPool,
        now: Timestamp,
        drawn: Drawn,
        client: Client,
        username: &Username,
        password: String,
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
        &self,
        db: &PgPool,
        now: Timestamp,
        drawn: Drawn,
        client: Client,
        username: &str,
        password: String,
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
        let Some(credentials) = credentials.filter(|_| right) else {
            return Err(LogInError::WrongCredentials);
        };
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
        &self,
        db: &PgPool,
        now: Timestamp,
        drawn: &Drawn,
        client: &Client,
        seen: Credentials,
        better: Option<String>,
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

    pub(super) async fn open_session(
        &self,
        tx: &mut PgConnection,
        now: Timestamp,
        drawn: &Drawn,
        client: &Client,
        player: PlayerId,
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
}
