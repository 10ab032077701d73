//! Over random conversations, each prompt begins with the one before it.

use proptest::prelude::*;
use recto_context::Text;

use super::*;

/// One exchange: what was asked, the rounds of calls with their results, what was answered.
#[derive(Debug, Clone)]
struct Exchange {
    asked: String,
    rounds: Vec<Vec<String>>,
    answered: Answered,
}

#[derive(Debug, Clone)]
enum Answered {
    /// With the tokens that were generated.
    Echoed(String),
    /// As other providers answer.
    Plain(String),
}

fn texts() -> impl Strategy<Value = String> {
    let piece = prop_oneof![
        "[a-z ]{1,6}",
        Just(" ".to_owned()),
        Just("\n".to_owned()),
        Just("é🙂".to_owned()),
        Just("<|im_end|>".to_owned()),
        Just("<think>".to_owned()),
        Just("</think>".to_owned()),
        Just("<tool_response>".to_owned()),
        Just("\u{fdd0}1\u{fdd1}".to_owned()),
        Just("{{ x }}".to_owned()),
    ];
    prop::collection::vec(piece, 1..5).prop_map(|pieces| pieces.concat())
}

fn exchanges() -> impl Strategy<Value = Vec<Exchange>> {
    let answered =
        prop_oneof![texts().prop_map(Answered::Echoed), texts().prop_map(Answered::Plain)];
    let rounds = prop::collection::vec(prop::collection::vec(texts(), 1..4), 0..3);
    let exchange = (texts(), rounds, answered);
    let exchange =
        exchange.prop_map(|(asked, rounds, answered)| Exchange { asked, rounds, answered });
    prop::collection::vec(exchange, 1..4)
}

/// The requests of a session, in their order.
fn requests(exchanges: &[Exchange], tool_calls: ToolCalls) -> Vec<RequestContext> {
    let mut requests = Vec::new();
    let mut talk = Talk::new(&[], "");
    talk.layout = PageLayout { tool_calls, ..PageLayout::default() };
    for exchange in exchanges {
        talk.message = vec![ContentPart::Text(exchange.asked.as_str().into())];
        talk.rounds.clear();
        let mut id = talk.history.last().map_or(0, |message| message.id.0) + 1;
        let asked = user(id, &exchange.asked);
        requests.push(talk.request());
        for (round, results) in exchange.rounds.iter().enumerate() {
            let ids: Vec<String> = (0..results.len()).map(|n| format!("c{round}_{n}")).collect();
            let arguments = results.iter().map(|text| json!({ "city": text }).to_string());
            let arguments: Vec<String> = arguments.collect();
            let calls = ids.iter().zip(&arguments).map(|(id, text)| (id.as_str(), text.as_str()));
            id += 1;
            talk.rounds.push(assistant(id, "", &calls.collect::<Vec<_>>()));
            for (call, text) in ids.iter().zip(results) {
                id += 1;
                talk.rounds.push(result(id, call, text));
            }
            requests.push(talk.request());
        }
        talk.history.push(asked);
        talk.history.append(&mut talk.rounds);
        let content = match &exchange.answered {
            Answered::Plain(text) => vec![ContentPart::Text(Text::from(text.as_str()))],
            Answered::Echoed(text) => {
                vec![ContentPart::Text(text.as_str().into()), echo("embedded", text, &[1, 2, 3])]
            }
        };
        talk.history.push(reply(id + 1, content, &[]));
    }
    talk.message = vec![ContentPart::Text("go on".into())];
    requests.push(talk.request());
    requests
}

/// Whether `after` begins with all of `before`. Only the last segment may have grown.
fn grows(before: &[PromptSegment], after: &[PromptSegment]) -> bool {
    let Some((last, whole)) = before.split_last() else { return false };
    let Some((same, rest)) = after.split_at_checked(whole.len()) else { return false };
    let goes_on = match (last, rest.first()) {
        (
            PromptSegment::Template { template: a },
            Some(PromptSegment::Template { template: b }),
        ) => b.starts_with(a.as_str()),
        _ => false,
    };
    same == whole && goes_on
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn each_prompt_begins_with_the_one_before(exchanges in exchanges()) {
        for (source, tool_calls) in [
            (SMOL, ToolCalls::Text),
            (LLAMA, ToolCalls::Native),
            (LLAMA, ToolCalls::Text),
            (MISTRAL, ToolCalls::Text),
            (GEMMA, ToolCalls::Text),
            (QWEN, ToolCalls::Native),
            (QWEN, ToolCalls::Text),
        ] {
            let mut before: Option<Vec<PromptSegment>> = None;
            for request in requests(&exchanges, tool_calls) {
                let EmbeddedRequest { prompt, problem, .. } = asked(source, &request);
                prop_assert_eq!(problem, None);
                if let Some(before) = &before {
                    prop_assert!(grows(before, &prompt), "{:#?}\n{:#?}", before, prompt);
                }
                let replies = prompt.iter().filter(|s| matches!(s, PromptSegment::Reply { .. })).count();
                let echoed = exchanges.iter().filter(|e| matches!(e.answered, Answered::Echoed(_)));
                prop_assert!(replies <= echoed.count());
                before = Some(prompt);
            }
        }
    }
}
