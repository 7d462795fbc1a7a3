//! Compiles the sandbox's program (`src/node/sandbox_image/pause.rs`) for the target, so that the binary can carry it.
//!
//! Needs nothing but the rustc and the linker that build podkeeper itself.

use std::env;
use std::path::PathBuf;
use std::process::Command;

const SOURCE: &str = "src/node/sandbox_image/pause.rs";

/// No start files, no libraries, no headers that a program of one page does not need.
const LINK: [&str; 9] = [
    "-nostartfiles",
    "-nostdlib",
    "-static",
    "-no-pie",
    "-Wl,--build-id=none",
    "-Wl,-z,norelro",
    "-Wl,-z,noseparate-code",
    "-Wl,--no-eh-frame-hdr",
    "-Wl,--gc-sections",
];

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rerun-if-changed={SOURCE}");
    if env::var_os("CARGO_FEATURE_NODE").is_none() {
        return;
    }
    let variable =
        |name: &str| env::var(name).unwrap_or_else(|_| panic!("cargo sets {name} for build scripts"));
    let program = PathBuf::from(variable("OUT_DIR")).join("pause");
    let mut rustc = Command::new(variable("RUSTC"));
    rustc.args(["--edition=2024", "--crate-type=bin", "--crate-name=pause", "--target", &variable("TARGET")]);
    rustc.args(["-Copt-level=s", "-Cpanic=abort", "-Cstrip=symbols", "-Crelocation-model=static"]);
    rustc.args(["-Ccodegen-units=1", "-Cdebuginfo=0", "-Cforce-unwind-tables=no"]);
    if let Ok(linker) = env::var("RUSTC_LINKER") {
        rustc.arg(format!("-Clinker={linker}"));
    }
    rustc.args(LINK.iter().map(|argument| format!("-Clink-arg={argument}")));
    rustc.arg("-o").arg(&program).arg(SOURCE);
    match rustc.status() {
        Ok(status) if status.success() => {}
        Ok(status) => panic!("{SOURCE} does not compile for {}: {status}", variable("TARGET")),
        Err(error) => panic!("{rustc:?} cannot be run: {error}"),
    }
}
