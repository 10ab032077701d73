//! The models on disk, as a table and for programs.

use recto_models::{ByteSize, InstalledModel};
use serde_json::{Value, json};

use crate::draw::TextTable;

pub(super) fn table(models: &[InstalledModel]) -> TextTable {
    let mut table = TextTable::new(["name", "purpose", "size", "path"]);
    table.align_right(2);
    for model in models {
        let path = model.main().map(|path| path.display().to_string()).unwrap_or_default();
        let path = match &model.missing[..] {
            [] => path,
            missing => format!("{path} (missing: {})", missing.join(", ")),
        };
        let size = ByteSize(model.size()).to_string();
        table.row([model.name.clone(), model.purpose.to_string(), size, path]);
    }
    table
}

pub(super) fn json(models: &[InstalledModel]) -> Value {
    let model = |model: &InstalledModel| {
        let files = model.files.iter();
        let files = files.map(|file| json!({"path": file.path, "size": file.size}));
        json!({
            "name": model.name,
            "title": model.title,
            "purpose": model.purpose.name(),
            "files": files.collect::<Value>(),
            "missing": model.missing,
        })
    };
    models.iter().map(model).collect()
}
