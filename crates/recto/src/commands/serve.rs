//! `recto serve`: the agents over HTTP, until the program is told to end.
//!
//! One line on standard output says where; everything else is told on standard error. Two on the
//! same home would answer the same people twice, so the second is refused and told where the first
//! one is.

mod browser;
pub(super) mod channels;
mod claim;
mod host;
mod listen;
mod retention;
mod standby;

use std::process::ExitCode;
use std::time::Duration;

use recto_agent::{Agent, TakeUpScope};
use recto_server::{
    AccessControl, ConnectionLimits, FormKey, Gateway, GatewayParts, HostHandle, ServeOptions,
};
use recto_store::Store;

use crate::cli::ServeArgs;
use crate::config::{LoadedConfig, Settings};
use crate::failure::{CliFailure, CliResult};
use crate::home::RectoHome;
use crate::output::{print, tell};
use crate::remedy_words;
use crate::resident_memory::ProgramPages;
use crate::setup;
use crate::signals::told_to_stop;
use crate::telemetry::{Telemetry, UsualLog};
use browser::open_in_browser;
use claim::ServeClaim;
use listen::ListenPlan;

/// How often a model is looked for, as long as an agent has none.
const LOOK_FOR_MODELS: Duration = Duration::from_secs(2);

pub(crate) fn run(home: &RectoHome, args: &ServeArgs) -> CliResult<ExitCode> {
    let pages = ProgramPages::find();
    let config = setup::load_config(home, Vec::new())?;
    let runtime = setup::runtime()?;
    let served = runtime.block_on(serve(home, config, args, pages));
    served.map(|()| ExitCode::SUCCESS)
}

async fn serve(
    home: &RectoHome,
    config: LoadedConfig,
    args: &ServeArgs,
    pages: ProgramPages,
) -> CliResult {
    let claim = ServeClaim::take(home)?;
    let _telemetry = Telemetry::start(&config.settings, UsualLog::Stderr)?;
    let server = config.settings.server.clone();
    let plan = ListenPlan::new(args.listen.as_deref().unwrap_or(&server.listen), &server)?;
    let store = setup::settled_store(&config.settings).await?;
    plan.check_tokens(&store).await?;
    let listener = plan.listen().await?;
    tokio::spawn(retention::drop_daily(store.clone(), config.settings.store.retention));
    let url = listen::page_url(&listener)?;
    let access = AccessControl::new(plan.access, load_form_key(home)?);
    let agents = start_agents(home, &config, &store).await?;
    let models = tokio::spawn(find_models_later(config.clone(), agents.clone()));
    let channels = channels::start(&config, &agents, &store);
    let services = channels::service_report(&channels, &agents);
    tokio::spawn(standby::release_pages(pages, agents.clone()));
    let (handle, requests) = HostHandle::new();
    tokio::spawn(host::answer_requests(home.clone(), config, requests));
    let gateway = Gateway::new(GatewayParts {
        agents,
        store,
        owner: setup::actor(),
        access,
        host: handle,
        remedy_words: remedy_words::command,
        services,
    });
    claim.tell_address(&url)?;
    print(&listen::answer_line(&listener, &url))?;
    if args.open {
        open_in_browser(&url);
    }
    let ended = async move {
        told_to_stop().await;
        models.abort();
        // Nothing more comes in; what was taken in is found again at the next start.
        drop(channels);
        tell(&"ending: no new turns begin; those that run are waited for");
    };
    let connections = ConnectionLimits::new(server.max_connections as usize);
    let options = ServeOptions { grace: server.grace, connections };
    recto_server::serve(listener, gateway, options, ended)
        .await
        .map_err(|error| CliFailure::new("the server failed").because(&error))
}

/// The key of the forms in pages, kept in the home so that pages outlive the server.
fn load_form_key(home: &RectoHome) -> CliResult<FormKey> {
    let path = home.path().join("data/form.key");
    FormKey::load_or_create(&path).map_err(|error| {
        let what = format!("cannot keep the key of the pages' forms in `{}`", path.display());
        CliFailure::new(what).because(&error)
    })
}

/// Starts all agents of the config, the default first. One without a model answers with an error
/// that says so, and is told of here.
async fn start_agents(
    home: &RectoHome,
    config: &LoadedConfig,
    store: &Store,
) -> CliResult<Vec<Agent>> {
    let mut agents = Vec::new();
    for settings in config.agents() {
        let settings = with_found_model(settings).await;
        let agent = setup::idle_agent(home, &settings, store.clone())?;
        agent.take_up(TakeUpScope::All).await?;
        agent.take_up_regularly();
        agent.run_schedules_regularly();
        agents.push(agent);
    }
    Ok(agents)
}

/// Gives agents that have no model the one that is pulled or served by now, once there is one.
async fn find_models_later(config: LoadedConfig, agents: Vec<Agent>) {
    while agents.iter().any(|agent| agent.models().is_empty()) {
        tokio::time::sleep(LOOK_FOR_MODELS).await;
        for settings in config.agents() {
            let name = settings.agent.name.as_str();
            let Some(agent) = agents.iter().find(|agent| agent.name() == name) else { continue };
            if !agent.models().is_empty() {
                continue;
            }
            let Ok(settings) = setup::with_model(settings.clone(), None).await else { continue };
            if let Ok(models) = setup::model_entries(&settings) {
                agent.add_found_models(models);
                let found = settings.model.as_deref().unwrap_or_default();
                tell(&format_args!("agent {name}: the model {found} was found, and answers now"));
            }
        }
    }
}

/// The settings with the model that is found, if one is.
async fn with_found_model(settings: &Settings) -> Settings {
    match setup::with_model(settings.clone(), None).await {
        Ok(settings) => settings,
        Err(failure) => {
            tell(&failure);
            settings.clone()
        }
    }
}
