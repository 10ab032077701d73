//! What an encoder's cosines mean.
//!
//! Weights, correction and directions were found with the built-in encoder. Another one puts texts
//! elsewhere: with some, texts that have nothing in common have a cosine of .1, with others of .75.
//! So its cosines are mapped onto those of the built-in one, by three points: what texts have that
//! are not about the same thing, what a message and what it needs have, and what equal texts have,
//! which is 1. The first two are measured when an encoder is loaded, on a few texts that stand
//! here. The order stays as it is: more alike is more alike.
//!
//! What the map can't carry over is left out: the correction, and how much a message is like a
//! request.

use crate::correction::QueryCorrection;
use crate::encoder::Embedding;

/// What vectors of one encoder mean, and what is known of messages among them.
#[derive(Debug, Clone, Default)]
pub struct VectorSpace {
    pub(crate) correction: QueryCorrection,
    pub(crate) scale: CosineScale,
    pub(crate) directions: DirectionUse,
}

/// Whether the directions of requests are known in a space.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) enum DirectionUse {
    /// They were found in it.
    #[default]
    Known,
    /// They were not, and count for nothing.
    Unknown,
}

impl VectorSpace {
    /// A space of which nothing is known but how large its cosines are.
    pub fn with_scale(scale: CosineScale) -> VectorSpace {
        VectorSpace {
            correction: QueryCorrection::none(),
            scale,
            directions: DirectionUse::Unknown,
        }
    }

    /// How large its cosines are.
    pub fn scale(&self) -> CosineScale {
        self.scale
    }
}

/// How large an encoder's cosines are.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct CosineScale {
    /// The mean of texts that are not about the same thing.
    pub unrelated: f32,
    /// The mean of messages with what they need.
    pub related: f32,
}

impl Default for CosineScale {
    /// That of the built-in encoder, with its correction.
    fn default() -> Self {
        CosineScale::BUILT_IN
    }
}

impl CosineScale {
    /// The scale of the built-in encoder, with its correction.
    pub const BUILT_IN: CosineScale = CosineScale { unrelated: 0.021, related: 0.382 };

    /// The least distance between the two means that is believed: an encoder that hardly tells
    /// texts apart is not made to tell them apart by a factor.
    const LEAST: f32 = 0.02;

    /// Measures the scale: `queries` and `documents` are the embeddings of
    /// [`CosineScale::queries`] and [`CosineScale::documents`].
    pub fn measure(queries: &[Embedding], documents: &[Embedding]) -> CosineScale {
        let (mut unrelated, mut related) = (MeanOf::default(), MeanOf::default());
        for (at, query) in queries.iter().enumerate() {
            for (place, document) in documents.iter().enumerate() {
                let mean = if at == place { &mut related } else { &mut unrelated };
                mean.add(query.cosine(document));
            }
        }
        CosineScale { unrelated: unrelated.get(), related: related.get() }
    }

    /// The messages on which a scale is measured.
    pub fn queries() -> impl Iterator<Item = &'static str> {
        PAIRS.iter().map(|(query, _)| *query)
    }

    /// What each of them needs, in the same order.
    pub fn documents() -> impl Iterator<Item = &'static str> {
        PAIRS.iter().map(|(_, document)| *document)
    }

    /// What a cosine of this scale would be on that of the built-in encoder.
    pub(crate) fn to_built_in(self, cosine: f32) -> f32 {
        let CosineScale { unrelated, related } = Self::BUILT_IN;
        if self == Self::BUILT_IN {
            return cosine;
        }
        let low = self.unrelated.clamp(-1.0, 1.0 - 2.0 * Self::LEAST);
        let high = self.related.clamp(low + Self::LEAST, 1.0 - Self::LEAST);
        let mapped = if cosine <= high {
            unrelated + (cosine - low) / (high - low) * (related - unrelated)
        } else {
            related + (cosine - high) / (1.0 - high) * (1.0 - related)
        };
        mapped.clamp(-1.0, 1.0)
    }
}

/// The mean of numbers that come one by one.
#[derive(Default)]
struct MeanOf {
    sum: f32,
    count: f32,
}

impl MeanOf {
    fn add(&mut self, number: f32) {
        self.sum += number;
        self.count += 1.0;
    }

    fn get(&self) -> f32 {
        if self.count > 0.0 { self.sum / self.count } else { 0.0 }
    }
}

/// Messages as people type them, each with what it needs: of many trades, in few words, and without
/// the words of the message where there are others.
const PAIRS: [(&str, &str); 20] = [
    (
        "how many days off do I still have?",
        "Leave policy: holidays, how they are counted and booked",
    ),
    (
        "the build is red again, can you look",
        "Read the log of the continuous integration and find the first failing test",
    ),
    (
        "somebody wants their money back",
        "Refunds: when a customer is paid back, and within how many days",
    ),
    (
        "translate this letter into French",
        "Translator for correspondence in French, German and Spanish",
    ),
    ("what's the wifi password for guests", "Network access for visitors of the office"),
    ("put the meeting with Carla on Thursday at ten", "Create an event in the calendar"),
    ("is it going to rain tomorrow in Porto", "Weather forecast for a place and a day"),
    ("my knee hurts when I run", "Notes on injuries, exercises and physiotherapy"),
    ("write a test for the parser", "How unit tests are named and where they are kept"),
    ("convert 30 dollars to euros", "Exchange rates between currencies"),
    ("which wine goes with the lamb", "Pairing of drinks and dishes on the menu"),
    (
        "the printer on the second floor is jammed",
        "Report a fault of office equipment to the caretaker",
    ),
    ("send the invoice to Miller again", "Outgoing bills: how they are numbered and mailed"),
    ("how do I reset a forgotten passphrase", "Account recovery and credentials"),
    ("find flights to Oslo for two in May", "Search for air travel by date and destination"),
    (
        "summarise what we agreed with the landlord",
        "Tenancy: talks with the owner of the house, decisions and dates",
    ),
    ("make the logo a bit smaller and greener", "Brand guidelines: colours, sizes and marks"),
    ("the children need lunch boxes for the trip", "School excursions: what pupils bring along"),
    ("why was the turbine stopped last night", "Log of outages and alarms of the wind farm"),
    ("back up the photos of the wedding", "Copy files to the external drive and check them"),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn three_points_of_a_scale_become_those_of_the_built_in_one() {
        let scale = CosineScale { unrelated: 0.75, related: 0.85 };
        let CosineScale { unrelated, related } = CosineScale::BUILT_IN;
        for (cosine, expected) in [(0.75, unrelated), (0.85, related), (1.0, 1.0)] {
            assert!((scale.to_built_in(cosine) - expected).abs() < 1e-5, "{cosine}");
        }
        assert_eq!(CosineScale::BUILT_IN.to_built_in(0.123), 0.123);
    }

    #[test]
    fn the_order_stays_whatever_the_scale() {
        let scales = [(0.75, 0.85), (0.0, 0.3), (0.5, 0.5), (0.6, 0.2), (0.99, 1.0), (-1.0, 1.0)];
        for (unrelated, related) in scales {
            let scale = CosineScale { unrelated, related };
            let mapped: Vec<f32> =
                (-100..=100).map(|step| scale.to_built_in(step as f32 / 100.0)).collect();
            assert!(mapped.is_sorted(), "{scale:?}");
            assert!(mapped.iter().all(|cosine| (-1.0..=1.0).contains(cosine)), "{scale:?}");
            assert!((mapped[200] - 1.0).abs() < 1e-5, "{scale:?}");
        }
    }

    #[test]
    fn a_scale_is_the_mean_of_pairs_and_of_all_others() {
        let of = |values: [f32; 2]| Embedding::new(values.to_vec().into());
        let queries = [of([1.0, 0.0]), of([0.0, 1.0])];
        let documents = [of([1.0, 1.0]), of([0.0, 1.0])];
        let scale = CosineScale::measure(&queries, &documents);
        let half = 0.5_f32.sqrt();
        assert!((scale.related - (half + 1.0) / 2.0).abs() < 1e-6);
        assert!((scale.unrelated - half / 2.0).abs() < 1e-6);
        assert_eq!(CosineScale::queries().count(), CosineScale::documents().count());
    }
}
