//! Drops root's capabilities before it becomes a program.
//!
//! Root may raise its own limits, reach into other processes, load modules and
//! change the network, unless it lacks the capability. Of all these, a program
//! keeps only those by which root reads and writes files of other owners, since a
//! workspace often belongs to somebody else; which files these are is Landlock's
//! matter.

use rustix::thread::{
    CapabilitySet, capabilities, clear_ambient_capability_set, remove_capability_from_bounding_set,
    set_capabilities,
};

/// The capabilities that a program of root's keeps.
const KEPT: CapabilitySet = CapabilitySet::DAC_OVERRIDE.union(CapabilitySet::DAC_READ_SEARCH);

/// Gives up all other capabilities for what comes after `exec`. Who is not root has none, and
/// may not even give them up; so failures don't matter.
pub(crate) fn drop_capabilities() {
    _ = clear_ambient_capability_set();
    let bits = (0..u64::BITS).map(|bit| CapabilitySet::from_bits_retain(1 << bit));
    for capability in bits.filter(|capability| !KEPT.contains(*capability)) {
        // The kernel knows the first of them only, without gaps.
        if remove_capability_from_bounding_set(capability).is_err() {
            break;
        }
    }
    // What was passed on for arranging mounts ends here as well.
    if let Ok(mut sets) = capabilities(None) {
        sets.inheritable = CapabilitySet::empty();
        _ = set_capabilities(None, sets);
    }
}
