//! Hare and Hounds: one case for each way to move, each ruling and each end.

use crate::{after, ending, position, rules, texts};
use leveret::rules::{GivenValue, IllegalMove, Reason, Rules, Variant};

fn thirty_moves() -> Rules {
    rules(Variant::HareAndHounds, &[])
}

fn ten_vertical() -> Rules {
    rules(Variant::HareAndHounds, &[("getting_away", GivenValue::Text("ten-vertical"))])
}

fn end(text: &str) -> Option<Reason> {
    thirty_moves().end(position(thirty_moves(), text)).map(|outcome| outcome.reason)
}

#[test]
fn hounds_step_up_down_and_right_but_never_left() {
    let moves = thirty_moves().moves(position(thirty_moves(), "b2c2d2/e2 hounds"));
    assert_eq!(texts(&moves), ["b2-b1", "b2-b3", "c2-c1", "c2-c3", "c2-d1", "c2-d3", "d2-d1", "d2-d3"]);
}

#[test]
fn the_hare_steps_in_any_direction_and_nobody_jumps() {
    let moves = thirty_moves().moves(position(thirty_moves(), "a2b1b3/c2 hare"));
    assert_eq!(texts(&moves), ["c2-b2", "c2-c1", "c2-c3", "c2-d1", "c2-d2", "c2-d3"]);
    let moves = thirty_moves().moves(position(thirty_moves(), "b1c1c2/d1 hare"));
    assert_eq!(texts(&moves), ["d1-d2", "d1-e2"]);
}

#[test]
fn the_hare_escapes_once_it_is_left_of_every_hound_and_not_while_level() {
    assert_eq!(end("b1c1d1/b3 hounds"), None);
    assert_eq!(end("c1c2d1/b3 hounds"), Some(Reason::Escaped));
    assert_eq!(end("c1c2d1/b3 hare"), Some(Reason::Escaped));
}

#[test]
fn the_hare_escapes_with_its_own_move() {
    let play = after(thirty_moves(), "b1-c1 e2-d3 b3-b2 d3-c2 a2-b3 c2-b1 b2-c2 b1-a2");
    assert_eq!(play.position().to_string(), "b3c1c2/a2 hounds");
    assert_eq!(ending(&play), "hare escaped");
}

#[test]
fn the_hare_escapes_when_the_last_hound_passes_it() {
    let line = "b1-b2 e2-d3 b3-c3 d3-d2 b2-c2 d2-d1 c2-d3 d1-c2 a2-b1 c2-d1 b1-c2 d1-e2 c2-d2 e2-d1 d2-e2 \
                d1-c1 c3-c2 c1-d1 d3-d2 d1-c1 c2-d1";
    let play = after(thirty_moves(), line);
    assert_eq!(play.position().to_string(), "d1d2e2/c1 hare");
    assert_eq!(ending(&play), "hare escaped");
}

#[test]
fn an_escape_counts_before_a_corner_and_before_stuck_hounds() {
    assert_eq!(end("b1b2b3/a2 hare"), Some(Reason::Escaped));
    assert_eq!(end("d1d3e2/c2 hounds"), Some(Reason::Escaped));
}

#[test]
fn the_hare_without_a_move_is_cornered() {
    assert_eq!(end("d1d2d3/e2 hare"), Some(Reason::Cornered));
    assert_eq!(
        end("d1d2d3/e2 hounds"),
        Some(Reason::HoundsStuck),
        "with the turn the other way, it is the hounds"
    );
    assert_eq!(end("c2d1d3/e2 hare"), None);
}

#[test]
fn hounds_without_a_step_are_stuck() {
    assert_eq!(end("d1d3e2/d2 hounds"), Some(Reason::HoundsStuck));
    assert_eq!(end("d1d3e2/d2 hare"), None);
}

const STUCK: &str = "a2-b2 e2-d3 b3-c3 d3-c2 b1-c1 c2-d2 c1-d1 d2-e2 d1-d2 e2-d1 d2-e2 d1-c1 b2-b1 c1-d1 b1-c2 \
                     d1-d2 c2-c1 d2-d1 c3-c2 d1-d2 c1-d1 d2-d3 c2-c1 d3-d2";

#[test]
fn hounds_whose_every_move_would_repeat_a_position_are_stuck() {
    let play = after(thirty_moves(), STUCK);
    assert_eq!(play.position().to_string(), "c1d1e2/d2 hounds");
    assert_eq!(ending(&play), "hare hounds-stuck");
    assert_eq!(
        texts(&thirty_moves().moves(play.position())),
        ["c1-c2"],
        "there is a step, but it is forbidden"
    );

    let play = after(ten_vertical(), STUCK);
    assert_eq!(ending(&play), "going on", "the other house rule has no ban");
    assert_eq!(texts(&play.legal_moves()), ["c1-c2"]);
}

#[test]
fn the_hounds_may_not_bring_back_a_position() {
    let there_and_back = "b1-b2 e2-d2 b2-b1 d2-e2";
    let mut play = after(thirty_moves(), there_and_back);
    assert_eq!(play.position(), play.start(), "the hare may bring back a position, even the start");
    assert!(!texts(&play.legal_moves()).contains(&"b1-b2".to_owned()));
    assert_eq!(play.play("b1-b2"), Err(IllegalMove::Repetition));
    assert_eq!(play, after(thirty_moves(), there_and_back));

    assert!(texts(&after(ten_vertical(), there_and_back).legal_moves()).contains(&"b1-b2".to_owned()));
}

#[test]
fn the_ban_is_on_positions_and_not_on_going_back() {
    let mut play = after(thirty_moves(), "b1-b2 e2-d2 b2-b1 d2-d1");
    play.play("b1-b2").expect("the hare stands elsewhere than after the first move");
}

#[test]
fn the_hare_wins_when_thirty_moves_did_not_corner_it() {
    let twenty_nine = "b3-c3 e2-d3 b1-b2 d3-e2 b2-b3 e2-d3 a2-b2 d3-d2 b3-c2 d2-d1 c2-c1 d1-e2 b2-b3 e2-d3 b3-b2 \
                       d3-d2 b2-b3 d2-e2 c3-c2 e2-d1 c2-c3 d1-d2 c3-d3 d2-e2 c1-c2 e2-d2 b3-b2 d2-d1 d3-d2 d1-e2 \
                       c2-c1 e2-d1 b2-b1 d1-c2 b1-b2 c2-d3 b2-b3 d3-e2 d2-d1 e2-d2 c1-c2 d2-e2 c2-d2 e2-d3 b3-b2 \
                       d3-e2 d2-d3 e2-d2 d1-e2 d2-c2 b2-b1 c2-d2 b1-c2 d2-d1 c2-c3 d1-c2 d3-d2 c2-d3";
    let mut play = after(thirty_moves(), twenty_nine);
    assert_eq!(ending(&play), "going on");
    play.play("c3-c2").unwrap();
    assert_eq!(play.ply(), 59);
    assert_eq!(ending(&play), "hare move-limit");
    assert_eq!(play.ply(), play.rules().max_plies());
}

#[test]
fn cornering_with_the_thirtieth_move_wins_for_the_hounds() {
    let line = "b3-b2 e2-d3 b2-b3 d3-c3 b3-b2 c3-d3 b1-c2 d3-e2 c2-c1 e2-d2 b2-b1 d2-d3 c1-c2 d3-e2 c2-c3 e2-d3 \
                b1-b2 d3-c2 b2-b3 c2-b2 c3-c2 b2-b1 b3-b2 b1-c1 b2-b1 c1-d1 c2-c1 d1-e2 c1-c2 e2-d2 b1-b2 d2-e2 \
                c2-c3 e2-d3 a2-b1 d3-e2 c3-c2 e2-d3 b2-b3 d3-d2 b1-b2 d2-e2 b2-b1 e2-d1 b3-b2 d1-e2 c2-c1 e2-d3 \
                c1-c2 d3-e2 c2-c3 e2-d2 c3-c2 d2-d1 c2-c1 d1-c2 c1-d1 c2-c1 b2-c2";
    let play = after(thirty_moves(), line);
    assert_eq!(play.ply(), 59);
    assert_eq!(ending(&play), "hounds cornered");
}

#[test]
fn ten_vertical_moves_in_a_row_are_stalling() {
    let up_and_down = |moves: usize| ["b1-b2 e2-d2", "b2-b1 d2-e2"].repeat(5)[..moves].join(" ");
    let mut play = after(ten_vertical(), &up_and_down(9));
    assert_eq!(ending(&play), "going on");
    play.play("b2-b3").unwrap_err();
    play.play("b2-b1").unwrap();
    assert_eq!(ending(&play), "hare stalling");
    assert_eq!(play.ply(), 19);
}

#[test]
fn a_move_to_the_right_starts_the_count_of_vertical_moves_anew() {
    let nine = [["b1-b2 e2-d2", "b2-b1 d2-e2"].repeat(4).join(" "), "b1-b2 e2-d2".to_owned()].join(" ");
    let play = after(ten_vertical(), &format!("{nine} b2-c2 d2-e2 c2-c1 e2-d2"));
    assert_eq!(ending(&play), "going on");
}

#[test]
fn cornering_with_the_tenth_vertical_move_wins_for_the_hounds() {
    let line = "b3-b2 e2-d1 b2-b3 d1-e2 b3-b2 e2-d3 b2-b3 d3-e2 b3-b2 e2-d2 b2-c2 d2-e2 c2-c1 e2-d2 c1-c2 d2-d1 \
                c2-c1 d1-c2 b1-b2 c2-b3 b2-b1 b3-c3 c1-c2 c3-b3 c2-c3 b3-c2 b1-b2 c2-b3 a2-b1 b3-c2 b2-b3 c2-d2 \
                c3-c2 d2-d3 c2-c3 d3-e2 b1-c2 e2-d3 c2-d2 d3-e2 d2-d1 e2-d2 b3-b2 d2-e2 b2-b3 e2-d2 c3-c2 d2-d3 \
                b3-b2 d3-d2 c2-c1 d2-d3 b2-b3 d3-c3 d1-d2 c3-d3 c1-c2 d3-c3 d2-d3";
    let play = after(ten_vertical(), line);
    let hounds: Vec<&str> = line.split_whitespace().step_by(2).collect();
    assert!(hounds[hounds.len() - 10..].iter().all(|mv| mv.as_bytes()[0] == mv.as_bytes()[3]));
    assert_eq!(ending(&play), "hounds cornered");
}

#[test]
fn a_refusal_says_why() {
    let mut play = after(thirty_moves(), "b1-b2");
    assert_eq!(play.play("b2-b1"), Err(IllegalMove::NotYourPiece("b2".parse().unwrap())));
    assert_eq!(play.play("e2-e3"), Err(IllegalMove::AgainstTheRules));
    assert!(matches!(play.play("e2-a2"), Err(IllegalMove::NotAMove(_))));
    assert!(matches!(play.play("castle"), Err(IllegalMove::NotAMove(_))));
    assert_eq!(after(thirty_moves(), STUCK).play("c1-c2"), Err(IllegalMove::GameOver));
}
