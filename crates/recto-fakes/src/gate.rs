//! A gate in an answer's way, so that a test decides when the next piece goes
//! out, instead of sleeping and hoping.

use std::sync::Arc;
use std::time::Duration;

use parking_lot::{Condvar, Mutex};
use tokio::sync::Semaphore;

/// How long a test may wait for something that must happen.
pub(crate) const PATIENCE: Duration = Duration::from_secs(60);

/// Holds an answer before each of its pieces until it is released. Clones are
/// the same gate.
#[derive(Debug, Clone)]
pub struct AnswerGate {
    state: Arc<GateState>,
}

/// What all clones of a gate share.
#[derive(Debug)]
struct GateState {
    /// Pieces that may pass; closed once everything may.
    permits: Semaphore,
    /// How often an answer has come to the gate.
    arrivals: Mutex<usize>,
    arrived: Condvar,
}

impl AnswerGate {
    /// A gate that lets nothing pass yet.
    pub fn new() -> Self {
        let permits = Semaphore::new(0);
        let state = GateState { permits, arrivals: Mutex::new(0), arrived: Condvar::new() };
        AnswerGate { state: Arc::new(state) }
    }

    /// Lets so many more pieces pass.
    pub fn release(&self, pieces: usize) {
        self.state.permits.add_permits(pieces);
    }

    /// Lets everything pass from now on.
    pub fn open(&self) {
        self.state.permits.close();
    }

    /// Blocks until answers have come to the gate so many times in all. The
    /// first time is before anything but the headers was sent; the second says
    /// that the first piece is on its way to the client; and so on.
    ///
    /// # Panics
    ///
    /// When it takes more than a minute: then the request was never made.
    pub fn wait_for(&self, times: usize) {
        let mut arrivals = self.state.arrivals.lock();
        let waited = self.state.arrived.wait_while_for(&mut arrivals, |n| *n < times, PATIENCE);
        assert!(!waited.timed_out(), "no answer came to the gate for the {times}th time");
    }

    /// Waits for a permit. On the server's side.
    pub(crate) async fn pass(&self) {
        *self.state.arrivals.lock() += 1;
        self.state.arrived.notify_all();
        // An error means that the gate was opened for good.
        if let Ok(permit) = self.state.permits.acquire().await {
            permit.forget();
        }
    }
}

impl Default for AnswerGate {
    fn default() -> Self {
        AnswerGate::new()
    }
}
