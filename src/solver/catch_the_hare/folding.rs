//! A number for every position, the same for positions that are turned or mirrored images of each other.
//!
//! The hare is turned to one of six points. On five of them an axis of the board goes through it, and of the two
//! images that mirror each other one is kept. What is left of the hunters is three sets, of ten points on one side of
//! the axis, of ten on the other, and of four on the axis, and the number is the sets' place in a list of all.
//!
//! With the hare in the centre quarter turns give different numbers to images of each other. That costs a tenth of
//! the room and is much simpler; only whoever goes from one position to others must take all of them along, see
//! [`Layer::numbers_of_images`].

use std::{array, sync::LazyLock};

use super::board::{POINTS, bits};

/// How many points there are besides the hare's.
const OTHERS: usize = POINTS - 1;
/// How many of them on each side of the axis.
const SIDE: usize = 10;
/// How many sets of these there are.
const SIDE_SETS: usize = 1 << SIDE;
/// The set of all points on one side.
const ONE_SIDE: u32 = SIDE_SETS as u32 - 1;
/// How many of them on the axis.
const AXIS: usize = OTHERS - 2 * SIDE;
/// How many sets of these there are.
const AXIS_SETS: usize = 1 << AXIS;

/// A way to mirror the board, as coordinates go.
type Mirror = fn(usize, usize) -> (usize, usize);

const ACROSS_THE_DIAGONAL: Mirror = |x, y| (y, x);
const ACROSS_THE_COLUMN: Mirror = |x, y| (4 - x, y);

/// The points that the hare is turned to: a1, b2, c1, c2, c3 with their axis, and b1, which has none.
const PLACES: [(usize, Option<Mirror>); 6] = [
    (0, Some(ACROSS_THE_DIAGONAL)),
    (6, Some(ACROSS_THE_DIAGONAL)),
    (10, Some(ACROSS_THE_COLUMN)),
    (11, Some(ACROSS_THE_COLUMN)),
    (12, Some(ACROSS_THE_COLUMN)),
    (5, None),
];

/// The point that stays where it is however the board is turned.
const CENTRE: usize = 12;
/// The symmetries that are quarter turns, as [`image`] counts them.
const QUARTER_TURNS: [usize; 4] = [0, 3, 5, 6];

/// What is the same for every number of hunters.
struct Folding {
    /// For each point of the hare: the place that it is turned to, and where the other points go then.
    turned: [(usize, Spread<9>); POINTS],
    /// For each place: the points that the parts of a set stand for.
    back: [Spread<8>; PLACES.len()],
    /// Where points go in each quarter turn.
    quarter_turns: [Spread<9>; QUARTER_TURNS.len()],
    /// For each place: how many points are turned to it.
    images: [u64; PLACES.len()],
    sides: Ranked<SIDE_SETS>,
    axis: Ranked<AXIS_SETS>,
}

/// Where the bits of a set go, for `WIDTH` bits at a time.
struct Spread<const WIDTH: usize>([Vec<u32>; 3]);

impl<const WIDTH: usize> Spread<WIDTH> {
    fn new(to: impl Fn(usize) -> u32) -> Spread<WIDTH> {
        Spread(array::from_fn(|part| {
            let set_to = |set| bits(set).fold(0, |all, bit| all | to(part * WIDTH + bit));
            (0..1 << WIDTH).map(set_to).collect()
        }))
    }

    fn of(&self, set: u32) -> u32 {
        let [low, middle, high] = &self.0;
        let mask = (1 << WIDTH) - 1;
        let part = |index: usize| (set >> (index * WIDTH) & mask) as usize;
        low[part(0)] | middle[part(1)] | high[part(2)]
    }
}

/// Sets in the order of their sizes, and among those of a size, of their bits.
struct Ranked<const SETS: usize> {
    /// The place of each set among all.
    order: [u16; SETS],
    /// The place of each set among those of its size.
    rank: [u32; SETS],
    /// The sets of each size.
    of_size: Vec<Vec<u32>>,
}

impl<const SETS: usize> Ranked<SETS> {
    fn new() -> Ranked<SETS> {
        let mut of_size = vec![Vec::new(); SETS.trailing_zeros() as usize + 1];
        let rank = array::from_fn(|set| {
            let same: &mut Vec<u32> = &mut of_size[set.count_ones() as usize];
            same.push(set as u32);
            same.len() as u32 - 1
        });
        let mut order = [0; SETS];
        for (place, &set) in (0..).zip(of_size.iter().flatten()) {
            order[set as usize] = place;
        }
        Ranked { order, rank, of_size }
    }

    /// How many sets of this size there are.
    fn count(&self, size: usize) -> u32 {
        self.of_size.get(size).map_or(0, |sets| sets.len() as u32)
    }
}

static FOLDING: LazyLock<Folding> = LazyLock::new(Folding::new);

impl Folding {
    fn new() -> Folding {
        let label = PLACES.map(|(hare, mirror)| labels(hare, mirror));
        let mut images = [0; PLACES.len()];
        let turned = array::from_fn(|hare| {
            let (place, turn) = PLACES
                .iter()
                .enumerate()
                .find_map(|(place, &(to, _))| {
                    (0..8).find(|&turn| image(turn, hare) == to).map(|turn| (place, turn))
                })
                .expect("every point can be turned to one of the places");
            images[place] += 1;
            let goes_to = |point| if point < POINTS { label[place][image(turn, point)] } else { 0 };
            (place, Spread::new(goes_to))
        });
        let back = array::from_fn(|place| {
            let label: &[u32; POINTS] = &label[place];
            Spread::new(|bit| label.iter().position(|&point| point == 1 << bit).map_or(0, |point| 1 << point))
        });
        let quarter_turns = QUARTER_TURNS
            .map(|turn| Spread::new(|point| if point < POINTS { 1 << image(turn, point) } else { 0 }));
        Folding { turned, back, quarter_turns, images, sides: Ranked::new(), axis: Ranked::new() }
    }
}

impl Folding {
    /// The place that the hare is turned to, and the three sets of the image that is kept.
    fn kept(&self, hunters: u32, hare: usize) -> (usize, u32) {
        let (place, spread) = &self.turned[hare];
        let label = spread.of(hunters);
        let (one, other, on_axis) = (label & ONE_SIDE, label >> SIDE & ONE_SIDE, label >> (2 * SIDE));
        let is_kept =
            PLACES[*place].1.is_none() || self.sides.order[one as usize] <= self.sides.order[other as usize];
        (*place, if is_kept { label } else { other | one << SIDE | on_axis << (2 * SIDE) })
    }
}

/// The image of a point in one of the board's eight symmetries.
fn image(turn: usize, point: usize) -> usize {
    let (mut x, mut y) = (point / 5, point % 5);
    if turn & 1 != 0 {
        x = 4 - x;
    }
    if turn & 2 != 0 {
        y = 4 - y;
    }
    if turn & 4 != 0 {
        (x, y) = (y, x);
    }
    5 * x + y
}

/// The bit that each point has in the three sets: one side, the other, the axis. The hare's own point has none.
fn labels(hare: usize, mirror: Option<Mirror>) -> [u32; POINTS] {
    let mut labels = [0; POINTS];
    let (mut side, mut axis) = (0, 2 * SIDE);
    let Some(mirror) = mirror else {
        (0..POINTS)
            .filter(|&point| point != hare)
            .enumerate()
            .for_each(|(bit, point)| labels[point] = 1 << bit);
        return labels;
    };
    for point in (0..POINTS).filter(|&point| point != hare) {
        let (x, y) = mirror(point / 5, point % 5);
        let mirrored = 5 * x + y;
        if mirrored == point {
            labels[point] = 1 << axis;
            axis += 1;
        } else if point < mirrored {
            labels[point] = 1 << side;
            labels[mirrored] = 1 << (side + SIDE);
            side += 1;
        }
    }
    labels
}

/// The numbers of all positions with so many hunters.
pub(super) struct Layer {
    folding: &'static Folding,
    hunters: usize,
    /// The first number of each place, and behind the last one how many there are.
    first: [u32; PLACES.len() + 1],
    /// For each set on the axis: how many there are of its size.
    on_axis: [u32; AXIS_SETS],
    /// What else makes up the number, for each set of the one side and on the axis; for places with an axis and for
    /// the one without.
    folded: Vec<u32>,
    whole: Vec<u32>,
}

/// Numbers that follow on each other and differ in the hunters of the other side and of the axis only.
#[derive(Clone, Copy, Debug)]
pub(super) struct Block {
    /// The first of them.
    pub(super) first: u32,
    /// How many there are.
    pub(super) len: u32,
    place: u8,
    one_side: u16,
    other_size: u8,
    first_rank: u16,
}

impl Layer {
    pub(super) fn new(hunters: u8) -> Layer {
        let mut layer = Layer {
            folding: &FOLDING,
            hunters: hunters.into(),
            on_axis: array::from_fn(|set| FOLDING.axis.count(set.count_ones() as usize)),
            first: [0; PLACES.len() + 1],
            folded: Vec::new(),
            whole: Vec::new(),
        };
        let (folded, each_folded) = layer.offsets(true);
        let (whole, each_whole) = layer.offsets(false);
        for (place, &(_, mirror)) in PLACES.iter().enumerate() {
            let size = if mirror.is_some() { each_folded } else { each_whole };
            layer.first[place + 1] = layer.first[place] + size;
        }
        Layer { folded, whole, ..layer }
    }

    /// How many numbers there are.
    pub(super) fn len(&self) -> usize {
        self.first[PLACES.len()] as usize
    }

    /// The number of these hunters, of whom there must be as many as in this layer, and the hare.
    pub(super) fn number(&self, hunters: u32, hare: usize) -> usize {
        let (place, label) = self.folding.kept(hunters, hare);
        let (one, other, on_axis) = (label & ONE_SIDE, label >> SIDE & ONE_SIDE, label >> (2 * SIDE));
        let offsets = if PLACES[place].1.is_some() { &self.folded } else { &self.whole };
        let offset = offsets[one as usize * AXIS_SETS + on_axis as usize];
        let within = self.folding.sides.rank[other as usize] * self.on_axis[on_axis as usize];
        self.first[place].wrapping_add(offset).wrapping_add(within) as usize
    }

    /// The numbers of all images of these hunters and the hare.
    pub(super) fn numbers_of_images(&self, hunters: u32, hare: usize) -> impl Iterator<Item = (usize, u32)> {
        let turns = if hare == CENTRE { QUARTER_TURNS.len() } else { 1 };
        self.folding.quarter_turns[..turns].iter().map(move |turn| {
            let hunters = turn.of(hunters);
            (self.number(hunters, hare), hunters)
        })
    }

    /// Of all images of these hunters and the hare, the one that is kept.
    pub(super) fn kept(&self, hunters: u32, hare: usize) -> (u32, usize) {
        let (place, label) = self.folding.kept(hunters, hare);
        (self.folding.back[place].of(label), PLACES[place].0)
    }

    /// All numbers, block by block, in ascending order.
    pub(super) fn blocks(&self) -> Vec<Block> {
        let mut blocks = Vec::new();
        for (place, &(_, mirror)) in PLACES.iter().enumerate() {
            let mut first = self.first[place];
            self.each_run(mirror.is_some(), |one_side, other_size, first_rank, len| {
                let (one_side, first_rank) = (one_side as u16, first_rank as u16);
                blocks.push(Block {
                    first,
                    len,
                    place: place as u8,
                    one_side,
                    other_size: other_size as u8,
                    first_rank,
                });
                first += len;
            });
        }
        blocks
    }

    /// The hunters and the hare that the n-th number of a block stands for, of all images the one that is kept.
    pub(super) fn position(&self, block: Block, nth: u32) -> (u32, usize) {
        let Folding { sides, axis, back, .. } = self.folding;
        let (one, other_size) = (u32::from(block.one_side), usize::from(block.other_size));
        let on_axis = &axis.of_size[self.hunters - one.count_ones() as usize - other_size];
        let each = on_axis.len() as u32;
        let other = sides.of_size[other_size][(u32::from(block.first_rank) + nth / each) as usize];
        let label = one | other << SIDE | on_axis[(nth % each) as usize] << (2 * SIDE);
        let place = usize::from(block.place);
        (back[place].of(label), PLACES[place].0)
    }

    /// How many positions the n-th number of a block stands for.
    pub(super) fn images(&self, block: Block, nth: u32) -> u64 {
        let (one, other_size) = (u32::from(block.one_side), usize::from(block.other_size));
        let each = self.folding.axis.count(self.hunters - one.count_ones() as usize - other_size);
        let other =
            self.folding.sides.of_size[other_size][(u32::from(block.first_rank) + nth / each) as usize];
        let place = usize::from(block.place);
        let mirrored = if PLACES[place].1.is_some() && one != other { 2 } else { 1 };
        self.folding.images[place] * mirrored
    }

    /// The offsets of one kind of place, and how many numbers it has.
    fn offsets(&self, is_folded: bool) -> (Vec<u32>, u32) {
        let Folding { axis, .. } = self.folding;
        let mut offsets = vec![0; SIDE_SETS * AXIS_SETS];
        let mut next: u32 = 0;
        self.each_run(is_folded, |one, other_size, first_rank, len| {
            let on_axis = &axis.of_size[self.hunters - one.count_ones() as usize - other_size];
            for (rank, &set) in (0..).zip(on_axis) {
                let before_first = first_rank * on_axis.len() as u32;
                offsets[one * AXIS_SETS + set as usize] = next.wrapping_sub(before_first).wrapping_add(rank);
            }
            next += len;
        });
        (offsets, next)
    }

    /// Goes through the sets of the one side and the sizes of the other: tells with each which set of that size is
    /// the first, and how many numbers there are.
    fn each_run(&self, is_folded: bool, mut tell: impl FnMut(usize, usize, u32, u32)) {
        let Folding { sides, axis, .. } = self.folding;
        for one in 0..SIDE_SETS {
            let one_size = one.count_ones() as usize;
            let smallest = if is_folded { one_size } else { 0 };
            for other_size in smallest..=SIDE {
                let Some(on_axis) = self.hunters.checked_sub(one_size + other_size) else { break };
                let first_rank = if is_folded && other_size == one_size { sides.rank[one] } else { 0 };
                let len = (sides.count(other_size) - first_rank) * axis.count(on_axis);
                if len > 0 {
                    tell(one, other_size, first_rank, len);
                }
            }
        }
    }
}
