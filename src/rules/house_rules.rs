//! House rules, as any variant describes them and as a party gives them.
//!
//! Values are read one by one, in any order; what does not go together is refused only by [`super::Rules::check`].

use super::words::{Choice, UnknownWord, list};
use std::{fmt, str::FromStr};

/// An option of a variant that a party may change.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HouseRule {
    /// Its name, as on the wire.
    pub name: &'static str,
    /// What it is about, for people.
    pub explanation: &'static str,
    /// The values it can have.
    pub kind: RuleKind,
    /// The value it has if nobody says otherwise.
    pub default: RuleValue,
}

/// The values that a house rule can have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RuleKind {
    /// One of some words.
    Choice(&'static [Choice]),
    /// A whole number.
    Number {
        /// The least it can be.
        min: u8,
        /// The greatest it can be.
        max: u8,
    },
}

impl fmt::Display for RuleKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            RuleKind::Choice(choices) => list(f, choices.iter().map(|choice| choice.value)),
            RuleKind::Number { min, max } => write!(f, "a whole number from {min} to {max}"),
        }
    }
}

/// The value of a house rule.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum RuleValue {
    /// One of the words of a [`RuleKind::Choice`].
    Text(&'static str),
    /// A number within the bounds of a [`RuleKind::Number`].
    Number(u8),
}

impl fmt::Display for RuleValue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            RuleValue::Text(word) => f.write_str(word),
            RuleValue::Number(number) => number.fmt(f),
        }
    }
}

/// A value that somebody gives for a house rule, which need not be one that it can have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum GivenValue<'a> {
    /// A text.
    Text(&'a str),
    /// A whole number.
    Number(i64),
}

impl From<RuleValue> for GivenValue<'static> {
    fn from(value: RuleValue) -> GivenValue<'static> {
        match value {
            RuleValue::Text(word) => GivenValue::Text(word),
            RuleValue::Number(number) => GivenValue::Number(number.into()),
        }
    }
}

impl GivenValue<'_> {
    /// The value as a word of the rule's choices.
    pub(super) fn word<T: FromStr<Err = UnknownWord>>(self, rule: &HouseRule) -> Result<T, RuleError> {
        match self {
            GivenValue::Text(text) => text.parse().map_err(|_| RuleError::wrong_value(rule)),
            GivenValue::Number(_) => Err(RuleError::wrong_value(rule)),
        }
    }

    /// The value as a number within the rule's bounds.
    pub(super) fn number(self, rule: &HouseRule) -> Result<u8, RuleError> {
        match (self, rule.kind) {
            (GivenValue::Number(given), RuleKind::Number { min, max }) => u8::try_from(given)
                .ok()
                .filter(|number| (min..=max).contains(number))
                .ok_or(RuleError::wrong_value(rule)),
            _ => Err(RuleError::wrong_value(rule)),
        }
    }
}

/// Why house rules cannot be played by.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RuleError {
    /// The variant has no such house rule.
    Unknown {
        /// The name given.
        name: String,
        /// The house rules that the variant has.
        known: &'static [HouseRule],
    },
    /// The house rule cannot have this value.
    WrongValue {
        /// The house rule.
        name: &'static str,
        /// The values it can have.
        allowed: RuleKind,
    },
    /// The value does not go together with that of another house rule.
    Combination {
        /// The house rule to change.
        name: &'static str,
        /// What does not go together.
        explanation: &'static str,
    },
}

impl RuleError {
    /// The name of the house rule that is at fault, as it was given.
    pub fn name(&self) -> &str {
        match self {
            RuleError::Unknown { name, .. } => name,
            RuleError::WrongValue { name, .. } | RuleError::Combination { name, .. } => name,
        }
    }

    pub(super) fn wrong_value(rule: &HouseRule) -> RuleError {
        RuleError::WrongValue { name: rule.name, allowed: rule.kind }
    }
}

impl fmt::Display for RuleError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            RuleError::Unknown { name, known } => {
                write!(f, "no house rule is named {name:?}: expected ")?;
                list(f, known.iter().map(|rule| rule.name))
            }
            RuleError::WrongValue { name, allowed } => write!(f, "{name} must be {allowed}"),
            RuleError::Combination { explanation, .. } => f.write_str(explanation),
        }
    }
}

impl std::error::Error for RuleError {}
