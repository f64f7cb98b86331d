//! How often one may ask. Each class of request has its own budget, so that no other traffic can use up the
//! budget for moves.
//!
//! Budgets are kept in memory, by player where the token tells one and by address otherwise: each process
//! counts what it sees itself. Attempts to log in have limits of their own, in `accounts`.

use std::{num::NonZeroU32, time::Duration};

use actix_web::{
    dev::ServiceRequest,
    http::{
        Method,
        header::{HeaderMap, HeaderName, HeaderValue},
    },
};
use governor::{
    DefaultKeyedRateLimiter, Quota, RateLimiter,
    clock::{Clock, DefaultClock},
    middleware::StateInformationMiddleware,
    state::keyed::DefaultKeyedStateStore,
};
use uuid::Uuid;

use super::{
    accounts::client_address,
    auth::Identity,
    error::{self, ApiError},
};

type Limiter = RateLimiter<Key, DefaultKeyedStateStore<Key>, DefaultClock, StateInformationMiddleware>;

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
enum Key {
    Player(Uuid),
    Address(String),
}

/// A class of requests with one budget.
struct Class {
    name: &'static str,
    burst: u32,
    window: Duration,
    limiter: Limiter,
}

impl Class {
    fn new(name: &'static str, burst: u32, window: Duration) -> Class {
        let burst_size = NonZeroU32::new(burst).unwrap_or(NonZeroU32::MIN);
        let period = (window / burst).max(Duration::from_nanos(1));
        let quota = Quota::with_period(period)
            .map_or(Quota::per_second(burst_size), |quota| quota.allow_burst(burst_size));
        let limiter = DefaultKeyedRateLimiter::keyed(quota).with_middleware::<StateInformationMiddleware>();
        Class { name, burst, window, limiter }
    }
}

/// The budgets of one process.
pub struct Limits {
    on: bool,
    moves: Class,
    writes: Class,
    reads: Class,
    clock: DefaultClock,
}

impl Limits {
    /// Fresh budgets; without `on` they refuse nobody.
    pub fn new(on: bool) -> Limits {
        let minute = Duration::from_secs(60);
        Limits {
            on,
            moves: Class::new("moves", 600, minute),
            writes: Class::new("writes", 300, minute),
            reads: Class::new("reads", 1200, minute),
            clock: DefaultClock::default(),
        }
    }

    fn class(&self, request: &ServiceRequest) -> &Class {
        let path = request.path();
        match *request.method() {
            Method::PUT if path.starts_with("/v1/games/") && path.contains("/moves/") => &self.moves,
            Method::GET | Method::HEAD | Method::OPTIONS => &self.reads,
            _ => &self.writes,
        }
    }

    /// Takes one request out of its budget; answers the headers that tell what is left of it.
    ///
    /// # Errors
    ///
    /// When nothing is left.
    pub fn take(&self, request: &ServiceRequest, identity: Identity) -> Result<Option<Headers>, ApiError> {
        let exempt = matches!(request.path(), "/healthz" | "/readyz" | "/metrics");
        if !self.on || exempt {
            return Ok(None);
        }
        let class = self.class(request);
        let key = match identity {
            Identity::Player(claimant) => Key::Player(claimant.player.0),
            Identity::Nobody | Identity::Invalid => Key::Address(client_address(request.request())),
        };
        match class.limiter.check_key(&key) {
            Ok(state) => Ok(Some(Headers {
                name: class.name,
                burst: class.burst,
                window: class.window,
                left: state.remaining_burst_capacity(),
            })),
            Err(refusal) => {
                let wait = refusal.wait_time_from(self.clock.now());
                let millis = u64::try_from(wait.as_millis()).unwrap_or(u64::MAX).max(1);
                let detail = format!(
                    "the budget for {} is {} a minute; the next is possible in {millis} ms",
                    class.name, class.burst
                );
                Err(ApiError::new(error::TOO_MANY_REQUESTS, detail).retry_after_ms(millis))
            }
        }
    }

    /// Forgets whoever has a full budget. A task calls it now and then.
    pub fn forget_idle(&self) {
        for class in [&self.moves, &self.writes, &self.reads] {
            class.limiter.retain_recent();
        }
    }
}

/// What the RateLimit headers say.
pub struct Headers {
    name: &'static str,
    burst: u32,
    window: Duration,
    left: u32,
}

impl Headers {
    /// Writes the headers of draft-ietf-httpapi-ratelimit-headers.
    pub fn write(&self, headers: &mut HeaderMap) {
        let policy = format!("\"{}\";q={};w={}", self.name, self.burst, self.window.as_secs());
        let state = format!("\"{}\";r={}", self.name, self.left);
        for (name, value) in [("ratelimit-policy", policy), ("ratelimit", state)] {
            if let Ok(value) = HeaderValue::from_str(&value) {
                headers.insert(HeaderName::from_static(name), value);
            }
        }
    }
}
