//! Which of the programs that a skill requires are not there. Looks for files
//! on the search path; starts nothing.

use std::borrow::Cow;
use std::ffi::OsStr;
use std::fs::{self, Metadata};

use serde_json::Value;

/// The programs that a skill's `metadata` requires and that are not on the
/// search path.
pub(crate) fn missing_programs(metadata: &Value, search_path: Option<&OsStr>) -> Vec<String> {
    let metadata = unpacked(metadata);
    required(&metadata)
        .filter(|program| !is_on_path(search_path, program))
        .map(str::to_owned)
        .collect()
}

/// The specification allows only texts as values of `metadata`, so some skills
/// carry theirs as JSON within a string.
fn unpacked(metadata: &Value) -> Cow<'_, Value> {
    match metadata {
        Value::String(json) => Cow::Owned(serde_json::from_str(json).unwrap_or_default()),
        value => Cow::Borrowed(value),
    }
}

/// `requires.bins`, at the top or one level down, under the name of a product.
fn required(metadata: &Value) -> impl Iterator<Item = &str> {
    let below = metadata.as_object().into_iter().flat_map(|map| map.values());
    std::iter::once(metadata)
        .chain(below)
        .filter_map(|value| value.pointer("/requires/bins"))
        .flat_map(|bins| bins.as_array().map_or(std::slice::from_ref(bins), Vec::as_slice))
        .filter_map(Value::as_str)
}

/// Whether a program is on the search path.
pub(crate) fn is_on_path(search_path: Option<&OsStr>, program: &str) -> bool {
    let Some(search_path) = search_path else {
        return false;
    };
    std::env::split_paths(search_path)
        .flat_map(|folder| {
            let path = folder.join(program);
            let with_suffix = path.with_added_extension(std::env::consts::EXE_EXTENSION);
            [path, with_suffix]
        })
        .any(|path| fs::metadata(path).is_ok_and(|metadata| is_program(&metadata)))
}

#[cfg(unix)]
fn is_program(metadata: &Metadata) -> bool {
    use std::os::unix::fs::PermissionsExt;
    metadata.is_file() && metadata.permissions().mode() & 0o111 != 0
}

#[cfg(not(unix))]
fn is_program(metadata: &Metadata) -> bool {
    metadata.is_file()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn programs_are_found_in_every_form_of_the_metadata() {
        let bins = json!({"bins": ["no-such-program"]});
        for metadata in [
            json!({"requires": bins}),
            json!({"openclaw": {"emoji": "x", "requires": bins}}),
            json!(json!({"openclaw": {"requires": bins}}).to_string()),
            json!({"requires": {"bins": "no-such-program"}}),
        ] {
            assert_eq!(missing_programs(&metadata, None), ["no-such-program"], "{metadata}");
        }
    }

    #[test]
    fn odd_metadata_requires_nothing() {
        for metadata in
            [json!(null), json!("not json"), json!([1]), json!({"requires": {"bins": 1}})]
        {
            assert!(missing_programs(&metadata, None).is_empty(), "{metadata}");
        }
    }

    #[cfg(unix)]
    #[test]
    fn only_executable_files_count() {
        use std::os::unix::fs::PermissionsExt;
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("tool");
        fs::write(&path, "").unwrap();
        let metadata = json!({"requires": {"bins": ["tool"]}});
        let search = Some(folder.path().as_os_str());
        fs::set_permissions(&path, fs::Permissions::from_mode(0o644)).unwrap();
        assert_eq!(missing_programs(&metadata, search), ["tool"]);
        fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
        assert!(missing_programs(&metadata, search).is_empty());
    }
}
