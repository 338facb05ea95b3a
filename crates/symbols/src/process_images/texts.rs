//! Addresses of texts to texts, where only the low bits of the address are known: the label in a mark of `tailtrace.h`'s
//! PTWRITE.
//!
//! perf records mappings of code alone; where a file's code lies says where its constants lie ([`UserPiece::moved_by`]).

use std::sync::Arc;

use model::{Pid, Tsc};

use super::{ProcessImages, UserPiece};

/// Most bytes of a text.
const LONGEST: usize = 255;
/// Fewer bits name no text: too many addresses have them.
const FEWEST_BITS: u32 = 12;

/// The low bits of an address.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LowBits {
    /// What they are.
    pub value: u64,
    /// How many.
    pub width: u32,
}

impl ProcessImages {
    /// The text whose address in `pid`'s memory ends with these bits: in the file whose code is at `ip`, or in any where that is
    /// not known. Of several the one that is no other's end; `None` where there is none, or more than one.
    pub fn text_at(&self, pid: Pid, low: LowBits, ip: Option<u64>, at: Tsc) -> Option<Arc<str>> {
        let pieces = self.timelines.process(pid).at(at).pieces;
        let of_ip = ip.and_then(|ip| pieces.get(ip)).map(|(_, &mapping)| mapping);
        let wanted = of_ip.and_then(|mapping| self.image_of.get(mapping as usize));
        let mut found = Vec::new();
        for (range, &mapping) in pieces.iter() {
            let Some(piece) = self.piece_of(range, mapping) else { continue };
            if wanted.is_some_and(|&wanted| wanted != piece.index) {
                continue;
            }
            found.extend(self.texts_of(piece, low));
        }
        only(found.iter()).or_else(|| only(found.iter().filter(|text| text.is_whole)))
    }

    /// The texts of the piece's file at such addresses.
    fn texts_of(&self, piece: UserPiece<'_>, low: LowBits) -> Vec<Text> {
        let file = piece.image.code(&self.search);
        let found = file.and_then(|file| Some((file, piece.moved_by(file)?)));
        let Some((file, moved_by)) = found.filter(|_| (FEWEST_BITS..64).contains(&low.width)) else {
            return Vec::new();
        };
        let step = 1_u64 << low.width;
        let mut texts = Vec::new();
        for segment in file.segments.iter().filter(|segment| !segment.executable) {
            let distance = low.value.wrapping_sub(segment.svma.start.wrapping_add(moved_by)) & (step - 1);
            let length = segment.svma.end - segment.svma.start;
            let offsets = std::iter::successors(Some(distance), |offset| offset.checked_add(step));
            for offset in offsets.take_while(|&offset| offset < length) {
                texts.extend(text_of(&file.bytes, segment.file_offset.saturating_add(offset)));
            }
        }
        texts
    }
}

/// A text, and whether it is no other's end.
#[derive(Debug, PartialEq, Eq)]
struct Text {
    text: String,
    is_whole: bool,
}

/// The text, if all are the same.
fn only<'t>(mut texts: impl Iterator<Item = &'t Text>) -> Option<Arc<str>> {
    let first = texts.next()?;
    texts.all(|text| text.text == first.text).then(|| first.text.as_str().into())
}

/// The printable text that begins at `offset` and ends with a zero byte.
fn text_of(bytes: &[u8], offset: u64) -> Option<Text> {
    let offset = usize::try_from(offset).ok()?;
    let rest = bytes.get(offset..)?;
    let length = rest.iter().take(LONGEST + 1).position(|&byte| byte == 0).filter(|&length| length > 0)?;
    let text = std::str::from_utf8(&rest[..length]).ok()?;
    let is_whole = offset.checked_sub(1).is_none_or(|before| bytes.get(before) == Some(&0));
    text.chars().all(|each| !each.is_control()).then(|| Text { text: text.to_owned(), is_whole })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(text: &str, is_whole: bool) -> Text {
        Text { text: text.to_owned(), is_whole }
    }

    #[test]
    fn a_text_ends_with_a_zero_byte() {
        let bytes = b"\0order\0qu\xc3\xa9ry\0\x01\x02\0open";
        assert_eq!(text_of(bytes, 1), Some(text("order", true)));
        assert_eq!(text_of(bytes, 3), Some(text("der", false)));
        assert_eq!(text_of(bytes, 7), Some(text("qu\u{e9}ry", true)));
        for wrong in [0, 6, 10, 14, 15, 17, 99, u64::MAX] {
            assert_eq!(text_of(bytes, wrong), None, "{wrong}");
        }
    }

    #[test]
    fn one_of_several_is_meant_if_it_is_whole() {
        let found = [text("der", false), text("query", true), text("x", false)];
        assert_eq!(only(found.iter()), None);
        assert_eq!(only(found.iter().filter(|text| text.is_whole)).as_deref(), Some("query"));
        assert_eq!(only([].iter()), None);
    }
}
