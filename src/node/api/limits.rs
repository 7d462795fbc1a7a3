//! How much of the agent any one client may have.

use std::time::Duration;

#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// For a request's head, for a TLS handshake, and between two requests.
    pub head_time: Duration,
    pub head_size: usize,
    pub uri_size: usize,
    pub body_time: Duration,
    pub body_size: usize,
    /// How long a client may leave an answer unread.
    pub stall_time: Duration,
    /// Connections over TCP.
    pub tcp_connections: usize,
    /// Connections over the unix socket: a flood over TCP takes none of these, so that whoever
    /// operates the node can always look.
    pub socket_connections: usize,
    /// For requests under way when the agent stops.
    pub farewell: Duration,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            head_time: Duration::from_secs(10),
            head_size: 64 << 10,
            uri_size: 8 << 10,
            body_time: Duration::from_secs(10),
            body_size: 1 << 20,
            stall_time: Duration::from_secs(30),
            tcp_connections: 224,
            socket_connections: 32,
            farewell: Duration::from_secs(3),
        }
    }
}
