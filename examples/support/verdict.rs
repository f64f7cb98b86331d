//! What the clients and the streams were told, held against the log in the database.

use std::collections::{BTreeMap, HashMap, HashSet};

use leveret::{
    games::house_rules,
    rules::{Play, Position},
};
use serde_json::{Value, json};
use sqlx::{Connection, FromRow, PgConnection};

use super::{
    journal::{Act, Journal, Record, state_of},
    process::Outcome,
    watcher::Seen,
};

#[derive(FromRow)]
struct GameRow {
    id: String,
    variant: String,
    rules: Value,
    start: String,
    hounds: String,
    hare: String,
    rematch_of: Option<String>,
    clocked: bool,
}

#[derive(FromRow)]
struct EventRow {
    game: String,
    number: i32,
    kind: String,
    role: Option<String>,
    ply: Option<i16>,
    text: Option<String>,
    data: Option<Value>,
}

#[derive(FromRow)]
struct ChallengeRow {
    id: String,
    challenger: String,
    key: Option<String>,
    game: Option<String>,
}

#[derive(FromRow)]
struct ToldRow {
    player: String,
    number: i32,
    kind: String,
    data: Value,
}

/// The database, as it is in the end.
pub struct Database {
    games: HashMap<String, GameRow>,
    events: HashMap<String, Vec<EventRow>>,
    challenges: Vec<ChallengeRow>,
    told: HashMap<String, BTreeMap<i32, ToldRow>>,
}

/// What was compared.
#[derive(Default)]
pub struct Findings {
    /// Events of games.
    pub events: usize,
    /// Answers that a state of the log was looked for.
    pub answers: usize,
    /// Requests whose outcome stayed unknown …
    pub given_up: usize,
    /// … and those of them that the log has.
    pub given_up_and_done: usize,
}

impl Database {
    /// Reads it.
    pub async fn read(url: &str) -> Outcome<Database> {
        let mut db = PgConnection::connect(url).await?;
        let games: Vec<GameRow> = sqlx::query_as(
            "select game_id::text as id, variant, rules, start, hounds.username as hounds,
                hare.username as hare, rematch_of::text, clock ->> 'kind' <> 'none' as clocked
            from game
            join player hounds on hounds.player_id = hounds_id
            join player hare on hare.player_id = hare_id",
        )
        .fetch_all(&mut db)
        .await?;
        let rows: Vec<EventRow> = sqlx::query_as(
            "select game_id::text as game, number, kind::text, role::text, ply, move as text, data
            from game_event
            order by game_id, number",
        )
        .fetch_all(&mut db)
        .await?;
        let challenges = sqlx::query_as(
            "select challenge_id::text as id, username as challenger, idempotency_key as key,
                game_id::text as game
            from challenge
            join player on player_id = challenger_id",
        )
        .fetch_all(&mut db)
        .await?;
        let told_rows: Vec<ToldRow> = sqlx::query_as(
            "select username as player, number, kind::text, data
            from player_event
            join player using (player_id)",
        )
        .fetch_all(&mut db)
        .await?;
        let (mut events, mut told) = (HashMap::<_, Vec<_>>::new(), HashMap::<_, BTreeMap<_, _>>::new());
        for row in rows {
            events.entry(row.game.clone()).or_default().push(row);
        }
        for row in told_rows {
            told.entry(row.player.clone()).or_default().insert(row.number, row);
        }
        let games = games.into_iter().map(|game| (game.id.clone(), game)).collect();
        Ok(Database { games, events, challenges, told })
    }

    /// Holds the journal against it.
    pub fn compare(&self, journal: &Journal) -> Outcome<Findings> {
        let records = journal.records();
        let mut findings = Findings::default();
        let mut by_game: HashMap<&str, Vec<&Record>> = HashMap::new();
        for record in records.iter() {
            if let Some(game) = record.act.game() {
                by_game.entry(game).or_default().push(record);
            }
        }
        for (id, records) in &by_game {
            if !self.games.contains_key(*id) {
                journal.fault(format!("game {id} was played and is not there: {}", records[0]));
            }
        }
        for (id, game) in &self.games {
            let asked = by_game.get(id.as_str()).map(Vec::as_slice).unwrap_or_default();
            let log = self.events.get(id).map(Vec::as_slice).unwrap_or_default();
            findings.events += log.len();
            self.every_event_was_asked_for(journal, game, log, asked, &records);
            findings.answers += every_answer_is_in_the_log(journal, game, log, asked);
            for record in asked.iter().filter(|record| record.answered.is_none()) {
                findings.given_up += 1;
                findings.given_up_and_done += usize::from(has(log, game, record));
            }
            if let Err(err) = the_rules_agree(game, log) {
                journal.fault(format!("game {id}: {err}"));
            }
        }
        self.challenges_are_as_told(journal, &records);
        Ok(findings)
    }

    /// Nothing stands in a log that its player has not asked for.
    fn every_event_was_asked_for(
        &self,
        journal: &Journal,
        game: &GameRow,
        log: &[EventRow],
        asked: &[&Record],
        all: &[Record],
    ) {
        let mut times: HashMap<(&str, &str), usize> = HashMap::new();
        for event in log {
            let who = player(game, event.role.as_deref());
            let by = |fits: &dyn Fn(&Act) -> bool| {
                asked.iter().filter(|record| record.who == who && fits(&record.act)).count()
            };
            let count = times.entry((&event.kind, who)).or_default();
            *count += 1;
            let count = *count;
            let reason = event.data.as_ref().and_then(|data| data["reason"].as_str()).unwrap_or_default();
            let fine = match event.kind.as_str() {
                "started" => self.was_begun(game, all),
                "move" => by(&|act| is_move(act, event)) > 0,
                "draw_offered" => by(&|act| matches!(act, Act::OfferDraw(_))) >= count,
                "draw_withdrawn" | "draw_declined" => by(&|act| matches!(act, Act::ClearDraw(_))) >= count,
                "rematch_offered" | "rematch_accepted" => {
                    by(&|act| matches!(act, Act::WantRematch(_))) >= count
                }
                // With a clock, the wish of somebody who has left is none any more.
                "rematch_withdrawn" => {
                    by(&|act| matches!(act, Act::WithdrawRematch(_))) >= count || game.clocked
                }
                // Nobody's doing.
                "presence" => true,
                // The clock's doing; the audit reckons it up.
                "time_given" => game.clocked,
                "ended" => match reason {
                    "resignation" => by(&|act| matches!(act, Act::Resign(_))) > 0,
                    "agreement" => by(&|act| matches!(act, Act::OfferDraw(_))) > 0,
                    "aborted" => by(&|act| matches!(act, Act::Abort(_))) > 0 || game.clocked,
                    "timeout" => game.clocked,
                    "abandonment" => false,
                    // By the rules: see below.
                    _ => true,
                },
                _ => false,
            };
            if !fine {
                let (id, number, kind) = (&game.id, event.number, &event.kind);
                journal
                    .fault(format!("nobody asked for event {number} of game {id}: {kind} {reason} by {who}"));
            }
        }
    }

    /// Whether somebody accepted the challenge that the game comes from, or both wanted this rematch.
    fn was_begun(&self, game: &GameRow, all: &[Record]) -> bool {
        let mut wanted: HashSet<&str> = HashSet::new();
        all.iter().any(|record| match (&game.rematch_of, &record.act) {
            (Some(before), Act::WantRematch(of)) if before == of => {
                wanted.insert(&record.who);
                wanted.len() == 2
            }
            (None, Act::Accept { challenge }) => {
                let made = |row: &ChallengeRow| row.id == *challenge && row.game.as_ref() == Some(&game.id);
                self.challenges.iter().any(made)
            }
            _ => false,
        })
    }

    fn challenges_are_as_told(&self, journal: &Journal, records: &[Record]) {
        let by_key: HashMap<_, _> =
            self.challenges.iter().filter_map(|row| Some((row.key.as_deref()?, row))).collect();
        let by_id: HashMap<_, _> = self.challenges.iter().map(|row| (row.id.as_str(), row)).collect();
        let mut asked = HashSet::new();
        for record in records {
            let told = match &record.answered {
                Some((_, 200..300, told)) => Some(told.id.as_str()),
                _ => None,
            };
            let fine = match &record.act {
                Act::Challenge { key, .. } => {
                    asked.insert(key.as_str());
                    let row = by_key.get(key.as_str());
                    told.is_none_or(|id| row.is_some_and(|row| row.id == id && row.challenger == record.who))
                }
                Act::Accept { challenge } => told.is_none_or(|id| {
                    let row = by_id.get(challenge.as_str());
                    row.is_some_and(|row| row.game.as_deref() == Some(id)) && self.games.contains_key(id)
                }),
                _ => true,
            };
            if !fine {
                journal.fault(format!("not so in the database: {record}"));
            }
        }
        for row in &self.challenges {
            if !row.key.as_deref().is_some_and(|key| asked.contains(key)) {
                journal.fault(format!("nobody made challenge {}", row.id));
            }
        }
    }

    /// Holds what a stream has told against it.
    pub fn compare_stream(&self, journal: &Journal, of: &str, seen: &Seen) {
        for (number, event) in &seen.events {
            let stands = match self.events.get(of) {
                Some(log) => log.iter().find(|row| row.number == *number).is_some_and(|row| {
                    event["kind"] == row.kind
                        && event["role"] == json!(row.role)
                        && event["ply"] == json!(row.ply)
                        && event["move"] == json!(row.text)
                }),
                None => self.told.get(of).and_then(|log| log.get(number)).is_some_and(|row| {
                    let members = row.data.as_object();
                    event["kind"] == row.kind
                        && members.is_some_and(|data| data.iter().all(|(name, value)| event[name] == *value))
                }),
            };
            if !stands {
                journal.fault(format!("a stream of {of} has told what is not in the log: {event}"));
            }
        }
    }
}

fn player<'a>(game: &'a GameRow, role: Option<&str>) -> &'a str {
    match role {
        Some("hounds") => &game.hounds,
        Some("hare") => &game.hare,
        _ => "",
    }
}

fn is_move(act: &Act, event: &EventRow) -> bool {
    matches!(act, Act::Move { ply, text, .. }
        if event.ply.is_some_and(|at| i128::from(at) == i128::from(*ply)) && event.text.as_ref() == Some(text))
}

/// Whether what was asked for stands in the log.
fn has(log: &[EventRow], game: &GameRow, record: &Record) -> bool {
    log.iter().any(|event| {
        let reason = event.data.as_ref().map_or(&Value::Null, |data| &data["reason"]);
        let kind = event.kind.as_str();
        let is_theirs = player(game, event.role.as_deref()) == record.who;
        match &record.act {
            act @ Act::Move { .. } => kind == "move" && is_theirs && is_move(act, event),
            Act::OfferDraw(_) => {
                (kind == "draw_offered" && is_theirs) || (kind == "ended" && reason == "agreement")
            }
            Act::Resign(_) => kind == "ended" && reason == "resignation" && is_theirs,
            Act::Abort(_) => kind == "ended" && reason == "aborted",
            Act::WantRematch(_) => matches!(kind, "rematch_offered" | "rematch_accepted") && is_theirs,
            // To have nothing to take back is no event.
            _ => true,
        }
    })
}

/// Every answer shows the game as it was after some entry of its log, no earlier one than any answer had shown before
/// it was asked for; and what was acknowledged is there, a move once. Answers how many there were.
fn every_answer_is_in_the_log(
    journal: &Journal,
    game: &GameRow,
    log: &[EventRow],
    asked: &[&Record],
) -> usize {
    let states = states(log);
    let mut answers = Vec::new();
    for record in asked {
        let Some((at, 200..300, told)) = &record.answered else { continue };
        if !has(log, game, record) {
            journal.fault(format!("lost from game {}: {record}", game.id));
        }
        if let act @ Act::Move { .. } = &record.act {
            let times = log.iter().filter(|event| is_move(act, event)).count();
            if times != 1 {
                journal.fault(format!("{times} times in game {}: {record}", game.id));
            }
        }
        let first = states.iter().position(|state| *state == told.state);
        let last = states.iter().rposition(|state| *state == told.state);
        match (first, last) {
            (Some(first), Some(last)) => answers.push((record, *at, first, last)),
            _ => journal.fault(format!("the log never was as {record}: {}", told.state)),
        }
    }
    answers.sort_by_key(|(_, at, ..)| *at);
    for (record, _, _, last) in &answers {
        let earlier = answers.iter().take_while(|(_, at, ..)| *at < record.sent);
        let least = earlier.map(|(_, _, first, _)| *first).max().unwrap_or(0);
        if *last < least {
            journal.fault(format!("an older state than was told before: {record}"));
        }
    }
    answers.len()
}

/// What a snapshot shows after each entry of a log.
fn states(log: &[EventRow]) -> Vec<String> {
    let mut game = json!({"moves": [], "status": "ongoing", "rematch": {"offered_by": []}});
    let mut wanted = [false; 2];
    log.iter()
        .map(|event| {
            let role = json!(event.role);
            let side = usize::from(role == "hare");
            let data = event.data.clone().unwrap_or_default();
            match event.kind.as_str() {
                "move" => {
                    let text = json!(event.text);
                    game["moves"].as_array_mut().into_iter().for_each(|moves| moves.push(text.clone()));
                    game["draw_offer"] = Value::Null;
                }
                "draw_offered" => game["draw_offer"] = role,
                "draw_withdrawn" | "draw_declined" => game["draw_offer"] = Value::Null,
                "rematch_offered" => wanted[side] = true,
                "rematch_withdrawn" => wanted[side] = false,
                "rematch_accepted" => {
                    wanted[side] = true;
                    game["rematch"]["game"] = data["game"].clone();
                }
                "ended" => {
                    game["draw_offer"] = Value::Null;
                    let status = if data["reason"] == "aborted" { "aborted" } else { "finished" };
                    game["status"] = json!(status);
                    game["result"] = data["result"].clone();
                    game["reason"] = data["reason"].clone();
                }
                _ => {}
            }
            let offered: Vec<_> = ["hounds", "hare"]
                .into_iter()
                .zip(wanted)
                .filter_map(|(role, wants)| wants.then_some(role))
                .collect();
            game["rematch"]["offered_by"] = json!(offered);
            state_of(&game)
        })
        .collect()
}

/// The moves of a log are legal, and end the game exactly if the log says so.
fn the_rules_agree(game: &GameRow, log: &[EventRow]) -> Outcome<()> {
    let variant = game.variant.parse().map_err(|_| "an unknown variant")?;
    let rules = house_rules::from_json(variant, game.rules.as_object().ok_or("no rules")?)?;
    let start = Position::parse(rules, &game.start)?;
    let moves = log.iter().filter_map(|event| event.text.as_deref());
    let play = Play::replay(rules, start, moves)?;
    let ended = log.iter().find(|event| event.kind == "ended" && event.role.is_none());
    let reason = ended.and_then(|event| event.data.as_ref()?["reason"].as_str());
    let by_rules = play.outcome().map(|outcome| outcome.reason.to_string());
    if by_rules.as_deref() != reason {
        return Err(format!("by the rules {by_rules:?}, in the log {reason:?}").into());
    }
    Ok(())
}
