//! What `recto_workspace::fuzzing::check_frontmatter` says.
#![no_main]

recto_fuzz::target!(|data| recto_workspace::fuzzing::check_frontmatter(data));
