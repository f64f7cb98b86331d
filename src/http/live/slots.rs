//! How many streams may be open: by account, by address for those without a token, and in all.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use crate::{
    config::StreamSettings,
    http::error::{self, ApiError},
    ids::PlayerId,
};

/// After how many milliseconds to try again when all places are taken.
const TRY_AGAIN_MS: u64 = 10_000;

/// Whose stream it is.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Holder {
    /// A player's.
    Player(PlayerId),
    /// That of somebody without a token, at this address.
    Address(String),
}

/// The open streams of this process. Its clones are one.
#[derive(Clone)]
pub struct Slots(Arc<Shared>);

struct Shared {
    settings: StreamSettings,
    open: Mutex<Open>,
}

#[derive(Default)]
struct Open {
    all: u32,
    by_holder: HashMap<Holder, u32>,
}

impl Slots {
    /// No stream is open yet.
    pub fn new(settings: StreamSettings) -> Slots {
        Slots(Arc::new(Shared { settings, open: Mutex::default() }))
    }

    /// Takes a place, which is free again when the answer is dropped.
    ///
    /// # Errors
    ///
    /// When there is none left, in all or for this holder.
    pub fn take(&self, holder: Holder) -> Result<Slot, ApiError> {
        let settings = &self.0.settings;
        let (most, whose) = match holder {
            Holder::Player(_) => (settings.streams_per_account, "account"),
            Holder::Address(_) => (settings.streams_per_address, "address"),
        };
        let mut open = self.open();
        if open.all >= settings.streams {
            return Err(ApiError::unavailable(TRY_AGAIN_MS));
        }
        let held = open.by_holder.get(&holder).copied().unwrap_or(0);
        if held >= most {
            let detail =
                format!("{held} streams of this {whose} are open, as many as may be; close one first");
            return Err(ApiError::new(error::TOO_MANY_STREAMS, detail).retry_after_ms(TRY_AGAIN_MS));
        }
        open.by_holder.insert(holder.clone(), held + 1);
        open.all += 1;
        metrics::gauge!("leveret_streams_open").set(open.all);
        Ok(Slot { slots: self.clone(), holder })
    }

    /// How many streams are open.
    pub fn taken(&self) -> u32 {
        self.open().all
    }

    fn open(&self) -> MutexGuard<'_, Open> {
        self.0.open.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The place of one stream.
pub struct Slot {
    slots: Slots,
    holder: Holder,
}

impl Drop for Slot {
    fn drop(&mut self) {
        let mut open = self.slots.open();
        open.all = open.all.saturating_sub(1);
        if let Some(held) = open.by_holder.get_mut(&self.holder) {
            *held -= 1;
            if *held == 0 {
                open.by_holder.remove(&self.holder);
            }
        }
        metrics::gauge!("leveret_streams_open").set(open.all);
    }
}
