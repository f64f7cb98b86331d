//! Who plays better than their rating explains.

use leveret::{
    games::fair_play::{Record, compare},
    rules::{Role, Variant},
};

fn record(name: &str, rating: f64, tests: i64, passed: i64) -> Record {
    Record {
        username: Some(name.to_owned()),
        is_bot: false,
        variant: Variant::HareAndHounds,
        role: Role::Hounds,
        rating,
        games: tests / 5,
        tests,
        passed,
        accuracy: 80.0,
    }
}

/// Forty honest accounts: the higher the rating, the more tests are passed, with some scatter.
fn honest() -> Vec<Record> {
    (0..40)
        .map(|n| {
            let rating = 1200.0 + 20.0 * f64::from(n);
            let chance = 1.0 / (1.0 + (-(0.4 + 1.2 * (rating - 1500.0) / 400.0)).exp());
            let luck = f64::from(n % 5 - 2) * 2.0;
            record(&format!("honest-{n}"), rating, 200, (200.0 * chance + luck).round() as i64)
        })
        .collect()
}

#[test]
fn somebody_who_finds_nearly_everything_at_a_middling_rating_stands_out() {
    let mut records = honest();
    records.push(record("suspect", 1500.0, 200, 196));

    let striking = compare(&records, 50, 3.0);

    assert_eq!(striking.len(), 1, "{striking:?}");
    assert_eq!(striking[0].record.username.as_deref(), Some("suspect"));
    assert!(striking[0].expected < 140.0 && striking[0].z > 5.0, "{striking:?}");
}

#[test]
fn a_strong_player_who_finds_as_much_does_not() {
    let mut records = honest();
    records.push(record("champion", 2600.0, 200, 196));

    assert_eq!(compare(&records, 50, 3.0), []);
}

#[test]
fn few_tests_and_few_others_show_nothing() {
    let mut records = honest();
    records.push(record("newcomer", 1500.0, 20, 20));
    assert_eq!(compare(&records, 50, 3.0), []);

    let mut few = honest();
    few.truncate(4);
    few.push(record("suspect", 1500.0, 200, 196));
    assert_eq!(compare(&few, 50, 3.0), []);
}

#[test]
fn everybody_passing_everything_is_no_reason_to_divide_by_zero() {
    let records: Vec<Record> = (0..10).map(|n| record(&format!("p{n}"), 1500.0, 100, 100)).collect();

    let all = compare(&records, 1, -10.0);

    assert_eq!(all.len(), 10);
    assert!(all.iter().all(|standing| standing.z.is_finite()), "{all:?}");
}
