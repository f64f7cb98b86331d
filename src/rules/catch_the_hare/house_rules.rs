//! The house rules of Catch the Hare, and what players are told of the game.

use crate::rules::{
    Board, ByRole, Descriptor, GivenValue, HouseRule, Reason, RuleError, RuleKind, RuleValue, words::words,
};

words! {
    /// Which diagonals the board has.
    pub enum BoardLines {
        /// The alquerque board: every second point carries diagonals, sixteen short ones in all.
        Alquerque = "alquerque",
        /// Only the two long diagonals from corner to corner, as on the reduced boards of the American descendants:
        /// coyote and chickens, Indian and jackrabbits.
        LongDiagonals = "long-diagonals",
        /// No diagonals, as in today's juego de la liebre.
        NoDiagonals = "no-diagonals",
    }
}

words! {
    /// When the hunters are too few.
    pub enum TooFew {
        /// The hare wins when nine hunters are left: of the twelve of the book of 1283 the third capture leaves too
        /// few. Needs ten hunters or more at the start.
        BelowTen = "below-ten",
        /// The hare wins only when the hunters left could not take away every move of a hare on any point of the
        /// board: when they are fewer than five, on the board without diagonals fewer than four.
        CannotEnclose = "cannot-enclose",
    }
}

/// The house rules of a game of Catch the Hare; not all values go together.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct HouseRules {
    /// Which diagonals the board has.
    pub board: BoardLines,
    /// How many hunters there are at the start.
    pub hunters: u8,
    /// When the hunters are too few.
    pub too_few: TooFew,
}

const BOARD: HouseRule = HouseRule {
    name: "board",
    explanation: "Which diagonals the board has.",
    kind: RuleKind::Choice(BoardLines::CHOICES),
    default: RuleValue::Text(HouseRules::DEFAULT.board.word()),
};
const HUNTERS: HouseRule = HouseRule {
    name: "hunters",
    explanation: "How many hunters there are at the start; fewer are a handicap. Nine need cannot-enclose.",
    kind: RuleKind::Number { min: 9, max: 14 },
    default: RuleValue::Number(HouseRules::DEFAULT.hunters),
};
const TOO_FEW: HouseRule = HouseRule {
    name: "too_few",
    explanation: "When so few hunters are left that the hare wins.",
    kind: RuleKind::Choice(TooFew::CHOICES),
    default: RuleValue::Text(HouseRules::DEFAULT.too_few.word()),
};
const HOUSE_RULES: &[HouseRule] = &[BOARD, HUNTERS, TOO_FEW];

/// With how many hunters left the hare has won under `below-ten`.
const NINE: u8 = 9;

impl HouseRules {
    /// The house rules that hold if nobody says otherwise.
    pub const DEFAULT: HouseRules =
        HouseRules { board: BoardLines::Alquerque, hunters: 12, too_few: TooFew::BelowTen };

    /// The board played on.
    pub fn board(self) -> &'static Board {
        match self.board {
            BoardLines::Alquerque => Board::alquerque(),
            BoardLines::LongDiagonals => Board::long_diagonals(),
            BoardLines::NoDiagonals => Board::no_diagonals(),
        }
    }

    /// The number of hunters left at which the hare has won.
    pub fn too_few_left(self) -> u8 {
        match self.too_few {
            TooFew::BelowTen => NINE,
            TooFew::CannotEnclose => self.board().fewest_to_enclose() - 1,
        }
    }

    /// The same house rules with one of them changed.
    pub(in crate::rules) fn with(self, name: &str, value: GivenValue<'_>) -> Result<HouseRules, RuleError> {
        if name == BOARD.name {
            Ok(HouseRules { board: value.word(&BOARD)?, ..self })
        } else if name == HUNTERS.name {
            Ok(HouseRules { hunters: value.number(&HUNTERS)?, ..self })
        } else if name == TOO_FEW.name {
            Ok(HouseRules { too_few: value.word(&TOO_FEW)?, ..self })
        } else {
            Err(RuleError::Unknown { name: name.to_owned(), known: HOUSE_RULES })
        }
    }

    /// Says what does not go together, if something does not.
    pub(in crate::rules) fn check(self) -> Result<(), RuleError> {
        GivenValue::Number(self.hunters.into()).number(&HUNTERS)?;
        if self.too_few == TooFew::BelowTen && self.hunters <= NINE {
            return Err(RuleError::Combination {
                name: HUNTERS.name,
                explanation: "nine hunters need too_few to be cannot-enclose: below ten, the hare has won",
            });
        }
        Ok(())
    }

    /// Every house rule with its value, in the order in which they are described.
    pub(in crate::rules) fn entries(self) -> Vec<(&'static str, RuleValue)> {
        vec![
            (BOARD.name, RuleValue::Text(self.board.word())),
            (HUNTERS.name, RuleValue::Number(self.hunters)),
            (TOO_FEW.name, RuleValue::Text(self.too_few.word())),
        ]
    }
}

/// What players are told of Catch the Hare.
pub const DESCRIPTOR: Descriptor = Descriptor {
    name: "Catch the Hare",
    summary: "Twelve hunters hunt a hare on the alquerque board of five by five points. All pieces step along a line \
              to an empty point, in any direction. The hare also leaps along a straight line over a hunter beside it \
              onto the empty point just beyond, which takes that hunter off at once, and may leap on from there. The \
              hunters move first. They win by leaving the hare without a move; the hare wins when they are too few.",
    role_names: ByRole { hounds: "Hunters", hare: "Hare" },
    notation: "A point is a letter for the column, from the left, and a digit for the row, from the bottom. A step is \
               two points: b1-c1. A leap names every point landed on: b4xd2xd4. A position is the hunters' points in \
               ascending order, a slash, the hare's point, a space and whose turn it is: \
               a1a2a3b1b2c1c2d1d2e1e2e3/c3 hounds.",
    house_rules: HOUSE_RULES,
    reasons: &[
        Reason::HuntersTooFew,
        Reason::Enclosed,
        Reason::HoundsStuck,
        Reason::Repetition,
        Reason::NoProgress,
    ],
    rulings: &[
        "Leaping is never compulsory, and the hare may stop after any leap. All leaps of one turn are one move.",
        "A hunter leapt over is taken off at once, so it cannot be leapt over again in the same move; and the point \
         from which the hare set out is empty for the leaps that follow, so it may come back to it.",
        "The game ends the moment the hunters are too few, in the midst of a leap that could have gone on too.",
        "If it is the hunters' turn and none can move, the hare wins.",
        "When the same position, pieces and turn, stands for the third time, the game is drawn without a claim.",
        "When fifty moves of each side have passed without a capture, the game is drawn without a claim.",
        "Ends are looked at in this order after a move: hunters-too-few; enclosed; hounds-stuck; repetition; \
         no-progress.",
    ],
};
