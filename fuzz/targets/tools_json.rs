//! Declarations of tools.
#![no_main]

recto_fuzz::target!(|data| {
    recto_workspace::fuzzing::check_tools_json(data);
    recto_tools::fuzzing::check_tools_json(data);
});
