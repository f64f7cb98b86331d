//! House rules: what they can be, how they are refused, and what they start from.

use crate::all_rules;
use leveret::rules::{GivenValue, Play, Position, RuleError, RuleValue, Rules, Variant};

use GivenValue::{Number, Text};

#[test]
fn the_defaults_are_those_of_the_rules() {
    let hare_and_hounds = Rules::default_for(Variant::HareAndHounds);
    let expected =
        [("getting_away", RuleValue::Text("thirty-moves")), ("hare_start", RuleValue::Text("right-end"))];
    assert_eq!(hare_and_hounds.entries(), expected);
    let catch_the_hare = Rules::default_for(Variant::CatchTheHare);
    let expected = [
        ("board", RuleValue::Text("alquerque")),
        ("hunters", RuleValue::Number(12)),
        ("too_few", RuleValue::Text("below-ten")),
    ];
    assert_eq!(catch_the_hare.entries(), expected);
}

#[test]
fn the_descriptor_agrees_with_the_rules() {
    for variant in Variant::ALL {
        let rules = Rules::default_for(variant);
        let described: Vec<_> = variant.house_rules().iter().map(|rule| (rule.name, rule.default)).collect();
        assert_eq!(rules.entries(), described);
        assert_eq!(rules.variant(), variant);
        assert_eq!(rules.check(), Ok(()));
    }
}

#[test]
fn there_are_six_ways_to_play_the_one_game_and_thirty_three_the_other() {
    let all = all_rules();
    assert_eq!(all.iter().filter(|rules| rules.variant() == Variant::HareAndHounds).count(), 6);
    assert_eq!(all.iter().filter(|rules| rules.variant() == Variant::CatchTheHare).count(), 33);
}

#[test]
fn entries_given_back_in_any_order_make_the_same_rules() {
    for rules in all_rules() {
        let set =
            |so_far: Rules, &(name, value): &(&str, RuleValue)| so_far.with(name, value.into()).unwrap();
        let default = Rules::default_for(rules.variant());
        assert_eq!(rules.entries().iter().fold(default, set), rules);
        assert_eq!(rules.entries().iter().rev().fold(default, set), rules);
    }
}

#[test]
fn nine_hunters_need_cannot_enclose_whichever_is_given_first() {
    let default = Rules::default_for(Variant::CatchTheHare);
    let nine = default.with("hunters", Number(9)).unwrap();
    let error = nine.check().unwrap_err();
    assert!(matches!(error, RuleError::Combination { .. }));
    assert_eq!(error.name(), "hunters");
    assert!(Play::begin(nine, nine.starts()[0]).is_err());

    let one = nine.with("too_few", Text("cannot-enclose")).unwrap();
    let other = default.with("too_few", Text("cannot-enclose")).unwrap().with("hunters", Number(9)).unwrap();
    assert_eq!(one, other);
    assert_eq!(one.check(), Ok(()));
}

#[test]
fn a_refusal_names_the_house_rule_and_what_it_could_be() {
    let rules = Rules::default_for(Variant::CatchTheHare);
    let cases = [
        ("hunters", Number(8), "hunters must be a whole number from 9 to 14"),
        ("hunters", Number(15), "hunters must be a whole number from 9 to 14"),
        ("hunters", Number(268), "hunters must be a whole number from 9 to 14"),
        ("hunters", Number(i64::MIN), "hunters must be a whole number from 9 to 14"),
        ("hunters", Text("12"), "hunters must be a whole number from 9 to 14"),
        ("board", Number(1), "board must be alquerque, long-diagonals or no-diagonals"),
        ("board", Text("Alquerque"), "board must be alquerque, long-diagonals or no-diagonals"),
        ("too_few", Text(""), "too_few must be below-ten or cannot-enclose"),
        (
            "hare_start",
            Text("e2"),
            "no house rule is named \"hare_start\": expected board, hunters or too_few",
        ),
    ];
    for (name, value, message) in cases {
        let error = rules.with(name, value).unwrap_err();
        assert_eq!(error.name(), name);
        assert_eq!(error.to_string(), message);
    }
}

#[test]
fn every_game_starts_where_its_house_rules_say() {
    let starts = |variant, options: &[(&str, GivenValue<'_>)]| -> Vec<String> {
        crate::rules(variant, options).starts().iter().map(Position::to_string).collect()
    };
    use Variant::{CatchTheHare, HareAndHounds};
    assert_eq!(starts(HareAndHounds, &[]), ["a2b1b3/e2 hounds"]);
    assert_eq!(starts(HareAndHounds, &[("hare_start", Text("centre"))]), ["a2b1b3/c2 hounds"]);
    assert_eq!(
        starts(HareAndHounds, &[("hare_start", Text("random"))]),
        ["a2b1b3/d1 hounds", "a2b1b3/d2 hounds", "a2b1b3/d3 hounds", "a2b1b3/e2 hounds"]
    );
    let handicaps = [
        (9, "a1a2b1b2c2d1d2e1e2/c3 hounds"),
        (10, "a1a2b1b2c1c2d1d2e1e2/c3 hounds"),
        (11, "a1a2a3b1b2c1c2d1d2e1e2/c3 hounds"),
        (12, "a1a2a3b1b2c1c2d1d2e1e2e3/c3 hounds"),
        (13, "a1a2a3b1b2b3c1c2d1d2e1e2e3/c3 hounds"),
        (14, "a1a2a3b1b2b3c1c2d1d2d3e1e2e3/c3 hounds"),
    ];
    for (hunters, start) in handicaps {
        let options = [("hunters", Number(hunters)), ("too_few", Text("cannot-enclose"))];
        assert_eq!(starts(CatchTheHare, &options), [start]);
    }
}

#[test]
fn a_game_begins_only_where_its_house_rules_say() {
    for rules in all_rules() {
        for start in rules.starts() {
            assert_eq!(rules.admits(start), Ok(()));
            assert_eq!(Play::begin(rules, start).unwrap().position(), start);
        }
    }
    let rules = Rules::default_for(Variant::HareAndHounds);
    let elsewhere = crate::position(rules, "a2b1b3/c2 hounds");
    assert!(Play::begin(rules, elsewhere).is_err());
    assert_eq!(Play::replay(rules, elsewhere, []).unwrap_err().ply(), 0);
}

#[test]
fn every_reason_of_a_variant_is_explained_to_players() {
    for variant in Variant::ALL {
        let descriptor = variant.descriptor();
        for reason in descriptor.reasons {
            let winner = match reason.result().winner() {
                Some(role) => format!("The {} win", variant.role_names()[role].to_lowercase()),
                None => "A draw".to_owned(),
            };
            let explanation = reason.explanation();
            assert!(explanation.starts_with(&winner), "{explanation:?} and {winner:?}");
            assert!(!explanation.contains("  "), "{explanation:?}");
        }
    }
}
