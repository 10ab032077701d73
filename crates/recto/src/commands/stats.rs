//! `recto stats`: how the context was used over time.

use jiff::Timestamp;
use recto_agent::{UsageQuery, report_usage};

use crate::cli::StatsArgs;
use crate::draw::{self, PageWidth};
use crate::failure::CliResult;
use crate::home::RectoHome;
use crate::output::print_as;
use crate::setup;

pub(crate) fn run(home: &RectoHome, args: &StatsArgs) -> CliResult {
    let settings = setup::load_agent(home, Vec::new(), &args.agent)?;
    let snapshot = setup::read_workspace(&settings)?;
    let catalog = setup::whole_catalog(home, &settings, &snapshot);
    let query = UsageQuery { span: args.since, unused_days: args.unused, now: Timestamp::now() };
    let report = setup::runtime()?.block_on(async {
        let store = setup::settled_store_to_read(&settings).await?;
        let agent = &settings.agent.name;
        Ok::<_, crate::failure::CliFailure>(report_usage(&store, agent, &catalog, query).await?)
    })?;
    print_as(args.json, || report.json(), || draw::usage(&report, PageWidth::of_stdout()))
}
