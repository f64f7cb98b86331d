//! Logs. Every line of a request carries its id, by the span that `tracing-actix-web` opens.

use std::io::{self, IsTerminal};

use clap::ValueEnum;
use tracing_subscriber::{EnvFilter, Layer, layer::SubscriberExt, util::SubscriberInitExt};

/// How log lines look.
#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
pub enum LogFormat {
    /// Human on a terminal, JSON otherwise.
    Auto,
    /// For people.
    Human,
    /// One JSON object a line.
    Json,
}

/// Starts logging to standard error. `filter` is in the form of `RUST_LOG`.
pub fn start(format: LogFormat, filter: &str) {
    let human = match format {
        LogFormat::Auto => io::stderr().is_terminal(),
        LogFormat::Human => true,
        LogFormat::Json => false,
    };
    let lines = tracing_subscriber::fmt::layer().with_writer(io::stderr);
    let layer = if human {
        lines.compact().boxed()
    } else {
        lines.json().flatten_event(true).with_span_list(false).boxed()
    };
    let filter = EnvFilter::try_new(filter).unwrap_or_else(|_| EnvFilter::new("info"));
    // Only a second call can fail, and then logging is on already.
    // The filter is for all, not for the layer: a filter of a layer forgets itself when a crate merely asks whether a
    // line would be told.
    let _ = tracing_subscriber::registry().with(filter).with(layer).try_init();
}
