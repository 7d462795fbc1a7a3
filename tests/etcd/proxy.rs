//! A network between the source and etcd that can be cut, and that can swallow everything.

use std::sync::Arc;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::tcp::{OwnedReadHalf, OwnedWriteHalf};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Line {
    Open,
    /// Connections end, new ones are closed at once.
    Cut,
    /// Nothing passes, and nobody is told.
    Hole,
}

pub struct Proxy {
    pub url: String,
    line: Arc<watch::Sender<Line>>,
}

impl Proxy {
    pub async fn to(server: &str) -> Self {
        let target = server.trim_start_matches("http://").to_owned();
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let line = Arc::new(watch::Sender::new(Line::Open));
        let lines = line.clone();
        tokio::spawn(async move {
            while let Ok((client, _)) = listener.accept().await {
                if *lines.borrow() == Line::Cut {
                    continue;
                }
                let Ok(server) = TcpStream::connect(&target).await else { continue };
                let ((from_client, to_client), (from_server, to_server)) =
                    (client.into_split(), server.into_split());
                tokio::spawn(pump(from_client, to_server, lines.subscribe()));
                tokio::spawn(pump(from_server, to_client, lines.subscribe()));
            }
        });
        Self { url, line }
    }

    pub fn set(&self, line: Line) {
        self.line.send_replace(line);
    }
}

async fn pump(mut from: OwnedReadHalf, mut to: OwnedWriteHalf, mut line: watch::Receiver<Line>) {
    let mut buffer = [0; 16 << 10];
    loop {
        let read = tokio::select! {
            read = from.read(&mut buffer) => read,
            _ = line.wait_for(|line| *line == Line::Cut) => return,
        };
        let Ok(read @ 1..) = read else { return };
        let passes = line.wait_for(|line| *line != Line::Hole).await;
        if passes.is_err_and(|_| true) || *line.borrow() == Line::Cut {
            return;
        }
        if to.write_all(&buffer[..read]).await.is_err() {
            return;
        }
    }
}
