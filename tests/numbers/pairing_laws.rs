//! What holds for every snapshot of a pool.

use leveret::{
    lobby::pairing::{Candidate, NEIGHBOURS, Pairing, coin, cost, limit, pair, role_due, window},
    rules::Role,
};
use proptest::prelude::*;
use std::collections::{BTreeMap, BTreeSet};
use uuid::Uuid;

const ROLES: [Option<Role>; 3] = [None, Some(Role::Hounds), Some(Role::Hare)];

/// A ticket of a player who has just come and never played.
fn fresh(id: u128, rating: i32) -> Candidate {
    Candidate {
        ticket: Uuid::from_u128(id),
        player: Uuid::from_u128(1000 + id),
        rating,
        rd: 60,
        waited_s: 0,
        debt: 0,
        last_role: None,
        recent_opponents: [None; 3],
        blocked: Vec::new(),
    }
}

/// Someone from the same small town, so that blocks, rematches and double tickets are common.
fn neighbour() -> impl Strategy<Value = Uuid> {
    (0_u128..30).prop_map(Uuid::from_u128)
}

/// A candidate, but for its ticket.
fn candidate() -> impl Strategy<Value = Candidate> {
    let numbers = (1300..1700_i32, 45..=350_i32, 0..60_i32, -3..=3_i32, 0..3_usize);
    let others =
        (prop::array::uniform3(prop::option::of(neighbour())), prop::collection::vec(neighbour(), 0..4));
    (neighbour(), numbers, others).prop_map(
        |(player, (rating, rd, waited_s, debt, role), (recent, blocked))| Candidate {
            ticket: Uuid::nil(),
            player,
            rating,
            rd,
            waited_s,
            debt,
            last_role: ROLES[role],
            recent_opponents: recent,
            blocked,
        },
    )
}

/// A pool of up to 60 tickets, in random order of their ids.
fn pool() -> impl Strategy<Value = Vec<Candidate>> {
    prop::collection::vec((any::<u128>(), candidate()), 0..60).prop_map(|tickets| {
        let with_id = |(id, candidate)| Candidate { ticket: Uuid::from_u128(id), ..candidate };
        tickets.into_iter().map(with_id).collect()
    })
}

fn by_ticket(pool: &[Candidate]) -> BTreeMap<Uuid, &Candidate> {
    pool.iter().map(|candidate| (candidate.ticket, candidate)).collect()
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: 1000, failure_persistence: None, ..ProptestConfig::default()
    })]

    #[test]
    fn the_same_snapshot_gives_the_same_pairs_and_roles_in_any_order(
        (pool, shuffled) in pool().prop_flat_map(|pool| (Just(pool.clone()), Just(pool).prop_shuffle())),
        seed in any::<u64>(),
    ) {
        prop_assert_eq!(pair(&pool, seed), pair(&shuffled, seed));
    }

    #[test]
    fn the_seed_decides_nothing_but_coins(pool in pool(), seed in any::<u64>(), other in any::<u64>()) {
        for (one, other) in pair(&pool, seed).into_iter().zip(pair(&pool, other)) {
            let ids = |p: Pairing| BTreeSet::from([p.seats.hounds, p.seats.hare]);
            prop_assert_eq!(ids(one), ids(other));
            if one.coin_seed.is_none() {
                prop_assert_eq!(one, other);
            }
        }
    }

    #[test]
    fn each_ticket_is_paired_once_and_with_whom_it_may_meet(pool in pool(), seed in any::<u64>()) {
        let tickets = by_ticket(&pool);
        let mut seen = BTreeSet::new();
        for Pairing { seats, cost: paid, .. } in pair(&pool, seed) {
            prop_assert!(seen.insert(seats.hounds) && seen.insert(seats.hare));
            let (hounds, hare) = (tickets[&seats.hounds], tickets[&seats.hare]);
            prop_assert!(hounds.player != hare.player);
            prop_assert!(!hounds.blocked.contains(&hare.player) && !hare.blocked.contains(&hounds.player));
            prop_assert_eq!(cost(hounds, hare), Some(paid));
            prop_assert!(paid <= limit(hounds, hare));
        }
    }

    #[test]
    fn whoever_is_left_has_no_allowed_neighbour_left(pool in pool(), seed in any::<u64>()) {
        let pairings = pair(&pool, seed);
        let taken: BTreeSet<Uuid> = pairings.iter().flat_map(|p| [p.seats.hounds, p.seats.hare]).collect();
        let mut order: Vec<&Candidate> = pool.iter().collect();
        order.sort_by_key(|candidate| (candidate.rating, candidate.ticket));
        for (from, one) in order.iter().enumerate() {
            let above = order[from + 1..].iter().filter_map(|other| Some((other, cost(one, other)?)));
            for (other, cost) in above.take(NEIGHBOURS) {
                let both_left = !taken.contains(&one.ticket) && !taken.contains(&other.ticket);
                prop_assert!(!both_left || cost > limit(one, other));
            }
        }
        prop_assert!(pairings.windows(2).all(|two| two[0].cost <= two[1].cost));
    }

    #[test]
    fn the_role_pays_off_the_larger_debt(pool in pool(), seed in any::<u64>()) {
        let tickets = by_ticket(&pool);
        for Pairing { seats, coin_seed, .. } in pair(&pool, seed) {
            let (hounds, hare) = (tickets[&seats.hounds], tickets[&seats.hare]);
            prop_assert!(hounds.debt <= hare.debt);
            // As the design words it: whoever is further out of balance gets the role that is due to him.
            if hounds.debt.abs() > hare.debt.abs() {
                prop_assert_eq!(role_due(hounds.debt, hounds.last_role), Some(Role::Hounds));
            }
            if hare.debt.abs() > hounds.debt.abs() {
                prop_assert_eq!(role_due(hare.debt, hare.last_role), Some(Role::Hare));
            }
            let alike = hounds.debt == hare.debt && hounds.last_role == hare.last_role;
            prop_assert_eq!(coin_seed, alike.then_some(seed));
        }
    }

    #[test]
    fn the_cost_is_the_same_from_either_side_and_falls_with_time(
        one in candidate(), other in candidate(), later in 0..1000_i32,
    ) {
        let costs = cost(&one, &other);
        prop_assert_eq!(costs, cost(&other, &one));
        let aged = |c: &Candidate| Candidate { waited_s: c.waited_s + later, ..c.clone() };
        prop_assert_eq!(cost(&aged(&one), &aged(&other)), costs.map(|cost| cost - 5 * i64::from(later)));
        prop_assert_eq!(cost(&aged(&one), &one), None);
    }

    #[test]
    fn no_numbers_are_too_large(
        numbers in prop::collection::vec(prop::array::uniform4(any::<i32>()), 0..40), seed in any::<u64>(),
    ) {
        let extreme = |number: i32| [i32::MIN, i32::MAX, 0][number.unsigned_abs() as usize % 3];
        let pool: Vec<Candidate> = (0..)
            .zip(&numbers)
            .map(|(id, &[rating, rd, waited_s, debt])| {
                let rating = if id % 2 == 0 { rating } else { extreme(rating) };
                let waited_s = if id % 3 == 0 { waited_s } else { extreme(waited_s) };
                Candidate { rd, waited_s, debt, ..fresh(id, rating) }
            })
            .collect();
        prop_assert!(pair(&pool, seed).len() <= pool.len() / 2);
        for candidate in &pool {
            prop_assert!(window(candidate.waited_s, candidate.rd) >= 100);
        }
    }
}

#[test]
fn the_cost_of_a_pair_is_counted_as_designed() {
    let (ann, ben) = (fresh(1, 1500), fresh(2, 1530));
    assert_eq!(cost(&ann, &ben), Some(30));

    let waited = |c: &Candidate, waited_s| Candidate { waited_s, ..c.clone() };
    assert_eq!(cost(&waited(&ann, 10), &waited(&ben, 4)), Some(30 - 20));
    assert_eq!(cost(&waited(&ann, -10), &waited(&ben, 4)), Some(30));

    let played = |c: &Candidate, debt, role| Candidate { debt, last_role: Some(role), ..c.clone() };
    let hounds = Role::Hounds;
    assert_eq!(cost(&played(&ann, 0, hounds), &played(&ben, 0, hounds)), Some(30 + 80));
    assert_eq!(cost(&played(&ann, 0, hounds), &played(&ben, 0, Role::Hare)), Some(30));
    assert_eq!(cost(&played(&ann, 2, Role::Hare), &played(&ben, 0, hounds)), Some(30 + 80));
    assert_eq!(cost(&played(&ann, 0, hounds), &ben), Some(30));

    let met = |c: &Candidate, recent_opponents| Candidate { recent_opponents, ..c.clone() };
    let (other, a, b) = (Some(Uuid::from_u128(9)), Some(ann.player), Some(ben.player));
    assert_eq!(cost(&met(&ann, [b, None, None]), &ben), Some(30 + 150));
    assert_eq!(cost(&ann, &met(&ben, [a, None, None])), Some(30 + 150));
    assert_eq!(cost(&met(&ann, [other, b, None]), &ben), Some(30 + 60));
    assert_eq!(cost(&ann, &met(&ben, [other, other, a])), Some(30 + 60));
    assert_eq!(cost(&met(&ann, [other, b, None]), &met(&ben, [a, None, None])), Some(30 + 150));

    let blocks = |c: &Candidate, player| Candidate { blocked: vec![player], ..c.clone() };
    assert_eq!(cost(&blocks(&ann, ben.player), &ben), None);
    assert_eq!(cost(&ann, &blocks(&ben, ann.player)), None);
    assert_eq!(cost(&ann, &Candidate { player: ann.player, ..ben }), None);
}

#[test]
fn a_pair_is_allowed_up_to_a_cost_of_100_and_further_for_a_provisional_player() {
    let meets = |gap, rd| pair(&[fresh(1, 1500), Candidate { rd, ..fresh(2, 1500 + gap) }], 0).len() == 1;
    assert!(meets(100, 109) && !meets(101, 109));
    assert!(meets(112, 110) && !meets(113, 110));
    assert!(meets(172, 350) && !meets(173, 350));
    let new = |id, rating| Candidate { rd: 350, ..fresh(id, rating) };
    assert_eq!(limit(&new(1, 1500), &new(2, 1500)), 172);
}

#[test]
fn the_window_shown_is_the_gap_allowed() {
    assert_eq!(window(0, 60), 100);
    assert_eq!(window(12, 60), 160);
    assert_eq!(window(12, 109), 160);
    assert_eq!(window(12, 350), 232);
    assert_eq!(window(-5, 60), 100);
    assert_eq!(window(i32::MAX, i32::MAX), i32::MAX);
    for (waited_s, rd) in [(0, 45), (7, 110), (30, 200), (600, 350)] {
        let gap = window(waited_s, rd);
        let ticket = |id, rating| Candidate { waited_s, rd, ..fresh(id, rating) };
        assert_eq!(pair(&[ticket(1, 1500), ticket(2, 1500 + gap)], 0).len(), 1);
        assert_eq!(pair(&[ticket(1, 1500), ticket(2, 1501 + gap)], 0).len(), 0);
    }
}

#[test]
fn the_role_due_pays_off_the_debt_or_else_alternates() {
    assert_eq!(role_due(0, None), None);
    assert_eq!(role_due(0, Some(Role::Hounds)), Some(Role::Hare));
    assert_eq!(role_due(0, Some(Role::Hare)), Some(Role::Hounds));
    assert_eq!(role_due(1, Some(Role::Hare)), Some(Role::Hare));
    assert_eq!(role_due(i32::MIN, Some(Role::Hounds)), Some(Role::Hounds));
}

#[test]
fn even_debts_leave_the_role_to_the_turn_and_then_to_a_recorded_coin() {
    let seats = |one: Option<Role>, other: Option<Role>| {
        let with = |id, last_role| Candidate { last_role, waited_s: 60, ..fresh(id, 1500) };
        pair(&[with(1, one), with(2, other)], 7)[0]
    };
    let (first, second) = (Uuid::from_u128(1), Uuid::from_u128(2));
    let (hounds, hare) = (Some(Role::Hounds), Some(Role::Hare));
    for (one, other) in [(hare, hounds), (hare, None), (None, hounds)] {
        assert_eq!((seats(one, other).seats.hounds, seats(one, other).coin_seed), (first, None));
        assert_eq!((seats(other, one).seats.hounds, seats(other, one).coin_seed), (second, None));
    }
    for same in [None, hounds, hare] {
        let tossed = seats(same, same);
        assert_eq!(tossed.coin_seed, Some(7));
        assert_eq!(tossed.seats[coin(7, first, second)], first);
    }
}

#[test]
fn the_coin_is_even() {
    let heads = |tosses: &mut dyn Iterator<Item = Role>| tosses.filter(|role| *role == Role::Hounds).count();
    let (low, high) = (Uuid::from_u128(3), Uuid::from_u128(4));
    let over_seeds = heads(&mut (0..10_000).map(|seed| coin(seed, low, high)));
    let over_ids =
        heads(&mut (0..10_000).map(|id| coin(5, Uuid::from_u128(id), Uuid::from_u128(20_000 - id))));
    assert!(
        (4_800..5_200).contains(&over_seeds) && (4_800..5_200).contains(&over_ids),
        "{over_seeds} {over_ids}"
    );
}

#[test]
fn a_ticket_is_compared_with_the_next_eight_above_it() {
    // Between the two lies a crowd that the lower one has just met, and that blocks everybody else.
    let meet_across = |crowd: u128| {
        let everybody: Vec<Uuid> = (1001..1100).map(Uuid::from_u128).collect();
        let mut pool: Vec<Candidate> = (1..=crowd)
            .map(|id| Candidate {
                recent_opponents: [Some(Uuid::from_u128(1000)), None, None],
                blocked: everybody.clone(),
                ..fresh(id, 1500)
            })
            .collect();
        pool.extend([fresh(0, 1500), fresh(50, 1501)]);
        pair(&pool, 0).len() == 1
    };
    assert!(meet_across(7) && !meet_across(8));
}

#[test]
fn blocking_the_neighbours_does_not_starve_a_ticket() {
    let crowd: Vec<Candidate> =
        (1..=50).map(|id| Candidate { blocked: vec![Uuid::from_u128(1000)], ..fresh(id, 1500) }).collect();
    let mut pool = vec![fresh(0, 1500), fresh(51, 1510)];
    pool.extend(crowd);
    // The crowd is an even number and pairs among itself; the ticket it blocks finds the one beyond.
    let pairings = pair(&pool, 0);
    assert_eq!(pairings.len(), 26);
    assert!(pairings.iter().any(|p| BTreeSet::from([p.seats.hounds, p.seats.hare])
        == BTreeSet::from([Uuid::from_u128(0), Uuid::from_u128(51)])));
}

#[test]
fn the_cheapest_pair_is_taken_first_and_ties_go_by_id() {
    let pool = [fresh(3, 1500), fresh(2, 1500), fresh(1, 1500), fresh(4, 1501)];
    let ids: Vec<BTreeSet<u128>> = pair(&pool, 0)
        .iter()
        .map(|p| BTreeSet::from([p.seats.hounds.as_u128(), p.seats.hare.as_u128()]))
        .collect();
    assert_eq!(ids, [BTreeSet::from([1, 2]), BTreeSet::from([3, 4])]);
}
