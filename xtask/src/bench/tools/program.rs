//! A call of a declared tool, from the model's words to its result, beside the
//! program alone.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::process::Stdio;
use std::sync::Arc;

use futures_util::StreamExt;
use recto_context::{CallId, ToolCall, ToolSpec};
use recto_tools::{
    CallContext, CallPermit, Consent, ProgramOptions, SkillLook, ToolOptions, ToolOutcome, Toolbox,
    TrustedSkill, trust_hash,
};
use recto_workspace::{Workspace, WorkspaceOptions};
use tokio::process::Command;

use crate::Result;
use crate::bench::pair::{TimedPair, timed};

const RUNS: usize = 200;
const WARM_UP: usize = 20;

/// Files at the top of a crowded workspace. Each of them is granted by itself.
const CROWD: usize = 200;

const PROGRAM: &str = "date";
const FLAG: &str = "-u";

const SKILL: &str = "---\nname: clock\ndescription: Tells the time.\n---\nCall `utc_time`.\n";
const TOOLS: &str = r#"{
  "tools": [{
    "name": "utc_time",
    "description": "The time in UTC.",
    "parameters": { "type": "object", "properties": {} }
  }],
  "allowlist": { "date": ["-u"] },
  "execution": [{ "tool": "utc_time", "binary": "date", "subcommand": "-u", "args": [] }]
}"#;

/// What calls of a program cost, beside running the program directly.
pub(super) struct ProgramOverhead {
    pub(super) usual: TimedPair,
    pub(super) crowded: TimedPair,
}

pub(super) async fn measure(launcher: &Path) -> Result<ProgramOverhead> {
    let folder = tempfile::tempdir()?;
    write(&folder.path().join("skills/clock"))?;
    let usual = TimedPair::new("a call", in_turn(folder.path(), launcher).await?)?;
    for number in 0..CROWD {
        fs::write(folder.path().join(format!("{number}.txt")), "")?;
    }
    let name = "a call, 200 files at the top";
    let crowded = TimedPair::new(name, in_turn(folder.path(), launcher).await?)?;
    Ok(ProgramOverhead { usual, crowded })
}

fn write(skill: &Path) -> Result<()> {
    fs::create_dir_all(skill)?;
    fs::write(skill.join("SKILL.md"), SKILL)?;
    Ok(fs::write(skill.join("tools.json"), TOOLS)?)
}

/// The program alone and by a call, again and again.
async fn in_turn(workspace: &Path, launcher: &Path) -> Result<Vec<(f64, f64)>> {
    let prepared = PreparedCall::open(workspace, launcher).await?;
    let mut times = Vec::with_capacity(RUNS);
    for run in 0..WARM_UP + RUNS {
        let (plain, ran) = timed(alone(workspace)).await;
        ran?;
        let (with, called) = timed(prepared.call()).await;
        called?;
        if run >= WARM_UP {
            times.push((plain, with));
        }
    }
    Ok(times)
}

async fn alone(workspace: &Path) -> Result<()> {
    let output = Command::new(PROGRAM)
        .arg(FLAG)
        .current_dir(workspace)
        .stdin(Stdio::null())
        .kill_on_drop(true)
        .output()
        .await?;
    match output.status.success() {
        true => Ok(()),
        false => Err(format!("{PROGRAM} failed").into()),
    }
}

/// All that a call needs.
struct PreparedCall {
    toolbox: Toolbox,
    offered: Vec<ToolSpec>,
    context: CallContext,
    call: [ToolCall; 1],
}

impl PreparedCall {
    async fn open(workspace: &Path, launcher: &Path) -> Result<Self> {
        let files = Workspace::new(WorkspaceOptions {
            workspace: workspace.to_owned(),
            skills_directory: workspace.join("none"),
            search_path: std::env::var_os("PATH"),
            ..WorkspaceOptions::default()
        });
        let catalog = files.catalog().await.catalog.clone();
        let offered: Vec<ToolSpec> = catalog.all_tools().cloned().collect();
        let skill = workspace.join("skills/clock");
        let files = trust_hash(&skill)?;
        let trusted = TrustedSkill { name: "clock".into(), files, look: SkillLook::LookedAt };
        let trusted = BTreeMap::from([(skill, trusted)]);
        let programs = ProgramOptions {
            launcher: Some(launcher.to_owned()),
            search_path: std::env::var_os("PATH"),
            ..ProgramOptions::default()
        };
        let call =
            ToolCall { id: CallId("1".into()), name: "utc_time".into(), arguments: "{}".into() };
        Ok(PreparedCall {
            toolbox: Toolbox::new(ToolOptions { programs, ..ToolOptions::new(workspace) }),
            offered,
            context: CallContext {
                catalog: Arc::new(catalog),
                trusted: Arc::new(trusted),
                ..CallContext::default()
            },
            call: [call],
        })
    }

    async fn call(&self) -> Result<()> {
        const GO: [CallPermit; 1] = [CallPermit::Go(Consent::Unasked)];
        let results = self.toolbox.run_each(&self.call, &GO, &self.offered, &self.context);
        for (_, result) in results.collect::<Vec<_>>().await {
            if result.outcome != ToolOutcome::Done {
                return Err(result.text.into());
            }
        }
        Ok(())
    }
}
