//! The paths of the system that every program may reach, so that it can run at all.
//!
//! Nothing here belongs to a person: no home, no `/root`, no `/etc` as a whole,
//! no `/tmp`, no `/proc`.

/// Programs and their libraries: read and executed.
pub(crate) const PROGRAMS: [&str; 10] = [
    "/usr",
    "/bin",
    "/sbin",
    "/lib",
    "/lib32",
    "/lib64",
    "/libx32",
    "/nix/store",
    "/gnu/store",
    "/run/current-system",
];

/// Settings that programs read to start, to know names, and to check certificates.
/// Private keys lie beside some of them, hence no whole `/etc/ssl`.
pub(crate) const SETTINGS: [&str; 32] = [
    "/etc/ld.so.cache",
    "/etc/ld.so.conf",
    "/etc/ld.so.conf.d",
    "/etc/ld.so.preload",
    "/etc/passwd",
    "/etc/group",
    "/etc/nsswitch.conf",
    "/etc/hosts",
    "/etc/host.conf",
    "/etc/gai.conf",
    "/etc/resolv.conf",
    "/etc/localtime",
    "/etc/timezone",
    "/etc/ssl/certs",
    "/etc/ssl/cert.pem",
    "/etc/ssl/openssl.cnf",
    "/etc/pki/ca-trust",
    "/etc/pki/tls/certs",
    "/etc/pki/tls/cert.pem",
    "/etc/pki/tls/openssl.cnf",
    "/etc/ca-certificates",
    "/etc/ca-certificates.conf",
    "/etc/alternatives",
    "/etc/gitconfig",
    "/etc/mime.types",
    "/etc/terminfo",
    "/etc/locale.conf",
    "/etc/locale.alias",
    "/etc/services",
    "/etc/protocols",
    "/etc/magic",
    "/etc/xdg",
];

/// Devices that hold nothing: read and written.
pub(crate) const DEVICES: [&str; 2] = ["/dev/null", "/dev/full"];

/// Gives zeros, and memory that is shared without a name to whoever maps it. A program gets
/// at it only in a view of its own, where another device stands in its place.
pub(crate) const ZERO: &str = "/dev/zero";

/// Where randomness comes from: read.
pub(crate) const RANDOMNESS: [&str; 2] = ["/dev/random", "/dev/urandom"];
