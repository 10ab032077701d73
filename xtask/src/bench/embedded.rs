//! How fast the embedded model reads and writes, beside llama.cpp's own speed on
//! the same file with the same number of threads, in the same run.
//!
//! Recto is measured through its client, as an agent calls it: from the request
//! to the first text it reads, from there to the last it writes. Each run has a
//! model that has read nothing yet, and Recto and its peer take turns.

mod peer;

use std::path::Path;
use std::time::Duration;

use recto_context::{
    AssemblyInputs, Catalog, ContentSource, RequestContext, Tokens, WorkspaceFile,
};
use recto_llm::PromptCacheKey;

use super::machine::cores;
use super::model::{BenchModel, window};
use super::report::{BenchReport, Figure, FigureGoal, FigureRow, FigureUnit};
use super::stats::Samples;
use crate::Result;
use peer::ModelPeer;

/// Lengths of prompts, in tokens.
const PROMPTS: [u32; 2] = [512, 2_000];

/// How many tokens are written.
const WRITTEN: u32 = 128;

/// How often each is measured. The median counts.
const RUNS: usize = 7;

/// How many other conversations a busy model remembers.
const OTHERS: u64 = 7;

/// Measures with the model in `file`. The peer is installed under `folder` where
/// the environment names none.
pub(super) fn run(file: &Path, folder: &Path) -> Result<BenchReport> {
    let peer = ModelPeer::start(folder, file, cores());
    if let Err(reason) = &peer {
        eprintln!("no peer: {reason}");
    }
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    runtime.block_on(measure(file, peer))
}

/// How long it took to read a prompt and to write behind it.
#[derive(Debug, Clone, Copy)]
struct TokenSpeed {
    /// Tokens read a second.
    reading: f64,
    /// Tokens written a second.
    writing: f64,
}

impl TokenSpeed {
    /// The first token is written as soon as the prompt is read.
    fn from_times(read: u32, first: Duration, written: u32, rest: Duration) -> Self {
        TokenSpeed {
            reading: f64::from(read) / first.as_secs_f64(),
            writing: f64::from(written.saturating_sub(1)) / rest.as_secs_f64(),
        }
    }
}

/// What was measured with prompts of one length.
struct PromptSpeeds {
    prompt: u32,
    own: Vec<TokenSpeed>,
    peers: Vec<TokenSpeed>,
    busy: TokenSpeed,
}

async fn measure(
    file: &Path,
    mut peer: std::result::Result<ModelPeer, String>,
) -> Result<BenchReport> {
    let mut all = Vec::new();
    for length in PROMPTS {
        eprintln!("prompts of {length} tokens");
        let (mut own, mut peers) = (Vec::new(), Vec::new());
        let mut prompt = 0;
        for number in 0..RUNS {
            let model = BenchModel::load(file).await?;
            let request = request(&model, length, number)?;
            let (speed, written) = ask(&model, PromptCacheKey(1), &request).await?;
            own.push(speed);
            prompt = model.count_prompt(&request)?;
            // Nothing of it may be at work while the peer is.
            let text = prompt_text(&model, &request);
            drop(model);
            if let Ok(peer) = &mut peer {
                peers.push(peer.run(&text, prompt, written)?);
            }
        }
        all.push(PromptSpeeds { prompt, own, peers, busy: busy(file, length).await? });
    }
    report(&all, &peer).ok_or_else(|| "nothing was measured".into())
}

/// The speed when the model remembers other conversations, too.
async fn busy(file: &Path, length: u32) -> Result<TokenSpeed> {
    let model = BenchModel::load(file).await?;
    for number in 0..OTHERS {
        let mut other = request(&model, length, 100 + number as usize)?;
        other.budget.reply = Tokens::new(1);
        model.ask(PromptCacheKey(100 + number), &other).await?;
    }
    Ok(ask(&model, PromptCacheKey(1), &request(&model, length, 0)?).await?.0)
}

/// The speed with which a request is answered, and the length of the answer.
async fn ask(
    model: &BenchModel,
    key: PromptCacheKey,
    request: &RequestContext,
) -> Result<(TokenSpeed, u32)> {
    let answer = model.ask(key, request).await?;
    let usage = answer.reply.usage;
    let counts = usage.prompt.zip(usage.cached).zip(usage.completion);
    let ((prompt, cached), written) = counts.ok_or("the engine told no counts")?;
    if written < WRITTEN / 2 {
        return Err(format!("the model wrote only {written} tokens").into());
    }
    let rest = answer.last - answer.first;
    Ok((TokenSpeed::from_times(prompt - cached, answer.first, written, rest), written))
}

/// A request of about so many tokens that asks for a long answer. Another number
/// makes another request from the first word on, so that nothing is known of it.
fn request(model: &BenchModel, length: u32, number: usize) -> Result<RequestContext> {
    let mut catalog = Catalog::default();
    let soul = format!("Number {number} is the teller of long stories. You never come to an end.");
    catalog.system.soul = Some(WorkspaceFile { text: soul.into(), source: ContentSource::BuiltIn });
    let mut message = "Go on with this story, at great length.\n\n".to_owned();
    for day in 1.. {
        let inputs = AssemblyInputs::new(&catalog, message.as_str()).window(window());
        let mut request = inputs.assemble()?;
        if model.count_prompt(&request)? >= length {
            request.budget.reply = Tokens::new(WRITTEN);
            return Ok(request);
        }
        message += &format!(
            "On day {day} the keeper of the lighthouse counted {} ships, wrote their names into \
             the blue book, and wondered which of them would come back. ",
            day * 7 % 31
        );
    }
    Err("no prompt is long enough".into())
}

/// The prompt as one text, special tokens and all.
fn prompt_text(model: &BenchModel, request: &RequestContext) -> String {
    let body = model.body(request);
    let segments = body["prompt"].as_array().into_iter().flatten();
    let text = |segment: &serde_json::Value| {
        let text = segment["template"].as_str().or_else(|| segment["text"].as_str());
        text.unwrap_or_default().to_owned()
    };
    segments.map(text).collect()
}

fn report(
    all: &[PromptSpeeds],
    peer: &std::result::Result<ModelPeer, String>,
) -> Option<BenchReport> {
    let mut rows = Vec::new();
    let mut goals = Vec::new();
    for PromptSpeeds { prompt, own, peers, busy } in all {
        for (what, speed) in SPEEDS {
            let name = format!("{what}, prompt of {prompt}");
            let own = Samples::new(own.iter().map(speed))?;
            let peer = Samples::new(peers.iter().map(speed));
            let peer = peer.map(|peer| peer.percentile(50));
            if let Some(peer) = peer {
                let ratio = own.percentile(50) / peer;
                goals.push(FigureGoal::at_least(name.clone(), 0.95, ratio, FigureUnit::Ratio));
            }
            rows.push(row(name, &own, peer, speed(busy)));
        }
    }
    let setup = format!(
        "{WRITTEN} tokens are written behind each prompt, the most probable ones; medians of \
         {RUNS} runs in turn, with {} threads. `beside others` is Recto's speed when it remembers \
         {OTHERS} other conversations of that length.",
        cores()
    );
    let remark = match peer {
        Ok(peer) => format!("The peer is llama-cpp-python {}: {}", peer.version, peer.system),
        Err(reason) => format!("There is no peer to compare with: {reason}"),
    };
    Some(BenchReport { remarks: vec![remark], ..BenchReport::new(setup, rows, goals) })
}

/// A way to look at a speed.
type SpeedColumn = fn(&TokenSpeed) -> f64;

const SPEEDS: [(&str, SpeedColumn); 2] =
    [("reading", |speed| speed.reading), ("writing", |speed| speed.writing)];

fn row(name: String, own: &Samples, peer: Option<f64>, busy: f64) -> FigureRow {
    let figure = |name, value, unit| Figure { name, value, unit };
    let middle = own.percentile(50);
    let mut figures = vec![figure("recto", middle, FigureUnit::PerSecond)];
    figures.extend(peer.into_iter().flat_map(|peer| {
        [
            figure("peer", peer, FigureUnit::PerSecond),
            figure("ratio", middle / peer, FigureUnit::Ratio),
        ]
    }));
    figures.extend([
        figure("slowest", own.percentile(0), FigureUnit::PerSecond),
        figure("fastest", own.max(), FigureUnit::PerSecond),
        figure("beside others", busy, FigureUnit::PerSecond),
    ]);
    FigureRow::new(name, figures)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_token_belongs_to_the_reading() {
        let speed =
            TokenSpeed::from_times(500, Duration::from_secs(2), 101, Duration::from_millis(500));
        assert_eq!((speed.reading, speed.writing), (250.0, 200.0));
    }

    #[test]
    fn without_a_peer_there_is_no_goal() {
        let speed = TokenSpeed { reading: 300.0, writing: 90.0 };
        let all = [PromptSpeeds { prompt: 512, own: vec![speed; 3], peers: vec![], busy: speed }];
        let report = report(&all, &Err("there is no Python".to_owned())).unwrap();
        assert!(report.goals.is_empty());
        assert_eq!(report.rows.len(), 2);
        assert!(report.to_string().contains("no peer to compare with: there is no Python"));
    }
}
