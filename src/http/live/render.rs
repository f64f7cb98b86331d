//! What events look like, on a stream and in a long poll.

use bytes::Bytes;
use chrono::TimeDelta;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};
use utoipa::ToSchema;

use crate::{
    events::{hub::Entry, player_log::PlayerEvent},
    games::{Game, LogEntry},
    http::{
        clock_view::ClockView,
        lobby::{ChallengeStatusName, ChallengeView, TicketStatusName, TicketView},
        views::{BothRoles, Controller, GameView, Instant, RatingChangeView, ResultName, RoleName},
    },
    ids::{ChallengeId, GameId},
    rules::Play,
    wall_clock::Timestamp,
};

/// How long after the end of a game a rematch is waited for.
pub const REMATCH_AWAITED_FOR: TimeDelta = TimeDelta::minutes(5);

/// An event of a game.
#[derive(Serialize, ToSchema)]
#[schema(as = GameEvent)]
pub struct GameEventView {
    /// Its number in the log of the game: 1, 2, 3 and so on.
    #[schema(example = 7)]
    number: i32,
    /// When it happened.
    at: Instant,
    /// Whose doing it was; null where it was nobody's.
    #[schema(required = true)]
    role: Option<RoleName>,
    #[serde(flatten)]
    what: GameEventKind,
}

/// What happened in a game. Clients should pass over kinds that they do not know.
#[derive(Serialize, ToSchema)]
#[serde(tag = "kind", rename_all = "snake_case")]
#[schema(as = GameEventKind)]
pub enum GameEventKind {
    /// The game was made; the pack begins.
    Started {
        /// The position before the first move.
        #[schema(example = "a2b1b3/e2 hounds")]
        position: String,
        /// Whose turn it is.
        turn: RoleName,
        /// What may be played.
        legal_moves: Vec<String>,
        /// The clock at that instant.
        clock: ClockView,
    },
    /// A move was played.
    Move {
        /// Its ply, from 1.
        #[schema(example = 1)]
        ply: u16,
        /// The move.
        #[serde(rename = "move")]
        #[schema(example = "b1-b2")]
        text: String,
        /// The position after it.
        #[schema(example = "a2b2b3/e2 hare")]
        position: String,
        /// Whose turn it is now; null when the move has ended the game.
        #[schema(required = true)]
        turn: Option<RoleName>,
        /// What may be played next; none when the move has ended the game.
        legal_moves: Vec<String>,
        /// The clock at that instant, with the deadline of the move to come.
        clock: ClockView,
    },
    /// A draw was offered.
    DrawOffered,
    /// The draw offer was taken back.
    DrawWithdrawn,
    /// The draw offer was declined.
    DrawDeclined,
    /// The clock that runs was given time.
    TimeGiven {
        /// How much.
        #[schema(example = 4200)]
        ms: i64,
        /// The clock after that.
        clock: ClockView,
    },
    /// A player has left, or is back.
    Presence {
        /// Whether the player of `role` is there.
        present: bool,
    },
    /// Who moves the pieces of `role` has changed.
    Seat {
        /// Who moves them now.
        controller: Controller,
        /// How strong the computer plays, when it does.
        #[schema(required = true, example = 4)]
        computer_level: Option<u8>,
    },
    /// The game is over.
    Ended {
        /// Who won; null for an aborted game.
        #[schema(required = true)]
        result: Option<ResultName>,
        /// Why, in the words of the game's `reason`.
        #[schema(example = "cornered")]
        reason: String,
        /// What it did to the ratings; null when it was not rated.
        #[schema(required = true)]
        rating_changes: Option<BothRoles<RatingChangeView>>,
        /// The clock as it stopped.
        clock: ClockView,
    },
    /// A player wants a rematch.
    RematchOffered,
    /// A player wants none any more.
    RematchWithdrawn,
    /// Both want a rematch, and here it is.
    RematchAccepted {
        /// The new game.
        game: GameId,
    },
    /// The operator annulled the game: it counts for no rating.
    Annulled,
}

/// An event of a player's own log.
#[derive(Serialize, ToSchema)]
#[schema(as = PlayerEvent)]
pub struct PlayerEventView {
    /// Its number in the log of the player: 1, 2, 3 and so on.
    #[schema(example = 42)]
    number: i32,
    /// When it happened.
    at: Instant,
    #[serde(flatten)]
    what: PlayerEventKind,
}

/// What a player is told. Clients should pass over kinds that they do not know.
#[derive(Serialize, Deserialize, ToSchema)]
#[serde(tag = "kind", rename_all = "snake_case")]
#[schema(as = PlayerEventKind)]
pub enum PlayerEventKind {
    /// Something became of your ticket.
    Ticket {
        /// The pool.
        #[schema(example = "hare-and-hounds")]
        pool: String,
        /// What became of it.
        status: TicketStatusName,
        /// The game, when matched.
        #[schema(required = true)]
        game: Option<GameId>,
    },
    /// A challenge from or to you was made, or something became of it.
    Challenge {
        /// The challenge: `GET /v1/challenges/{challenge}` tells the rest.
        challenge: ChallengeId,
        /// What became of it; `open` when it was made.
        status: ChallengeStatusName,
        /// The game, when accepted.
        #[schema(required = true)]
        game: Option<GameId>,
    },
    /// You are in a new game.
    GameStarted {
        /// The game.
        game: GameId,
        /// Your role.
        role: RoleName,
    },
    /// It is your turn.
    YourTurn {
        /// The game.
        game: GameId,
        /// How many plies are played: yours is the next.
        #[schema(example = 2)]
        ply: u16,
    },
    /// A game of yours is over.
    GameEnded {
        /// The game.
        game: GameId,
        /// Your role.
        role: RoleName,
        /// Who won; null for an aborted game.
        #[schema(required = true)]
        result: Option<ResultName>,
        /// Why.
        #[schema(example = "resignation")]
        reason: String,
    },
}

/// What concerns a player now.
#[derive(Serialize, ToSchema)]
#[schema(as = PlayerSnapshot)]
pub struct PlayerSnapshotView {
    /// Your games that go on, the newest first, up to 200.
    pub games: Vec<GameView>,
    /// The ticket with which you wait.
    #[schema(required = true)]
    pub ticket: Option<TicketView>,
    /// The challenges from and to you that can be accepted, the newest first.
    pub challenges: Vec<ChallengeView>,
    /// The server's time.
    pub server_now: Instant,
}

/// Events of a game, as a long poll answers them.
#[derive(Serialize, ToSchema)]
#[schema(as = GameEvents)]
pub struct GameEventsView {
    /// The game, where there was nothing to go on from.
    #[schema(required = true)]
    snapshot: Option<GameView>,
    /// What has happened since, in order.
    items: Vec<GameEventView>,
    /// The number of the last event that this answer knows of: the next `after`.
    #[schema(example = 7)]
    last: i32,
    /// The server's time when it answered.
    server_now: Instant,
}

/// Events of a player, as a long poll answers them.
#[derive(Serialize, ToSchema)]
#[schema(as = PlayerEvents)]
pub struct PlayerEventsView {
    /// What concerns you now, where there was nothing to go on from.
    #[schema(required = true)]
    snapshot: Option<PlayerSnapshotView>,
    /// What has happened since, in order.
    items: Vec<PlayerEventView>,
    /// The number of the last event that this answer knows of: the next `after`.
    #[schema(example = 42)]
    last: i32,
    /// The server's time when it answered.
    server_now: Instant,
}

/// The entries of a game's log, ready to be sent.
pub fn game_entries(game: &Game, log: &[LogEntry]) -> Vec<Entry> {
    let mut board = None;
    log.iter()
        .map(|entry| {
            let (view, over_at) = game_event(game, entry, &mut board);
            frame_of(entry.number, entry.at, &entry.kind, view, over_at)
        })
        .collect()
}

/// How an entry looks, and from when on nothing more is waited for if it is that. `board` is carried from each move to
/// the next one.
fn game_event(game: &Game, entry: &LogEntry, board: &mut Option<Play>) -> (Value, Option<Timestamp>) {
    let text = |member: &str| {
        entry.data.as_ref().and_then(|data| data.get(member)).and_then(Value::as_str).map(str::to_owned)
    };
    let clock = ClockView::of(&entry.clock.unwrap_or(game.clock), entry.at);
    let mut over_at = None;
    let what = match entry.kind.as_str() {
        "started" => {
            let start = position_after(game, 0);
            start.map(|play| GameEventKind::Started {
                position: play.position().to_string(),
                turn: play.turn().into(),
                legal_moves: moves_of(&play),
                clock,
            })
        }
        "move" => {
            let ply = entry.ply.unwrap_or_default();
            let text = entry.text.clone().unwrap_or_default();
            *board = match board.take() {
                Some(mut play) if play.ply() + 1 == ply => play.play(&text).is_ok().then_some(play),
                _ => position_after(game, ply),
            };
            board.as_ref().map(|play| {
                let goes_on = play.outcome().is_none();
                GameEventKind::Move {
                    ply,
                    text,
                    position: play.position().to_string(),
                    turn: goes_on.then(|| play.turn().into()),
                    legal_moves: if goes_on { moves_of(play) } else { Vec::new() },
                    clock,
                }
            })
        }
        "draw_offered" => Some(GameEventKind::DrawOffered),
        "draw_withdrawn" => Some(GameEventKind::DrawWithdrawn),
        "draw_declined" => Some(GameEventKind::DrawDeclined),
        "rematch_offered" => Some(GameEventKind::RematchOffered),
        "rematch_withdrawn" => Some(GameEventKind::RematchWithdrawn),
        "annulled" => Some(GameEventKind::Annulled),
        "rematch_accepted" => {
            over_at = Some(entry.at);
            text("game").and_then(|id| id.parse().ok()).map(|game| GameEventKind::RematchAccepted { game })
        }
        "time_given" => {
            let ms = entry.data.as_ref().and_then(|data| data["ms"].as_i64());
            ms.map(|ms| GameEventKind::TimeGiven { ms, clock })
        }
        "presence" => {
            let present = entry.data.as_ref().and_then(|data| data["present"].as_bool());
            present.map(|present| GameEventKind::Presence { present })
        }
        "seat" => {
            let level = entry.data.as_ref().and_then(|data| data["computer_level"].as_u64());
            Some(GameEventKind::Seat {
                controller: if level.is_some() { Controller::Computer } else { Controller::Player },
                computer_level: level.and_then(|level| level.try_into().ok()),
            })
        }
        "ended" => {
            over_at = Some(entry.at + REMATCH_AWAITED_FOR);
            Some(GameEventKind::Ended {
                result: text("result")
                    .and_then(|word| word.parse().ok())
                    .map(|result: crate::rules::GameResult| result.into()),
                reason: text("reason").unwrap_or_default(),
                rating_changes: game.rating_changes.map(|both| both.map(RatingChangeView::from).into()),
                clock,
            })
        }
        _ => None,
    };
    let (number, at, role) = (entry.number, Instant::from(entry.at), entry.role.map(RoleName::from));
    let view = match what {
        Some(what) => json!(GameEventView { number, at, role, what }),
        // Of a newer version of this program, on the same database.
        None => json!({"number": number, "at": at, "role": role, "kind": entry.kind}),
    };
    (view, over_at)
}

fn position_after(game: &Game, ply: u16) -> Option<Play> {
    let moves = game.moves.iter().take(usize::from(ply)).map(String::as_str);
    Play::replay(game.play.rules(), game.play.start(), moves).ok()
}

fn moves_of(play: &Play) -> Vec<String> {
    play.legal_moves().iter().map(ToString::to_string).collect()
}

/// Entries of a player's log, ready to be sent.
pub fn player_entries(log: Vec<PlayerEvent>) -> Vec<Entry> {
    log.into_iter()
        .map(|event| {
            let PlayerEvent { number, kind, at, data } = event;
            let mut members: Map<String, Value> = match data {
                Value::Object(members) => members,
                _ => Map::new(),
            };
            members.insert("kind".to_owned(), kind.clone().into());
            let view = match serde_json::from_value(Value::Object(members.clone())) {
                Ok(what) => json!(PlayerEventView { number, at: at.into(), what }),
                Err(_) => {
                    members.insert("number".to_owned(), number.into());
                    members.insert("at".to_owned(), json!(Instant::from(at)));
                    Value::Object(members)
                }
            };
            frame_of(number, at, &kind, view, None)
        })
        .collect()
}

fn frame_of(number: i32, at: Timestamp, kind: &str, view: Value, over_at: Option<Timestamp>) -> Entry {
    let head = format!("id: {number}\nevent: {kind}\ndata: ");
    let data = view.to_string();
    let range = head.len()..head.len() + data.len();
    Entry { number, at, frame: Bytes::from(head + &data + "\n\n"), data: range, over_at }
}

/// An event of the stream itself, which has no number unless it stands for all up to it.
pub fn frame(number: Option<i32>, event: &str, data: &str) -> String {
    let id = number.map_or_else(String::new, |number| format!("id: {number}\n"));
    format!("{id}event: {event}\ndata: {data}\n\n")
}

/// The body of a long poll. Written by hand, since the entries are text already.
pub fn page(snapshot: Option<&str>, entries: &[Entry], last: i32, now: Timestamp) -> String {
    let items: Vec<_> =
        entries.iter().map(|entry| String::from_utf8_lossy(&entry.frame[entry.data.clone()])).collect();
    format!(
        r#"{{"snapshot":{},"items":[{}],"last":{last},"server_now":{}}}"#,
        snapshot.unwrap_or("null"),
        items.join(","),
        json!(Instant::from(now)),
    )
}
