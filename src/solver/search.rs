//! A search for rules that no table covers: it looks as far ahead as a number of positions allows.
//!
//! Alpha-beta by iterative deepening over the rules engine. History is looked at as far as the move list goes
//! ([`Play::legal_moves`]), not deeper. The judgement of what lies beyond the horizon is only as good as the few
//! things it counts, so nothing here is ever told as the value of a position.

use std::cmp::Reverse;

use crate::rules::{Move, Play, PointSet, Position, Role, Rules};

/// The worth of a won game that ends now; one that ends later is worth less by its plies.
pub(super) const WON: f64 = 1000.0;

/// No search goes deeper than this.
const MAX_DEPTH: u16 = 40;

/// Looks at up to `budget` positions, and answers each legal move with what it is worth to the side to move, best
/// first.
pub fn search(play: &Play, budget: u32) -> Vec<(Move, f64)> {
    let mut worth: Vec<(Move, f64)> = play.legal_moves().into_iter().map(|mv| (mv, 0.0)).collect();
    let rules = play.rules();
    let mut left = budget;
    for depth in 0..MAX_DEPTH {
        let deeper = worth
            .iter()
            .map(|(mv, _)| {
                let after = play.position().after(mv);
                value(rules, after, depth, -f64::INFINITY, f64::INFINITY, &mut left)
                    .map(|value| (*mv, -value))
            })
            .collect::<Option<Vec<_>>>();
        let Some(mut deeper) = deeper else { break };
        deeper.sort_by(|a, b| b.1.total_cmp(&a.1));
        let is_settled = deeper.iter().all(|(_, value)| value.abs() > WON / 2.0);
        worth = deeper;
        if is_settled {
            break;
        }
    }
    worth
}

/// What a position is worth to the side to move, looking so many plies ahead; nothing when the budget is spent.
fn value(
    rules: Rules,
    position: Position,
    depth: u16,
    mut alpha: f64,
    beta: f64,
    left: &mut u32,
) -> Option<f64> {
    *left = left.checked_sub(1)?;
    let mover = position.turn();
    if let Some(outcome) = rules.end(position) {
        let worth = WON + f64::from(depth);
        return Some(match outcome.result.winner() {
            Some(winner) if winner == mover => worth,
            Some(_) => -worth,
            None => 0.0,
        });
    }
    if depth == 0 {
        let judged = judgement(rules, position);
        return Some(if mover == Role::Hare { judged } else { -judged });
    }
    let mut moves = rules.moves(position);
    // Captures first, the longest before the others.
    moves.sort_by_key(|mv| Reverse(position.pack().len() - position.after(mv).pack().len()));
    let mut best = -f64::INFINITY;
    for mv in moves {
        let worth = -value(rules, position.after(&mv), depth - 1, -beta, -alpha, left)?;
        best = best.max(worth);
        alpha = alpha.max(worth);
        if alpha >= beta {
            break;
        }
    }
    Some(best)
}

/// How good a position looks for the hare: hunters that are gone, room to run, and what stands open to a leap.
fn judgement(rules: Rules, position: Position) -> f64 {
    let board = rules.board();
    let mut reached = PointSet::EMPTY.with(position.hare());
    let mut border = reached;
    while !border.is_empty() {
        let next: PointSet =
            border.iter().flat_map(|point| position.empty_among(board.neighbours(point)).iter()).collect();
        border = next.minus(reached);
        reached = border.iter().fold(reached, PointSet::with);
    }
    let steps = position.empty_among(board.neighbours(position.hare())).len();
    let captures = board
        .leaps(position.hare())
        .iter()
        .filter(|leap| {
            position.pack().contains(leap.over)
                && !position.empty_among(PointSet::EMPTY.with(leap.landing)).is_empty()
        })
        .count();
    f64::from(reached.len()) + 2.0 * f64::from(steps) + 6.0 * captures as f64
        - 12.0 * f64::from(position.pack().len())
}
