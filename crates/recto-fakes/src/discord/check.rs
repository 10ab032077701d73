//! What Discord asks of bodies: messages, buttons, commands, answers to interactions.

use serde_json::{Value, json};

use super::rest::RestError;

/// The most characters of a message.
const MOST_TEXT: usize = 2_000;

/// The most characters of what names a try to send a message.
const MOST_NONCE: usize = 25;

/// The marks of a message that a bot can set: no previews, no notification.
const MESSAGE_FLAGS: u64 = 1 << 2 | 1 << 12;

/// The mark that only one person sees an answer.
pub(super) const EPHEMERAL: u64 = 1 << 6;

/// Refuses fields that the route does not have: whoever sends one means something by it.
pub(super) fn check_fields(body: &Value, known: &[&str]) -> Result<(), RestError> {
    let Some(fields) = body.as_object() else {
        return Err(RestError::mistake(50_109, "The request body contains invalid JSON."));
    };
    match fields.keys().find(|name| !known.contains(&name.as_str())) {
        Some(unknown) => Err(RestError::form(format!("unknown field `{unknown}`"))),
        None => Ok(()),
    }
}

/// The text of a message that can be sent.
pub(super) fn check_content(body: &Value) -> Result<String, RestError> {
    let text = body["content"].as_str().unwrap_or_default();
    if text.trim().is_empty() {
        return Err(RestError::mistake(50_006, "Cannot send an empty message"));
    }
    if text.chars().count() > MOST_TEXT {
        return Err(RestError::form("content: Must be 2000 or fewer in length.".to_owned()));
    }
    // Stricter than Discord: nothing that a model writes may call anybody.
    if body["allowed_mentions"] != json!({"parse": []})
        && body["allowed_mentions"] != json!({"parse": [], "replied_user": false})
    {
        return Err(RestError::form("the message could call people".to_owned()));
    }
    let flags = body.get("flags").map_or(Some(0), Value::as_u64);
    match flags {
        Some(flags) if flags & !(MESSAGE_FLAGS | EPHEMERAL) == 0 => Ok(text.to_owned()),
        _ => Err(RestError::form("flags: they can't be set".to_owned())),
    }
}

/// What names a try to send a message, if anything does.
pub(super) fn check_nonce(body: &Value) -> Result<Option<String>, RestError> {
    let nonce = match &body["nonce"] {
        Value::Null => None,
        Value::String(nonce) => Some(nonce.clone()),
        Value::Number(nonce) => Some(nonce.to_string()),
        _ => return Err(RestError::form("nonce: it is no text and no number".to_owned())),
    };
    match &nonce {
        Some(nonce) if nonce.chars().count() > MOST_NONCE => {
            Err(RestError::form("nonce: Must be 25 or fewer in length.".to_owned()))
        }
        None if body["enforce_nonce"] == true => {
            Err(RestError::form("enforce_nonce without a nonce".to_owned()))
        }
        _ => Ok(nonce),
    }
}

/// What is written on the buttons below a message.
pub(super) fn check_components(components: &Value) -> Result<Vec<String>, RestError> {
    let refuse = |why: &str| Err(RestError::form(format!("components: {why}")));
    if components.is_null() {
        return Ok(Vec::new());
    }
    let Some(rows) = components.as_array().filter(|rows| rows.len() <= 5) else {
        return refuse("they are no list of at most five rows");
    };
    let (mut labels, mut ids) = (Vec::new(), Vec::new());
    for row in rows {
        let buttons = row["components"].as_array();
        let Some(buttons) = buttons.filter(|it| (1..=5).contains(&it.len()) && row["type"] == 1)
        else {
            return refuse("a row has one to five buttons");
        };
        for button in buttons {
            check_fields(button, &["type", "style", "label", "custom_id", "disabled"])?;
            let label = button["label"].as_str().unwrap_or_default();
            let id = button["custom_id"].as_str().unwrap_or_default();
            let is_fine = button["type"] == 2
                && button["style"].as_u64().is_some_and(|style| (1..=4).contains(&style))
                && (1..=80).contains(&label.chars().count())
                && (1..=100).contains(&id.chars().count());
            if !is_fine || ids.contains(&id) {
                return refuse("a button has a style, a label and an id of its own");
            }
            ids.push(id);
            labels.push(label.to_owned());
        }
    }
    Ok(labels)
}

/// Refuses commands that Discord would not list.
pub(super) fn check_commands(commands: &Value) -> Result<Vec<Value>, RestError> {
    let refuse = |why: String| Err(RestError::form(why));
    let Some(list) = commands.as_array().filter(|list| list.len() <= 100) else {
        return refuse("commands are a list of at most 100".to_owned());
    };
    let mut names = Vec::new();
    for command in list {
        check_fields(
            command,
            &["name", "description", "type", "options", "contexts", "integration_types"],
        )?;
        let name = check_named(command)?;
        if names.contains(&name) {
            return refuse(format!("the command `{name}` is there twice"));
        }
        names.push(name);
        let options = command["options"].as_array().map(Vec::as_slice).unwrap_or_default();
        for option in options {
            check_fields(option, &["name", "description", "type", "required", "max_length"])?;
            check_named(option)?;
            if option["type"] != 3 {
                return refuse("an option is a text".to_owned());
            }
        }
    }
    Ok(list.clone())
}

fn check_named(thing: &Value) -> Result<&str, RestError> {
    let name = thing["name"].as_str().unwrap_or_default();
    let about = thing["description"].as_str().unwrap_or_default();
    let is_name = |c: char| (c.is_alphanumeric() && !c.is_uppercase()) || "-_'".contains(c);
    let is_fine = (1..=32).contains(&name.chars().count())
        && name.chars().all(is_name)
        && (1..=100).contains(&about.chars().count());
    match is_fine {
        true => Ok(name),
        false => Err(RestError::form(format!("`{name}` is no name, or has no description"))),
    }
}

/// An answer to an interaction: its kind, its text, and whether only one person sees it.
pub(super) fn check_callback(
    body: &Value,
    is_button: bool,
) -> Result<(u64, String, bool), RestError> {
    check_fields(body, &["type", "data"])?;
    let kind = body["type"].as_u64().unwrap_or_default();
    let is_ephemeral = body["data"]["flags"].as_u64().unwrap_or_default() & EPHEMERAL != 0;
    match kind {
        4 => {
            check_fields(&body["data"], &["content", "flags", "allowed_mentions"])?;
            Ok((kind, check_content(&body["data"])?, is_ephemeral))
        }
        5 => {
            if !body["data"].is_null() {
                check_fields(&body["data"], &["flags"])?;
            }
            Ok((kind, String::new(), is_ephemeral))
        }
        6 if is_button => Ok((kind, String::new(), true)),
        _ => Err(RestError::form(format!("type: {kind} can't be the answer to this"))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn message(content: &str) -> Value {
        json!({"content": content, "allowed_mentions": {"parse": []}})
    }

    #[test]
    fn messages_are_short_and_call_nobody() {
        assert!(check_content(&message(&"x".repeat(2_000))).is_ok());
        let refused = [
            message(&"x".repeat(2_001)),
            message(" \n"),
            json!({"content": "hi"}),
            json!({"content": "hi", "allowed_mentions": {"parse": ["users"]}}),
            json!({"content": "hi", "allowed_mentions": {"parse": []}, "flags": 1}),
        ];
        for body in refused {
            assert!(check_content(&body).is_err_and(|error| error.is_mistake), "{body}");
        }
    }

    #[test]
    fn a_nonce_has_25_characters_at_most() {
        let nonce = |nonce: Value| check_nonce(&json!({"nonce": nonce, "enforce_nonce": true}));
        assert_eq!(nonce(json!("x".repeat(25))).unwrap(), Some("x".repeat(25)));
        assert_eq!(nonce(json!(7)).unwrap(), Some("7".to_owned()));
        assert!(nonce(json!("x".repeat(26))).is_err());
        assert!(nonce(Value::Null).is_err());
    }

    #[test]
    fn buttons_have_ids_of_their_own() {
        let button = |id: &str| json!({"type": 2, "style": 1, "label": "Yes", "custom_id": id});
        let row = |buttons: &[Value]| json!([{"type": 1, "components": buttons}]);
        assert_eq!(check_components(&row(&[button("a"), button("b")])).unwrap(), ["Yes", "Yes"]);
        let refused = [
            row(&[]),
            row(&[button("a"), button("a")]),
            row(&[button(&"x".repeat(101))]),
            row(&vec![button("a"); 6]),
            json!([button("a")]),
            json!({}),
        ];
        for components in refused {
            assert!(check_components(&components).is_err(), "{components}");
        }
    }

    #[test]
    fn commands_have_names_and_descriptions() {
        let command = |name: &str, about: &str| json!([{"name": name, "description": about}]);
        assert!(check_commands(&command("new", "begin anew")).is_ok());
        for (name, about) in [("New", "x"), ("a b", "x"), ("", "x"), ("new", "")] {
            assert!(check_commands(&command(name, about)).is_err(), "{name}");
        }
        let twice = json!([{"name": "a", "description": "x"}, {"name": "a", "description": "x"}]);
        assert!(check_commands(&twice).is_err());
    }

    #[test]
    fn interactions_have_answers_of_their_kind() {
        let answer = |kind: u64, is_button| check_callback(&json!({"type": kind}), is_button);
        assert!(answer(5, true).is_ok() && answer(6, true).is_ok());
        assert!(answer(6, false).is_err() && answer(1, true).is_err() && answer(4, true).is_err());
        let body = json!({"type": 4, "data": {"content": "no", "flags": EPHEMERAL,
            "allowed_mentions": {"parse": []}}});
        assert_eq!(check_callback(&body, true).unwrap(), (4, "no".to_owned(), true));
    }
}
