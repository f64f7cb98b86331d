//! A pool simulated over days, closed loop, against the real pairing function.
//!
//! A fixed number of players, rated N(1500, 300), each of whom queues, plays, rests and queues again. Nobody
//! gives up waiting. The pool is paired every 2 s, and at once when a ticket arrives where somebody waits.

use crate::dice::Dice;
use leveret::{
    lobby::pairing::{Candidate, Pairing, pair, role_due},
    rules::Role,
};
use uuid::Uuid;

struct Player {
    rating: i32,
    debt: i32,
    last_role: Option<Role>,
    /// Games in a row in `last_role`.
    run: u32,
    recent_opponents: [Option<Uuid>; 3],
    /// When the ticket was taken, while waiting; when the next one will be, otherwise.
    queues_at: i32,
}

/// What was seen after the first tenth of the time.
#[derive(Default)]
struct Seen {
    waits: Vec<i32>,
    gaps: Vec<i32>,
    /// Games of one player: all, in the role due, running a third time or more in one role, with the last
    /// opponent.
    games: f64,
    role_due: f64,
    third_in_a_row: f64,
    same_opponent: f64,
    largest_debt: i32,
}

impl Seen {
    fn wait(&mut self, percent: usize) -> i32 {
        self.waits.sort_unstable();
        self.waits[(self.waits.len() - 1) * percent / 100]
    }

    fn share(&self, of: f64) -> f64 {
        of / self.games
    }

    /// Everything in one line, for the failure message.
    fn report(&mut self) -> String {
        let waits = [50, 95, 99, 100].map(|percent| self.wait(percent));
        let gap = f64::from(self.gaps.iter().sum::<i32>()) / self.gaps.len() as f64;
        let shares = [self.role_due, self.third_in_a_row, self.same_opponent].map(|of| self.share(of));
        format!(
            "{} games; wait {waits:?} s (median, p95, p99, longest), mean gap {gap:.0}, role due, \
             third in a row and same opponent {shares:.3?}, largest debt {}",
            self.gaps.len(),
            self.largest_debt
        )
    }
}

/// Seconds of a game and the rest after it: 1 to 9 minutes, and half a minute on average.
fn game_and_rest(dice: &mut Dice) -> (i32, [i32; 2]) {
    let game = 60 + dice.below(480) as i32;
    let mut rest = || (-30.0 * (1.0 - dice.unit()).ln()) as i32;
    (game, [rest(), rest()])
}

fn simulate(online: usize, seconds: i32, seed: u64, seen: &mut Seen) {
    let mut dice = Dice(seed);
    let mut players: Vec<Player> = (0..online)
        .map(|_| Player {
            rating: dice.normal(1500.0, 300.0).round() as i32,
            debt: 0,
            last_role: None,
            run: 0,
            recent_opponents: [None; 3],
            queues_at: dice.below(300) as i32,
        })
        .collect();
    for now in 0..seconds {
        let waiting: Vec<usize> = (0..online).filter(|&player| players[player].queues_at <= now).collect();
        let arrived = waiting.iter().any(|&player| players[player].queues_at == now);
        if waiting.len() < 2 || (now % 2 == 1 && !arrived) {
            continue;
        }
        let pool: Vec<Candidate> = waiting
            .iter()
            .map(|&number| {
                let player = &players[number];
                // Tickets are taken in order of time, as ids of version 7 are.
                let ticket = ((player.queues_at as u128) << 32) | number as u128;
                Candidate {
                    ticket: Uuid::from_u128(ticket),
                    player: Uuid::from_u128(number as u128),
                    rating: player.rating,
                    rd: 60,
                    waited_s: now - player.queues_at,
                    debt: player.debt,
                    last_role: player.last_role,
                    recent_opponents: player.recent_opponents,
                    blocked: Vec::new(),
                }
            })
            .collect();
        for Pairing { seats, .. } in pair(&pool, dice.bits()) {
            let [hounds, hare] =
                [seats.hounds, seats.hare].map(|ticket| (ticket.as_u128() & 0xffff_ffff) as usize);
            let counts = now >= seconds / 10;
            if counts {
                seen.gaps.push((players[hounds].rating - players[hare].rating).abs());
            }
            let (game, rests) = game_and_rest(&mut dice);
            for (one, other, role, rest) in
                [(hounds, hare, Role::Hounds, rests[0]), (hare, hounds, Role::Hare, rests[1])]
            {
                let other = Some(Uuid::from_u128(other as u128));
                let player = &mut players[one];
                let due = role_due(player.debt, player.last_role);
                player.run = if player.last_role == Some(role) { player.run + 1 } else { 1 };
                if counts {
                    seen.waits.push(now - player.queues_at);
                    seen.games += 1.0;
                    seen.role_due += f64::from(due == Some(role));
                    seen.third_in_a_row += f64::from(player.run >= 3);
                    seen.same_opponent += f64::from(player.recent_opponents[0] == other);
                }
                player.debt += if role == Role::Hounds { 1 } else { -1 };
                player.last_role = Some(role);
                player.recent_opponents = [other, player.recent_opponents[0], player.recent_opponents[1]];
                player.queues_at = now + game + rest;
                seen.largest_debt = seen.largest_debt.max(player.debt.abs());
            }
        }
    }
    // Whoever still waits at the end has waited that long at least.
    seen.waits.extend(players.iter().map(|player| seconds - player.queues_at).filter(|&waited| waited > 0));
}

#[test]
fn ten_players_online_wait_under_eight_minutes() {
    let mut seen = Seen::default();
    (0..40).for_each(|seed| simulate(10, 40_000, seed, &mut seen));
    assert!(seen.wait(99) < 8 * 60, "{}", seen.report());
    assert!(seen.share(seen.role_due) >= 0.84, "{}", seen.report());
}

#[test]
fn a_hundred_players_online_get_the_role_that_is_due() {
    let mut seen = Seen::default();
    (0..4).for_each(|seed| simulate(100, 20_000, seed, &mut seen));
    assert!(seen.share(seen.role_due) >= 0.84, "{}", seen.report());
    assert!(seen.share(seen.third_in_a_row) <= 0.015, "{}", seen.report());
    assert!(seen.share(seen.same_opponent) <= 0.08, "{}", seen.report());
    assert!(seen.wait(99) < 4 * 60, "{}", seen.report());
}

#[test]
fn role_debts_stay_small_over_many_games() {
    let mut seen = Seen::default();
    simulate(30, 200_000, 1, &mut seen);
    assert!(seen.largest_debt <= 4, "{}", seen.report());
}
