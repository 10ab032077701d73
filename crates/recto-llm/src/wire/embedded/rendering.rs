//! The rendering of a chat template, as work that can be written down for another process.
//!
//! The engine counts a template's steps, and not what a single step takes: each can double a string,
//! or compare lists that hold themselves many times over. So Recto has a process of its own do it,
//! which the kernel ends ([`template_process`](crate::template_process)). The template that Recto
//! brings itself needs none.

use std::collections::HashMap;
use std::path::Path;
use std::sync::{Arc, LazyLock};
use std::time::{Duration, Instant};

use parking_lot::Mutex;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use super::conversation::TemplateConversation;
use super::jinja::{JinjaTemplate, TemplateInput, on_deep_stack, stack_for};
use super::marks::MarkedTexts;
use super::refusal::TemplateRefusal;
use super::{ChatTemplate, PromptSegment, template};
use crate::template_process::{self, ProcessFailure};

/// The templates of which it is kept whether they look at tools.
const MOST_KNOWN: usize = 32;

/// Whether templates look at tools, by their source. It is asked for with each request.
static KNOWN: LazyLock<Mutex<HashMap<String, bool>>> = LazyLock::new(Mutex::default);

/// How long work is not begun again for which a process had to be ended. A page is counted and made
/// by several prompts, each of which would take as long.
const PAUSE: Duration = Duration::from_secs(60);

/// The templates for which a process had to be ended, by their source.
static ENDED: LazyLock<Mutex<EndedTemplates>> = LazyLock::new(Mutex::default);

/// What is to be done with a template.
#[derive(Debug, Serialize, Deserialize)]
enum TemplateWork {
    Prompt(PromptWork),
    /// Whether the template of this source looks at tools.
    KnowsTools(String),
}

/// A prompt to make.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct PromptWork {
    pub(super) template: ChatTemplate,
    pub(super) day: Arc<str>,
    pub(super) conversation: TemplateConversation,
    pub(super) texts: Arc<MarkedTexts>,
}

impl PromptWork {
    /// The prompt, made where it can do no harm.
    pub(super) fn make(self) -> Result<Vec<PromptSegment>, TemplateRefusal> {
        match is_own(&self.template.source) {
            true => self.make_here(),
            false => TemplateWork::Prompt(self).ask(),
        }
    }

    /// The prompt in the first form of the conversation that the template takes; otherwise why it
    /// does not take the last one.
    fn make_here(&self) -> Result<Vec<PromptSegment>, TemplateRefusal> {
        let PromptWork { template, day, conversation, texts } = self;
        on_deep_stack(conversation.size(), || {
            let jinja = JinjaTemplate::parse(&template.source)?;
            let mut refusal = TemplateRefusal::Broken;
            for messages in conversation.forms() {
                texts.forget_written();
                let (tools, size) = (conversation.tools(), conversation.size());
                let given = TemplateInput { messages, tools, day: Arc::clone(day), size };
                let output = jinja.render(template, given, texts);
                match output.and_then(|output| texts.cut(&output, &conversation.musts)) {
                    Ok(prompt) => return Ok(prompt),
                    Err(refused) => refusal = refused,
                }
            }
            Err(refusal)
        })
    }
}

/// Whether a template looks at the variable `tools`.
pub(super) fn knows_tools(source: &str) -> Result<bool, TemplateRefusal> {
    if is_own(source) {
        return knows_tools_here(source);
    }
    if let Some(known) = KNOWN.lock().get(source) {
        return Ok(*known);
    }
    let knows = TemplateWork::KnowsTools(source.to_owned()).ask()?;
    let mut known = KNOWN.lock();
    if known.len() >= MOST_KNOWN {
        known.clear();
    }
    known.insert(source.to_owned(), knows);
    Ok(knows)
}

fn knows_tools_here(source: &str) -> Result<bool, TemplateRefusal> {
    on_deep_stack(0, || JinjaTemplate::parse(source).map(|jinja| jinja.knows_tools))
}

/// Whether it is the template that Recto brings along.
fn is_own(source: &str) -> bool {
    source == template::DEFAULT.source
}

impl TemplateWork {
    /// Has another process do it, where there can be one.
    fn ask<T: DeserializeOwned>(&self) -> Result<T, TemplateRefusal> {
        let written = serde_json::to_vec(self).map_err(|_| TemplateRefusal::Broken)?;
        let answer = match template_process::executable() {
            None => do_written_work(&written, |_| {}).ok_or(TemplateRefusal::Broken)?,
            Some(executable) => self.ask_process(executable, written)?,
        };
        serde_json::from_slice(&answer).unwrap_or(Err(TemplateRefusal::Broken))
    }

    fn ask_process(&self, executable: &Path, written: Vec<u8>) -> Result<Vec<u8>, TemplateRefusal> {
        let size = written.len();
        if let Some(refusal) = ENDED.lock().refusal(self.source(), size, Instant::now()) {
            return Err(refusal);
        }
        let refusal = match template_process::ask(executable, written) {
            Ok(answer) => return Ok(answer),
            Err(ProcessFailure::NotStarted(why)) => return Err(TemplateRefusal::NoProcess(why)),
            Err(ProcessFailure::OutOfTime) => TemplateRefusal::Endless,
            Err(ProcessFailure::Ended) => TemplateRefusal::TooGreedy,
        };
        ENDED.lock().note(self.source(), size, refusal.clone(), Instant::now());
        Err(refusal)
    }

    fn source(&self) -> &str {
        match self {
            TemplateWork::Prompt(work) => &work.template.source,
            TemplateWork::KnowsTools(source) => source,
        }
    }

    /// Does it, and writes down what came of it.
    fn do_here(&self) -> Vec<u8> {
        let written = match self {
            TemplateWork::Prompt(work) => serde_json::to_vec(&work.make_here()),
            TemplateWork::KnowsTools(source) => serde_json::to_vec(&knows_tools_here(source)),
        };
        written.unwrap_or_default()
    }

    /// How much stack it may need.
    fn stack(&self) -> usize {
        match self {
            TemplateWork::Prompt(work) => stack_for(work.conversation.size()),
            TemplateWork::KnowsTools(_) => stack_for(0),
        }
    }
}

/// Does what another process has written down. `bound` sets the limits of this one, and is told how
/// much memory the stack alone may take.
pub(crate) fn do_written_work(written: &[u8], bound: impl FnOnce(usize)) -> Option<Vec<u8>> {
    let work: TemplateWork = serde_json::from_slice(written).ok()?;
    bound(work.stack());
    Some(work.do_here())
}

/// The work for which processes had to be ended lately.
#[derive(Debug, Default)]
struct EndedTemplates(HashMap<String, EndedWork>);

/// The last such work with a template: how much was written down for it, what was said, and when.
#[derive(Debug)]
struct EndedWork {
    size: usize,
    refusal: TemplateRefusal,
    at: Instant,
}

impl EndedTemplates {
    /// What is said of work that is as large as some that had to be ended a short time ago, or larger.
    fn refusal(&self, source: &str, size: usize, now: Instant) -> Option<TemplateRefusal> {
        let ended = self.0.get(source)?;
        let is_alike = size >= ended.size && now.saturating_duration_since(ended.at) < PAUSE;
        is_alike.then(|| ended.refusal.clone())
    }

    fn note(&mut self, source: &str, size: usize, refusal: TemplateRefusal, at: Instant) {
        self.0.retain(|_, ended| at.saturating_duration_since(ended.at) < PAUSE);
        self.0.insert(source.to_owned(), EndedWork { size, refusal, at });
    }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::PermissionsExt as _;

    use super::*;

    /// Promise: `input-never-runs-on`
    #[test]
    fn what_had_to_be_ended_is_not_begun_again_at_once() {
        let (mut ended, begin) = (EndedTemplates::default(), Instant::now());
        let after = |seconds| begin + Duration::from_secs(seconds);
        ended.note("a", 100, TemplateRefusal::Endless, begin);
        let endless = Some(TemplateRefusal::Endless);
        for (source, size, seconds, expected) in [
            ("a", 100, 0, &endless),
            ("a", 900, 59, &endless),
            // A shorter conversation may do, another template as well, and later this one.
            ("a", 99, 0, &None),
            ("b", 900, 0, &None),
            ("a", 900, 60, &None),
        ] {
            let found = ended.refusal(source, size, after(seconds));
            assert_eq!(&found, expected, "{source} {size} {seconds}");
        }
        ended.note("b", 1, TemplateRefusal::TooGreedy, after(60));
        assert_eq!(ended.0.keys().collect::<Vec<_>>(), ["b"], "it does not grow");
    }

    /// Promise: `input-never-runs-on`
    #[test]
    fn a_process_that_had_to_be_ended_is_asked_once() {
        let folder = tempfile::tempdir().unwrap();
        let program = folder.path().join("recto");
        let counted = folder.path().join("asked");
        let script = format!("#!/bin/sh\ncat > /dev/null\necho x >> '{}'\n", counted.display());
        fs::write(&program, script + "kill -XCPU $$\n").unwrap();
        fs::set_permissions(&program, fs::Permissions::from_mode(0o700)).unwrap();
        let work = TemplateWork::KnowsTools("{{ a_process_that_had_to_be_ended }}".to_owned());
        for _ in 0..3 {
            let refused = work.ask_process(&program, b"work".to_vec());
            assert_eq!(refused, Err(TemplateRefusal::Endless));
        }
        assert_eq!(fs::read_to_string(&counted).unwrap(), "x\n");
    }
}
