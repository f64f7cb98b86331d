//! Texts: what is written can be read, and nothing else can.

use crate::position;
use leveret::rules::{
    ByRole, GameResult, ImpossiblePosition, Move, ParseMoveError, ParsePositionError, Position, Reason, Role,
    Rules, Variant,
};
use std::str::FromStr;

#[test]
fn words_are_those_of_the_rules() {
    assert_eq!(Role::ALL.map(Role::word), ["hounds", "hare"]);
    assert_eq!(Variant::ALL.map(Variant::word), ["hare-and-hounds", "catch-the-hare"]);
    assert_eq!(GameResult::ALL.map(GameResult::word), ["hounds", "hare", "draw"]);
    let reasons =
        "cornered escaped move-limit stalling hounds-stuck enclosed hunters-too-few repetition no-progress";
    assert_eq!(Reason::ALL.map(Reason::word).join(" "), reasons);
    assert!(Reason::ALL.into_iter().all(|reason| Reason::from_str(&reason.to_string()) == Ok(reason)));
    assert_eq!(Role::from_str("Hounds").unwrap_err().to_string(), "expected hounds or hare");
}

#[test]
fn each_role_has_its_own() {
    let mut names = Variant::CatchTheHare.role_names();
    assert_eq!((names[Role::Hounds], names[Role::Hare]), ("Hunters", "Hare"));
    names[Role::Hare] = "Rabbit";
    assert_eq!(names, ByRole { hounds: "Hunters", hare: "Rabbit" });
    assert_eq!(ByRole::from_fn(Role::other), ByRole { hounds: Role::Hare, hare: Role::Hounds });
    assert_eq!(names.as_ref().map(|name| name.len()), ByRole { hounds: 7, hare: 6 });
    assert_eq!(names.iter().collect::<Vec<_>>(), [(Role::Hounds, &"Hunters"), (Role::Hare, &"Rabbit")]);
    for role in Role::ALL {
        assert_eq!(GameResult::from(role).winner(), Some(role));
        assert_eq!(role.other().other(), role);
    }
}

#[test]
fn moves_are_read_as_they_are_written() {
    for text in ["b1-c1", "a5-b4", "b4xd2", "b4xd2xd4", "a1xa3xc3xc1xa1"] {
        assert_eq!(Move::parse(text).unwrap().to_string(), text);
    }
    let leap = Move::parse("b4xd2xd4").unwrap();
    let captures: Vec<&str> = leap.captures().map(|point| point.name()).collect();
    assert_eq!((leap.from().name(), leap.to().name(), captures), ("b4", "d4", vec!["c3", "d3"]));
    assert_eq!(Move::parse("b1-c1").unwrap().captures().count(), 0);
}

#[test]
fn what_is_not_a_move_is_refused() {
    use ParseMoveError::{Impossible, Unreadable};
    let long = "a1".to_owned() + &"xa3xa1".repeat(6);
    let cases = [
        ("", Unreadable),
        ("b1", Unreadable),
        ("b1-", Unreadable),
        ("b1c1", Unreadable),
        ("b1-c1 ", Unreadable),
        (" b1-c1", Unreadable),
        ("b1-c1-d1", Unreadable),
        ("b1xd1x", Unreadable),
        ("b1xxd1", Unreadable),
        ("B1-C1", Unreadable),
        ("b1–c1", Unreadable),
        ("b6-c6", Unreadable),
        ("é1-é1", Unreadable),
        ("b1-b1", Impossible),
        ("b1-d1", Impossible),
        ("b1xc1", Impossible),
        ("a1xb3", Impossible),
        ("a1xa5", Impossible),
        ("a1xa1", Impossible),
        ("a1xa3xa4", Impossible),
        (&long, Impossible),
    ];
    for (text, error) in cases {
        assert_eq!(Move::parse(text), Err(error), "{text:?}");
    }
}

#[test]
fn positions_are_read_as_they_are_written() {
    let cases = [
        (Variant::HareAndHounds, "a2b1b3/e2 hounds"),
        (Variant::HareAndHounds, "c1d1e2/d2 hare"),
        (Variant::CatchTheHare, "a1a2a3b1b2c1c2d1d2e1e2e3/c3 hounds"),
        (Variant::CatchTheHare, "a1a3b1c1d1d2e1e3e5/b2 hounds"),
    ];
    for (variant, text) in cases {
        assert_eq!(position(Rules::default_for(variant), text).to_string(), text);
    }
}

#[test]
fn what_is_not_a_position_is_refused() {
    use ParsePositionError::{Impossible, Overlap, Unordered, Unreadable};
    let (b2, a1) = ("b2".parse().unwrap(), "a1".parse().unwrap());
    let three = Impossible(ImpossiblePosition::PackSize { min: 3, max: 3 });
    let cases = [
        ("", Unreadable),
        ("a2b1b3/e2", Unreadable),
        ("a2b1b3/e2 ", Unreadable),
        ("a2b1b3/e2  hounds", Unreadable),
        ("a2b1b3/e2 hounds ", Unreadable),
        ("a2b1b3/e2 hunters", Unreadable),
        ("a2b1b3 hounds", Unreadable),
        ("a2b1b/e2 hounds", Unreadable),
        ("a2b1b3/e2e2 hounds", Unreadable),
        ("a2b1b3/ hounds", Unreadable),
        ("a2b1z9/e2 hounds", Unreadable),
        ("aéb1b3/e2 hounds", Unreadable),
        ("b1a2b3/e2 hounds", Unordered),
        ("a2b1b1/e2 hounds", Unordered),
        ("a2b2b3/b2 hounds", Overlap(b2)),
        ("a1b1b3/e2 hounds", Impossible(ImpossiblePosition::OffBoard(a1))),
        ("a2b1b3/a1 hounds", Impossible(ImpossiblePosition::OffBoard(a1))),
        ("a2b1/e2 hounds", three),
        ("/e2 hounds", three),
        ("a2b1b2b3/e2 hounds", three),
    ];
    for (text, error) in cases {
        assert_eq!(Position::parse(Rules::default_for(Variant::HareAndHounds), text), Err(error), "{text:?}");
    }
    let catch_the_hare = Rules::default_for(Variant::CatchTheHare);
    let error = Position::parse(catch_the_hare, "a1a2b1b2c1c2d1d2/c3 hounds").unwrap_err();
    assert_eq!(error.to_string(), "the pack must have 9 to 12 pieces");
}
