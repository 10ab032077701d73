//! Names of models and files that are safe to use as names of folders and files.

use std::path::Path;

use percent_encoding::percent_decode_str;

use crate::error::ModelsError;

/// The most bytes of a name. Longer ones are cut; file systems allow 255 bytes,
/// and some letters are added for what stands beside a file.
const LONGEST: usize = 120;

/// What a file that is pulled by its address or path is called here.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct DerivedNames {
    /// The model: the file's name without its ending.
    pub(crate) model: String,
    pub(crate) file: String,
}

impl DerivedNames {
    /// Names for a file of this name; `None` when nothing of it can be used.
    pub(crate) fn from_file_name(file_name: &str) -> Option<Self> {
        let file = safe(file_name)?;
        let stem = Path::new(&file).file_stem().and_then(|stem| stem.to_str());
        let model = stem.and_then(safe)?;
        Some(DerivedNames { model, file })
    }
}

/// The name with everything replaced that a folder's name should not have.
fn safe(name: &str) -> Option<String> {
    let plain = |c: char| {
        if c.is_ascii_alphanumeric() || matches!(c, '.' | '_' | '-') { c } else { '-' }
    };
    let name: String = name.chars().map(plain).collect();
    let name = name.trim_start_matches(['.', '-']).trim_end_matches(['.', '-']);
    // The end of a file's name says what it is, so the beginning goes.
    let start = name.len().saturating_sub(LONGEST);
    let name = name[start..].trim_start_matches(['.', '-']);
    (!name.is_empty()).then(|| name.to_owned())
}

/// Refuses what is no name: something that could lead out of the library, or is
/// hidden in it.
pub(crate) fn check(name: &str) -> Result<&str, ModelsError> {
    match safe(name) {
        Some(safe) if safe == name => Ok(name),
        _ => Err(ModelsError::UnsafeName { name: name.to_owned() }),
    }
}

/// The last part of an address's path, with its `%20` and the like decoded.
pub(crate) fn last_segment(path: &str) -> String {
    let segment = path.trim_end_matches('/').rsplit('/').next().unwrap_or_default();
    percent_decode_str(segment).decode_utf8_lossy().into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn named(file_name: &str) -> Option<(String, String)> {
        DerivedNames::from_file_name(file_name).map(|named| (named.model, named.file))
    }

    #[test]
    fn a_file_gives_its_model_a_name() {
        let cases = [
            ("Qwen3-0.6B.Q4_K_M.gguf", "Qwen3-0.6B.Q4_K_M", "Qwen3-0.6B.Q4_K_M.gguf"),
            ("my model (1).gguf", "my-model--1", "my-model--1-.gguf"),
            ("naïve.gguf", "na-ve", "na-ve.gguf"),
            ("plain", "plain", "plain"),
            (".hidden.gguf", "hidden", "hidden.gguf"),
        ];
        for (file_name, model, file) in cases {
            assert_eq!(named(file_name), Some((model.into(), file.into())), "{file_name}");
        }
    }

    #[test]
    fn no_name_leads_anywhere_else() {
        for name in ["", ".", "..", "...", "-", "日本"] {
            assert_eq!(named(name), None, "{name}");
        }
        let (model, file) = named("../../etc/passwd\0\n\u{202e}.gguf").unwrap();
        for name in [&model, &file] {
            assert!(!name.contains(['/', '\\', '\0', '\n', '\u{202e}']), "{name}");
            assert!(!name.starts_with('.'), "{name}");
        }
        let (model, file) = named(&format!("{}.gguf", "x".repeat(1000))).unwrap();
        assert!(model.len() <= LONGEST && file.len() <= LONGEST && file.ends_with(".gguf"));
    }

    #[test]
    fn names_that_are_typed_are_taken_or_refused_but_never_changed() {
        for name in ["smollm2", "Qwen3-0.6B.Q4_K_M", "a_b"] {
            assert_eq!(check(name).unwrap(), name);
        }
        for name in ["", ".", "..", "../x", "a/b", "a\\b", "/etc", ".lock", "a b", "x\0", "~"] {
            assert!(matches!(check(name), Err(ModelsError::UnsafeName { .. })), "{name}");
        }
    }

    #[test]
    fn an_address_ends_in_a_file() {
        assert_eq!(last_segment("/a/b/my%20model.gguf"), "my model.gguf");
        assert_eq!(last_segment("/a/b/"), "b");
        assert_eq!(last_segment("/a/%2e%2e%2fx"), "../x");
        assert_eq!(last_segment("/100%"), "100%");
        assert_eq!(last_segment("/%zz%+4%4"), "%zz%+4%4");
        assert_eq!(last_segment("/"), "");
    }
}
