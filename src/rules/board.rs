//! Points and lines; every board is built here, from a drawing.
//!
//! All boards share one grid of 5×5 points, so a point means the same on each of them and a set of points is the
//! bits of one `u32`. A board says which points it has and which of them a line joins; it never changes.

use super::point::{Point, PointSet};
use std::sync::LazyLock;

static HARE_AND_HOUNDS: LazyLock<Board> = LazyLock::new(|| {
    Board::drawn(&[
        &["b3 c3 d3", "a2 b2 c2 d2 e2", "b1 c1 d1"],
        &["b1 b2 b3", "c1 c2 c3", "d1 d2 d3"],
        &["b3 a2 b1", "d3 e2 d1"],
        &["b1 c2 d3", "b3 c2 d1"],
    ])
});
static ALQUERQUE: LazyLock<Board> =
    LazyLock::new(|| Board::drawn(&[&ROWS, &COLUMNS, &LONG_DIAGONALS, &SHORT_DIAGONALS]));
static LONG_DIAGONALS_ONLY: LazyLock<Board> =
    LazyLock::new(|| Board::drawn(&[&ROWS, &COLUMNS, &LONG_DIAGONALS]));
static NO_DIAGONALS: LazyLock<Board> = LazyLock::new(|| Board::drawn(&[&ROWS, &COLUMNS]));

const ROWS: [&str; 5] =
    ["a1 b1 c1 d1 e1", "a2 b2 c2 d2 e2", "a3 b3 c3 d3 e3", "a4 b4 c4 d4 e4", "a5 b5 c5 d5 e5"];
const COLUMNS: [&str; 5] =
    ["a1 a2 a3 a4 a5", "b1 b2 b3 b4 b5", "c1 c2 c3 c4 c5", "d1 d2 d3 d4 d5", "e1 e2 e3 e4 e5"];
const LONG_DIAGONALS: [&str; 2] = ["a1 b2 c3 d4 e5", "a5 b4 c3 d2 e1"];
const SHORT_DIAGONALS: [&str; 4] = ["a3 b4 c5", "c5 d4 e3", "e3 d2 c1", "c1 b2 a3"];

/// A way to leap: over the neighbour and onto the point just beyond it, straight on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Leap {
    /// The point leapt over.
    pub over: Point,
    /// The point landed on.
    pub landing: Point,
}

/// Points and the lines that join them.
#[derive(Debug)]
pub struct Board {
    points: Vec<Point>,
    lines: Vec<(Point, Point)>,
    neighbours: [PointSet; Point::COUNT],
    leaps: [Vec<Leap>; Point::COUNT],
    fewest_to_enclose: u8,
}

impl Board {
    /// The board of Hare and Hounds: eleven points.
    pub fn hare_and_hounds() -> &'static Board {
        &HARE_AND_HOUNDS
    }

    /// The alquerque board with all sixteen short diagonals.
    pub fn alquerque() -> &'static Board {
        &ALQUERQUE
    }

    /// The alquerque board with no diagonals but the two from corner to corner.
    pub fn long_diagonals() -> &'static Board {
        &LONG_DIAGONALS_ONLY
    }

    /// The alquerque board without diagonals.
    pub fn no_diagonals() -> &'static Board {
        &NO_DIAGONALS
    }

    /// The points, in ascending order.
    pub fn points(&self) -> &[Point] {
        &self.points
    }

    /// The lines from neighbour to neighbour, each once, the lesser point first, in ascending order.
    pub fn lines(&self) -> &[(Point, Point)] {
        &self.lines
    }

    /// The points that a line joins to this one; none for a point that is not on this board.
    pub fn neighbours(&self, point: Point) -> PointSet {
        self.neighbours[point.index()]
    }

    /// The ways to leap from this point if the pieces stood right: both lines are drawn, and straight.
    pub fn leaps(&self, from: Point) -> &[Leap] {
        &self.leaps[from.index()]
    }

    /// The least number of hunters that can leave a hare without a move, on the point where it is easiest.
    pub fn fewest_to_enclose(&self) -> u8 {
        self.fewest_to_enclose
    }

    /// Builds a board from strokes of the pen, each naming the points it passes through.
    fn drawn(drawing: &[&[&str]]) -> Board {
        let mut neighbours = [PointSet::EMPTY; Point::COUNT];
        for stroke in drawing.iter().copied().flatten() {
            let stroke: Vec<Point> = stroke
                .split(' ')
                .map(|name| name.parse().expect("the drawings above name points of the grid"))
                .collect();
            for pair in stroke.windows(2) {
                neighbours[pair[0].index()] = neighbours[pair[0].index()].with(pair[1]);
                neighbours[pair[1].index()] = neighbours[pair[1].index()].with(pair[0]);
            }
        }
        let near = |point: Point| neighbours[point.index()];

        let points: Vec<Point> = Point::all().filter(|&point| !near(point).is_empty()).collect();
        let lines = points
            .iter()
            .flat_map(|&a| near(a).iter().filter(move |&b| a < b).map(move |b| (a, b)))
            .collect();
        let leaps = std::array::from_fn(|from| {
            let from = Point::all().nth(from).expect("there is one entry for each point of the grid");
            let onwards = |over: Point| {
                let landing = over.straight_on_from(from)?;
                near(over).contains(landing).then_some(Leap { over, landing })
            };
            near(from).iter().filter_map(onwards).collect::<Vec<Leap>>()
        });
        let fewest_to_enclose = points
            .iter()
            .map(|&hare| {
                leaps[hare.index()].iter().fold(near(hare), |all, leap| all.with(leap.landing)).len()
            })
            .min()
            .expect("every board has points");

        Board { points, lines, neighbours, leaps, fewest_to_enclose }
    }
}
