//! Whose moves are better than their rating explains, for an operator to look at. Numbers, no verdict.
//!
//! What counts is how often a player found the one move that kept the result, in rated games, with others to choose
//! from: a *test*, in the words of [`super::analysis`]. Among all accounts the chance to pass a test grows with the
//! rating; how, is fitted for each variant and role (a logistic curve, by Newton's method). An account is then
//! compared with the curve that fits all others: `z` is by how many standard deviations it passed more tests than
//! expected, where the deviation is widened by as much as the other accounts scatter around the curve.

use sqlx::PgPool;

use super::store;
use crate::rules::{Role, Variant};

/// An account's tests in rated games of one variant and role.
#[derive(Clone, PartialEq, Debug)]
pub struct Record {
    /// What it is called; none when the account is closed.
    pub username: Option<String>,
    /// Whether it is declared a bot.
    pub is_bot: bool,
    /// The variant.
    pub variant: Variant,
    /// The role.
    pub role: Role,
    /// Its mean rating over these tests.
    pub rating: f64,
    /// In how many games.
    pub games: i64,
    /// How many tests.
    pub tests: i64,
    /// How many of them it passed.
    pub passed: i64,
    /// Its mean accuracy over these games.
    pub accuracy: f64,
}

/// A record beside what its rating explains.
#[derive(Clone, PartialEq, Debug)]
pub struct Standing {
    /// The record.
    pub record: Record,
    /// How many tests an account of this rating passes.
    pub expected: f64,
    /// By how many standard deviations it passed more.
    pub z: f64,
}

/// Fewer other accounts than this show no curve.
const LEAST_OTHERS: usize = 5;

/// The accounts with at least `least_tests` whose `z` is at least `least_z`, the most striking first.
///
/// # Errors
///
/// When the database fails.
pub async fn striking(db: &PgPool, least_tests: i64, least_z: f64) -> Result<Vec<Standing>, sqlx::Error> {
    Ok(compare(&store::test_records(db).await?, least_tests, least_z))
}

/// See [`striking`].
pub fn compare(records: &[Record], least_tests: i64, least_z: f64) -> Vec<Standing> {
    let mut striking: Vec<Standing> = records
        .iter()
        .filter(|record| record.tests >= least_tests)
        .filter_map(|record| standing(record, records))
        .filter(|standing| standing.z >= least_z)
        .collect();
    striking.sort_by(|a, b| b.z.total_cmp(&a.z));
    striking
}

/// A record beside the curve that fits the others of its variant and role; none while there are too few of them.
fn standing(record: &Record, records: &[Record]) -> Option<Standing> {
    let others: Vec<&Record> = records
        .iter()
        .filter(|other| other.variant == record.variant && other.role == record.role && other.tests > 0)
        .filter(|other| *other != record)
        .collect();
    if others.len() < LEAST_OTHERS {
        return None;
    }
    let curve = Curve::fit(&others);
    let chance = curve.chance(record.rating);
    let expected = chance * record.tests as f64;
    let deviation = (expected * (1.0 - chance) * curve.scatter(&others)).sqrt();
    Some(Standing { record: record.clone(), expected, z: (record.passed as f64 - expected) / deviation })
}

/// The chance to pass a test, by rating: `1 / (1 + e^−(a + b·(rating − 1500)/400))`.
#[derive(Clone, Copy, Debug)]
struct Curve {
    a: f64,
    b: f64,
}

/// Every curve is drawn towards a chance of a half that does not depend on the rating, as if by so many tests: so it
/// stays finite where all have passed.
const PRIOR_TESTS: f64 = 1.0;

impl Curve {
    fn chance(self, rating: f64) -> f64 {
        1.0 / (1.0 + (-(self.a + self.b * scaled(rating))).exp())
    }

    /// The likeliest curve, by Newton's method.
    fn fit(records: &[&Record]) -> Curve {
        let mut curve = Curve { a: 0.0, b: 0.0 };
        for _ in 0..50 {
            let (mut slope_a, mut slope_b) = (-PRIOR_TESTS * curve.a / 4.0, -PRIOR_TESTS * curve.b / 4.0);
            let (mut aa, mut ab, mut bb) = (PRIOR_TESTS / 4.0, 0.0, PRIOR_TESTS / 4.0);
            for record in records {
                let (x, chance, tests) =
                    (scaled(record.rating), curve.chance(record.rating), record.tests as f64);
                let missing = record.passed as f64 - tests * chance;
                let weight = tests * chance * (1.0 - chance);
                slope_a += missing;
                slope_b += missing * x;
                aa += weight;
                ab += weight * x;
                bb += weight * x * x;
            }
            let determinant = aa * bb - ab * ab;
            let step_a = (bb * slope_a - ab * slope_b) / determinant;
            let step_b = (aa * slope_b - ab * slope_a) / determinant;
            // A step that is too long would swing ever wider.
            curve.a += step_a.clamp(-2.0, 2.0);
            curve.b += step_b.clamp(-2.0, 2.0);
            if step_a.abs() + step_b.abs() < 1e-10 {
                break;
            }
        }
        curve
    }

    /// By how much more than a coin's the accounts scatter around the curve: Pearson's statistic by degree of freedom,
    /// never below one.
    fn scatter(self, records: &[&Record]) -> f64 {
        let squares: f64 = records
            .iter()
            .map(|record| {
                let (chance, tests) = (self.chance(record.rating), record.tests as f64);
                (record.passed as f64 - tests * chance).powi(2) / (tests * chance * (1.0 - chance))
            })
            .sum();
        (squares / (records.len() as f64 - 2.0)).max(1.0)
    }
}

fn scaled(rating: f64) -> f64 {
    (rating - 1500.0) / 400.0
}
