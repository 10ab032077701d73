//! What `recto_llm::fuzzing::check_chat_template` says.
#![no_main]

use std::panic;
use std::sync::Once;
use std::thread;

static HOOK: Once = Once::new();

recto_fuzz::target!(|data| {
    HOOK.call_once(tolerate_template_faults);
    recto_llm::fuzzing::check_chat_template(data);
});

/// A fault in what renders templates ends its thread, and becomes a refusal: only what panics
/// elsewhere is a finding.
fn tolerate_template_faults() {
    let usual = panic::take_hook();
    panic::set_hook(Box::new(move |fault| {
        if thread::current().name() != Some("chat template") {
            usual(fault);
        }
    }));
}
