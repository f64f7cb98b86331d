//! House rules as JSON objects, in the database and on the wire: `{"board": "alquerque", "hunters": 12}`.

use serde_json::{Map, Value};

use crate::rules::{GivenValue, RuleError, RuleValue, Rules, Variant};

/// All house rules, spelled out.
pub fn to_json(rules: &Rules) -> Map<String, Value> {
    let value = |value| match value {
        RuleValue::Text(text) => Value::from(text),
        RuleValue::Number(number) => Value::from(number),
    };
    rules.entries().into_iter().map(|(name, given)| (name.to_owned(), value(given))).collect()
}

/// The house rules that `given` asks for; what it leaves out is as usual.
///
/// # Errors
///
/// Which rule is unknown or has a value that is not allowed, or which do not go together.
pub fn from_json(variant: Variant, given: &Map<String, Value>) -> Result<Rules, RuleError> {
    let mut rules = Rules::default_for(variant);
    for (name, value) in given {
        let text = value.to_string();
        let value = match value {
            Value::String(text) => GivenValue::Text(text),
            Value::Number(number) => number.as_i64().map_or(GivenValue::Text(&text), GivenValue::Number),
            _ => GivenValue::Text(&text),
        };
        rules = rules.with(name, value)?;
    }
    rules.check()?;
    Ok(rules)
}

/// All house rules, spelled out in one line: `board=alquerque hunters=12`.
pub fn to_text(rules: &Rules) -> String {
    let word = |(name, value)| match value {
        RuleValue::Text(text) => format!("{name}={text}"),
        RuleValue::Number(number) => format!("{name}={number}"),
    };
    rules.entries().into_iter().map(word).collect::<Vec<_>>().join(" ")
}
