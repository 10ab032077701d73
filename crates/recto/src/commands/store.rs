//! `recto store`: whether the database is whole and what it is made of, what can be had of one that
//! is not whole, what is dropped of it, and how it gets into another one.

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use jiff::{SignedDuration, Timestamp};
use recto_context::{Remedy, grouped_digits};
use recto_store::{
    ContentSize, CopiedTable, Moment, PostgresUrl, SalvageReport, SalvagedTable, Store,
    StoreComposition, StoreLocation, StoreOptions, StoreResult, check_store, copy_store,
    measure_store, salvage_store,
};
use recto_workspace::Severity;
use serde_json::{Value, json};

use crate::check_report::{CheckProblem, CheckReport};
use crate::cli::{StoreCheckArgs, StoreCommand, StoreCopyArgs, StoreGcArgs, StoreMigrateArgs};
use crate::config::Settings;
use crate::draw::{PageWidth, TextTable};
use crate::failure::{CliFailure, CliResult};
use crate::home::RectoHome;
use crate::output::{counted, print, print_json, tell};
use crate::remedy_words::with_command;
use crate::setup;

pub(crate) fn run(home: &RectoHome, command: &StoreCommand) -> CliResult<ExitCode> {
    let settings = setup::load(home, Vec::new())?;
    match (command, &settings.store.url) {
        (StoreCommand::Check(args), Some(url)) => check_on_server(&settings, url, args),
        (StoreCommand::Check(args), None) => check(&settings.store.path, args),
        (StoreCommand::Gc(args), _) => collect_garbage(&settings, args),
        (StoreCommand::Migrate(args), _) => migrate(&settings, args),
        (StoreCommand::Copy(args), _) => copy(&settings, args),
    }
}

/// Reads all that is kept on a server once. How its files are is for the server to say.
fn check_on_server(settings: &Settings, url: &str, args: &StoreCheckArgs) -> CliResult<ExitCode> {
    if args.salvage {
        let what = "only a file can be salvaged";
        return Err(CliFailure::new(what).hint("restore the database from the server's backup"));
    }
    let runtime = setup::runtime()?;
    let (found, composition) = runtime.block_on(async {
        let store = setup::store(settings)?;
        Ok::<_, CliFailure>((store.check_records().await?, store.composition().await?))
    })?;
    let problem =
        |what: &String| CheckProblem::of_declaration(Severity::Error, Path::new(url), None, what);
    let problems: Vec<CheckProblem> = found.iter().map(problem).collect();
    let verdict = format!("store: {}", counted(problems.len(), "problem"));
    let mut report = CheckReport::new(problems, verdict);
    report.beside = json!({"path": url, "salvaged": null, "made_of": composition.kinds});
    report.remarks = draw_composition(&composition);
    report.print(args.json)
}

/// What a database is made of, the largest first.
fn draw_composition(composition: &StoreComposition) -> String {
    let all = composition.bytes();
    let mut table = TextTable::new(["made of", "rows", "bytes", "share"]);
    [1, 2, 3].into_iter().for_each(|column| table.align_right(column));
    for ContentSize { kind, rows, bytes } in &composition.kinds {
        let share = *bytes as f64 * 100.0 / all.max(1) as f64;
        table.row([
            kind.describe().to_owned(),
            rows.map(grouped_digits).unwrap_or_default(),
            grouped_digits(*bytes),
            format!("{share:.1}%"),
        ]);
    }
    table.row(["all".to_owned(), String::new(), grouped_digits(all), String::new()]);
    table.draw(PageWidth::of_stdout())
}

/// Drops what is of no use any more, and gives room back.
fn collect_garbage(settings: &Settings, args: &StoreGcArgs) -> CliResult<ExitCode> {
    let retention = settings.store.retention;
    let (cleared, on_server) = setup::runtime()?.block_on(async {
        let store = setup::store(settings)?;
        Ok::<_, CliFailure>((ClearedStore::clear(&store, retention).await?, store.is_on_server()))
    })?;
    let ClearedStore { records, texts, before, after, is_compacted } = cleared;
    if args.json {
        print_json(&json!({
            "records": records,
            "texts": texts,
            "bytes_before": before,
            "bytes_after": after,
            "compacted": is_compacted,
        }))?;
        return Ok(ExitCode::SUCCESS);
    }
    let kept = match retention {
        Some(days) => format!("records of the last {} are kept", counted(days as usize, "day")),
        None => "every record is kept: `store.retention` is not set".to_owned(),
    };
    print(&format!(
        "dropped {} and {} that nothing refers to; {kept}\n{} bytes before, {} now\n",
        counted(usize::try_from(records).unwrap_or(usize::MAX), "record"),
        counted(usize::try_from(texts).unwrap_or(usize::MAX), "text"),
        grouped_digits(before),
        grouped_digits(after),
    ))?;
    match (is_compacted, on_server) {
        (true, _) => {}
        (false, true) => tell(&"when the room is free again is for the server to say: `VACUUM`"),
        (false, false) => tell(
            &"the file was not written anew, because another Recto reads it or the disk is full; its \
              free room is used for what comes",
        ),
    }
    Ok(ExitCode::SUCCESS)
}

/// What clearing up has done to a store.
struct ClearedStore {
    records: u64,
    texts: u64,
    before: u64,
    after: u64,
    is_compacted: bool,
}

impl ClearedStore {
    async fn clear(store: &Store, retention: Option<u32>) -> StoreResult<Self> {
        let before = store.composition().await?.bytes();
        let records = drop_old_records(store, retention).await?;
        let texts = store.drop_unused_parts().await?;
        let is_compacted = store.compact().await?;
        let after = store.composition().await?.bytes();
        Ok(ClearedStore { records, texts, before, after, is_compacted })
    }
}

/// Drops the records that are older than they are to be kept, and says how many.
pub(crate) async fn drop_old_records(store: &Store, retention: Option<u32>) -> StoreResult<u64> {
    let Some(days) = retention else { return Ok(0) };
    let age = SignedDuration::from_hours(i64::from(days) * 24);
    match Timestamp::now().checked_sub(age) {
        Ok(before) => store.drop_records(Moment::new(before)).await,
        // Nothing is as old as that.
        Err(_) => Ok(0),
    }
}

/// Opens the store, which brings it to its present form.
fn migrate(settings: &Settings, args: &StoreMigrateArgs) -> CliResult<ExitCode> {
    let runtime = setup::runtime()?;
    runtime.block_on(async { setup::store(settings).map(drop) })?;
    let place = match &settings.store.url {
        Some(url) => url.clone(),
        None => settings.store.path.display().to_string(),
    };
    match args.json {
        true => print_json(&json!({"path": place, "version": recto_store::STORE_VERSION}))?,
        false => print(&format!("{place} has version {}\n", recto_store::STORE_VERSION))?,
    }
    Ok(ExitCode::SUCCESS)
}

fn copy(settings: &Settings, args: &StoreCopyArgs) -> CliResult<ExitCode> {
    let (from, to) = (place_options(settings, &args.from)?, place_options(settings, &args.to)?);
    if let StoreLocation::File(path) = &from.location
        && !path.exists()
    {
        return Err(CliFailure::new(format!("there is no database at {}", path.display()))
            .code("no_such_database"));
    }
    let runtime = setup::runtime()?;
    let tables = runtime.block_on(copy_store(&from, &to))?;
    if args.json {
        let table = |table: &CopiedTable| json!({"name": table.name, "rows": table.rows, "digest": table.digest});
        print_json(&json!({"tables": tables.iter().map(table).collect::<Vec<_>>()}))?;
        return Ok(ExitCode::SUCCESS);
    }
    let mut text = String::new();
    for CopiedTable { name, rows, digest } in &tables {
        let (rows, digest) = (grouped_digits(*rows), &digest[..12]);
        text += &format!("  {name:<18} {rows:>9} rows  {digest}\n");
    }
    print(&text)?;
    let count = counted(tables.len(), "table");
    tell(&format!("{count} copied; both sides have the same rows, with the same hashes"));
    Ok(ExitCode::SUCCESS)
}

/// A database as it is typed.
fn place_options(settings: &Settings, place: &str) -> CliResult<StoreOptions> {
    match PostgresUrl::is_meant(place) {
        true => setup::server_options(&settings.store, place),
        false => Ok(StoreOptions::new(place.strip_prefix("sqlite:").unwrap_or(place))),
    }
}

fn check(path: &Path, args: &StoreCheckArgs) -> CliResult<ExitCode> {
    let found = check_store(path)?;
    let problem = |what: &String| CheckProblem::of_declaration(Severity::Error, path, None, what);
    let problems: Vec<CheckProblem> = found.iter().map(problem).collect();
    let verdict = format!("store: {}", counted(problems.len(), "problem"));
    let mut report = CheckReport::new(problems, verdict);
    report.beside = json!({"path": path, "salvaged": null, "made_of": null});
    if found.is_empty() && path.exists() {
        let composition = measure_store(path)?;
        report.beside["made_of"] = json!(composition.kinds);
        report.remarks = draw_composition(&composition);
    }
    match (found.is_empty(), args.salvage) {
        (true, true) => report.verdict += "; nothing has to be salvaged",
        (false, true) => {
            let salvaged = salvage_store(path, &free_path(path))?;
            report.remarks = drawn(&salvaged, path);
            report.beside["salvaged"] = salvage_json(&salvaged);
        }
        (false, false) => {
            let advice = "; copy what can still be read to a new database";
            report.verdict = with_command(report.verdict + advice, Some(&Remedy::SalvageStore));
        }
        (true, false) => {}
    }
    report.print(args.json)
}

/// A name beside the database that no file has.
fn free_path(path: &Path) -> PathBuf {
    let stem = path.file_stem().unwrap_or_default().to_string_lossy();
    let name = |number: u32| match number {
        1 => format!("{stem}.salvaged.db"),
        _ => format!("{stem}.salvaged-{number}.db"),
    };
    let paths = (1..).map(|number| path.with_file_name(name(number)));
    paths.into_iter().find(|path| !path.exists()).unwrap_or_else(|| path.with_extension("salvaged"))
}

fn drawn(salvaged: &SalvageReport, path: &Path) -> String {
    let mut text = format!("\nwhat could be read is in {}:\n", salvaged.path.display());
    for table in &salvaged.tables {
        text += &format!(
            "  {:<16} {:>9} rows{}\n",
            table.name,
            grouped_digits(table.copied),
            losses(table)
        );
    }
    let (old, new) = (path.display(), salvaged.path.display());
    let aside = path.with_file_name("damaged");
    let aside = aside.display();
    let beside = ["-wal", "-shm"].map(|ending| format!("{}{ending}", path.display()));
    let beside = beside.iter().filter(|file| Path::new(file).exists());
    let beside: String = beside.map(|file| format!(" '{file}'")).collect();
    text + &format!(
        "\nthe damaged database is as it was. To go on with the copy, end every Recto, then:\n  \
         mkdir '{aside}'\n  mv '{old}'{beside} '{aside}/'\n  mv '{new}' '{old}'\n"
    )
}

/// What is missing of a table, for people.
fn losses(table: &SalvagedTable) -> String {
    let mut lost = Vec::new();
    if table.unreadable > 0 {
        lost.push(format!("{} can't be read", grouped_digits(table.unreadable)));
    }
    if table.is_cut {
        lost.push("a part can't be found".to_owned());
    }
    if table.left_out > 0 {
        lost.push(format!("{} belong to what is lost", grouped_digits(table.left_out)));
    }
    if table.conflicting > 0 {
        lost.push(format!("{} contradict others", grouped_digits(table.conflicting)));
    }
    if lost.is_empty() { String::new() } else { format!("; lost: {}", lost.join(", ")) }
}

fn salvage_json(salvaged: &SalvageReport) -> Value {
    let table = |table: &SalvagedTable| {
        json!({
            "name": table.name,
            "copied": table.copied,
            "unreadable": table.unreadable,
            "cut": table.is_cut,
            "left_out": table.left_out,
            "conflicting": table.conflicting,
        })
    };
    let tables: Vec<Value> = salvaged.tables.iter().map(table).collect();
    json!({"path": salvaged.path, "tables": tables})
}
