//! Enums whose values have a word on the wire and a sentence for people.
//!
//! The word is the only wire form, for reading and writing. A value's doc comment is its explanation, so that what
//! rustdoc says and what players are told cannot differ.

use std::fmt;

/// One word of a list, with what it means.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Choice {
    /// The word, as on the wire.
    pub value: &'static str,
    /// What it means, for people.
    pub explanation: &'static str,
}

/// A text was none of the words it could have been.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct UnknownWord {
    /// The words it could have been.
    pub known: &'static [Choice],
}

impl fmt::Display for UnknownWord {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("expected ")?;
        list(f, self.known.iter().map(|choice| choice.value))
    }
}

impl std::error::Error for UnknownWord {}

/// Writes `a, b or c`.
pub(super) fn list<'a>(
    f: &mut fmt::Formatter<'_>,
    words: impl ExactSizeIterator<Item = &'a str>,
) -> fmt::Result {
    let count = words.len();
    for (index, word) in words.enumerate() {
        let separator = match index {
            0 => "",
            _ if index + 1 == count => " or ",
            _ => ", ",
        };
        write!(f, "{separator}{word}")?;
    }
    Ok(())
}

/// Declares an enum of words; see the module's documentation.
macro_rules! words {
    (
        $(#[$meta:meta])*
        pub enum $name:ident {
            $($(#[doc = $doc:literal])+ $value:ident = $word:literal,)+
        }
    ) => {
        $(#[$meta])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum $name {
            $($(#[doc = $doc])+ $value,)+
        }

        impl $name {
            /// Every value, in the order of declaration.
            pub const ALL: [Self; [$($word),+].len()] = [$(Self::$value),+];

            /// The word and the explanation of every value, in the order of [`Self::ALL`].
            pub const CHOICES: &'static [$crate::rules::Choice] = &[$($crate::rules::Choice {
                value: $word,
                explanation: concat!($($doc),+).trim_ascii(),
            }),+];

            /// The word for this value, as on the wire.
            pub const fn word(self) -> &'static str {
                Self::CHOICES[self as usize].value
            }

            /// What this value means, for people.
            pub const fn explanation(self) -> &'static str {
                Self::CHOICES[self as usize].explanation
            }
        }

        impl std::fmt::Display for $name {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.pad(self.word())
            }
        }

        impl std::str::FromStr for $name {
            type Err = $crate::rules::UnknownWord;

            fn from_str(text: &str) -> Result<Self, Self::Err> {
                Self::ALL
                    .into_iter()
                    .find(|value| value.word() == text)
                    .ok_or($crate::rules::UnknownWord { known: Self::CHOICES })
            }
        }
    };
}

pub(super) use words;
