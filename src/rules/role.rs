//! The two sides of a hunt.
//!
//! Both games use the same two words, whatever a variant calls the sides for people.

use super::words::words;
use std::ops::{Index, IndexMut};

words! {
    /// One of the two sides.
    pub enum Role {
        /// The pack: three hounds, or the hunters. It always moves first.
        Hounds = "hounds",
        /// The one that is hunted.
        Hare = "hare",
    }
}

impl Role {
    /// The side that this one plays against.
    pub const fn other(self) -> Role {
        match self {
            Role::Hounds => Role::Hare,
            Role::Hare => Role::Hounds,
        }
    }
}

/// One value for each side.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct ByRole<T> {
    /// What belongs to the pack.
    pub hounds: T,
    /// What belongs to the hare.
    pub hare: T,
}

impl<T> ByRole<T> {
    /// Asks for each side's value, the hounds' first.
    pub fn from_fn(mut value: impl FnMut(Role) -> T) -> ByRole<T> {
        ByRole { hounds: value(Role::Hounds), hare: value(Role::Hare) }
    }

    /// Changes each value by the same function, the hounds' first.
    pub fn map<U>(self, mut change: impl FnMut(T) -> U) -> ByRole<U> {
        ByRole { hounds: change(self.hounds), hare: change(self.hare) }
    }

    /// Borrows each value.
    pub const fn as_ref(&self) -> ByRole<&T> {
        ByRole { hounds: &self.hounds, hare: &self.hare }
    }

    /// Each side with its value, the hounds first.
    pub fn iter(&self) -> impl Iterator<Item = (Role, &T)> {
        [(Role::Hounds, &self.hounds), (Role::Hare, &self.hare)].into_iter()
    }
}

impl<T> Index<Role> for ByRole<T> {
    type Output = T;

    fn index(&self, role: Role) -> &T {
        match role {
            Role::Hounds => &self.hounds,
            Role::Hare => &self.hare,
        }
    }
}

impl<T> IndexMut<Role> for ByRole<T> {
    fn index_mut(&mut self, role: Role) -> &mut T {
        match role {
            Role::Hounds => &mut self.hounds,
            Role::Hare => &mut self.hare,
        }
    }
}
