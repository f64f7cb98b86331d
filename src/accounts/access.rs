//! Access tokens: JWTs that are checked without asking the database.
//!
//! One algorithm (HS256) is pinned: a token's header must be, byte for byte, one that this service writes. Everybody
//! is told the time; the library's own clock is off. What other processes did (ended sessions, new keys) is learnt
//! by [`AccessTokens::refresh_from`], which a task calls twice a second.

use std::{
    collections::HashMap,
    sync::{Arc, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard},
};

use base64::{
    Engine,
    engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD},
};
use chrono::TimeDelta;
use jsonwebtoken::{Algorithm, DecodingKey, EncodingKey, Header, Validation, decode, encode};
use serde::{Deserialize, Serialize};
use sqlx::PgPool;
use tokio::sync::watch;
use uuid::Uuid;

use super::store;
use crate::{
    config::AccountSettings,
    ids::{PlayerId, SessionId},
    wall_clock::Timestamp,
};

const ISSUER: &str = "leveret";
const AUDIENCE: &str = "leveret";
const TOKEN_TYPE: &str = "at+jwt";

/// No token of ours is longer.
const MAX_TOKEN_BYTES: usize = 1024;

/// How far the clocks of two processes may differ, and how long a process may not know of a new key. A key signs
/// only when it is this old.
const SKEW: TimeDelta = TimeDelta::seconds(5);

/// How far back to look again for sessions that ended: longer than any transaction that ends one.
const OVERLAP: TimeDelta = TimeDelta::seconds(60);

/// Random bytes for a new signing key.
pub type KeySecret = [u8; 32];

/// Who a token speaks for.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Claimant {
    /// The player.
    pub player: PlayerId,
    /// The session in which they are logged in.
    pub session: SessionId,
}

/// Why a token was refused.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
pub enum TokenRefusal {
    /// It is no token, its header is not ours, or its key is not known (any more).
    #[error("not a token of this service")]
    Foreign,
    /// The signature does not fit, or the claims are not those of an access token.
    #[error("the signature or the claims do not hold")]
    Forged,
    /// It is not good yet.
    #[error("not good yet")]
    Early,
    /// It is not good any more.
    #[error("expired")]
    Expired,
    /// Its session has ended.
    #[error("the session has ended")]
    SessionEnded,
}

/// Why the tokens could not be set up or brought up to date.
#[derive(Debug, thiserror::Error)]
pub enum KeyError {
    /// The configured keys cannot be read. (Says nothing of their content.)
    #[error(
        "LEVERET_TOKEN_KEYS must be kid:base64[,kid:base64…] with at least 32 bytes for each kid, and kids must differ"
    )]
    Configured,
    /// There is no key to sign with.
    #[error("there is no signing key")]
    NoKey,
    /// The library failed.
    #[error("signing failed")]
    Signing(#[from] jsonwebtoken::errors::Error),
    /// The database failed.
    #[error("database failure")]
    Database(#[from] sqlx::Error),
}

/// A key as it is stored.
#[derive(Clone, PartialEq, Eq)]
pub(super) struct StoredKey {
    pub kid: String,
    pub secret: Vec<u8>,
    pub created_at: Timestamp,
    pub retired_at: Option<Timestamp>,
}

/// Issues and verifies access tokens. Clones share everything.
#[derive(Clone)]
pub struct AccessTokens(Arc<Shared>);

struct Shared {
    lifetime: TimeDelta,
    validation: Validation,
    source: KeySource,
    known: RwLock<Known>,
    /// Grows whenever sessions are heard to have ended.
    endings: watch::Sender<u64>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum KeySource {
    Settings,
    Database,
}

/// What this process knows of keys and ended sessions.
struct Known {
    stored: Vec<StoredKey>,
    /// By the encoded header of the tokens that each signs.
    keys: HashMap<String, Key>,
    ended: HashMap<SessionId, Timestamp>,
    looked_at: Option<Timestamp>,
}

struct Key {
    header: Header,
    encoding: EncodingKey,
    decoding: DecodingKey,
    created_at: Timestamp,
    retired_at: Option<Timestamp>,
}

#[derive(Serialize, Deserialize)]
struct Claims {
    iss: String,
    aud: String,
    sub: Uuid,
    sid: Uuid,
    iat: i64,
    nbf: i64,
    exp: i64,
}

impl AccessTokens {
    /// Gets ready: reads the configured keys, or those of the database, where it makes the first one of `secret` if
    /// there is none. Several processes may start at once.
    ///
    /// # Errors
    ///
    /// When the configured keys cannot be read or the database fails.
    pub async fn start(
        db: &PgPool,
        settings: &AccountSettings,
        now: Timestamp,
        secret: KeySecret,
    ) -> Result<AccessTokens, KeyError> {
        let (source, stored) = match &settings.token_keys {
            Some(text) => (KeySource::Settings, configured_keys(text).ok_or(KeyError::Configured)?),
            None => (KeySource::Database, Vec::new()),
        };
        let mut validation = Validation::new(Algorithm::HS256);
        validation.set_issuer(&[ISSUER]);
        validation.set_audience(&[AUDIENCE]);
        validation.set_required_spec_claims(&["iss", "aud", "sub", "exp", "nbf"]);
        validation.leeway = 0;
        validation.validate_exp = false;
        validation.validate_nbf = false;
        let keys = keyring(&stored)?;
        let tokens = AccessTokens(Arc::new(Shared {
            lifetime: TimeDelta::seconds(settings.access_token_seconds),
            validation,
            source,
            known: RwLock::new(Known { stored, keys, ended: HashMap::new(), looked_at: None }),
            endings: watch::Sender::new(0),
        }));
        if source == KeySource::Database {
            let mut tx = db.begin().await?;
            store::insert_first_key(&mut tx, &new_key(now, secret)).await?;
            tx.commit().await?;
        }
        tokens.refresh_from(db, now).await?;
        Ok(tokens)
    }

    /// How long a token is good for.
    pub fn lifetime(&self) -> TimeDelta {
        self.0.lifetime
    }

    /// Makes a token for this claimant.
    ///
    /// # Errors
    ///
    /// When there is no key or signing fails.
    pub fn issue(&self, claimant: Claimant, now: Timestamp) -> Result<String, KeyError> {
        let known = self.known();
        let key = known.signer(now).ok_or(KeyError::NoKey)?;
        let iat = now.timestamp();
        let claims = Claims {
            iss: ISSUER.to_owned(),
            aud: AUDIENCE.to_owned(),
            sub: claimant.player.0,
            sid: claimant.session.0,
            iat,
            nbf: iat - SKEW.num_seconds(),
            exp: iat + self.0.lifetime.num_seconds(),
        };
        Ok(encode(&key.header, &claims, &key.encoding)?)
    }

    /// Says who a token speaks for.
    ///
    /// # Errors
    ///
    /// When it does not hold, for whatever reason.
    pub fn verify(&self, token: &str, now: Timestamp) -> Result<Claimant, TokenRefusal> {
        if token.len() > MAX_TOKEN_BYTES {
            return Err(TokenRefusal::Foreign);
        }
        let (header, _) = token.split_once('.').ok_or(TokenRefusal::Foreign)?;
        let known = self.known();
        let key = known.keys.get(header).ok_or(TokenRefusal::Foreign)?;
        if key.retired_at.is_some_and(|at| at + self.0.lifetime + SKEW <= now) {
            return Err(TokenRefusal::Foreign);
        }
        let claims = decode::<Claims>(token, &key.decoding, &self.0.validation)
            .map_err(|_| TokenRefusal::Forged)?
            .claims;
        self.check_times(&claims, now)?;
        let claimant = Claimant { player: PlayerId(claims.sub), session: SessionId(claims.sid) };
        if known.ended.contains_key(&claimant.session) {
            return Err(TokenRefusal::SessionEnded);
        }
        Ok(claimant)
    }

    fn check_times(&self, claims: &Claims, now: Timestamp) -> Result<(), TokenRefusal> {
        let (now, skew) = (now.timestamp(), SKEW.num_seconds());
        // A longer life than is given today would outlive the memory of ended sessions.
        if claims.exp.saturating_sub(claims.iat) > self.0.lifetime.num_seconds() {
            return Err(TokenRefusal::Forged);
        }
        if claims.nbf > now || claims.iat.saturating_sub(skew) > now {
            return Err(TokenRefusal::Early);
        }
        if claims.exp <= now {
            return Err(TokenRefusal::Expired);
        }
        Ok(())
    }

    /// Refuses the tokens of this session from now on, in this process.
    pub fn revoke(&self, session: SessionId, now: Timestamp) {
        self.known_mut().ended.insert(session, now);
        self.0.endings.send_modify(|count| *count += 1);
    }

    /// Whether this session is known to have ended, as long as one of its tokens could still be good.
    pub fn has_ended(&self, session: SessionId) -> bool {
        self.known().ended.contains_key(&session)
    }

    /// What changes whenever sessions are heard to have ended: for what outlives its token.
    pub fn endings(&self) -> watch::Receiver<u64> {
        self.0.endings.subscribe()
    }

    /// Learns which sessions ended and which keys there are.
    ///
    /// # Errors
    ///
    /// When the database does not answer; what was known stays known.
    pub async fn refresh_from(&self, db: &PgPool, now: Timestamp) -> Result<(), KeyError> {
        let memory = now - self.0.lifetime - OVERLAP;
        let looked_at = self.known().looked_at;
        let since = looked_at.map_or(memory, |at| at - OVERLAP).max(memory);
        let mut conn = db.acquire().await?;
        let ended = store::list_ended_sessions(&mut conn, since).await?;
        let stored = match self.0.source {
            KeySource::Settings => None,
            KeySource::Database => Some(store::list_keys(&mut conn, memory).await?),
        };
        drop(conn);
        let fresh = stored.filter(|stored| *stored != self.known().stored);
        let fresh = fresh.map(|stored| keyring(&stored).map(|keys| (stored, keys))).transpose()?;
        let mut known = self.known_mut();
        if let Some((stored, keys)) = fresh {
            (known.stored, known.keys) = (stored, keys);
        }
        let news = ended.iter().any(|(session, _)| !known.ended.contains_key(session));
        known.ended.extend(ended);
        known.ended.retain(|_, ended_at| *ended_at > memory);
        known.looked_at = Some(looked_at.map_or(now, |at| at.max(now)));
        drop(known);
        if news {
            self.0.endings.send_modify(|count| *count += 1);
        }
        Ok(())
    }

    fn known(&self) -> RwLockReadGuard<'_, Known> {
        self.0.known.read().unwrap_or_else(PoisonError::into_inner)
    }

    fn known_mut(&self) -> RwLockWriteGuard<'_, Known> {
        self.0.known.write().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Known {
    /// The newest key that every process has heard of; at the very start, the oldest.
    fn signer(&self, now: Timestamp) -> Option<&Key> {
        let known_to_all = self.keys.values().filter(|key| key.created_at + SKEW <= now);
        known_to_all
            .max_by_key(|key| key.created_at)
            .or_else(|| self.keys.values().min_by_key(|key| key.created_at))
    }
}

/// Makes a new key, which signs from a few seconds later on. The keys before it verify until the last token that
/// they signed has expired.
///
/// # Errors
///
/// When the database fails.
pub async fn rotate_key(db: &PgPool, now: Timestamp, secret: KeySecret) -> Result<String, sqlx::Error> {
    let key = new_key(now, secret);
    let mut tx = db.begin().await?;
    store::retire_keys(&mut tx, now + SKEW).await?;
    store::insert_key(&mut tx, &key).await?;
    tx.commit().await?;
    Ok(key.kid)
}

/// A key is named after what it is, so that its name is never another's; the name tells nothing of the secret.
fn new_key(now: Timestamp, secret: KeySecret) -> StoredKey {
    use sha2::{Digest, Sha256};
    let digest: [u8; 32] = Sha256::new().chain_update("kid of ").chain_update(secret).finalize().into();
    StoredKey {
        kid: URL_SAFE_NO_PAD.encode(&digest[..9]),
        secret: secret.to_vec(),
        created_at: now,
        retired_at: None,
    }
}

/// The first key signs, so it counts as the newest; all are older than anything else.
fn configured_keys(text: &str) -> Option<Vec<StoredKey>> {
    let mut keys = Vec::<StoredKey>::new();
    for (age, entry) in (0_i64..).zip(text.split(',')) {
        let (kid, encoded) = entry.trim().split_once(':')?;
        let secret = STANDARD.decode(encoded).or_else(|_| URL_SAFE_NO_PAD.decode(encoded)).ok()?;
        if !(1..=64).contains(&kid.len()) || secret.len() < 32 || keys.iter().any(|key| key.kid == kid) {
            return None;
        }
        let created_at = Timestamp::UNIX_EPOCH - TimeDelta::seconds(age);
        keys.push(StoredKey { kid: kid.to_owned(), secret, created_at, retired_at: None });
    }
    Some(keys)
}

fn keyring(stored: &[StoredKey]) -> Result<HashMap<String, Key>, KeyError> {
    stored.iter().map(key_by_header).collect()
}

fn key_by_header(stored: &StoredKey) -> Result<(String, Key), KeyError> {
    let mut header = Header::new(Algorithm::HS256);
    header.typ = Some(TOKEN_TYPE.to_owned());
    header.kid = Some(stored.kid.clone());
    let encoded =
        URL_SAFE_NO_PAD.encode(serde_json::to_vec(&header).map_err(jsonwebtoken::errors::Error::from)?);
    let key = Key {
        header,
        encoding: EncodingKey::from_secret(&stored.secret)?,
        decoding: DecodingKey::from_secret(&stored.secret)?,
        created_at: stored.created_at,
        retired_at: stored.retired_at,
    };
    Ok((encoded, key))
}
