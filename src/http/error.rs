//! Failures become status and problem document here, and only here.
//!
//! [`PROBLEMS`] is the whole catalogue: `GET /problems/{name}` explains an entry, and the OpenAPI document
//! lists for each operation which of them it answers. The text of a failure that is ours (500, 503) says
//! nothing of its cause; the cause is logged once, with the request's id.

use actix_web::{
    HttpResponse, ResponseError,
    body::BoxBody,
    http::{StatusCode, header},
};
use serde::Serialize;
use utoipa::ToSchema;

use super::views::Instant;
use crate::wall_clock::Timestamp;

/// An entry of the catalogue.
#[derive(Debug, PartialEq, Eq)]
pub struct Problem {
    /// Its name: the last part of its `type`.
    pub name: &'static str,
    /// The HTTP status that it is sent with.
    pub status: u16,
    /// What happened, the same for every occurrence.
    pub title: &'static str,
    /// What it means and what to do about it.
    pub explanation: &'static str,
}

macro_rules! catalogue {
    ($($constant:ident = $status:literal $name:literal, $title:literal, $explanation:literal;)*) => {
        $(
            #[doc = $title]
            pub const $constant: &Problem = &Problem {
                name: $name, status: $status, title: $title, explanation: $explanation,
            };
        )*

        /// Every problem that the service answers.
        pub const PROBLEMS: &[&Problem] = &[$($constant),*];
    };
}

catalogue! {
    MALFORMED_REQUEST = 400 "malformed-request", "The request cannot be read",
        "The body is not JSON of the expected shape, or a parameter has the wrong form. The detail says where.";
    TOKEN_MISSING = 401 "token-missing", "A token is needed",
        "Send 'Authorization: Bearer <access token>'. Log in with POST /v1/sessions to get one.";
    TOKEN_INVALID = 401 "token-invalid", "The token is not good",
        "The access token is expired, its session has ended, or it was not made by this service. \
         Refresh it with POST /v1/sessions/refresh, or log in again.";
    WRONG_CREDENTIALS = 401 "wrong-credentials", "Username or password is wrong",
        "No account has this username with this password. The answer is the same for an unknown username.";
    REFRESH_TOKEN_INVALID = 401 "refresh-token-invalid", "The refresh token is not good",
        "The refresh token is unknown, expired or of an ended session. Log in again.";
    REFRESH_TOKEN_REUSED = 401 "refresh-token-reused", "The refresh token was used before",
        "A refresh token works once. Since this one came back, somebody else may hold it, and the session was \
         ended. Log in again.";
    ACCOUNT_BANNED = 403 "account-banned", "The account is banned",
        "This account may not be used any more. Ask the operator of this server.";
    NOT_A_PLAYER = 403 "not-a-player", "You do not play in this game",
        "Only the two players of a game may act in it. Everybody may read it.";
    NOT_YOUR_TURN = 403 "not-your-turn", "It is the other side's turn",
        "Wait for the other side's move, then play the ply after it.";
    NOT_YOUR_CHALLENGE = 403 "not-your-challenge", "The challenge is not yours to answer",
        "Only the player it was sent to may accept or decline a challenge, only its challenger may withdraw it, \
         and nobody may accept their own.";
    ACCOUNT_NEEDED = 403 "account-needed", "Guests cannot do this",
        "Guests play casual games and the computer; for all else sign up. POST /v1/me/claim makes the guest an account \
         and keeps its games.";
    POSITION_IN_PLAY = 403 "position-in-play", "The position is being played",
        "This position, or a mirror image of it, stands in a live rated game at this moment. Ask again when it does \
         not, or ask for the analysis of the finished game.";
    NOT_SOLVED = 404 "not-solved", "No table knows these rules",
        "This server has no complete table for these rules, or for so many hunters, or is still making it. Its \
         operator makes one with 'leveret solve'.";
    NOT_FOUND = 404 "not-found", "Nothing is here",
        "No such thing exists, or it is not yours to know of. Check the address and the id.";
    METHOD_NOT_ALLOWED = 405 "method-not-allowed", "The method does not fit",
        "This address exists, but not for this method. The Allow header lists those that it has.";
    USERNAME_TAKEN = 409 "username-taken", "The username is taken",
        "Somebody has or had this username. Names differ only if they differ without regard to case.";
    GAME_OVER = 409 "game-over", "The game is over",
        "A game that has ended takes no moves, offers, resignations or aborts. Read the game for its result.";
    GAME_NOT_OVER = 409 "game-not-over", "The game is still going",
        "A rematch can be offered, and the analysis asked for, once the game has ended.";
    PLY_CONFLICT = 409 "ply-conflict", "The game is at another ply",
        "Another move stands at this ply, or the ply lies ahead. 'ply' tells how many plies are played: read the \
         game and play ply + 1.";
    NO_DRAW_OFFER = 409 "no-draw-offer", "No draw offer stands",
        "There is no offer of this kind to accept, decline or withdraw: a move or an ending may have cleared it.";
    DRAW_OFFER_TOO_SOON = 409 "draw-offer-too-soon", "You have offered a draw of late",
        "After a draw offer each side moves ten times before the same side can offer another. 'ply' tells from how many \
         plies on.";
    SEAT_TAKEN = 409 "seat-taken", "The computer plays in your place",
        "You were away, and the computer plays on for you. Take your seat back with POST …/seat, then play.";
    TOO_LATE_TO_ABORT = 409 "too-late-to-abort", "Both sides have moved",
        "A game can be aborted until each side has made its first move. Resign instead, or offer a draw.";
    ALREADY_WAITING = 409 "already-waiting", "You wait in another pool",
        "A player has one live ticket at a time. Leave the other pool first.";
    ALREADY_PLAYING = 409 "already-playing", "You are in a live rated game",
        "A player is in one live rated game at a time. Finish it first; 'game' is its id.";
    CHALLENGE_OVER = 409 "challenge-over", "The challenge is over",
        "It was accepted, declined, withdrawn, or has expired. Its status tells which.";
    CHALLENGE_CHANGED = 409 "challenge-changed", "The challenge has changed",
        "Its challenger has changed it since the version that you name. Read it again, and accept it as it is now if \
         you like it.";
    CHALLENGE_IS_RATED = 409 "challenge-is-rated", "A rated challenge cannot be changed",
        "It has the rules and the clock of its pool. Withdraw it and make another.";
    NO_GUEST = 409 "no-guest", "This is an account already",
        "Only a guest can be claimed. A password is changed with PUT /v1/me/password.";
    POOL_CLOSED = 409 "pool-closed", "The pool is closed",
        "The operator has closed this pool: no tickets and no rated challenges. Its games and ratings stay.";
    BOT_TOO_LATE = 409 "bot-too-late", "Rated games were played",
        "An account can be declared a bot only before its first rated game.";
    OPPONENT_IS_HERE = 409 "opponent-is-here", "The other side is here",
        "A game can be claimed when the other side has shown no sign of life for 'drop_after_ms', a minute in rated games. 'until' is when that \
         will be so if it stays away: look at 'present' of the game's players before.";
    NOTHING_TO_CLAIM = 409 "nothing-to-claim", "This game cannot be claimed",
        "Rated real-time games can be claimed, and casual ones with 'on_drop' 'claim', once both sides have moved; \
         before that, abort. In other games the clock decides, if there is one.";
    REMATCH_EXISTS = 409 "rematch-exists", "The rematch has begun",
        "Both players wanted a rematch and its game exists: 'rematch.game' of the old game is its id.";
    IDEMPOTENCY_KEY_REUSED = 409 "idempotency-key-reused", "The key was used for something else",
        "An Idempotency-Key stands for one request with one body. Make a new key for a new request.";
    TOO_MANY_GAMES = 409 "too-many-games", "Too many games are going",
        "As many of your games against the computer are going as one player may have. Finish, resign or abort one.";
    PAYLOAD_TOO_LARGE = 413 "payload-too-large", "The body is too large",
        "Bodies of up to 16 KiB are read.";
    UNSUPPORTED_MEDIA_TYPE = 415 "unsupported-media-type", "The body is not JSON",
        "Send bodies as 'Content-Type: application/json'.";
    INVALID_FIELDS = 422 "invalid-fields", "Fields are not valid",
        "The body can be read, but some fields have values that are not allowed: 'errors' lists each with a JSON \
         pointer and what to change.";
    ILLEGAL_MOVE = 422 "illegal-move", "The rules forbid this move",
        "'legal_moves' lists the moves that are allowed now, written as they must be sent.";
    COOLING_DOWN = 429 "cooling-down", "Too many aborted games",
        "Whoever aborts rated games again and again, or does not begin to play in them, must wait before joining a \
         pool. 'until' says how long; GET /v1/me shows it, too.";
    TOO_MANY_REQUESTS = 429 "too-many-requests", "Too many requests",
        "Wait 'retry_after_ms' and ask again. The RateLimit-Policy header tells the budget of this class of \
         request.";
    TOO_MANY_STREAMS = 429 "too-many-streams", "Too many streams are open",
        "An account, and an address without a token, may have so many streams and waiting polls open at once. Close \
         one, or wait until the server notices that one is gone.";
    INTERNAL = 500 "internal", "Something went wrong here",
        "It is not your fault. It was logged under the request's id, which is in 'instance'.";
    UNAVAILABLE = 503 "unavailable", "Not available just now",
        "The database does not answer or there is too much to do. Ask again after 'retry_after_ms': what was \
         not answered with success may or may not have happened, and sending it again is safe.";
}

/// One field of the body that is not valid.
#[derive(Clone, Debug, Serialize, ToSchema)]
pub struct FieldError {
    /// JSON pointer to the field.
    #[schema(example = "/username")]
    pub pointer: String,
    /// What to change.
    #[schema(example = "must have 3 to 20 characters")]
    pub detail: String,
}

/// The members that some problems add.
#[derive(Clone, Debug, Default, Serialize)]
struct Members {
    #[serde(skip_serializing_if = "Option::is_none")]
    errors: Option<Vec<FieldError>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    legal_moves: Option<Vec<String>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    ply: Option<u16>,
    #[serde(skip_serializing_if = "Option::is_none")]
    game: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    until: Option<Instant>,
    #[serde(skip_serializing_if = "Option::is_none")]
    retry_after_ms: Option<u64>,
}

/// A problem as an answer. Becomes an RFC 9457 document when `http::finish` knows the request's id.
#[derive(Clone, Debug, thiserror::Error)]
#[error("{}: {detail}", problem.name)]
pub struct ApiError {
    problem: &'static Problem,
    detail: String,
    members: Box<Members>,
    allow: Option<String>,
}

/// A problem document (RFC 9457).
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = Problem)]
pub struct ProblemDocument {
    /// A stable relative URI; a GET explains it.
    #[serde(rename = "type")]
    #[schema(example = "/problems/illegal-move")]
    kind: String,
    /// What happened, the same for every occurrence of this type.
    #[schema(example = "The rules forbid this move")]
    title: &'static str,
    /// The HTTP status, again.
    #[schema(example = 422)]
    status: u16,
    /// What happened this time, and what to do.
    #[schema(example = "b1-e1 is not a legal move: no line joins the two points")]
    detail: String,
    /// The request's id, also in the header `x-request-id`.
    #[schema(example = "0199f3a0-5c1e-7b3a-9d2e-6a1f0c4b8e21")]
    instance: String,
    /// The fields that are not valid.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    errors: Option<Vec<FieldError>>,
    /// The moves that are allowed now.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    legal_moves: Option<Vec<String>>,
    /// How many plies the game has.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    ply: Option<u16>,
    /// The id of the game that stands in the way.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false, format = "uuid")]
    game: Option<String>,
    /// When it ends.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    until: Option<Instant>,
    /// After how many milliseconds to ask again.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    retry_after_ms: Option<u64>,
}

impl ApiError {
    /// A problem with its own words on what happened this time.
    pub fn new(problem: &'static Problem, detail: impl ToString) -> ApiError {
        ApiError { problem, detail: detail.to_string(), members: Box::default(), allow: None }
    }

    /// A problem about which its explanation says it all.
    pub fn of(problem: &'static Problem) -> ApiError {
        ApiError::new(problem, problem.explanation)
    }

    /// A failure that is ours: logged with its cause, told without it.
    pub fn internal(cause: impl std::fmt::Debug + std::fmt::Display) -> ApiError {
        tracing::error!(%cause, ?cause, "request failed");
        ApiError::of(INTERNAL)
    }

    /// The service cannot answer just now.
    pub fn unavailable(retry_after_ms: u64) -> ApiError {
        ApiError::of(UNAVAILABLE).retry_after_ms(retry_after_ms)
    }

    /// One field that is not valid.
    pub fn invalid_field(pointer: impl ToString, detail: impl ToString) -> ApiError {
        ApiError::invalid_fields(vec![FieldError {
            pointer: pointer.to_string(),
            detail: detail.to_string(),
        }])
    }

    /// Some fields that are not valid.
    pub fn invalid_fields(errors: Vec<FieldError>) -> ApiError {
        let detail = errors
            .iter()
            .map(|err| format!("{}: {}", err.pointer, err.detail))
            .collect::<Vec<_>>()
            .join("; ");
        let mut api_error = ApiError::new(INVALID_FIELDS, detail);
        api_error.members.errors = Some(errors);
        api_error
    }

    /// Adds the legal moves.
    pub fn legal_moves(mut self, moves: Vec<String>) -> ApiError {
        self.members.legal_moves = Some(moves);
        self
    }

    /// Adds how many plies the game has.
    pub fn ply(mut self, ply: u16) -> ApiError {
        self.members.ply = Some(ply);
        self
    }

    /// Adds the game that stands in the way.
    pub fn game(mut self, game: impl ToString) -> ApiError {
        self.members.game = Some(game.to_string());
        self
    }

    /// Adds when it ends.
    pub fn until(mut self, until: Timestamp) -> ApiError {
        self.members.until = Some(until.into());
        self
    }

    /// Adds when to ask again, in the body and as `Retry-After`.
    pub fn retry_after_ms(mut self, millis: u64) -> ApiError {
        self.members.retry_after_ms = Some(millis);
        self
    }

    /// Adds the methods that the address has.
    pub fn allow(mut self, methods: String) -> ApiError {
        self.allow = Some(methods);
        self
    }

    /// The problem's name.
    pub fn name(&self) -> &'static str {
        self.problem.name
    }

    /// The whole answer, for the request with this id.
    pub fn render(self, request_id: &str) -> HttpResponse {
        let status = self.status_code();
        let mut response = HttpResponse::build(status);
        response.insert_header((header::CONTENT_TYPE, "application/problem+json"));
        if let Some(millis) = self.members.retry_after_ms {
            response.insert_header((header::RETRY_AFTER, millis.div_ceil(1000)));
        }
        if let Some(methods) = self.allow {
            response.insert_header((header::ALLOW, methods));
        }
        if status == StatusCode::UNAUTHORIZED {
            response.insert_header((header::WWW_AUTHENTICATE, "Bearer realm=\"leveret\""));
        }
        let Members { errors, legal_moves, ply, game, until, retry_after_ms } = *self.members;
        let document = ProblemDocument {
            kind: format!("/problems/{}", self.problem.name),
            title: self.problem.title,
            status: self.problem.status,
            detail: self.detail,
            instance: request_id.to_owned(),
            errors,
            legal_moves,
            ply,
            game,
            until,
            retry_after_ms,
        };
        response.body(serde_json::to_string(&document).unwrap_or_default())
    }
}

impl ResponseError for ApiError {
    fn status_code(&self) -> StatusCode {
        StatusCode::from_u16(self.problem.status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR)
    }

    /// An empty answer that carries the problem; `http::finish` writes it out.
    fn error_response(&self) -> HttpResponse<BoxBody> {
        let mut response = HttpResponse::new(self.status_code());
        response.extensions_mut().insert(self.clone());
        response
    }
}

/// PostgreSQL's code for text with a NUL in it.
const NOT_TEXT: &str = "22021";

impl From<sqlx::Error> for ApiError {
    /// A database that does not answer is worth another try; anything else is our mistake.
    fn from(err: sqlx::Error) -> ApiError {
        if err.as_database_error().is_some_and(|err| err.code().as_deref() == Some(NOT_TEXT)) {
            return ApiError::new(MALFORMED_REQUEST, "a text holds a character that cannot be stored (NUL)");
        }
        let passing = match &err {
            sqlx::Error::PoolTimedOut
            | sqlx::Error::PoolClosed
            | sqlx::Error::WorkerCrashed
            | sqlx::Error::Io(_)
            | sqlx::Error::Tls(_)
            | sqlx::Error::Protocol(_) => true,
            // 08 connection, 40 serialisation and deadlock, 53 resources, 57 operator (shutdown, start-up).
            sqlx::Error::Database(err) => err
                .code()
                .is_some_and(|code| ["08", "40", "53", "57"].iter().any(|class| code.starts_with(class))),
            _ => false,
        };
        if passing {
            tracing::warn!(cause = %err, "the database does not answer");
            ApiError::unavailable(1000)
        } else {
            ApiError::internal(err)
        }
    }
}
