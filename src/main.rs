//! The `podkeeper` command: arguments go to [`podkeeper::cli`], nothing else happens here.

fn main() -> std::process::ExitCode {
    podkeeper::cli::main()
}
