//! What a benchmark found, as tables for people and as JSON for programs.

use std::borrow::Cow;
use std::fmt;

use serde::ser::SerializeMap;
use serde::{Serialize, Serializer};
use serde_json::Value;

/// What a benchmark found.
#[derive(Debug, Clone, Serialize)]
pub(super) struct BenchReport {
    /// What was measured, in a few sentences.
    pub(super) setup: String,
    /// What the figures were made of, where that is worth showing.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(super) details: Vec<FigureTable>,
    pub(super) rows: Vec<FigureRow>,
    /// What was aimed for.
    pub(super) goals: Vec<FigureGoal>,
    /// What has to be known beside the figures.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(super) remarks: Vec<String>,
    /// What is for programs alone: too much for a table.
    #[serde(skip_serializing_if = "Value::is_null")]
    pub(super) data: Value,
}

impl BenchReport {
    /// Figures that need no explanation.
    pub(super) fn new(setup: String, rows: Vec<FigureRow>, goals: Vec<FigureGoal>) -> Self {
        BenchReport {
            setup,
            details: Vec::new(),
            rows,
            goals,
            remarks: Vec::new(),
            data: Value::Null,
        }
    }
}

/// Rows under a heading. All of them have the same figures.
#[derive(Debug, Clone, Serialize)]
pub(super) struct FigureTable {
    pub(super) name: String,
    pub(super) rows: Vec<FigureRow>,
}

/// Figures that belong together.
#[derive(Debug, Clone, Serialize)]
pub(super) struct FigureRow {
    /// What they are about.
    pub(super) name: Cow<'static, str>,
    /// The figures, in the order of the columns.
    #[serde(serialize_with = "by_key")]
    pub(super) figures: Vec<Figure>,
    /// What else there is to say, in words.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) note: Option<String>,
}

impl FigureRow {
    /// Figures that speak for themselves.
    pub(super) fn new(name: impl Into<Cow<'static, str>>, figures: Vec<Figure>) -> Self {
        FigureRow { name: name.into(), figures, note: None }
    }

    fn cells(&self) -> Vec<String> {
        let figures = self.figures.iter().map(|figure| figure.unit.show(figure.value));
        std::iter::once(self.name.to_string()).chain(figures).chain(self.note.clone()).collect()
    }
}

/// A measured value with its name and its unit.
#[derive(Debug, Clone)]
pub(super) struct Figure {
    /// The head of its column.
    pub(super) name: &'static str,
    /// The value, in its unit.
    pub(super) value: f64,
    pub(super) unit: FigureUnit,
}

/// What a value counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum FigureUnit {
    /// Thousandths of a second.
    Milliseconds,
    Bytes,
    Count,
    /// A part of something, or one thing by another.
    Ratio,
    PerSecond,
}

/// A limit that a figure should keep.
#[derive(Debug, Clone)]
pub(super) struct FigureGoal {
    name: Cow<'static, str>,
    /// The side of the limit on which it should be.
    side: GoalSide,
    limit: f64,
    measured: f64,
    /// The unit of both.
    unit: FigureUnit,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
enum GoalSide {
    AtMost,
    AtLeast,
}

impl FigureGoal {
    /// A figure that should not exceed `limit`.
    pub(super) fn at_most(
        name: impl Into<Cow<'static, str>>,
        limit: f64,
        measured: f64,
        unit: FigureUnit,
    ) -> Self {
        FigureGoal { name: name.into(), side: GoalSide::AtMost, limit, measured, unit }
    }

    /// A figure that should reach `limit`.
    pub(super) fn at_least(
        name: impl Into<Cow<'static, str>>,
        limit: f64,
        measured: f64,
        unit: FigureUnit,
    ) -> Self {
        FigureGoal { name: name.into(), side: GoalSide::AtLeast, limit, measured, unit }
    }

    #[cfg(test)]
    pub(super) fn measured(&self) -> f64 {
        self.measured
    }

    fn is_met(&self) -> bool {
        match self.side {
            GoalSide::AtMost => self.measured <= self.limit,
            GoalSide::AtLeast => self.measured >= self.limit,
        }
    }

    /// How much of the limit is used, or reached.
    fn share(&self) -> f64 {
        self.measured / self.limit
    }

    fn cells(&self) -> Vec<String> {
        let sign = match self.side {
            GoalSide::AtMost => "≤",
            GoalSide::AtLeast => "≥",
        };
        let outcome = if self.is_met() { "met" } else { "MISSED" };
        vec![
            self.name.to_string(),
            format!("{sign} {}", self.unit.show(self.limit)),
            self.unit.show(self.measured),
            format!("{:.3}", self.share()),
            outcome.into(),
        ]
    }
}

impl Serialize for FigureGoal {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        map.serialize_entry("name", &self.name)?;
        map.serialize_entry("unit", &self.unit)?;
        map.serialize_entry("side", &self.side)?;
        map.serialize_entry("limit", &self.limit)?;
        map.serialize_entry("measured", &self.measured)?;
        map.serialize_entry("share_of_limit", &self.share())?;
        map.serialize_entry("met", &self.is_met())?;
        map.end()
    }
}

impl FigureUnit {
    /// The value with its unit. Bytes are decimal, as in the goals.
    fn show(self, value: f64) -> String {
        match self {
            // What divides by nothing has no value.
            _ if !value.is_finite() => "none".to_owned(),
            FigureUnit::Milliseconds if value >= 100.0 => format!("{value:.0} ms"),
            FigureUnit::Milliseconds => format!("{value:.3} ms"),
            FigureUnit::Bytes if value >= 1e6 => format!("{:.2} MB", value / 1e6),
            FigureUnit::Bytes => format!("{:.1} kB", value / 1e3),
            FigureUnit::Count => format!("{value:.0}"),
            FigureUnit::Ratio => format!("{value:.3}"),
            FigureUnit::PerSecond => format!("{value:.1}/s"),
        }
    }

    fn suffix(self) -> &'static str {
        match self {
            FigureUnit::Milliseconds => "_ms",
            FigureUnit::Bytes => "_bytes",
            FigureUnit::Count | FigureUnit::Ratio => "",
            FigureUnit::PerSecond => "_per_second",
        }
    }
}

/// Figures as an object whose keys tell their units: `p50_ms`.
fn by_key<S: Serializer>(figures: &[Figure], serializer: S) -> Result<S::Ok, S::Error> {
    let key = |figure: &Figure| figure.name.replace(' ', "_") + figure.unit.suffix();
    serializer.collect_map(figures.iter().map(|figure| (key(figure), figure.value)))
}

impl fmt::Display for BenchReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{}\n", self.setup)?;
        for FigureTable { name, rows } in &self.details {
            writeln!(f, "{name}")?;
            write_rows(f, rows)?;
            writeln!(f)?;
        }
        write_rows(f, &self.rows)?;
        if !self.goals.is_empty() {
            let head = ["goal", "limit", "measured", "share", ""].map(str::to_owned);
            writeln!(f)?;
            write_table(f, head.into(), self.goals.iter().map(FigureGoal::cells))?;
        }
        self.remarks.iter().try_for_each(|remark| writeln!(f, "\n{remark}"))
    }
}

fn write_rows(f: &mut fmt::Formatter<'_>, rows: &[FigureRow]) -> fmt::Result {
    let names = rows.first().map_or(&[][..], |row| &row.figures[..]);
    let head = std::iter::once("").chain(names.iter().map(|figure| figure.name));
    write_table(f, head.map(str::to_owned).collect(), rows.iter().map(FigureRow::cells))
}

/// Writes columns as wide as they need to be: flush left the first, and what
/// stands behind the last that has a head.
fn write_table(
    f: &mut fmt::Formatter<'_>,
    head: Vec<String>,
    rows: impl Iterator<Item = Vec<String>>,
) -> fmt::Result {
    let columns = head.len();
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
            } else if column < columns {
                line += &format!("  {cell:>width$}");
            } else {
                line += &format!("  {cell}");
            }
        }
        writeln!(f, "{}", line.trim_end())?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn figure(name: &'static str, value: f64, unit: FigureUnit) -> Figure {
        Figure { name, value, unit }
    }

    fn report() -> BenchReport {
        let rows = vec![FigureRow::new(
            "warm",
            vec![
                figure("p50", 0.5, FigureUnit::Milliseconds),
                figure("most allocated", 2_500_000.0, FigureUnit::Bytes),
            ],
        )];
        let goals = vec![
            FigureGoal::at_most("p50", 1.0, 0.5, FigureUnit::Milliseconds),
            FigureGoal::at_most("allocated", 1e6, 2.5e6, FigureUnit::Bytes),
            FigureGoal::at_least("cached", 0.95, 0.9, FigureUnit::Ratio),
        ];
        BenchReport::new("A thing.".into(), rows, goals)
    }

    #[test]
    fn the_table_shows_figures_and_goals() {
        let expected = "\
A thing.

           p50  most allocated
warm  0.500 ms         2.50 MB

goal            limit  measured  share
p50        ≤ 1.000 ms  0.500 ms  0.500     met
allocated   ≤ 1.00 MB   2.50 MB  2.500  MISSED
cached        ≥ 0.950     0.900  0.947  MISSED
";
        assert_eq!(report().to_string(), expected);
    }

    #[test]
    fn details_come_first_and_remarks_last() {
        let mut report = report();
        report.goals.clear();
        let row = FigureRow::new("1", vec![figure("read", 12.0, FigureUnit::Count)]);
        let noted = FigureRow { note: Some("a cause".to_owned()), ..row.clone() };
        report.details = vec![FigureTable { name: "Turns".to_owned(), rows: vec![row, noted] }];
        report.remarks = vec!["By the way.".to_owned()];
        let expected = "\
A thing.

Turns
   read
1    12
1    12  a cause

           p50  most allocated
warm  0.500 ms         2.50 MB

By the way.
";
        assert_eq!(report.to_string(), expected);
    }

    #[test]
    fn keys_tell_their_units() {
        let json = serde_json::to_value(report()).unwrap();
        assert_eq!(json["rows"][0]["figures"]["most_allocated_bytes"], 2_500_000.0);
        assert_eq!(json["goals"][1]["met"], false);
        assert_eq!(json["goals"][2]["side"], "at_least");
    }

    #[test]
    fn what_divides_by_nothing_has_no_value() {
        assert_eq!(FigureUnit::Ratio.show(1.0 / 0.0), "none");
        assert_eq!(FigureUnit::PerSecond.show(91.26), "91.3/s");
    }
}
