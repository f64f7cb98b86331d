//! The only source of randomness. The edge and the tasks draw here and pass on what they drew.

use rand::distr::{Distribution, StandardUniform};

/// Draws a value from the operating system's seeded generator, fit for secrets.
#[expect(clippy::disallowed_methods, reason = "this is the one place that draws")]
pub fn roll<T>() -> T
where
    StandardUniform: Distribution<T>,
{
    StandardUniform.sample(&mut rand::rng())
}
