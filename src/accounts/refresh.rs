//! Refresh tokens: each is good for one use, which gives the next one. Pure: says what may happen, stores nothing.
//!
//! A client that lost the answer may come back once with the token that it spent, and is told the same successor.
//! Anything else that comes back was copied, so the session ends.

use base64::{Engine, engine::general_purpose::URL_SAFE_NO_PAD};
use chrono::TimeDelta;
use sha2::{Digest, Sha256};

use crate::wall_clock::Timestamp;

/// How long the token before the live one may come back.
pub const REPLAY_WINDOW: TimeDelta = TimeDelta::seconds(10);

const PREFIX: &str = "lvr_";

/// A refresh token. Deliberately without `Debug`.
#[derive(Clone, PartialEq, Eq)]
pub struct RefreshToken(String);

impl RefreshToken {
    /// The first token of a session, from fresh random bytes.
    pub fn first(random: [u8; 32]) -> RefreshToken {
        RefreshToken(format!("{PREFIX}{}", URL_SAFE_NO_PAD.encode(random)))
    }

    /// Reads what a client sent; nothing if no token looks like that.
    pub fn parse(text: &str) -> Option<RefreshToken> {
        let bytes = URL_SAFE_NO_PAD.decode(text.strip_prefix(PREFIX)?).ok()?;
        (bytes.len() == 32).then(|| RefreshToken(text.to_owned()))
    }

    /// The token after this one. The same salt gives the same successor; without this token nobody can compute it.
    pub fn successor(&self, salt: &[u8]) -> RefreshToken {
        let digest = Sha256::new().chain_update(&self.0).chain_update(salt).finalize();
        RefreshToken::first(digest.into())
    }

    /// What is stored of it.
    pub fn hash(&self) -> [u8; 32] {
        Sha256::digest(&self.0).into()
    }

    /// The text, for the client that it belongs to.
    pub fn reveal(&self) -> &str {
        &self.0
    }
}

/// What is known of a token that came in.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Record {
    /// When it stops being good.
    pub expires_at: Timestamp,
    /// How it was spent, if it was.
    pub spent: Option<Spent>,
}

/// How a token was spent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Spent {
    /// When.
    pub at: Timestamp,
    /// What its successor was made with.
    pub salt: Vec<u8>,
    /// Whether it came back once already.
    pub replayed: bool,
    /// Whether its successor is still waiting to be used.
    pub successor_lives: bool,
}

/// What to do about a token that came in.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// Spend it and give out its successor.
    Rotate,
    /// Give out the successor that was made with this salt once more.
    Replay(Vec<u8>),
    /// It is too old.
    Expired,
    /// It was used before: end the session.
    Reused,
}

/// Decides about a token of a session that has not ended.
pub fn judge(record: Record, now: Timestamp) -> Verdict {
    match record.spent {
        None if record.expires_at <= now => Verdict::Expired,
        None => Verdict::Rotate,
        Some(spent) if !spent.replayed && spent.successor_lives && now - spent.at <= REPLAY_WINDOW => {
            Verdict::Replay(spent.salt)
        }
        Some(_) => Verdict::Reused,
    }
}

#[cfg(test)]
mod tests {
    use chrono::DateTime;

    use super::*;

    const NOW: Timestamp = DateTime::UNIX_EPOCH;

    fn spent(seconds_ago: i64) -> Spent {
        Spent {
            at: NOW - TimeDelta::seconds(seconds_ago),
            salt: vec![7],
            replayed: false,
            successor_lives: true,
        }
    }

    fn verdict(spent: Option<Spent>) -> Verdict {
        judge(Record { expires_at: NOW + TimeDelta::days(1), spent }, NOW)
    }

    #[test]
    fn a_fresh_token_rotates_until_it_expires() {
        assert_eq!(verdict(None), Verdict::Rotate);
        assert_eq!(judge(Record { expires_at: NOW, spent: None }, NOW), Verdict::Expired);
    }

    #[test]
    fn a_spent_token_is_honoured_once_within_ten_seconds_while_its_successor_lives() {
        assert_eq!(verdict(Some(spent(0))), Verdict::Replay(vec![7]));
        assert_eq!(verdict(Some(spent(10))), Verdict::Replay(vec![7]));
        assert_eq!(verdict(Some(spent(11))), Verdict::Reused);
        assert_eq!(verdict(Some(Spent { replayed: true, ..spent(1) })), Verdict::Reused);
        assert_eq!(verdict(Some(Spent { successor_lives: false, ..spent(1) })), Verdict::Reused);
    }

    #[test]
    fn a_successor_depends_on_token_and_salt() {
        let token = RefreshToken::first([1; 32]);
        assert!(token.successor(b"a") == token.successor(b"a"));
        assert!(token.successor(b"a") != token.successor(b"b"));
        assert!(token.successor(b"a") != RefreshToken::first([2; 32]).successor(b"a"));
        assert!(RefreshToken::parse(token.successor(b"a").reveal()).is_some());
    }

    #[test]
    fn what_is_no_token_is_not_parsed() {
        for text in
            ["", "lvr_", "lvr_AAAA", "abc", &"A".repeat(47), &format!("lvr_{}=", "A".repeat(43)), "lvr_\0"]
        {
            assert!(RefreshToken::parse(text).is_none(), "{text:?}");
        }
    }
}
