//! Packed vectors say nearly what their embeddings say, however they are scanned.

use proptest::prelude::*;

use super::*;

/// How many bytes a vector takes.
const PACKED: usize = PackedVector::BYTES;

/// An embedding that `seed` decides on.
fn embedding(seed: u64) -> Embedding {
    embedding_of(seed, DIMENSIONS)
}

fn embedding_of(seed: u64, dimensions: usize) -> Embedding {
    let mut state = seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1;
    let mut next = || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        (state >> 40) as f32 / (1_u64 << 23) as f32 - 1.0
    };
    Embedding::new((0..dimensions).map(|_| next()).collect())
}

fn nothing() -> Embedding {
    Embedding::new(Box::new([0.0; DIMENSIONS]))
}

#[test]
fn packing_keeps_cosines() {
    for seed in 0..200 {
        let (a, b) = (embedding(seed), embedding(seed + 1_000));
        let packed = PackedVector::from(&a);
        assert!((packed.cosine(&b) - a.cosine(&b)).abs() < 2e-3);
        assert!(packed.cosine(&a) > 0.9999);
    }
    assert_eq!(PackedVector::from(&nothing()).cosine(&embedding(1)), 0.0);
    assert_eq!(PackedVector::from(&embedding(1)).cosine(&nothing()), 0.0);
}

#[test]
fn bytes_are_read_only_if_they_were_written() {
    let vector = PackedVector::from(&embedding(3));
    let bytes = vector.to_bytes();
    assert_eq!(PackedVector::from_bytes(&bytes), Some(vector));
    let none = PackedVector::from(&nothing());
    assert_eq!(PackedVector::from_bytes(&none.to_bytes()), Some(none));
    assert_eq!(PackedVector::from_bytes(&bytes[1..]), None);
    assert_eq!(PackedVector::from_bytes(&[]), None);
    assert_eq!(PackedVector::from_bytes(&[0xFF; PACKED]), None);
    let mut halved = bytes.clone();
    halved[..DIMENSIONS / 2].fill(0);
    assert_eq!(PackedVector::from_bytes(&halved), None);
}

#[test]
fn a_scan_gives_each_place_its_cosine_on_any_number_of_threads() {
    let embeddings: Vec<Embedding> = (0..100).map(embedding).collect();
    let packed: Vec<PackedVector> = embeddings.iter().map(PackedVector::from).collect();
    let query = embedding(7_777);
    let each: Vec<f32> = packed.iter().map(|vector| vector.cosine(&query)).collect();
    let many = FOR_THREADS * 2 + 5;
    for length in [1, 100, FOR_THREADS - 1, many, LEAP * many * 2] {
        let mut vectors = VectorBlock::default();
        vectors.reserve(length, &packed[0]);
        (0..length).for_each(|place| vectors.push(&packed[place % 100]));
        // Few and many places, and one that is none.
        for count in [0, 1, 50, many] {
            let places: Vec<u32> =
                (0..count).map(|index| ((index * 31) % (length + 1)) as u32).collect();
            let expected = |place: &u32| {
                let place = *place as usize;
                if place < length { each[place % 100] } else { 0.0 }
            };
            let expected: Vec<f32> = places.iter().map(expected).collect();
            assert_eq!(vectors.cosines(&query, &places), expected, "{count} of {length}");
        }
    }
}

#[test]
fn the_extremes_do_not_overflow() {
    let all = |value: f32| Embedding::new(Box::new([value; DIMENSIONS]));
    let vector = PackedVector::from(&all(1.0));
    assert!((vector.cosine(&all(1.0)) - 1.0).abs() < 1e-6);
    assert!((vector.cosine(&all(-1.0)) + 1.0).abs() < 1e-6);
    let mut one = [0.0; DIMENSIONS];
    one[5] = -1.0;
    let one = Embedding::new(Box::new(one));
    assert!((PackedVector::from(&one).cosine(&one) - 1.0).abs() < 1e-6);
}

#[test]
fn vectors_of_any_length_keep_their_cosines_and_never_mix() {
    for dimensions in [1, 24, 312, 512, 768, 1_024, 4_096] {
        let (a, b) = (embedding_of(1, dimensions), embedding_of(2, dimensions));
        let packed = PackedVector::from(&a);
        assert_eq!(PackedVector::from_bytes(&packed.to_bytes()), Some(packed.clone()));
        assert!((packed.cosine(&b) - a.cosine(&b)).abs() < 5e-3, "{dimensions}");
        // As large as all numbers can be at once.
        let all = |value: f32| Embedding::new(vec![value; dimensions].into());
        let most = PackedVector::from(&all(1.0));
        assert!((most.cosine(&all(1.0)) - 1.0).abs() < 1e-5, "{dimensions}");
        assert!((most.cosine(&all(-1.0)) + 1.0).abs() < 1e-5, "{dimensions}");

        let mut block = VectorBlock::default();
        (0..5).for_each(|seed| block.push(&PackedVector::from(&embedding_of(seed, dimensions))));
        block.swap_remove(0);
        let each = |seed| PackedVector::from(&embedding_of(seed, dimensions)).cosine(&b);
        assert_eq!(block.cosines(&b, &[0, 1, 2, 3, 4]), [each(4), each(1), each(2), each(3), 0.0]);
        // Of another encoder: neither taken in nor compared.
        let other = PackedVector::from(&embedding_of(1, dimensions + 1));
        assert!(!block.fits(&other));
        block.push(&other);
        block.replace(0, &other);
        assert_eq!((block.len(), other.cosine(&b)), (4, 0.0));
        assert_eq!(block.cosines(&embedding_of(2, dimensions + 1), &[0, 1]), [0.0, 0.0]);
        assert_eq!(block.cosines(&b, &[0]), [each(4)]);
    }
}

#[test]
fn a_block_takes_hardly_more_than_its_vectors() {
    let vector = PackedVector::from(&embedding(1));
    let mut vectors = VectorBlock::default();
    for count in 1..=5_000 {
        vectors.push(&vector);
        assert!(vectors.bytes() <= count * PACKED * 33 / 32 + 64 * PACKED);
    }
    (0..4_900).for_each(|_| vectors.swap_remove(0));
    vectors.shrink();
    assert!(vectors.bytes() <= 110 * PACKED, "{} bytes for 100", vectors.bytes());
}

proptest! {
    /// The block is a list from which the last takes the place of what is removed.
    #[test]
    fn a_block_holds_what_was_put_into_it(steps in prop::collection::vec((0..3_u8, 0..40_usize), 0..120)) {
        let mut vectors = VectorBlock::default();
        let mut model: Vec<PackedVector> = Vec::new();
        for (step, (what, place)) in steps.into_iter().enumerate() {
            let vector = PackedVector::from(&embedding(step as u64));
            match what {
                0 => {
                    vectors.push(&vector);
                    model.push(vector);
                }
                1 => {
                    vectors.replace(place, &vector);
                    if let Some(there) = model.get_mut(place) {
                        *there = vector;
                    }
                }
                _ => {
                    vectors.swap_remove(place);
                    if place < model.len() {
                        model.swap_remove(place);
                    }
                }
            }
        }
        prop_assert_eq!(vectors.len(), model.len());
        let query = embedding(99);
        let places: Vec<u32> = (0..model.len() as u32).collect();
        let expected: Vec<f32> = model.iter().map(|vector| vector.cosine(&query)).collect();
        prop_assert_eq!(vectors.cosines(&query, &places), expected);
    }
}
