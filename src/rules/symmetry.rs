//! Positions that are the same but for turning or mirroring the board.

use super::{Point, Position, Variant};

/// Points in a row and in a column of the whole grid.
const SIDE: u8 = 5;
/// Rows of the board of Hare and Hounds.
const HARE_AND_HOUNDS_ROWS: u8 = 3;

impl Variant {
    /// What a position becomes under every symmetry of the board, itself included: two images in Hare and Hounds,
    /// whose board may be mirrored top to bottom, eight in Catch the Hare, whose boards are all as symmetric as a
    /// square. Moves mirror with the board, so all of them are worth the same.
    pub fn images(self, position: Position) -> impl Iterator<Item = Position> {
        let count = match self {
            Variant::HareAndHounds => 2,
            Variant::CatchTheHare => 8,
        };
        (0..count).filter_map(move |symmetry| {
            let moved = |point| self.moved(symmetry, point);
            let pack = position.pack().iter().map(moved).collect::<Option<_>>()?;
            Position::new(pack, moved(position.hare())?, position.turn())
        })
    }

    /// Where a symmetry takes a point; none for a point that the board does not have.
    fn moved(self, symmetry: u8, point: Point) -> Option<Point> {
        let (x, y) = (point.x(), point.y());
        if self == Variant::HareAndHounds {
            let mirrored = (HARE_AND_HOUNDS_ROWS - 1).checked_sub(y)?;
            return Point::at(x, if symmetry == 0 { y } else { mirrored });
        }
        let (x, y) = if symmetry & 4 == 0 { (x, y) } else { (y, x) };
        let x = if symmetry & 1 == 0 { x } else { SIDE - 1 - x };
        let y = if symmetry & 2 == 0 { y } else { SIDE - 1 - y };
        Point::at(x, y)
    }
}
