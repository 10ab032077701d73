//! Minimal for work with tools, full for talk: each decided by its message.

use recto_fakes::FakeAnswer;

use super::{ServedHome, WIRES, Wire, contents, messages, read, roles};

const PREFIX: &str = "You must respond by calling one or more of the provided tools.";

#[test]
fn an_edit_goes_out_minimal_and_an_explanation_full() {
    for wire in WIRES {
        let served = ServedHome::with(wire, wire.fake(), "window = 16384\ncontext_mode = \"auto\"");
        served.home.write("workspace/config.json", "{}");
        served.say("hello, how are you today?");
        served.fake.push(FakeAnswer::calls([read("config.json")]));
        served.fake.push(FakeAnswer::text("Done."));
        let events = served.events("edit the file config.json");
        assert_eq!(events[1]["mode"], "minimal", "{wire:?}");
        let events = served.events("explain how TCP works");
        assert_eq!(events[1]["mode"], "full", "{wire:?}");

        let chats = served.fake.chats();
        let edit = messages(&chats[1]);
        assert_eq!(roles(&edit), ["system", "user"], "{wire:?}: no history");
        let said = contents(&edit, "user")[0];
        assert!(said.contains(PREFIX) && said.ends_with("edit the file config.json"), "{said}");
        assert!(chats[1]["tools"].as_array().is_some_and(|tools| tools.len() >= 3), "{wire:?}");

        let explain = messages(chats.last().unwrap());
        let history = contents(&explain, "user");
        assert_eq!(history.len(), 3, "{wire:?}");
        assert!(history.iter().all(|message| !message.contains(PREFIX)), "{history:?}");
        assert_eq!(chats.last().unwrap().get("tool_choice"), None, "{wire:?}");
        // Only OpenAI's wire can demand a call; once one was made, the model may speak.
        let demand = (wire == Wire::OpenAi).then(|| "required".into());
        assert_eq!(chats[1].get("tool_choice"), demand.as_ref(), "{wire:?}");
        assert_eq!(chats[2].get("tool_choice"), None, "{wire:?}");
        assert_eq!(served.fake.rejections(), [""; 0], "{wire:?}");
    }
}

/// Promise: `explicit-mode-wins`
#[test]
fn what_is_asked_for_wins_over_what_the_message_says() {
    // The flag over the session, the session over the model.
    let served = ServedHome::with(Wire::OpenAi, Wire::OpenAi.fake(), "window = 16384");
    let mode = |arguments: &[&str], message: &str| {
        let run = served.home.run(&[&["chat", "--json", "-m", message], arguments].concat());
        super::json_lines(&run.out)[1]["mode"].as_str().unwrap().to_owned()
    };
    assert_eq!(mode(&[], "edit config.json"), "full");
    assert_eq!(mode(&["--context-mode", "auto"], "edit config.json"), "minimal");
    assert_eq!(mode(&["--context-mode", "minimal"], "why is the sky blue?"), "minimal");
    served.home.run(&["chat", "-m", "/mode minimal"]);
    assert_eq!(mode(&[], "why is the sky blue?"), "minimal");
    assert_eq!(mode(&["--context-mode", "full"], "edit config.json"), "full");
    served.home.run(&["chat", "-m", "/mode default"]);
    assert_eq!(mode(&[], "edit config.json"), "full");
}
