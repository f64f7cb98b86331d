//! A move as it is written, the same for both games: `b1-c1`, `b4xd2xd4`.
//!
//! A move goes step by neighbouring points or leap by leap along straight lines; whether lines are drawn there, and
//! whether it may be played, is for the games to say. Moves are ordered as their texts are.

use super::Point;
use std::{fmt, str::FromStr};

/// The most leaps that one move can have: fourteen hunters, and with three left the hare has won on every board.
const MOST_LEAPS: usize = 11;

/// A step of any piece, or one or more leaps of the hare.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Move {
    // Compared from top to bottom, which is the order of the texts: "-" comes before "x".
    from: Point,
    is_leap: bool,
    /// Where it touches down, in order; nothing follows the first `None`.
    landings: [Option<Point>; MOST_LEAPS],
}

impl Move {
    /// A step to a neighbouring point.
    pub(super) fn step(from: Point, to: Point) -> Move {
        debug_assert!(from.is_one_step_from(to));
        Move::touching(from, to, false)
    }

    /// A leap to the second point on a straight line.
    pub(super) fn leap(from: Point, landing: Point) -> Move {
        debug_assert!(from.leapt_over_to(landing).is_some());
        Move::touching(from, landing, true)
    }

    /// The same move with one more leap, unless it has as many as a move can have.
    pub(super) fn leaping_on(mut self, landing: Point) -> Option<Move> {
        debug_assert!(self.is_leap && self.to().leapt_over_to(landing).is_some());
        *self.landings.iter_mut().find(|next| next.is_none())? = Some(landing);
        Some(self)
    }

    fn touching(from: Point, landing: Point, is_leap: bool) -> Move {
        let mut landings = [None; MOST_LEAPS];
        landings[0] = Some(landing);
        Move { from, is_leap, landings }
    }

    /// Reads a move; whether it may be played is not asked.
    ///
    /// # Errors
    ///
    /// Says whether the text has not the form of a move, or names points that no piece goes between.
    pub fn parse(text: &str) -> Result<Move, ParseMoveError> {
        text.parse()
    }

    /// Where the piece stands before the move.
    pub fn from(&self) -> Point {
        self.from
    }

    /// Where the piece stands after the move.
    pub fn to(&self) -> Point {
        self.landings().last().expect("every move lands somewhere")
    }

    /// Whether the hare leaps; else a piece takes one step.
    pub fn is_leap(&self) -> bool {
        self.is_leap
    }

    /// Every point on which the piece touches down, in order.
    pub fn landings(&self) -> impl Iterator<Item = Point> {
        self.landings.into_iter().map_while(|landing| landing)
    }

    /// The points leapt over, in order; none for a step.
    pub fn captures(&self) -> impl Iterator<Item = Point> {
        let mut from = self.from;
        self.landings().take_while(|_| self.is_leap).map(move |landing| {
            let over = from.leapt_over_to(landing).expect("leaps go two points along a straight line");
            from = landing;
            over
        })
    }
}

impl fmt::Display for Move {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let separator = if self.is_leap { 'x' } else { '-' };
        write!(f, "{}", self.from)?;
        self.landings().try_for_each(|landing| write!(f, "{separator}{landing}"))
    }
}

impl fmt::Debug for Move {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl FromStr for Move {
    type Err = ParseMoveError;

    fn from_str(text: &str) -> Result<Move, ParseMoveError> {
        use ParseMoveError::{Impossible, Unreadable};

        let named = |name| Point::named(name).ok_or(Unreadable);
        let (from, rest) = text.as_bytes().split_at_checked(2).ok_or(Unreadable)?;
        let (separator, first) = rest.split_at_checked(1).ok_or(Unreadable)?;
        let from = named(from)?;
        match separator {
            b"-" => {
                let to = named(first)?;
                if from.is_one_step_from(to) { Ok(Move::step(from, to)) } else { Err(Impossible) }
            }
            b"x" => {
                let mut landings = first.split(|&byte| byte == b'x').map(named);
                let landing = landings.next().ok_or(Unreadable)??;
                from.leapt_over_to(landing).ok_or(Impossible)?;
                landings.try_fold(Move::leap(from, landing), |mv, landing| {
                    let landing = landing?;
                    mv.to().leapt_over_to(landing).ok_or(Impossible)?;
                    mv.leaping_on(landing).ok_or(Impossible)
                })
            }
            _ => Err(Unreadable),
        }
    }
}

/// Why a text is not a move.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ParseMoveError {
    /// It does not have the form of a move.
    Unreadable,
    /// It names points that no piece goes between.
    Impossible,
}

impl fmt::Display for ParseMoveError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            ParseMoveError::Unreadable => "expected a move such as b1-c1 for a step or b4xd2xd4 for leaps",
            ParseMoveError::Impossible => {
                "no piece moves so: a step goes to a neighbouring point, a leap to the next but one, straight on"
            }
        })
    }
}

impl std::error::Error for ParseMoveError {}
