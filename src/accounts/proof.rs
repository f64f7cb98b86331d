//! What a player may do only by telling the password once more: change it, close the account.

use sqlx::PgPool;

use super::{
    Accounts,
    access::Claimant,
    attempts::{Familiarity, TooManyAttempts},
    guests::remove_guest,
    names::PasswordError,
    password::{HashError, NewPasswordError, Salt},
    store::{self, Credentials, EndReason},
};
use crate::{ids::PlayerId, wall_clock::Timestamp};

/// A change of password. Deliberately without `Debug`.
pub struct PasswordChange {
    /// The password as it is.
    pub current: String,
    /// The password that is wanted.
    pub new: String,
}

/// Why the password stays as it is.
#[derive(Debug, thiserror::Error)]
#[expect(missing_docs, reason = "the messages tell")]
pub enum ChangePasswordError {
    #[error(transparent)]
    TooManyAttempts(#[from] TooManyAttempts),
    #[error("guests have no password")]
    Guest,
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
    #[error("is needed to close an account")]
    PasswordMissing,
    #[error("wrong password")]
    WrongPassword,
    #[error(transparent)]
    Hash(#[from] HashError),
    #[error("database failure")]
    Database(#[from] sqlx::Error),
}

impl Accounts {
    /// Changes the password and ends every session but the caller's.
    ///
    /// # Errors
    ///
    /// When the current password is wrong or the new one cannot be chosen.
    pub async fn change_password(
        &self,
        db: &PgPool,
        now: Timestamp,
        salt: Salt,
        address: &str,
        caller: Claimant,
        change: PasswordChange,
    ) -> Result<(), ChangePasswordError> {
        let me = store::find_me(&mut *db.acquire().await?, caller.player).await?;
        if me.is_some_and(|me| me.is_guest) {
            return Err(ChangePasswordError::Guest);
        }
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

    /// Closes the account for good: the name, the profile, the password and the sessions go, the games stay. A guest
    /// has no password to tell.
    ///
    /// # Errors
    ///
    /// When the password is wrong or missing.
    pub async fn close_account(
        &self,
        db: &PgPool,
        now: Timestamp,
        address: &str,
        caller: Claimant,
        password: Option<String>,
    ) -> Result<(), CloseAccountError> {
        let Some(password) = password else { return self.close_guest(db, now, caller.player).await };
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

    async fn close_guest(
        &self,
        db: &PgPool,
        now: Timestamp,
        player: PlayerId,
    ) -> Result<(), CloseAccountError> {
        let ended = remove_guest(db, player, now).await?.ok_or(CloseAccountError::PasswordMissing)?;
        self.revoke_all(&ended, now);
        Ok(())
    }

    /// Has a player who is logged in tell the password once more.
    async fn prove(
        &self,
        db: &PgPool,
        now: Timestamp,
        address: &str,
        player: PlayerId,
        password: String,
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
