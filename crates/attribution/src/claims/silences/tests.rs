//! What the flow itself shows about a silence.

use model::{Cause, Certainty, Cpu, Ticks, Tsc, TscRange};
use perfdata::LeaveReason;
use pt::GapReason;

use super::claim_of_silence;
use crate::claims::precedence::Rank;
use crate::testing::script::WORKER;
use crate::threads::stays::{Stay, Whereabouts};
use crate::walk::activity::{Silence, Why};

/// A thread's own trace that begins in the kernel, when the thread has come back.
#[test]
fn before_its_first_packet_a_thread_comes_back() {
    let (on, off) = (Whereabouts::OnCpu(Cpu(0)), Whereabouts::OffCpu(LeaveReason::Preempted));
    let stay = |from, to, place| Stay::new(TscRange::new(Tsc(from), Tsc(to)), Some(WORKER), place);
    let stays = [stay(0, 5, off), stay(5, 100, on)];
    for (start, cause) in [(5, Cause::Schedule), (6, Cause::HardwareGap)] {
        let range = TscRange::new(Tsc(start), Tsc(90));
        let silence = Silence { resumed: true, range, ..silence(Why::Off, None) };
        assert_eq!(claim_of_silence(&silence, &stays).cause, cause);
    }
}

#[test]
fn silence_is_loss_filter_or_below_the_kernel() {
    for (lost, resumed, rank, cause) in [
        (true, false, Rank::Loss, Cause::TraceLoss),
        (true, true, Rank::Loss, Cause::TraceLoss),
        (false, false, Rank::Untraced, Cause::TraceFiltered),
        (false, true, Rank::StandStill, Cause::HardwareGap),
    ] {
        let why = if lost { Why::Overflow } else { Why::Off };
        let claim = claim_of_silence(&Silence { resumed, ..silence(why, None) }, &[]);
        assert_eq!((claim.bid.rank, claim.cause), (rank, cause), "lost {lost}, resumed {resumed}");
        assert_eq!(claim.evidence[0].aux_offset, Some(7));
    }
}

fn silence(why: Why, missing: Option<&str>) -> Silence {
    Silence {
        range: TscRange::new(Tsc(0), Tsc(100)),
        began: Tsc(0),
        began_on: Some(Cpu(0)),
        why,
        missing: missing.map(Into::into),
        resumed: false,
        entry: None,
        exception: None,
        cpu: Some(Cpu(0)),
        aux_offset: 7,
        address: None,
        uncertainty: Ticks(0),
    }
}

/// A packet, or the buffers' offsets, show that trace is missing; where bytes do not decode, nothing is known.
#[test]
fn a_loss_is_as_certain_as_what_tells_it() {
    for (why, certainty) in [
        (Why::Overflow, Certainty::Measured),
        (Why::Gap(GapReason::MissingAux), Certainty::Measured),
        (Why::Gap(GapReason::BadPacket), Certainty::Unknown),
        (Why::Gap(GapReason::NoCode { ip: 0x1000 }), Certainty::Unknown),
    ] {
        let silence = silence(why.clone(), Some("Orders.match"));
        let claim = claim_of_silence(&silence, &[]);
        assert_eq!((claim.cause, claim.certainty), (Cause::TraceLoss, certainty), "{why}");
        assert_eq!(claim.gap.as_ref(), silence.gap(), "{why}");
        assert!(claim.detail.contains("in Orders.match()"), "{}", claim.detail);
    }
}
