//! What is known of a player: their own view, everybody's, and what the operator decides.

use sqlx::PgPool;

use super::{
    names::{self, Bio, BioError},
    store::{self, EndReason},
};
use crate::{ids::PlayerId, wall_clock::Timestamp};

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
    /// Whether they play without having signed up.
    pub is_guest: bool,
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
    /// Whether they play without having signed up.
    pub is_guest: bool,
    /// When they signed up.
    pub created_at: Timestamp,
    /// Whether the operator banned them.
    pub banned: bool,
}

/// Why the profile stays as it is, or cannot be shown.
#[derive(Debug, thiserror::Error)]
#[expect(missing_docs, reason = "the messages tell")]
pub enum ProfileError {
    #[error("the account is closed")]
    Closed,
    #[error("guests have no profile")]
    Guest,
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
    #[error("a guest cannot be declared a bot")]
    Guest,
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
    let me = store::find_me(&mut conn, player).await?.ok_or(ProfileError::Closed)?;
    let Some(bio) = bio else { return Ok(me) };
    if me.is_guest {
        return Err(ProfileError::Guest);
    }
    store::set_bio(&mut conn, player, &bio).await?;
    Ok(Me { bio: bio.as_str().to_owned(), ..me })
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
    if me.is_guest {
        return Err(DeclareBotError::Guest);
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
