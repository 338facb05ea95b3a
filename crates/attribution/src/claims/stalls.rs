//! `hardware.gap` and `power.frequency-switch`: time in which no instruction retired.
//!
//! Input: the stalls that the walk found ([`crate::walk::stalls`] defines them). Certainty: inferred. The other
//! source of `hardware.gap` is tracing that goes off and on at one instruction: [`crate::claims::silences`].

use model::{Cause, Certainty, Evidence};

use crate::claims::claim::Claim;
use crate::claims::precedence::Rank;
use crate::walk::activity::Stall;

/// Time in which nothing retired.
pub(crate) fn claim_of_stall(stall: &Stall) -> Claim {
    let (cause, what) = if stall.ratio_changed {
        (Cause::FrequencySwitch, "the core:bus ratio changed")
    } else {
        (Cause::HardwareGap, "stall: no instruction retired and no record explains it (SMI? hypervisor?)")
    };
    let mut claim = Claim::new(stall.range, Rank::StandStill, cause, Certainty::Inferred);
    let place = stall.function.as_deref().map_or_else(String::new, |function| format!("in {function}: "));
    claim.say(&format!("{place}{what}"));
    claim.occurrence = stall.range.start.0;
    claim.cpu = stall.cpu;
    claim.evidence.push(Evidence::packet(stall.aux_offset, stall.cpu, "first packet after the stall"));
    claim
}

#[cfg(test)]
mod tests {
    use model::{Ticks, Tsc, TscRange};

    use super::*;

    #[test]
    fn a_stand_still_is_a_gap_unless_it_ends_with_a_ratio() {
        let stall = |ratio_changed| Stall {
            range: TscRange::new(Tsc(0), Tsc(20_000)),
            length: Ticks(20_000),
            worked: Ticks(0),
            function: Some("work".into()),
            ratio_changed,
            cpu: None,
            aux_offset: 0,
        };
        assert_eq!(claim_of_stall(&stall(false)).cause, Cause::HardwareGap);
        let switch = claim_of_stall(&stall(true));
        assert_eq!((switch.cause, switch.certainty), (Cause::FrequencySwitch, Certainty::Inferred));
    }
}
