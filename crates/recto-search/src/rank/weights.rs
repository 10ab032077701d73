//! What each signal weighs. Written by `cargo xtask fit`.

use super::{FITNESS, ITEM};
use crate::choose::ItemGroup;
use crate::encoder::DIMENSIONS;

/// The weights for a group of items.
pub(super) struct RankWeights {
    /// Of an item's signals.
    pub(super) signals: [f32; ITEM],
    /// How much less probable an item gets for each unit that it is behind the best.
    pub(super) contrast: f32,
    /// Of the signals that anything fits.
    pub(super) fitness: [f32; FITNESS],
    pub(super) bias: f32,
}

/// The weights for a group, with cosines or by words alone.
pub(super) fn group_weights(group: ItemGroup, is_dense: bool) -> &'static RankWeights {
    let of = match group {
        ItemGroup::Tools => &TOOLS,
        ItemGroup::Skills => &SKILLS,
        ItemGroup::Documents | ItemGroup::Memories => &DOCUMENTS,
    };
    &of[usize::from(is_dense)]
}

// From here on written by `cargo xtask fit`.

/// By words alone, then with cosines.
#[rustfmt::skip]
static TOOLS: [RankWeights; 2] = [
    RankWeights {
        signals: [1.000, 0.056, 0.000, 0.000],
        contrast: 0.60,
        fitness: [-1.387, 5.226, 1.353, 7.174, -0.093, 0.240, -0.046, 1.394, 0.000, 0.000, 0.000, 0.000, 0.000],
        bias: -4.802,
    },
    RankWeights {
        signals: [0.500, 0.080, 0.400, 0.911],
        contrast: 0.54,
        fitness: [2.501, 1.353, -1.934, 3.823, 0.007, 0.283, -0.383, 0.426, 6.428, 5.403, -5.917, 2.392, 0.277],
        bias: -4.523,
    },
];

/// By words alone, then with cosines.
#[rustfmt::skip]
static SKILLS: [RankWeights; 2] = [
    RankWeights {
        signals: [1.000, 0.256, 0.000, 0.000],
        contrast: 0.66,
        fitness: [-1.291, 4.259, 0.705, 4.511, -0.014, 0.380, -0.131, 1.973, 0.000, 0.000, 0.000, 0.000, 0.000],
        bias: -7.965,
    },
    RankWeights {
        signals: [0.500, 0.071, 0.509, 0.154],
        contrast: 0.96,
        fitness: [2.010, 2.097, -1.279, 2.215, -0.156, 0.698, -0.276, 0.914, 4.494, 5.870, -4.477, 2.740, 0.234],
        bias: -7.534,
    },
];

/// By words alone, then with cosines.
#[rustfmt::skip]
static DOCUMENTS: [RankWeights; 2] = [
    RankWeights {
        signals: [1.000, 0.170, 0.000, 0.000],
        contrast: 0.54,
        fitness: [-0.495, 2.819, -0.831, 7.164, 0.137, 0.213, -0.371, 0.636, 0.000, 0.000, 0.000, 0.000, 0.000],
        bias: -2.189,
    },
    RankWeights {
        signals: [0.500, 0.080, 0.283, 0.800],
        contrast: 0.60,
        fitness: [2.779, -1.042, -2.628, 3.808, 0.132, 0.301, -0.785, 0.132, 6.584, 7.940, 2.967, 1.242, 0.236],
        bias: -3.782,
    },
];

/// The direction of embeddings that requests have, and its scale.
#[rustfmt::skip]
pub(super) static REQUEST: ([i8; DIMENSIONS], f32) = ([
    -87, -92, -48, 59, -18, 57, -38, 43, -80, -23, -29, 27, 6, 39, 54, 37, 21, 97, 25, 32, 31, 1, 6,
    -10, 7, -54, -50, 17, 0, 27, -7, -4, -59, 14, 35, -70, 39, -11, 3, -41, -6, 20, -8, -5, 30, -45,
    -57, -49, 33, -20, -22, 91, -15, -24, 93, 45, 44, -38, -10, 17, 51, 64, 16, 3, -34, -54, -3, 35,
    63, -38, -19, 35, -10, -35, -32, 23, -38, 2, -35, -45, 30, -5, -28, -54, -10, 39, 18, 46, -5,
    -54, 67, -12, -8, -54, 20, 81, 1, -24, -5, -29, 10, -84, 19, 21, -21, -10, 60, -31, -14, 40,
    -18, -28, -22, -92, 34, 24, 4, -4, 44, -23, 33, 35, -43, -5, 9, -18, 61, 0, -8, -28, 35, 48,
    -31, -3, 18, 10, -92, 12, -12, 28, 5, -87, -10, -46, 75, -15, 9, 52, 20, -2, -42, -34, -18, 20,
    -5, 21, 77, -8, 32, -69, -45, 39, 27, 45, -40, -13, -42, 35, 55, -31, -13, 10, -121, 36, -50,
    -7, 30, -7, -3, 18, -11, 23, 14, -68, 25, -26, -70, 52, -29, -8, -3, -20, -17, 12, -44, -62, 17,
    30, 36, -42, 82, -43, -56, 12, -55, 5, 41, 48, -104, 81, 28, 4, 51, -21, 61, 9, -44, -54, 38,
    36, -17, 12, -20, -0, -36, -63, -28, 1, 38, 5, 12, 10, -25, -15, 80, 73, -67, -51, -3, -4, -22,
    -111, -36, 22, 42, 21, -40, -11, -8, -18, -4, 9, 53, -28, -58, -41, -11, 30, -5, -83, 31, 55,
    73, -20, 56, 44, 29, -96, 45, 6, 44, 6, -40, -31, 49, -4, -19, -53, -5, 23, 55, -19, 16, 41, 47,
    -11, -93, -19, 13, 7, 56, -41, -1, 58, -22, 41, -3, -20, 33, -23, 4, -42, 114, 30, 60, 12, -12,
    -25, 37, 37, -53, 58, -14, 18, 60, -27, -3, 43, 66, -0, -52, -79, 49, 17, 4, -52, -96, 43, -12,
    -51, -11, -103, -23, -30, -36, -27, -0, 15, 43, -98, 13, 63, 58, 38, 57, -24, 20, 40, 25, -55,
    13, -22, -37, -93, -21, -22, -18, 9, -23, 50, 59, -63, -26, -0, -93, -12, -19, -1, 61, -23, -26,
    -27, -59, 10, -19, 68, -9, -3, 127, 22, 56, 13, -42, -83,
], 0.069993);
