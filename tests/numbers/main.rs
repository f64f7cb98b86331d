//! The numbers: ratings, the role offset, and pairing, against reference values, laws and simulations.
//!
//! Pure functions only; nothing here starts a server or a database.

mod dice;
mod glicko_laws;
mod glicko_vectors;
mod pairing_laws;
mod pairing_simulation;
mod role_offset;
