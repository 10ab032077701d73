//! `recto tools list`: what there is, whether a person is asked, which guards hold
//! around programs, and what skills were granted.

use std::fmt::Write as _;
use std::path::PathBuf;
use std::sync::Arc;

use recto_agent::{FlawedTool, ListedItem};
use recto_context::{Catalog, FileNotice, ItemId, ToolSpec};
use recto_tools::{CallContext, Toolbox, guards};
use serde_json::{Value, json};

use super::skills::{self, DeclaringSkill};
use crate::commands::items::usage::UsageTable;
use crate::commands::items::{ItemView, tell_of_check};
use crate::config::{SandboxPolicy, Settings};
use crate::draw::{PageWidth, TextTable};
use crate::failure::CliResult;
use crate::home::RectoHome;
use crate::output::{list_json, print_as, tame};
use crate::setup;

pub(super) fn run(home: &RectoHome, view: &ItemView, as_json: bool) -> CliResult {
    let (declaring, usage) = setup::runtime()?.block_on(async {
        let declaring = skills::declaring(&view.settings, &view.catalog).await;
        (declaring, UsageTable::read(&view.settings).await)
    });
    let declaring = declaring?;
    let tools = setup::toolbox(home, &view.settings);
    let (catalog, renamed) = skills::name_tools(&view.catalog, &declaring);
    let rows = rows(view, &catalog, &tools, &declaring);
    print_as(
        as_json,
        || list_json("tools", rows.iter().map(|row| row.json(&view.settings, &usage))),
        || drawn(&rows, &usage, &declaring, &renamed, &view.settings),
    )?;
    tell_of_check(view);
    Ok(())
}

/// A tool in the list, with what a call of it needs.
struct ToolListRow<'a> {
    entry: ListedItem<'a>,
    called: &'a str,
    permission: &'static str,
    /// The skill that brings it.
    skill: Option<&'a DeclaringSkill>,
    /// Why it is off, whatever is right with its skill.
    flawed: Option<&'a FlawedTool>,
}

fn rows<'a>(
    view: &'a ItemView,
    catalog: &'a Catalog,
    tools: &Toolbox,
    declaring: &'a [DeclaringSkill],
) -> Vec<ToolListRow<'a>> {
    let specs: Vec<&ToolSpec> = catalog.all_tools().collect();
    let context = CallContext {
        catalog: Arc::new(catalog.clone()),
        trusted: Arc::new(skills::trusted(declaring)),
        ..CallContext::default()
    };
    let row = |entry: ListedItem<'a>| {
        let spec = specs.iter().find(|spec| spec.id == entry.id)?;
        let skill = declaring.iter().find(|skill| comes_with_skill(&entry.id, skill, spec));
        let flawed = view.find_flawed(&entry.id);
        let permission = match skill.and_then(DeclaringSkill::why_off) {
            Some(_) => "off",
            None if flawed.is_some() => "off",
            None if tools.asks(spec, &context, tools.approval()) => "ask",
            None => "allow",
        };
        Some(ToolListRow { called: &spec.called, entry, permission, skill, flawed })
    };
    view.entries().into_iter().filter_map(row).collect()
}

/// Whether a tool comes with a skill: a server may have the skill's name.
fn comes_with_skill(id: &ItemId, skill: &DeclaringSkill, spec: &ToolSpec) -> bool {
    let by_name = id.server.as_deref() == Some(&*skill.name);
    by_name && !matches!(spec.source, recto_context::ContentSource::Server(_))
}

impl ToolListRow<'_> {
    fn json(&self, settings: &Settings, usage: &UsageTable) -> Value {
        let mut value = usage.extend_json(&self.entry.id, self.entry.json());
        value["called"] = self.called.into();
        value["permission"] = self.permission.into();
        if let Some(skill) = self.skill {
            let grants = skill.grants(settings);
            value["grants"] = json!({
                "network": {"asked": skill.asks_for_network(), "granted": grants.network},
                "read": grants.read,
                "write": grants.write,
                "env": grants.env,
            });
            let flaw = || self.flawed.map(|flawed| flawed.notice().problem.to_string());
            value["off"] = json!(skill.why_off().or_else(flaw));
        }
        value
    }
}

fn drawn(
    rows: &[ToolListRow<'_>],
    usage: &UsageTable,
    declaring: &[DeclaringSkill],
    renamed: &[FileNotice],
    settings: &Settings,
) -> String {
    let mut table = TextTable::new([
        "name",
        "include",
        "permission",
        "server",
        "tokens",
        "last used",
        "description",
    ]);
    table.align_right(4);
    for ToolListRow { entry, permission, .. } in rows {
        table.row([
            entry.id.name.to_string(),
            entry.include.to_string(),
            (*permission).to_owned(),
            entry.id.server.as_deref().unwrap_or_default().to_owned(),
            entry.tokens.to_string(),
            usage.last_used(&entry.id),
            entry.description.unwrap_or_default().to_owned(),
        ]);
    }
    let mut page = table.draw(PageWidth::of_stdout());
    // Writing to a string can't fail, so the results are not looked at.
    page.push_str(
        "\ntokens: the schema alone, estimated; `recto show` counts what a turn's model reads of it",
    );
    let _ = write!(page, "\napproval: {}", settings.tools.approval.name());
    let _ = write!(page, "\nguards around programs: {}\n", around(settings));
    for exposed in setup::exposed_executables(settings) {
        let _ = writeln!(page, "warning: {}", tame(&exposed.warning()));
    }
    for flawed in rows.iter().filter_map(|row| row.flawed) {
        let _ = writeln!(page, "warning: {}", tame(&flawed.notice().problem));
    }
    for notice in renamed {
        let _ = writeln!(page, "warning: {}", tame(&notice.problem));
    }
    for skill in declaring {
        let _ = writeln!(page, "skill {}: {}", tame(&skill.name), granted(skill, settings));
    }
    page
}

/// Says which guards hold, and what comes of those that don't.
fn around(settings: &Settings) -> String {
    let guards = guards();
    let missing = match settings.tools.sandbox {
        _ if guards.all_hold() => "",
        SandboxPolicy::BestEffort => "; programs run all the same (`tools.sandbox`)",
        SandboxPolicy::Required => "; no program is run (`tools.sandbox`)",
    };
    format!("{guards}{missing}")
}

/// Says what a skill's programs are granted, or why they are not run.
fn granted(skill: &DeclaringSkill, settings: &Settings) -> String {
    if let Some(why) = skill.why_off() {
        return tame(&why);
    }
    let grants = skill.grants(settings);
    let network = match (skill.asks_for_network(), grants.network) {
        (false, false) => "no network",
        (false, true) => "no network, since it asks for none",
        (true, false) => "asks for the network, which is not granted",
        (true, true) => "network granted",
    };
    let mut parts = vec![network.to_owned()];
    let mut list = |what: &str, names: Vec<String>| {
        if !names.is_empty() {
            parts.push(format!("{what} {}", tame(&names.join(", "))));
        }
    };
    list("may read", shown(&grants.read));
    list("may write", shown(&grants.write));
    list("gets the variables", grants.env);
    parts.join("; ")
}

fn shown(paths: &[PathBuf]) -> Vec<String> {
    paths.iter().map(|path| path.display().to_string()).collect()
}
