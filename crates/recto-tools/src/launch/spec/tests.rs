//! Tests of what the launcher is told.

use proptest::prelude::*;

use super::*;

fn spec(read: Vec<PathBuf>, write: Vec<PathBuf>, execute: Vec<PathBuf>) -> LaunchSpec {
    let limits = KernelLimits {
        address_space: 1,
        data: 2,
        file_size: 3,
        open_files: 4,
        cpu_seconds: 5,
        tasks: 6,
    };
    LaunchSpec {
        nonce: LaunchSpec::nonce(),
        sandbox: SandboxPolicy::Required,
        network: NetworkAccess::Granted,
        view: SystemView::Own,
        written: WrittenPrograms::Executed,
        limits,
        hidden: read.clone(),
        read,
        write,
        execute,
    }
}

fn paths() -> impl Strategy<Value = Vec<PathBuf>> {
    let path = prop::collection::vec(1_u8..=255, 0..20);
    prop::collection::vec(path.prop_map(|bytes| OsString::from_vec(bytes).into()), 0..8)
}

/// Gives one byte at a time, as a slow pipe has it.
struct Slow<'a>(&'a [u8]);

impl Read for Slow<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        self.0.read(&mut buffer[..1])
    }
}

proptest! {
    #[test]
    fn what_is_told_is_what_arrives(read in paths(), write in paths(), execute in paths()) {
        let spec = spec(read, write, execute);
        let mut wire = spec.encode();
        wire.extend_from_slice(b"for the program");
        let mut wire = Slow(&wire);
        let arrived = LaunchSpec::decode(&mut wire).unwrap();
        prop_assert_eq!(arrived, spec);
        prop_assert_eq!(wire.0, b"for the program");
    }

    #[test]
    fn nothing_is_read_out_of_noise(mut noise in prop::collection::vec(any::<u8>(), 0..64)) {
        noise.push(0);
        prop_assert_eq!(LaunchSpec::parse(&noise), None);
    }

    #[test]
    fn half_of_it_is_nothing(cut in 0_usize..60) {
        let wire = spec(vec!["/a".into()], vec![], vec![]).encode();
        prop_assert!(LaunchSpec::decode(&wire[..cut]).is_err());
    }
}

#[test]
fn a_path_with_nul_adds_nothing() {
    let given = spec(vec!["/a\0w/etc".into(), "/b".into()], vec![], vec![]);
    let arrived = LaunchSpec::decode(given.encode().as_slice()).unwrap();
    assert_eq!(arrived.read, [PathBuf::from("/b")]);
    assert!(arrived.write.is_empty());
}

#[test]
fn only_the_launcher_is_believed() {
    let spec = spec(vec![], vec![], vec![]);
    let line = spec.failure_line(LaunchFailure::Start, "can't start /x\ny");
    assert_eq!(
        spec.read_failure(format!("{line}\n").as_bytes()),
        Some((LaunchFailure::Start, "can't start /x y".to_owned()))
    );
    assert_eq!(spec.read_failure(b"scan't start /x"), None);
    let other = LaunchSpec::nonce();
    assert_ne!(other, spec.nonce);
    assert_eq!(spec.read_failure(format!("{other}sx").as_bytes()), None);
}
