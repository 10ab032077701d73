//! A turn from where it stands to its end: what happens is shown, and a person at
//! the terminal is asked whether a tool may run.

use std::collections::VecDeque;
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use recto_agent::{AgentError, Event, Question, TurnEvent};
use recto_store::{Answer, ApprovalId, StoreError, TurnId};
use tokio::sync::mpsc;
use tokio::task::JoinHandle;

use super::{Chat, Presses, Went, went};
use crate::commands::agent_failed;
use crate::failure::Failure;
use crate::output::tell;
use crate::terminal::choose::{Chosen, choose};

/// Who answers questions.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Asks {
    /// The person at the terminal, with a key.
    AtOnce,
    /// Whoever types `/approve` or `/deny`, here or elsewhere.
    Later,
}

/// A question that a person is looking at.
struct Prompt {
    question: Question,
    taken_back: Arc<AtomicBool>,
    answer: JoinHandle<io::Result<Chosen>>,
}

impl Prompt {
    /// Shows one question, so that it is clear what a key is the answer to.
    fn show(question: Question) -> Self {
        tell(&wants(&question));
        let Question { approval, tool, .. } = &question;
        tell(&match question.only_once {
            true => format!("{tool} (approval {approval}):  [y] allow   [n] deny"),
            false => format!(
                "{tool} (approval {approval}):  [y] allow once   [s] allow every call of it in this \
                 session   [n] deny"
            ),
        });
        let keys = if question.only_once { "yn" } else { "ysn" };
        let taken_back = Arc::new(AtomicBool::new(false));
        let watched = taken_back.clone();
        let answer = tokio::task::spawn_blocking(move || choose(keys, &watched));
        Prompt { question, taken_back, answer }
    }

    fn is_about(&self, approval: ApprovalId) -> bool {
        self.question.approval == approval
    }

    /// Takes the question back, and waits until the terminal is as it was.
    async fn take_back(mut self) {
        self.taken_back.store(true, Ordering::Relaxed);
        let _ = (&mut self.answer).await;
    }
}

/// Nobody need press a key any more, however the following ended.
impl Drop for Prompt {
    fn drop(&mut self) {
        self.taken_back.store(true, Ordering::Relaxed);
    }
}

/// What would be run, exactly.
pub(super) fn wants(question: &Question) -> String {
    let Question { approval, tool, title, detail, .. } = question;
    let mut text = format!("{tool} wants to run (approval {approval}): {title}");
    for line in detail.lines() {
        text += &format!("\n  {line}");
    }
    text
}

impl Chat {
    /// Shows what happens until the turn is over, or waits for a word that nobody
    /// here can give.
    pub(super) async fn follow(
        &mut self,
        turn: TurnId,
        events: &mut mpsc::UnboundedReceiver<TurnEvent>,
        mut presses: Presses,
    ) -> Result<Went, Failure> {
        let mut questions: VecDeque<Question> = VecDeque::new();
        let mut prompt: Option<Prompt> = None;
        loop {
            if prompt.is_none() {
                prompt = questions.pop_front().map(Prompt::show);
            }
            let chosen = async {
                match &mut prompt {
                    Some(prompt) => (&mut prompt.answer).await,
                    None => std::future::pending().await,
                }
            };
            let next = tokio::select! {
                biased;
                event = self.watch(&mut presses, events.recv()) => Next::Event(event),
                chosen = chosen => Next::Chosen(chosen.unwrap_or_else(|error| Err(error.into()))),
            };
            let event = match next {
                Next::Chosen(chosen) => {
                    if let Some(asked) = prompt.take() {
                        self.decide(&asked.question, chosen).await?;
                    }
                    continue;
                }
                Next::Event(None) => return Ok(Went::Left),
                Next::Event(Some(None)) => {
                    return Err(Failure::new("the turn ended unexpectedly")
                        .hint(format!("see what is stored with `recto show {turn}`")));
                }
                Next::Event(Some(Some(event))) => event,
            };
            if presses != Presses::None {
                // What was stopped may have been an older turn before it.
                self.agent.stop(self.session.id);
            }
            match &event.event {
                Event::Asked(question) if self.asks == Asks::AtOnce => {
                    self.voice.pause()?;
                    questions.push_back(question.clone());
                    continue;
                }
                Event::Asked(_) => {
                    self.voice.event(&event)?;
                    return Ok(Went::Waits);
                }
                Event::Decided { approval, .. } => {
                    questions.retain(|question| question.approval != *approval);
                    if let Some(asked) = prompt.take_if(|prompt| prompt.is_about(*approval)) {
                        asked.take_back().await;
                    }
                }
                Event::Finished(_) => {
                    if let Some(asked) = prompt.take() {
                        asked.take_back().await;
                    }
                }
                _ => {}
            }
            if event.turn != turn {
                self.voice.other(&event)?;
                continue;
            }
            self.voice.event(&event)?;
            if let Event::Finished(finished) = &event.event {
                return Ok(went(finished));
            }
        }
    }

    /// Hands in what the person chose. Ctrl-C stops the turn, which denies.
    async fn decide(&self, question: &Question, chosen: io::Result<Chosen>) -> Result<(), Failure> {
        let answer = match chosen {
            Ok(Chosen::Key('y')) => Answer::Once,
            Ok(Chosen::Key('s')) => Answer::Session,
            Ok(Chosen::Key(_)) => Answer::Denied,
            Ok(Chosen::TakenBack) => return Ok(()),
            Ok(Chosen::Interrupted) => {
                self.agent.stop(self.session.id);
                return Ok(());
            }
            Err(error) => {
                return Err(Failure::new("cannot read from the terminal").because(&error).hint(
                    format!("answer with `recto approvals answer {} allow`", question.approval),
                ));
            }
        };
        match self.agent.answer(question.approval, answer).await {
            // Somebody was faster, which holds.
            Ok(_) | Err(AgentError::Store(StoreError::Decided { .. })) => Ok(()),
            Err(error) => Err(agent_failed(&error)),
        }
    }
}

enum Next {
    Event(Option<Option<TurnEvent>>),
    Chosen(io::Result<Chosen>),
}
