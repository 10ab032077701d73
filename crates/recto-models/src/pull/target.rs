//! What a person wants pulled: a known model, an address, or a file.

use std::path::PathBuf;

use recto_context::nearest_name;
use reqwest::Url;

use super::address::DownloadAddress;
use crate::error::ModelsError;
use crate::known::KnownModel;
use crate::library::Library;

/// What a person has typed for a pull to bring.
#[derive(Debug)]
pub(super) enum PullTarget {
    Known(&'static KnownModel),
    Url(Url),
    Path(PathBuf),
}

impl PullTarget {
    /// Reads what was typed. A known name stands for its model even where a file
    /// has the same name: `./smollm2` is the file.
    pub(super) fn parse(text: &str, library: &Library) -> Result<Self, ModelsError> {
        if let Some(model) = library.known_by(text) {
            return Ok(PullTarget::Known(model));
        }
        if text.contains("://") {
            return DownloadAddress::parse_url(text).map(PullTarget::Url);
        }
        let path = PathBuf::from(text);
        if path.components().count() > 1 || path.extension().is_some() || path.exists() {
            return Ok(PullTarget::Path(path));
        }
        let names = library.known().iter().flat_map(KnownModel::names);
        Err(ModelsError::UnknownName {
            asked: text.to_owned(),
            nearest: nearest_name(text, names).map(str::to_owned),
            known: library.known().iter().map(|model| model.name.to_owned()).collect(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn describe(text: &str) -> String {
        match PullTarget::parse(text, &Library::new("/nowhere")) {
            Ok(PullTarget::Known(model)) => format!("known {}", model.name),
            Ok(PullTarget::Url(url)) => format!("url {url}"),
            Ok(PullTarget::Path(path)) => format!("path {}", path.display()),
            Err(error) => error.code().to_owned(),
        }
    }

    #[test]
    fn names_addresses_and_paths_are_told_apart() {
        let cases = [
            ("SmolLM2-135M-Instruct", "known smollm2"),
            ("sentence-transformers/all-MiniLM-L6-v2", "known minilm"),
            ("https://example.org/m.gguf", "url https://example.org/m.gguf"),
            ("HTTP://example.org/m.gguf", "url http://example.org/m.gguf"),
            ("./smollm2", "path ./smollm2"),
            ("/models/m.gguf", "path /models/m.gguf"),
            ("m.gguf", "path m.gguf"),
            ("src", "path src"),
            ("smolm2", "unknown_name"),
            ("", "unknown_name"),
            ("ftp://example.org/m.gguf", "bad_address"),
            ("http://", "bad_address"),
        ];
        for (text, expected) in cases {
            assert_eq!(describe(text), expected, "{text}");
        }
    }

    #[test]
    fn a_slip_is_told_with_what_was_meant() {
        let error = PullTarget::parse("smolm2", &Library::new("/nowhere")).unwrap_err();
        assert_eq!(error.to_string(), "no model is known by the name `smolm2`");
        assert_eq!(
            error.hint().unwrap(),
            "did you mean `smollm2`? Recto knows smollm2, minilm; \
             any other model has an address or a path"
        );
    }
}
