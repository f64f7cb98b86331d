//! Playing games: moves, clocks, endings, draw offers, aborts, rematches, and looking back at them.

mod analysis;
mod clock;
mod computer;
mod draw;
mod dropping_out;
mod ending;
mod fair_play;
mod look_back;
mod play_move;
mod races;
mod rematch;
mod seat;
mod whole_games;
