//! The whole game without history, and one reach of it with positions that the hounds may not bring about.

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
    /// By the number of the spot; those of no spot are none.
    values: Vec<Option<Value>>,
    by_reach: Vec<Vec<Open>>,
}

/// A spot that is to be settled, and what the side to move can make of it.
#[derive(Clone, Debug)]
struct Open {
    spot: Spot,
    to: Vec<Spot>,
}

impl Table {
    pub(super) fn solved(board: &Board) -> Table {
        let mut by_reach = vec![Vec::new(); MOST_REACH + 1];
        for spot in Role::ALL.into_iter().flat_map(|turn| board.spots(turn)) {
            let to = board.steps(spot).map(|step| step.to).collect();
            by_reach[board.reach(spot)].push(Open { spot, to });
        }
        let mut table = Table { values: vec![None; Spot::COUNT], by_reach };
        for reach in (0..=MOST_REACH).rev() {
            table.values = table.settled(board, reach, &[]);
        }
        table
    }

    pub(super) fn value(&self, spot: Spot) -> Value {
        self.values[spot.number()].unwrap_or(EVADED)
    }

    /// The value of a position if the hounds may not bring about any of these.
    pub(super) fn value_with_bans(&self, board: &Board, spot: Spot, banned: &[Spot]) -> Value {
        let reach = board.reach(spot);
        let banned: Vec<Spot> =
            banned.iter().copied().filter(|&banned| board.reach(banned) == reach).collect();
        if banned.is_empty() {
            self.value(spot)
        } else {
            self.settled(board, reach, &banned)[spot.number()].unwrap_or(EVADED)
        }
    }

    /// All values, with those of one reach settled anew: those of greater reach must be settled already. In round n
    /// what ends after n plies is settled, until nothing follows any more. What is left then goes on for ever.
    fn settled(&self, board: &Board, reach: usize, banned: &[Spot]) -> Vec<Option<Value>> {
        let mut values = self.values.clone();
        let mut open = self.by_reach[reach].clone();
        open.iter().for_each(|open| values[open.spot.number()] = None);

        let mut latest = 0;
        open.retain_mut(|Open { spot, to }| {
            to.retain(|to| !banned.contains(to));
            let is_over = if board.has_escaped(*spot) {
                Some(Value::won(Role::Hare, 0))
            } else {
                to.is_empty().then_some(Value::won(spot.turn.other(), 0))
            };
            values[spot.number()] = is_over;
            let beyond = to.iter().filter_map(|to| values[to.number()]?.plies);
            latest = beyond.fold(latest, u16::max);
            is_over.is_none()
        });
        let mut round = 1;
        while round <= latest + 1 {
            let mut found = Vec::new();
            open.retain(|Open { spot, to }| {
                let value = ends_after(round, spot.turn, to.iter().map(|to| values[to.number()]));
                found.extend(value.map(|value| (spot.number(), value)));
                value.is_none()
            });
            if !found.is_empty() {
                latest = latest.max(round);
            }
            found.into_iter().for_each(|(number, value)| values[number] = Some(value));
            round += 1;
        }
        open.iter().for_each(|open| values[open.spot.number()] = Some(EVADED));
        values
    }
}

/// The value of a position from those that it leads to, if it ends after so many plies.
fn ends_after(
    plies: u16,
    turn: Role,
    mut leads_to: impl Iterator<Item = Option<Value>> + Clone,
) -> Option<Value> {
    let won = Value::won(turn, plies - 1);
    if leads_to.clone().any(|value| value == Some(won)) {
        return Some(won.one_ply_earlier());
    }
    let lost = Value::won(turn.other(), plies - 1);
    let is_no_better =
        |value: Option<Value>| value.is_some_and(|value| value.compare_for(turn, lost).is_le());
    leads_to.all(is_no_better).then_some(lost.one_ply_earlier())
}
