//! A game: what stands, and what may happen next. Touches nothing outside itself.

use super::{Ending, Fall, GameClock, Grace, OnDrop};
use crate::{
    ids::{GameId, PlayerId},
    ratings::RatingChange,
    rules::{ByRole, IllegalMove, Play, Role, Variant},
    solver::computer::Level,
    wall_clock::Timestamp,
};

/// One side's player, and the rating that they came with.
#[derive(Clone, Debug)]
pub struct Seat {
    /// Who plays.
    pub player: PlayerId,
    /// What they are called; none when the account is closed.
    pub username: Option<String>,
    /// Their rating in the pool when the game began.
    pub rating: Option<f64>,
    /// Whether that rating was still provisional.
    pub provisional: bool,
    /// How strong the computer plays, when it moves the pieces.
    pub computer: Option<Level>,
    /// Whether the log says that the player is away.
    pub is_told_away: bool,
    /// After how many plies this side offered a draw last.
    pub last_offer: Option<u16>,
}

impl Seat {
    /// How strong the computer is as the player here, not in the place of one.
    pub fn computer_player(&self) -> Option<Level> {
        self.computer.filter(|_| self.player == PlayerId::COMPUTER)
    }
}

/// So many plies are played between two draw offers of one side.
const PLIES_BETWEEN_OFFERS: u16 = 20;

/// Who makes a move.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Mover {
    /// A player.
    Player(PlayerId),
    /// The computer, for a side whose pieces it moves.
    Computer(Role),
}

/// A game with all that is known of it.
#[derive(Clone, Debug)]
pub struct Game {
    /// Its id.
    pub id: GameId,
    /// Rules, position and history.
    pub play: Play,
    /// The moves, in the order of their plies.
    pub moves: Vec<String>,
    /// What both sides have left.
    pub clock: GameClock,
    /// The pool it counts for.
    pub pool: Option<String>,
    /// Whether it changes ratings.
    pub rated: bool,
    /// Who plays which role.
    pub seats: ByRole<Seat>,
    /// When each side last showed a sign of life, as far as this process knows.
    pub seen: ByRole<Timestamp>,
    /// What becomes of a side that has left.
    pub on_drop: OnDrop,
    /// After how long it has.
    pub drop_after: Grace,
    /// Whether a rematch swaps the roles.
    pub swap_roles: bool,
    /// When it was made.
    pub created_at: Timestamp,
    /// When the last thing happened in it.
    pub last_at: Timestamp,
    /// The number of the last event in its log.
    pub last_event: i32,
    /// Whose draw offer stands.
    pub draw_offer: Option<Role>,
    /// Who wants a rematch.
    pub rematch_wanted: ByRole<bool>,
    /// The rematch, when both wanted it.
    pub rematch: Option<GameId>,
    /// The game that this one is the rematch of.
    pub rematch_of: Option<GameId>,
    /// How and when it ended.
    pub ended: Option<(Ending, Timestamp)>,
    /// What it did to the ratings.
    pub rating_changes: Option<ByRole<RatingChange>>,
}

/// A move that somebody wants to make.
#[derive(Clone, Copy, Debug)]
pub struct Turn<'a> {
    /// Who.
    pub mover: Mover,
    /// The ply that it is to be, from 1.
    pub ply: u16,
    /// The move.
    pub text: &'a str,
}

/// What the computer has to do in a game.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ComputerDue {
    /// To answer the draw offer that stands, for this side.
    AnswerDraw(Role),
    /// To move, for this side and so strongly.
    Move(Role, Level),
}

/// Why a ply is not played.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub enum PlyRefusal {
    /// The caller plays in another game.
    #[error("you do not play in this game")]
    NotAPlayer,
    /// Another move stands there, or the ply lies ahead.
    #[error("the game has {0} plies")]
    Conflict(u16),
    /// Nothing can be played any more.
    #[error("the game is over")]
    GameOver(Ending),
    /// Somebody's time has run out, and the game is to be ended.
    #[error("the time of the {} has run out", .0.role)]
    TimeUp(Fall),
    /// The other side is to move.
    #[error("it is the other side's turn")]
    NotYourTurn,
    /// The computer plays in the caller's place.
    #[error("the computer plays in your place")]
    SeatTaken,
    /// The rules forbid it.
    #[error("{0}")]
    Illegal(IllegalMove, Vec<String>),
}

/// What became of a ply that was not refused.
pub enum Decision {
    /// The same move stands there already.
    AlreadyPlayed,
    /// The game after the move.
    Played(Box<Game>),
}

impl Game {
    /// Which game is played.
    pub fn variant(&self) -> Variant {
        self.play.rules().variant()
    }

    /// How many plies are played.
    pub fn ply(&self) -> u16 {
        self.play.ply()
    }

    /// The role that this player has here.
    pub fn role_of(&self, player: PlayerId) -> Option<Role> {
        Role::ALL.into_iter().find(|role| self.seats[*role].player == player)
    }

    /// The role that this mover has here.
    fn role_of_mover(&self, mover: Mover) -> Option<Role> {
        match mover {
            Mover::Player(player) => self.role_of(player),
            Mover::Computer(role) => self.seats[role].computer.map(|_| role),
        }
    }

    /// What the computer has to do here, if anything.
    pub fn computer_due(&self) -> Option<ComputerDue> {
        if !self.is_ongoing() {
            return None;
        }
        // In the place of a player it leaves the answer to the player.
        let asked = self.draw_offer.map(Role::other);
        if let Some(role) = asked.filter(|role| self.seats[*role].computer_player().is_some()) {
            return Some(ComputerDue::AnswerDraw(role));
        }
        let role = self.play.turn();
        self.seats[role].computer.map(|level| ComputerDue::Move(role, level))
    }

    /// From which ply on a side may offer a draw again: each side moves ten times between two offers.
    pub fn next_draw_offer(&self, role: Role) -> Option<u16> {
        self.seats[role].last_offer.map(|ply| ply + PLIES_BETWEEN_OFFERS)
    }

    /// The player who is told that it is their turn. The computer sees that by itself.
    pub fn told_of_turn(&self) -> Option<PlayerId> {
        let player = self.seats[self.play.turn()].player;
        (self.is_ongoing() && player != PlayerId::COMPUTER).then_some(player)
    }

    /// What belongs to each role, as it is in the rematch.
    pub fn in_the_rematch<T>(&self, both: ByRole<T>) -> ByRole<T> {
        if self.swap_roles { ByRole { hounds: both.hare, hare: both.hounds } } else { both }
    }

    /// Whether it goes on.
    pub fn is_ongoing(&self) -> bool {
        self.ended.is_none()
    }

    /// The moves that are allowed now; none when it is over.
    pub fn legal_moves(&self) -> Vec<String> {
        if self.is_ongoing() {
            self.play.legal_moves().iter().map(ToString::to_string).collect()
        } else {
            Vec::new()
        }
    }

    /// Decides on a move. The pack has the odd plies, the hare the even ones.
    ///
    /// A move that stands already is recognised before anything else is asked, so that a client which lost the
    /// answer to its last move may send it again even when it has ended the game. Time is judged by `now`, the
    /// instant at which the move arrived: at the deadline it counts, a millisecond later it does not.
    ///
    /// # Errors
    ///
    /// Why it cannot be played.
    pub fn decide(&self, turn: Turn<'_>, now: Timestamp) -> Result<Decision, PlyRefusal> {
        let Turn { mover, ply, text } = turn;
        let role = self.role_of_mover(mover).ok_or(PlyRefusal::NotAPlayer)?;
        if let Some(played) = usize::from(ply).checked_sub(1).and_then(|index| self.moves.get(index)) {
            let theirs = if ply % 2 == 1 { Role::Hounds } else { Role::Hare };
            return if role == theirs && played == text {
                Ok(Decision::AlreadyPlayed)
            } else {
                Err(PlyRefusal::Conflict(self.ply()))
            };
        }
        if let Some((ending, _)) = self.ended {
            return Err(PlyRefusal::GameOver(ending));
        }
        if let Some(fall) = self.clock.fallen(now) {
            return Err(PlyRefusal::TimeUp(fall));
        }
        if ply != self.ply() + 1 {
            return Err(PlyRefusal::Conflict(self.ply()));
        }
        if self.play.turn() != role {
            return Err(PlyRefusal::NotYourTurn);
        }
        if mover != Mover::Computer(role) && self.seats[role].computer.is_some() {
            return Err(PlyRefusal::SeatTaken);
        }
        let mut next = self.clone();
        let played =
            next.play.play(text).map_err(|illegal| PlyRefusal::Illegal(illegal, self.legal_moves()))?;
        next.moves.push(played.to_string());
        next.draw_offer = None;
        next.last_at = now;
        next.seen[role] = now;
        next.last_event += 1;
        next.clock.moved(now);
        if let Some(outcome) = next.play.outcome() {
            next.ended = Some((Ending::ByRules(outcome), now));
            next.clock.stop(now);
        }
        Ok(Decision::Played(Box::new(next)))
    }
}
