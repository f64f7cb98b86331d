//! Playing games: moves, clocks, endings, draw offers, aborts, rematches, and looking back at them.

mod clock;
mod draw;
mod dropping_out;
mod ending;
mod look_back;
mod play_move;
mod races;
mod rematch;
mod whole_games;
