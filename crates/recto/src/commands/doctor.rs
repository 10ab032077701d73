//! `recto doctor`: what Recto finds on this machine, which model answers and why,
//! and what to do about what is missing.
//!
//! It looks and asks, and changes nothing; a model is asked whether it is there,
//! but is sent no prompt. Fails when no turn could be made.

mod channels;
mod languages;
mod models;
mod tools;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use jiff::{SignedDuration, Timestamp};
use recto_agent::{OpenTurn, SearchParts, list_open_turns, turn_json};
use recto_llm::IS_BUILT_IN;
use recto_models::ByteSize;
use recto_search::{Encoder, EncoderError};
use recto_store::{LEAST_STORE_ROOM, Moment, SessionFilter, TurnOwner};
use recto_workspace::{Horizon, Severity, WorkspaceSnapshot};
use rustix::fs::{Access, access, statvfs};
use rustix::io::Errno;
use serde_json::{Value, json};

use crate::check_report::severity_name;
use crate::commands::config::unknown_item_words;
use crate::commands::sessions::local;
use crate::config::{self, ConfigProblem, LoadedConfig, Settings};
use crate::draw::{self, PageWidth, wrap_words};
use crate::failure::{CliFailure, CliResult};
use crate::home::RectoHome;
use crate::output::{counted, print_as, tame};
use crate::project::{self, ProjectAnswers, ProjectChoice};
use crate::remedy_words::{hint_with_command, with_command};
use crate::setup;

pub(crate) fn run(home: &RectoHome, json: bool) -> CliResult<ExitCode> {
    let report = examine(home)?;
    print_as(json, || report.json(), || report.drawn(PageWidth::of_stdout()))?;
    Ok(if report.is_ready() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// What there is to say about this machine, for programs: the failure where there is no telling.
pub(crate) fn report_json(home: &RectoHome) -> Value {
    examine(home).map_or_else(|failure| failure.json(), |report| report.json())
}

/// The findings about this machine, and which model answers.
struct DoctorReport {
    findings: Vec<DoctorFinding>,
    /// The model entry that answers, and why.
    answers: Option<(String, String)>,
}

/// One thing that was looked at.
struct DoctorFinding {
    /// Names it in a word or two.
    what: String,
    state: FindingState,
    text: String,
    /// What to do about it.
    hint: Option<String>,
    /// The same for programs.
    data: Value,
}

/// How something that was looked at is, from fine to what keeps turns from being made.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum FindingState {
    /// As it should be.
    Fine,
    /// Not there, and not needed.
    Absent,
    /// Someone should look at it, but turns can be made.
    Warning,
    /// Wrong, as every check of it says, but turns are made without it.
    Fault,
    /// No turn can be made.
    Error,
}

impl FindingState {
    fn name(self) -> &'static str {
        match self {
            FindingState::Fine => "ok",
            FindingState::Absent => "absent",
            FindingState::Warning => "warning",
            FindingState::Fault | FindingState::Error => "error",
        }
    }
}

impl DoctorFinding {
    fn new(what: impl Into<String>, state: FindingState, text: impl Into<String>) -> Self {
        DoctorFinding { what: what.into(), state, text: text.into(), hint: None, data: Value::Null }
    }

    fn hint(mut self, hint: impl Into<Option<String>>) -> Self {
        self.hint = hint.into();
        self
    }

    fn data(mut self, data: Value) -> Self {
        self.data = data;
        self
    }

    /// The same of one of several agents.
    fn of_agent(mut self, name: &str) -> Self {
        self.text = format!("agent `{name}`: {}", self.text);
        self
    }

    fn json(&self) -> Value {
        json!({
            "subject": self.what,
            "state": self.state.name(),
            "message": self.text,
            "hint": self.hint,
            "data": self.data,
        })
    }
}

fn examine(home: &RectoHome) -> CliResult<DoctorReport> {
    let mut findings = vec![home_folder(home)];
    let loaded = config::load(&setup::sources(home, Vec::new()));
    let file = home.path().join("config.toml");
    let mut config = match loaded {
        Ok(loaded) => loaded,
        Err(problems) => {
            // Where everything else is, only the config can say.
            findings.extend(
                problems.iter().map(|problem| config_problem(problem, FindingState::Error)),
            );
            return Ok(DoctorReport { findings, answers: None });
        }
    };
    setup::apply_work_folder(home, &mut config);
    let project = project(home, &config);
    let LoadedConfig { mut settings, others, warnings, .. } = config;
    findings.push(config_file(&file, &settings));
    findings.extend(warnings.iter().map(|warning| config_problem(warning, FindingState::Warning)));
    let runtime = setup::runtime()?;
    findings.push(runtime.block_on(store(&settings)));
    findings.extend(runtime.block_on(open_turns(&settings)));
    findings.extend(runtime.block_on(schedules(&settings)));
    let snapshot = setup::read_workspace(&settings)?;
    findings.extend(workspace(&settings, &snapshot));
    let agents: Vec<&Settings> = [&settings].into_iter().chain(&others).collect();
    findings.extend(item_settings(home, &agents, &snapshot)?);
    findings.extend(project);
    findings.push(runtime.block_on(memory(&settings)));
    let tools = tools::findings(home, &settings, &snapshot.catalog);
    findings.extend(runtime.block_on(tools));
    findings.extend(runtime.block_on(searches(&agents)));
    findings.extend(runtime.block_on(channels::findings(&settings)));
    let choice = runtime.block_on(setup::find(&mut settings, None));
    findings.extend(models::lookup_findings(&choice));
    findings.extend(runtime.block_on(models::entries(&settings, &choice)));
    let answers = choice.entry.map(|entry| (entry, choice.reason.to_string()));
    Ok(DoctorReport { findings, answers })
}

fn home_folder(home: &RectoHome) -> DoctorFinding {
    let path = home.path();
    let shown = path.display();
    let Ok(metadata) = fs::metadata(path) else {
        return DoctorFinding::new("home", FindingState::Warning, format!("{shown} is not there"))
            .hint("`recto init` sets it up".to_owned())
            .data(json!({"path": path, "exists": false}));
    };
    let data = json!({"path": path, "exists": true});
    if !metadata.is_dir() {
        return DoctorFinding::new("home", FindingState::Error, format!("{shown} is no folder"))
            .hint("choose another home with --home DIR".to_owned())
            .data(data);
    }
    if let Some((what, hint)) = storage_obstacle(&StorageFacts::of(path)) {
        return DoctorFinding::new("home", FindingState::Warning, format!("{shown} {what}"))
            .hint(hint.to_owned())
            .data(data);
    }
    if is_open_to_others(&metadata) {
        return DoctorFinding::new(
            "home",
            FindingState::Warning,
            format!("{shown} can be read by others"),
        )
        .hint(format!("chmod 700 {shown}"))
        .data(data);
    }
    DoctorFinding::new("home", FindingState::Fine, shown.to_string()).data(data)
}

/// Whether something can be written in a folder, as the system tells it.
struct StorageFacts {
    /// Why this user can't write there, if so.
    refusal: Option<Errno>,
    /// The bytes that are free on its disk, where that is told.
    free: Option<u64>,
}

impl StorageFacts {
    fn of(folder: &Path) -> Self {
        let disk = statvfs(folder).ok().filter(|disk| disk.f_blocks > 0);
        StorageFacts {
            refusal: access(folder, Access::WRITE_OK | Access::EXEC_OK).err(),
            free: disk.map(|disk| disk.f_bavail.saturating_mul(disk.f_frsize)),
        }
    }
}

/// What keeps files from being written in a folder, and what to do about it.
fn storage_obstacle(facts: &StorageFacts) -> Option<(&'static str, &'static str)> {
    match (facts.refusal, facts.free) {
        (Some(Errno::ROFS), _) => Some((
            "is on a read-only file system",
            "mount it for writing, or choose another home with --home DIR",
        )),
        (Some(_), _) => Some((
            "can't be written by this user",
            "check who owns it, or choose another home with --home DIR",
        )),
        (None, Some(free)) if free < LEAST_STORE_ROOM => {
            Some(("is on a disk without room", "free some space; nothing that was stored is lost"))
        }
        (None, _) => None,
    }
}

#[cfg(unix)]
fn is_open_to_others(metadata: &fs::Metadata) -> bool {
    std::os::unix::fs::PermissionsExt::mode(&metadata.permissions()) & 0o077 != 0
}

#[cfg(not(unix))]
fn is_open_to_others(_: &fs::Metadata) -> bool {
    false
}

fn config_file(file: &Path, settings: &Settings) -> DoctorFinding {
    let exists = file.exists();
    let says = match settings.models.len() {
        _ if !exists => "is not there: all defaults hold, and a model is looked for".to_owned(),
        0 => "names no model, so that one is looked for".to_owned(),
        count => format!("names {}", counted(count, "model")),
    };
    let text = format!("{} {says}", file.display());
    let data = json!({"path": file, "exists": exists, "models": settings.models.len()});
    DoctorFinding::new("config", FindingState::Fine, text).data(data)
}

fn config_problem(problem: &ConfigProblem, state: FindingState) -> DoctorFinding {
    let data = json!({"place": problem.place.to_string()});
    let text = format!("{}: {}", problem.place, problem.what);
    DoctorFinding::new("config", state, text).hint(problem.hint.clone()).data(data)
}

/// Opens the store, unless there is none yet: looking must not make one.
async fn store(settings: &Settings) -> DoctorFinding {
    if let Some(url) = &settings.store.url {
        return store_on_server(settings, url).await;
    }
    let path = &settings.store.path;
    let shown = path.display();
    let data = |sessions: Option<usize>| json!({"path": path, "exists": path.exists(), "bytes": on_disk(path), "sessions": sessions});
    // One that can't be looked at is opened, which says why.
    if let Ok(false) = path.try_exists() {
        return match creation_obstacle(path) {
            None => {
                let text = format!("{shown} is not there yet; the first message makes it");
                DoctorFinding::new("store", FindingState::Fine, text)
            }
            Some((what, hint)) => {
                let text = format!("{shown} is not there, and its folder {what}");
                DoctorFinding::new("store", FindingState::Error, text).hint(hint.to_owned())
            }
        }
        .data(data(None));
    }
    let sessions = async {
        let store = setup::store(settings)?;
        let sessions = store.sessions(SessionFilter::All).await?;
        // Reading works on a full disk.
        store.check_writable().await?;
        Ok::<_, CliFailure>(sessions)
    };
    match sessions.await {
        Ok(sessions) => {
            let count = counted(sessions.len(), "session");
            let text = format!("{shown} has {count}, {}", ByteSize(on_disk(path)));
            DoctorFinding::new("store", FindingState::Fine, text).data(data(Some(sessions.len())))
        }
        Err(failure) => {
            let (what, hint) = failure.parts();
            DoctorFinding::new("store", FindingState::Error, what).hint(hint).data(data(None))
        }
    }
}

/// Opens the store on its server. Its address has no password.
async fn store_on_server(settings: &Settings, url: &str) -> DoctorFinding {
    let data = |sessions: Option<usize>| json!({"url": url, "sessions": sessions});
    let sessions =
        async { Ok::<_, CliFailure>(setup::store(settings)?.sessions(SessionFilter::All).await?) };
    match sessions.await {
        Ok(sessions) => {
            let text = format!("{url} has {}", counted(sessions.len(), "session"));
            DoctorFinding::new("store", FindingState::Fine, text).data(data(Some(sessions.len())))
        }
        Err(failure) => {
            let (what, hint) = failure.parts();
            DoctorFinding::new("store", FindingState::Error, what).hint(hint).data(data(None))
        }
    }
}

/// What keeps a file that is not there from being made, as far as its folder, or the first above
/// it that is there, says so.
fn creation_obstacle(path: &Path) -> Option<(&'static str, &'static str)> {
    let folder = path.ancestors().skip(1).find(|folder| folder.exists());
    storage_obstacle(&StorageFacts::of(folder.unwrap_or(path)))
}

/// The schedules, where there are some, and whether any waits for a process that runs them.
async fn schedules(settings: &Settings) -> Option<DoctorFinding> {
    let all = match setup::has_store(settings) {
        true => setup::store(settings).ok()?.schedules().await.ok()?,
        false => return None,
    };
    let late = Moment::new(Timestamp::now() - LATE);
    let overdue = all.iter().filter(|schedule| schedule.due.is_some_and(|due| due < late));
    let overdue: Vec<String> = overdue.map(|schedule| tame(&schedule.name)).collect();
    let data = json!({"count": all.len(), "overdue": overdue});
    let count = counted(all.len(), "schedule");
    if all.is_empty() {
        return None;
    }
    Some(
        match overdue.is_empty() {
            true => {
                let next = all.iter().filter_map(|schedule| schedule.due).min();
                let next =
                    next.map_or_else(String::new, |at| format!(", the next at {}", local(at)));
                DoctorFinding::new("schedules", FindingState::Fine, format!("{count}{next}"))
            }
            false => {
                let text = format!("{count}; overdue: {}", overdue.join(", "));
                DoctorFinding::new("schedules", FindingState::Warning, text)
                    .hint("`recto serve` runs them while it is up".to_owned())
            }
        }
        .data(data),
    )
}

/// A schedule that has waited for longer was seen by nobody.
const LATE: SignedDuration = SignedDuration::from_mins(2);

/// The turns that have not ended. What keeps the store from being read is another finding.
async fn open_turns(settings: &Settings) -> Vec<DoctorFinding> {
    let open = async {
        let store = match setup::has_store(settings) {
            true => setup::store(settings)?,
            false => return Ok(Vec::new()),
        };
        Ok::<_, CliFailure>(list_open_turns(&store).await?)
    };
    open.await.unwrap_or_default().iter().map(open_turn).collect()
}

fn open_turn(open: &OpenTurn) -> DoctorFinding {
    let OpenTurn { turn, session, question, .. } = open;
    let is_left = turn.owner == Some(TurnOwner::Gone);
    let state = if is_left { FindingState::Warning } else { FindingState::Fine };
    let standing = draw::open_turn(open);
    let text = format!("turn {} of session {} {standing}", turn.id, tame(session));
    let data = turn_json(turn, question.as_ref());
    DoctorFinding::new("open turn", state, text).data(data)
}

/// The bytes that the database takes, with the log beside it.
fn on_disk(path: &Path) -> u64 {
    let log = || {
        let mut name = path.as_os_str().to_owned();
        name.push("-wal");
        PathBuf::from(name)
    };
    [path.to_owned(), log()].iter().filter_map(|file| Some(fs::metadata(file).ok()?.len())).sum()
}

fn workspace(settings: &Settings, snapshot: &WorkspaceSnapshot) -> Vec<DoctorFinding> {
    let catalog = &snapshot.catalog;
    let system = &catalog.system;
    let system = [&system.soul, &system.identity, &system.agents, &system.user];
    let counts = [
        ("system file", system.iter().filter(|file| file.is_some()).count()),
        ("skill", catalog.skills.len()),
        ("rule", catalog.rules.len()),
        ("reference", catalog.references.len()),
    ];
    let listed: Vec<String> = counts.iter().map(|(what, count)| counted(*count, what)).collect();
    let path = &settings.agent.workspace;
    let text = format!("{} has {}", path.display(), listed.join(", "));
    let data = json!({"path": path, "exists": path.is_dir(), "problems": snapshot.problems.len()});
    let problem = |problem: &recto_workspace::WorkspaceProblem| {
        let text = match problem.line {
            Some(line) => format!("{}:{line}: {}", problem.path.display(), problem.what),
            None => format!("{}: {}", problem.path.display(), problem.what),
        };
        let state = match problem.severity {
            Severity::Warning => FindingState::Warning,
            Severity::Error => FindingState::Fault,
        };
        DoctorFinding::new("workspace", state, text)
            .hint(hint_with_command(problem.hint.clone(), problem.remedy.as_ref()))
            .data(json!({"severity": severity_name(problem.severity), "path": &*problem.path}))
    };
    let problems: Vec<DoctorFinding> = snapshot.problems.iter().map(problem).collect();
    let whole =
        path.is_dir().then(|| DoctorFinding::new("workspace", FindingState::Fine, text).data(data));
    whole.into_iter().chain(problems).collect()
}

/// Reports settings of items that are not there, and skills that are too long for every page.
fn item_settings(
    home: &RectoHome,
    agents: &[&Settings],
    snapshot: &WorkspaceSnapshot,
) -> CliResult<Vec<DoctorFinding>> {
    let unknown = setup::unknown_items(home, agents)?.into_iter().map(|item| {
        DoctorFinding::new("config", FindingState::Warning, unknown_item_words(&item))
            .hint(item.hint())
    });
    let long = snapshot.long_skills.map(|long| {
        let notice = long.notice();
        let text = with_command(&*notice.problem, notice.remedy.as_ref());
        DoctorFinding::new("skills", FindingState::Fine, text)
    });
    Ok(unknown.chain(long).collect())
}

/// Reports the project that one stands in, and what was answered for it.
fn project(home: &RectoHome, config: &LoadedConfig) -> Option<DoctorFinding> {
    let project = project::find_here(home, config)?;
    let answer = ProjectAnswers::load(home).get(&project).map(|known| known.choice);
    let (words, hint) = match answer {
        Some(ProjectChoice::Yes) => ("used", "`recto chat --no-project` stops that"),
        Some(ProjectChoice::No) => ("not used", "`recto chat --project` uses it"),
        None => ("nobody was asked", "`recto chat` asks, `recto chat --project` uses it"),
    };
    let (root, brings) = (&project.root, project.contents());
    let text = format!("{} has {brings}; {words}", root.display());
    let data = json!({"path": root, "answer": answer});
    Some(DoctorFinding::new("project", FindingState::Fine, text).hint(hint.to_owned()).data(data))
}

/// Reports how much is remembered, as the owner sees it.
async fn memory(settings: &Settings) -> DoctorFinding {
    let files = setup::memory_files(settings);
    let view = files.read(&setup::owner(settings), Horizon::All).await;
    let problems = files.check().await.len();
    let data = json!({"entries": view.memories.len(), "problems": problems});
    let entries = counted(view.memories.len(), "entry");
    let found = match problems {
        0 => DoctorFinding::new("memory", FindingState::Fine, entries),
        _ => {
            let text = format!("{entries}, {}", counted(problems, "problem"));
            // A turn goes on, whatever is wrong with the files.
            DoctorFinding::new("memory", FindingState::Warning, text)
                .hint("`recto memory check` shows them".to_owned())
        }
    };
    found.data(data)
}

/// Reports what the search of each agent goes by, and in which languages its people write. Most
/// agents search as the first one does, which is told once.
async fn searches(agents: &[&Settings]) -> Vec<DoctorFinding> {
    let mut findings: Vec<DoctorFinding> = Vec::new();
    for (place, settings) in agents.iter().enumerate() {
        let (found, encoder) = search(settings);
        let is_told = findings.first().is_some_and(|first| first.text == found.text);
        let language = match &encoder {
            Some(encoder) => languages::finding(settings, encoder).await,
            None => None,
        };
        let of_agent = [Some(found).filter(|_| !is_told), language].into_iter().flatten();
        findings.extend(of_agent.map(|found| match place {
            0 => found,
            _ => found.of_agent(&settings.agent.name),
        }));
    }
    findings
}

/// Reports how turns look for items that fit a message, and gives the encoder that they use.
fn search(settings: &Settings) -> (DoctorFinding, Option<Encoder>) {
    let SearchParts { options, encoder } = setup::search_parts(settings);
    let data = |encoder: Option<&str>| json!({"enabled": options.enabled, "encoder": encoder});
    if !options.enabled {
        let text = "is off: no item comes by itself (`search.enabled`)";
        return (DoctorFinding::new("search", FindingState::Fine, text).data(data(None)), None);
    }
    let missing = || {
        let text = "goes by words: no embedding model was pulled";
        let hint = "run `recto models pull minilm`".to_owned();
        DoctorFinding::new("search", FindingState::Absent, text).hint(hint).data(data(None))
    };
    let Some(encoder) = encoder else { return (missing(), None) };
    match encoder.source().load() {
        Err(EncoderError::Missing { .. }) => (missing(), None),
        Ok(encoder) => {
            let text = format!("goes by meaning and words ({})", encoder.name());
            let found = DoctorFinding::new("search", FindingState::Fine, text);
            (found.data(data(Some(encoder.name()))), Some(encoder))
        }
        Err(error) => {
            let text = format!("goes by words: {error}");
            let found = DoctorFinding::new("search", FindingState::Warning, text)
                .hint(with_command(error.hint(), error.remedy().as_ref()));
            (found.data(data(None)), None)
        }
    }
}

impl DoctorReport {
    /// Whether a turn could be made.
    fn is_ready(&self) -> bool {
        self.answers.is_some()
            && self.findings.iter().all(|found| found.state != FindingState::Error)
    }

    fn json(&self) -> Value {
        json!({
            "version": env!("CARGO_PKG_VERSION"),
            "embedded": IS_BUILT_IN,
            "ok": self.is_ready(),
            "answers": self.answers.as_ref().map(|(entry, why)| json!({"entry": entry, "why": why})),
            "findings": self.findings.iter().map(DoctorFinding::json).collect::<Vec<_>>(),
        })
    }

    /// Draws a line for each finding, with what to do below it, and the verdict.
    fn drawn(&self, page_width: PageWidth) -> String {
        let engine = if IS_BUILT_IN { "with" } else { "without" };
        let version = env!("CARGO_PKG_VERSION");
        let mut page =
            format!("Recto {version}, built {engine} the engine for embedded models\n\n");
        let width = self.findings.iter().map(|found| tame(&found.what).chars().count()).max();
        // A long name pushes its own text to the right, and not that of all others.
        let width = match page_width {
            PageWidth::Columns(columns) => width.unwrap_or(0).min(columns / 5),
            PageWidth::Unlimited => width.unwrap_or(0),
        };
        let column = 7 + 2 + width + 2;
        for found in &self.findings {
            let (state, what) = (found.state.name(), tame(&found.what));
            let line = format!("{state:<7}  {what:<width$}  {}\n", tame(&found.text));
            page.push_str(&wrap_words(&line, column, page_width));
            if let Some(hint) = &found.hint {
                let hint = format!("{:column$}hint: {}\n", "", tame(hint));
                page.push_str(&wrap_words(&hint, 2, page_width));
            }
        }
        page + "\n" + &self.verdict()
    }

    fn verdict(&self) -> String {
        let ready = if self.is_ready() { "ready" } else { "not ready" };
        match &self.answers {
            Some((entry, why)) => {
                let verb = if self.is_ready() { "answers" } else { "would answer, but see above" };
                format!("{ready}: `{}` {verb}\nwhy: {}\n", tame(entry), tame(why))
            }
            None => format!("{ready}: see above\n"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folder_is_as_good_as_its_file_system_and_its_room() {
        let words = |refusal, free| {
            storage_obstacle(&StorageFacts { refusal, free }).map_or("", |(what, _)| what)
        };
        assert_eq!(words(None, None), "");
        assert_eq!(words(None, Some(LEAST_STORE_ROOM)), "");
        assert_eq!(words(None, Some(LEAST_STORE_ROOM - 1)), "is on a disk without room");
        assert_eq!(words(Some(Errno::ROFS), Some(0)), "is on a read-only file system");
        assert_eq!(words(Some(Errno::ACCESS), None), "can't be written by this user");
    }
}
