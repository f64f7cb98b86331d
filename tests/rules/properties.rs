//! Laws that hold in every game that can be played, and for every text.

use crate::{all_rules, position};
use leveret::rules::{Move, Play, Point, Position, Role, Rules, Variant};
use proptest::{prelude::*, sample::Index, test_runner::TestCaseError};
use std::str::FromStr;

/// A game at its start, by any rules of these variants, and which of the legal moves to make each time.
fn games(of: &'static [Variant]) -> impl Strategy<Value = (Play, Vec<Index>)> {
    let all = all_rules().into_iter().filter(|rules| of.contains(&rules.variant())).collect::<Vec<_>>();
    let begun = (prop::sample::select(all), any::<Index>()).prop_map(|(rules, start)| {
        let start = *start.get(&rules.starts());
        Play::begin(rules, start).unwrap()
    });
    (begun, prop::collection::vec(any::<Index>(), 0..150))
}

/// Makes the picked moves until the game is over, looking at each before and after it.
fn make(
    mut play: Play,
    picks: &[Index],
    mut look: impl FnMut(&Play, Move, &Play) -> Result<(), TestCaseError>,
) -> Result<Play, TestCaseError> {
    for pick in picks {
        let legal = play.legal_moves();
        if legal.is_empty() {
            break;
        }
        let (before, mv) = (play.clone(), *pick.get(&legal));
        play.play_move(mv).unwrap();
        look(&before, mv, &play)?;
    }
    Ok(play)
}

/// The text with every point in it moved elsewhere.
fn with_points_moved(text: &str, to: impl Fn(Point) -> Point) -> String {
    let mut moved = String::new();
    let mut rest = text;
    while let Some(first) = rest.chars().next() {
        let point = rest.get(..2).and_then(|name| Point::from_str(name).ok());
        let length = if let Some(point) = point {
            moved += to(point).name();
            2
        } else {
            moved.push(first);
            first.len_utf8()
        };
        rest = &rest[length..];
    }
    moved
}

/// The position with every point moved elsewhere.
fn position_moved(rules: Rules, from: Position, to: impl Fn(Point) -> Point) -> Position {
    let moved = Position::new(from.pack().iter().map(&to).collect(), to(from.hare()), from.turn()).unwrap();
    assert_eq!(rules.admits(moved), Ok(()));
    moved
}

fn moves_moved(moves: &[Move], to: impl Fn(Point) -> Point) -> Vec<Move> {
    let mut moved: Vec<Move> =
        moves.iter().map(|mv| Move::parse(&with_points_moved(&mv.to_string(), &to)).unwrap()).collect();
    moved.sort_unstable();
    moved
}

/// Up and down change places on the board of Hare and Hounds.
fn upside_down(point: Point) -> Point {
    Point::at(point.x(), 2 - point.y()).unwrap()
}

/// One of the eight symmetries of the square board.
fn turned(symmetry: u8, point: Point) -> Point {
    let (mut x, mut y) = (point.x(), point.y());
    if symmetry & 1 != 0 {
        x = 4 - x;
    }
    if symmetry & 2 != 0 {
        y = 4 - y;
    }
    if symmetry & 4 != 0 {
        (x, y) = (y, x);
    }
    Point::at(x, y).unwrap()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 128, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn a_legal_move_leads_to_a_position_that_can_stand((play, picks) in games(&Variant::ALL)) {
        make(play, &picks, |before, mv, after| {
            let (from, to) = (before.position(), after.position());
            prop_assert_eq!(after.rules().admits(to), Ok(()));
            prop_assert_eq!(Position::parse(after.rules(), &to.to_string()), Ok(to));
            prop_assert_eq!(to.turn(), from.turn().other());
            prop_assert_eq!(usize::from(to.pack().len()), usize::from(from.pack().len()) - mv.captures().count());
            prop_assert!(!to.pack().contains(to.hare()));
            prop_assert_eq!(after.ply(), before.ply() + 1);
            prop_assert!(after.ply() <= after.rules().max_plies());
            match from.turn() {
                Role::Hare => prop_assert_eq!(to.hare(), mv.to()),
                Role::Hounds => prop_assert_eq!(to.hare(), from.hare()),
            }
            Ok(())
        })?;
    }

    #[test]
    fn a_game_is_over_when_and_only_when_there_is_no_legal_move((play, picks) in games(&Variant::ALL)) {
        make(play, &picks, |_, _, after| {
            prop_assert_eq!(after.legal_moves().is_empty(), after.outcome().is_some());
            if let Some(outcome) = after.rules().end(after.position()) {
                prop_assert_eq!(after.outcome(), Some(outcome));
            }
            if let Some(outcome) = after.outcome() {
                prop_assert!(after.rules().variant().descriptor().reasons.contains(&outcome.reason));
                prop_assert_eq!(outcome.result, outcome.reason.result());
            }
            Ok(())
        })?;
    }

    #[test]
    fn legal_moves_are_in_the_order_of_their_texts_and_read_as_written((play, picks) in games(&Variant::ALL)) {
        make(play, &picks, |before, _, _| {
            let legal = before.legal_moves();
            let texts: Vec<String> = legal.iter().map(Move::to_string).collect();
            prop_assert!(texts.is_sorted_by(|a, b| a < b));
            for (mv, text) in legal.iter().zip(&texts) {
                prop_assert_eq!(Move::parse(text), Ok(*mv));
            }
            let all = before.rules().moves(before.position());
            prop_assert!(legal.iter().all(|mv| all.contains(mv)));
            Ok(())
        })?;
    }

    #[test]
    fn replaying_a_game_gives_the_same_game((play, picks) in games(&Variant::ALL)) {
        let mut texts = Vec::new();
        let (rules, start) = (play.rules(), play.start());
        let play = make(play, &picks, |_, mv, _| { texts.push(mv.to_string()); Ok(()) })?;
        prop_assert_eq!(Play::replay(rules, start, texts.iter().map(String::as_str)), Ok(play));
    }

    #[test]
    fn a_refused_move_leaves_the_game_as_it_was(
        (play, picks) in games(&Variant::ALL),
        texts in prop::collection::vec("[a-e][1-5]([-x][a-e][1-5]){1,3}", 20),
    ) {
        let mut play = make(play, &picks, |_, _, _| Ok(()))?;
        for text in texts {
            let before = play.clone();
            let is_legal = before.legal_moves().iter().any(|mv| mv.to_string() == text);
            match play.play(&text) {
                Ok(mv) => prop_assert!(is_legal && mv.to_string() == text),
                Err(_) => prop_assert!(!is_legal && play == before),
            }
        }
    }

    #[test]
    fn hare_and_hounds_is_the_same_game_upside_down((play, picks) in games(&[Variant::HareAndHounds])) {
        let rules = play.rules();
        let start = position_moved(rules, play.start(), upside_down);
        let mut mirrored = Play::begin(rules, start).unwrap();
        make(play, &picks, |before, mv, after| {
            prop_assert_eq!(mirrored.legal_moves(), moves_moved(&before.legal_moves(), upside_down));
            mirrored.play(&with_points_moved(&mv.to_string(), upside_down)).unwrap();
            prop_assert_eq!(mirrored.position(), position_moved(rules, after.position(), upside_down));
            prop_assert_eq!(mirrored.outcome(), after.outcome());
            Ok(())
        })?;
    }

    #[test]
    fn catch_the_hare_is_the_same_game_however_the_board_is_turned((play, picks) in games(&[Variant::CatchTheHare])) {
        let rules = play.rules();
        make(play, &picks, |_, _, after| {
            for symmetry in 0..8 {
                let turned = |point| turned(symmetry, point);
                let position = position_moved(rules, after.position(), turned);
                prop_assert_eq!(rules.moves(position), moves_moved(&rules.moves(after.position()), turned));
                prop_assert_eq!(rules.end(position), rules.end(after.position()));
            }
            Ok(())
        })?;
    }

    #[test]
    fn no_text_makes_the_readers_panic(
        text in prop_oneof![".*", "[a-f0-6x/ é-]{0,24}", "([a-e][1-5]){0,15}/[a-e][1-5] (hounds|hare)"],
        (mut play, _) in games(&Variant::ALL),
    ) {
        let rules = play.rules();
        if let Ok(mv) = Move::parse(&text) {
            prop_assert_eq!(mv.to_string(), text.clone());
        }
        if let Ok(position) = Position::parse(rules, &text) {
            prop_assert_eq!(position.to_string(), text.clone());
            rules.end(position);
            for mv in rules.moves(position) {
                prop_assert!(rules.admits(position.after(&mv)).is_ok() || rules.end(position).is_some());
            }
        }
        let _ = (Point::from_str(&text), Role::from_str(&text), Variant::from_str(&text), play.play(&text));
    }
}

#[test]
fn the_square_board_has_eight_symmetries() {
    let rules = Rules::default_for(Variant::CatchTheHare);
    let skew = position(rules, "a1a2a3a4b1b2c1c2d1/e4 hounds");
    let images = (0..8).map(|symmetry| position_moved(rules, skew, |point| turned(symmetry, point)));
    assert_eq!(images.collect::<std::collections::BTreeSet<_>>().len(), 8);
}
