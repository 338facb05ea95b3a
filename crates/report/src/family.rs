//! Families of causes: the letter, name and colour by which every screen shows them.
//!
//! Letters and names are those of the text's timeline, colours those of the HTML page's dark theme (its palette builds
//! on Okabe and Ito, "Color Universal Design"): a reader of one report recognises the others.

use crate::outlier::SegmentReport;
use crate::text::group::{GROUPS, group_of};
use crate::text::timeline::dominant_groups;

/// A family of causes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Family(usize);

/// Red, green, blue.
pub type Colour = (u8, u8, u8);

/// The classes of the style sheet with their colours; a test holds them against it.
const COLOURS: [(&str, Colour); 14] = [
    ("expected", (0x59, 0x64, 0x6f)),
    ("extra", (0x3f, 0x97, 0xd3)),
    ("slower", (0x8f, 0xd0, 0xf5)),
    ("spin", (0x9d, 0x8c, 0xf0)),
    ("syscall", (0xe6, 0x9f, 0x00)),
    ("fault", (0xe8, 0x70, 0x2a)),
    ("interrupt", (0xe6, 0xda, 0x3c)),
    ("kernel", (0xb9, 0x99, 0x3a)),
    ("wait", (0xcc, 0x79, 0xa7)),
    ("queued", (0xb3, 0x59, 0x8a)),
    ("power", (0x16, 0xa8, 0x80)),
    ("collector", (0x5f, 0xc0, 0xb0)),
    ("gap", (0xf4, 0xf6, 0xf8)),
    ("unknown", (0x78, 0x82, 0x8c)),
];

impl Family {
    /// The family of the cause with this dotted name.
    pub fn of(cause: &str) -> Family {
        Family(group_of(cause))
    }

    /// One letter; capitals but for time that is as it should be.
    pub fn letter(self) -> &'static str {
        GROUPS[self.0].letter
    }

    /// A few words.
    pub fn name(self) -> &'static str {
        GROUPS[self.0].name
    }

    /// Its colour, for a dark ground.
    pub fn colour(self) -> Colour {
        let class = GROUPS[self.0].class;
        let found = COLOURS.iter().find(|(name, _)| *name == class);
        found.map_or((0x78, 0x82, 0x8c), |(_, colour)| *colour)
    }
}

/// For each of `columns` equal parts of the time from `begin` to `end` (from the interval's start, in the report's
/// unit), the family with most time in it.
pub fn strip(segments: &[SegmentReport], (begin, end): (u64, u64), columns: usize) -> Vec<Option<Family>> {
    dominant_groups(segments, (begin, end), columns).into_iter().map(|group| group.map(Family)).collect()
}

#[cfg(test)]
mod tests;
