//! One rated game: two ratings in, two ratings out, by Glicko-2 with the pool's role offset.
//!
//! The only user of `skillratings`. Pure: no I/O, no clock, no randomness. The formulas are Glickman's,
//! "Example of the Glicko-2 system" (rev. 2022-03-22), called "the paper" below; what this service adds to
//! them (idle time between games, the offset, the bounds, the quantum) is stated at each item. Ratings and
//! deviations are in rating points, volatilities in the paper's own unit (per square root of a rating
//! period), scores between 0 and 1.

use crate::rules::{ByRole, GameResult};
use skillratings::{
    Outcomes,
    glicko2::{Glicko2Config, Glicko2Rating, glicko2},
};
use std::f64::consts::PI;

/// Version of the rule that [`rate`] applies, written into every rating event.
///
/// Any change that could alter one stored number is a new version.
pub const RULE_VERSION: i32 = 1;

/// Rating points per unit of the paper's internal scale (its steps 2 and 8): 400 / ln 10, as the paper rounds
/// it.
pub const SCALE: f64 = 173.7178;

/// How fast volatility may change: the paper's τ (step 1), without a unit.
pub const TAU: f64 = 0.5;

/// Where the search for the new volatility stops: the paper's ε (step 5.1), on ln σ².
///
/// Far below the paper's 1e-6, so that the quantised result does not depend on where the search began; 0 or
/// 1e-16 would never return.
pub const CONVERGENCE_TOLERANCE: f64 = 1e-10;

/// Rating periods in a day without games, by which RD 60 at σ 0.06 becomes 110 in a year.
pub const PERIODS_PER_DAY: f64 = 0.21436;

/// Lowest rating, in points.
pub const RATING_MIN: f64 = 100.0;
/// Highest rating, in points.
pub const RATING_MAX: f64 = 4000.0;
/// Most that one game may move a rating, in points.
pub const RATING_CHANGE_MAX: f64 = 700.0;
/// Lowest rating deviation, in points.
pub const RD_MIN: f64 = 45.0;
/// Highest rating deviation, in points.
pub const RD_MAX: f64 = 350.0;
/// Lowest volatility.
pub const VOLATILITY_MIN: f64 = 0.03;
/// Highest volatility; without it, periods of one game each drift σ upward without end.
pub const VOLATILITY_MAX: f64 = 0.1;
/// A rating is provisional from this deviation on, in points.
pub const PROVISIONAL_RD: f64 = 110.0;
/// Most that the role offset may be worth, in points, either way.
pub const ADVANTAGE_MAX: f64 = 400.0;

/// What is believed of one player in one pool.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Rating {
    /// Strength, in points.
    pub rating: f64,
    /// Deviation, the standard error of `rating`, in points.
    pub rd: f64,
    /// Volatility σ: how erratic the player's strength is.
    pub volatility: f64,
}

impl Rating {
    /// A player without a rated game in the pool (the paper's step 1).
    pub const NEW: Rating = Rating { rating: 1500.0, rd: RD_MAX, volatility: 0.06 };

    /// Returns the rating as of now, `days` after the player's last rated game.
    ///
    /// `RD_now = clamp(√(RD² + t·(173.7178·σ)²), 45, 350)` with `t = max(0, days)·0.21436` periods: the
    /// paper's step 6 for a player who does not compete, for any length of time. Pairing, pages and the next
    /// game use this value; only a game writes it. Days that are not a number count as none.
    #[must_use]
    pub fn after_idle(self, days: f64) -> Rating {
        let periods = days.max(0.0) * PERIODS_PER_DAY;
        let per_period = SCALE * self.volatility;
        let rd = (self.rd * self.rd + periods * (per_period * per_period)).sqrt();
        Rating { rd: rd.clamp(RD_MIN, RD_MAX), ..self }
    }

    /// Tells whether the rating is still a guess, shown with a `?`; to be asked of a rating as of now.
    #[must_use]
    pub fn is_provisional(self) -> bool {
        self.rd >= PROVISIONAL_RD
    }

    /// Rounds to what is stored: 1e-6 for rating and RD, 1e-9 for σ.
    ///
    /// `exp` and `ln` differ by an ulp between C libraries; what is stored must not.
    #[must_use]
    pub fn quantised(self) -> Rating {
        Rating {
            rating: to_millionths(self.rating),
            rd: to_millionths(self.rd),
            volatility: to_billionths(self.volatility),
        }
    }

    /// Tells whether a game can be computed from this: finite, and a deviation and volatility of a sane size.
    ///
    /// The range is far wider than what a row may hold; it keeps the search for the volatility finite.
    pub(super) fn is_sound(self) -> bool {
        self.rating.abs() <= 100_000.0
            && (1.0..=1000.0).contains(&self.rd)
            && (0.001..=1.0).contains(&self.volatility)
    }

    /// Holds the outcome of one game within the bounds; `None` where it is not finite.
    fn bounded(self, before: Rating) -> Option<Rating> {
        if !(self.rating.is_finite() && self.rd.is_finite() && self.volatility.is_finite()) {
            return None;
        }
        let change = (self.rating - before.rating).clamp(-RATING_CHANGE_MAX, RATING_CHANGE_MAX);
        Some(Rating {
            rating: (before.rating + change).clamp(RATING_MIN, RATING_MAX),
            rd: self.rd.clamp(RD_MIN, RD_MAX),
            volatility: self.volatility.clamp(VOLATILITY_MIN, VOLATILITY_MAX),
        })
    }
}

/// What playing the hounds is worth in one pool, as published.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RoleOffset {
    /// Worth of the hounds between two players who average 1500, in points.
    pub a: f64,
    /// Change of that worth per point of average rating, without a unit.
    pub b: f64,
}

impl RoleOffset {
    /// The offset of a pool that has published none.
    pub const ZERO: RoleOffset = RoleOffset { a: 0.0, b: 0.0 };

    /// Returns the hounds' advantage in points between two players of this mean rating.
    ///
    /// `clamp(a + b·(mean − 1500), −400, 400)`, rounded to 1e-6 since it is stored with the game.
    #[must_use]
    pub fn advantage(self, mean_rating: f64) -> f64 {
        to_millionths((self.a + self.b * (mean_rating - 1500.0)).clamp(-ADVANTAGE_MAX, ADVANTAGE_MAX))
    }
}

/// What a finished rated game did; every number is quantised, ready to be stored.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RatedGame {
    /// Both ratings after the game.
    pub after: ByRole<Rating>,
    /// What each side was expected to score, as [`expected_score`], to 1e-9.
    pub expected_score: ByRole<f64>,
    /// The hounds' advantage that was applied, in points.
    pub advantage: f64,
}

/// Rates one finished game; both sides from the numbers before it.
///
/// `before` has idle time applied already ([`Rating::after_idle`]). The hounds enter one plain Glicko-2 game
/// with `advantage` added to their rating, which is taken off again; then come the bounds (|Δr| ≤ 700, 100 ≤
/// r ≤ 4000, 45 ≤ RD ≤ 350, 0.03 ≤ σ ≤ 0.1), then the quantum.
///
/// `None` rates nothing: a number going in or coming out was not finite, or no row could hold it. The game
/// ends all the same and the caller logs an error.
#[must_use]
pub fn rate(before: ByRole<Rating>, result: GameResult, offset: RoleOffset) -> Option<RatedGame> {
    let sound =
        before.hounds.is_sound() && before.hare.is_sound() && offset.a.is_finite() && offset.b.is_finite();
    if !sound {
        return None;
    }
    let advantage = offset.advantage((before.hounds.rating + before.hare.rating) / 2.0);
    let raw = glicko2_game(before, result, advantage, TAU);
    let hounds_expected = to_billionths(expected_score(before, advantage).hounds);
    Some(RatedGame {
        after: ByRole {
            hounds: raw.hounds.bounded(before.hounds)?.quantised(),
            hare: raw.hare.bounded(before.hare)?.quantised(),
        },
        expected_score: ByRole { hounds: hounds_expected, hare: to_billionths(1.0 - hounds_expected) },
        advantage,
    })
}

/// Predicts the score of both sides; the two sum to 1.
///
/// `1 / (1 + exp(−g(√(RD_H² + RD_R²))·(r_H + advantage − r_R)/173.7178))`: the paper's E with the deviation
/// of both players combined, as Glickman gives it for predictions. It is not the E inside the update, which
/// looks at the opponent's deviation only: that one differs between the two sides and does not sum to 1. With
/// it a score can be checked against what came of it, so this is the one that is shown, stored, and that the
/// role offset is fitted on.
#[must_use]
pub fn expected_score(before: ByRole<Rating>, advantage: f64) -> ByRole<f64> {
    let gap = before.hounds.rating + advantage - before.hare.rating;
    let hounds = 1.0 / (1.0 + (-prediction_slope(before) * gap).exp());
    ByRole { hounds, hare: 1.0 - hounds }
}

/// Returns how much one point of rating gap tells about the result, in logits: `g(√(RD_H² + RD_R²)) /
/// 173.7178`.
///
/// `g(φ) = 1/√(1 + 3φ²/π²)` is the paper's step 3.
#[must_use]
pub fn prediction_slope(before: ByRole<Rating>) -> f64 {
    let variance = (before.hounds.rd * before.hounds.rd + before.hare.rd * before.hare.rd) / (SCALE * SCALE);
    1.0 / (1.0 + 3.0 * variance / (PI * PI)).sqrt() / SCALE
}

/// Returns the score of the hounds: a win 1, a draw ½, a loss 0.
#[must_use]
pub fn hounds_score(result: GameResult) -> f64 {
    match result {
        GameResult::Hounds => 1.0,
        GameResult::Draw => 0.5,
        GameResult::Hare => 0.0,
    }
}

/// Plays one game by the bare paper, steps 2 to 8 for a period of this one game: no idle time, bounds or
/// quantum.
///
/// What [`rate`] is built on, open to be checked against reference numbers. The period of the game itself
/// adds σ² to the deviation once, whatever the idle time before it.
#[must_use]
pub fn glicko2_game(before: ByRole<Rating>, result: GameResult, advantage: f64, tau: f64) -> ByRole<Rating> {
    let hounds = Glicko2Rating {
        rating: before.hounds.rating + advantage,
        deviation: before.hounds.rd,
        volatility: before.hounds.volatility,
    };
    let hare = Glicko2Rating {
        rating: before.hare.rating,
        deviation: before.hare.rd,
        volatility: before.hare.volatility,
    };
    let outcome = match result {
        GameResult::Hounds => Outcomes::WIN,
        GameResult::Draw => Outcomes::DRAW,
        GameResult::Hare => Outcomes::LOSS,
    };
    let config = Glicko2Config { tau, convergence_tolerance: CONVERGENCE_TOLERANCE };
    let (hounds, hare) = glicko2(&hounds, &hare, &outcome, &config);
    ByRole {
        hounds: Rating {
            rating: hounds.rating - advantage,
            rd: hounds.deviation,
            volatility: hounds.volatility,
        },
        hare: Rating { rating: hare.rating, rd: hare.deviation, volatility: hare.volatility },
    }
}

/// Rounds to 1e-6, the quantum of points.
pub(super) fn to_millionths(value: f64) -> f64 {
    (value * 1e6).round() / 1e6
}

/// Rounds to 1e-9, the quantum of volatilities and scores.
fn to_billionths(value: f64) -> f64 {
    (value * 1e9).round() / 1e9
}
