//! What a container has written, as the engine streams it.

use http_body_util::BodyExt;
use hyper::body::{Bytes, Incoming};

use super::path::full;
use super::{CALL, Engine, refusal, within};
use crate::docker::DockerError;
use crate::model::{ContainerId, Time};

/// Which of it is wanted.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LogOptions {
    pub follow: bool,
    pub timestamps: bool,
    /// The last so many lines.
    pub tail: Option<u64>,
    pub since: Option<Time>,
    pub stdout: bool,
    pub stderr: bool,
}

/// A stream of what was written, both streams in one, as it comes. Nothing is read ahead.
pub struct Logs {
    body: Incoming,
    /// `None` with a terminal: then the engine sends the bytes as they are.
    frames: Option<Frames>,
}

impl Engine {
    /// # Errors
    /// When there is no such container, or the engine does not answer.
    pub async fn logs(&self, id: &ContainerId, tty: bool, options: &LogOptions) -> Result<Logs, DockerError> {
        let path = format!("/containers/{}/logs?{}", full(id)?, query(options));
        let response = within(CALL, self.answer(&path)).await?;
        Ok(Logs { body: response.into_body(), frames: (!tty).then(Frames::default) })
    }
}

impl Logs {
    /// The next bytes; `None` at the end.
    ///
    /// # Errors
    /// When the engine breaks off.
    pub async fn next(&mut self) -> Result<Option<Bytes>, DockerError> {
        while let Some(frame) = self.body.frame().await {
            let frame = frame.map_err(|error| refusal::uncertain(&error))?;
            let Ok(data) = frame.into_data() else { continue };
            let text = match &mut self.frames {
                Some(frames) => frames.take(&data).into(),
                None => data,
            };
            if !text.is_empty() {
                return Ok(Some(text));
            }
        }
        Ok(None)
    }
}

fn query(options: &LogOptions) -> String {
    let LogOptions { follow, timestamps, tail, since, stdout, stderr } = options;
    let mut query = format!("stdout={stdout}&stderr={stderr}&follow={follow}&timestamps={timestamps}");
    if let Some(tail) = tail {
        query += &format!("&tail={tail}");
    }
    if let Some(since) = since {
        // Seconds and their fraction.
        query += &format!("&since={}.{:03}", since.0.div_euclid(1000), since.0.rem_euclid(1000));
    }
    query
}

/// Takes the engine's frames apart: eight bytes of which the first is the stream and the last four the length,
/// then so many bytes.
#[derive(Debug, Default)]
struct Frames {
    head: Vec<u8>,
    left: usize,
}

impl Frames {
    const HEAD: usize = 8;

    fn take(&mut self, mut data: &[u8]) -> Vec<u8> {
        let mut text = Vec::with_capacity(data.len());
        while !data.is_empty() {
            if self.left == 0 {
                let (head, rest) = data.split_at(data.len().min(Self::HEAD - self.head.len()));
                self.head.extend_from_slice(head);
                data = rest;
                if let [_, _, _, _, a, b, c, d] = self.head[..] {
                    self.left = u32::from_be_bytes([a, b, c, d]) as usize;
                    self.head.clear();
                }
                continue;
            }
            let (body, rest) = data.split_at(data.len().min(self.left));
            text.extend_from_slice(body);
            self.left -= body.len();
            data = rest;
        }
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn frames_are_taken_apart_however_the_stream_is_cut() {
        let mut stream = Vec::new();
        for (kind, text) in [(1u8, "out\n"), (2, "err\n"), (1, ""), (1, "end")] {
            stream.extend([kind, 0, 0, 0, 0, 0, 0, u8::try_from(text.len()).unwrap()]);
            stream.extend(text.as_bytes());
        }
        for cut in 0..stream.len() {
            let mut frames = Frames::default();
            let mut text = frames.take(&stream[..cut]);
            text.extend(frames.take(&stream[cut..]));
            assert_eq!(String::from_utf8(text).unwrap(), "out\nerr\nend", "cut at {cut}");
        }
    }

    #[test]
    fn the_engine_is_asked_for_what_is_wanted() {
        let all = LogOptions { stdout: true, stderr: true, ..LogOptions::default() };
        assert_eq!(query(&all), "stdout=true&stderr=true&follow=false&timestamps=false");
        let some = LogOptions { tail: Some(5), since: Some(Time(1500)), follow: true, ..all };
        assert_eq!(query(&some), "stdout=true&stderr=true&follow=true&timestamps=false&tail=5&since=1.500");
    }
}
