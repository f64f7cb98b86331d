//! The role offset: found again from simulated games, and what it is for.

use crate::dice::Dice;
use leveret::{
    ratings::{
        glicko::{Rating, RoleOffset, expected_score, rate},
        offset::{LEAST_GAMES, MOST_GAMES, Sample, fit},
    },
    rules::{ByRole, GameResult},
};

fn settled(rating: f64) -> Rating {
    Rating { rating, rd: 60.0, volatility: 0.06 }
}

/// Games between settled players whose hounds' edge truly is `a + b·(mean − 1500)`.
fn games(count: usize, a: f64, b: f64, dice: &mut Dice) -> Vec<Sample> {
    (0..count)
        .map(|_| {
            let level = dice.normal(1500.0, 300.0);
            let before = ByRole {
                hounds: settled(level + dice.normal(0.0, 60.0)),
                hare: settled(level + dice.normal(0.0, 60.0)),
            };
            let mean = (before.hounds.rating + before.hare.rating) / 2.0;
            let expected = expected_score(before, a + b * (mean - 1500.0)).hounds;
            Sample { before, score: if dice.unit() < expected { 1.0 } else { 0.0 } }
        })
        .collect()
}

#[test]
fn a_known_offset_is_found_again_within_its_standard_errors() {
    for (seed, a, b) in [(1, 0.0, 0.0), (2, 200.0, 0.2), (3, -120.0, 0.0), (4, 60.0, -0.15), (5, 320.0, 0.3)]
    {
        let found = fit(&games(20_000, a, b, &mut Dice(seed))).unwrap();
        assert!((found.offset.a - a).abs() < 3.5 * found.a_standard_error, "{a}, {b}: {found:?}");
        assert!((found.offset.b - b).abs() < 3.5 * found.b_standard_error, "{a}, {b}: {found:?}");
        assert!(found.a_standard_error < 6.0 && found.b_standard_error < 0.02, "{found:?}");
        assert_eq!(found.sample_size, 20_000);
    }
}

#[test]
fn the_standard_errors_are_as_large_as_the_errors() {
    let fits: Vec<_> = (0..200).map(|seed| fit(&games(1000, 100.0, 0.1, &mut Dice(seed))).unwrap()).collect();
    let square = |error: f64, standard: f64| (error / standard).powi(2);
    let mean = |sum: f64| sum / fits.len() as f64;
    let a = mean(fits.iter().map(|fit| square(fit.offset.a - 100.0, fit.a_standard_error)).sum());
    let b = mean(fits.iter().map(|fit| square(fit.offset.b - 0.1, fit.b_standard_error)).sum());
    assert!((0.7..1.4).contains(&a) && (0.7..1.4).contains(&b), "{a} {b}");
}

/// The fit against the posterior written down a second time, where the priors weigh in: few games at one
/// level.
#[test]
fn the_fit_is_the_top_of_the_posterior() {
    let mut samples = games(500, 300.0, 0.2, &mut Dice(12));
    for sample in &mut samples {
        sample.before = sample.before.map(|player| settled(1520.0 + (player.rating - 1500.0) / 60.0));
    }
    let log_posterior = |a: f64, b: f64| {
        let game = |sample: &Sample| {
            let mean = (sample.before.hounds.rating + sample.before.hare.rating) / 2.0;
            let expected = expected_score(sample.before, a + b * (mean - 1500.0));
            sample.score * expected.hounds.ln() + (1.0 - sample.score) * expected.hare.ln()
        };
        samples.iter().map(game).sum::<f64>() - (a / 174.0).powi(2) / 2.0 - (b / 0.3).powi(2) / 2.0
    };
    let RoleOffset { a, b } = fit(&samples).unwrap().offset;
    let top = log_posterior(a, b);
    for (by_a, by_b) in [(1.0, 0.0), (0.0, 0.03)] {
        let (up, down) = (log_posterior(a + by_a, b + by_b), log_posterior(a - by_a, b - by_b));
        assert!(up < top && down < top, "{a} {b}");
        assert!((up - down).abs() < 0.01 * (2.0 * top - up - down), "{a} {b}");
    }
}

#[test]
fn nothing_is_published_on_fewer_than_500_games() {
    let samples = games(LEAST_GAMES, 100.0, 0.0, &mut Dice(6));
    assert_eq!(fit(&[]), None);
    assert_eq!(fit(&samples[1..]), None);
    assert_eq!(fit(&samples).unwrap().sample_size, 500);
}

#[test]
fn only_the_newest_games_count() {
    let mut samples = games(5_000, -300.0, 0.0, &mut Dice(7));
    let newest = games(MOST_GAMES, 100.0, 0.0, &mut Dice(8));
    samples.extend(&newest);
    assert_eq!(fit(&samples), fit(&newest));
}

#[test]
fn the_priors_hold_a_pool_that_always_gives_one_result() {
    let mut samples = games(600, 0.0, 0.0, &mut Dice(9));
    samples.iter_mut().for_each(|sample| sample.score = 1.0);
    let always = fit(&samples).unwrap();
    assert!((300.0..2000.0).contains(&always.offset.a), "{always:?}");
    samples.iter_mut().for_each(|sample| sample.score = 0.5);
    let drawn = fit(&samples).unwrap();
    assert!(drawn.offset.a.abs() < 20.0 && drawn.offset.b.abs() < 0.05, "{drawn:?}");
}

#[test]
fn a_sample_that_makes_no_sense_gives_no_offset() {
    let samples = games(600, 0.0, 0.0, &mut Dice(10));
    let with = |change: fn(&mut Sample)| {
        let mut samples = samples.clone();
        change(&mut samples[300]);
        fit(&samples)
    };
    assert_eq!(with(|sample| sample.before.hare.rating = f64::NAN), None);
    assert_eq!(with(|sample| sample.before.hounds.rd = f64::NAN), None);
    assert_eq!(with(|sample| sample.before.hounds.rating = f64::INFINITY), None);
    assert_eq!(with(|sample| sample.before.hounds.rating = 1e308), None);
    assert_eq!(with(|sample| sample.score = f64::NAN), None);
    assert_eq!(with(|sample| sample.score = 2.0), None);
}

/// Mean rating, after 200 games each, of the players who always get the hounds, less that of those who never
/// do.
///
/// All are equally strong; the hounds are worth 200 points.
fn bias(offset: RoleOffset) -> f64 {
    let mut dice = Dice(11);
    let mut players = [Rating::NEW; 200];
    for _ in 0..20_000 {
        let (one, other) = (dice.below(100), 100 + dice.below(100));
        let before = ByRole { hounds: players[one], hare: players[other] };
        let result = if dice.unit() < expected_score(before.map(|_| settled(1500.0)), 217.0).hounds {
            GameResult::Hounds
        } else {
            GameResult::Hare
        };
        let after = rate(before, result, offset).unwrap().after;
        (players[one], players[other]) = (after.hounds, after.hare);
    }
    let mean = |players: &[Rating]| players.iter().map(|player| player.rating).sum::<f64>() / 100.0;
    mean(&players[..100]) - mean(&players[100..])
}

#[test]
fn with_the_offset_the_role_biases_no_rating() {
    let (plain, offset) = (bias(RoleOffset::ZERO), bias(RoleOffset { a: 217.0, b: 0.0 }));
    assert!(plain > 150.0, "{plain}");
    assert!(offset.abs() < 15.0, "{offset}");
}
