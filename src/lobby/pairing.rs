//! Who meets whom, and in which role.
//!
//! Pure: the same snapshot and seed give the same pairs and roles, in whatever order the tickets come.
//! Integers only (rating points and seconds), no I/O, no clock, and no randomness but the seed handed in.
//! Costs O(n log n).
//!
//! The cost of a pair, in rating points:
//!
//! ```text
//!   |difference of ratings|
//! − 5 · the shorter of the two waits, in seconds
//! + 80 if both are due the same role
//! + 150 if either was the other's last opponent, else 60 if among the last three of either
//! ```
//!
//! A pair is allowed while its cost is at most 100, or more than that by `(RD − 60)/4` where a player is
//! provisional. Two provisional players widen it once, by the larger: their allowances say how far off a
//! rating may be, and one such doubt is enough to let the pair play. The widening moves the limit and not the
//! cost, so it lets a new player in without pushing anybody aside.

use crate::{
    ratings::glicko::PROVISIONAL_RD,
    rules::{ByRole, Role},
};
use uuid::Uuid;

/// How many tickets above it, in order of rating, each ticket is compared with.
pub const NEIGHBOURS: usize = 8;
/// Highest cost at which a pair is allowed, in points.
pub const COST_LIMIT: i32 = 100;
/// What a second of waiting takes off the cost, in points.
pub const POINTS_PER_SECOND: i32 = 5;
/// What it costs if both are due the same role, in points.
pub const SAME_ROLE_DUE_COST: i32 = 80;
/// What it costs to meet the last opponent again, in points.
pub const LAST_OPPONENT_COST: i32 = 150;
/// What it costs to meet one of the last three opponents again, in points.
pub const RECENT_OPPONENT_COST: i32 = 60;
/// The deviation that a provisional player's allowance is counted from, in points.
pub const SETTLED_RD: i32 = 60;

/// A waiting ticket, with what the pairing needs to know about its player.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Candidate {
    /// The ticket; decides ties.
    pub ticket: Uuid,
    /// Whose it is.
    pub player: Uuid,
    /// Rating, rounded to a point.
    pub rating: i32,
    /// Deviation as of now, idle time applied, rounded to a point.
    pub rd: i32,
    /// Whole seconds since the ticket was taken; below 0 counts as 0.
    pub waited_s: i32,
    /// Role debt: rated games in this pool as hounds, less those as the hare.
    pub debt: i32,
    /// The role in the last rated game in this pool.
    pub last_role: Option<Role>,
    /// The last three opponents, newest first.
    pub recent_opponents: [Option<Uuid>; 3],
    /// Players whom this one blocks, in any order; either side's block keeps two apart.
    pub blocked: Vec<Uuid>,
}

/// Two tickets that meet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pairing {
    /// The ticket in each role.
    pub seats: ByRole<Uuid>,
    /// What the pair cost, in points; below 0 after a long wait.
    pub cost: i64,
    /// The seed, if a coin had to decide the roles: to be recorded with the game.
    pub coin_seed: Option<u64>,
}

/// Pairs the tickets of one pool.
///
/// Sorted by rating, each ticket is compared with the next [`NEIGHBOURS`] above it; those who may never meet
/// do not count among the eight, or a player could be starved by blocking neighbours. (Each one passed over
/// is a block between two waiting players, so the work grows by the number of those at most.) Of the allowed
/// pairs the cheapest is taken first, ties by the lower ticket id, then by the higher one; each ticket once.
/// The pairs are returned in that order.
#[must_use]
pub fn pair(candidates: &[Candidate], seed: u64) -> Vec<Pairing> {
    let mut by_id: Vec<&Candidate> = candidates.iter().collect();
    by_id.sort_unstable_by_key(|candidate| candidate.ticket);
    // From here on a ticket is its place in `by_id`: comparing places is comparing ids.
    let mut by_rating: Vec<(i32, usize)> =
        by_id.iter().enumerate().map(|(place, candidate)| (candidate.rating, place)).collect();
    by_rating.sort_unstable();

    let mut allowed: Vec<(i64, usize, usize)> = Vec::new();
    for (from, &(_, one)) in by_rating.iter().enumerate() {
        let above = by_rating[from + 1..].iter().map(|&(_, other)| other);
        let costs = above.filter_map(|other| Some((other, cost(by_id[one], by_id[other])?)));
        for (other, cost) in costs.take(NEIGHBOURS) {
            if cost <= limit(by_id[one], by_id[other]) {
                allowed.push((cost, one.min(other), one.max(other)));
            }
        }
    }
    allowed.sort_unstable();

    let mut taken = vec![false; by_id.len()];
    let mut pairings = Vec::new();
    for (cost, first, second) in allowed {
        if !taken[first] && !taken[second] {
            taken[first] = true;
            taken[second] = true;
            let (seats, coin_seed) = seats(by_id[first], by_id[second], seed);
            pairings.push(Pairing { seats, cost, coin_seed });
        }
    }
    pairings
}

/// Returns what it costs to pair the two, in points; `None` if they may never meet.
#[must_use]
pub fn cost(one: &Candidate, other: &Candidate) -> Option<i64> {
    let apart = one.player == other.player
        || one.blocked.contains(&other.player)
        || other.blocked.contains(&one.player);
    if apart {
        return None;
    }
    let mut cost = i64::from(one.rating).abs_diff(i64::from(other.rating)).cast_signed();
    cost -= i64::from(POINTS_PER_SECOND) * i64::from(one.waited_s.min(other.waited_s).max(0));
    let due = role_due(one.debt, one.last_role);
    if due.is_some() && due == role_due(other.debt, other.last_role) {
        cost += i64::from(SAME_ROLE_DUE_COST);
    }
    let (ones, others) = (one.recent_opponents, other.recent_opponents);
    if ones[0] == Some(other.player) || others[0] == Some(one.player) {
        cost += i64::from(LAST_OPPONENT_COST);
    } else if ones.contains(&Some(other.player)) || others.contains(&Some(one.player)) {
        cost += i64::from(RECENT_OPPONENT_COST);
    }
    Some(cost)
}

/// Returns the highest cost at which the two may meet now, in points.
#[must_use]
pub fn limit(one: &Candidate, other: &Candidate) -> i64 {
    i64::from(COST_LIMIT) + i64::from(widening(one.rd).max(widening(other.rd)))
}

/// Returns the rating gap that a ticket allows by now, in points, as shown to its player.
///
/// It holds against an opponent who has waited as long and costs nothing extra: `100 + 5·wait`, and `(RD −
/// 60)/4` more while the player is provisional.
#[must_use]
pub fn window(waited_s: i32, rd: i32) -> i32 {
    let widened = POINTS_PER_SECOND.saturating_mul(waited_s.max(0)).saturating_add(COST_LIMIT);
    widened.saturating_add(widening(rd))
}

/// Returns the role that is due: the one that pays off the role debt, or else the other than last time.
///
/// `None` for a player without a rated game in the pool.
#[must_use]
pub fn role_due(debt: i32, last_role: Option<Role>) -> Option<Role> {
    match debt {
        1.. => Some(Role::Hare),
        0 => last_role.map(Role::other),
        ..0 => Some(Role::Hounds),
    }
}

/// Returns what a provisional player's allowance widens by, in points; 0 for an established one.
fn widening(rd: i32) -> i32 {
    if f64::from(rd) >= PROVISIONAL_RD { (rd - SETTLED_RD) / 4 } else { 0 }
}

/// Seats the two, of whom `first` has the lower ticket id; and returns the seed if a coin decided.
///
/// Whoever is further out of balance gets the role that pays it off. That is the one rule "the larger debt
/// plays the hare": it serves the larger imbalance, and both at once when theirs point opposite ways. Even
/// debts leave it to the role other than last time, where only one wants it; then to the coin.
fn seats(first: &Candidate, second: &Candidate, seed: u64) -> (ByRole<Uuid>, Option<u64>) {
    let wanted = |candidate: &Candidate| candidate.last_role.map(Role::other);
    let by_debt = match first.debt.cmp(&second.debt) {
        std::cmp::Ordering::Greater => Some(Role::Hare),
        std::cmp::Ordering::Less => Some(Role::Hounds),
        std::cmp::Ordering::Equal => None,
    };
    let by_turn = || match (wanted(first), wanted(second)) {
        (Some(one), Some(other)) if one == other => None,
        (one, other) => one.or(other.map(Role::other)),
    };
    let decided = by_debt.or_else(by_turn);
    let seats = match decided.unwrap_or_else(|| coin(seed, first.ticket, second.ticket)) {
        Role::Hounds => ByRole { hounds: first.ticket, hare: second.ticket },
        Role::Hare => ByRole { hounds: second.ticket, hare: first.ticket },
    };
    (seats, decided.is_none().then_some(seed))
}

/// Tosses the coin of one pair: the role of the lower ticket id.
///
/// The seed and both ids, mixed by SplitMix64 (Steele, Lea and Flood, 2014), so that one recorded seed
/// explains every coin of a round and anybody can toss it again.
#[must_use]
pub fn coin(seed: u64, lower: Uuid, higher: Uuid) -> Role {
    let (a, b) = lower.as_u64_pair();
    let (c, d) = higher.as_u64_pair();
    let mixed = [a, b, c, d].into_iter().fold(seed, |state, word| split_mix(state ^ word));
    if mixed & 1 == 0 { Role::Hounds } else { Role::Hare }
}

/// One step of SplitMix64.
fn split_mix(state: u64) -> u64 {
    let z = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}
