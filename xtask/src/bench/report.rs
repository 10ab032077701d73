//! What a benchmark found, as a table for people and as JSON for programs.

use std::fmt;

use serde::ser::SerializeMap;
use serde::{Serialize, Serializer};

/// What a benchmark found.
#[derive(Debug, Clone, Serialize)]
pub(super) struct Report {
    /// What was measured, in a few sentences.
    pub(super) setup: String,
    /// The figures. All rows have the same ones.
    pub(super) rows: Vec<Row>,
    /// What was aimed for.
    pub(super) goals: Vec<Goal>,
}

/// Figures that belong together.
#[derive(Debug, Clone, Serialize)]
pub(super) struct Row {
    /// What they are about.
    pub(super) name: &'static str,
    /// The figures, in the order of the columns.
    #[serde(serialize_with = "by_key")]
    pub(super) figures: Vec<Figure>,
}

/// A measured value.
#[derive(Debug, Clone)]
pub(super) struct Figure {
    /// The head of its column.
    pub(super) name: &'static str,
    /// The value, in its unit.
    pub(super) value: f64,
    /// The unit.
    pub(super) unit: Unit,
}

/// What a value counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Unit {
    /// Thousandths of a second.
    Milliseconds,
    /// Bytes.
    Bytes,
    /// Things.
    Count,
}

/// A limit that a figure should keep.
#[derive(Debug, Clone)]
pub(super) struct Goal {
    /// Which figure.
    pub(super) name: &'static str,
    /// The most it should be.
    pub(super) limit: f64,
    /// What it is.
    pub(super) measured: f64,
    /// The unit of both.
    pub(super) unit: Unit,
}

impl Goal {
    fn is_met(&self) -> bool {
        self.measured <= self.limit
    }

    /// How much of the limit is used.
    fn share(&self) -> f64 {
        self.measured / self.limit
    }

    fn cells(&self) -> Vec<String> {
        let outcome = if self.is_met() { "met" } else { "MISSED" };
        vec![
            self.name.into(),
            self.unit.show(self.limit),
            self.unit.show(self.measured),
            format!("{:.3}", self.share()),
            outcome.into(),
        ]
    }
}

impl Serialize for Goal {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        map.serialize_entry("name", self.name)?;
        map.serialize_entry("unit", &self.unit)?;
        map.serialize_entry("limit", &self.limit)?;
        map.serialize_entry("measured", &self.measured)?;
        map.serialize_entry("share_of_limit", &self.share())?;
        map.serialize_entry("met", &self.is_met())?;
        map.end()
    }
}

impl Unit {
    /// The value with its unit. Bytes are decimal, as in the goals.
    fn show(self, value: f64) -> String {
        match self {
            Unit::Milliseconds => format!("{value:.3} ms"),
            Unit::Bytes if value >= 1e6 => format!("{:.2} MB", value / 1e6),
            Unit::Bytes => format!("{:.1} kB", value / 1e3),
            Unit::Count => format!("{value:.0}"),
        }
    }

    fn suffix(self) -> &'static str {
        match self {
            Unit::Milliseconds => "_ms",
            Unit::Bytes => "_bytes",
            Unit::Count => "",
        }
    }
}

/// Figures as an object whose keys tell their units: `p50_ms`.
fn by_key<S: Serializer>(figures: &[Figure], serializer: S) -> Result<S::Ok, S::Error> {
    let key = |figure: &Figure| figure.name.replace(' ', "_") + figure.unit.suffix();
    serializer.collect_map(figures.iter().map(|figure| (key(figure), figure.value)))
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{}\n", self.setup)?;
        let names = self.rows.first().map_or(&[][..], |row| &row.figures[..]);
        let head = std::iter::once("").chain(names.iter().map(|figure| figure.name));
        let rows = self.rows.iter().map(|row| {
            let figures = row.figures.iter().map(|figure| figure.unit.show(figure.value));
            std::iter::once(row.name.to_owned()).chain(figures).collect()
        });
        write_table(f, head.map(str::to_owned).collect(), rows)?;
        writeln!(f)?;
        let head = ["goal", "at most", "measured", "share", ""].map(str::to_owned);
        write_table(f, head.into(), self.goals.iter().map(Goal::cells))
    }
}

/// Writes columns as wide as they need to be, the first flush left.
fn write_table(
    f: &mut fmt::Formatter<'_>,
    head: Vec<String>,
    rows: impl Iterator<Item = Vec<String>>,
) -> fmt::Result {
    let rows: Vec<Vec<String>> = std::iter::once(head).chain(rows).collect();
    let width = |column: usize| {
        rows.iter().filter_map(|row| row.get(column)).map(|cell| cell.chars().count()).max()
    };
    for row in &rows {
        let mut line = String::new();
        for (column, cell) in row.iter().enumerate() {
            let width = width(column).unwrap_or_default();
            if column == 0 {
                line += &format!("{cell:<width$}");
            } else {
                line += &format!("  {cell:>width$}");
            }
        }
        writeln!(f, "{}", line.trim_end())?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn report() -> Report {
        let figure = |name, value, unit| Figure { name, value, unit };
        Report {
            setup: "A thing.".into(),
            rows: vec![Row {
                name: "warm",
                figures: vec![
                    figure("p50", 0.5, Unit::Milliseconds),
                    figure("most allocated", 2_500_000.0, Unit::Bytes),
                ],
            }],
            goals: vec![
                Goal { name: "p50", limit: 1.0, measured: 0.5, unit: Unit::Milliseconds },
                Goal { name: "allocated", limit: 1e6, measured: 2.5e6, unit: Unit::Bytes },
            ],
        }
    }

    #[test]
    fn the_table_shows_figures_and_goals() {
        let expected = "\
A thing.

           p50  most allocated
warm  0.500 ms         2.50 MB

goal        at most  measured  share
p50        1.000 ms  0.500 ms  0.500     met
allocated   1.00 MB   2.50 MB  2.500  MISSED
";
        assert_eq!(report().to_string(), expected);
    }

    #[test]
    fn keys_tell_their_units() {
        let json = serde_json::to_value(report()).unwrap();
        assert_eq!(json["rows"][0]["figures"]["most_allocated_bytes"], 2_500_000.0);
        assert_eq!(json["goals"][1]["met"], false);
    }
}
