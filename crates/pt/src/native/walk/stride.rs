//! TNT after TNT by what is remembered of them, where only sums are wanted and the time between them is quiet.
//!
//! ```text
//! CYC? TNT     stride from the hop at hand: one look-up for all its branches
//! CYC? TIP     hop, and on to the hop at the target
//! CYC? MTC     the next period of the clock
//! ```
//!
//! It ends before the CYC of whatever else comes: another packet, a TNT that is not known from here, a time that is not
//! quiet. Those are [`super::glide`]'s, which says what is done here one by one. Source: Intel SDM vol. 3, "Intel
//! Processor Trace", "TNT Packet", "TIP Packet", "CYC Packet", "MTC Packet".

use super::Walk;
use super::glide::Glide;
use super::ride::keep_calls;
use super::steps::back_to;
use crate::clock::{Mark, Pace};
use crate::native::blocks::{CodeMap, NONE, Stride, Turn};
use crate::native::cues::LastIp;
use crate::native::lexer::PACKET_BYTES;
use crate::native::returns::Returns;
use crate::native::timing::Timing;
use crate::packets::tip;

/// Bytes looked at: a CYC of two bytes and any packet.
const GRASP: usize = 2 * PACKET_BYTES;

/// The first byte of an MTC.
const MTC: u8 = 0x59;

/// What changes from packet to packet; see [`Glide`].
struct Strider<'m> {
    map: &'m CodeMap,
    returns: &'m mut Returns,
    timing: &'m Timing<'m>,
    pace: Pace,
    /// The clock at the last TNT or TIP; before the first one its reading.
    mark: Option<Mark>,
    ticked: Option<u64>,
    last_ip: LastIp,
    here: u32,
    last: u32,
    instructions: u64,
    budget: u64,
    follows_bit: bool,
    /// The bits that are not known from `here`, and those of the packet that are left.
    missed: Option<u8>,
    rest: Option<u8>,
}

#[allow(clippy::inline_always, reason = "what changes stays in registers then")]
impl Strider<'_> {
    /// Takes in the packets of `bytes` from byte `at` on; how far.
    #[inline(always)]
    fn go(&mut self, bytes: &[u8], mut at: usize) -> usize {
        while let Some(grasp) = bytes.get(at..).and_then(<[u8]>::first_chunk::<GRASP>) {
            let Some((cycles, cyc_bytes)) = cyc(grasp) else { break };
            let packet = &grasp[cyc_bytes..];
            let (first, second) = (packet[0], packet[1]);
            if first & 0x01 == 0 && first > END {
                let Some(mark) = self.pace.after(cycles) else { break };
                if !self.bits(mark, first) {
                    break;
                }
                self.pace.pass(mark);
                at += cyc_bytes + 1;
                if self.rest.is_some() {
                    break;
                }
            } else if first == MTC {
                if !self.timing.tick_at_pace(&mut self.pace, second) {
                    break;
                }
                at += cyc_bytes + 2;
            } else {
                let Some(mark) = self.pace.after(cycles) else { break };
                let Some(length) = packet.first_chunk().and_then(|packet| self.target(mark, packet)) else {
                    break;
                };
                self.pace.pass(mark);
                at += cyc_bytes + length;
            }
        }
        at
    }

    /// Follows the TNT `tnt`; false, and nothing happened, where that is not possible. [`Strider::rest`] may be left of it.
    #[inline(always)]
    fn bits(&mut self, mark: Mark, tnt: u8) -> bool {
        if self.instructions >= self.budget {
            return false;
        }
        let mut rest = tnt;
        while rest != END {
            let Some(stride) = self.map.stride(self.here, rest) else {
                self.missed = Some(rest);
                break;
            };
            self.here = if stride.moves_calls() {
                let Some(to) = call(self.map, self.returns, stride) else { break };
                to
            } else {
                stride.to
            };
            self.instructions += u64::from(stride.instructions);
            self.last = stride.last;
            rest = bits_after(rest, stride.used);
        }
        if rest == tnt {
            return false;
        }
        self.rest = (rest != END).then_some(rest);
        // The time of a single bit after a target came after its branch.
        self.follows_bit =
            self.follows_bit || tnt >= 0x08 || !is_late(self.timing, (self.mark, self.ticked), mark);
        self.mark = Some(mark);
        true
    }

    /// Follows a TIP, and returns its length; nothing, and nothing happened, where that is not possible.
    #[inline]
    fn target(&mut self, mark: Mark, packet: &[u8; PACKET_BYTES]) -> Option<usize> {
        let (compressed, length) = tip(packet)?;
        let hop = self.map.hops().get(self.here as usize)?;
        let mut last_ip = self.last_ip;
        last_ip.update(compressed);
        let ip = last_ip.get()?;
        let to = self.map.known_target(ip);
        let has_target = matches!(hop.turn, Turn::Target | Turn::CallTarget | Turn::Return);
        if !has_target || to == NONE || self.instructions >= self.budget {
            return None;
        }
        keep_calls(self.map, self.returns, self.here, hop);
        if hop.turn == Turn::CallTarget {
            self.returns.push(back_to(hop.last, self.map.block(hop.last)));
        }
        self.instructions += u64::from(hop.instructions);
        self.follows_bit = hop.turn == Turn::Return && !is_late(self.timing, (self.mark, self.ticked), mark);
        self.mark = Some(mark);
        (self.here, self.last, self.last_ip) = (to, self.here, last_ip);
        Some(length)
    }
}

impl Walk<'_> {
    /// Passes over packets; whether the last branch was one of those that may take a bit, and had its time; and the bits that are
    /// left of a TNT.
    #[inline(never)]
    pub(super) fn stride(
        &mut self,
        glide: &mut Glide,
        bytes: &[u8],
        follows_bit: bool,
    ) -> (bool, Option<u8>) {
        let timing = &self.cues.timing;
        let is_in_order = timing.reading().is_some_and(|reading| glide.quiet.holds(reading));
        let Some(pace) = timing.pace(glide.quiet.end).filter(|_| is_in_order) else {
            return (follows_bit, None);
        };
        let mut strider = Strider {
            map: self.map,
            returns: &mut self.returns,
            timing,
            pace,
            mark: None,
            ticked: glide.reading,
            last_ip: self.cues.last_ip,
            here: glide.here,
            last: glide.last,
            instructions: glide.instructions,
            budget: glide.budget,
            follows_bit,
            missed: None,
            rest: None,
        };
        glide.at = strider.go(bytes, glide.at);
        let Strider { pace, mark, last_ip, here, last, instructions, follows_bit, missed, rest, .. } =
            strider;
        self.cues.last_ip = last_ip;
        self.cues.timing.stand_at(&pace);
        if let Some(mark) = mark {
            let reading = self.cues.timing.reading_at(mark);
            glide.quiet.now = reading;
            (glide.reading, glide.ticked, glide.ahead_of) = (Some(reading), Some(reading), None);
            (glide.here, glide.last, glide.instructions) = (here, last, instructions);
        }
        if let Some(tnt) = missed {
            self.map.learn_stride(here, tnt);
        }
        (follows_bit, rest)
    }
}

/// No bits.
const END: u8 = 0x02;

/// What is left of the bits of a TNT after so many of them.
#[inline]
fn bits_after(tnt: u8, used: u8) -> u8 {
    // The highest bit set moves down to where the last one used was.
    let end = 0x80_u8 >> tnt.leading_zeros() >> used;
    end | tnt & (end - 1)
}

/// The CYC at the start of `bytes`, or none of its cycles; nothing if it has three bytes or more.
#[inline]
fn cyc(bytes: &[u8; GRASP]) -> Option<(u64, usize)> {
    let [first, second, ..] = *bytes;
    match first & 0x07 {
        0x07 if second & 0x01 != 0 => None,
        0x07 => Some((u64::from(first >> 3) | u64::from(second) << 4, 2)),
        0x03 => Some((u64::from(first >> 3), 1)),
        _ => Some((0, 0)),
    }
}

/// Where `stride`, which moves calls, leads; its calls and returns are made. Nothing, and nothing happened, where a return leads to a block
/// that is not known.
#[inline]
fn call(map: &CodeMap, returns: &mut Returns, stride: &Stride) -> Option<u32> {
    if stride.calls_many {
        keep_calls(map, returns, stride.last, &map.hops()[stride.last as usize]);
        if stride.nested > 0 {
            returns.pop();
        }
        return Some(stride.to);
    }
    if stride.returns {
        let to = returns.last().map(|entry| entry.block).filter(|&block| block != NONE)?;
        returns.nest(stride.nested);
        returns.pop();
        return Some(to);
    }
    returns.nest(stride.nested);
    for &call in stride.calls.iter().take_while(|&&call| call != NONE) {
        returns.push(back_to(call, map.block(call)));
    }
    Some(stride.to)
}

/// Whether the time at `mark` is another than that of the last TNT or TIP: at its mark, or before the first one as its reading was.
#[cold]
#[inline(never)]
fn is_late(timing: &Timing<'_>, (last, ticked): (Option<Mark>, Option<u64>), mark: Mark) -> bool {
    let ticked = last.map_or(ticked, |last| Some(timing.reading_at(last)));
    Some(timing.reading_at(mark)) != ticked
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bits_used_leave_a_shorter_tnt() {
        // 1 0 1 1 0, the first one on the left.
        let tnt = 0b0110_1100;
        let expected = [tnt, 0b0010_1100, 0b0001_1100, 0b0000_1100, 0b0000_0100, END];
        for (used, rest) in (0..).zip(expected) {
            assert_eq!(bits_after(tnt, used), rest, "{used}");
        }
    }

    #[test]
    fn a_cyc_has_two_bytes_at_most_here() {
        let read = |start: [u8; 3]| {
            let mut bytes = [0; GRASP];
            bytes[..3].copy_from_slice(&start);
            cyc(&bytes)
        };
        assert_eq!(read([0x06, 0, 0]), Some((0, 0)), "a TNT");
        assert_eq!(read([0x2b, 0, 0]), Some((5, 1)));
        // 5 | 3 << 5
        assert_eq!(read([0x2f, 0x06, 0]), Some((0x65, 2)));
        assert_eq!(read([0x2f, 0x07, 0x02]), None);
    }
}
