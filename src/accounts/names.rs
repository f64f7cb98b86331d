//! Usernames and passwords, parsed: a [`Username`] is well formed and may be taken, a [`Password`] is strong enough
//! to be chosen. Nothing here prints a password.

use std::fmt;

use zxcvbn::{Score, zxcvbn};

/// Names that would pass for somebody they are not.
const RESERVED: &[&str] = &[
    "admin",
    "administrator",
    "anonymous",
    "api",
    "arbiter",
    "bot",
    "closed",
    "computer",
    "cpu",
    "deleted",
    "guest",
    "hare",
    "hound",
    "hounds",
    "leveret",
    "mod",
    "moderator",
    "null",
    "nobody",
    "official",
    "operator",
    "root",
    "server",
    "staff",
    "support",
    "system",
    "undefined",
    "unknown",
];

/// How the names of guests begin. Nobody else can choose such a name.
const GUEST_PREFIX: &str = "guest-";

/// What the rest of a guest's name is made of: no vowels, so no words, and nothing that is read as something else.
const GUEST_LETTERS: &[u8; 28] = b"bcdfghjkmnpqrstvwxyz23456789";

/// How many of them.
const GUEST_LETTER_COUNT: usize = 10;

/// How many characters a profile's text may have.
const BIO_CHARS: usize = 400;

/// A name to sign up with: well formed and not reserved.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Username(String);

/// Why a text is no username.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
pub enum UsernameError {
    /// It is too short, too long, or has other characters.
    #[error("must have 3 to 20 characters, each of them a letter (A-Z, a-z), a digit, '_' or '-'")]
    Form,
    /// It stands for something else.
    #[error("is reserved: choose another one")]
    Reserved,
}

impl Username {
    /// Reads the name that somebody wants to sign up with.
    ///
    /// # Errors
    ///
    /// When it is malformed or reserved.
    pub fn parse(text: &str) -> Result<Username, UsernameError> {
        let key = key_of(text).ok_or(UsernameError::Form)?;
        if RESERVED.contains(&key.as_str()) || key.starts_with(GUEST_PREFIX) {
            return Err(UsernameError::Reserved);
        }
        Ok(Username(text.to_owned()))
    }

    /// Makes up a guest's name.
    pub fn of_guest(mut random: u128) -> Username {
        let mut name = GUEST_PREFIX.to_owned();
        for _ in 0..GUEST_LETTER_COUNT {
            let letters = GUEST_LETTERS.len() as u128;
            name.extend(usize::try_from(random % letters).ok().map(|place| char::from(GUEST_LETTERS[place])));
            random /= letters;
        }
        Username(name)
    }

    /// As it was written.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// What is unique about it: the name without regard to case.
    pub fn key(&self) -> String {
        self.0.to_ascii_lowercase()
    }
}

impl fmt::Display for Username {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// The key under which the account of this name would be found; nothing if no account can have such a name.
pub fn key_of(text: &str) -> Option<String> {
    let well_formed = (3..=20).contains(&text.len())
        && text.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_' || b == b'-');
    well_formed.then(|| text.to_ascii_lowercase())
}

/// A password that was chosen: long enough and hard to guess.
#[derive(Clone, PartialEq, Eq)]
pub struct Password(String);

/// Why a password cannot be chosen.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum PasswordError {
    /// It has fewer than 8 or more than 128 characters.
    #[error("must have 8 to 128 characters")]
    Length,
    /// It has a NUL in it.
    #[error("must not have a NUL character")]
    Nul,
    /// It has the username in it.
    #[error("must not contain the username")]
    ContainsUsername,
    /// It would be guessed; the text says what to do.
    #[error("is easy to guess: {0}")]
    Weak(String),
}

impl Password {
    /// Judges a password that the player of this name wants. Takes up to some milliseconds of computing.
    ///
    /// # Errors
    ///
    /// When it is too short, too long, or easy to guess.
    pub fn choose(text: &str, username: &str) -> Result<Password, PasswordError> {
        if !(8..=128).contains(&text.chars().count()) {
            return Err(PasswordError::Length);
        }
        if text.contains('\0') {
            return Err(PasswordError::Nul);
        }
        if text.to_lowercase().contains(&username.to_lowercase()) {
            return Err(PasswordError::ContainsUsername);
        }
        let verdict = zxcvbn(text, &[username, "leveret", "hare", "hounds"]);
        if verdict.score() < Score::Three {
            return Err(PasswordError::Weak(advice(&verdict)));
        }
        Ok(Password(text.to_owned()))
    }

    /// The bytes to hash.
    pub(super) fn as_bytes(&self) -> &[u8] {
        self.0.as_bytes()
    }
}

impl fmt::Debug for Password {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Password(…)")
    }
}

fn advice(verdict: &zxcvbn::Entropy) -> String {
    let Some(feedback) = verdict.feedback() else { return "add another word or two".to_owned() };
    let mut lines: Vec<String> = feedback.warning().iter().map(ToString::to_string).collect();
    lines.extend(feedback.suggestions().iter().map(ToString::to_string));
    lines.join(" ")
}

/// What a player says of themselves.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Bio(String);

/// Why a text is no bio.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
pub enum BioError {
    /// It is too long.
    #[error("must have at most 400 characters")]
    Length,
    /// It has control characters.
    #[error("must not have control characters other than line breaks")]
    Control,
}

impl Bio {
    /// Reads a bio.
    ///
    /// # Errors
    ///
    /// When it is too long or has control characters.
    pub fn parse(text: &str) -> Result<Bio, BioError> {
        if text.chars().count() > BIO_CHARS {
            return Err(BioError::Length);
        }
        if text.chars().any(|c| c.is_control() && c != '\n') {
            return Err(BioError::Control);
        }
        Ok(Bio(text.to_owned()))
    }

    /// The text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_username_has_3_to_20_of_letters_digits_and_two_signs() {
        for good in ["ann", "A_n-9", "abcdefghij0123456789", "---"] {
            assert_eq!(Username::parse(good).map(|name| name.to_string()), Ok(good.to_owned()));
        }
        for bad in ["", "an", "abcdefghij01234567890", "ann ", "änn", "a.n", "ann\0", "ann/x"] {
            assert_eq!(Username::parse(bad), Err(UsernameError::Form), "{bad:?}");
        }
        for reserved in ["Closed", "guest", "Guest-moorhen"] {
            assert_eq!(Username::parse(reserved), Err(UsernameError::Reserved), "{reserved}");
        }
    }

    #[test]
    fn a_guest_has_a_name_that_nobody_can_choose_and_that_is_no_word() {
        for random in [0, 1, u128::MAX, 0x0199_f3a0_5c1e_7b3a_9d2e_6a1f_0c4b_8e21] {
            let name = Username::of_guest(random);
            assert_eq!(name.as_str().len(), 16, "{name}");
            assert_eq!(Username::parse(name.as_str()), Err(UsernameError::Reserved), "{name}");
            assert_eq!(key_of(name.as_str()), Some(name.to_string()), "{name}");
        }
    }

    #[test]
    fn a_password_is_judged_by_how_it_would_be_guessed() {
        for weak in ["password", "12345678", "qwertyuiop", "aaaaaaaaaaaa", "leveret1", "Passw0rd!"] {
            assert!(matches!(Password::choose(weak, "ann"), Err(PasswordError::Weak(_))), "{weak}");
        }
        for good in [
            "correct-horse-battery",
            "møørkaninen spiser 7 gulrøtter",
            "密码是很长的一句话吧对不对",
            "🐇🐕🐕🐕 run the moor",
        ] {
            assert!(Password::choose(good, "ann").is_ok(), "{good}");
        }
        assert_eq!(Password::choose("short7c", "ann"), Err(PasswordError::Length));
        assert_eq!(Password::choose(&"xk2 ".repeat(33), "ann"), Err(PasswordError::Length));
        assert_eq!(Password::choose("meadow\0clover-77", "ann"), Err(PasswordError::Nul));
        assert_eq!(Password::choose("xx-MoorHen-99-qq", "moorhen"), Err(PasswordError::ContainsUsername));
    }

    #[test]
    fn a_password_is_never_printed() {
        let password = Password::choose("correct-horse-battery", "ann").unwrap();
        assert!(!format!("{password:?}").contains("horse"));
    }

    #[test]
    fn a_bio_has_at_most_400_characters_and_no_control_characters() {
        assert!(Bio::parse(&"ü".repeat(400)).is_ok());
        assert_eq!(Bio::parse(&"ü".repeat(401)), Err(BioError::Length));
        assert_eq!(Bio::parse("a\0b"), Err(BioError::Control));
        assert!(Bio::parse("two\nlines").is_ok());
    }
}
