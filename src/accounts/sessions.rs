//! Sessions: refreshed, listed, ended, and at last forgotten.

use chrono::TimeDelta;
use sqlx::PgPool;

use super::{
    Accounts, Tokens,
    access::{Claimant, KeyError},
    refresh::{self, RefreshToken, Verdict},
    store::{self, EndReason},
};
use crate::{
    ids::{PlayerId, SessionId},
    wall_clock::Timestamp,
};

/// How long sessions are remembered after their end, and with them the addresses that an owner uses.
const SESSION_MEMORY: TimeDelta = TimeDelta::days(90);

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

impl Accounts {
    /// Spends a refresh token for the next tokens of its session.
    ///
    /// # Errors
    ///
    /// When the token is not good. If it was used before, the session ends.
    pub async fn refresh(
        &self,
        db: &PgPool,
        now: Timestamp,
        salt: [u8; 32],
        address: &str,
        token: &str,
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
                store::end_session(&mut tx, session.player, session.session, EndReason::TokenReused, now)
                    .await?;
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
        &self,
        db: &PgPool,
        now: Timestamp,
        caller: Claimant,
        session: SessionId,
    ) -> Result<(), sqlx::Error> {
        let reason = if session == caller.session { EndReason::LoggedOut } else { EndReason::EndedByPlayer };
        self.end(db, now, caller.player, session, reason).await
    }

    async fn end(
        &self,
        db: &PgPool,
        now: Timestamp,
        player: PlayerId,
        session: SessionId,
        reason: EndReason,
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
        &self,
        db: &PgPool,
        now: Timestamp,
        caller: Claimant,
    ) -> Result<(), sqlx::Error> {
        let mut conn = db.acquire().await?;
        let ended =
            store::end_sessions(&mut conn, caller.player, None, EndReason::EndedByPlayer, now).await?;
        self.revoke_all(&ended, now);
        Ok(())
    }
}

/// Lists the sessions of a player that can still be refreshed, the last used first.
///
/// # Errors
///
/// When the database fails.
pub async fn list_sessions(
    db: &PgPool,
    now: Timestamp,
    player: PlayerId,
) -> Result<Vec<SessionEntry>, sqlx::Error> {
    store::list_sessions(&mut *db.acquire().await?, player, now).await
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
