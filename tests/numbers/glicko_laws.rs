//! What holds for every rated game, whatever the numbers.

use crate::dice::Dice;
use leveret::{
    ratings::glicko::{
        RD_MAX, RULE_VERSION, RatedGame, Rating, RoleOffset, expected_score, glicko2_game, hounds_score, rate,
    },
    rules::{ByRole, GameResult},
};
use proptest::prelude::*;

const RESULTS: [GameResult; 3] = [GameResult::Hounds, GameResult::Draw, GameResult::Hare];

/// Any rating that a row may hold.
fn stored() -> impl Strategy<Value = Rating> {
    rated(100.0..=4000.0)
}

/// A rating well within the bounds.
fn rated(range: std::ops::RangeInclusive<f64>) -> impl Strategy<Value = Rating> {
    (range, 45.0..=350.0, 0.03..=0.1)
        .prop_map(|(rating, rd, volatility)| Rating { rating, rd, volatility }.quantised())
}

fn both(
    one: impl Strategy<Value = Rating>,
    other: impl Strategy<Value = Rating>,
) -> impl Strategy<Value = ByRole<Rating>> {
    (one, other).prop_map(|(hounds, hare)| ByRole { hounds, hare })
}

fn result() -> impl Strategy<Value = GameResult> {
    prop::sample::select(&RESULTS[..])
}

fn offset() -> impl Strategy<Value = RoleOffset> {
    (-500.0..=500.0, -0.5..=0.5).prop_map(|(a, b)| RoleOffset { a, b })
}

fn mirrored<T>(of: ByRole<T>) -> ByRole<T> {
    ByRole { hounds: of.hare, hare: of.hounds }
}

fn other_way(result: GameResult) -> GameResult {
    match result {
        GameResult::Hounds => GameResult::Hare,
        GameResult::Draw => GameResult::Draw,
        GameResult::Hare => GameResult::Hounds,
    }
}

fn rating_changes(before: ByRole<Rating>, after: ByRole<Rating>) -> ByRole<f64> {
    ByRole {
        hounds: after.hounds.rating - before.hounds.rating,
        hare: after.hare.rating - before.hare.rating,
    }
}

fn is_within_bounds(rating: Rating) -> bool {
    (100.0..=4000.0).contains(&rating.rating)
        && (45.0..=350.0).contains(&rating.rd)
        && (0.03..=0.1).contains(&rating.volatility)
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: 2000, failure_persistence: None, ..ProptestConfig::default()
    })]

    #[test]
    fn a_win_never_lowers_and_a_loss_never_raises(before in both(stored(), stored()), offset in offset()) {
        let won = rating_changes(before, rate(before, GameResult::Hounds, offset).unwrap().after);
        prop_assert!(won.hounds >= 0.0 && won.hare <= 0.0);
        let lost = rating_changes(before, rate(before, GameResult::Hare, offset).unwrap().after);
        prop_assert!(lost.hounds <= 0.0 && lost.hare >= 0.0);
    }

    #[test]
    fn a_better_result_is_never_worth_less(before in both(stored(), stored()), offset in offset()) {
        let hounds_after = |result| rate(before, result, offset).unwrap().after.hounds.rating;
        let [win, draw, loss] = RESULTS.map(hounds_after);
        prop_assert!(win >= draw && draw >= loss);
    }

    #[test]
    fn mirrored_input_gives_mirrored_output(
        before in both(stored(), stored()), result in result(), offset in offset(),
    ) {
        let game = rate(before, result, offset).unwrap();
        let back = RoleOffset { a: -offset.a, b: -offset.b };
        let mirror = rate(mirrored(before), other_way(result), back).unwrap();
        prop_assert_eq!(game.advantage, -mirror.advantage);
        for (one, other) in [(game.after.hounds, mirror.after.hare), (game.after.hare, mirror.after.hounds)] {
            prop_assert!((one.rating - other.rating).abs() <= 1.1e-6);
            prop_assert!((one.rd - other.rd).abs() <= 1.1e-6);
            prop_assert!((one.volatility - other.volatility).abs() <= 1.1e-9);
        }
        prop_assert!((game.expected_score.hounds - mirror.expected_score.hare).abs() <= 1.1e-9);
    }

    #[test]
    fn with_equal_rd_and_volatility_the_changes_sum_to_zero(
        before in both(rated(800.0..=3200.0), rated(800.0..=3200.0)), result in result(), offset in offset(),
    ) {
        let hare = Rating { rating: before.hare.rating, ..before.hounds };
        let before = ByRole { hare, ..before };
        let change = rating_changes(before, rate(before, result, offset).unwrap().after);
        prop_assert!((change.hounds + change.hare).abs() <= 2e-6);
    }

    #[test]
    fn adding_to_both_ratings_adds_to_both_results(
        before in both(rated(1200.0..=2800.0), rated(1200.0..=2800.0)),
        shift in -400.0..=400.0,
        result in result(),
        a in -400.0..=400.0,
    ) {
        let raised = |rating: Rating| Rating { rating: rating.rating + shift, ..rating };
        let offset = RoleOffset { a, b: 0.0 };
        let here = rating_changes(before, rate(before, result, offset).unwrap().after);
        let there = before.map(raised);
        let there = rating_changes(there, rate(there, result, offset).unwrap().after);
        // Beyond 700 points of change or the outer bounds the law ends; these ranges stay within.
        prop_assert!((here.hounds - there.hounds).abs() <= 2e-6 && (here.hare - there.hare).abs() <= 2e-6);
    }

    #[test]
    fn every_outcome_is_within_the_bounds_and_on_the_quantum(
        before in both(stored(), stored()), result in result(), offset in offset(),
    ) {
        let game = rate(before, result, offset).unwrap();
        for (before, after) in [(before.hounds, game.after.hounds), (before.hare, game.after.hare)] {
            prop_assert!(is_within_bounds(after));
            prop_assert!((after.rating - before.rating).abs() <= 700.000_001);
            prop_assert_eq!(after, after.quantised());
        }
        prop_assert!(game.advantage.abs() <= 400.0);
        prop_assert!((game.expected_score.hounds + game.expected_score.hare - 1.0).abs() < 1e-15);
    }

    #[test]
    fn any_numbers_at_all_give_an_answer_within_the_bounds_or_none(
        numbers in prop::array::uniform8(any::<f64>()), wild in any::<u8>(), result in result(),
    ) {
        // Each bit of `wild` lets one number be anything a double can be.
        let tame = [1500.0, 60.0, 0.06, 1500.0, 60.0, 0.06, 0.0, 0.0];
        let n: [f64; 8] = std::array::from_fn(|i| if wild >> i & 1 == 1 { numbers[i] } else { tame[i] });
        let before = ByRole {
            hounds: Rating { rating: n[0], rd: n[1], volatility: n[2] },
            hare: Rating { rating: n[3], rd: n[4], volatility: n[5] },
        };
        if let Some(game) = rate(before, result, RoleOffset { a: n[6], b: n[7] }) {
            prop_assert!(is_within_bounds(game.after.hounds) && is_within_bounds(game.after.hare));
            prop_assert!(game.expected_score.hounds.is_finite() && game.advantage.is_finite());
        }
    }

    #[test]
    fn rd_now_grows_with_time_and_never_beyond_350(
        rating in stored(), days in 0.0..20_000.0_f64, more in 0.0..20_000.0_f64,
    ) {
        let (sooner, later) = (rating.after_idle(days), rating.after_idle(days + more));
        prop_assert!(rating.rd <= sooner.rd && sooner.rd <= later.rd && later.rd <= RD_MAX);
        prop_assert_eq!((later.rating, later.volatility), (rating.rating, rating.volatility));
    }

    #[test]
    fn idle_time_adds_up(rating in stored(), first in 0.0..4000.0_f64, second in 0.0..4000.0_f64) {
        let (twice, once) = (rating.after_idle(first).after_idle(second), rating.after_idle(first + second));
        prop_assert!((twice.rd - once.rd).abs() <= 1e-9);
    }
}

#[test]
fn two_new_players_meet() {
    let before = ByRole { hounds: Rating::NEW, hare: Rating::NEW };
    let RatedGame { after, expected_score, advantage } =
        rate(before, GameResult::Hounds, RoleOffset::ZERO).unwrap();
    assert_eq!((after.hounds.rating, after.hare.rating), (1_662.310_894, 1_337.689_106));
    assert_eq!((after.hounds.rd, after.hare.rd), (290.318_964, 290.318_964));
    assert_eq!((after.hounds.volatility, after.hare.volatility), (0.059_999_675, 0.059_999_675));
    assert_eq!((expected_score.hounds, expected_score.hare, advantage), (0.5, 0.5, 0.0));
}

#[test]
fn rd_60_becomes_110_in_a_year() {
    let settled = Rating { rd: 60.0, ..Rating::NEW };
    assert!((settled.after_idle(365.25).rd - 110.0).abs() < 0.05);
    assert!(!settled.is_provisional());
    assert!(!settled.after_idle(364.0).is_provisional());
    assert!(settled.after_idle(367.0).is_provisional());
}

#[test]
fn a_clock_that_went_back_is_no_idle_time() {
    let settled = Rating { rd: 60.0, ..Rating::NEW };
    for days in [-1.0, f64::NEG_INFINITY, f64::NAN] {
        assert_eq!(settled.after_idle(days), settled);
    }
    assert_eq!(settled.after_idle(f64::INFINITY).rd, RD_MAX);
}

#[test]
fn a_number_that_is_not_finite_rates_nothing() {
    let sound = ByRole { hounds: Rating::NEW, hare: Rating::NEW };
    for bad in [f64::NAN, f64::INFINITY, f64::NEG_INFINITY] {
        for broken in [
            Rating { rating: bad, ..Rating::NEW },
            Rating { rd: bad, ..Rating::NEW },
            Rating { volatility: bad, ..Rating::NEW },
        ] {
            assert_eq!(rate(ByRole { hounds: broken, ..sound }, GameResult::Draw, RoleOffset::ZERO), None);
            assert_eq!(rate(ByRole { hare: broken, ..sound }, GameResult::Draw, RoleOffset::ZERO), None);
        }
        assert_eq!(rate(sound, GameResult::Draw, RoleOffset { a: bad, b: 0.0 }), None);
        assert_eq!(rate(sound, GameResult::Draw, RoleOffset { a: 0.0, b: bad }), None);
    }
    let no_deviation = Rating { rd: 0.0, ..Rating::NEW };
    assert_eq!(rate(ByRole { hare: no_deviation, ..sound }, GameResult::Draw, RoleOffset::ZERO), None);
}

#[test]
fn the_advantage_grows_with_the_level_up_to_400() {
    let offset = RoleOffset { a: 150.0, b: 0.25 };
    assert_eq!(offset.advantage(1500.0), 150.0);
    assert_eq!(offset.advantage(1700.0), 200.0);
    assert_eq!(offset.advantage(3900.0), 400.0);
    assert_eq!(RoleOffset { a: -150.0, b: -0.25 }.advantage(3900.0), -400.0);
    assert_eq!(RoleOffset::ZERO.advantage(3900.0), 0.0);
}

/// The classic bug, which shows at RD 350 and hides at RD 60, would give the loser 1383.36.
#[test]
fn the_loser_is_rated_against_the_winner_as_he_was() {
    let fresh = ByRole { hounds: Rating::NEW, hare: Rating::NEW };
    let raised = glicko2_game(fresh, GameResult::Hounds, 0.0, 0.5).hounds;
    let wrong = glicko2_game(ByRole { hounds: raised, hare: Rating::NEW }, GameResult::Hounds, 0.0, 0.5).hare;
    assert!((wrong.rating - 1383.36).abs() < 0.01);
    assert!(
        (rate(fresh, GameResult::Hounds, RoleOffset::ZERO).unwrap().after.hare.rating - 1337.69).abs() < 0.01
    );
}

/// From numbers that a row may hold one game moves a rating by 699 at most, so the bound is tried from beyond
/// them.
#[test]
fn no_game_moves_a_rating_by_more_than_700() {
    let hare = Rating { rating: 2500.0, rd: 45.0, volatility: 0.06 };
    let moved = |rd| {
        let hounds = Rating { rating: 1500.0, rd, volatility: 0.1 };
        rate(ByRole { hounds, hare }, GameResult::Hounds, RoleOffset::ZERO).unwrap().after.hounds.rating
            - 1500.0
    };
    assert!((600.0..700.0).contains(&moved(350.0)));
    assert_eq!(moved(700.0), 700.0);
}

#[test]
fn bounds_hold_for_ever() {
    let mut dice = Dice(1);
    let mut players = [Rating::NEW; 40];
    let offset = RoleOffset { a: 120.0, b: 0.2 };
    for game in 0..500_000 {
        let (one, step) = (dice.below(40), 1 + dice.below(39));
        let other = (one + step) % 40;
        // Long absences now and then; and the low half of the players loses nearly always, the high half
        // wins.
        let days = if dice.below(20) == 0 { dice.unit() * 3000.0 } else { dice.unit() };
        let before = ByRole { hounds: players[one].after_idle(days), hare: players[other].after_idle(days) };
        let result = match dice.below(10) {
            0 => RESULTS[dice.below(3)],
            _ if one > other => GameResult::Hounds,
            _ => GameResult::Hare,
        };
        let after = rate(before, result, offset).unwrap().after;
        assert!(is_within_bounds(after.hounds) && is_within_bounds(after.hare), "game {game}: {after:?}");
        (players[one], players[other]) = (after.hounds, after.hare);
    }
}

/// The raw numbers of this history differ between C libraries in their last bits; the quantised ones do not.
///
/// Another checksum on another machine means a rebuild there would not reproduce the log. Another one after a
/// change of code means that stored numbers change: then it is a new [`RULE_VERSION`].
#[test]
fn a_long_history_is_the_same_on_every_machine() {
    let mut dice = Dice(2);
    let mut players = [Rating::NEW; 40];
    let mut checksum = 0xcbf2_9ce4_8422_2325_u64;
    for _ in 0..100_000 {
        let (one, step) = (dice.below(40), 1 + dice.below(39));
        let other = (one + step) % 40;
        let days = dice.unit() * 30.0;
        let before = ByRole { hounds: players[one].after_idle(days), hare: players[other].after_idle(days) };
        let game = rate(before, RESULTS[dice.below(3)], RoleOffset { a: 120.0, b: 0.2 }).unwrap();
        (players[one], players[other]) = (game.after.hounds, game.after.hare);
        let numbers = |rating: Rating| [rating.rating, rating.rd, rating.volatility];
        let [one, other] = [game.after.hounds, game.after.hare].map(numbers);
        for number in one.into_iter().chain(other).chain([game.expected_score.hounds, game.advantage]) {
            checksum = (checksum ^ number.to_bits()).wrapping_mul(0x0100_0000_01b3);
        }
    }
    assert_eq!((RULE_VERSION, checksum), (1, 13_319_593_870_250_819_580));
}

#[test]
fn expected_scores_are_symmetric_whatever_the_deviations() {
    let before = ByRole {
        hounds: Rating { rating: 1700.0, rd: 300.0, volatility: 0.06 },
        hare: Rating { rating: 1500.0, rd: 50.0, volatility: 0.06 },
    };
    let expected = expected_score(before, 0.0);
    let mirror = expected_score(mirrored(before), 0.0);
    assert!((expected.hounds + expected.hare - 1.0).abs() < 1e-15);
    assert!((expected.hounds - mirror.hare).abs() < 1e-15);
    assert_eq!(RESULTS.map(hounds_score), [1.0, 0.5, 0.0]);
}
