//! A table: one byte for every position with the hunters to move.

use std::num::NonZeroUsize;

use super::{
    Key, MOST_HUNTERS, Progress, Stopped,
    board::{Board, bits},
    folding::Layer,
    retrograde::{self, DRAWN},
};
use crate::{
    rules::{Position, Role},
    solver::Value,
};

/// The value of every position of Catch the Hare on one board, up to a number of hunters.
pub struct Table {
    key: Key,
    most_hunters: u8,
    board: Board,
    /// In ascending order of hunters, each with the place of its first byte.
    layers: Vec<(Layer, usize)>,
    bytes: Vec<u8>,
}

impl std::fmt::Debug for Table {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Table { key, most_hunters, .. } = self;
        f.debug_struct("Table").field("key", key).field("most_hunters", most_hunters).finish_non_exhaustive()
    }
}

/// How the positions with the hunters to move and one number of hunters are divided.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Count {
    /// The number of hunters.
    pub hunters: u8,
    /// How many positions the hunters win.
    pub won_by_hunters: u64,
    /// How many the hare wins.
    pub won_by_hare: u64,
    /// How many nobody wins.
    pub drawn: u64,
    /// The plies of the hunters' longest win.
    pub longest: u16,
}

impl Table {
    /// Works a table out, on so many threads.
    ///
    /// # Errors
    ///
    /// When it was asked to stop.
    pub fn solve(
        key: Key,
        most_hunters: u8,
        threads: NonZeroUsize,
        progress: &Progress,
    ) -> Result<Table, Stopped> {
        let table = Table::without_bytes(key, most_hunters);
        let layers: Vec<Layer> = table.layers.into_iter().map(|(layer, _)| layer).collect();
        let solved = retrograde::solve(&table.board, key.too_few_left(), &layers, threads, progress)?;
        Ok(Table { bytes: solved.concat(), ..Table::without_bytes(key, most_hunters) })
    }

    /// The table that has these bytes, unless they are not as many as it must have.
    pub fn from_bytes(key: Key, most_hunters: u8, bytes: Vec<u8>) -> Option<Table> {
        let table = Table::without_bytes(key, most_hunters);
        (bytes.len() == table.len()).then_some(Table { bytes, ..table })
    }

    /// How many bytes the table has.
    pub fn bytes_of(key: Key, most_hunters: u8) -> usize {
        Table::without_bytes(key, most_hunters).len()
    }

    fn without_bytes(key: Key, most_hunters: u8) -> Table {
        let most_hunters = most_hunters.min(MOST_HUNTERS);
        let mut first = 0;
        let place = |hunters| {
            let layer = Layer::new(hunters);
            let place = first;
            first += layer.len();
            (layer, place)
        };
        let layers = key.numbers_of_hunters(most_hunters).map(place).collect();
        Table { key, most_hunters, board: Board::new(key.drawn()), layers, bytes: Vec::new() }
    }

    fn len(&self) -> usize {
        self.layers.last().map_or(0, |(layer, first)| first + layer.len())
    }

    /// The house rules that it is for.
    pub fn key(&self) -> Key {
        self.key
    }

    /// The number of hunters up to which it goes.
    pub fn most_hunters(&self) -> u8 {
        self.most_hunters
    }

    /// All of it.
    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// The value of a position with no more hunters than the table goes up to.
    pub fn value(&self, position: Position) -> Value {
        let (hunters, hare) = (position.pack().bits(), position.hare().index());
        match position.turn() {
            Role::Hounds => self.hunters_to_move(hunters, hare),
            Role::Hare => self.hare_to_move(hunters, hare),
        }
    }

    fn hunters_to_move(&self, hunters: u32, hare: usize) -> Value {
        let Some((layer, first)) = self.layer(hunters) else { return Value::won(Role::Hare, 0) };
        match self.bytes[first + layer.number(hunters, hare)] {
            DRAWN => Value::DRAW,
            plies if plies % 2 == 1 => Value::won(Role::Hounds, plies.into()),
            plies => Value::won(Role::Hare, plies.into()),
        }
    }

    fn hare_to_move(&self, hunters: u32, hare: usize) -> Value {
        if self.layer(hunters).is_none() {
            return Value::won(Role::Hare, 0);
        }
        let steps = bits(self.board.hare_steps(hunters, hare));
        let mut best = Value::best_for(Role::Hare, steps.map(|to| self.hunters_to_move(hunters, to)));
        self.board.leap(hunters, hare, self.key.too_few_left(), &mut |left, landing| {
            best = Value::best_for(Role::Hare, best.into_iter().chain([self.hunters_to_move(left, landing)]));
        });
        best.map_or(Value::won(Role::Hounds, 0), Value::one_ply_earlier)
    }

    /// The layer of these hunters with the place of its first byte, unless they are too few.
    fn layer(&self, hunters: u32) -> Option<&(Layer, usize)> {
        let fewest = u32::from(self.key.too_few_left()) + 1;
        self.layers.get(hunters.count_ones().checked_sub(fewest)? as usize)
    }

    /// How the positions with the hunters to move are divided, for each number of hunters.
    pub fn counts(&self) -> Vec<Count> {
        let count = |(hunters, (layer, first)): (u8, &(Layer, usize))| {
            let mut count = Count { hunters, ..Count::default() };
            for block in layer.blocks() {
                let begin = first + block.first as usize;
                for (nth, &byte) in (0..).zip(&self.bytes[begin..begin + block.len as usize]) {
                    let positions = match byte {
                        DRAWN => &mut count.drawn,
                        plies if plies % 2 == 1 => {
                            count.longest = count.longest.max(plies.into());
                            &mut count.won_by_hunters
                        }
                        _ => &mut count.won_by_hare,
                    };
                    *positions += layer.images(block, nth);
                }
            }
            count
        };
        self.key.numbers_of_hunters(self.most_hunters).zip(&self.layers).map(count).collect()
    }
}
