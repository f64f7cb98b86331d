//! Two players and a game: random moves, and now and then what else players and bad connections do.

use std::sync::{
    Arc,
    atomic::{AtomicU64, Ordering},
};

use rand::{RngExt, rngs::StdRng, seq::IndexedRandom};
use reqwest::Method;
use serde_json::{Value, json};

use super::{
    process::Outcome,
    site::{Account, Answer, Process, Site},
};

/// A game and those who play it.
pub struct Table<'a> {
    pub site: &'a Site,
    pub rng: StdRng,
    /// Somebody who does not play in it.
    pub stranger: &'a Account,
    /// Moves that were answered with 201.
    pub moves: &'a AtomicU64,
}

/// The players of a game.
pub struct Seats {
    hounds: Arc<Account>,
    hare: Arc<Account>,
}

impl Seats {
    /// Who of the two plays what.
    pub fn of(game: &Value, one: Arc<Account>, other: Arc<Account>) -> Outcome<Seats> {
        let names =
            [text(&game["players"]["hounds"], "username")?, text(&game["players"]["hare"], "username")?];
        if names == [one.name.as_str(), other.name.as_str()] {
            Ok(Seats { hounds: one, hare: other })
        } else if names == [other.name.as_str(), one.name.as_str()] {
            Ok(Seats { hounds: other, hare: one })
        } else {
            Err(format!("{} and {} do not play in {game}", one.name, other.name).into())
        }
    }

    fn both(&self) -> [&Arc<Account>; 2] {
        [&self.hounds, &self.hare]
    }

    /// Who has the turn, and who has not.
    fn by_turn(&self, game: &Value) -> [&Arc<Account>; 2] {
        if game["turn"] == "hounds" { [&self.hounds, &self.hare] } else { [&self.hare, &self.hounds] }
    }
}

/// A member that is a text.
pub fn text<'a>(value: &'a Value, name: &str) -> Outcome<&'a str> {
    value[name].as_str().ok_or_else(|| format!("no text {name} in {value}").into())
}

fn ply(game: &Value) -> u64 {
    game["ply"].as_u64().unwrap_or(0)
}

fn ensure(holds: bool, what: &str, game: &Value) -> Outcome<()> {
    if holds { Ok(()) } else { Err(format!("{what}: {game}").into()) }
}

impl Table<'_> {
    fn chance(&mut self, in_thousand: u32) -> bool {
        self.rng.random_range(0..1000) < in_thousand
    }

    async fn act(&mut self, who: &Account, method: Method, game: &Value, what: &str) -> Outcome<Answer> {
        let to = self.site.any(&mut self.rng);
        self.act_at(to, who, method, game, what).await
    }

    async fn act_at(
        &self,
        to: Process,
        who: &Account,
        method: Method,
        game: &Value,
        what: &str,
    ) -> Outcome<Answer> {
        let path = format!("/v1/games/{}/{what}", text(game, "id")?);
        self.site.send(to, Some(who), method, &path, None).await
    }

    async fn play(&mut self, who: &Account, game: &Value, ply: u64, mv: &str) -> Outcome<Answer> {
        let to = self.site.any(&mut self.rng);
        self.play_at(to, who, game, ply, mv).await
    }

    async fn play_at(&self, to: Process, who: &Account, game: &Value, ply: u64, mv: &str) -> Outcome<Answer> {
        let path = format!("/v1/games/{}/moves/{ply}", text(game, "id")?);
        self.site.send(to, Some(who), Method::PUT, &path, Some(&json!({"move": mv}))).await
    }

    /// Reads a game.
    pub async fn read(&mut self, id: &str) -> Outcome<Value> {
        let to = self.site.any(&mut self.rng);
        self.read_at(to, id).await
    }

    async fn read_at(&self, to: Process, id: &str) -> Outcome<Value> {
        self.site.send(to, None, Method::GET, &format!("/v1/games/{id}"), None).await?.body(200)
    }

    /// Plays a game to its end. Answers the game, and its rematch if both wanted one.
    pub async fn play_out(&mut self, mut game: Value, seats: &Seats) -> Outcome<(Value, Option<String>)> {
        while game["status"] == "ongoing" {
            game = match self.rng.random_range(0..1000) {
                0..=4 if ply(&game) < 2 => {
                    let who = seats.both()[self.rng.random_range(0..2)].clone();
                    self.act(&who, Method::POST, &game, "abort").await?.body(200)?
                }
                5..=9 => self.resign(&game, seats).await?,
                10..=29 if game["draw_offer"].is_null() => self.talk_of_a_draw(&game, seats).await?,
                30..=99 => {
                    self.misbehave(&game, seats).await?;
                    game
                }
                _ => self.move_on(&game, seats).await?,
            };
        }
        self.look_at_the_end(&game, seats).await?;
        let rematch = if self.chance(150) { self.rematch(&game, seats).await? } else { None };
        Ok((game, rematch))
    }

    /// One resigns; sometimes while the other one moves.
    async fn resign(&mut self, game: &Value, seats: &Seats) -> Outcome<Value> {
        let [mover, waiter] = seats.by_turn(game);
        if self.chance(500) {
            return self.act(mover, Method::POST, game, "resignation").await?.body(200);
        }
        let mv = self.any_move(game)?;
        let to = self.site.any(&mut self.rng);
        let (resigned, moved) = tokio::join!(
            self.act_at(to, waiter, Method::POST, game, "resignation"),
            self.play_at(self.site.other(to), mover, game, ply(game) + 1, &mv),
        );
        let (resigned, moved) = (resigned?, moved?);
        match (resigned.status, moved.status) {
            (200, 201) => self.count_move(),
            (409, 201) => {
                self.count_move();
                self.site.refused(&resigned, 409, "game-over")?;
            }
            _ => {
                self.site.refused(&moved, 409, "game-over")?;
                ensure(resigned.status == 200, "neither resigned nor moved", &resigned.body)?;
            }
        }
        self.read(text(game, "id")?).await
    }

    /// One offers a draw; the other one accepts, declines or says nothing, or the first one takes it back.
    async fn talk_of_a_draw(&mut self, game: &Value, seats: &Seats) -> Outcome<Value> {
        let [one, other] =
            if self.chance(500) { [&seats.hounds, &seats.hare] } else { [&seats.hare, &seats.hounds] };
        let role = if Arc::ptr_eq(one, &seats.hounds) { "hounds" } else { "hare" };
        let early = self.act(other, Method::PUT, game, "draw-offer?accept_only=true").await?;
        self.site.refused(&early, 409, "no-draw-offer")?;
        let offered = self.act(one, Method::PUT, game, "draw-offer").await?.body(200)?;
        ensure(offered["draw_offer"] == role, "the offer does not stand", &offered)?;
        match self.rng.random_range(0..4) {
            0 => {
                let drawn = self.act(other, Method::PUT, game, "draw-offer").await?.body(200)?;
                ensure(drawn["reason"] == "agreement" && drawn["result"] == "draw", "no draw", &drawn)?;
                Ok(drawn)
            }
            1 => self.act(other, Method::DELETE, game, "draw-offer").await?.body(200),
            2 => self.act(one, Method::DELETE, game, "draw-offer").await?.body(200),
            _ => Ok(offered),
        }
    }

    /// Asks for something that must be refused.
    async fn misbehave(&mut self, game: &Value, seats: &Seats) -> Outcome<()> {
        let [mover, waiter] = seats.by_turn(game);
        let (next, mv, site) = (ply(game) + 1, self.any_move(game)?, self.site);
        match self.rng.random_range(0..7) {
            0 => {
                let answer = self.play(mover, game, next, "a1-z9").await?;
                site.refused(&answer, 422, "illegal-move")?;
                ensure(answer.body["legal_moves"] == game["legal_moves"], "other legal moves", &answer.body)
            }
            1 => site.refused(&self.play(waiter, game, next, &mv).await?, 403, "not-your-turn"),
            2 => {
                let answer = self.play(mover, game, next + 1, &mv).await?;
                site.refused(&answer, 409, "ply-conflict")?;
                ensure(answer.body["ply"] == game["ply"], "another ply", &answer.body)
            }
            3 => {
                let stranger = self.stranger;
                site.refused(&self.play(stranger, game, next, &mv).await?, 403, "not-a-player")
            }
            4 => {
                let path = format!("/v1/games/{}/moves/{next}", text(game, "id")?);
                let to = site.any(&mut self.rng);
                let body = json!({"move": mv});
                let answer = site.send(to, None, Method::PUT, &path, Some(&body)).await?;
                site.refused(&answer, 401, "token-missing")
            }
            5 => site.refused(&self.act(waiter, Method::PUT, game, "rematch").await?, 409, "game-not-over"),
            _ if next > 2 => {
                site.refused(&self.act(waiter, Method::POST, game, "abort").await?, 409, "too-late-to-abort")
            }
            _ => Ok(()),
        }
    }

    fn any_move(&mut self, game: &Value) -> Outcome<String> {
        let moves = game["legal_moves"].as_array().map(Vec::as_slice).unwrap_or_default();
        let mv = moves.choose(&mut self.rng).and_then(Value::as_str);
        mv.map(str::to_owned).ok_or_else(|| format!("no legal moves: {game}").into())
    }

    fn count_move(&self) {
        self.moves.fetch_add(1, Ordering::Relaxed);
    }

    /// Plays a random move: once, again, twice at the same time, or against another one at the same time.
    async fn move_on(&mut self, game: &Value, seats: &Seats) -> Outcome<Value> {
        let [mover, _] = seats.by_turn(game);
        let (next, mv) = (ply(game) + 1, self.any_move(game)?);
        let to = self.site.any(&mut self.rng);
        let manner = self.rng.random_range(0..100);
        let (played, mv) = if manner < 6 {
            let rival = if manner < 3 { mv.clone() } else { self.any_move(game)? };
            let (one, other) = tokio::join!(
                self.play_at(to, mover, game, next, &mv),
                self.play_at(self.site.other(to), mover, game, next, &rival),
            );
            let (won, lost, mv, loser) = match (one?, other?) {
                (one, other) if one.status == 201 => (one, other, mv, rival),
                (one, other) => (other, one, rival, mv),
            };
            if mv == loser {
                ensure(
                    lost.body(200)?["moves"] == won.body["moves"],
                    "another answer to a repeat",
                    &won.body,
                )?;
            } else {
                self.site.refused(&lost, 409, "ply-conflict")?;
            }
            (won, mv)
        } else {
            (self.play_at(to, mover, game, next, &mv).await?, mv)
        };
        let after = played.body(201)?;
        self.count_move();
        ensure(ply(&after) == next, "another ply", &after)?;
        ensure(
            after["moves"].as_array().and_then(|moves| moves.last()) == Some(&json!(mv)),
            "another move",
            &after,
        )?;
        ensure(after["draw_offer"].is_null(), "a move clears an offer", &after)?;
        if manner >= 95 {
            let again = self.play(mover, game, next, &mv).await?.body(200)?;
            ensure(same(&again, &after), "a repeat shows another game", &again)?;
            let late = self.play(mover, game, next, "a1-z9").await?;
            self.site.refused(&late, 409, "ply-conflict")?;
        }
        if manner == 90 {
            let read = self.read(text(game, "id")?).await?;
            ensure(same(&read, &after), "the game reads otherwise than it was answered", &read)?;
        }
        Ok(after)
    }

    /// Looks at a game that has ended, from both processes.
    async fn look_at_the_end(&mut self, game: &Value, seats: &Seats) -> Outcome<()> {
        let id = text(game, "id")?;
        let to = self.site.any(&mut self.rng);
        let read = [self.read_at(to, id).await?, self.read_at(self.site.other(to), id).await?];
        ensure(read.iter().all(|read| same(read, game)), "it reads otherwise than it was answered", game)?;
        ensure(game["legal_moves"] == json!([]) && game["turn"].is_null(), "moves after the end", game)?;
        ensure((game["status"] == "aborted") == game["result"].is_null(), "a result of nothing", game)?;
        let counts = game["rated"] == true && game["status"] == "finished" && ply(game) >= 2;
        ensure(
            counts != game["rating_changes"].is_null(),
            "rated when it should not, or not when it should",
            game,
        )?;
        for who in seats.both() {
            let late = self.play(who, game, ply(game) + 1, "b1-b2").await?;
            self.site.refused(&late, 409, "game-over")?;
        }
        Ok(())
    }

    /// Both want a rematch, one after the other or at once. Answers its id, if they are free to play it.
    async fn rematch(&mut self, game: &Value, seats: &Seats) -> Outcome<Option<String>> {
        let to = self.site.any(&mut self.rng);
        let (hounds, hare) = tokio::join!(
            self.act_at(to, &seats.hounds, Method::PUT, game, "rematch"),
            self.act_at(self.site.other(to), &seats.hare, Method::PUT, game, "rematch"),
        );
        for answer in [&hounds?, &hare?] {
            if answer.status != 200 {
                self.site.refused(answer, 409, "already-playing")?;
            }
        }
        let game = self.read(text(game, "id")?).await?;
        Ok(game["rematch"]["game"].as_str().map(str::to_owned))
    }
}

/// Whether two snapshots show the same, the time of the answer and what is left since then aside.
fn same(one: &Value, other: &Value) -> bool {
    let timeless = |game: &Value| {
        let mut game = game.clone();
        game["server_now"] = Value::Null;
        game["clock"]["remaining_ms"] = Value::Null;
        game
    };
    timeless(one) == timeless(other)
}
