//! The agent's unix socket: where it is, and taking it.

use std::io;
use std::os::unix::fs::{DirBuilderExt, FileTypeExt, PermissionsExt};
use std::path::{Path, PathBuf};

use tokio::net::UnixListener;

/// `/run/podkeeper/podkeeper.sock`, and for an ordinary user one of their own.
pub fn default_socket() -> PathBuf {
    let own = || std::env::var_os("XDG_RUNTIME_DIR").filter(|dir| !dir.is_empty()).map(PathBuf::from);
    let dir = if rustix::process::geteuid().is_root() { None } else { own() };
    dir.unwrap_or_else(|| "/run".into()).join("podkeeper/podkeeper.sock")
}

/// Takes the socket. One that a dead agent left behind is replaced; a live one is not.
///
/// # Errors
/// One line for a person.
pub fn bind(path: &Path) -> Result<UnixListener, String> {
    let fails = |error: io::Error| {
        format!("socket {} cannot be made: {error}; name another with --socket", path.display())
    };
    if let Some(dir) = path.parent().filter(|dir| !dir.as_os_str().is_empty()) {
        std::fs::DirBuilder::new().recursive(true).mode(0o755).create(dir).map_err(fails)?;
    }
    match std::fs::symlink_metadata(path) {
        Ok(meta) if !meta.file_type().is_socket() => {
            return Err(format!(
                "{} is there and is not a socket: name another with --socket",
                path.display()
            ));
        }
        Ok(_) if std::os::unix::net::UnixStream::connect(path).is_ok() => {
            return Err(format!(
                "socket {} is served by another process: stop that agent, or name another with --socket",
                path.display()
            ));
        }
        Ok(_) => std::fs::remove_file(path).map_err(fails)?,
        Err(_) => {}
    }
    let listener = UnixListener::bind(path).map_err(fails)?;
    std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o660)).map_err(fails)?;
    Ok(listener)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(flavor = "current_thread")]
    async fn a_dead_agents_socket_is_replaced_and_a_live_ones_is_not() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("run/podkeeper.sock");
        let first = bind(&path).unwrap();
        assert_eq!(std::fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o660);
        assert!(bind(&path).unwrap_err().contains("served by another process"));
        drop(first);
        assert!(path.exists(), "as a killed agent leaves it");
        assert!(bind(&path).is_ok());
        std::fs::remove_file(&path).unwrap();
        std::fs::write(&path, "precious").unwrap();
        assert!(bind(&path).unwrap_err().contains("not a socket"));
    }
}
