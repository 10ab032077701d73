//! A question that is answered by one key.
//!
//! Waiting for a key blocks its thread, so async code does it with
//! `spawn_blocking`; the question can be taken back meanwhile.

use std::io;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use crossterm::event::{self, Event, KeyCode, KeyEventKind, KeyModifiers};
use crossterm::terminal::{disable_raw_mode, enable_raw_mode};

/// How often it is looked whether the question was taken back.
const A_MOMENT: Duration = Duration::from_millis(100);

/// How a person answered.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum KeyChoice {
    /// One of the keys, in lower case.
    Key(char),
    /// Ctrl-C, Ctrl-D or Escape.
    Interrupted,
    /// The question was taken back.
    TakenBack,
}

/// How long keys don't count at first: whoever typed them had not read the question.
const READING: Duration = Duration::from_millis(400);

/// Waits for one of these keys. The terminal is as it was before when this returns.
pub(crate) fn choose_key(keys: &str, taken_back: &AtomicBool) -> io::Result<KeyChoice> {
    let _raw = RawMode::enter()?;
    let since = Instant::now();
    while !taken_back.load(Ordering::Relaxed) {
        if !event::poll(A_MOMENT)? {
            continue;
        }
        let Event::Key(key) = event::read()? else { continue };
        if key.kind == KeyEventKind::Release {
            continue;
        }
        let control = key.modifiers.contains(KeyModifiers::CONTROL);
        match key.code {
            KeyCode::Char('c' | 'd') if control => return Ok(KeyChoice::Interrupted),
            KeyCode::Esc => return Ok(KeyChoice::Interrupted),
            KeyCode::Char(_) if since.elapsed() < READING => {}
            KeyCode::Char(typed) if !control => {
                let typed = typed.to_ascii_lowercase();
                if keys.contains(typed) {
                    return Ok(KeyChoice::Key(typed));
                }
            }
            _ => {}
        }
    }
    Ok(KeyChoice::TakenBack)
}

/// Keys come one by one as long as this is there.
struct RawMode;

impl RawMode {
    fn enter() -> io::Result<Self> {
        enable_raw_mode()?;
        Ok(RawMode)
    }
}

impl Drop for RawMode {
    fn drop(&mut self) {
        // There is nobody to tell, and nothing else to do about it.
        let _ = disable_raw_mode();
    }
}
