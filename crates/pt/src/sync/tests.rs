use model::FileOffset;
use proptest::prelude::*;

use super::*;
use crate::Piece;

/// Sync points `gaps` bytes apart, with these times (`None`: a PSB+ without TSC).
fn trace(points: &[(usize, Option<u64>)]) -> Vec<u8> {
    let mut bytes = Vec::new();
    for &(before, tsc) in points {
        bytes.extend(std::iter::repeat_n(0x06, before));
        bytes.extend(PSB);
        if let Some(tsc) = tsc {
            bytes.push(0x19);
            bytes.extend(&tsc.to_le_bytes()[..7]);
        }
        bytes.extend([0x02, 0x23]);
    }
    bytes.extend([0x06; 100]);
    bytes
}

fn piece(bytes: &[u8], aux_offset: usize) -> Piece<'_> {
    Piece { bytes, aux_offset: aux_offset as u64, file_offset: FileOffset(0) }
}

#[test]
fn finds_the_point_at_or_before() {
    let bytes = trace(&[(5, Some(1000)), (5, None), (5, Some(2000)), (5, Some(3000))]);
    let (stream, _) = PtStream::new(None, None, [piece(&bytes, 0)], false);
    let at = |tsc| stream.sync_point_before(Tsc(tsc)).and_then(|point| point.tsc).map(|tsc| tsc.0);
    assert_eq!(
        [at(0), at(1000), at(1999), at(2000), at(u64::MAX)].map(Option::unwrap),
        [1000, 1000, 1000, 2000, 3000]
    );
    assert_eq!(stream.time_span(), Some(TscRange::new(Tsc(1000), Tsc(3000))));
    assert_eq!(stream.index().points().len(), 4);
    assert_eq!(stream.index().before(Tsc(2500)), stream.sync_point_before(Tsc(2500)));
}

#[test]
fn no_times_mean_the_first_point() {
    let bytes = trace(&[(3, None), (5, None)]);
    let (stream, _) = PtStream::new(None, None, [piece(&bytes, 0)], false);
    assert_eq!(stream.sync_point_before(Tsc(77)), Some(SyncPoint { offset: 3, tsc: None }));
    assert_eq!(stream.time_span(), None);
    let (empty, _) = PtStream::new(None, None, [], false);
    assert_eq!((empty.sync_point_before(Tsc(0)), empty.first_sync(), empty.last_sync()), (None, None, None));
}

proptest! {
    /// Uneven distances, uneven times, pieces cut anywhere: always the point that a full index names.
    #[test]
    fn search_agrees_with_the_index(
        points in proptest::collection::vec((0usize..30_000, 1u64..1_000_000), 1..60),
        cuts in proptest::collection::vec(any::<proptest::sample::Index>(), 0..4),
        wanted in any::<proptest::sample::Index>(),
        skew in 0u64..3,
    ) {
        let mut time = 10;
        let timed: Vec<_> = points
            .iter()
            .map(|&(before, step)| {
                time += step;
                (before, Some(time))
            })
            .collect();
        let bytes = trace(&timed);
        let mut cuts: Vec<usize> = cuts.iter().map(|cut| cut.index(bytes.len())).collect();
        cuts.extend([0, bytes.len()]);
        cuts.sort_unstable();
        let pieces = cuts.windows(2).map(|pair| piece(&bytes[pair[0]..pair[1]], pair[0]));
        let (stream, _) = PtStream::new(None, None, pieces, false);
        let at = Tsc((timed[wanted.index(timed.len())].1.unwrap_or(0) + skew).saturating_sub(1));
        prop_assert_eq!(stream.sync_point_before(at), stream.index().before(at));
    }
}
