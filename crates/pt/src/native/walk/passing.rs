//! A PTWRITE in passing, where only sums are wanted: its FUP names an instruction of the hop at hand, and the way goes on
//! as if it had not come.
//!
//! ```text
//! CYC? TNT   CYC? PTW CYC? FUP   CYC? TNT        hop ──→ hop, with the event on it ──→ hop
//! ```
//!
//! What comes next decides: bits or a target are followed from the hop as a whole. Before anything else execution comes
//! to the instruction, and [`super::places`] goes on from there. Source: Intel SDM vol. 3, "Intel Processor Trace", "PTWRITE Packet",
//! "FUP Packet".

use super::glide::Glide;
use super::{Stop, Walk};
use crate::flow::EventKind;
use crate::native::blocks::{NONE, Turn, Wanted};
use crate::native::cues::Place;

impl Walk<'_> {
    /// Passes over the PTWRITE that is next in `bytes`; false, and nothing happened, where it is none, or not in passing.
    #[inline(never)]
    pub(super) fn pass_ptwrite(&mut self, glide: &mut Glide, bytes: &[u8]) -> Result<bool, Stop> {
        let Some(ptwrite) = self.cues.ptwrite_at(bytes, glide.at) else { return Ok(false) };
        let is_quiet = ptwrite.reading.is_some_and(|reading| glide.quiet.holds(reading));
        if glide.within.is_some() || !is_quiet || !self.map.lies_on_hop(glide.here, ptwrite.ip) {
            return Ok(false);
        }
        let at = self.cues.pass_ptwrite(&ptwrite);
        glide.quiet.now = ptwrite.reading.unwrap_or(glide.quiet.now);
        (glide.reading, glide.ticked, glide.ahead_of) = (ptwrite.reading, ptwrite.reading, None);
        self.unbroken.end();
        self.land(glide)?;
        let kind = EventKind::Ptwrite { payload: ptwrite.payload, ip: Some(ptwrite.ip) };
        self.emitter.event(kind, at);
        if self.emitter.done() {
            return Err(Stop::Done);
        }
        *glide = Glide { at: ptwrite.end, needs: None, within: Some(ptwrite.ip), ..self.lift_off() };
        Ok(true)
    }

    /// Looks for the hop from the block at hand: where an event comes on it each time, it was never followed as a whole.
    #[inline]
    pub(super) fn learn_hop(&mut self) {
        if self.map.hops().get(self.block as usize).is_some_and(|hop| hop.turn == Turn::Unknown) {
            let source = self.source();
            self.map.hop(self.block, &source);
            if self.numbers_went() {
                self.block = NONE;
            }
        }
    }

    /// Execution comes to where `glide` passed a PTWRITE, if it is still on the hop.
    pub(super) fn come_within(&mut self, glide: &Glide) -> Result<(), Stop> {
        let Some(ip) = glide.within else { return Ok(()) };
        self.find_or_fail(Place::After(Wanted::With(ip)))?;
        self.delivered = self.emitter.stats.instructions;
        Ok(())
    }
}
