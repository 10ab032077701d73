//! Paths as the config means them: `~` is the person's home, and what is relative
//! starts at Recto's home, wherever Recto was started.

use std::path::{Component, Path, PathBuf};

use super::super::ConfigSources;
use super::super::keys::KeyKind;
use super::super::problem::{ValueMismatch, quoted};
use super::super::value::SettingValue;

/// The value with its paths expanded, or all that is wrong with them.
pub(super) fn expand_value(
    kind: KeyKind,
    value: SettingValue,
    sources: &ConfigSources,
) -> Result<SettingValue, Vec<ValueMismatch>> {
    let is_path = |text: &str| match kind {
        KeyKind::Program => has_folder(text),
        kind => kind == KeyKind::Path,
    };
    match value {
        SettingValue::Text(text) if is_path(&text) => {
            expand(&text, sources).map(SettingValue::Path).map_err(|wrong| vec![wrong])
        }
        SettingValue::Text(text)
            if kind == KeyKind::Program && text.contains(char::is_whitespace) =>
        {
            let wrong = ValueMismatch::new("must be a program alone");
            Err(vec![wrong.hint("put its arguments into the list `args`")])
        }
        SettingValue::List(texts) if kind == KeyKind::PathList => {
            let mut wrong = Vec::new();
            let expanded = texts.iter().map(|text| expand(text, sources));
            let paths = expanded.filter_map(|path| path.map_err(|one| wrong.push(one)).ok());
            let paths = paths.collect();
            if wrong.is_empty() { Ok(SettingValue::Paths(paths)) } else { Err(wrong) }
        }
        value => Ok(value),
    }
}

/// Whether a model is named by a file rather than by a name of its own.
pub(super) fn is_model_file(model: &str) -> bool {
    let ending = Path::new(model).extension();
    has_folder(model) || ending.is_some_and(|ending| ending.eq_ignore_ascii_case("gguf"))
}

/// Whether a text is a path rather than a name.
pub(super) fn has_folder(text: &str) -> bool {
    text.starts_with('~') || Path::new(text).components().count() > 1
}

pub(super) fn expand(text: &str, sources: &ConfigSources) -> Result<PathBuf, ValueMismatch> {
    let path = Path::new(text);
    let mut parts = path.components();
    let first = match parts.next() {
        Some(Component::Normal(first)) => first.to_string_lossy(),
        _ => "".into(),
    };
    if !first.starts_with('~') {
        return Ok(without_dots(&sources.home.join(path)));
    }
    let refused = |why: &str| {
        let what = format!("has the path {}, but {why}", quoted(&text));
        ValueMismatch::new(what).hint("write the whole path, or `./~` for a name that begins so")
    };
    match &sources.user_home {
        _ if first != "~" => Err(refused("`~` with a name behind it is not supported")),
        Some(home) => Ok(without_dots(&home.join(parts.as_path()))),
        None => Err(refused("there is no home directory that `~` could stand for")),
    }
}

/// The path without `.` parts and doubled slashes. `..` stays: what it means
/// depends on links.
fn without_dots(path: &Path) -> PathBuf {
    path.components().collect()
}
