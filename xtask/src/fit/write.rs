//! Writes what was found as source of recto-search.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::fs;
use std::path::Path;

use recto_search::ItemGroup;

use super::weigh::{FittedWeights, GROUPS, RequestDirection};
use crate::Result;

/// Writes the background; says whether it is another than before.
pub(super) fn background(path: &Path, words: &BTreeMap<String, u16>) -> Result<bool> {
    let mut text = String::from(
        "# How common words are at large: stems, in order, with how many of a thousand items they \
         stand in.\n# Written by `cargo xtask fit`.\n",
    );
    for (word, share) in words {
        writeln!(text, "{word} {share}")?;
    }
    let is_new = fs::read_to_string(path)? != text;
    fs::write(path, text)?;
    Ok(is_new)
}

/// Replaces the numbers in a file of weights, and leaves its types alone.
pub(super) fn weights(
    path: &Path,
    fitted: &[[FittedWeights; 2]],
    requests: &RequestDirection,
) -> Result<()> {
    const MARK: &str = "// From here on written by `cargo xtask fit`.\n";
    let before = fs::read_to_string(path)?;
    let Some((types, _)) = before.split_once(MARK) else {
        return Err(format!("{}: the line `{}` is missing", path.display(), MARK.trim()).into());
    };
    let mut text = format!("{types}{MARK}");
    for (group, of) in GROUPS.iter().zip(fitted) {
        let name = match group {
            ItemGroup::Tools => "TOOLS",
            ItemGroup::Skills => "SKILLS",
            _ => "DOCUMENTS",
        };
        writeln!(text, "\n/// By words alone, then with cosines.")?;
        writeln!(text, "#[rustfmt::skip]\nstatic {name}: [Weights; 2] = [")?;
        for FittedWeights { signals, contrast, fitness, bias } in of {
            writeln!(text, "    Weights {{")?;
            writeln!(text, "        signals: {signals:.3?},\n        contrast: {contrast:.2?},")?;
            writeln!(text, "        fitness: {fitness:.3?},\n        bias: {bias:.3?},\n    }},")?;
        }
        writeln!(text, "];")?;
    }
    let most = requests.direction.iter().fold(0.0, |most: f64, weight| most.max(weight.abs()));
    let scale = (most / 127.0).max(1e-9);
    writeln!(
        text,
        "\n/// The direction of embeddings that requests have, and its scale.\n#[rustfmt::skip]"
    )?;
    writeln!(text, "pub(super) static REQUEST: ([i8; DIMENSIONS], f32) = ([")?;
    wrapped(&mut text, requests.direction.iter().map(|weight| format!("{:.0}", weight / scale)))?;
    writeln!(text, "], {scale:.6});")?;
    Ok(fs::write(path, text)?)
}

/// Values with commas between them, in lines that are not too long.
fn wrapped(text: &mut String, values: impl Iterator<Item = String>) -> Result<()> {
    let mut line = String::from("   ");
    for value in values {
        if line.len() + value.len() + 2 > 100 {
            writeln!(text, "{line}")?;
            line = String::from("   ");
        }
        write!(line, " {value},")?;
    }
    Ok(writeln!(text, "{line}")?)
}
