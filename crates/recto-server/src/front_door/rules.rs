//! What a client asks of its reply, in the forms that the vendors share: texts at which it ends,
//! and numbers by which words are chosen. The form of a reply each vendor writes in its own way.

use recto_llm::{ReplyFormat, ReplyRules};
use serde::Deserialize;
use serde_json::Value;

use crate::problem::{ApiProblem, ApiResult, DoorParameter};

/// The most texts at which a reply may end, and the longest of them, in bytes.
const MOST_STOPS: usize = 16;
const LONGEST_STOP: usize = 1_000;

/// How far the penalties go, to either side.
const MOST_PENALTY: f64 = 2.0;

/// Numbers by which words are chosen, under the names that both vendors have for them. Any value is
/// read: of one that is refused within a flattened struct, serde could not say where it stands.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(crate) struct SteeringNumbers {
    pub(crate) seed: Option<Value>,
    pub(crate) presence_penalty: Option<Value>,
    pub(crate) frequency_penalty: Option<Value>,
}

/// The rules for a reply; nothing where none are made.
pub(crate) fn reply_rules(
    stop: Option<&Value>,
    format: Option<ReplyFormat>,
    numbers: &SteeringNumbers,
) -> ApiResult<Option<ReplyRules>> {
    let rules = ReplyRules {
        stop: read_stops(stop)?,
        format,
        seed: read_seed(numbers.seed.as_ref())?,
        presence_penalty: read_penalty(
            DoorParameter::PresencePenalty,
            numbers.presence_penalty.as_ref(),
        )?,
        frequency_penalty: read_penalty(
            DoorParameter::FrequencyPenalty,
            numbers.frequency_penalty.as_ref(),
        )?,
    };
    Ok(Some(rules).filter(|rules| !rules.is_empty()))
}

/// The texts at which the reply is to end: one, several or none.
fn read_stops(stop: Option<&Value>) -> ApiResult<Vec<String>> {
    let invalid = |title: &str| ApiProblem::invalid(title).about(DoorParameter::Stop);
    let stops = match stop {
        None | Some(Value::Null) => Vec::new(),
        Some(Value::String(text)) => vec![text.clone()],
        Some(Value::Array(texts)) => {
            let texts = texts.iter().map(|text| text.as_str().map(str::to_owned));
            let texts: Option<Vec<String>> = texts.collect();
            texts.ok_or_else(|| invalid("`stop` is a text or a list of texts"))?
        }
        Some(_) => return Err(invalid("`stop` is a text or a list of texts")),
    };
    let stops: Vec<String> = stops.into_iter().filter(|stop| !stop.is_empty()).collect();
    if stops.len() > MOST_STOPS {
        return Err(invalid(&format!("`stop` has at most {MOST_STOPS} texts")));
    }
    if stops.iter().any(|stop| stop.len() > LONGEST_STOP || stop.contains('\0')) {
        let title = format!("a text of `stop` has at most {LONGEST_STOP} bytes, and no NUL");
        return Err(invalid(&title));
    }
    Ok(stops)
}

/// A whole number, also where a client writes it with a point.
fn read_seed(seed: Option<&Value>) -> ApiResult<Option<i64>> {
    let Some(seed) = seed.filter(|seed| !seed.is_null()) else { return Ok(None) };
    let whole = |number: f64| (number.fract() == 0.0 && number.abs() < 1e15).then_some(number);
    let number = seed.as_i64().or_else(|| seed.as_f64().and_then(whole).map(|it| it as i64));
    number.map(Some).ok_or_else(|| {
        let title = format!("`seed` is a whole number from {} to {}", i64::MIN, i64::MAX);
        ApiProblem::invalid(title).about(DoorParameter::Seed)
    })
}

/// A penalty. None at all is what servers do anyway, and is not sent to them.
fn read_penalty(parameter: DoorParameter, value: Option<&Value>) -> ApiResult<Option<f64>> {
    let Some(value) = value.filter(|value| !value.is_null()) else { return Ok(None) };
    match value.as_f64().filter(|value| (-MOST_PENALTY..=MOST_PENALTY).contains(value)) {
        Some(value) => Ok(Some(value).filter(|value| *value != 0.0)),
        None => {
            let title = format!(
                "`{}` is a number between -{MOST_PENALTY} and {MOST_PENALTY}",
                parameter.name()
            );
            Err(ApiProblem::invalid(title).about(parameter))
        }
    }
}
