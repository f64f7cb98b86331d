//! How often one may try: limits on log-ins and sign-ups, kept in memory by each process.
//!
//! Nobody can lock an account's owner out from elsewhere: an address that had a session of the account before is
//! held only to the limit of that account at that address.

use std::{
    collections::HashMap,
    hash::Hash,
    net::{IpAddr, SocketAddr},
    sync::{Arc, Mutex, PoisonError},
};

use crate::wall_clock::Timestamp;

/// How many keys one limit remembers.
const CAPACITY: usize = 100_000;

/// Whether an address had a session of the account before.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Familiarity {
    /// It had one.
    Known,
    /// It had none, or there is no such account.
    Strange,
}

/// Enough for now.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
#[error("too many attempts: try again in {retry_after_ms} ms")]
pub struct TooManyAttempts {
    /// When the next attempt is allowed.
    pub retry_after_ms: u64,
}

/// The limits. Clones count together.
#[derive(Clone)]
pub struct Attempts(Option<Arc<Limits>>);

struct Limits {
    pair: Limit<(String, String)>,
    account: Limit<String>,
    address: Limit<String>,
    sign_up: Limit<String>,
    guest: Limit<String>,
}

impl Attempts {
    /// The limits as they should be.
    pub fn limited() -> Attempts {
        Attempts(Some(Arc::new(Limits {
            pair: Limit::new(10, 30_000),
            account: Limit::new(50, 36_000),
            address: Limit::new(100, 5_000),
            sign_up: Limit::new(20, 60_000),
            guest: Limit::new(60, 20_000),
        })))
    }

    /// No limits, for load tests.
    pub fn unlimited() -> Attempts {
        Attempts(None)
    }

    /// Counts an attempt to tell an account's password.
    ///
    /// # Errors
    ///
    /// When there were too many, with the time to wait; the attempt is not counted then.
    pub fn admit(
        &self,
        account: &str,
        address: &str,
        familiarity: Familiarity,
        now: Timestamp,
    ) -> Result<(), TooManyAttempts> {
        let Some(limits) = &self.0 else { return Ok(()) };
        let pair = (account.to_owned(), address.to_owned());
        limits.pair.take(&pair, now)?;
        if familiarity == Familiarity::Known {
            return Ok(());
        }
        if let Err(refusal) = limits.address.take(&pair.1, now) {
            limits.pair.give_back(&pair);
            return Err(refusal);
        }
        if let Err(refusal) = limits.account.take(&pair.0, now) {
            limits.pair.give_back(&pair);
            limits.address.give_back(&pair.1);
            return Err(refusal);
        }
        Ok(())
    }

    /// Takes an attempt back, since it told the right password.
    pub fn forgive(&self, account: &str, address: &str, familiarity: Familiarity) {
        let Some(limits) = &self.0 else { return };
        let pair = (account.to_owned(), address.to_owned());
        limits.pair.give_back(&pair);
        if familiarity == Familiarity::Strange {
            limits.address.give_back(&pair.1);
            limits.account.give_back(&pair.0);
        }
    }

    /// Counts an attempt to sign up.
    ///
    /// # Errors
    ///
    /// When there were too many, with the time to wait.
    pub fn admit_sign_up(&self, address: &str, now: Timestamp) -> Result<(), TooManyAttempts> {
        self.0.as_ref().map_or(Ok(()), |limits| limits.sign_up.take(&address.to_owned(), now))
    }

    /// Counts a request for a guest.
    ///
    /// # Errors
    ///
    /// When there were too many, with the time to wait.
    pub fn admit_guest(&self, address: &str, now: Timestamp) -> Result<(), TooManyAttempts> {
        self.0.as_ref().map_or(Ok(()), |limits| limits.guest.take(&address.to_owned(), now))
    }
}

/// A bucket for each key that holds `burst` attempts and gets one back every `period_ms` (GCRA: what is kept is the
/// instant at which the bucket is full again).
struct Limit<K> {
    burst: i64,
    period_ms: i64,
    full_at: Mutex<HashMap<K, i64>>,
}

impl<K: Hash + Eq + Clone> Limit<K> {
    fn new(burst: i64, period_ms: i64) -> Limit<K> {
        Limit { burst, period_ms, full_at: Mutex::new(HashMap::new()) }
    }

    fn take(&self, key: &K, now: Timestamp) -> Result<(), TooManyAttempts> {
        let now = now.timestamp_millis();
        let mut full_at = self.full_at.lock().unwrap_or_else(PoisonError::into_inner);
        let full = full_at.get(key).copied().unwrap_or(now).max(now);
        let wait = full - now - (self.burst - 1) * self.period_ms;
        if wait > 0 {
            return Err(TooManyAttempts { retry_after_ms: wait.unsigned_abs() });
        }
        if full_at.len() >= CAPACITY {
            self.make_room(&mut full_at, now);
        }
        full_at.insert(key.clone(), full + self.period_ms);
        Ok(())
    }

    fn give_back(&self, key: &K) {
        let mut full_at = self.full_at.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(full) = full_at.get_mut(key) {
            *full -= self.period_ms;
        }
    }

    /// Forgets what no longer counts; if that is not enough, those with the fewest attempts; else everything.
    fn make_room(&self, full_at: &mut HashMap<K, i64>, now: i64) {
        full_at.retain(|_, full| *full > now);
        if full_at.len() > CAPACITY / 2 {
            full_at.retain(|_, full| *full > now + self.burst / 2 * self.period_ms);
        }
        if full_at.len() > CAPACITY / 2 {
            full_at.clear();
        }
    }
}

/// What is counted as one address: an IPv4 address, or an IPv6 network of 64 bits, since one household has all of it.
pub fn network_of(address: &str) -> String {
    let address = address.trim();
    let ip = address
        .parse::<IpAddr>()
        .or_else(|_| address.parse::<SocketAddr>().map(|socket| socket.ip()))
        .or_else(|_| address.trim_matches(['[', ']']).parse());
    match ip.map(|ip| ip.to_canonical()) {
        Ok(IpAddr::V4(ip)) => ip.to_string(),
        Ok(IpAddr::V6(ip)) => {
            let [a, b, c, d, ..] = ip.segments();
            format!("{}/64", std::net::Ipv6Addr::new(a, b, c, d, 0, 0, 0, 0))
        }
        Err(_) => "unknown".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use chrono::{DateTime, TimeDelta};

    use super::*;

    fn exhaust(attempts: &Attempts, account: &str, now: Timestamp) {
        for host in 0..200 {
            let _ = attempts.admit(account, &format!("10.0.0.{host}"), Familiarity::Strange, now);
        }
    }

    #[test]
    fn an_owner_at_a_known_address_is_not_locked_out_by_others() {
        let (attempts, now) = (Attempts::limited(), DateTime::UNIX_EPOCH);
        exhaust(&attempts, "ann", now);
        assert!(attempts.admit("ann", "10.9.9.9", Familiarity::Strange, now).is_err());
        assert!(attempts.admit("ann", "10.9.9.9", Familiarity::Known, now).is_ok());
    }

    #[test]
    fn the_wait_that_is_told_is_enough_and_no_longer_than_needed() {
        let (attempts, now) = (Attempts::limited(), DateTime::UNIX_EPOCH);
        for _ in 0..10 {
            attempts.admit("ann", "10.0.0.1", Familiarity::Strange, now).unwrap();
        }
        let refusal = attempts.admit("ann", "10.0.0.1", Familiarity::Strange, now).unwrap_err();
        let wait = TimeDelta::milliseconds(i64::try_from(refusal.retry_after_ms).unwrap());
        let early = now + wait - TimeDelta::milliseconds(1);
        assert!(attempts.admit("ann", "10.0.0.1", Familiarity::Strange, early).is_err());
        assert!(attempts.admit("ann", "10.0.0.1", Familiarity::Strange, now + wait).is_ok());
    }

    #[test]
    fn the_right_password_costs_nothing() {
        let (attempts, now) = (Attempts::limited(), DateTime::UNIX_EPOCH);
        for _ in 0..1000 {
            attempts.admit("ann", "10.0.0.1", Familiarity::Strange, now).unwrap();
            attempts.forgive("ann", "10.0.0.1", Familiarity::Strange);
        }
    }

    #[test]
    fn memory_is_bounded() {
        let limit = Limit::new(2, 1000);
        for key in 0..250_000_u32 {
            limit.take(&key, DateTime::UNIX_EPOCH).unwrap();
        }
        assert!(limit.full_at.lock().unwrap().len() <= CAPACITY);
    }

    #[test]
    fn a_network_is_an_ipv4_address_or_64_bits_of_ipv6() {
        assert_eq!(network_of("10.0.0.1"), "10.0.0.1");
        assert_eq!(network_of("10.0.0.1:4711"), "10.0.0.1");
        assert_eq!(network_of("::ffff:10.0.0.1"), "10.0.0.1");
        assert_eq!(network_of("[2001:db8:1:2:3:4:5:6]:80"), "2001:db8:1:2::/64");
        assert_eq!(network_of("[2001:db8:1:2:3:4:5:6]"), "2001:db8:1:2::/64");
        assert_eq!(network_of("<script>"), "unknown");
    }
}
