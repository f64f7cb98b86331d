//! The whole game without history, and one reach of it with positions that the hounds may not bring about.

use std::collections::HashMap;

use super::board::{Board, Spot};
use crate::{
    rules::{GameResult, Role},
    solver::Value,
};

/// The greatest reach: two hounds in column d and one on e2.
const MOST_REACH: usize = 3 + 3 + 4;

/// What the hare wins by evading for ever.
const EVADED: Value = Value { result: GameResult::Hare, plies: None };

/// The value of every position.
#[derive(Debug)]
pub(super) struct Table {
    values: HashMap<Spot, Value>,
    by_reach: Vec<Vec<Spot>>,
}

impl Table {
    pub(super) fn solved(board: &Board) -> Table {
        let mut by_reach = vec![Vec::new(); MOST_REACH + 1];
        for spot in Role::ALL.into_iter().flat_map(|turn| board.spots(turn)) {
            by_reach[spot.reach()].push(spot);
        }
        let mut table = Table { values: HashMap::new(), by_reach };
        for reach in (0..=MOST_REACH).rev() {
            let settled = table.settle(board, reach, &[]);
            table.values.extend(settled);
        }
        table
    }

    pub(super) fn value(&self, spot: Spot) -> Value {
        self.values[&spot]
    }

    /// The value of a position if the hounds may not bring about any of these.
    pub(super) fn value_with_bans(&self, board: &Board, spot: Spot, banned: &[Spot]) -> Value {
        let reach = spot.reach();
        let banned: Vec<Spot> = banned.iter().copied().filter(|banned| banned.reach() == reach).collect();
        if banned.is_empty() { self.value(spot) } else { self.settle(board, reach, &banned)[&spot] }
    }

    /// Settles the positions of one reach, those of greater reach being settled: in round n those that end after n
    /// plies, until nothing follows any more. What is left then goes on for ever.
    fn settle(&self, board: &Board, reach: usize, banned: &[Spot]) -> HashMap<Spot, Value> {
        let known = |settled: &HashMap<Spot, Value>, spot: Spot| {
            if spot.reach() == reach { settled.get(&spot).copied() } else { self.values.get(&spot).copied() }
        };
        let mut settled = HashMap::new();
        let mut open: Vec<(Spot, Vec<Spot>)> = Vec::new();
        let mut furthest = 0;
        for &spot in &self.by_reach[reach] {
            let to: Vec<Spot> =
                board.steps(spot).map(|step| step.to).filter(|to| !banned.contains(to)).collect();
            if spot.has_escaped() {
                settled.insert(spot, Value::won(Role::Hare, 0));
            } else if to.is_empty() {
                settled.insert(spot, Value::won(spot.turn.other(), 0));
            } else {
                let beyond = to.iter().filter(|to| to.reach() > reach).filter_map(|to| self.values[to].plies);
                furthest = beyond.fold(furthest, u16::max);
                open.push((spot, to));
            }
        }
        let mut round = 1;
        while round <= furthest + 1 {
            let mut found = Vec::new();
            open.retain(|(spot, to)| {
                let values: Option<Vec<Value>> = to.iter().map(|&to| known(&settled, to)).collect();
                let quickest = Value::won(spot.turn, round - 1);
                let wins = to.iter().any(|&to| known(&settled, to) == Some(quickest));
                let best = values.and_then(|values| Value::best_for(spot.turn, values));
                let lost = best.filter(|best| {
                    best.result == GameResult::from(spot.turn.other()) && best.plies == Some(round - 1)
                });
                let value = if wins { Some(quickest) } else { lost };
                found.extend(value.map(|value| (*spot, value.one_ply_earlier())));
                value.is_none()
            });
            if !found.is_empty() {
                furthest = furthest.max(round);
            }
            settled.extend(found);
            round += 1;
        }
        settled.extend(open.into_iter().map(|(spot, _)| (spot, EVADED)));
        settled
    }
}
