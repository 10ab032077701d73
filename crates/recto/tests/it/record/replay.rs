//! `recto replay`: the same bytes again, or the same page for another model.

use recto_fakes::{FakeAnswer, FakeServer, ReceivedRequest};
use serde_json::Value;

use super::verify_all;
use crate::servers::{ServedHome, Wire, read};
use crate::support::*;

/// The bodies of all chats that a fake got.
fn chats(fake: &FakeServer) -> Vec<Vec<u8>> {
    let chats = fake.log().into_iter().filter(ReceivedRequest::is_chat);
    chats.map(|chat| chat.body).collect()
}

/// A conversation of one turn and two requests.
fn two_requests(wire: Wire) -> ServedHome {
    let fake = wire
        .fake()
        .answer(FakeAnswer::calls([read("SOUL.md")]))
        .answer(FakeAnswer::text("I am Ada."));
    let served = ServedHome::new(wire, fake);
    served.home.write("workspace/SOUL.md", "You are Ada, \"the first\".\n");
    served.say("Who are you?");
    served
}

/// Everything that is stored, as it is told.
fn stored(home: &Home) -> (Value, Value) {
    (home.json(&["sessions", "show", "default", "--json"]), home.json(&["show", "--json"]))
}

#[test]
fn the_very_same_bytes_are_sent_again_and_nothing_is_stored() {
    for wire in [Wire::Ollama, Wire::OpenAi] {
        let served = two_requests(wire);
        // What the files say now does not matter.
        served.home.write("workspace/SOUL.md", "You are Eve.\n");
        let before = stored(&served.home);
        served.fake.push(FakeAnswer::text("Still **Ada**."));
        assert_eq!(served.home.ok(&["replay"]), "Still **Ada**.\n");
        served.fake.push(FakeAnswer::calls([read("b.md")]).text("Hm."));
        let again = served.home.ok(&["replay", "1", "--request", "1"]);
        assert_eq!(again, "Hm.\n[calls read_file {\"path\":\"b.md\"}]\n");
        let sent = chats(&served.fake);
        assert_eq!(sent.len(), 4);
        assert_eq!((&sent[2], &sent[3]), (&sent[1], &sent[0]), "{wire:?}");
        assert_eq!(stored(&served.home), before);
        verify_all(&served.home, 2);
    }
}

#[test]
fn a_replay_as_json_holds_reply_calls_and_usage() {
    let served = two_requests(Wire::OpenAi);
    served.fake.push(FakeAnswer::calls([read("b.md")]).text("Hm."));
    let mut replayed = served.home.json(&["replay", "--json"]);
    let reply = &mut replayed["requests"][0]["reply"];
    assert!(reply["tool_calls"][0]["id"].take().is_string());
    assert!(reply["usage"].take()["prompt"].is_u64());
    expect_test::expect![[r#"{"requests":[{"turn":1,"request":2,"bytes":null,"identical":null,"problem":null,"redacted":null,"reply":{"model":"m","content":"Hm.","tool_calls":[{"id":null,"name":"read_file","arguments":"{\"path\":\"b.md\"}"}],"usage":null}}],"ok":true}"#]]
    .assert_eq(&replayed.to_string());
}

#[test]
fn the_same_page_goes_to_a_model_on_another_wire() {
    let served = two_requests(Wire::Ollama);
    let other = Wire::OpenAi.fake().model("other").answer(FakeAnswer::text("Ada here.")).start();
    let config = std::fs::read_to_string(served.home.path("config.toml")).unwrap();
    let entry = format!(
        "[models.b]\nprovider = \"openai\"\nmodel = \"other\"\nwindow = 8192\n\
         base_url = \"{}/v1\"\n",
        other.url()
    );
    served.home.write("config.toml", config + &entry);
    let before = stored(&served.home);
    assert_eq!(served.home.ok(&["replay", "last", "--model", "b"]), "Ada here.\n");
    assert_eq!(other.rejections(), Vec::<String>::new());
    let (here, there) = (&served.fake.chats()[1], &other.chats()[0]);
    assert_eq!(there["model"], "other");
    let texts = |chat: &Value| -> Vec<(Value, Value)> {
        let messages = chat["messages"].as_array().unwrap().iter();
        messages.map(|message| (message["role"].clone(), message["content"].clone())).collect()
    };
    let (mut here, mut there) = (texts(here), texts(there));
    // The call has no text, which the wires write in different ways.
    let calls = (here.remove(2), there.remove(2));
    assert_eq!((&calls.0.0, &calls.1.0), (&"assistant".into(), &"assistant".into()));
    assert_eq!(there, here);
    assert_eq!(stored(&served.home), before);
}

#[test]
fn what_a_server_refuses_again_is_a_failure() {
    let served = two_requests(Wire::Ollama);
    served.fake.push(FakeAnswer::refusal(404, r#"{"error":"model 'fake' not found"}"#));
    served.home.run(&["replay"]).fails_with("fake");
}

#[test]
fn what_is_not_there_can_t_be_replayed() {
    let home = Home::scripted(&[]);
    home.run(&["replay"]).fails_with("there is no turn yet");
    home.run(&["replay", "7"]).fails_with("there is no turn `7`");
    home.run(&["replay", "x", "--verify"]).fails_with("there is no turn `x`");
    assert_eq!(
        home.ok(&["replay", "--verify"]),
        "nothing was sent yet: there is no request to rebuild\n"
    );
    home.ok(&["chat", "-m", "hello"]);
    home.run(&["replay", "1", "--request", "2"]).fails_with("numbered from 1 to 1");
    home.run(&["replay", "1", "--model", "none"]).fails_with("there is no model `none`");
    // The entry was taken out of the config since.
    home.write("config.toml", "[models.other]\nprovider = \"scripted\"\nmodel = \"o\"\n");
    home.run(&["replay"]).fails_with("there is no model `m`");
    verify_all(&home, 1);
}
