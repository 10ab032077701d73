//! Calls that arrive in pieces.
//!
//! By the book, a piece has the index of its call; the first one also brings id
//! and name, later ones bring arguments. Servers depart from it: they repeat id
//! or name, send empty ids, send whole calls that all have the index 0, or no
//! index at all. So an index is believed until something else about the piece
//! says that a new call begins.

use serde::Deserialize;
use serde_json::{Map, Value};

use crate::wire::decode::{DecodedCall, FrameResult, arguments_text, check_call_count};

/// A piece of a call.
#[derive(Deserialize)]
pub(super) struct CallPiece {
    index: Option<u64>,
    id: Option<String>,
    function: Option<FunctionPiece>,
}

#[derive(Deserialize, Default)]
struct FunctionPiece {
    name: Option<String>,
    #[serde(default)]
    arguments: Value,
}

/// The calls of a reply, in the order in which they began.
#[derive(Debug, Default)]
pub(super) struct CallAssembler(Vec<PartialCall>);

#[derive(Debug)]
struct PartialCall {
    index: Option<u64>,
    call: DecodedCall,
    /// Where the arguments so far end.
    reached: ObjectProgress,
}

/// Where a text that begins an object of JSON has come to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ObjectProgress {
    /// To blanks, so far.
    Nothing,
    /// Into this many brackets, and perhaps into a string.
    Inside { depth: usize, string: InString },
    /// Behind the last bracket.
    End,
    /// To where no object goes.
    Nonsense,
}

/// Whether a place lies in a string.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum InString {
    No,
    Yes,
    /// In a string, behind a backslash.
    Escaped,
}

impl CallAssembler {
    pub(super) fn add(&mut self, piece: CallPiece) -> FrameResult {
        let function = piece.function.unwrap_or_default();
        let call = DecodedCall {
            id: piece.id.unwrap_or_default(),
            name: function.name.unwrap_or_default(),
            arguments: arguments_text(function.arguments),
        };
        match self.continued_by(piece.index, &call) {
            Some(begun) => begun.extend(call),
            None => {
                check_call_count(self.0.len() + 1)?;
                call.check()?;
                self.0.push(PartialCall::new(piece.index, call));
                Ok(())
            }
        }
    }

    /// The bytes of all calls, and one for each.
    pub(super) fn bytes(&self) -> usize {
        self.0.iter().map(|begun| begun.call.bytes() + 1).sum()
    }

    pub(super) fn into_calls(self) -> Vec<DecodedCall> {
        self.0.into_iter().map(|begun| begun.call).collect()
    }

    /// The call that a piece goes on with; `None` when it begins one.
    fn continued_by(
        &mut self,
        index: Option<u64>,
        piece: &DecodedCall,
    ) -> Option<&mut PartialCall> {
        let newest = |fits: &dyn Fn(&PartialCall) -> bool| self.0.iter().rposition(fits);
        let at = match index {
            Some(_) => newest(&|begun| begun.index == index),
            None => newest(&|begun| !piece.id.is_empty() && begun.call.id == piece.id)
                .or(self.0.len().checked_sub(1)),
        };
        self.0.get_mut(at?).filter(|begun| !begun.is_followed_by(piece))
    }
}

impl PartialCall {
    fn new(index: Option<u64>, call: DecodedCall) -> Self {
        let reached = ObjectProgress::Nothing.after(&call.arguments);
        PartialCall { index, call, reached }
    }

    /// Whether the piece belongs to another call, although it has this one's index.
    fn is_followed_by(&self, piece: &DecodedCall) -> bool {
        let differ = |a: &str, b: &str| !a.is_empty() && !b.is_empty() && a != b;
        differ(&self.call.id, &piece.id)
            || differ(&self.call.name, &piece.name)
            || (!piece.name.is_empty() && piece.arguments.starts_with('{') && self.is_whole())
    }

    /// Whether nothing can follow that would leave its arguments JSON. They are
    /// parsed only where they may be whole, which is once in a call's life: it
    /// may get thousands of pieces.
    fn is_whole(&self) -> bool {
        self.reached == ObjectProgress::End
            && serde_json::from_str::<Map<String, Value>>(&self.call.arguments).is_ok()
    }

    fn extend(&mut self, piece: DecodedCall) -> FrameResult {
        if self.call.id.is_empty() {
            self.call.id = piece.id;
        }
        if self.call.name.is_empty() {
            self.call.name = piece.name;
        }
        self.reached = self.reached.after(&piece.arguments);
        self.call.arguments.push_str(&piece.arguments);
        self.call.check()
    }
}

impl ObjectProgress {
    /// Where a text comes to that goes on with `piece`.
    fn after(self, piece: &str) -> Self {
        piece.bytes().fold(self, ObjectProgress::step)
    }

    fn step(self, byte: u8) -> Self {
        let inside = |depth, string| ObjectProgress::Inside { depth, string };
        match (self, byte) {
            (ObjectProgress::Nothing | ObjectProgress::End, b' ' | b'\t' | b'\r' | b'\n') => self,
            (ObjectProgress::Nothing, b'{') => inside(1, InString::No),
            (ObjectProgress::Nothing | ObjectProgress::End | ObjectProgress::Nonsense, _) => {
                ObjectProgress::Nonsense
            }
            (ObjectProgress::Inside { depth, string: InString::No }, byte) => match byte {
                b'"' => inside(depth, InString::Yes),
                b'{' | b'[' => inside(depth + 1, InString::No),
                b'}' | b']' if depth == 1 => ObjectProgress::End,
                b'}' | b']' => inside(depth - 1, InString::No),
                _ => self,
            },
            (ObjectProgress::Inside { depth, string: InString::Yes }, byte) => match byte {
                b'"' => inside(depth, InString::No),
                b'\\' => inside(depth, InString::Escaped),
                _ => self,
            },
            (ObjectProgress::Inside { depth, string: InString::Escaped }, _) => {
                inside(depth, InString::Yes)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// The calls that the pieces make, as `id name arguments`.
    fn check(pieces: &str, expected: &[&str]) {
        let mut calls = CallAssembler::default();
        for piece in serde_json::from_str::<Vec<CallPiece>>(pieces).unwrap() {
            calls.add(piece).unwrap();
        }
        let shown = |call: DecodedCall| format!("{} {} {}", call.id, call.name, call.arguments);
        let calls: Vec<String> = calls.into_calls().into_iter().map(shown).collect();
        assert_eq!(calls, expected);
    }

    #[test]
    fn pieces_go_to_the_call_of_their_index() {
        check(
            r#"[{"index":0,"id":"a","function":{"name":"f","arguments":""}},
                {"index":1,"id":"b","function":{"name":"g","arguments":"{\"y\""}},
                {"index":0,"function":{"arguments":"{\"x\":"}},
                {"index":1,"function":{"arguments":":2}"}},
                {"index":0,"function":{"arguments":"1}"}}]"#,
            &[r#"a f {"x":1}"#, r#"b g {"y":2}"#],
        );
    }

    #[test]
    fn names_and_ids_may_be_repeated_or_empty() {
        check(
            r#"[{"index":0,"id":"a","type":"function","function":{"name":"f"}},
                {"index":0,"id":"","function":{"name":"f","arguments":"{"}},
                {"index":0,"id":"a","function":{"name":"","arguments":"}"}},
                {"index":0,"id":null,"function":{"name":"f","arguments":""}},
                {"index":0}]"#,
            &["a f {}"],
        );
    }

    #[test]
    fn whole_calls_may_share_an_index() {
        check(
            r#"[{"index":0,"id":"a","function":{"name":"f","arguments":"{}"}},
                {"index":0,"id":"b","function":{"name":"f","arguments":"{}"}}]"#,
            &["a f {}", "b f {}"],
        );
        check(
            r#"[{"index":0,"function":{"name":"f","arguments":"{}"}},
                {"index":0,"function":{"name":"f","arguments":"{}"}},
                {"index":0,"function":{"name":"g","arguments":"{}"}}]"#,
            &[" f {}", " f {}", " g {}"],
        );
    }

    #[test]
    fn without_an_index_pieces_belong_together_until_a_call_begins() {
        check(
            r#"[{"id":"a","function":{"name":"f","arguments":"{\"x\""}},
                {"function":{"arguments":":1}"}},
                {"function":{"name":"f","arguments":"{\"x\":2}"}},
                {"id":"c","function":{"name":"g","arguments":"{}"}},
                {"id":"a","function":{"arguments":" "}}]"#,
            &[r#"a f {"x":1} "#, r#" f {"x":2}"#, "c g {}"],
        );
    }

    #[test]
    fn brackets_in_strings_end_nothing() {
        check(
            r#"[{"index":0,"function":{"name":"f","arguments":"{\"x\":\"}"}},
                {"index":0,"function":{"name":"f","arguments":"{\\\""}},
                {"index":0,"function":{"name":"f","arguments":"{\",\"y\":[]} "}},
                {"index":0,"function":{"name":"f","arguments":"{}"}}]"#,
            &[r#" f {"x":"}{\"{","y":[]} "#, " f {}"],
        );
    }

    /// What is no JSON stays one call, as the model wrote it.
    #[test]
    fn nonsense_is_never_whole() {
        check(
            r#"[{"index":0,"function":{"name":"f","arguments":"{x}"}},
                {"index":0,"function":{"name":"f","arguments":"{}"}},
                {"index":0,"function":{"name":"f","arguments":"{}"}}]"#,
            &[" f {x}{}{}"],
        );
    }

    /// A server may repeat the name with every piece. If all of the arguments
    /// were read each time, this would not come to an end.
    #[test]
    fn arguments_in_a_great_many_pieces_are_read_once() {
        let mut calls = CallAssembler::default();
        let mut add = |arguments: &str| {
            let function =
                FunctionPiece { name: Some("f".to_owned()), arguments: Value::from(arguments) };
            calls.add(CallPiece { index: Some(0), id: None, function: Some(function) }).unwrap();
        };
        add("{\"x\":\"");
        (0..1_000_000).for_each(|_| add("{"));
        add("\"}");
        add("{}");
        let lengths = calls.into_calls().into_iter().map(|call| call.arguments.len());
        assert_eq!(lengths.collect::<Vec<_>>(), [1_000_008, 2]);
    }

    proptest! {
        /// The end is where a parser sees it, however the text is cut.
        #[test]
        fn the_end_of_an_object_is_found(
            text in "[ \\n]?\\{(\"[a{}\\[\\]]?(\\\\\\\\|\\\\\")?\":|[{}\\[\\]]|1|,){0,6}\\}?",
            at in any::<prop::sample::Index>(),
        ) {
            let is_whole = |text: &str| serde_json::from_str::<Map<String, Value>>(text).is_ok();
            let (head, tail) = text.split_at(at.index(text.len() + 1));
            let call = DecodedCall { arguments: head.to_owned(), ..DecodedCall::default() };
            let mut begun = PartialCall::new(Some(0), call);
            prop_assert_eq!(begun.is_whole(), is_whole(head));
            let rest = DecodedCall { arguments: tail.to_owned(), ..DecodedCall::default() };
            begun.extend(rest).unwrap();
            prop_assert_eq!(begun.is_whole(), is_whole(&text));
        }
    }

    #[test]
    fn arguments_may_come_as_an_object() {
        check(
            r#"[{"function":{"name":"f","arguments":{"x":1.50,"y":[]}}}]"#,
            &[r#" f {"x":1.5,"y":[]}"#],
        );
    }
}
