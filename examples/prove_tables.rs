//! Solves Catch the Hare by every reading of its rules that tables differ in, and compares with what is known.
//!
//! `cargo run --release --example prove_tables`; minutes on a few cores.

use std::{num::NonZeroUsize, process::ExitCode, time::Instant};

use leveret::{
    rules::{
        GameResult,
        catch_the_hare::{BoardLines, TooFew},
    },
    solver::{Count, Key, MOST_HUNTERS, Progress, Table},
};

/// The plies in which the hunters win from the start, for nine hunters and more; none for a draw.
const KNOWN: [(BoardLines, TooFew, &[Option<u16>]); 6] = [
    (BoardLines::Alquerque, TooFew::BelowTen, &[Some(73), Some(57), Some(51), Some(45), Some(45)]),
    (BoardLines::Alquerque, TooFew::CannotEnclose, &[None, Some(73), Some(57), Some(51), Some(45), Some(45)]),
    (BoardLines::LongDiagonals, TooFew::BelowTen, &[Some(61), Some(47), Some(45), Some(37), Some(39)]),
    (
        BoardLines::LongDiagonals,
        TooFew::CannotEnclose,
        &[Some(87), Some(59), Some(47), Some(45), Some(37), Some(39)],
    ),
    (BoardLines::NoDiagonals, TooFew::BelowTen, &[Some(51), Some(47), Some(43), Some(37), Some(33)]),
    (
        BoardLines::NoDiagonals,
        TooFew::CannotEnclose,
        &[Some(63), Some(51), Some(47), Some(43), Some(37), Some(33)],
    ),
];

/// What is known of ten hunters on the alquerque board by `below-ten`.
const TEN_HUNTERS: Count =
    Count { hunters: 10, won_by_hunters: 37_828_912, won_by_hare: 10_783_348, drawn: 419_140, longest: 121 };

#[expect(clippy::print_stdout, reason = "what is printed is what this program is for")]
fn main() -> ExitCode {
    let threads = std::thread::available_parallelism().unwrap_or(NonZeroUsize::MIN);
    let mut differences = 0;
    for (board, too_few, known) in KNOWN {
        let key = Key { board, too_few };
        let begun = Instant::now();
        let Ok(table) = Table::solve(key, MOST_HUNTERS, threads, &Progress::default()) else {
            return ExitCode::FAILURE;
        };
        let (seconds, bytes) = (begun.elapsed().as_secs(), table.bytes().len());
        println!("{board} {too_few}: {bytes} bytes in {seconds} s");
        for count in table.counts() {
            println!("  {count:?}");
            let is_ten = count.hunters == 10 && KNOWN[0].0 == board && KNOWN[0].1 == too_few;
            differences += u32::from(is_ten && count != TEN_HUNTERS);
        }
        let rules = (9..=MOST_HUNTERS).map(|hunters| key.with_hunters(hunters));
        let starts = rules.filter(|rules| rules.check().is_ok()).flat_map(|rules| rules.starts());
        for (start, &known) in starts.zip(known) {
            let value = table.value(start);
            let is_known = match known {
                Some(plies) => value.result == GameResult::Hounds && value.plies == Some(plies),
                None => value.result == GameResult::Draw,
            };
            println!(
                "  {} hunters: {value:?}{}",
                start.pack().len(),
                if is_known { "" } else { ", NOT AS KNOWN" }
            );
            differences += u32::from(!is_known);
        }
    }
    println!("{differences} differences");
    if differences == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}
