//! The house rules of Hare and Hounds, and what players are told of the game.

use crate::rules::{
    ByRole, Descriptor, GivenValue, HouseRule, Reason, RuleError, RuleKind, RuleValue, words::words,
};

words! {
    /// What keeps the hounds from never letting the hare get away.
    pub enum GettingAway {
        /// The hare wins when the hounds have made thirty moves and the thirtieth did not corner it. The hounds may
        /// not make a move that brings back a position already seen in this game, with the same side to move.
        ThirtyMoves = "thirty-moves",
        /// The hare wins when ten moves of the hounds in a row were all vertical and the tenth did not corner it.
        /// There is no move limit and no ban on repetition.
        TenVertical = "ten-vertical",
    }
}

words! {
    /// Where the hare starts.
    pub enum HareStart {
        /// The hare starts at the right end, on e2.
        RightEnd = "right-end",
        /// The hare starts in the centre, on c2.
        Centre = "centre",
        /// The hare starts on d1, d2, d3 or e2, each as likely, drawn when the game is created.
        Random = "random",
    }
}

/// The house rules of a game of Hare and Hounds; any values go together.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct HouseRules {
    /// What keeps the hounds from never letting the hare get away.
    pub getting_away: GettingAway,
    /// Where the hare starts.
    pub hare_start: HareStart,
}

const GETTING_AWAY: HouseRule = HouseRule {
    name: "getting_away",
    explanation: "How the hare gets away from hounds that only wait.",
    kind: RuleKind::Choice(GettingAway::CHOICES),
    default: RuleValue::Text(HouseRules::DEFAULT.getting_away.word()),
};
const HARE_START: HouseRule = HouseRule {
    name: "hare_start",
    explanation: "Where the hare starts.",
    kind: RuleKind::Choice(HareStart::CHOICES),
    default: RuleValue::Text(HouseRules::DEFAULT.hare_start.word()),
};
const HOUSE_RULES: &[HouseRule] = &[GETTING_AWAY, HARE_START];

impl HouseRules {
    /// The house rules that hold if nobody says otherwise.
    pub const DEFAULT: HouseRules =
        HouseRules { getting_away: GettingAway::ThirtyMoves, hare_start: HareStart::RightEnd };

    /// The same house rules with one of them changed.
    pub(in crate::rules) fn with(self, name: &str, value: GivenValue<'_>) -> Result<HouseRules, RuleError> {
        if name == GETTING_AWAY.name {
            Ok(HouseRules { getting_away: value.word(&GETTING_AWAY)?, ..self })
        } else if name == HARE_START.name {
            Ok(HouseRules { hare_start: value.word(&HARE_START)?, ..self })
        } else {
            Err(RuleError::Unknown { name: name.to_owned(), known: HOUSE_RULES })
        }
    }

    /// Every house rule with its value, in the order in which they are described.
    pub(in crate::rules) fn entries(self) -> Vec<(&'static str, RuleValue)> {
        vec![
            (GETTING_AWAY.name, RuleValue::Text(self.getting_away.word())),
            (HARE_START.name, RuleValue::Text(self.hare_start.word())),
        ]
    }
}

/// What players are told of Hare and Hounds.
pub const DESCRIPTOR: Descriptor = Descriptor {
    name: "Hare and Hounds",
    summary: "Three hounds hunt a hare on a board of eleven points. A hound steps along a line to an empty point, \
              straight up or down or to the right, never to the left; the hare steps in any direction. Nobody jumps \
              and nothing is captured. The hounds move first. They win by leaving the hare without a move; the hare \
              wins by getting past them.",
    role_names: ByRole { hounds: "Hounds", hare: "Hare" },
    notation: "A point is a letter for the column, from the left, and a digit for the row, from the bottom. A step is \
               two points: b1-c1. A position is the hounds' points in ascending order, a slash, the hare's point, a \
               space and whose turn it is: a2b1b3/e2 hounds.",
    house_rules: HOUSE_RULES,
    reasons: &[Reason::Escaped, Reason::Cornered, Reason::HoundsStuck, Reason::MoveLimit, Reason::Stalling],
    rulings: &[
        "If it is the hounds' turn and they have no legal move, being blocked or because every move would repeat a \
         position, the hare wins.",
        "The hare escapes as soon as its column is strictly left of every hound's column, whether it was the hare or \
         a hound that moved.",
        "Ends are looked at in this order after a move: escaped; cornered; hounds-stuck; move-limit or stalling. So \
         cornering the hare with the thirtieth move, or with the tenth vertical move in a row, wins for the hounds.",
        "For the ban on repetition a position is where all four pieces stand and whose turn it is, and the start \
         counts. Only the hounds are bound by it.",
    ],
};
