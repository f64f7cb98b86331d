//! Accounts: guests, signing up, logging in and out, refreshing, the profile, closing.
//!
//! Told the time and handed randomness ([`Drawn`]); knows nothing of HTTP or of games. A session that ends is
//! refused at once by this process and by every other one when it looks again
//! ([`access::AccessTokens::refresh_from`]).

pub mod access;
pub mod attempts;
pub mod names;
pub mod password;
pub mod refresh;

mod guests;
mod profile;
mod proof;
mod sessions;
mod sign_in;
mod store;

use chrono::TimeDelta;
use sqlx::PgPool;

use self::{
    access::{AccessTokens, Claimant, KeyError, KeySecret},
    attempts::Attempts,
    password::{HashError, PasswordHasher, Salt},
    refresh::RefreshToken,
};
pub use self::{
    guests::{Claim, ClaimError, GuestError, idle_guests, remove_guest},
    profile::{
        BanError, DeclareBotError, Me, Player, ProfileError, ban, declare_bot, find_me, find_player, unban,
        update_profile,
    },
    proof::{ChangePasswordError, CloseAccountError, PasswordChange},
    sessions::{RefreshError, SessionEntry, list_sessions, sweep},
    sign_in::{LogInError, RegisterError},
};
use crate::{config::AccountSettings, ids::SessionId, wall_clock::Timestamp};

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

impl Accounts {
    /// Gets ready, with limits on attempts and addresses read from the connection.
    ///
    /// # Errors
    ///
    /// When the settings are no good or the database fails.
    pub async fn start(
        db: &PgPool,
        settings: &AccountSettings,
        now: Timestamp,
        secret: KeySecret,
        decoy_salt: Salt,
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

    fn tokens_for(
        &self,
        claimant: Claimant,
        refresh_token: RefreshToken,
        now: Timestamp,
    ) -> Result<Tokens, KeyError> {
        let access_token = self.tokens.issue(claimant, now)?;
        Ok(Tokens { claimant, access_token, access_lifetime: self.tokens.lifetime(), refresh_token })
    }

    fn revoke_all(&self, sessions: &[SessionId], now: Timestamp) {
        for session in sessions {
            self.tokens.revoke(*session, now);
        }
    }
}
