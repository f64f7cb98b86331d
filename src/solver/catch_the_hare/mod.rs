//! Catch the Hare, solved by retrograde analysis.

mod board;
mod folding;
mod retrograde;

use std::{num::NonZeroUsize, ops::RangeInclusive};

pub use retrograde::{Progress, Stopped};

use crate::rules::{
    Board as Drawn,
    catch_the_hare::{BoardLines, HouseRules, TooFew},
};

/// The house rules that a table depends on. One table serves every number of hunters up to the most it was made for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Key {
    /// Which diagonals the board has.
    pub board: BoardLines,
    /// When the hunters are too few.
    pub too_few: TooFew,
}

impl Key {
    fn house_rules(self) -> HouseRules {
        HouseRules { board: self.board, too_few: self.too_few, ..HouseRules::DEFAULT }
    }

    fn drawn(self) -> &'static Drawn {
        self.house_rules().board()
    }

    fn too_few_left(self) -> u8 {
        self.house_rules().too_few_left()
    }

    fn numbers_of_hunters(self, most: u8) -> RangeInclusive<u8> {
        self.too_few_left() + 1..=most
    }
}

pub fn raw(key: Key, most: u8, threads: usize, progress: &Progress) -> Vec<Vec<u8>> {
    retrograde::solve(key, most, NonZeroUsize::new(threads).unwrap(), progress).unwrap()
}
pub fn dbg_counts(key: Key, most: u8, r: &[Vec<u8>]) {
    for (n, v) in key.numbers_of_hunters(most).zip(r) {
        let l = folding::Layer::new(n);
        assert_eq!(l.len(), v.len());
        let mut c = [0u64; 3];
        let mut bad = 0;
        let mut next = 0;
        for b in l.blocks() {
            assert_eq!(b.first, next); next += b.len;
            for i in 0..b.len {
                let (h, x) = l.position(b, i);
                if l.number(h, x) != (b.first + i) as usize { bad += 1; }
                let byte = v[(b.first + i) as usize];
                c[if byte == 255 { 2 } else if byte % 2 == 1 { 0 } else { 1 }] += l.images(b, i);
            }
        }
        let s = crate::rules::catch_the_hare::start(HouseRules { hunters: n.max(9), ..key.house_rules() });
        println!("{n}: {c:?} total {} bad {bad} start {}", c.iter().sum::<u64>(), if n > 8 { v[l.number(s.pack().bits(), s.hare().index())] } else { 0 });
    }
}
pub fn dbg_law(key: Key, most: u8, r: &[Vec<u8>]) {
    let board = board::Board::new(key.drawn());
    let few = key.too_few_left();
    let layers: Vec<folding::Layer> = key.numbers_of_hunters(most).map(folding::Layer::new).collect();
    let h = |s: u32, x: usize| -> u8 { let n = s.count_ones() as u8; if n <= few { 0 } else { let i = (n - few - 1) as usize; r[i][layers[i].number(s, x)] } };
    // (class, plies): for mover
    let rv = |s: u32, x: usize| -> u8 {
        let mut vals = vec![];
        for t in board::bits(board.hare_steps(s, x)) { vals.push(h(s, t)); }
        board.leap(s, x, few, &mut |s2, x2| vals.push(h(s2, x2)));
        if vals.is_empty() { return 0; }
        if let Some(m) = vals.iter().filter(|&&v| v != 255 && v % 2 == 0).min() { return m + 1; }
        if vals.contains(&255) { return 255; }
        vals.iter().max().unwrap() + 1
    };
    let mut wrong = 0u64; let mut n=0u64; let mut asym=0u64;
    for (i, l) in layers.iter().enumerate() {
        for b in l.blocks() { for k in (0..b.len).step_by(50) {
            let (s, x) = l.position(b, k);
            let v = r[i][(b.first + k) as usize];
            let vals: Vec<u8> = board.hunters_after(s, x).map(|s2| rv(s2, x)).collect();
            let want = if let Some(m) = vals.iter().filter(|&&v| v != 255 && v % 2 == 0).min() { m + 1 } else if vals.contains(&255) { 255 } else { vals.iter().max().unwrap() + 1 };
            n += 1;
            if want != v { wrong += 1; if wrong < 10 { println!("{s:025b} {x} is {v} want {want} {vals:?}"); } }
            for g in 0..8 { let s2 = board::bits(s).fold(0, |a, p| a | 1 << folding::image(g, p)); if h(s2, folding::image(g, x)) != v { asym += 1; } }
        } }
    }
    println!("law {wrong} of {n}; asym {asym}");
}
pub fn dbg_fold(n: u8) {
    let l = folding::Layer::new(n);
    let mut bad = [0; 4];
    for b in l.blocks() { for k in 0..b.len {
        let (s, x) = l.position(b, k); let num = l.number(s, x);
        if l.kept(s, x) != (s, x) { bad[0] += 1; }
        for g in 0..8 {
            let s2 = board::bits(s).fold(0u32, |a, p| a | 1 << folding::image(g, p)); let x2 = folding::image(g, x);
            if x != 12 && l.number(s2, x2) != num { bad[1] += 1; if bad[1] < 5 { println!("{s:025b} {x} g {g} {s2:025b} {x2} kept {:?}", l.kept(s2, x2)); } }
            let kk = l.kept(s2, x2);
            if l.number(kk.0, kk.1) != l.number(s2, x2) { bad[2] += 1; }
        }
    } }
    println!("fold {bad:?}");
}
