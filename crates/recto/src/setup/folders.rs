//! The folders of sessions. A session belongs to the folder that it was begun in, so whoever goes
//! on with it works there, wherever they stand.

use recto_agent::{SessionFolder, SessionSettings};
use recto_store::StoredSession;

use crate::config::Settings;
use crate::failure::{CliFailure, CliResult};
use crate::home::RectoHome;
use crate::output::{tame, tell};
use crate::project;

/// The folder that sessions get which the agent begins now, where it is not the agent's own.
pub(crate) fn session_folder(settings: &Settings) -> Option<SessionFolder> {
    let workspace = &settings.agent.workspace;
    match &settings.project {
        Some(project) => Some(SessionFolder::Project(project.to_string_lossy().into_owned())),
        None => settings
            .has_given_workspace
            .then(|| SessionFolder::Workspace(workspace.to_string_lossy().into_owned())),
    }
}

/// Lets the agent work in the folder of a session, and tells that it is another one than where
/// one stands.
pub(crate) fn enter_folder(
    home: &RectoHome,
    settings: &mut Settings,
    session: &StoredSession,
) -> CliResult {
    let folder = SessionSettings::from_store(&session.settings).folder;
    if folder == session_folder(settings) {
        return Ok(());
    }
    let label = tame(&session.label());
    if let Some(given) = home.workspace() {
        let given = tame(&given.to_string_lossy());
        let what = format!("session {label} was not begun in the workspace {given}");
        let hint = "leave --workspace out to go on with it, or name another session";
        return Err(CliFailure::new(what).hint(hint));
    }
    settings.project = None;
    match &folder {
        None => {}
        Some(folder) if !folder.path().is_dir() => {
            let gone = tame(&folder.path().to_string_lossy());
            let what = format!("session {label} works in {gone}, which is not there");
            return Err(
                CliFailure::new(what).hint("bring the folder back, or begin another session")
            );
        }
        Some(SessionFolder::Project(root)) => {
            project::must_be_used(home, root)?;
            settings.project = Some(root.into());
        }
        Some(SessionFolder::Workspace(workspace)) => {
            settings.agent.workspace = workspace.into();
            settings.has_given_workspace = true;
        }
    }
    let place = tame(&settings.work_folder().to_string_lossy());
    tell(&format_args!("session {label} works in {place}"));
    Ok(())
}
