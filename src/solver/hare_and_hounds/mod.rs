//! Hare and Hounds, solved completely: without history, and with as much of it as each reading of `getting_away`
//! looks at.
//!
//! No hound ever steps back, so the sum of the hounds' columns, here called their *reach*, only grows. Positions of a
//! greater reach are settled first, and history can matter only among the positions of one reach: no other can come
//! back.
//!
//! What is guaranteed for a game under way:
//!
//! - `ten-vertical` is exact in result and plies, for both sides: every number of vertical moves in a row is solved
//!   with the position.
//! - `thirty-moves` is exact in result, and in the plies of every win of the hounds. The positions that they may not
//!   bring back are taken out and the rest of that reach is solved again. Positions that they bring about later need
//!   no further care: along the quickest win the plies left fall from move to move, so nothing comes twice. The plies
//!   of a win of the hare are those of an escape that the hounds cannot prevent whatever they repeat, and it may win
//!   sooner by their being stuck; there are none where it wins by the move limit alone.

mod board;
mod with_bans;
mod with_verticals;

use std::sync::LazyLock;

use super::Value;
use crate::rules::{
    GameResult, Position, Role,
    hare_and_hounds::{GettingAway, HouseRules, MOVE_LIMIT, STALLING_LIMIT},
};
use board::{Board, Spot};
use with_bans::Table;
use with_verticals::Verticals;

/// What is known of the whole game.
#[derive(Debug)]
pub(super) struct HareAndHounds {
    board: Board,
    /// Without history.
    table: Table,
    /// With the number of vertical moves in a row.
    verticals: Verticals,
}

static SOLVED: LazyLock<HareAndHounds> = LazyLock::new(|| {
    let board = Board::new();
    let table = Table::solved(&board);
    let verticals = Verticals::solved(&board);
    HareAndHounds { board, table, verticals }
});

impl HareAndHounds {
    /// All of it, worked out once in a process.
    pub(super) fn solved() -> &'static HareAndHounds {
        &SOLVED
    }

    /// The value of a position whatever went before.
    pub(super) fn position(&self, position: Position) -> Value {
        self.table.value(self.board.spot(position))
    }

    /// The value of a game under way that is not over.
    pub(super) fn play(
        &self,
        rules: HouseRules,
        position: Position,
        made_by_hounds: &[Position],
        vertical_in_a_row: u16,
    ) -> Value {
        match rules.getting_away {
            GettingAway::TenVertical => self.verticals.value(self.board.spot(position), vertical_in_a_row),
            GettingAway::ThirtyMoves => self.thirty_moves(position, made_by_hounds),
        }
    }

    fn thirty_moves(&self, position: Position, made_by_hounds: &[Position]) -> Value {
        let spot = self.board.spot(position);
        let moves_left = MOVE_LIMIT.saturating_sub(made_by_hounds.len());
        let banned: Vec<Spot> = made_by_hounds.iter().map(|&made| self.board.spot(made)).collect();
        let freely = self.table.value(spot);
        // History only takes moves away from the hounds, so it cannot win for them what is lost without.
        let value = if freely.result == GameResult::Hounds {
            self.table.value_with_bans(&self.board, spot, &banned)
        } else {
            freely
        };
        let in_time = |plies: u16| {
            let hound_moves = if spot.turn == Role::Hounds { plies.div_ceil(2) } else { plies / 2 };
            usize::from(hound_moves) <= moves_left
        };
        match value.plies {
            Some(plies) if in_time(plies) => value,
            _ => Value { result: GameResult::Hare, plies: None },
        }
    }
}
