//! Which segment stands for several: the longest of those with the story that most of their time has.

use std::collections::BTreeMap;

use model::Role;

use crate::outlier::SegmentReport;
use crate::serving::kind;

/// The longest segment of the story with most time, and that time.
pub(super) fn foremost<'a>(
    segments: impl Iterator<Item = &'a SegmentReport>,
) -> Option<(&'a SegmentReport, u64)> {
    let mut stories: BTreeMap<[&str; 4], (&SegmentReport, u64)> = BTreeMap::new();
    for segment in segments {
        let story = &segment.story;
        // An interrupt comes wherever the thread is: who sent it is its story.
        let is_sent = matches!(story.role, Role::Sender | Role::LikelySender);
        let place = if is_sent { "" } else { &story.place };
        let key = [kind(&segment.cause), &story.object, place, &story.by];
        let (longest, time) = stories.entry(key).or_insert((segment, 0));
        *time = time.saturating_add(segment.duration_ns);
        if segment.duration_ns > longest.duration_ns {
            *longest = segment;
        }
    }
    stories.into_values().max_by_key(|&(_, time)| time)
}
