//! Whom a chat is with and where: which agent, in which session, in which project.
//!
//! Whoever names an agent gets it. Whoever names a session gets the agent whose
//! session it is, and is told when that is not the one that the config binds to such
//! a session. Everybody else gets the one that it binds.

use std::io;
use std::path::Path;

use recto_agent::{SessionFolder, SessionSettings};
use recto_context::AudienceKind;
use recto_fs::blocking;
use recto_store::{SessionHolder, Store, StoredSession};

use crate::cli::{ChatArgs, ProjectArgs};
use crate::commands::sessions::{ambiguous, not_of};
use crate::config::{LoadedConfig, Settings};
use crate::failure::{CliFailure, CliResult};
use crate::home::RectoHome;
use crate::input;
use crate::output::{tame, tell};
use crate::project::{
    self, ProjectAnswer, ProjectAnswers, ProjectChoice, ProjectFolder, folder_session_name,
};
use crate::setup;

/// The session of those who name none. Each agent has its own.
const DEFAULT_SESSION: &str = "default";

/// The name of the session to talk in.
pub(super) async fn session_name(
    home: &RectoHome,
    store: Option<&Store>,
    args: &ChatArgs,
    project: Option<&ProjectAnswer>,
) -> CliResult<String> {
    if let Some(name) = &args.session {
        return Ok(name.clone());
    }
    match (home.workspace(), project) {
        (Some(workspace), _) => workspace_session(store, workspace).await,
        (None, Some(answer)) => Ok(answer.session.clone()),
        (None, None) => Ok(DEFAULT_SESSION.to_owned()),
    }
}

/// The session of those who name a workspace and no session: it is called like the folder, unless
/// a session of that name belongs elsewhere.
async fn workspace_session(store: Option<&Store>, workspace: &Path) -> CliResult<String> {
    let base = folder_session_name(workspace);
    let own = Some(SessionFolder::Workspace(workspace.to_string_lossy().into_owned()));
    let is_own = |session: &StoredSession| {
        session.archived.is_some() || SessionSettings::from_store(&session.settings).folder == own
    };
    for number in 1.. {
        let name = if number == 1 { base.clone() } else { format!("{base}-{number}") };
        let named = match store {
            Some(store) => store.sessions_named(&SessionHolder::owner(), &name).await?,
            None => Vec::new(),
        };
        if named.iter().all(is_own) {
            return Ok(name);
        }
    }
    Ok(base)
}

/// The session that exists under a name or number, and goes on when one talks there.
pub(super) async fn find_begun(
    store: &Store,
    settings: &Settings,
    name: &str,
) -> CliResult<Option<StoredSession>> {
    let found = store.find_session(&settings.agent.name, &SessionHolder::owner(), name).await?;
    Ok(found.filter(|session| session.archived.is_none() || name.trim() == session.id.to_string()))
}

/// What the owner should know before talking in a session that is not held with them alone.
pub(super) fn audience_notice(session: &StoredSession) -> Option<String> {
    let audience = SessionSettings::from_store(&session.settings).audience?;
    let with = match (audience.who, &audience.person) {
        (AudienceKind::SubAgent, _) => {
            let id = session.id;
            return Some(format!("session {id} is that of a sub-agent's task, and takes no other"));
        }
        (AudienceKind::Owner, _) => return None,
        (AudienceKind::Guest, Some(person)) => format!("the guest `{}`", tame(person)),
        (AudienceKind::Guest, None) => "a guest".to_owned(),
        (AudienceKind::Group, _) => "a group".to_owned(),
    };
    Some(format!("session {} is held with {with}: what is said here is read there", session.id))
}

/// Lets the agents work in the project that one stands in, if the person wants it: by a flag, as
/// they answered before, or as they answer now. Gives what holds for a project that is used.
pub(super) async fn choose_project(
    home: &RectoHome,
    config: &mut LoadedConfig,
    store: Option<&Store>,
    args: &ChatArgs,
) -> CliResult<Option<ProjectAnswer>> {
    let flag = match args.project {
        ProjectArgs { project: true, .. } => Some(ProjectChoice::Yes),
        ProjectArgs { no_project: true, .. } => Some(ProjectChoice::No),
        _ => None,
    };
    let Some(project) = project::find_here(home, config) else {
        return match flag {
            Some(ProjectChoice::Yes) => Err(CliFailure::new("there is no project here")
                .hint("go to a folder with an AGENTS.md or a .recto/ of its own")),
            _ => Ok(None),
        };
    };
    let mut answers = ProjectAnswers::load(home);
    let known = answers.get(&project).map(|answer| answer.choice);
    if let Err(failure) = project.check_links() {
        match (flag, known) {
            (Some(ProjectChoice::Yes), _) => return Err(failure),
            (Some(ProjectChoice::No), _) => {}
            (None, None) => {
                tell(&failure);
                return Ok(None);
            }
            // Whoever said yes was told when the config was loaded; whoever said no uses none of it.
            (None, Some(_)) => return Ok(None),
        }
    }
    let new = match (flag, known) {
        (Some(flag), _) => Some(flag),
        (None, Some(_)) => None,
        (None, None) => match ask(&project, args).await? {
            Some(answer) => Some(answer),
            None => return Ok(None),
        },
    };
    if let Some(choice) = new {
        answers.set(home, &project, choice, store).await?;
    }
    let used = answers.get(&project).filter(|answer| answer.choice == ProjectChoice::Yes);
    project::apply(config, used.map(|_| &project));
    if used.is_some() && can_ask(args) {
        tell(&project.greeting());
    }
    Ok(used.cloned())
}

/// Whether a person can be asked, and the run was not told to ask nobody.
fn can_ask(args: &ChatArgs) -> bool {
    input::can_ask() && !args.json && !args.unattended
}

/// Asks whether a project may be used; `None` where nobody answers.
async fn ask(project: &ProjectFolder, args: &ChatArgs) -> CliResult<Option<ProjectChoice>> {
    if !can_ask(args) {
        tell(&project.note());
        return Ok(None);
    }
    tell(&project.question());
    loop {
        let line = blocking(|| {
            let mut line = String::new();
            io::stdin().read_line(&mut line).map(|_| line)
        });
        let failed = |error| CliFailure::new("cannot read the answer").because(&error);
        let line = line.await.map_err(failed)?;
        // Only a whole line that says so is an answer: this one is kept.
        match line.trim().to_lowercase().as_str() {
            "y" | "yes" => return Ok(Some(ProjectChoice::Yes)),
            "n" | "no" => return Ok(Some(ProjectChoice::No)),
            _ if line.is_empty() => return Ok(None),
            _ => tell(&"that is neither yes nor no: please say one of them"),
        }
    }
}

/// The settings of the agent to talk to.
pub(super) async fn choose_agent<'c>(
    config: &'c LoadedConfig,
    store: Option<&Store>,
    args: &ChatArgs,
    session: &str,
) -> CliResult<&'c Settings> {
    let bound = setup::terminal_agent(config, session);
    let asked = args.agent.agent.as_ref();
    let agent = setup::named_settings(config, asked.unwrap_or(&bound))?;
    let (Some(store), Some(name)) = (store, &args.session) else { return Ok(agent) };
    let Some(session) = find_elsewhere(store, &agent.agent.name, name).await? else {
        return Ok(agent);
    };
    match asked {
        // A name is free for each agent; a number is one session's.
        Some(_) if name.trim() != session.id.to_string() => Ok(agent),
        Some(asked) => Err(not_of(&session, asked)),
        None => {
            let settings = setup::session_settings(config, &session)?;
            let (label, owner) = (tame(&session.label()), tame(&session.agent));
            tell(&format_args!("session {label} belongs to the agent `{owner}`, who answers"));
            Ok(settings)
        }
    }
}

/// The session of another agent that is meant by a name or number, unless this agent
/// has one of that name itself.
async fn find_elsewhere(
    store: &Store,
    agent: &str,
    name: &str,
) -> CliResult<Option<StoredSession>> {
    let owner = SessionHolder::owner();
    if let Some(session) = store.find_session(agent, &owner, name).await? {
        return Ok(Some(session).filter(|session| session.agent != agent));
    }
    let mut named = store.sessions_named(&owner, name).await?;
    named.retain(|session| session.archived.is_none());
    match named.len() {
        0 | 1 => Ok(named.pop()),
        _ => Err(ambiguous(name, &named)),
    }
}
