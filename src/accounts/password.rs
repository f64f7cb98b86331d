//! Hashing passwords: Argon2id, off the async threads, a few at a time, behind a queue that has an end.
//!
//! Verifying takes the same work whether or not the account exists.

use std::sync::Arc;

use argon2::{
    Algorithm, Argon2, Params, Version,
    password_hash::{PasswordHasher as _, PasswordVerifier as _, phc::PasswordHash},
};
use tokio::sync::Semaphore;

use super::names::{Password, PasswordError};
use crate::config::AccountSettings;

/// How many jobs may wait for each that is worked on: some three seconds' worth.
const WAITING_PER_RUNNING: usize = 128;

/// Random bytes that make a hash unlike any other of the same password.
pub type Salt = [u8; 16];

/// Hashes and verifies passwords.
#[derive(Clone)]
pub struct PasswordHasher(Arc<Inner>);

struct Inner {
    argon2: Argon2<'static>,
    /// What is verified when there is no account.
    decoy: String,
    admitted: Arc<Semaphore>,
    running: Arc<Semaphore>,
}

/// Why a password could not be hashed or verified.
#[derive(Debug, thiserror::Error)]
pub enum HashError {
    /// The queue is full.
    #[error("too many passwords wait to be hashed")]
    Busy,
    /// Argon2 or the stored hash is at fault.
    #[error("hashing failed: {0}")]
    Failed(String),
}

/// Why a new password was not hashed.
#[derive(Debug, thiserror::Error)]
pub enum NewPasswordError {
    /// It cannot be chosen.
    #[error(transparent)]
    Refused(#[from] PasswordError),
    /// It could be, but hashing failed.
    #[error(transparent)]
    Hash(#[from] HashError),
}

impl PasswordHasher {
    /// Makes the hasher, and with `decoy_salt` the hash that stands in for unknown accounts.
    ///
    /// # Errors
    ///
    /// When Argon2 does not take the settings.
    pub fn new(settings: &AccountSettings, decoy_salt: Salt) -> Result<PasswordHasher, HashError> {
        let params =
            Params::new(settings.argon2_memory_kib, settings.argon2_passes, 1, None).map_err(failed)?;
        let argon2 = Argon2::new(Algorithm::Argon2id, Version::V0x13, params);
        let decoy = hash(&argon2, b"nobody's password", decoy_salt)?;
        let running = usize::try_from(settings.argon2_parallel).map_err(failed)?;
        Ok(PasswordHasher(Arc::new(Inner {
            argon2,
            decoy,
            admitted: Arc::new(Semaphore::new(running * (1 + WAITING_PER_RUNNING))),
            running: Arc::new(Semaphore::new(running)),
        })))
    }

    /// Judges and hashes a password that the player of this name wants.
    ///
    /// # Errors
    ///
    /// When it cannot be chosen, or there is too much to do.
    pub async fn hash_new(
        &self,
        text: String,
        username: String,
        salt: Salt,
    ) -> Result<String, NewPasswordError> {
        self.work(move |hasher| {
            let password = Password::choose(&text, &username)?;
            Ok(hash(&hasher.argon2, password.as_bytes(), salt)?)
        })
        .await?
    }

    /// Hashes a password that is known to be right once more, with the parameters of today.
    ///
    /// # Errors
    ///
    /// When there is too much to do.
    pub async fn hash_again(&self, text: String, salt: Salt) -> Result<String, HashError> {
        self.work(move |hasher| hash(&hasher.argon2, text.as_bytes(), salt)).await?
    }

    /// Whether this is the password of the hash. Without a hash it takes as long and is not.
    ///
    /// # Errors
    ///
    /// When there is too much to do, or the hash is no hash.
    pub async fn verify(&self, text: String, stored: Option<String>) -> Result<bool, HashError> {
        self.work(move |hasher| {
            let hash = PasswordHash::new(stored.as_ref().unwrap_or(&hasher.decoy)).map_err(failed)?;
            let matches = hasher.argon2.verify_password(text.as_bytes(), &hash).is_ok();
            Ok(matches && stored.is_some())
        })
        .await?
    }

    /// Whether the hash was made with other parameters than those of today.
    pub fn needs_rehash(&self, stored: &str) -> bool {
        let cost = |text: &str| -> Option<(u32, u32, u32)> {
            let params = Params::try_from(&PasswordHash::new(text).ok()?).ok()?;
            Some((params.m_cost(), params.t_cost(), params.p_cost()))
        };
        cost(stored) != cost(&self.0.decoy)
    }

    /// Does one job when its turn comes. A caller that goes away does not free the place before the job is done.
    async fn work<T: Send + 'static>(
        &self,
        job: impl FnOnce(&Inner) -> T + Send + 'static,
    ) -> Result<T, HashError> {
        let admitted = self.0.admitted.clone().try_acquire_owned().map_err(|_| HashError::Busy)?;
        let running = self.0.running.clone().acquire_owned().await.map_err(failed)?;
        let inner = self.0.clone();
        tokio::task::spawn_blocking(move || {
            let done = job(&inner);
            drop((admitted, running));
            done
        })
        .await
        .map_err(failed)
    }
}

fn hash(argon2: &Argon2<'_>, password: &[u8], salt: Salt) -> Result<String, HashError> {
    let hash = argon2.hash_password_with_salt(password, &salt).map_err(failed)?;
    Ok(hash.to_string())
}

fn failed(err: impl ToString) -> HashError {
    HashError::Failed(err.to_string())
}
