//! Writes what was found as source of recto-search.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::fs;
use std::path::Path;

use recto_search::{ITEM, ItemGroup};

use super::weigh::{FittedDirection, FittedDirections, FittedWeights, GROUPS};
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

/// The order that a file of weights has: of each group by words alone, then with cosines.
pub(super) fn read_orders(path: &Path) -> Result<Vec<[[f32; ITEM]; 2]>> {
    let text = fs::read_to_string(path)?;
    let signals = text.lines().filter_map(|line| {
        let numbers = line.trim().strip_prefix("signals: [")?.strip_suffix("],")?;
        let numbers: Vec<f32> =
            numbers.split(", ").filter_map(|number| number.parse().ok()).collect();
        <[f32; ITEM]>::try_from(numbers).ok()
    });
    let signals: Vec<[f32; ITEM]> = signals.collect();
    if signals.len() != 2 * GROUPS.len() {
        return Err(format!("{}: no order to go on with", path.display()).into());
    }
    Ok(signals.chunks_exact(2).map(|both| [both[0], both[1]]).collect())
}

/// Replaces the numbers in a file of weights, and leaves its types alone.
pub(super) fn weights(
    path: &Path,
    fitted: &[[FittedWeights; 2]],
    requests: &FittedDirections,
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
            ItemGroup::Documents => "DOCUMENTS",
            ItemGroup::Memories => "MEMORIES",
        };
        writeln!(text, "\n/// By words alone, then with cosines.")?;
        writeln!(text, "#[rustfmt::skip]\nstatic {name}: [RankWeights; 2] = [")?;
        for weights in of {
            let FittedWeights { signals, message, message_bias, .. } = weights;
            let FittedWeights { group, group_bias, evidence, bias, .. } = weights;
            writeln!(text, "    RankWeights {{\n        signals: {signals:.3?},")?;
            writeln!(text, "        message: {message:.3?},")?;
            writeln!(text, "        message_bias: {message_bias:.3?},")?;
            writeln!(text, "        group: {group:.3?},")?;
            writeln!(text, "        group_bias: {group_bias:.3?},")?;
            writeln!(
                text,
                "        evidence: {evidence:.3?},\n        bias: {bias:.3?},\n    }},"
            )?;
        }
        writeln!(text, "];")?;
    }
    writeln!(
        text,
        "\n/// The direction of embeddings that requests have, and its scale.\n#[rustfmt::skip]"
    )?;
    writeln!(text, "pub(super) static REQUEST: Direction = ([")?;
    direction(&mut text, &requests.request)?;
    writeln!(text, ";")?;
    writeln!(
        text,
        "\n/// The directions of messages that need tools, skills, documents and memories."
    )?;
    writeln!(text, "#[rustfmt::skip]\nstatic NEEDS: [Direction; 4] = [")?;
    for need in &requests.needs {
        writeln!(text, "([")?;
        direction(&mut text, need)?;
        writeln!(text, ",")?;
    }
    writeln!(text, "];")?;
    Ok(fs::write(path, text)?)
}

/// The numbers of a direction, and its scale.
fn direction(text: &mut String, found: &FittedDirection) -> Result<()> {
    let most = found.direction.iter().fold(0.0, |most: f64, weight| most.max(weight.abs()));
    let scale = (most / 127.0).max(1e-9);
    wrapped(text, found.direction.iter().map(|weight| format!("{:.0}", weight / scale)))?;
    Ok(write!(text, "], {scale:.6})")?)
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
