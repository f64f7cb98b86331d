//! How strong the computer's levels are against each other: each level plays the next one, in both roles.
//!
//! `cargo run --release --example levels` plays 500 games for each pairing and role and prints the table of the
//! README. Catch the Hare needs its table, which `leveret solve` makes; without it those games are left out.

use std::{path::PathBuf, thread};

use clap::Parser;
use leveret::{
    rules::{ByRole, GameResult, Play, Role, Rules, Variant},
    solver::{
        Solver,
        computer::{Level, choose},
    },
    tables::Folder,
};
use rand::{RngExt, SeedableRng, rngs::StdRng};

/// Plays the computer's levels against each other.
#[derive(Parser)]
struct Settings {
    /// Games for each pairing and role
    #[arg(long, default_value_t = 500)]
    games: u32,
    /// What the dice follow from
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Where `leveret solve` keeps the tables
    #[arg(long, env = "LEVERET_TABLES_DIR")]
    tables_dir: Option<PathBuf>,
}

/// How some games ended.
#[derive(Clone, Copy, Default)]
struct Score {
    hounds: u32,
    hare: u32,
    draws: u32,
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let settings = Settings::parse();
    let solver = Solver::new();
    if let Some(dir) = &settings.tables_dir {
        let folder = Folder::at(dir);
        for name in folder.names() {
            if let Some(table) = folder.open(name)? {
                solver.add(table);
            }
        }
    }
    for variant in Variant::ALL {
        let rules = Rules::default_for(variant);
        if solver.position(rules, rules.starts()[0]).is_none() {
            println!("{variant}: there is no table; run leveret solve and say where it is with --tables-dir");
            continue;
        }
        println!("\n{variant}, {} games each\n", settings.games);
        println!("| hounds | hare | hounds won | hare won | drawn | the higher level scored |");
        println!("| --- | --- | --- | --- | --- | --- |");
        for lower in Level::all().filter(|level| *level < Level::HIGHEST) {
            let higher = Level::all().find(|level| *level > lower).ok_or("no level is higher")?;
            for stronger in Role::ALL {
                let mut levels = ByRole { hounds: lower, hare: lower };
                levels[stronger] = higher;
                let score = pairing(&solver, rules, levels, &settings);
                let won = if stronger == Role::Hounds { score.hounds } else { score.hare };
                let points = f64::from(won) + f64::from(score.draws) / 2.0;
                println!(
                    "| {} | {} | {} | {} | {} | {:.1} % |",
                    levels.hounds,
                    levels.hare,
                    score.hounds,
                    score.hare,
                    score.draws,
                    100.0 * points / f64::from(settings.games),
                );
            }
        }
    }
    Ok(())
}

/// Plays one pairing on all cores.
fn pairing(solver: &Solver, rules: Rules, levels: ByRole<Level>, settings: &Settings) -> Score {
    let cores = u32::try_from(thread::available_parallelism().map_or(1, usize::from)).unwrap_or(1);
    let scores: Vec<Score> = thread::scope(|scope| {
        let playing: Vec<_> = (0..cores)
            .map(|core| {
                scope.spawn(move || {
                    let pairing =
                        u64::from(levels.hounds.number()) << 16 | u64::from(levels.hare.number()) << 8;
                    let mut dice = StdRng::seed_from_u64(settings.seed << 32 | pairing | u64::from(core));
                    let mut score = Score::default();
                    for _ in (core..settings.games).step_by(cores as usize) {
                        match game(solver, rules, levels, &mut dice) {
                            GameResult::Hounds => score.hounds += 1,
                            GameResult::Hare => score.hare += 1,
                            GameResult::Draw => score.draws += 1,
                        }
                    }
                    score
                })
            })
            .collect();
        playing.into_iter().map(|core| core.join().expect("nobody panics")).collect()
    });
    scores.into_iter().fold(Score::default(), |sum, score| Score {
        hounds: sum.hounds + score.hounds,
        hare: sum.hare + score.hare,
        draws: sum.draws + score.draws,
    })
}

fn game(solver: &Solver, rules: Rules, levels: ByRole<Level>, dice: &mut StdRng) -> GameResult {
    let mut play = Play::begin(rules, rules.starts()[0]).expect("the rules start so");
    loop {
        if let Some(outcome) = play.outcome() {
            return outcome.result;
        }
        let level = levels[play.turn()];
        let mv = choose(solver, &play, level, dice.random()).expect("a game that goes on has moves");
        play.play_move(mv).expect("the computer plays legal moves");
    }
}
