//! What a year of use costs: how long a recall takes, and what memory adds to a turn and
//! to a start.
//!
//! Everything is made up, and the same in every run; the store and the vectors are
//! real, and kept in the folder `memory-home` between runs, because it takes minutes to
//! embed 50,000 messages.

mod home;
mod parts;
mod recall;
mod start;
mod turns;
mod words;
mod year;

use std::future::Future;
use std::path::Path;

use recto_search::EncoderFiles;

use super::pair::TimedPair;
use super::report::{BenchReport, FigureGoal, FigureRow, FigureTable, FigureUnit};
use super::{KeptFiles, embed};
use crate::Result;
use crate::project::build_recto;
use home::{HomeRules, YearHome};

/// Milliseconds that a recall may take while the agent runs.
const MOST_FOR_A_RECALL: f64 = 20.0;

/// Milliseconds that memory may add to a turn.
const MOST_FOR_A_TURN: f64 = 2.0;

/// What a start may take, by one without any memories: as good as the same.
const MOST_FOR_A_START: f64 = 1.05;

/// Who made the year or its vectors has much in memory that a start has not.
const AGAIN: &str = "The year was made in this run, so what a recall takes in memory is not \
                     shown: run it once more.";

/// Makes the year in `folder`, unless it is there, and measures.
pub(super) fn run(folder: &Path, files: KeptFiles) -> Result<BenchReport> {
    let recto = build_recto()?;
    let model = embed::find();
    let mut remarks = Vec::new();
    if let Err(error) = &model {
        remarks.push(format!("Nothing was searched by meaning: {error}"));
    }
    let model = model.ok();
    let encoder = model.as_deref().map(embed::files_in);
    let folder = folder.join("memory-home");
    let made = apart(YearHome::prepare(&folder, files))?;
    let home = made.home;
    let mut is_new = made.is_new;
    if let Some(encoder) = encoder.as_ref().filter(|_| !home.is_embedded()) {
        apart(recall::embed(&home, encoder))?;
        home.mark_embedded()?;
        is_new = true;
    }
    if is_new {
        remarks.push(AGAIN.to_owned());
    }
    let measured = measure(&recto, &home, model.as_deref(), encoder.as_ref())?;
    let resident = measured.recalls.first().filter(|_| !is_new);
    Ok(BenchReport {
        remarks,
        ..measured.report(resident.and_then(recall::RecallTimes::resident_row))
    })
}

/// Does something in a runtime of its own: when this is over, nothing of it is at work
/// any more, and every store is closed.
fn apart<T>(work: impl Future<Output = Result<T>>) -> Result<T> {
    tokio::runtime::Builder::new_multi_thread().enable_all().build()?.block_on(work)
}

/// All that was measured.
struct MemoryFigures {
    recalls: Vec<recall::RecallTimes>,
    turns: Vec<turns::MemoryOverhead>,
    of_recall: Vec<FigureRow>,
    of_turn: Vec<FigureRow>,
    starts: Vec<TimedPair>,
}

fn measure(
    recto: &Path,
    home: &YearHome,
    model: Option<&Path>,
    encoder: Option<&EncoderFiles>,
) -> Result<MemoryFigures> {
    let mut recalls = Vec::new();
    if encoder.is_some() {
        eprintln!("recalls by meaning and words");
        recalls.push(recall::measure(home, encoder)?);
    }
    eprintln!("recalls by words alone");
    recalls.push(recall::measure(home, None)?);
    let (mut turns, mut starts) = (Vec::new(), Vec::new());
    for rules in [HomeRules::Searched, HomeRules::None] {
        eprintln!("turns and starts, {}", rules.describe());
        let folder = tempfile::tempdir()?;
        turns.push(apart(turns::measure(home, folder.path(), rules, encoder))?);
        starts.push(start::measure(recto, home, folder.path(), rules, model)?);
    }
    eprintln!("parts by themselves");
    let of_recall = apart(parts::measure_recall(home, encoder))?;
    let of_turn = apart(parts::measure_turn(home, encoder))?;
    Ok(MemoryFigures { recalls, turns, of_recall, of_turn, starts })
}

impl MemoryFigures {
    fn report(&self, resident: Option<FigureRow>) -> BenchReport {
        let setup = format!(
            "A year: {} memories in MEMORY.md, {} daily notes, {} sessions of {} messages. \
             Recalls: of all of it, by different queries, while the agent runs, and the first \
             after a start. Turns: the same messages with the year's memories and without any, \
             where rules are searched, too, and where nothing else is.",
            year::MEMORIES,
            year::DAYS,
            year::SESSIONS,
            year::MESSAGES,
        );
        let table = |name: &str, rows: Vec<FigureRow>| FigureTable { name: name.to_owned(), rows };
        let of_recalls =
            |row: fn(&recall::RecallTimes) -> FigureRow| self.recalls.iter().map(row).collect();
        let mut details = vec![
            table("Recall, warm", of_recalls(recall::RecallTimes::warm_row)),
            table(
                "Recall, the first after a start, median",
                of_recalls(recall::RecallTimes::first_row),
            ),
        ];
        details.extend(resident.map(|row| table("In memory, by the first recall", vec![row])));
        details.push(table("Parts of a recall", self.of_recall.clone()));
        details.push(table("Parts of a turn's work for memory", self.of_turn.clone()));
        details.push(table("Starts", self.starts.iter().map(TimedPair::row).collect()));
        let turns = self.turns.iter().flat_map(|turns| [&turns.first, &turns.later, &turns.whole]);
        let rows = turns.map(TimedPair::row).collect();
        BenchReport { details, ..BenchReport::new(setup, rows, self.goals()) }
    }

    fn goals(&self) -> Vec<FigureGoal> {
        let mut goals = Vec::new();
        for recall in &self.recalls {
            for percent in [50, 95] {
                let name = format!("recall {}, p{percent}", recall.name());
                let measured = recall.percentile(percent);
                goals.push(FigureGoal::at_most(
                    name,
                    MOST_FOR_A_RECALL,
                    measured,
                    FigureUnit::Milliseconds,
                ));
            }
        }
        for pair in self.turns.iter().flat_map(|turns| [&turns.first, &turns.later]) {
            let name = format!("added to the {}, p50", pair.name());
            goals.push(FigureGoal::at_most(
                name,
                MOST_FOR_A_TURN,
                pair.added(),
                FigureUnit::Milliseconds,
            ));
        }
        for pair in &self.starts {
            let name = format!("{}, by an empty home", pair.name());
            goals.push(FigureGoal::at_most(
                name,
                MOST_FOR_A_START,
                pair.ratio(),
                FigureUnit::Ratio,
            ));
        }
        goals
    }
}
