//! Pairs of clients that play one game after the other, whatever happens to the servers meanwhile.

use std::{
    collections::HashSet,
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
};

use rand::{RngExt, rngs::StdRng, seq::IndexedRandom};
use serde_json::{Value, json};

use super::{
    journal::{Act, Addresses, Answer, Client, Journal, Persistence},
    process::Outcome,
};

const POOLS: [(&str, Option<i64>); 4] = [
    ("hare-and-hounds", Some(30_000)),
    ("hare-and-hounds", None),
    ("catch-the-hare", Some(30_000)),
    ("catch-the-hare", None),
];

/// Where all meet.
pub struct Club {
    /// What they write into.
    pub journal: Journal,
    /// Whom they ask.
    pub addresses: Addresses,
    /// Who is in no game.
    pub free: Mutex<Vec<Arc<Client>>>,
    /// Whether no more games are to be played.
    pub closing: AtomicBool,
    /// Whether nobody plays any more.
    pub closed: AtomicBool,
    /// How many games were begun.
    pub games: AtomicU64,
    /// Those that nobody watches yet.
    pub unwatched: Mutex<Vec<String>>,
    /// Those in which nobody will do anything more.
    pub settled: Mutex<HashSet<String>>,
}

/// Takes a lock that no panic matters to.
pub fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Club {
    /// Two at a time play until the club closes.
    pub async fn play(self: Arc<Club>, mut rng: StdRng) -> Outcome<()> {
        while !self.closing.load(Ordering::Relaxed) {
            let pair = {
                let mut free = locked(&self.free);
                let mut take = || -> Option<Arc<Client>> {
                    if free.is_empty() {
                        return None;
                    }
                    let chosen = rng.random_range(0..free.len());
                    Some(free.swap_remove(chosen))
                };
                [take(), take()]
            };
            let [Some(one), Some(other)] = pair else {
                return Err("somebody has nobody to play with".into());
            };
            let mut table =
                Table { club: &self, rng: Client::fork(&mut rng), doubtful: false, offerers: HashSet::new() };
            let mut next = table.agree(&one, &other).await?;
            while let Some(game) = next {
                next = table.play_out(&game, [&one, &other]).await?;
            }
            locked(&self.free).extend([one, other]);
        }
        Ok(())
    }
}

/// A pair and its dice.
struct Table<'a> {
    club: &'a Club,
    rng: StdRng,
    /// Whether something was asked for in this game whose outcome nobody has waited for.
    doubtful: bool,
    /// Who has asked for a draw in this game.
    offerers: HashSet<String>,
}

impl Table<'_> {
    fn chance(&mut self, in_thousand: u32) -> bool {
        self.rng.random_range(0..1000) < in_thousand
    }

    /// Asks until there is an answer.
    async fn ask(&mut self, who: &Client, act: Act) -> Outcome<Answer> {
        let Club { journal, addresses, .. } = self.club;
        let answer = who.ask(journal, addresses, &mut self.rng, act, Persistence::Repeat).await?;
        answer.ok_or_else(|| "it was given up too early".into())
    }

    /// Asks for two things at once.
    async fn race(&mut self, one: (&Client, Act), other: (&Client, Act)) -> Outcome<[Answer; 2]> {
        let Club { journal, addresses, .. } = self.club;
        let (mut rng, mut fork) = (Client::fork(&mut self.rng), Client::fork(&mut self.rng));
        let (one, other) = tokio::join!(
            one.0.ask(journal, addresses, &mut rng, one.1, Persistence::Repeat),
            other.0.ask(journal, addresses, &mut fork, other.1, Persistence::Repeat),
        );
        match (one?, other?) {
            (Some(one), Some(other)) => Ok([one, other]),
            _ => Err("it was given up too early".into()),
        }
    }

    /// What must be answered with success.
    async fn insist(&mut self, who: &Client, act: Act) -> Outcome<Value> {
        let answer = self.ask(who, act.clone()).await?;
        if !answer.is_success() {
            return Err(format!("{} asked for {act:?}: {} {}", who.name, answer.status, answer.body).into());
        }
        Ok(answer.body)
    }

    /// A challenge, accepted: the game's id.
    async fn agree(&mut self, one: &Client, other: &Client) -> Outcome<Option<String>> {
        let mut wish = self.wish();
        wish["opponent"] = json!(other.name);
        let key = format!("{:032x}", self.rng.random::<u128>());
        let challenge = self.insist(one, Act::Challenge { key, wish }).await?;
        let challenge = challenge["id"].as_str().ok_or("a challenge without id")?.to_owned();
        if self.chance(100) {
            // Twice at once is one game.
            let accept = || (other, Act::Accept { challenge: challenge.clone() });
            let [first, second] = self.race(accept(), accept()).await?;
            if !first.is_success() || !second.is_success() || first.body["id"] != second.body["id"] {
                self.club
                    .journal
                    .fault(format!("accepting {challenge} twice: {} {}", first.body, second.body));
            }
            return Ok(first.body["id"].as_str().map(str::to_owned));
        }
        let game = self.insist(other, Act::Accept { challenge }).await?;
        Ok(game["id"].as_str().map(str::to_owned))
    }

    fn wish(&mut self) -> Value {
        if self.chance(500) {
            let (variant, turn_ms) = POOLS[self.rng.random_range(0..POOLS.len())];
            let clock = match turn_ms {
                Some(turn_ms) => json!({"kind": "per_turn", "turn_ms": turn_ms}),
                None => json!({"kind": "correspondence", "days": 1}),
            };
            return json!({"variant": variant, "clock": clock, "rated": true});
        }
        let (variant, rules) = if self.chance(500) {
            let ways = ["thirty-moves", "ten-vertical"];
            ("hare-and-hounds", json!({"getting_away": ways.choose(&mut self.rng), "hare_start": "random"}))
        } else {
            let boards = ["alquerque", "long-diagonals", "no-diagonals"];
            ("catch-the-hare", json!({"board": boards.choose(&mut self.rng), "hunters": 12}))
        };
        let clock = match self.rng.random_range(0..3) {
            0 => json!({"kind": "none"}),
            1 => json!({"kind": "per_turn", "turn_ms": 60_000}),
            _ => json!({"kind": "fischer", "initial_ms": 600_000, "increment_ms": 2000}),
        };
        json!({"variant": variant, "rules": rules, "clock": clock, "swap_roles": self.chance(500)})
    }

    /// Plays a game to its end, or until the club closes; answers the rematch.
    async fn play_out(&mut self, id: &str, players: [&Arc<Client>; 2]) -> Outcome<Option<String>> {
        self.doubtful = false;
        self.offerers.clear();
        self.club.games.fetch_add(1, Ordering::Relaxed);
        locked(&self.club.unwatched).push(id.to_owned());
        let mut game = self.insist(players[0], Act::Read(id.to_owned())).await?;
        let hounds = game["players"]["hounds"]["username"].as_str().unwrap_or_default();
        let [one, other] = players.map(Arc::as_ref);
        let seats = if one.name == hounds { [one, other] } else { [other, one] };
        while game["status"] == "ongoing" && !self.club.closing.load(Ordering::Relaxed) {
            game = self.go_on(id, &game, seats).await?;
        }
        let mut rematch = None;
        if game["status"] != "ongoing" && self.chance(350) && !self.club.closing.load(Ordering::Relaxed) {
            rematch = self.want_a_rematch(id, seats).await?;
        }
        locked(&self.club.settled).insert(id.to_owned());
        Ok(rematch)
    }

    /// One thing that a player does.
    async fn go_on(&mut self, id: &str, game: &Value, seats: [&Client; 2]) -> Outcome<Value> {
        let ply = game["ply"].as_u64().unwrap_or(0);
        let [mover, waiter] = if game["turn"] == "hounds" { seats } else { [seats[1], seats[0]] };
        let moves = game["legal_moves"].as_array().map(Vec::as_slice).unwrap_or_default();
        let mut choose = || {
            let text = moves.choose(&mut self.rng).and_then(Value::as_str).unwrap_or_default();
            Act::Move { game: id.to_owned(), ply: ply + 1, text: text.to_owned() }
        };
        let (next, rival) = (choose(), choose());
        let id = id.to_owned();
        let reader = mover;
        match self.rng.random_range(0..1000) {
            0..=9 if ply < 2 => {
                let answer = self.ask(waiter, Act::Abort(id.clone())).await?;
                self.after(reader, &id, answer, false).await
            }
            10..=14 => {
                let answer = self.ask(mover, Act::Resign(id.clone())).await?;
                self.after(reader, &id, answer, false).await
            }
            15..=19 => {
                let answers = self.race((waiter, Act::Resign(id.clone())), (mover, next)).await?;
                self.after_race(reader, &id, answers).await
            }
            20..=59 => self.talk_of_a_draw(&id, [mover, waiter]).await,
            60..=99 => {
                let answers = self.race((mover, next), (mover, rival)).await?;
                self.after_race(reader, &id, answers).await
            }
            100..=139 => {
                let answers = self.race((mover, next.clone()), (mover, next)).await?;
                self.after_race(reader, &id, answers).await
            }
            140..=179 => {
                let answer = self.ask(mover, next.clone()).await?;
                self.after(reader, &id, answer, false).await?;
                let again = self.ask(mover, next).await?;
                self.after(reader, &id, again, false).await
            }
            180..=279 => {
                let Club { journal, addresses, .. } = self.club;
                match mover.ask(journal, addresses, &mut self.rng, next, Persistence::Once).await? {
                    Some(answer) => self.after(reader, &id, answer, false).await,
                    None => {
                        self.doubtful = true;
                        self.insist(reader, Act::Read(id)).await
                    }
                }
            }
            280..=299 => self.insist(waiter, Act::Read(id)).await,
            _ => {
                let answer = self.ask(mover, next).await?;
                self.after(reader, &id, answer, false).await
            }
        }
    }

    async fn after_race(&mut self, reader: &Client, id: &str, answers: [Answer; 2]) -> Outcome<Value> {
        if !answers.iter().any(Answer::is_success) && !self.doubtful {
            let [one, other] = &answers;
            self.club.journal.fault(format!("of two nobody was first: {} and {}", one.body, other.body));
        }
        for answer in answers {
            self.after(reader, id, answer, true).await?;
        }
        self.insist(reader, Act::Read(id.to_owned())).await
    }

    /// The game after an answer. A refusal needs a reason: a rival, or something of which nobody knows whether it was
    /// done, or the clock.
    async fn after(&mut self, reader: &Client, id: &str, answer: Answer, raced: bool) -> Outcome<Value> {
        if answer.is_success() {
            return Ok(answer.body);
        }
        let game = self.insist(reader, Act::Read(id.to_owned())).await?;
        let by_clock =
            game["reason"] == "timeout" || (game["status"] == "aborted" && game["clock"]["kind"] != "none");
        if answer.status != 409 || !(raced || self.doubtful || by_clock) {
            self.club
                .journal
                .fault(format!("without a reason, {} in game {id}: {}", answer.status, answer.body));
        }
        Ok(game)
    }

    /// One offers a draw; the other one accepts, declines or says nothing, or the first one takes it back.
    async fn talk_of_a_draw(&mut self, id: &str, sides: [&Client; 2]) -> Outcome<Value> {
        let [one, other] = if self.chance(500) { sides } else { [sides[1], sides[0]] };
        let answer = self.ask(one, Act::OfferDraw(id.to_owned())).await?;
        // Offers are spaced out: a later one may come too soon.
        let too_soon =
            answer.body["type"] == "/problems/draw-offer-too-soon" && self.offerers.contains(&one.name);
        let offered = self.after(one, id, answer, too_soon).await?;
        self.offerers.insert(one.name.clone());
        if offered["status"] != "ongoing" || offered["draw_offer"].is_null() {
            return Ok(offered);
        }
        let (who, act) = match self.rng.random_range(0..8) {
            0 => {
                self.offerers.insert(other.name.clone());
                (other, Act::OfferDraw(id.to_owned()))
            }
            1 | 2 => (other, Act::ClearDraw(id.to_owned())),
            3 | 4 => (one, Act::ClearDraw(id.to_owned())),
            5 => {
                self.offerers.insert(other.name.clone());
                let accepts = (other, Act::OfferDraw(id.to_owned()));
                let answers = self.race(accepts, (one, Act::ClearDraw(id.to_owned()))).await?;
                return self.after_race(one, id, answers).await;
            }
            _ => return Ok(offered),
        };
        let answer = self.ask(who, act).await?;
        self.after(who, id, answer, false).await
    }

    /// Both want a rematch, at once or one after the other, or one thinks better of it. Answers its id.
    async fn want_a_rematch(&mut self, id: &str, seats: [&Client; 2]) -> Outcome<Option<String>> {
        let want = || Act::WantRematch(id.to_owned());
        if self.chance(300) {
            self.insist(seats[0], want()).await?;
            self.insist(seats[0], Act::WithdrawRematch(id.to_owned())).await?;
        }
        if self.chance(500) {
            let answers = self.race((seats[0], want()), (seats[1], want())).await?;
            if let Some(refused) = answers.iter().find(|answer| !answer.is_success()) {
                self.club.journal.fault(format!("no rematch of {id}: {}", refused.body));
            }
        } else {
            self.insist(seats[1], want()).await?;
            self.insist(seats[0], want()).await?;
        }
        let game = self.insist(seats[0], Act::Read(id.to_owned())).await?;
        let rematch = game["rematch"]["game"].as_str().map(str::to_owned);
        if rematch.is_none() {
            self.club.journal.fault(format!("both want a rematch of {id} and there is none"));
        }
        Ok(rematch)
    }
}
