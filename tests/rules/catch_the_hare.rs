//! Catch the Hare: one case for each way to move, each ruling and each end.

use crate::{after, ending, position, rules, texts};
use leveret::rules::{GivenValue, IllegalMove, Move, Play, Reason, Role, Rules, Variant};

use GivenValue::{Number, Text};

fn below_ten(hunters: i64) -> Rules {
    rules(Variant::CatchTheHare, &[("hunters", Number(hunters))])
}

fn cannot_enclose(board: &str) -> Rules {
    rules(Variant::CatchTheHare, &[("board", Text(board)), ("too_few", Text("cannot-enclose"))])
}

fn moves(rules: Rules, text: &str) -> Vec<String> {
    texts(&rules.moves(position(rules, text)))
}

fn end(rules: Rules, text: &str) -> Option<Reason> {
    rules.end(position(rules, text)).map(|outcome| outcome.reason)
}

#[test]
fn hunters_step_in_any_direction_and_never_leap() {
    let moves = moves(cannot_enclose("no-diagonals"), "a1b3b4c3d1/c4 hounds");
    let expected =
        ["a1-a2", "a1-b1", "b3-a3", "b3-b2", "b4-a4", "b4-b5", "c3-c2", "c3-d3", "d1-c1", "d1-d2", "d1-e1"];
    assert_eq!(moves, expected);
}

#[test]
fn diagonals_are_open_only_where_the_board_draws_them() {
    let steps = |board, hare| {
        let text = format!("a4a5d5e1e5/{hare} hare");
        moves(cannot_enclose(board), &text).len()
    };
    assert_eq!((steps("alquerque", "c3"), steps("alquerque", "b3"), steps("alquerque", "c1")), (8, 4, 5));
    assert_eq!((steps("long-diagonals", "c3"), steps("long-diagonals", "c1")), (8, 3));
    assert_eq!(steps("no-diagonals", "c3"), 4);
}

#[test]
fn the_hare_may_stop_after_any_leap_and_need_not_leap() {
    let moves = moves(below_ten(11), "a2a4d1d2d3d4e1e2e3e4e5/a1 hare");
    assert_eq!(moves, ["a1-b1", "a1-b2", "a1xa3", "a1xa3xa5"]);
}

#[test]
fn a_leap_ends_midway_when_the_hunters_become_too_few() {
    let moves = moves(below_ten(10), "a2a4d1d2d3d4e1e2e3e4/a1 hare");
    assert_eq!(moves, ["a1-b1", "a1-b2", "a1xa3"]);
}

#[test]
fn two_ways_to_leap_to_the_same_position_are_two_moves_and_the_starting_point_is_empty_meanwhile() {
    let rules = cannot_enclose("no-diagonals");
    let before = position(rules, "a2b1b3c2d5e3e4e5/a1 hare");
    let around: Vec<Move> =
        ["a1xa3xc3xc1xa1", "a1xc1xc3xa3xa1"].map(|text| Move::parse(text).unwrap()).into();
    let all = rules.moves(before);
    assert!(around.iter().all(|mv| all.contains(mv)), "{all:?}");
    for mv in around {
        assert_eq!(before.after(&mv).to_string(), "d5e3e4e5/a1 hounds");
    }
}

#[test]
fn a_hunter_is_taken_at_once_and_not_twice() {
    let moves = moves(cannot_enclose("no-diagonals"), "a2c3d5e3e4e5/a1 hare");
    assert_eq!(moves, ["a1-b1", "a1xa3"], "there is no leaping back over a2");
}

#[test]
fn a_hare_that_can_neither_step_nor_leap_is_enclosed() {
    let no_diagonals = cannot_enclose("no-diagonals");
    assert_eq!(end(no_diagonals, "a2a3b1c1/a1 hare"), Some(Reason::Enclosed));
    assert_eq!(end(no_diagonals, "a2a3b1c2/a1 hare"), None, "it can leap over b1");
    assert_eq!(end(no_diagonals, "a2a3b1c1/a1 hounds"), None, "it is not its turn");
    let alquerque = cannot_enclose("alquerque");
    assert_eq!(end(alquerque, "a1a3a4b2c2/a2 hare"), Some(Reason::Enclosed));
    assert_eq!(end(alquerque, "a2a3b1c1c3/a1 hare"), None, "b2 is open");
}

#[test]
fn the_hare_wins_when_the_hunters_are_too_few() {
    let nine = "a1a2b1b2c1c2d1d2e1/e5 hounds";
    assert_eq!(end(below_ten(12), nine), Some(Reason::HuntersTooFew));
    assert_eq!(end(below_ten(12), "a1a2b1b2c1c2d1d2e1e2/e5 hounds"), None);
    assert_eq!(end(cannot_enclose("alquerque"), nine), None);
    for (board, enough, too_few) in [
        ("alquerque", "a1b1c1d1e1/c3 hounds", "a1b1c1d1/c3 hounds"),
        ("long-diagonals", "a1b1c1d1e1/c3 hounds", "a1b1c1d1/c3 hounds"),
        ("no-diagonals", "a1b1c1d1/c3 hounds", "a1b1c1/c3 hounds"),
    ] {
        assert_eq!(end(cannot_enclose(board), enough), None, "{board}");
        assert_eq!(end(cannot_enclose(board), too_few), Some(Reason::HuntersTooFew), "{board}");
    }
}

/// The start comes back after four plies of this.
const THERE_AND_BACK: &str = "a3-a4 c3-c4 a4-a3 c4-c3 ";

#[test]
fn the_third_time_that_a_position_stands_the_game_is_drawn() {
    let mut play = after(below_ten(12), &(THERE_AND_BACK.to_owned() + "a3-a4 c3-c4 a4-a3"));
    assert_eq!(ending(&play), "going on");
    play.play("c4-c3").unwrap();
    assert_eq!(play.ply(), 8);
    assert_eq!(ending(&play), "draw repetition");
    assert_eq!(play.play("a3-a4"), Err(IllegalMove::GameOver));
}

/// Makes moves without a capture up to a ply, picked by a number, unless the game ends before.
fn wander(rules: Rules, plies: u16, mut number: u64) -> Option<Play> {
    let mut play = after(rules, "");
    while play.ply() < plies {
        let mut quiet = play.legal_moves();
        quiet.retain(|mv| !mv.is_leap());
        number = number.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        let pick = (number >> 33) as usize % quiet.len().max(1);
        play.play_move(*quiet.get(pick)?).ok()?;
    }
    play.outcome().is_none().then_some(play)
}

#[test]
fn the_game_is_drawn_at_exactly_a_hundred_plies_without_a_capture() {
    let mut seen = 0;
    for mut play in (0..100).filter_map(|number| wander(below_ten(12), 99, number)) {
        let Some(quiet) = play.legal_moves().into_iter().find(|mv| !mv.is_leap()) else { continue };
        if let Some(leap) = play.legal_moves().into_iter().find(Move::is_leap) {
            let mut other = play.clone();
            other.play_move(leap).unwrap();
            assert_eq!(ending(&other), "going on", "a capture at the last moment is progress");
            seen += 1;
        }
        play.play_move(quiet).unwrap();
        assert_eq!((play.ply(), ending(&play)), (100, "draw no-progress".to_owned()));
    }
    assert!(seen > 0);
}

#[test]
fn a_repetition_counts_before_the_want_of_progress() {
    let seen = (0..100).filter_map(|number| wander(below_ten(12), 92, number)).any(|play| {
        // From the 92nd ply, any two steps there and back, twice over, end with the 100th.
        let steps =
            |play: &Play| play.legal_moves().into_iter().filter(|mv| !mv.is_leap()).collect::<Vec<_>>();
        steps(&play).into_iter().any(|hunter| {
            let mut after_hunter = play.clone();
            after_hunter.play_move(hunter).unwrap();
            steps(&after_hunter).into_iter().any(|hare| {
                let back = |mv: Move| format!("{}-{}", mv.to(), mv.from());
                let cycle = [hunter.to_string(), hare.to_string(), back(hunter), back(hare)];
                let mut play = play.clone();
                let made = cycle.iter().chain(&cycle).all(|mv| play.play(mv).is_ok());
                if made {
                    assert_eq!((play.ply(), ending(&play)), (100, "draw repetition".to_owned()));
                }
                made
            })
        })
    });
    assert!(seen, "some game gets that far");
}

#[test]
fn the_pack_moves_first_and_only_on_its_turn() {
    let mut play = after(below_ten(12), "");
    assert_eq!(play.turn(), Role::Hounds);
    assert_eq!(play.play("c3-c4"), Err(IllegalMove::NotYourPiece("c3".parse().unwrap())));
    assert_eq!(play.play("a1-a2"), Err(IllegalMove::AgainstTheRules));
    assert_eq!(play.play("a1xa3"), Err(IllegalMove::AgainstTheRules));
    assert_eq!(play.ply(), 0);
}
