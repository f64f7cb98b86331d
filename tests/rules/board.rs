//! The boards as they are drawn.

use leveret::rules::{Board, Leap, Point, PointSet};

fn point(name: &str) -> Point {
    name.parse().unwrap()
}

fn names(points: PointSet) -> String {
    points.iter().map(Point::name).collect::<Vec<_>>().join(" ")
}

#[test]
fn the_board_of_hare_and_hounds_has_eleven_points_and_twenty_two_lines() {
    let board = Board::hare_and_hounds();
    let points: Vec<&str> = board.points().iter().map(|point| point.name()).collect();
    assert_eq!(points, ["a2", "b1", "b2", "b3", "c1", "c2", "c3", "d1", "d2", "d3", "e2"]);
    assert_eq!(board.lines().len(), 22);
    assert_eq!(names(board.neighbours(point("a2"))), "b1 b2 b3");
    assert_eq!(names(board.neighbours(point("e2"))), "d1 d2 d3");
    assert_eq!(names(board.neighbours(point("c2"))), "b1 b2 b3 c1 c3 d1 d2 d3");
    assert_eq!(names(board.neighbours(point("b2"))), "a2 b1 b3 c2");
    assert_eq!(names(board.neighbours(point("c1"))), "b1 c2 d1");
    assert_eq!(names(board.neighbours(point("b3"))), "a2 b2 c2 c3");
}

#[test]
fn the_alquerque_boards_have_the_diagonals_of_their_rule() {
    for (board, diagonals) in
        [(Board::alquerque(), 16), (Board::long_diagonals(), 8), (Board::no_diagonals(), 0)]
    {
        assert_eq!(board.points().len(), 25);
        let is_diagonal = |(a, b): &(Point, Point)| a.x() != b.x() && a.y() != b.y();
        assert_eq!(board.lines().iter().filter(|line| is_diagonal(line)).count(), diagonals);
        assert_eq!(board.lines().iter().filter(|line| !is_diagonal(line)).count(), 40);
    }
    let carries_diagonals = |(a, _): &&(Point, Point)| (a.x() + a.y()) % 2 == 0;
    let diagonals = Board::alquerque().lines().iter().filter(|(a, b)| a.x() != b.x() && a.y() != b.y());
    assert!(diagonals.clone().all(|line| carries_diagonals(&line)));
    let long = |&(a, b): &(Point, Point)| [a, b].iter().all(|p| p.x() == p.y() || p.x() + p.y() == 4);
    let longs: Vec<_> = diagonals.filter(|line| long(line)).copied().collect();
    let of_the_board =
        Board::long_diagonals().lines().iter().filter(|(a, b)| a.x() != b.x() && a.y() != b.y());
    assert_eq!(of_the_board.copied().collect::<Vec<_>>(), longs);
}

#[test]
fn lines_and_neighbours_agree_and_leaps_go_straight_on_along_two_lines() {
    for board in
        [Board::hare_and_hounds(), Board::alquerque(), Board::long_diagonals(), Board::no_diagonals()]
    {
        assert!(board.points().is_sorted() && board.lines().is_sorted());
        for &a in board.points() {
            for &b in board.points() {
                let is_line = board.lines().contains(&(a.min(b), a.max(b)));
                assert_eq!(board.neighbours(a).contains(b), is_line, "{a}-{b}");
                for &c in board.points() {
                    let straight = a.x() + c.x() == 2 * b.x() && a.y() + c.y() == 2 * b.y() && a != c;
                    let drawn = board.neighbours(a).contains(b) && board.neighbours(b).contains(c);
                    let is_leap = board.leaps(a).contains(&Leap { over: b, landing: c });
                    assert_eq!(is_leap, straight && drawn, "{a} over {b} to {c}");
                }
            }
        }
    }
}

#[test]
fn the_fewest_hunters_that_can_enclose_a_hare_follow_from_the_board() {
    assert_eq!(Board::alquerque().fewest_to_enclose(), 5);
    assert_eq!(Board::long_diagonals().fewest_to_enclose(), 5);
    assert_eq!(Board::no_diagonals().fewest_to_enclose(), 4);
}

#[test]
fn a_point_knows_its_name_and_place() {
    for (index, point) in Point::all().enumerate() {
        assert_eq!(point.index(), index);
        assert_eq!(point.name().parse(), Ok(point));
        assert_eq!(Point::at(point.x(), point.y()), Some(point));
    }
    assert_eq!((point("d2").x(), point("d2").y()), (3, 1));
    for wrong in ["", "a", "a0", "a6", "f1", "A1", "a11", "é", "1a"] {
        assert!(wrong.parse::<Point>().is_err(), "{wrong}");
    }
}
