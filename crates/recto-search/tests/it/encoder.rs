//! The encoder with its real model, beside reference vectors.

mod chosen;
mod files;
mod oracle;

use std::sync::OnceLock;
use std::thread;

use recto_search::{DIMENSIONS, Embedding, Encoder};
use serde::Deserialize;

use crate::models::minilm;

/// A text and the vector that the unquantised model has for it.
#[derive(Deserialize)]
struct Reference {
    text: String,
    times: usize,
    vector: Vec<i32>,
}

impl Reference {
    /// All of them. The first line of the file says how they were made.
    fn all() -> Vec<Reference> {
        let lines = include_str!("encoder/reference.jsonl").lines().skip(1);
        lines.map(|line| serde_json::from_str(line).unwrap()).collect()
    }

    fn text(&self) -> String {
        self.text.repeat(self.times)
    }

    fn embedding(&self) -> Embedding {
        let values: Vec<f32> = self.vector.iter().map(|value| *value as f32 * 1e-5).collect();
        Embedding::new(values.into())
    }
}

pub(crate) fn encoder() -> &'static Encoder {
    static ENCODER: OnceLock<Encoder> = OnceLock::new();
    ENCODER.get_or_init(|| Encoder::load(&minilm()).unwrap())
}

#[test]
fn vectors_are_those_of_the_model() {
    let references = Reference::all();
    assert_eq!(references.len(), 50);
    let published = Encoder::load_published(&minilm()).unwrap();
    assert!(!published.is_built_in());
    let mut worst: f32 = 1.0;
    for reference in references {
        let embedding = published.encode_one(&reference.text());
        let length = embedding.cosine(&embedding);
        assert!((length - 1.0).abs() < 1e-5, "{:?} has length {length}", reference.text);
        let cosine = embedding.cosine(&reference.embedding());
        assert!(cosine >= 0.99, "{cosine} for {:?} × {}", reference.text, reference.times);
        worst = worst.min(cosine);
    }
    println!("the least cosine is {worst}");
}

/// What the built-in encoder has learnt beyond its makers' training: situations lie beside what
/// they need.
#[test]
fn situations_are_nearer_to_what_they_need_than_as_published() {
    let published = Encoder::load_published(&minilm()).unwrap();
    for (message, needed, other) in [
        (
            "somebody pasted the key into the chat",
            "leaked-secrets: What to do when a credential got out",
            "chat-etiquette: How we write to each other in chats",
        ),
        (
            "she wants her money back",
            "refunds: When customers get a refund",
            "price-list: What things cost",
        ),
        (
            "the customer is furious about the scratch",
            "complaints: Answer a complaint",
            "customer-list: Names and addresses of customers",
        ),
    ] {
        let lead = |encoder: &Encoder| {
            let of = |text| encoder.encode_one(text);
            of(message).cosine(&of(needed)) - of(message).cosine(&of(other))
        };
        let (own, before) = (lead(encoder()), lead(&published));
        assert!(own > before + 0.1, "{message}: {own} and {before}");
    }
}

#[test]
fn a_text_has_one_vector_in_whichever_company() {
    let texts: Vec<String> = Reference::all().iter().map(Reference::text).collect();
    let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
    let together = encoder().encode(&texts);
    assert_eq!(together.len(), texts.len());
    for (text, embedding) in texts.iter().zip(&together) {
        assert_eq!(encoder().encode_one(text), *embedding, "{text:?}");
    }
    for few in [1, 2, 3, 7] {
        let apart: Vec<Embedding> =
            texts.rchunks(few).rev().flat_map(|texts| encoder().encode(texts)).collect();
        assert_eq!(apart, together);
    }
    assert_eq!(encoder().encode(&[]), []);
}

#[test]
fn many_can_encode_at_once() {
    let texts = ["one text", "another text", "", "a third one, which is longer than the others"];
    let expected = encoder().encode(&texts);
    thread::scope(|scope| {
        for number in 0..8 {
            let expected = &expected;
            scope.spawn(move || {
                let encoder = encoder().clone();
                for _ in 0..10 {
                    assert_eq!(encoder.encode(&texts), *expected);
                    let text = number % texts.len();
                    assert_eq!(encoder.encode_one(texts[text]), expected[text]);
                }
            });
        }
    });
}

#[test]
fn long_texts_are_known_by_their_beginning() {
    let sentence = "The keeper of the lighthouse counted the ships. ";
    let of = |length: usize| encoder().encode_one(&sentence.repeat(length / sentence.len() + 1));
    let expected = of(10_000);
    for length in [3_000, 100_000, 5_000_000] {
        assert_eq!(of(length), expected, "{length} characters");
    }
    // However much there is that has no words.
    let spaced = sentence.replace(' ', &" ".repeat(90)).repeat(200);
    assert_eq!(encoder().encode_one(&spaced), expected);
    assert_eq!(encoder().encode_one(&" ".repeat(1_000_000)), encoder().encode_one(""));
    for odd in ["x", "日", "👍", "\0", "\u{301}", "["] {
        let embedding = encoder().encode_one(&odd.repeat(1_000_000));
        assert_eq!(embedding.as_slice().len(), DIMENSIONS);
    }
}

#[test]
fn like_texts_have_like_vectors() {
    let of = |text| encoder().encode_one(text);
    let question = of("How do I reset my router?");
    let near = question.cosine(&of("restarting a wireless modem"));
    let far = question.cosine(&of("a recipe for apple pie"));
    assert!(near > far + 0.2, "{near} and {far}");
}

#[test]
fn words_of_other_languages_are_strange_to_it() {
    let count = |text: &str| encoder().count_words(text).unwrap();
    let english = count("please move the 3 meetings with the customers to friday, thanks!");
    assert_eq!((english.words, english.strange), (10, 0));
    for foreign in [
        "Verschieb bitte die Besprechung mit den Kunden auf Freitag",
        "Déplace la réunion avec les clients à vendredi et préviens-les",
        "welche Rechnungen sind noch offen?",
        "Une cliente demande s'il y a des noix dans le carpaccio de betterave du soir",
        "¿quién paga si se estropea la nevera del piso?",
        "come si dividono le mance tra sala e cucina?",
        "a professora da Inês recebe os pais a que horas?",
        "Перенеси встречу с клиентами на пятницу",
        "把和客户的会议改到星期五",
        "고객과의 회의를 금요일로 옮겨 주세요",
    ] {
        assert!(count(foreign).is_foreign(), "{foreign}: {:?}", count(foreign));
    }
    for known in [
        "where do we keep the Kubernetes manifests",
        "Besprechung Freitag?",
        "",
        "42 !!",
        // However badly it is spelt.
        "wich hlemet do chilren ned on toru",
        "Invocie for the Grman guest plese",
        "how do i wirte to frnech lawyers, opning and closing formla?",
    ] {
        assert!(!count(known).is_foreign(), "{known}: {:?}", count(known));
    }
}
