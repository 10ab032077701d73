//! What search is given: how much it brings, and where its encoder is.

use std::sync::Arc;

use recto_agent::{LazyEncoder, SearchParts};
use recto_models::{KnownModel, Library};
use recto_search::{ChoiceOptions, EncoderFiles, EncoderSource, SearchOptions};

use crate::config::{EncoderChoice, SearchGroupSettings, SearchSettings, Settings};

/// The model that turns texts into vectors, and its two files.
const ENCODER: &str = "minilm";
const WEIGHTS: &str = "model.safetensors";
const TOKENIZER: &str = "tokenizer.json";

pub(crate) fn search_parts(settings: &Settings) -> SearchParts {
    let encoder = encoder_source(settings).map(|source| Arc::new(LazyEncoder::new(source)));
    SearchParts { options: options(&settings.search), encoder }
}

/// What is set for a group wins over what is set for all of them, which wins
/// over the preset.
fn options(settings: &SearchSettings) -> SearchOptions {
    let list = settings.preset.list_options().with_lines(settings.list_lines as usize);
    let SearchSettings { enabled, own_use, .. } = *settings;
    let mut options = SearchOptions { enabled, own_use, list, ..SearchOptions::default() };
    for (group, own) in &settings.groups {
        let preset = settings.preset.options();
        *options.for_group_mut(*group) = laid_over(laid_over(preset, &settings.all), own);
    }
    options
}

fn laid_over(below: ChoiceOptions, set: &SearchGroupSettings) -> ChoiceOptions {
    ChoiceOptions {
        top_k: set.top_k.map_or(below.top_k, |count| count as usize),
        top_n: set.top_n.map_or(below.top_n, |count| count as usize),
        include_score: set.include_score.map_or(below.include_score, |score| score as f32),
        floor: set.floor.map_or(below.floor, |floor| floor as f32),
    }
}

/// Where the encoder is: the folder that is set, or the built-in one's files.
fn encoder_source(settings: &Settings) -> Option<EncoderSource> {
    let library = Library::new(&settings.model_files);
    match &settings.search.encoder {
        Some(EncoderChoice::Folder(folder)) => Some(EncoderSource::Chosen(folder.clone())),
        Some(EncoderChoice::Model(name)) if !is_built_in(&library, name) => {
            let folder =
                library.find(name).and_then(|model| Some(model.main()?.parent()?.to_owned()));
            let folder = folder.unwrap_or_else(|| library.folder().join(name));
            Some(EncoderSource::Chosen(folder))
        }
        Some(EncoderChoice::Model(_)) | None => encoder_files(settings).map(EncoderSource::BuiltIn),
    }
}

fn is_built_in(library: &Library, name: &str) -> bool {
    library.known_by(name).is_some_and(|model| model.name == ENCODER)
}

/// The encoder's files where a pull puts them, whether or not it has: it may while
/// Recto runs. What is wrong with them, the encoder says.
fn encoder_files(settings: &Settings) -> Option<EncoderFiles> {
    let library = Library::new(&settings.model_files);
    let known = library.known_by(ENCODER)?;
    let folder = library.folder().join(known.name);
    Some(EncoderFiles {
        weights: folder.join(WEIGHTS),
        tokenizer: folder.join(TOKENIZER),
        sha256: sum(known, WEIGHTS).zip(sum(known, TOKENIZER)).map(<[_; 2]>::from),
    })
}

/// The SHA-256 that the file of that name must have.
fn sum(known: &KnownModel, name: &str) -> Option<[u8; 32]> {
    let file = known.files.iter().find(|file| file.name == name)?;
    Some(file.sha256.bytes())
}

#[cfg(test)]
mod tests {
    use recto_search::{ItemGroup, SearchPreset};

    use super::*;
    use crate::config::{ConfigSources, load_text};

    fn options_of(text: &str) -> SearchOptions {
        options(&load_text(text, &ConfigSources::new("/r")).unwrap().settings.search)
    }

    #[test]
    fn a_group_wins_over_all_and_all_over_the_preset() {
        assert_eq!(options_of(""), SearchOptions::default());
        let found = options_of(
            "[search]\npreset = 'conservative'\ntop_n = 4\nfloor = 0.5\n\
             [search.skills]\ntop_n = 2\ninclude_score = 0.9\n",
        );
        let all = ChoiceOptions { top_k: 20, top_n: 4, include_score: 0.7, floor: 0.5 };
        assert_eq!(*found.for_group(ItemGroup::Documents), all);
        assert_eq!(*found.for_group(ItemGroup::Memories), all);
        let skills = ChoiceOptions { top_n: 2, include_score: 0.9, ..all };
        assert_eq!(*found.for_group(ItemGroup::Skills), skills);
        assert_eq!(found.list, SearchPreset::Conservative.list_options());
        assert!(found.enabled && !options_of("search.enabled = false\n").enabled);
        assert_eq!(options_of("search.list_lines = 3\n").list.lines, 3);
        assert!(found.own_use && !options_of("search.own_use = false\n").own_use);
    }

    #[test]
    fn the_encoder_is_looked_for_where_a_pull_puts_it() {
        let settings = load_text("", &ConfigSources::new("/r")).unwrap().settings;
        let folder = std::path::Path::new("/r/models/minilm");
        let files = encoder_files(&settings).unwrap();
        assert_eq!(files.weights, folder.join(WEIGHTS));
        assert_eq!(files.tokenizer, folder.join(TOKENIZER));
        assert_eq!(files.sha256.unwrap()[0][..2], [0x53, 0xaa]);
    }
}
