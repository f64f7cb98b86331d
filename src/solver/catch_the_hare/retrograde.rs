//! Retrograde analysis: from the ends backwards, ply by ply, one number of hunters after the other.
//!
//! A round settles what ends after so many plies. It looks for what the round before has settled, and from there
//! at the positions that lead to it: a win of the side to move is settled at once, and a loss when no other move is
//! left. A value that is settled in a round is not read before the next one, so the threads need not wait for each
//! other and what comes out does not depend on their order.

use std::{
    num::NonZeroUsize,
    ops::Range,
    sync::atomic::{AtomicBool, AtomicU8, AtomicU64, AtomicUsize, Ordering::Relaxed},
    thread,
};

use super::{
    board::{Board, bits},
    folding::{Block, Layer},
};

/// The byte of what nobody wins. Any other is the number of plies to the end: with the hunters to move, the hunters
/// win if it is odd and the hare if it is even; with the hare to move the other way round.
pub(super) const DRAWN: u8 = u8::MAX;

/// How far a solution has come, and whether it is still wanted.
#[derive(Debug, Default)]
pub struct Progress {
    done: AtomicU64,
    total: AtomicU64,
    is_stopped: AtomicBool,
}

impl Progress {
    /// What part of the work is done, from 0 to 1.
    pub fn ratio(&self) -> f64 {
        let total = self.total.load(Relaxed);
        if total == 0 { 0.0 } else { self.done.load(Relaxed) as f64 / total as f64 }
    }

    /// Asks the work to end as soon as it can.
    pub fn stop(&self) {
        self.is_stopped.store(true, Relaxed);
    }

    /// Whether the work was asked to end.
    pub fn is_stopped(&self) -> bool {
        self.is_stopped.load(Relaxed)
    }
}

/// The work was asked to end before it was done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stopped;

/// The bytes of all positions with the hunters to move, layer by layer. The layers are those from the least number of
/// hunters that is not too few, in ascending order.
pub(super) fn solve(
    board: &Board,
    too_few: u8,
    layers: &[Layer],
    threads: NonZeroUsize,
    progress: &Progress,
) -> Result<Vec<Vec<u8>>, Stopped> {
    // Each position is met when it is set up, and with either side to move when it is settled.
    let work = |layers: &[Layer]| layers.iter().map(|layer| 3 * layer.len() as u64).sum::<u64>();
    progress.total.store(work(layers), Relaxed);

    let mut solved: Vec<Vec<u8>> = Vec::new();
    for (index, layer) in layers.iter().enumerate() {
        let fewer = layers[..index].iter().zip(&solved).collect();
        let work_of_layer = Work::new(board, too_few, layer, fewer, threads, progress);
        solved.push(work_of_layer.done()?);
        progress.done.store(work(&layers[..=index]), Relaxed);
    }
    Ok(solved)
}

/// One number of hunters at work.
struct Work<'a> {
    board: &'a Board,
    too_few: u8,
    layer: &'a Layer,
    blocks: Vec<Block>,
    /// What is solved: fewer hunters, in ascending order, up to one fewer.
    fewer: Vec<(&'a Layer, &'a Vec<u8>)>,
    hunters_to_move: Vec<AtomicU8>,
    hare_to_move: Vec<AtomicU8>,
    /// What the hare's leaps come to: the plies of its quickest win (odd), those of its latest loss (even), 0 when it
    /// has no leap, [`DRAWN`] when the best is a draw.
    leaps: Vec<AtomicU8>,
    /// How many of the hunters' moves are known to lose.
    lost_moves: Vec<AtomicU8>,
    /// The latest round for which something is settled.
    latest: AtomicU8,
    threads: NonZeroUsize,
    progress: &'a Progress,
}

impl<'a> Work<'a> {
    fn new(
        board: &'a Board,
        too_few: u8,
        layer: &'a Layer,
        fewer: Vec<(&'a Layer, &'a Vec<u8>)>,
        threads: NonZeroUsize,
        progress: &'a Progress,
    ) -> Work<'a> {
        let all = |byte: u8| (0..layer.len()).map(|_| AtomicU8::new(byte)).collect::<Vec<_>>();
        Work {
            board,
            too_few,
            layer,
            blocks: layer.blocks(),
            fewer,
            hunters_to_move: all(DRAWN),
            hare_to_move: all(DRAWN),
            leaps: all(0),
            lost_moves: all(0),
            latest: AtomicU8::new(0),
            threads,
            progress,
        }
    }

    fn done(self) -> Result<Vec<u8>, Stopped> {
        self.in_parallel(|block| self.set_up(block))?;
        let mut round = 0;
        while round <= self.latest.load(Relaxed) {
            self.in_parallel(|block| self.go_back(block, round))?;
            round += 1;
        }
        Ok(self.hunters_to_move.into_iter().map(AtomicU8::into_inner).collect())
    }

    /// Does something to every block, and counts how many positions it says it has met.
    fn in_parallel(&self, on_block: impl Fn(Block) -> u64 + Sync) -> Result<(), Stopped> {
        const AT_ONCE: usize = 16;
        let next = AtomicUsize::new(0);
        let take_blocks = || {
            loop {
                let begin = next.fetch_add(AT_ONCE, Relaxed);
                if begin >= self.blocks.len() || self.progress.is_stopped() {
                    break;
                }
                let end = self.blocks.len().min(begin + AT_ONCE);
                let met = self.blocks[begin..end].iter().map(|&block| on_block(block)).sum();
                self.progress.done.fetch_add(met, Relaxed);
            }
        };
        thread::scope(|scope| {
            (1..self.threads.get()).for_each(|_| {
                scope.spawn(take_blocks);
            });
            take_blocks();
        });
        if self.progress.is_stopped() { Err(Stopped) } else { Ok(()) }
    }

    /// Settles what the position alone and fewer hunters decide.
    fn set_up(&self, block: Block) -> u64 {
        for (nth, number) in (0..).zip(numbers(block)) {
            let (hunters, hare) = self.layer.position(block, nth);
            if self.board.hunters_after(hunters, hare).next().is_none() {
                self.settle(&self.hunters_to_move[number], 0);
            }
            let leaps = self.leaps_come_to(hunters, hare);
            self.leaps[number].store(leaps, Relaxed);
            let hare_wins = leaps != DRAWN && leaps % 2 == 1;
            let only_leaps = self.board.hare_steps(hunters, hare) == 0;
            if leaps != DRAWN && (hare_wins || only_leaps) {
                self.settle(&self.hare_to_move[number], leaps);
            }
        }
        block.len.into()
    }

    fn leaps_come_to(&self, hunters: u32, hare: usize) -> u8 {
        let (mut quickest_win, mut can_draw, mut latest_loss) = (None, false, 0);
        self.board.leap(
            hunters,
            hare,
            self.too_few,
            &mut |left, landing| match self.after_leap(left, landing) {
                DRAWN => can_draw = true,
                plies if plies.is_multiple_of(2) => {
                    let win = one_more(plies);
                    quickest_win = Some(quickest_win.map_or(win, |quickest: u8| quickest.min(win)));
                }
                plies => latest_loss = latest_loss.max(one_more(plies)),
            },
        );
        match quickest_win {
            Some(win) => win,
            None if can_draw => DRAWN,
            None => latest_loss,
        }
    }

    fn after_leap(&self, left: u32, landing: usize) -> u8 {
        let too_few = u32::from(self.too_few);
        match (left.count_ones() - too_few).checked_sub(1) {
            Some(index) => {
                let (layer, bytes) = self.fewer[index as usize];
                bytes[layer.number(left, landing)]
            }
            None => 0,
        }
    }

    /// Goes back one ply from what the round before has settled.
    fn go_back(&self, block: Block, round: u8) -> u64 {
        let mut met = 0;
        let both = self.hunters_to_move[numbers(block)].iter().zip(&self.hare_to_move[numbers(block)]);
        for (nth, (hunters_to_move, hare_to_move)) in (0..).zip(both) {
            let hunters_to_move = hunters_to_move.load(Relaxed) == round;
            let hare_to_move = hare_to_move.load(Relaxed) == round;
            if !hunters_to_move && !hare_to_move {
                continue;
            }
            let (hunters, hare) = self.layer.position(block, nth);
            if hunters_to_move {
                met += 1;
                self.hare_came_from(hunters, hare, round);
            }
            if hare_to_move {
                met += 1;
                self.hunters_came_from(hunters, hare, round);
            }
        }
        met
    }

    /// Looks at the hare's moves that lead to a position with the hunters to move.
    fn hare_came_from(&self, hunters: u32, hare: usize, round: u8) {
        for from in bits(self.board.hare_steps(hunters, hare)) {
            for (number, hunters) in self.layer.numbers_of_images(hunters, from) {
                self.hare_was_at(number, hunters, from, round);
            }
        }
    }

    fn hare_was_at(&self, number: usize, hunters: u32, hare: usize, round: u8) {
        let hunters_win = round % 2 == 1;
        let before = self.hare_to_move[number].load(Relaxed);
        if !hunters_win && before > round {
            self.settle(&self.hare_to_move[number], before.min(one_more(round)));
        } else if hunters_win && before == DRAWN {
            let leaps = self.leaps[number].load(Relaxed);
            if leaps != DRAWN && self.every_step_loses(hunters, hare, round) {
                self.settle(&self.hare_to_move[number], leaps.max(one_more(round)));
            }
        }
    }

    fn every_step_loses(&self, hunters: u32, hare: usize, round: u8) -> bool {
        bits(self.board.hare_steps(hunters, hare)).all(|to| {
            let after = self.hunters_to_move[self.layer.number(hunters, to)].load(Relaxed);
            after <= round && after % 2 == 1
        })
    }

    /// Looks at the hunters' moves that lead to a position with the hare to move.
    fn hunters_came_from(&self, hunters: u32, hare: usize, round: u8) {
        let hunters_win = round.is_multiple_of(2);
        for before in self.board.hunters_after(hunters, hare) {
            let number = self.layer.number(before, hare);
            if self.hunters_to_move[number].load(Relaxed) == DRAWN
                && (hunters_win || self.every_move_loses(before, hare, number, round))
            {
                self.settle(&self.hunters_to_move[number], one_more(round));
            }
        }
    }

    /// What has once been seen to lose goes on to do so: each move is looked at until then, and never again.
    fn every_move_loses(&self, hunters: u32, hare: usize, number: usize, round: u8) -> bool {
        // The moves have an order only within one image.
        let (hunters, hare) = self.layer.kept(hunters, hare);
        let known = self.lost_moves[number].load(Relaxed);
        let mut lost = known;
        let mut moves = self.board.hunters_after(hunters, hare).skip(known.into());
        let all_lose = moves.all(|after| {
            let after = self.hare_to_move[self.layer.number(after, hare)].load(Relaxed);
            let loses = after <= round && after % 2 == 1;
            lost += u8::from(loses);
            loses
        });
        self.lost_moves[number].fetch_max(lost, Relaxed);
        all_lose
    }

    fn settle(&self, place: &AtomicU8, plies: u8) {
        place.store(plies, Relaxed);
        self.latest.fetch_max(plies, Relaxed);
    }
}

fn numbers(block: Block) -> Range<usize> {
    let first = block.first as usize;
    first..first + block.len as usize
}

/// One ply more.
fn one_more(plies: u8) -> u8 {
    assert!(
        plies < DRAWN - 1,
        "the longest win of all boards and numbers of hunters has fewer than 254 plies"
    );
    plies + 1
}
