//! `recto store`: whether the database is whole, what can be had of one that is not, and how it
//! gets into another one.

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use recto_context::{Remedy, grouped_digits};
use recto_store::{
    CopiedTable, PostgresUrl, SalvageReport, SalvagedTable, StoreLocation, StoreOptions,
    check_store, copy_store, salvage_store,
};
use recto_workspace::Severity;
use serde_json::{Value, json};

use crate::check_report::{CheckProblem, CheckReport};
use crate::cli::{StoreCheckArgs, StoreCommand, StoreCopyArgs, StoreMigrateArgs};
use crate::config::Settings;
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
    let found = runtime
        .block_on(async { Ok::<_, CliFailure>(setup::store(settings)?.check_records().await?) })?;
    let problem =
        |what: &String| CheckProblem::of_declaration(Severity::Error, Path::new(url), None, what);
    let problems: Vec<CheckProblem> = found.iter().map(problem).collect();
    let verdict = format!("store: {}", counted(problems.len(), "problem"));
    let mut report = CheckReport::new(problems, verdict);
    report.beside = json!({"path": url, "salvaged": null});
    report.print(args.json)
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
        return Err(CliFailure::new(format!("there is no database at {}", path.display())));
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
    report.beside = json!({"path": path, "salvaged": null});
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
