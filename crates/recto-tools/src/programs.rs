//! Runs the programs that skills declare, inside the sandbox; or describes what a
//! call would run.
//!
//! A skill's tools.json is read anew for every call, and its hash compared with
//! the one that a person has seen, so that nothing runs that changed in between, also
//! while a command of the same call ran.
//! Where a person was shown the call, what is run is held against that as well.

mod cleanup;
mod secrets;

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::slice::from_ref;
use std::sync::Arc;
use std::time::Duration;

use futures_util::future::{BoxFuture, FutureExt};
use recto_context::{AudienceKind, Catalog, ContentHash, ContentSource, ItemId, ToolSpec};
use serde_json::{Value, json};

use crate::action::{ActionFields, FileChange, NamedFile, ProgramFields, UnseenSkill};
use crate::arguments::CallArguments;
use crate::blocking::{Stop, blocking};
use crate::declared::{
    Invocation, InvocationScope, PreparedInvocation, SkillTools, declares_reading, report_result,
};
use crate::files::{WorkspaceRoot, is_protected, private_places, protected_paths};
use crate::launch::WrittenPrograms;
use crate::options::{
    CallLimits, Grants, NetworkAccess, ProgramOptions, ProtectedPath, SandboxPolicy, ToolOptions,
};
use crate::own_folder::remove_leftovers;
use crate::policy::ToolPolicy;
use crate::process::{Launcher, ProgramCall, ProgramOutcome, RunLimits};
use crate::sandbox::{Bounds, Confinement, FileChanges, OMITTED, guards};
use crate::tool::{
    ApprovalNeed, CallContext, Consent, SkillLook, Tool, ToolAction, ToolCaller, ToolClass,
    ToolError, ToolOutput, TrustedSkill,
};
use cleanup::CallCleanup;
use secrets::GrantedSecrets;

/// Where programs look for others; what a person has beside these is not theirs.
const PATH: &str = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";

/// Makes tools of the programs that skills declare.
#[derive(Debug, Clone)]
pub(crate) struct SkillPrograms(Arc<ProgramHost>);

/// The launcher and the settings that all programs share.
#[derive(Debug)]
struct ProgramHost {
    launcher: Launcher,
    workspace: PathBuf,
    /// What the options protect, the folders of skills included.
    protected: Vec<ProtectedPath>,
    /// What tools may write beyond the workspace: one skill's program must not be another's doing,
    /// nor a server's.
    planted: Vec<PathBuf>,
    locks: Vec<PathBuf>,
    limits: CallLimits,
    policy: ToolPolicy,
    options: ProgramOptions,
}

impl SkillPrograms {
    pub(crate) fn new(launcher: Launcher, options: &ToolOptions) -> Self {
        remove_leftovers();
        let folders = options.programs.skill_folders.iter().cloned().map(ProtectedPath::from);
        SkillPrograms(Arc::new(ProgramHost {
            launcher,
            workspace: options.workspace.clone(),
            protected: options.protected.iter().cloned().chain(folders).collect(),
            planted: options.granted_for_writing().cloned().collect(),
            locks: options.locks.clone(),
            limits: options.limits,
            policy: options.policy.clone(),
            options: options.programs.clone(),
        }))
    }

    /// The tool of that spec, if a skill declares it.
    pub(crate) fn tool(&self, spec: &ToolSpec, catalog: &Catalog) -> Option<Arc<dyn Tool>> {
        let skill = catalog.skills.iter().find(|skill| {
            Some(&skill.name) == spec.id.server.as_ref()
                && skill.tools.iter().any(|tool| tool.id == spec.id)
        })?;
        let ContentSource::File(path) = &skill.source else { return None };
        let folder = path.parent()?.to_path_buf();
        // Without the guards, nothing would hold it to what it declares.
        let only_reads = guards().all_hold() && declares_reading(&folder, &spec.id.name);
        let class = if only_reads { ToolClass::ReadingProgram } else { ToolClass::Program };
        Some(Arc::new(ProgramTool { host: self.0.clone(), id: spec.id.clone(), folder, class }))
    }
}

/// A tool that a skill declares and that runs a program.
#[derive(Clone)]
struct ProgramTool {
    host: Arc<ProgramHost>,
    id: ItemId,
    folder: PathBuf,
    class: ToolClass,
}

impl Tool for ProgramTool {
    fn id(&self) -> &ItemId {
        &self.id
    }

    fn class(&self) -> ToolClass {
        self.class
    }

    fn identity(&self, context: &CallContext) -> ContentHash {
        let skill = context.trusted.get(&self.folder);
        let skill = skill.map(|skill| (&self.folder, &skill.name, skill.files.to_string()));
        ContentHash::of_bytes(format!("{} {skill:?}", self.id).as_bytes())
    }

    fn unseen_skill(&self, context: &CallContext) -> Option<PathBuf> {
        let looked_at = |skill: &TrustedSkill| skill.look == SkillLook::LookedAt;
        let is_seen = context.trusted.get(&self.folder).is_some_and(looked_at);
        (!is_seen && !self.configured_rights().is_empty()).then(|| self.folder.clone())
    }

    fn describe<'a>(
        &'a self,
        arguments: &'a CallArguments,
        context: &'a CallContext,
    ) -> BoxFuture<'a, Result<ToolAction, ToolError>> {
        let run = self.start(context);
        let arguments = arguments.clone();
        blocking(move |_| run.describe(&arguments)).boxed()
    }

    fn run<'a>(
        &'a self,
        arguments: CallArguments,
        context: &'a CallContext,
        consent: Consent,
    ) -> BoxFuture<'a, ToolOutput> {
        self.start(context).run(arguments, consent).boxed()
    }
}

impl ProgramTool {
    fn start(&self, context: &CallContext) -> ProgramRun {
        let ProgramTool { host, id, folder, class } = self.clone();
        let grants = self.grants().cloned().unwrap_or_default();
        let unseen = self.unseen_skill(context).map(|folder| UnseenSkill {
            name: id.server.as_deref().unwrap_or_default().to_owned(),
            folder: folder.to_string_lossy().into_owned(),
            rights: self.configured_rights(),
        });
        ProgramRun { host, id, folder, class, grants, unseen, context: context.clone() }
    }

    fn grants(&self) -> Option<&Grants> {
        self.host.options.grants.get(self.id.server.as_deref()?)
    }

    /// What the config gives to the skill's name, in words.
    fn configured_rights(&self) -> Vec<String> {
        let skill = self.id.server.as_deref().unwrap_or_default();
        let free = self.host.policy.frees_skill(skill).then(|| "runs without asking".to_owned());
        free.into_iter().chain(self.grants().into_iter().flat_map(Grants::describe)).collect()
    }
}

/// One call of a skill's tool, with all that it needs on another thread.
#[derive(Clone)]
struct ProgramRun {
    host: Arc<ProgramHost>,
    id: ItemId,
    folder: PathBuf,
    /// What it was when it was decided whether somebody has to be asked.
    class: ToolClass,
    grants: Grants,
    /// The skill, where a person has to be shown it before its first call.
    unseen: Option<UnseenSkill>,
    context: CallContext,
}

/// A program that has ended.
struct FinishedProgram {
    outcome: ProgramOutcome,
    /// Whether there was more that it might have written than could be allowed.
    omits_writable: bool,
}

impl ProgramRun {
    fn describe(&self, arguments: &CallArguments) -> Result<ToolAction, ToolError> {
        let (declared, prepared) = self.prepare(arguments)?;
        let hash = self.action_hash(declared, &prepared);
        let invocation = prepared.preview();
        let confinement = self.confinement(invocation, Path::new(""));
        let named_files = named_files(invocation);
        let mut reach = confinement.reach();
        put_first(&mut reach.writes, &named_files);
        let fields = ProgramFields {
            program: invocation.program.to_string_lossy().into_owned(),
            argv: argv_of(invocation),
            first: prepared.steps().map(argv_of).collect(),
            stdin: invocation.stdin.clone(),
            folder: invocation.working_dir.to_string_lossy().into_owned(),
            environment: self.shown_environment(),
            reach,
            named_files,
            only_reads: invocation.changes == FileChanges::None && guards().all_hold(),
            time_limit_seconds: self.time(invocation).as_secs(),
            unseen_skill: self.unseen.clone(),
            guards: guards().to_string(),
            all_guards_hold: guards().all_hold(),
        };
        let fields = ActionFields::Program(Box::new(fields));
        let needs = match self.unseen {
            Some(_) => ApprovalNeed::Person,
            None => ApprovalNeed::Leave,
        };
        Ok(ToolAction::new(fields, needs, hash))
    }

    /// The hash of all that decides what is run and how far it reaches. It changes with what may
    /// be read and written, as that was shown: a folder that was not there is none that a person
    /// has allowed to change. It does not change with the values of variables, nor with what is in
    /// a folder that was shown: files come and go while a person thinks.
    fn action_hash(&self, declared: ContentHash, prepared: &PreparedInvocation) -> ContentHash {
        let Grants { read, write, environment, .. } = &self.grants;
        let names: Vec<&str> = environment.iter().map(|(name, _)| name.as_str()).collect();
        let steps: Vec<Value> = prepared.steps().map(|step| self.decisive(step)).collect();
        let decides = json!([
            declared.to_string(),
            self.decisive(prepared.preview()),
            steps,
            [exact(read), exact(write)],
            names,
            self.host.options.sandbox == SandboxPolicy::Required,
            guards().what_is_confined(),
        ]);
        ContentHash::of_bytes(decides.to_string().as_bytes())
    }

    /// Everything about a single program that the hash of an action covers.
    fn decisive(&self, invocation: &Invocation) -> Value {
        let Invocation { program, arguments, stdin, working_dir, success, writes, .. } = invocation;
        let time = self.time(invocation);
        let Confinement { read, write, execute, omits_writable, .. } =
            self.confinement(invocation, Path::new(""));
        json!({
            "reach": [exact(&read), exact(&write), exact(&execute)],
            "omits_writable": omits_writable,
            "program": exact(from_ref(program)),
            "arguments": arguments,
            "stdin": stdin,
            "working_dir": exact(from_ref(working_dir)),
            "time": [time.as_secs(), u64::from(time.subsec_nanos())],
            "output": self.output_bytes(invocation),
            "success": success,
            "writes": exact(writes),
            "changed": writes.iter().map(|path| change_of(path)).collect::<Vec<_>>(),
            "network": self.network(invocation) == NetworkAccess::Granted,
            "script": invocation.is_script,
            "changes": invocation.changes == FileChanges::Allowed,
            "written": invocation.written == WrittenPrograms::Executed,
        })
    }

    async fn run(self, arguments: CallArguments, consent: Consent) -> ToolOutput {
        let grants = self.grants.clone();
        let hidden = |error: ToolError| {
            ToolError::new(GrantedSecrets::from_grants(&grants).hide(&error.to_string()))
        };
        self.run_prepared(arguments, consent).await.map_err(hidden)
    }

    async fn run_prepared(self, arguments: CallArguments, consent: Consent) -> ToolOutput {
        let run = self.clone();
        let prepared = blocking(move |_| run.prepare_allowed(&arguments, consent)).await?;
        let was_to_read = self.class == ToolClass::ReadingProgram;
        if consent == Consent::Unasked && was_to_read && !prepared.only_reads() {
            return Err(ToolError::new(
                "nobody was asked because it was declared to read only, and that is not what it \
                 is declared to do now; it was not run, and can be called again",
            ));
        }
        if let (Some(UnseenSkill { name, .. }), false) =
            (&self.unseen, matches!(consent, Consent::To(_)))
        {
            return Err(ToolError::new(format!(
                "a person has to look at skill `{name}` before its first call: the config gives \
                 it rights, and nobody has looked at it yet"
            )));
        }
        let mut outputs = Vec::new();
        for step in prepared.steps() {
            outputs.push(self.resolve(step).await?);
            // While it ran, others may have changed what comes next.
            let run = self.clone();
            blocking(move |_| run.read_declared()).await?;
        }
        let run = self.clone();
        let finish = move |_: &Stop| run.with_scope(|scope| prepared.finish(&outputs, scope));
        let invocation = blocking(finish).await?;
        let finished = self.launch(&invocation).await?;
        self.reported(&invocation, &finished)
    }

    /// Runs a command that turns a value into another, and gives what it wrote. One that
    /// fails rejects the call.
    async fn resolve(&self, step: &Invocation) -> Result<String, ToolError> {
        let finished = self.launch(step).await?;
        self.reported(step, &finished)
            .map(|_| finished.outcome.stdout.text())
            .map_err(|error| ToolError::new(format!("a value could not be resolved: {error}")))
    }

    fn reported(&self, invocation: &Invocation, finished: &FinishedProgram) -> ToolOutput {
        let FinishedProgram { outcome, omits_writable } = finished;
        let secrets = GrantedSecrets::from_grants(&self.grants);
        let (stdout, stderr) = (secrets.hide_in(&outcome.stdout), secrets.hide_in(&outcome.stderr));
        let limit = self.output_bytes(invocation);
        let result = report_result(outcome.end, &invocation.success, &stdout, &stderr, limit);
        result.map_err(|error| match omits_writable {
            true => ToolError::new(format!("{error}\n(for programs, {OMITTED})")),
            false => error,
        })
    }

    /// Checks the call as far as it can be before other commands have run; with the
    /// hash of the declaration that it was checked against.
    fn prepare(
        &self,
        arguments: &CallArguments,
    ) -> Result<(ContentHash, PreparedInvocation), ToolError> {
        let declared = self.read_declared()?;
        let execution = declared.execution(&self.id.name)?;
        let prepared = self.with_scope(|scope| Invocation::prepare(execution, arguments, scope))?;
        Ok((declared.hash(), prepared))
    }

    /// Checks the call, and that it is the one that a person allowed, where one was asked.
    fn prepare_allowed(
        &self,
        arguments: &CallArguments,
        consent: Consent,
    ) -> Result<PreparedInvocation, ToolError> {
        let (declared, prepared) = self.prepare(arguments)?;
        match consent {
            Consent::To(hash) if self.action_hash(declared, &prepared) != hash => {
                Err(ToolError::new(
                    "what it would do, or could read or write, changed since a person allowed it; \
                     called again, it is asked about as it is now",
                ))
            }
            _ => Ok(prepared),
        }
    }

    /// What the skill declares, if its files are those that it is known by.
    fn read_declared(&self) -> Result<SkillTools, ToolError> {
        let declared = SkillTools::read(&self.folder)?;
        let trusted = self.context.trusted.get(&self.folder);
        let is_trusted = |skill: &TrustedSkill| {
            skill.files == declared.hash() && Some(&skill.name) == self.id.server.as_ref()
        };
        if !trusted.is_some_and(is_trusted) {
            return Err(ToolError::new(format!(
                "the tools.json or a script of skill `{0}` is not the one that was approved; a \
                 person has to look at it and trust it again",
                self.id.server.as_deref().unwrap_or_default()
            )));
        }
        Ok(declared)
    }

    fn with_scope<T>(
        &self,
        work: impl FnOnce(&InvocationScope<'_>) -> Result<T, ToolError>,
    ) -> Result<T, ToolError> {
        let ProgramHost { workspace, protected, planted, options, .. } = &*self.host;
        let root = WorkspaceRoot::open(workspace)?;
        let is_protected =
            |path: &Path| is_protected(&root, path, protected, &self.context.catalog);
        work(&InvocationScope {
            workspace,
            skill_folder: &self.folder,
            search_path: options.search_path.as_deref(),
            scripts: options.scripts,
            readable: &self.grants.read,
            writable: &self.grants.write,
            planted,
            is_protected: &is_protected,
        })
    }

    async fn launch(&self, invocation: &Invocation) -> Result<FinishedProgram, ToolError> {
        let (run, invocation) = (self.clone(), invocation.clone());
        let prepared = blocking(move |_| run.call(&invocation)).await;
        let (call, cleanup) = prepared.map_err(|error| ToolError::new(error.to_string()))?;
        // Also if nobody waits for the program any more.
        let _cleanup = cleanup.deferred();
        let omits_writable = call.confinement.omits_writable;
        match self.host.launcher.run(&call).await {
            Ok(outcome) => Ok(FinishedProgram { outcome, omits_writable }),
            Err(problem) => Err(ToolError::new(problem.to_string())),
        }
    }

    fn call(&self, invocation: &Invocation) -> std::io::Result<(ProgramCall, CallCleanup)> {
        let mut cleanup = CallCleanup::new(self.host.launcher.keeper())?;
        for path in &invocation.writes {
            cleanup.create_file(&self.host.workspace, path)?;
        }
        let temp = cleanup.temp();
        let confinement = self.confinement(invocation, temp);
        let environment = self.environment(temp);
        let (time, output_bytes) = (self.time(invocation), self.output_bytes(invocation));
        let call = ProgramCall {
            program: invocation.program.clone(),
            arguments: invocation.arguments.iter().map(OsString::from).collect(),
            stdin: invocation.stdin.clone().map(String::into_bytes),
            working_dir: invocation.working_dir.clone(),
            environment: environment.into_iter().map(|(k, v)| (k.into(), v.into())).collect(),
            confinement,
            sandbox: self.host.options.sandbox,
            limits: RunLimits { time, output_bytes },
        };
        Ok((call, cleanup))
    }
}

impl ProgramRun {
    /// What the program may reach, with a folder of its own.
    fn confinement(&self, invocation: &Invocation, temp: &Path) -> Confinement {
        let ProgramHost { workspace, protected, locks, .. } = &*self.host;
        Bounds {
            workspace,
            protected: &protected_paths(workspace, protected, &self.context.catalog),
            private: &self.private(),
            locks,
            grants: &self.grants,
            network: self.network(invocation),
            temp,
            program: &invocation.program,
            extra_write: &invocation.writes,
            execute: invocation.is_script.then_some(&invocation.program).map_or(&[], from_ref),
            changes: invocation.changes,
            written: invocation.written,
        }
        .confinement()
    }

    /// What is remembered, as far as it is hidden from those for whom the call is made: in the
    /// workspace of every agent. Each has its lock there.
    fn private(&self) -> Vec<PathBuf> {
        let ToolCaller { audience, on_behalf_of, .. } = &self.context.caller;
        if on_behalf_of.as_ref().unwrap_or(audience).who == AudienceKind::Owner {
            return Vec::new();
        }
        let ProgramHost { workspace, locks, .. } = &*self.host;
        let others = locks.iter().filter_map(|lock| lock.parent()?.parent());
        [&**workspace].into_iter().chain(others).flat_map(private_places).collect()
    }

    /// Whether the network is both asked for and granted.
    fn network(&self, invocation: &Invocation) -> NetworkAccess {
        match (invocation.network, self.grants.network) {
            (NetworkAccess::Granted, NetworkAccess::Granted) => NetworkAccess::Granted,
            _ => NetworkAccess::Refused,
        }
    }

    /// The whole environment of a program; its home is a folder of its own.
    fn environment(&self, temp: &Path) -> Vec<(String, String)> {
        let granted = self.grants.set_variables().map(|(k, v)| (k.clone(), v.clone()));
        base_environment(&temp.to_string_lossy()).into_iter().chain(granted).collect()
    }

    /// The environment as people and records see it: of the variables that a person
    /// granted only the names, because keys are among them.
    fn shown_environment(&self) -> BTreeMap<String, String> {
        let hidden = |(name, value): &(String, Option<String>)| {
            (name.clone(), if value.is_some() { "…" } else { "(not set)" }.to_owned())
        };
        let granted = self.grants.environment.iter().map(hidden);
        base_environment("(a folder of its own)").into_iter().chain(granted).collect()
    }

    fn time(&self, invocation: &Invocation) -> Duration {
        invocation.time.unwrap_or(self.host.limits.time_limit)
    }

    fn output_bytes(&self, invocation: &Invocation) -> usize {
        let most = self.host.limits.max_output_bytes;
        invocation.output_bytes.map_or(most, |bytes| bytes.min(most))
    }
}

/// The variables that every program gets.
pub(crate) fn base_environment(own: &str) -> [(String, String); 5] {
    [("PATH", PATH), ("HOME", own), ("TMPDIR", own), ("LANG", "C.UTF-8"), ("TERM", "dumb")]
        .map(|(name, value)| (name.to_owned(), value.to_owned()))
}

/// The files that a call names as those to write, and what would become of each.
fn named_files(invocation: &Invocation) -> Vec<NamedFile> {
    let files = invocation.writes.iter().map(|path| NamedFile {
        path: path.to_string_lossy().into_owned(),
        change: Some(change_of(path)),
    });
    let unresolved = invocation.unresolved_writes.iter();
    files.chain(unresolved.map(|mark| NamedFile { path: mark.clone(), change: None })).collect()
}

fn change_of(path: &Path) -> FileChange {
    match path.symlink_metadata() {
        Ok(_) => FileChange::Replace,
        Err(_) => FileChange::Create,
    }
}

/// Puts the files that a call names in front of all else that may be written. Those that are not
/// there yet could not be found on the disk.
fn put_first(writes: &mut Vec<String>, named: &[NamedFile]) {
    let files: Vec<String> =
        named.iter().filter(|file| file.change.is_some()).map(|file| file.path.clone()).collect();
    writes.retain(|path| !files.contains(path));
    writes.splice(..0, files);
}

/// Paths such that no two of them are the same text.
fn exact(paths: &[PathBuf]) -> Vec<String> {
    paths.iter().map(|path| format!("{path:?}")).collect()
}

/// The program with its arguments.
fn argv_of(invocation: &Invocation) -> Vec<String> {
    let program = invocation.program.to_string_lossy().into_owned();
    [program].into_iter().chain(invocation.arguments.iter().cloned()).collect()
}

#[cfg(test)]
mod tests;
