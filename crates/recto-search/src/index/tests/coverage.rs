//! How far the vectors of an index are.

use super::*;

#[test]
fn what_has_its_vector_counts_as_done_and_each_text_once() {
    let long = "Be kind.\n\nBe brief.";
    let mut index = built(vec![rule("tone", long)]);
    let note = remembered("day", "day:1", "Rain.");
    index.update(vec![rule("tone", long), rule("manner", "Be kind.\n\nBe true."), note]);
    let coverage = |index: &SearchIndex| {
        let VectorCoverage { done, total } = index.coverage(|item| item.kind == ItemKind::Rule);
        (done, total)
    };
    assert_eq!(coverage(&index), (3, 5));
    embed_all(&mut index);
    assert_eq!(coverage(&index), (5, 5));
}
