//! The inputs of fuzzing, for the tests that go over all of them.

use std::fs;
use std::path::Path;

/// The inputs that a target of fuzzing begins with, and those that it once failed with, by the
/// names of their files.
///
/// # Panics
///
/// If there are none, or they can't be read.
pub fn fuzz_inputs(target: &str) -> Vec<(String, Vec<u8>)> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/seeds").join(target);
    let files = fs::read_dir(&folder).unwrap_or_else(|error| panic!("{folder:?}: {error}"));
    let mut inputs: Vec<(String, Vec<u8>)> = files
        .map(|file| {
            let path = file.unwrap_or_else(|error| panic!("{folder:?}: {error}")).path();
            let input = fs::read(&path).unwrap_or_else(|error| panic!("{path:?}: {error}"));
            (path.file_name().unwrap_or_default().to_string_lossy().into_owned(), input)
        })
        .collect();
    assert!(!inputs.is_empty(), "{folder:?} is empty");
    inputs.sort();
    inputs
}
