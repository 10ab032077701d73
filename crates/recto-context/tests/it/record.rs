//! A request comes back from its record, and a record that was tampered with does not.

use std::collections::BTreeSet;
use std::sync::Arc;

use expect_test::{Expect, expect};
use proptest::prelude::*;
use proptest::sample::Index;
use recto_context::mode::words::{MessageSign, TalkKind};
use recto_context::{
    AssemblyInputs, AttachedFile, Calibration, ChatRole, ContentPart, ContentRef, ContentSource,
    ContextRecord, DropReason, FileNotice, Image, ImageRender, IncludeMode, ItemKind, Layer,
    LayoutPreset, Message, MessageBody, MessageHash, MessageId, MessageRef, MessageStamp, Mode,
    ModeDecision, ModeReason, Opaque, OpaqueKind, PageLayout, PartReason, PickPlacement,
    RecordBundle, RecordContents, RequestContext, RestoreError, Text, TokenCounter, TokenRates,
    Tokens, ToolCalls, TurnNumber, UserMessage, Window, compare_requests, render_messages,
};
use serde_json::{Value, json};

use crate::play::*;
use crate::support::*;

/// All that a record refers to.
fn contents(recorded: &RecordBundle) -> RecordContents {
    let messages = recorded.messages.iter();
    RecordContents {
        texts: recorded.texts.iter().map(|text| (text.hash(), text.clone())).collect(),
        messages: messages
            .map(|message| (MessageRef::to_message(message), message.clone()))
            .collect(),
    }
}

fn to_json(record: &ContextRecord) -> String {
    serde_json::to_string(record).unwrap()
}

/// The request as its record, written and read again, gives it back.
fn restored(request: &RequestContext) -> RequestContext {
    let recorded = request.record();
    let record = ContextRecord::from_json(to_json(&recorded.record).as_bytes()).unwrap();
    assert_eq!(record, recorded.record);
    record.restore(&contents(&recorded)).unwrap()
}

pub(crate) fn check_comes_back(request: &RequestContext) {
    let again = restored(request);
    assert_eq!(again.report(), request.report());
    assert_eq!(render_messages(&again.parts), request.messages);
    assert_eq!(compare_requests(request, &again).change, None);
    assert_eq!(again, *request);
    check_outline(request);
}

/// What a record says without its texts is what its request says.
fn check_outline(request: &RequestContext) {
    let outline = request.record().record.outline();
    let layers: Vec<_> =
        Layer::ALL.iter().map(|layer| (*layer, request.layer_tokens(*layer))).collect();
    assert_eq!(outline.layers, layers);
    assert_eq!(outline.prompt_tokens(), request.prompt_tokens());
    assert_eq!((outline.mode, outline.model), (request.mode.chosen, request.model.clone()));
    assert_eq!(outline.dropped, request.dropped);
}

/// A record says what it refers to, and brings each of it once.
fn check_references(recorded: &RecordBundle) {
    let texts: Vec<_> = recorded.texts.iter().map(Text::hash).collect();
    let messages: Vec<_> = recorded.messages.iter().map(|m| MessageRef::to_message(m)).collect();
    assert_eq!(texts.iter().copied().collect::<BTreeSet<_>>(), recorded.record.text_hashes());
    assert_eq!(texts.len(), recorded.record.text_hashes().len(), "each text once");
    assert_eq!(messages.iter().copied().collect::<BTreeSet<_>>(), recorded.record.message_refs());
    assert_eq!(messages.len(), recorded.record.message_refs().len(), "each message once");
    assert!(recorded.texts.iter().all(|text| text.len() >= 64), "short texts stand in the record");
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 48, ..ProptestConfig::default() })]

    #[test]
    fn requests_of_random_sessions_come_back(play in play()) {
        play_through(play, &|step| {
            if let Ok(request) = step.result {
                check_comes_back(request);
                check_references(&request.record());
            }
            Ok(())
        })?;
    }

    #[test]
    fn requests_of_every_preset_come_back(
        preset in prop_oneof![
            Just(LayoutPreset::Recto), Just(LayoutPreset::Plain), Just(LayoutPreset::Attached), Just(LayoutPreset::Layered)
        ],
        turn in turn(),
    ) {
        let catalog = agent();
        let (items, picks) = (catalog.session_at_start(), picks(&turn));
        let inputs = AssemblyInputs::new(&catalog, turn.message.as_str());
        let inputs = inputs.layout(preset.layout()).session(&items).picks(&picks);
        let request = inputs.window(Window::from_config(Tokens::new(100_000))).assemble().unwrap();
        check_comes_back(&request);
    }
}

/// A request with something of everything.
fn everything() -> RequestContext {
    let mut catalog = catalog();
    catalog.system.agents = file("AGENTS.md", &"Be exact, and say what you left out. ".repeat(3));
    catalog.rules.push(rule("auth", 1, IncludeMode::Agent, "Use tokens."));
    catalog.notices.push(FileNotice::new(ContentSource::file("rules/bad.md"), "can't be read"));
    let items = catalog.session_at_start();
    let history = talk(
        "user: what time is it? / model: call time{\"zone\": \"UTC\"} / tool: 12:00 / model: noon",
    );
    let image = Image { media_type: "image/png".into(), data: "aGk=".into(), name: None };
    let opaque = Opaque {
        provider: "anthropic".into(),
        json: "{\"signature\":\"x\"}".into(),
        kind: OpaqueKind::Thought,
    };
    let content = vec![
        ContentPart::Text("see".into()),
        ContentPart::Image(image),
        ContentPart::File(AttachedFile::new("a.txt", "A line of the file.\n".repeat(9))),
        ContentPart::Opaque(opaque),
    ];
    let picks = [pick(ItemKind::Rule, "auth", 0.75), pick(ItemKind::Rule, "gone", 0.5)];
    let mut candidate = pick(ItemKind::Reference, "api", 0.1);
    candidate.best_chunk =
        Some("GET /v1/things lists things, and a few more words. ".repeat(2).into());
    let words = ModeReason::Words(MessageSign::Talk(TalkKind::Question));
    let matched = vec!["what".to_owned()];
    AssemblyInputs::new(&catalog, "")
        .content(content)
        .message_id(MessageId(9))
        .turn(TurnNumber(2))
        .stamp(MessageStamp::new("2026-11-15 08:07"))
        .layout(PageLayout { picks: PickPlacement::Kept, ..PageLayout::default() })
        .mode(ModeDecision { matched, ..ModeDecision::new(Mode::Full, words) })
        .session(&items)
        .history(&history)
        .picks(&picks)
        .candidates(&[candidate])
        .bootstrap(bootstrap())
        .assemble()
        .unwrap()
}

/// One row a line.
fn by_rows(record: &ContextRecord) -> String {
    let Value::Object(fields) = serde_json::to_value(record).unwrap() else { panic!("an object") };
    let mut lines = String::new();
    for (name, value) in fields {
        match value {
            Value::Array(rows) => {
                rows.iter().for_each(|row| lines += &format!("{name}: {row}\n"));
            }
            other => lines += &format!("{name}: {other}\n"),
        }
    }
    lines
}

#[test]
fn a_record_of_everything() {
    let request = everything();
    check_comes_back(&request);
    let recorded = request.record();
    check_references(&recorded);
    expect![[r###"
        version: 1
        model: "default"
        day: "2026-11-15"
        tool_calls: "native"
        notices: {"source":{"file":"rules/bad.md"},"problem":"can't be read"}
        tools: {"item":{"kind":"tool","name":"read_item","include":"always"},"schema":{"hash":"0f6ef23b1f32961eb8fdacc9c5c0da8d4f1c0f5683d3733679d9bc3cfb9e2170"},"why":"always"}
        tools: {"item":{"kind":"tool","name":"read_file","include":"always"},"schema":{"hash":"27b4c43ca737c57dad3b20593496b542710811060337cec5adb9ff261d4c5785"},"why":"always"}
        tools: {"item":{"kind":"tool","name":"add_note","server":"notes","include":"always"},"schema":{"hash":"a45ca744a601fefecc220e3ae30fa54da785b691af8f5d008feb5cec23741a7c"},"why":"always"}
        parts: {"at":"system","by":"system","join":"new_message","what":"You are Ada.","from":{"file":"SOUL.md"},"why":"workspace_file"}
        parts: {"at":"system","by":"system","join":"paragraph","what":{"hash":"8d63754b83e00a728c88fbf7fdf0d1c76c0db013098fa0d0b5c7590a6c52c983"},"from":{"file":"AGENTS.md"},"why":"workspace_file"}
        parts: {"at":"system","by":"system","join":"paragraph","what":"The user is Kim.","from":{"file":"USER.md"},"why":"workspace_file"}
        parts: {"at":"bootstrap","by":"system","join":"paragraph","what":{"hash":"52b7aba921012e9638464b01efc4f676011cafbd8bbcad27dfabfaa24c0c90c2"},"why":"generated"}
        parts: {"at":"memory","by":"system","join":"paragraph","what":"Relevant memories:","why":"heading"}
        parts: {"at":"memory","by":"system","join":"line","lead":"- [2026-11-02] ","what":"Kim likes brief answers.","from":{"file":"memory/MEMORY.md"},"item":{"kind":"memory","name":"MEMORY.md:4","include":"always"},"why":"snapshot"}
        parts: {"at":"memory","by":"system","join":"line","lead":"- ","what":"The cat is called Turing.","from":{"file":"memory/MEMORY.md"},"item":{"kind":"memory","name":"MEMORY.md:2","include":"always"},"why":"snapshot"}
        parts: {"at":"skills","by":"system","join":"paragraph","what":{"hash":"cfe4d59e9b0738a30c934b7f9159e6a6c30e09196d0bfdc66a1fdf751205e899"},"why":"heading"}
        parts: {"at":"skills","by":"system","join":"paragraph","lead":"## git\nLook at history.\n\n","what":"Use `git log`.","from":{"file":"skills/git/SKILL.md"},"item":{"kind":"skill","name":"git","include":"always"},"why":"always"}
        parts: {"at":"skills","by":"system","join":"paragraph","lead":"## notes\nCreate and search notes.\n\n","what":"Use `notes add`.","from":{"file":"skills/notes/SKILL.md"},"item":{"kind":"skill","name":"notes","include":"always"},"why":"always"}
        parts: {"at":"tools","by":"system","join":"paragraph","what":"Prefer read_file over guessing.","from":{"file":"TOOLS.md"},"why":"workspace_file"}
        parts: {"at":"items","by":"system","join":"paragraph","lead":"## Rule: dates\n","what":"Write dates as ISO 8601.","from":{"file":"rules/dates.md"},"item":{"kind":"rule","name":"dates","include":"always","priority":5},"why":"always"}
        parts: {"at":"items","by":"system","join":"paragraph","lead":"## Rule: tone\n","what":"Stay calm.","from":{"file":"rules/tone.md"},"item":{"kind":"rule","name":"tone","include":"always","priority":10},"why":"always"}
        parts: {"at":"items","by":"system","join":"paragraph","lead":"## Reference: api\n","what":"GET /v1/things lists things.","from":{"file":"rules/api.md"},"item":{"kind":"reference","name":"api","include":"always","priority":500},"why":"always"}
        parts: {"at":"history","by":"user","join":"new_message","what":{"message":[1,"aa7b21217bd209a2a7f7ab2088ded6a2"]},"from":"session","why":"recent"}
        parts: {"at":"history","by":"assistant","join":"new_message","what":{"message":[2,"f975d8e00b329a39f9ec0ff10b97b689"]},"from":"session","why":"recent"}
        parts: {"at":"history","by":"tool","join":"new_message","what":{"message":[3,"6d3393b1c6a2bbff39f86e2cc16d9519"]},"from":"session","why":"recent"}
        parts: {"at":"history","by":"assistant","join":"new_message","what":{"message":[4,"b9a6306d722051beb6e2dfbae1b49f71"]},"from":"session","why":"recent"}
        parts: {"at":"picks","by":"user","join":"new_message","what":"[context for this message]","why":"heading"}
        parts: {"at":"picks","by":"user","join":"paragraph","lead":"[rule: auth]\n","what":"Use tokens.","from":{"file":"rules/auth.md"},"item":{"kind":"rule","name":"auth","include":"agent","priority":1,"scores":{"probability":0.75}},"why":"found"}
        parts: {"at":"picks","by":"user","join":"paragraph","what":"[end of context]","why":"heading"}
        parts: {"at":"message","by":"user","join":"paragraph","lead":"[2026-11-15 08:07] ","what":{"message":[9,"07deff0e7d48944f44b7b4fcfab05c48"]},"from":"session","why":"current"}
        parts: {"at":"message","by":"user","join":"paragraph","what":{"hash":"43b1c27347c0924e97281170c2bdce0172d3e48fe80d00542086d36fec40b961"},"from":{"attachment":"a.txt"},"why":{"attached":{"bytes":180,"hash":"cd61185893754487f6dcdee4fe651b5d52d57a4460cd4b0a2b6dabbf0ae11fa2"}}}
        dropped: {"what":"rule gone","item":{"kind":"rule","name":"gone"},"at":"items","why":"vanished"}
        found: {"item":{"kind":"rule","name":"auth"},"scores":{"probability":0.75}}
        found: {"item":{"kind":"rule","name":"gone"},"scores":{"probability":0.5}}
        candidates: {"item":{"kind":"reference","name":"api"},"scores":{"probability":0.1},"chunk":{"hash":"23dd452785579323fb93ff08e2acb606182ea92efbdaa639489c90be03e248bb"}}
        descriptions: [{"kind":"skill","name":"notes"},"Create and search notes."]
        descriptions: [{"kind":"skill","name":"git"},"Look at history."]
        mode: {"chosen":"full","reason":{"words":{"talk":"question"}},"matched":["what"]}
        tool_choice: "auto"
        sent: {"message":[9,"07deff0e7d48944f44b7b4fcfab05c48"],"stamp":"2026-11-15 08:07","picks":[{"item":{"kind":"rule","name":"auth"},"since":2,"text":"Use tokens."}]}
        carry: {"message":9,"made_for":{"model":"default","window":4096},"trims":0,"history_from":null,"trimmed":{"messages":0,"tokens":0},"picks_from":null,"found_tools":[],"shed":[],"cut_picks":[],"condensed":[],"shortened":[]}
        window: {"tokens":4096,"source":"assumed"}
        counted: "estimated"
        budget: {"window":4096,"reply":1024,"tools":297,"messages":2775,"used":1189}
        tokens: {"parts":[10,31,7,46,6,21,8,18,15,15,9,15,9,17,9,16,10,5,11,11,7,826,67],"tools":[155,71,71],"dropped":[[0,0]]}
    "###]].assert_eq(&by_rows(&recorded.record));
}

/// A record of today must be readable for good: these were written with the first
/// form, by the first version that had one.
#[test]
fn the_first_form_is_read() {
    #[derive(serde::Deserialize)]
    struct Kept {
        record: Value,
        texts: Vec<Text>,
        messages: Vec<Arc<Message>>,
    }
    let kept: Kept = serde_json::from_str(include_str!("record/version_1.json")).unwrap();
    let record = ContextRecord::from_json(kept.record.to_string().as_bytes()).unwrap();
    let recorded = RecordBundle { record, texts: kept.texts, messages: kept.messages };
    let request = recorded.record.restore(&contents(&recorded)).unwrap();
    expect![[r#"
        ── system
        You are Ada.

        Be exact, and say what you left out. Be exact, and say what you left out. Be exact, and say what you left out. 

        The user is Kim.

        Agent: main, on Recto 0.1.0
        Workspace: /w
        Operating system: linux
        Session began: 2026-11-15
        Surface: terminal

        Relevant memories:
        - [2026-11-02] Kim likes brief answers.
        - The cat is called Turing.

        You have access to the following skills. Use them when relevant.

        ## git
        Look at history.

        Use `git log`.

        ## notes
        Create and search notes.

        Use `notes add`.

        Prefer read_file over guessing.

        ## Rule: dates
        Write dates as ISO 8601.

        ## Rule: tone
        Stay calm.

        ## Reference: api
        GET /v1/things lists things.
        ── user
        what time is it?
        ── assistant → time{"zone": "UTC"}

        ── tool ← 2-0
        12:00
        ── assistant
        noon
        ── user
        [context for this message]

        [rule: auth]
        Use tokens.

        [end of context]

        [2026-11-15 08:07] see"#]].assert_eq(&page(&request));
    // But for one thing: what was left out says by now which item it is.
    let mut record = kept.record;
    record["dropped"][0]["item"] = serde_json::json!({"kind": "rule", "name": "gone"});
    let record = ContextRecord::from_json(record.to_string().as_bytes()).unwrap();
    let expected = RecordBundle { record, ..recorded };
    assert_eq!(request.record(), expected, "it is still written like this");
}

fn names<T: serde::Serialize>(values: &[T], expected: &Expect) {
    let name = |value: &T| serde_json::to_string(value).unwrap() + "\n";
    expected.assert_eq(&values.iter().map(name).collect::<String>());
}

#[test]
fn the_names_of_reasons_for_parts_stay() {
    let reasons = [
        PartReason::WorkspaceFile,
        PartReason::DefaultForMissing("SOUL.md".into()),
        PartReason::Generated,
        PartReason::Heading,
        PartReason::Always,
        PartReason::JoinedLate,
        PartReason::AddedByHand,
        PartReason::Mentioned,
        PartReason::Listed,
        PartReason::ListedForRoom,
        PartReason::Possible,
        PartReason::OfSkill("notes".into()),
        PartReason::FewTools,
        PartReason::Snapshot,
        PartReason::Recent,
        PartReason::KeptSince(TurnNumber(3)),
        PartReason::StandsAbove(TurnNumber(2)),
        PartReason::Found,
        PartReason::FoundInTurn(TurnNumber(3)),
        PartReason::FoundEarlier,
        PartReason::AskedFor,
        PartReason::AskedForInTurn(TurnNumber(3)),
        PartReason::Current,
        PartReason::Round,
        PartReason::Shortened,
    ];
    names(
        &reasons,
        &expect![[r#"
        "workspace_file"
        {"default_for_missing":"SOUL.md"}
        "generated"
        "heading"
        "always"
        "joined_late"
        "added_by_hand"
        "mentioned"
        "listed"
        "listed_for_room"
        "possible"
        {"of_skill":"notes"}
        "few_tools"
        "snapshot"
        "recent"
        {"kept_since":3}
        {"stands_above":2}
        "found"
        {"found_in_turn":3}
        "found_earlier"
        "asked_for"
        {"asked_for_in_turn":3}
        "current"
        "round"
        "shortened"
    "#]],
    );
}

#[test]
fn the_names_of_reasons_for_drops_stay() {
    let drops = [
        DropReason::HistoryMessages { limit: 50 },
        DropReason::HistoryTokens { limit: Tokens::new(8_192) },
        DropReason::TrimmedEarlier,
        DropReason::TakenBack,
        DropReason::NoRoom,
        DropReason::ServerTools { server: "big".into() },
        DropReason::ListLines { limit: 12 },
        DropReason::ListTokens { limit: Tokens::new(200) },
        DropReason::MemoryLimit,
        DropReason::Mode,
        DropReason::Preset("plain".into()),
        DropReason::Vanished,
        DropReason::NameTaken,
        DropReason::ResultWithoutCall,
        DropReason::CallWithoutResult,
        DropReason::Shortened,
        DropReason::ImageAsText,
    ];
    names(
        &drops,
        &expect![[r#"
        {"history_messages":{"limit":50}}
        {"history_tokens":{"limit":8192}}
        "trimmed_earlier"
        "taken_back"
        "no_room"
        {"server_tools":{"server":"big"}}
        {"list_lines":{"limit":12}}
        {"list_tokens":{"limit":200}}
        "memory_limit"
        "mode"
        {"preset":"plain"}
        "vanished"
        "name_taken"
        "result_without_call"
        "call_without_result"
        "shortened"
        "image_as_text"
    "#]],
    );
}

#[test]
fn the_names_of_reasons_for_modes_stay() {
    let talk = |kind| ModeReason::Words(MessageSign::Talk(kind));
    let modes = [
        ModeReason::NoTools,
        ModeReason::Marked,
        ModeReason::Default,
        ModeReason::Configured,
        ModeReason::SubAgent,
        ModeReason::Found("tool notes.add".to_owned()),
        ModeReason::Uncertain,
        ModeReason::Words(MessageSign::FileName),
        ModeReason::Words(MessageSign::Path),
        ModeReason::Words(MessageSign::CommandLine),
        ModeReason::Words(MessageSign::StateQuestion),
        ModeReason::Words(MessageSign::Imperative),
        ModeReason::Words(MessageSign::None),
        talk(TalkKind::Greeting),
        talk(TalkKind::Thanks),
        talk(TalkKind::Acknowledgement),
        talk(TalkKind::Conversation),
        talk(TalkKind::Question),
        talk(TalkKind::Explanation),
        talk(TalkKind::Creative),
        talk(TalkKind::Statement),
    ];
    names(
        &modes,
        &expect![[r#"
        "no_tools"
        "marked"
        "default"
        "configured"
        "sub_agent"
        {"found":"tool notes.add"}
        "uncertain"
        {"words":"file_name"}
        {"words":"path"}
        {"words":"command_line"}
        {"words":"state_question"}
        {"words":"imperative"}
        {"words":"none"}
        {"words":{"talk":"greeting"}}
        {"words":{"talk":"thanks"}}
        {"words":{"talk":"acknowledgement"}}
        {"words":{"talk":"conversation"}}
        {"words":{"talk":"question"}}
        {"words":{"talk":"explanation"}}
        {"words":{"talk":"creative"}}
        {"words":{"talk":"statement"}}
    "#]],
    );
}

#[test]
fn what_was_changed_or_lost_is_named() {
    let recorded = everything().record();
    let record = &recorded.record;
    for hash in record.text_hashes() {
        let mut contents = contents(&recorded);
        contents.texts.insert(hash, "something else".into());
        let found = ContentRef::Text(Text::from("something else").hash());
        let expected = ContentRef::Text(hash);
        assert_eq!(record.restore(&contents), Err(RestoreError::Changed { expected, found }));
        contents.texts.remove(&hash);
        assert_eq!(record.restore(&contents), Err(RestoreError::Missing { what: expected }));
    }
    for reference in record.message_refs() {
        let mut contents = contents(&recorded);
        let expected = ContentRef::Message(reference);
        let other = Message::user(reference.id.0, "something else");
        let same = contents.messages[&reference].body.clone();
        let renumbered = Message { id: MessageId(77), body: same };
        for wrong in [other, renumbered] {
            let found = ContentRef::Message(MessageRef::to_message(&wrong));
            contents.messages.insert(reference, Arc::new(wrong));
            assert_eq!(record.restore(&contents), Err(RestoreError::Changed { expected, found }));
        }
        contents.messages.remove(&reference);
        assert_eq!(record.restore(&contents), Err(RestoreError::Missing { what: expected }));
    }
}

#[test]
fn errors_name_what_is_wrong() {
    let hash = Text::from("a").hash();
    let (what, found) = (ContentRef::Text(hash), ContentRef::Text(Text::from("b").hash()));
    let message =
        ContentRef::Message(MessageRef { id: MessageId(7), hash: MessageHash::from_hash(hash) });
    let errors = [
        RestoreError::Version { found: 2 },
        RestoreError::Unreadable { problem: "no JSON".to_owned() },
        RestoreError::Missing { what: message },
        RestoreError::Changed { expected: what, found },
    ];
    expect![[r#"
        the record has form 2; this version of Recto reads form 1
        the record can't be read: no JSON
        message 7 (17762fddd969a453925d65717ac3eea2) is missing
        text 17762fddd969a453925d65717ac3eea21320b66b54342fde15128d6caf21215f was changed: it is text 10e5cf3d3c8a4f9f3468c8cc58eea84892a22fdadbc1acb22410190044c1d553 now"#]].assert_eq(&errors.map(|error| error.to_string()).join("\n"));
}

/// The stored message of a turn gets its framing and picks only when the turn
/// is over; the record has them before.
#[test]
fn the_message_as_it_came_in_is_enough() {
    let request = everything();
    let recorded = request.record();
    let mut contents = contents(&recorded);
    let reference = MessageRef::to_message(&request.sent);
    let content = request.sent.content().to_vec();
    let body = MessageBody::User(UserMessage { content, ..UserMessage::default() });
    let as_it_came_in = Message { id: request.sent.id, body };
    assert_ne!(as_it_came_in, *request.sent);
    contents.messages.insert(reference, Arc::new(as_it_came_in));
    assert_eq!(recorded.record.restore(&contents).unwrap(), request);
}

#[test]
fn a_record_of_another_form_is_not_taken_for_damaged() {
    let version = |json: &str| ContextRecord::from_json(json.as_bytes()).unwrap_err();
    assert_eq!(version(r#"{"version":2,"parts":"elsewhere"}"#), RestoreError::Version { found: 2 });
    assert!(matches!(version(r#"{"version":1}"#), RestoreError::Unreadable { .. }));
    assert!(matches!(version("{}"), RestoreError::Unreadable { .. }));
    assert!(matches!(version("\u{0}"), RestoreError::Unreadable { .. }));
    // Also when it was read by serde itself.
    let recorded = everything().record();
    let mut json = serde_json::to_value(&recorded.record).unwrap();
    json["version"] = 7.into();
    let record: ContextRecord = serde_json::from_value(json).unwrap();
    let restored = record.restore(&contents(&recorded));
    assert_eq!(restored, Err(RestoreError::Version { found: 7 }));
}

#[test]
fn a_path_that_is_no_text_is_recorded_as_it_is_shown() {
    let mut catalog = catalog();
    let path: std::path::PathBuf = odd_name().into();
    catalog.system.soul.as_mut().unwrap().source = ContentSource::file(path);
    let request = AssemblyInputs::new(&catalog, "x").assemble().unwrap();
    assert_eq!(restored(&request).report(), request.report());
}

#[cfg(unix)]
fn odd_name() -> std::ffi::OsString {
    std::os::unix::ffi::OsStringExt::from_vec(b"SOUL\xff.md".to_vec())
}

#[cfg(not(unix))]
fn odd_name() -> std::ffi::OsString {
    "SOUL.md".into()
}

#[test]
fn numbers_in_schemas_come_back_to_the_last_digit() {
    let mut catalog = catalog();
    let limits = json!({
        "type": "object",
        "minimum": 0.1 + 0.2,
        "maximum": f64::MAX,
        "multipleOf": 5e-324,
        "default": [-0.0, 1.0, 1e21, 123_456_789.123_456_79, u64::MAX, i64::MIN],
    });
    let id = catalog.tools[0].id.clone();
    catalog.tools[0] = recto_context::ToolSpec::new(id, "Counts.", limits);
    let items = catalog.session_at_start();
    check_comes_back(&AssemblyInputs::new(&catalog, "x").session(&items).assemble().unwrap());
}

/// The fields of a record that differ between two.
fn differing(a: &ContextRecord, b: &ContextRecord) -> Vec<String> {
    let [a, b] = [a, b].map(|record| serde_json::to_value(record).unwrap());
    let names = a.as_object().unwrap().keys();
    names.filter(|name| a[*name] != b[*name]).cloned().collect()
}

/// A store keeps a record as its difference from the one before.
#[test]
fn what_stays_is_written_the_same() {
    let catalog = catalog();
    let items = catalog.session_at_start();
    let first = AssemblyInputs::new(&catalog, "hello").session(&items).message_id(MessageId(1));
    let request = first.assemble().unwrap();
    let record = request.record().record;

    // Another calibration moves every count and no row.
    let mut calibration = Calibration::new(TokenRates::default());
    let (profile, messages) = request.profile();
    calibration.observe(&profile, messages, Tokens::new(request.prompt_tokens().get() * 6 / 5));
    let counter = TokenCounter::calibrated(calibration.rates());
    let calibrated = first.counter(counter).assemble().unwrap().record().record;
    assert_eq!(differing(&record, &calibrated), ["counted", "budget", "tokens"]);

    // The next turn keeps the rows, all but the last, which has become history.
    let history = [request.sent.clone(), Arc::new(Message::assistant(2, "hi"))];
    let next = AssemblyInputs::new(&catalog, "and?").session(&items).message_id(MessageId(3));
    let next = next.history(&history).carry(request.carry.clone()).assemble().unwrap();
    let next = next.record().record;
    assert_eq!(differing(&record, &next), ["parts", "sent", "carry", "budget", "tokens"]);
    let [before, after] = [record, next].map(|record| serde_json::to_value(record).unwrap());
    let [before, after] = [&before, &after].map(|record| record["parts"].as_array().unwrap());
    let stay = before.len() - 1;
    assert_eq!(before[..stay], after[..stay]);
    assert_eq!(after.len(), before.len() + 2);
}

#[test]
fn calls_written_as_text_are_messages_of_their_own() {
    let catalog = catalog();
    let items = catalog.session_at_start();
    let history = talk("user: time? / model: call time{} / tool: 12:00 / model: noon");
    let layout = PageLayout { tool_calls: ToolCalls::Text, ..PageLayout::default() };
    let inputs =
        AssemblyInputs::new(&catalog, "x").session(&items).history(&history).layout(layout);
    let request = inputs.assemble().unwrap();
    check_comes_back(&request);
    let references = request.record().record.message_refs();
    let as_stored: BTreeSet<_> =
        history.iter().map(|message| MessageRef::to_message(message)).collect();
    let numbers = |references: &BTreeSet<MessageRef>| {
        references.iter().map(|reference| reference.id.0).collect::<Vec<_>>()
    };
    assert_eq!(numbers(&(&as_stored - &references)), [2, 3], "the call and its result");
}

/// Promise: `images-only-for-models-that-look`
#[test]
fn an_earlier_image_is_a_line_of_text_for_a_model_that_looks_at_none() {
    let image = |name: Option<&str>| {
        let name = name.map(Into::into);
        ContentPart::Image(Image { media_type: "image/png".into(), data: "aGk=".into(), name })
    };
    let file = ContentPart::File(AttachedFile::new("a.txt", "a line"));
    let user = |content| MessageBody::User(UserMessage { content, ..UserMessage::default() });
    let see = || ContentPart::Text("see".into());
    let history = [
        Message { id: MessageId(1), body: user(vec![see(), file, image(Some("a\nb.png"))]) },
        Message::assistant(2, "a dot"),
        Message { id: MessageId(3), body: user(vec![image(None), see()]) },
        Message::assistant(4, "a line"),
    ]
    .map(Arc::new);
    let catalog = catalog();
    let layout = PageLayout { images: ImageRender::Text, ..LayoutPreset::Plain.layout() };
    let inputs = AssemblyInputs::new(&catalog, "and?").history(&history);
    let request = inputs.clone().layout(layout).assemble().unwrap();
    check_comes_back(&request);
    let said = request.messages.iter().filter(|message| message.role == ChatRole::User);
    let said: Vec<String> = said.map(|message| message.text()).collect();
    assert!(
        said[0]
            .starts_with("see\n[image a b.png (image/png) is left out: you can't see images]\n\n")
            && said[0].ends_with("a line\n```"),
        "{said:?}"
    );
    assert_eq!(said[1], "[an image (image/png) is left out: you can't see images]\nsee");
    assert!(request.parts.iter().all(|part| part.images().next().is_none()));
    let as_text = request.dropped.iter().filter(|drop| drop.reason == DropReason::ImageAsText);
    assert_eq!(as_text.map(|drop| &*drop.what).collect::<Vec<_>>(), ["2 images"]);
    // Where the model looks at them, all is as it was said.
    let seen = inputs.layout(LayoutPreset::Plain.layout()).assemble().unwrap();
    assert_eq!(seen.parts.iter().flat_map(|part| part.images()).count(), 2);
    assert!(seen.dropped.iter().all(|drop| drop.reason != DropReason::ImageAsText));
}

/// Something that a damaged file might hold in any place.
fn damage() -> impl Strategy<Value = Value> {
    let known = vec!["system", "rounds", "new_message", "tool", "built_in"];
    prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<u64>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<f64>().prop_map(Value::from),
        "\\PC{0,8}".prop_map(Value::from),
        proptest::sample::select(known).prop_map(Value::from),
        Just(json!([])),
        Just(json!({})),
        Just(json!({"hash": "00".repeat(32)})),
        Just(json!({"message": [1, "00".repeat(32)]})),
    ]
}

/// The places within a value, as JSON pointers.
fn places(value: &Value, here: &str, all: &mut Vec<String>) {
    all.push(here.to_owned());
    match value {
        Value::Array(values) => {
            let values = values.iter().enumerate();
            values.for_each(|(at, value)| places(value, &format!("{here}/{at}"), all));
        }
        Value::Object(fields) => {
            fields.iter().for_each(|(name, value)| places(value, &format!("{here}/{name}"), all));
        }
        _ => {}
    }
}

/// Reads and restores, and uses what comes of it.
fn try_all(json: &[u8], contents: &RecordContents, original: &RequestContext) {
    let Ok(record) = ContextRecord::from_json(json) else { return };
    let (_, _) = (record.text_hashes(), record.message_refs());
    if let Ok(request) = record.restore(contents) {
        request.report();
        request.profile();
        compare_requests(original, &request);
        compare_requests(&request, original);
        request.record();
    }
}

proptest! {
    #[test]
    fn a_damaged_record_is_an_error_or_a_request(
        changes in prop::collection::vec((any::<Index>(), damage()), 1..4),
        bytes in prop::collection::vec((any::<Index>(), any::<u8>()), 0..3),
    ) {
        let original = everything();
        let recorded = original.record();
        let contents = contents(&recorded);
        let mut json = serde_json::to_value(&recorded.record).unwrap();
        for (place, value) in changes {
            let mut all = Vec::new();
            places(&json, "", &mut all);
            let place: &String = place.get(&all);
            *json.pointer_mut(place).unwrap() = value;
            try_all(json.to_string().as_bytes(), &contents, &original);
        }
        let mut written = to_json(&recorded.record).into_bytes();
        for (place, byte) in bytes {
            *place.get_mut(&mut written) = byte;
            try_all(&written, &contents, &original);
        }
    }
}
