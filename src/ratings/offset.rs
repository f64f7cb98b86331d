//! The role offset of a pool, fitted from its own results.
//!
//! Logistic regression of the hounds' score on the expectation before the game, by the same formula as
//! [`expected_score`](super::glicko::expected_score). Pure and deterministic: the same samples in the same
//! order give the same offset. Fitting changes nothing; an operator or the nightly task publishes.

use crate::{
    ratings::glicko::{Rating, RoleOffset, prediction_slope, to_millionths},
    rules::ByRole,
};

/// Fewest games from which an offset is published.
pub const LEAST_GAMES: usize = 500;

/// Most games that an offset is fitted on: the newest ones.
pub const MOST_GAMES: usize = 20_000;

/// Prior standard deviation of `a`, in points; its mean is 0.
pub const A_PRIOR: f64 = 174.0;

/// Prior standard deviation of `b`, without a unit; its mean is 0.
pub const B_PRIOR: f64 = 0.3;

/// Newton steps before giving up; a handful are needed.
const MOST_STEPS: usize = 100;

/// One rated game between two established players.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Sample {
    /// Both ratings as of the game's start, idle time applied.
    pub before: ByRole<Rating>,
    /// What the hounds scored: 1, ½ or 0.
    pub score: f64,
}

/// An offset and how far it can be trusted; every number is quantised to 1e-6, ready to be stored.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Fit {
    /// The most probable offset.
    pub offset: RoleOffset,
    /// Standard error of `a`, in points.
    pub a_standard_error: f64,
    /// Standard error of `b`, without a unit.
    pub b_standard_error: f64,
    /// Games it was fitted on.
    pub sample_size: usize,
}

/// Fits the offset on the last [`MOST_GAMES`] of `samples`, oldest first.
///
/// The model is `P(hounds) = 1/(1 + exp(−k·(r_H + a + b·(mean − 1500) − r_R)))` with `k` the
/// [`prediction_slope`]; a draw counts as half a win and half a loss. With the priors a ~ N(0, 174²) and b ~
/// N(0, 0.3²) the log posterior is strictly concave, so Newton's method with halved steps finds its one
/// maximum. The standard errors are the roots of the diagonal of the inverse of its curvature there. The cap
/// of ±400 on the advantage is no part of the model: it belongs to the use of the offset, not to its truth.
///
/// `None` with fewer than [`LEAST_GAMES`], or when a rating is not one that [`rate`](super::glicko::rate)
/// would take, a score not within 0 and 1, or a result not finite.
#[must_use]
pub fn fit(samples: &[Sample]) -> Option<Fit> {
    let samples = &samples[samples.len().saturating_sub(MOST_GAMES)..];
    if samples.len() < LEAST_GAMES {
        return None;
    }
    let games = samples.iter().map(Game::read).collect::<Option<Vec<_>>>()?;

    let mut at = Posterior::at(&games, RoleOffset::ZERO);
    for _ in 0..MOST_STEPS {
        let (step_a, step_b) = at.newton_step();
        // A point and a slope far below the quantum: nothing that is stored would change.
        if step_a.abs() < 1e-9 && step_b.abs() < 1e-12 {
            return at.fit(games.len());
        }
        // The full step, halved for as long as it leads downhill by more than the rounding of a long sum.
        let least = at.log_density - 1e-9 * (1.0 + at.log_density.abs());
        let mut share = 1.0;
        at = loop {
            let offset = RoleOffset { a: at.offset.a + share * step_a, b: at.offset.b + share * step_b };
            let next = Posterior::at(&games, offset);
            if next.log_density >= least {
                break next;
            }
            share /= 2.0;
            if share < 1e-6 {
                return None;
            }
        };
    }
    None
}

/// A sample, as the regression sees it.
struct Game {
    /// Logits per point of gap.
    slope: f64,
    /// Hounds' rating less the hare's, in points.
    gap: f64,
    /// Mean rating above 1500, in points.
    level: f64,
    score: f64,
}

impl Game {
    fn read(sample: &Sample) -> Option<Game> {
        let ByRole { hounds, hare } = sample.before;
        let game = Game {
            slope: prediction_slope(sample.before),
            gap: hounds.rating - hare.rating,
            level: (hounds.rating + hare.rating) / 2.0 - 1500.0,
            score: sample.score,
        };
        (hounds.is_sound() && hare.is_sound() && (0.0..=1.0).contains(&game.score)).then_some(game)
    }
}

/// The log posterior at one offset: its value, gradient, and curvature (the negated Hessian).
struct Posterior {
    offset: RoleOffset,
    log_density: f64,
    gradient: (f64, f64),
    aa: f64,
    ab: f64,
    bb: f64,
}

impl Posterior {
    fn at(games: &[Game], offset: RoleOffset) -> Posterior {
        let RoleOffset { a, b } = offset;
        let (a_precision, b_precision) = (1.0 / (A_PRIOR * A_PRIOR), 1.0 / (B_PRIOR * B_PRIOR));
        let mut sum = Posterior {
            offset,
            log_density: -(a * a * a_precision + b * b * b_precision) / 2.0,
            gradient: (-a * a_precision, -b * b_precision),
            aa: a_precision,
            ab: 0.0,
            bb: b_precision,
        };
        for game in games {
            let logit = game.slope * (game.gap + a + b * game.level);
            let expected = 1.0 / (1.0 + (-logit).exp());
            // score·ln P + (1 − score)·ln(1 − P), written so that neither logarithm can overflow.
            sum.log_density += (game.score - 1.0) * logit.max(0.0) + game.score * logit.min(0.0)
                - (-logit.abs()).exp().ln_1p();
            let pull = game.slope * (game.score - expected);
            sum.gradient.0 += pull;
            sum.gradient.1 += pull * game.level;
            let weight = game.slope * game.slope * expected * (1.0 - expected);
            sum.aa += weight;
            sum.ab += weight * game.level;
            sum.bb += weight * game.level * game.level;
        }
        sum
    }

    fn determinant(&self) -> f64 {
        self.aa * self.bb - self.ab * self.ab
    }

    fn newton_step(&self) -> (f64, f64) {
        let (to_a, to_b) = self.gradient;
        let determinant = self.determinant();
        ((self.bb * to_a - self.ab * to_b) / determinant, (self.aa * to_b - self.ab * to_a) / determinant)
    }

    fn fit(&self, sample_size: usize) -> Option<Fit> {
        let a_standard_error = to_millionths((self.bb / self.determinant()).sqrt());
        let b_standard_error = to_millionths((self.aa / self.determinant()).sqrt());
        let offset = RoleOffset { a: to_millionths(self.offset.a), b: to_millionths(self.offset.b) };
        let finite =
            [offset.a, offset.b, a_standard_error, b_standard_error].iter().all(|number| number.is_finite());
        finite.then_some(Fit { offset, a_standard_error, b_standard_error, sample_size })
    }
}
