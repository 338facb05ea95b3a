//! Where tracing ends with an address, and packets that are lost in other ways than with a PSB after them.
//!
//! Source: Intel SDM vol. 3, "Intel Processor Trace", "TIP.PGD Packet", "OVF Packet", "Deferred TIPs".

use super::Encoder;
use crate::packet::{IpBytes, IpPacket, Packet};

impl Encoder {
    /// A branch that retired, or an interruption before the instruction at `from`, left the regions that are traced and
    /// went to `to`: TIP.PGD with that address in place of the branch's own packet.
    pub fn leave(&mut self, tsc: u64, from: Option<u64>, to: u64) {
        self.advance(tsc);
        self.flush_tnt();
        self.put_cycles();
        if let Some(from) = from {
            self.put_ip(IpPacket::Fup, from);
        }
        self.put_ip(IpPacket::TipPgd, to);
        self.enabled = false;
    }

    /// Packets were lost; tracing goes on at `ip`, without a PSB.
    pub fn overflow_alone(&mut self, tsc: u64, ip: u64) {
        self.lose(tsc);
        self.put_full_ip(IpPacket::Fup, ip);
        self.enabled = true;
    }

    /// Packets were lost, and tracing is off when they end.
    pub fn overflow_off(&mut self, tsc: u64) {
        self.lose(tsc);
        self.enabled = false;
    }

    /// From here on a TIP waits until the TNT before it is full, or another packet comes.
    pub fn defer_targets(&mut self) {
        self.defers = true;
    }

    /// Keeps the target of an indirect branch back if branches before it are held back, too.
    pub(super) fn defer(&mut self, ip: u64) -> bool {
        let defers = self.defers && self.tnt_count > 0;
        if defers {
            self.deferred.push(ip);
        }
        defers
    }

    /// Writes the targets that are held back.
    pub(super) fn put_deferred(&mut self) {
        for ip in std::mem::take(&mut self.deferred) {
            self.put_ip(IpPacket::Tip, ip);
        }
    }

    fn lose(&mut self, tsc: u64) {
        self.flush_tnt();
        self.clock.jump(tsc);
        Packet::Ovf.put(&mut self.bytes);
        self.calls.clear();
        self.resynchronise_time();
    }

    /// Tracing ends; nothing says where execution goes.
    pub(super) fn disable(&mut self) {
        self.enabled = false;
        Packet::Ip { packet: IpPacket::TipPgd, bytes: IpBytes::Suppressed, ip: 0 }.put(&mut self.bytes);
    }
}
