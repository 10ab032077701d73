//! Which crate may see which: the house as `ARCHITECTURE.md` draws it.

use super::TidyProblem;
use crate::project::{CrateDependency, CratePackage, TextFile};

/// The floors of the house, lowest first. A crate sees those on lower floors,
/// never its neighbours and never upwards. Above the program are fakes of the outside
/// world, so that only tests can reach them, and benchmarks.
const FLOORS: [&[&str]; 7] = [
    &[CORE, "recto-fs"],
    &["recto-workspace", "recto-search", "recto-llm", "recto-models", "recto-tools", "recto-store"],
    &["recto-agent"],
    &["recto-server", "recto-channels"],
    &["recto"],
    &["recto-fakes"],
    &["xtask"],
];

/// The crate that is pure.
const CORE: &str = "recto-context";

/// All that the pure core may be built from. None of them can reach a file, a
/// socket or a clock on its own account.
const CORE_NEEDS: [&str; 5] = ["blake3", "serde", "serde_json", "strsim", "thiserror"];

/// Problems with what a crate depends on. Its tests may use what they like.
pub(super) fn check(package: &CratePackage, manifest: &TextFile) -> Vec<TidyProblem> {
    let Some(floor) = floor_of(&package.name) else {
        let what = "is a crate without a floor: give it one in xtask/src/tidy/edges.rs";
        return vec![TidyProblem::new(&manifest.path, 1, what)];
    };
    package
        .dependencies
        .iter()
        .filter(|dependency| dependency.kind.as_deref() != Some("dev"))
        .filter_map(|dependency| {
            let what = forbidden(package, floor, dependency)?;
            Some(TidyProblem::new(&manifest.path, line_of(manifest, &dependency.name), what))
        })
        .collect()
}

fn floor_of(name: &str) -> Option<usize> {
    FLOORS.iter().position(|floor| floor.contains(&name))
}

fn forbidden(package: &CratePackage, floor: usize, dependency: &CrateDependency) -> Option<String> {
    let (from, to) = (&package.name, &dependency.name);
    match floor_of(to) {
        Some(other) if other >= floor => {
            Some(format!("`{from}` must not depend on `{to}`, which is not below it"))
        }
        None if from == CORE && !CORE_NEEDS.contains(&to.as_str()) => {
            Some(format!("`{from}` is pure and must not depend on `{to}`"))
        }
        _ => None,
    }
}

/// Where the manifest names the dependency; its first line if it is renamed there.
fn line_of(manifest: &TextFile, name: &str) -> usize {
    let names =
        |line: &str| line.strip_prefix(name).is_some_and(|rest| rest.starts_with(['.', ' ', '=']));
    manifest.text.lines().position(names).map_or(1, |index| index + 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The problems of a crate with these dependencies; `dev:` marks one of the tests.
    fn problems(name: &str, dependencies: &[&str]) -> Vec<String> {
        let dependencies = dependencies.iter().map(|text| match text.split_once(':') {
            Some((kind, name)) => CrateDependency { name: name.into(), kind: Some(kind.into()) },
            None => CrateDependency { name: (*text).into(), kind: None },
        });
        let package = CratePackage {
            name: name.into(),
            manifest_path: "Cargo.toml".into(),
            dependencies: dependencies.collect(),
        };
        let text = "[dependencies]\nserde.workspace = true\nrecto-llm.workspace = true\n";
        let manifest = TextFile { path: "Cargo.toml".into(), text: text.into() };
        check(&package, &manifest).iter().map(ToString::to_string).collect()
    }

    #[test]
    fn crates_see_downwards() {
        assert!(problems("recto", &["recto-context", "recto-llm", "clap"]).is_empty());
        assert!(problems("recto-llm", &["recto-context", "serde"]).is_empty());
        assert!(problems("xtask", &["recto", "recto-fakes"]).is_empty());
    }

    #[test]
    fn neighbours_and_upper_floors_are_out_of_sight() {
        assert_eq!(
            problems("recto-store", &["recto-llm"]),
            ["Cargo.toml:3: `recto-store` must not depend on `recto-llm`, which is not below it"]
        );
        assert_eq!(problems("recto-agent", &["recto-server"]).len(), 1);
        assert_eq!(problems("recto-agent", &["build:recto"]).len(), 1);
        assert_eq!(problems("recto", &["recto-fakes"]).len(), 1);
        assert!(problems("recto", &["dev:recto-fakes"]).is_empty());
    }

    #[test]
    fn the_core_needs_little() {
        assert!(problems("recto-context", &["serde", "dev:proptest"]).is_empty());
        assert_eq!(
            problems("recto-context", &["tokio"]),
            ["Cargo.toml:1: `recto-context` is pure and must not depend on `tokio`"]
        );
        assert_eq!(problems("recto-context", &["recto-fs"]).len(), 1);
        assert!(problems("recto-fs", &["tokio"]).is_empty());
    }

    #[test]
    fn a_new_crate_needs_a_floor() {
        assert_eq!(problems("recto-extra", &[]).len(), 1);
    }
}
