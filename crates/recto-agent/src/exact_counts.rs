//! Exact counts, where a model's own tokenizer is at hand.
//!
//! The core counts by a table of texts that have been counted. A page is
//! assembled with what the table has, what it lacks is counted, and the page is
//! assembled again; nearly always the first try holds, because a session repeats
//! nearly all of its last request. In the end the prompt is counted as a whole,
//! as the model will read it, and should it be more than its parts, the page is
//! made smaller by as much.

use std::collections::HashMap;
use std::sync::Arc;

use parking_lot::Mutex;
use recto_context::{
    AssemblyInputs, Calibration, Catalog, ContextLimits, CountTable, Message, OverBudget,
    RequestContext, Text, TokenCounter, TokenRates, Tokens, Window,
};
use recto_llm::{ModelTokenizer, encode};

use crate::options::ModelEntry;

/// How often a page is made anew before it counts as one that does not fit. One is
/// usual, and another when the whole is more than its parts.
const TRIES: usize = 10;

/// The most texts whose counts are kept. A session has some hundred.
const MOST_COUNTS: usize = 50_000;

/// A model's tokenizer, with what it has counted.
#[derive(Debug)]
pub(crate) struct ExactCounts {
    tokenizer: ModelTokenizer,
    table: Mutex<Arc<CountTable>>,
}

impl ExactCounts {
    /// Counts that begin with nothing but what the template adds to each message.
    pub(crate) fn new(tokenizer: ModelTokenizer, entry: &ModelEntry) -> Self {
        let per_message = per_message(&tokenizer, entry);
        let table = CountTable { counts: HashMap::new(), per_message };
        ExactCounts { tokenizer, table: Mutex::new(Arc::new(table)) }
    }

    /// Assembles a page by exact counts.
    pub(crate) fn assemble(
        &self,
        entry: &ModelEntry,
        rates: &TokenRates,
        inputs: &AssemblyInputs<'_>,
    ) -> Result<RequestContext, OverBudget> {
        // All that could be on the page is counted first: what leaves it by an
        // estimate would never be counted, and leave for good.
        if let Ok(all) = self.lay_out(rates, &roomy(inputs, entry.limits)) {
            self.count_new(&all);
        }
        let mut limits = entry.limits;
        for _ in 0..TRIES {
            let request = self.lay_out(rates, &inputs.clone().limits(limits))?;
            // Results that were shortened to fit are texts that nobody has seen.
            if self.count_new(&request) == NewCounts::Some {
                continue;
            }
            let excess = self.excess(entry, &request, limits);
            if excess == Tokens::ZERO {
                return Ok(request);
            }
            // A little more than is needed, or shortening goes on in small steps.
            limits.margin = limits.margin + excess + Tokens::new(excess.get() / 8 + 16);
        }
        let request = self.lay_out(rates, &inputs.clone().limits(limits))?;
        match self.excess(entry, &request, limits) {
            Tokens::ZERO => Ok(request),
            _ => Err(request.over_budget()),
        }
    }

    fn lay_out(
        &self,
        rates: &TokenRates,
        inputs: &AssemblyInputs<'_>,
    ) -> Result<RequestContext, OverBudget> {
        let table = self.table.lock().clone();
        inputs.clone().counter(TokenCounter::exact(&table, rates.clone())).assemble()
    }

    /// By how much the whole prompt is more than there is room for.
    fn excess(&self, entry: &ModelEntry, page: &RequestContext, limits: ContextLimits) -> Tokens {
        let body = encode(entry.client.wire(), &entry.call, page);
        let counted = self.tokenizer.count_prompt(&body).map_or(Tokens::ZERO, Tokens::new);
        let room = page.budget.messages + limits.margin + page.budget.tools;
        counted - room
    }

    /// The counts, with those of all items of a catalog.
    pub(crate) fn count_items(&self, catalog: &Catalog) -> Arc<CountTable> {
        let texts = catalog.uncounted(&self.table.lock());
        self.count_texts(&texts);
        self.table.lock().clone()
    }

    /// Counts the texts of a page that were not counted yet.
    fn count_new(&self, request: &RequestContext) -> NewCounts {
        let texts = request.uncounted(&self.table.lock());
        self.count_texts(&texts)
    }

    fn count_texts(&self, texts: &[Text]) -> NewCounts {
        let counted: Vec<_> = texts
            .iter()
            .map(|text| (text.hash(), Tokens::new(self.tokenizer.count(text))))
            .collect();
        if counted.is_empty() {
            return NewCounts::None;
        }
        let mut table = self.table.lock();
        let table = Arc::make_mut(&mut table);
        if table.counts.len() + counted.len() > MOST_COUNTS {
            table.counts.clear();
        }
        table.counts.extend(counted);
        NewCounts::Some
    }
}

/// Counts items as the requests to a model are counted.
#[derive(Debug, Default)]
pub struct ItemTokenCounts {
    table: Option<Arc<CountTable>>,
    /// What a server's counts have corrected; nothing as long as it has told none.
    rates: Option<TokenRates>,
}

impl ItemTokenCounts {
    pub(crate) fn new(table: Option<Arc<CountTable>>, calibration: &Calibration) -> Self {
        let rates = (calibration.observations() > 0).then(|| calibration.rates());
        ItemTokenCounts { table, rates }
    }

    /// The counter that has these counts.
    pub fn counter(&self) -> TokenCounter<'_> {
        match (&self.table, &self.rates) {
            (Some(table), rates) => TokenCounter::exact(table, rates.clone().unwrap_or_default()),
            (None, Some(rates)) => TokenCounter::calibrated(rates.clone()),
            (None, None) => TokenCounter::estimated(),
        }
    }
}

/// Assembles a page for a model: by exact counts where its own tokenizer can be
/// had, by estimates elsewhere.
pub async fn assemble_for(
    entry: &ModelEntry,
    inputs: &AssemblyInputs<'_>,
) -> Result<RequestContext, OverBudget> {
    match entry.client.tokenizer().await {
        Ok(Some(tokenizer)) => {
            ExactCounts::new(tokenizer, entry).assemble(entry, &TokenRates::default(), inputs)
        }
        Ok(None) | Err(_) => inputs.assemble(),
    }
}

/// Whether there was anything to count.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum NewCounts {
    None,
    Some,
}

/// The inputs with a window without end, where all of the history that may be there
/// has room.
fn roomy<'a>(inputs: &AssemblyInputs<'a>, limits: ContextLimits) -> AssemblyInputs<'a> {
    let endless = Tokens::new(u32::MAX / 2);
    let limits =
        ContextLimits { history_tokens: endless, target: None, margin: Tokens::ZERO, ..limits };
    inputs.clone().window(Window::from_config(endless)).limits(limits)
}

/// What the chat template adds to each message: what a conversation with two more
/// messages costs more, without what they say.
fn per_message(tokenizer: &ModelTokenizer, entry: &ModelEntry) -> Tokens {
    let catalog = Catalog::default();
    let history = [Arc::new(Message::user(1, "x")), Arc::new(Message::assistant(2, "x"))];
    let prompt = |history: &[Arc<Message>]| {
        let request = AssemblyInputs::new(&catalog, "x").history(history).assemble().ok()?;
        tokenizer.count_prompt(&encode(entry.client.wire(), &entry.call, &request))
    };
    let (short, long) = (prompt(&[]), prompt(&history));
    let said = 2 * tokenizer.count("x");
    let added = short.zip(long).map(|(short, long)| long.saturating_sub(short + said));
    Tokens::new(added.unwrap_or_default().div_ceil(2))
}
