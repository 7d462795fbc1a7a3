//! From the bytes of a body to the text of manifests.
//!
//! Pure. Unpacking stops at the largest file that is read, so a small body that unpacks to gigabytes costs a megabyte;
//! and a body that was cut in its packing is an error, never a shorter list of pods.

use std::io::{self, Read};

use ruzstd::decoding::StreamingDecoder;

use crate::model::read::MAX_BYTES;
use crate::node::sources::file::is_blank;
use crate::node::sources::http::response::Encoding;

/// What zstd may look back over: compressors use 8 MiB or less unless told otherwise (RFC 8878, 3.1.1.1.2), and the
/// window is memory that the sender chooses.
const LARGEST_WINDOW: u64 = 8 << 20;

/// The manifests' text.
///
/// # Errors
/// It is too large, damaged, empty, or a page for a browser. Never shows what is inside.
pub fn text(encoding: Encoding, body: &[u8]) -> Result<Vec<u8>, String> {
    let damaged = |how: &str, error: &io::Error| format!("the {how} body is damaged ({error})");
    let text = match encoding {
        Encoding::Plain => body.to_vec(),
        Encoding::Gzip => {
            limited(flate2::read::MultiGzDecoder::new(body)).map_err(|error| damaged("gzip", &error))?
        }
        Encoding::Zstd => unzstd(body).map_err(|error| damaged("zstd", &error))?,
    };
    if text.len() > MAX_BYTES {
        return Err(too_large());
    }
    if is_blank(&text) {
        return Err(
            "the answer is empty, which takes no pod away: to remove them answer `items: []`".to_owned()
        );
    }
    if is_markup(&text) {
        return Err(
            "the server answers with a web page, not with manifests: is there a login page or a proxy in between?"
                .to_owned(),
        );
    }
    Ok(text)
}

pub fn too_large() -> String {
    format!("the answer is larger than {} MiB: split it over several URLs", MAX_BYTES >> 20)
}

/// One byte more than is allowed at most.
fn limited(from: impl Read) -> io::Result<Vec<u8>> {
    let mut text = Vec::new();
    from.take(MAX_BYTES as u64 + 1).read_to_end(&mut text)?;
    Ok(text)
}

/// All frames of a body; the decoder reads one.
fn unzstd(mut body: &[u8]) -> io::Result<Vec<u8>> {
    let mut text = Vec::new();
    while !body.is_empty() && text.len() <= MAX_BYTES {
        if zstd_window(body).is_some_and(|window| window > LARGEST_WINDOW) {
            return Err(io::Error::other("it wants more than 8 MiB of memory"));
        }
        let mut frame = StreamingDecoder::new(&mut body).map_err(io::Error::other)?;
        let left = (MAX_BYTES + 1 - text.len()) as u64;
        (&mut frame).take(left).read_to_end(&mut text)?;
        let frame = frame.into_frame_decoder();
        let whole = frame.is_finished() && frame.can_collect() == 0;
        if whole
            && frame.get_checksum_from_data().is_some_and(|sum| Some(sum) != frame.get_calculated_checksum())
        {
            return Err(io::Error::other("its checksum does not match"));
        }
    }
    Ok(text)
}

/// The window that the header of a frame asks for, as far as it says so in its own field (RFC 8878, 3.1.1.1).
/// Otherwise the window is the content, of which no more is read than is allowed.
fn zstd_window(frame: &[u8]) -> Option<u64> {
    const SINGLE_SEGMENT: u8 = 0x20;
    let (&descriptor, &window) = (frame.get(4)?, frame.get(5)?);
    if descriptor & SINGLE_SEGMENT != 0 {
        let size = match descriptor >> 6 {
            0 => 1,
            flag => 1 << flag,
        };
        // After the dictionary's id, of 0, 1, 2 or 4 bytes.
        let at = 5 + [0, 1, 2, 4][usize::from(descriptor & 3)];
        let mut content = [0; 8];
        content[..size].copy_from_slice(frame.get(at..at + size)?);
        return Some(u64::from_le_bytes(content));
    }
    let base = 1u64 << (10 + u32::from(window >> 3));
    Some(base + base / 8 * u64::from(window & 7))
}

/// No manifest begins with `<`; every page of a login form or of a proxy does.
fn is_markup(text: &[u8]) -> bool {
    let text = text.strip_prefix(b"\xef\xbb\xbf").unwrap_or(text).trim_ascii_start();
    matches!(text, [b'<', next, ..] if *next != b'<')
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use super::*;

    const POD: &[u8] = b"kind: Pod\n";

    fn gzip(bytes: &[u8]) -> Vec<u8> {
        let mut packed = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::best());
        packed.write_all(bytes).unwrap();
        packed.finish().unwrap()
    }

    fn zstd(bytes: &[u8]) -> Vec<u8> {
        ruzstd::encoding::compress_to_vec(bytes, ruzstd::encoding::CompressionLevel::Fastest)
    }

    #[test]
    fn packed_bodies_come_out_whole_in_one_part_or_in_several() {
        assert_eq!(text(Encoding::Plain, POD).unwrap(), POD);
        let twice = [POD, POD].concat();
        assert_eq!(text(Encoding::Gzip, &gzip(POD)).unwrap(), POD);
        assert_eq!(text(Encoding::Gzip, &[gzip(POD), gzip(POD)].concat()).unwrap(), twice);
        assert_eq!(text(Encoding::Zstd, &zstd(POD)).unwrap(), POD);
        assert_eq!(text(Encoding::Zstd, &[zstd(POD), zstd(POD)].concat()).unwrap(), twice);
    }

    #[test]
    fn h6_a_packed_body_that_is_cut_anywhere_is_an_error() {
        for (encoding, packed) in [(Encoding::Gzip, gzip(POD)), (Encoding::Zstd, zstd(POD))] {
            for length in 0..packed.len() {
                assert!(text(encoding, &packed[..length]).is_err(), "{encoding:?} {length}");
            }
            let garbage = [packed.as_slice(), b"garbage"].concat();
            assert!(text(encoding, &garbage).is_err(), "{encoding:?}");
        }
    }

    #[test]
    fn h8_unpacking_stops_at_the_largest_file() {
        let large = vec![b'#'; 8 << 20];
        for (encoding, packed) in [(Encoding::Gzip, gzip(&large)), (Encoding::Zstd, zstd(&large))] {
            assert!(packed.len() < MAX_BYTES, "{encoding:?}");
            assert_eq!(text(encoding, &packed).unwrap_err(), too_large(), "{encoding:?}");
        }
        assert_eq!(text(Encoding::Plain, &vec![b'a'; MAX_BYTES + 1]).unwrap_err(), too_large());
        assert!(text(Encoding::Plain, &vec![b'a'; MAX_BYTES]).is_ok());
    }

    #[test]
    fn h8_zstd_gets_no_more_memory_than_is_usual() {
        // A window of 64 MiB; then single segments that say that they are 4 GiB and 1 MiB long.
        for (header, window) in [
            (&[0x00, 16 << 3][..], 64 << 20),
            (&[0xa0, 0, 0, 0, 0xff], 0xff00_0000),
            (&[0x20, 9], 9),
            (&[0x61, 7, 0, 1], 256),
        ] {
            let frame = [&[0x28, 0xb5, 0x2f, 0xfd], header].concat();
            assert_eq!(zstd_window(&frame), Some(window));
            assert!(text(Encoding::Zstd, &frame).is_err());
        }
    }

    #[test]
    fn h4_an_empty_answer_is_an_error() {
        for body in ["", " \n", "---\n", "# nothing\n---\n"] {
            let error = text(Encoding::Plain, body.as_bytes()).unwrap_err();
            assert!(error.contains("items: []"), "{error}");
        }
    }

    #[test]
    fn h11_a_web_page_is_one_clear_error_that_shows_nothing_of_it() {
        for body in
            ["<!DOCTYPE html><p>secret", " \r\n<html>secret", "\u{feff}<!-- secret -->", "<?xml secret?>"]
        {
            let error = text(Encoding::Plain, body.as_bytes()).unwrap_err();
            assert!(error.contains("a web page") && !error.contains("secret"), "{error}");
        }
        assert!(text(Encoding::Plain, b"<<: *base\n").is_ok());
    }
}
