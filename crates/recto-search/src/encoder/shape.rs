//! The shape of an encoder: how many layers, how wide, with how many heads.
//!
//! The arithmetic goes by whole registers, so rows are as wide as the next multiple of
//! [`LANES`], and heads as one of [`HEAD_WIDTHS`]. What is added to a row is zero, has weights of
//! zero, and so changes nothing. The built-in encoder needs no such addition anywhere.

/// What all widths are multiples of: four registers of the widest kind.
const LANES: usize = 64;

/// How wide a head can be; the code for each is compiled by itself.
pub(super) const HEAD_WIDTHS: [usize; 3] = [32, 64, 128];

/// The most word pieces of a text that any encoder reads: what is searched is cut into chunks
/// of 500 characters, and of a message no more is needed to know what it is about.
const MOST_PIECES: usize = 512;

/// What is done with a number between the halves of a feed-forward network.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Activation {
    Gelu,
    /// The same by a formula with a hyperbolic tangent.
    TanhGelu,
    Relu,
}

/// The shape of an encoder.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct EncoderShape {
    pub(super) layers: usize,
    /// How many numbers stand for a word, and for a text in the end.
    pub(super) hidden: AxisLayout,
    /// The same, by the heads that heed them.
    pub(super) heads: AxisLayout,
    /// The width between the two halves of a layer's feed-forward network.
    pub(super) inner: AxisLayout,
    /// How many word pieces there are.
    pub(super) vocabulary: usize,
    /// How many positions are in the file, and how many of them stand before the first word.
    pub(super) positions: usize,
    pub(super) first_position: usize,
    /// How many types of texts there are. All texts have the first one.
    pub(super) kinds: usize,
    /// The most word pieces of a text.
    pub(super) longest: usize,
    pub(super) activation: Activation,
    /// Keeps the square root of a variance off zero, as the model was trained.
    pub(super) epsilon: f32,
}

impl EncoderShape {
    /// The shape of all-MiniLM-L6-v2.
    pub(super) fn minilm() -> EncoderShape {
        EncoderShape {
            layers: 6,
            hidden: AxisLayout::plain(384),
            heads: AxisLayout::in_groups(12, 32, 32),
            inner: AxisLayout::plain(1_536),
            vocabulary: 30_522,
            positions: 512,
            first_position: 0,
            kinds: 2,
            // As sentence-transformers has it for this model: it was trained on no more.
            longest: 256,
            activation: Activation::Gelu,
            epsilon: 1e-12,
        }
    }

    /// The most pieces of a text that can be read, where its files allow for `wanted`.
    pub(super) fn longest_of(&self, wanted: Option<usize>) -> usize {
        let positions = self.positions.saturating_sub(self.first_position);
        wanted.unwrap_or(positions).min(positions).min(MOST_PIECES)
    }
}

/// How the numbers of a row are laid out: in groups of equal size, each with zeros behind it, and
/// zeros behind all of them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct AxisLayout {
    groups: usize,
    /// How many numbers a group has, and how many with its zeros.
    group: usize,
    group_width: usize,
}

impl AxisLayout {
    /// Numbers side by side.
    pub(super) fn plain(count: usize) -> AxisLayout {
        AxisLayout { groups: 1, group: count, group_width: count }
    }

    /// Groups of `group` numbers, each in the place of `group_width`.
    pub(super) fn in_groups(groups: usize, group: usize, group_width: usize) -> AxisLayout {
        AxisLayout { groups, group, group_width }
    }

    /// How many numbers there are, without zeros.
    pub(super) fn count(&self) -> usize {
        self.groups * self.group
    }

    /// How wide a row is, with all zeros.
    pub(super) fn width(&self) -> usize {
        (self.groups * self.group_width).next_multiple_of(LANES)
    }

    pub(super) fn groups(&self) -> usize {
        self.groups
    }

    pub(super) fn group(&self) -> usize {
        self.group
    }

    pub(super) fn group_width(&self) -> usize {
        self.group_width
    }

    /// Whether a row has nothing but its numbers.
    pub(super) fn is_tight(&self) -> bool {
        self.count() == self.width()
    }

    /// Lays a row out; `row` is all zeros where it has none of the numbers.
    pub(super) fn spread(&self, numbers: &[f32], row: &mut [f32]) {
        let places = row.chunks_exact_mut(self.group_width.max(1));
        for (group, place) in numbers.chunks_exact(self.group.max(1)).zip(places) {
            place[..group.len()].copy_from_slice(group);
        }
    }

    /// The numbers laid out in a row of their own.
    pub(super) fn spread_out(&self, numbers: Vec<f32>) -> Vec<f32> {
        if self.is_tight() {
            return numbers;
        }
        let mut row = vec![0.0; self.width()];
        self.spread(&numbers, &mut row);
        row
    }

    /// Where in a row each number stands.
    pub(super) fn places(self) -> impl Iterator<Item = usize> {
        (0..self.count()).map(move |at| at / self.group * self.group_width + at % self.group)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_have_their_numbers_where_the_layout_says() {
        let heads = AxisLayout::in_groups(3, 2, 32);
        assert_eq!((heads.count(), heads.width(), heads.is_tight()), (6, 128, false));
        let row = heads.spread_out(vec![1.0, 2.0, 3.0, 4.0, 5.0, 6.0]);
        let found: Vec<f32> = heads.places().map(|at| row[at]).collect();
        assert_eq!(found, [1.0, 2.0, 3.0, 4.0, 5.0, 6.0]);
        assert_eq!((row[0], row[32], row[65], row.iter().sum::<f32>()), (1.0, 3.0, 6.0, 21.0));
        let odd = AxisLayout::plain(312);
        assert_eq!(
            (odd.width(), odd.spread_out(vec![1.0; 312])[311..313].to_vec()),
            (320, vec![1.0, 0.0])
        );
    }

    #[test]
    fn the_built_in_encoder_has_no_zeros_in_its_rows() {
        let shape = EncoderShape::minilm();
        let axes = [shape.hidden, shape.heads, shape.inner];
        assert!(axes.iter().all(AxisLayout::is_tight));
        assert_eq!(axes.map(|axis| axis.width()), [384, 384, 1_536]);
    }
}
