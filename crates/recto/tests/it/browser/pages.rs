//! The pages of what was sent and of what the agent has, in a real browser: see the module above.

use super::ServedPages;
use crate::support::Home;

/// A home with two rules, one of which is always there.
fn home() -> Home {
    let home = Home::scripted(&[]);
    let rule = "---\ndescription: How to sound\npriority: 5\ninclude: always\n---\nBe kind.\n";
    home.write("workspace/rules/tone.md", rule);
    home.write("workspace/rules/lamps.md", "Trim the wicks at dusk.\n");
    home
}

#[test]
fn view_context_opens_from_a_reply_and_as_a_page() {
    ServedPages::start(home()).play("view_context");
}

#[test]
fn items_are_switched_searched_added_and_removed() {
    ServedPages::start(home()).play("workspace");
}
