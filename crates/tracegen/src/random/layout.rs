//! The code of a random program: regions of instructions, each with its target.
//!
//! Invariant: a region ends with an instruction that never goes on to the next one; no circle of direct jumps and calls
//! is without a branch that needs a packet.

use super::Code;
use super::encoding::{Form, Kind, forms};
use crate::dice::Dice;
use crate::instruction::Instruction;
use crate::packet::ExecMode;

/// An instruction, by its region's and its own number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Spot {
    pub(super) region: usize,
    pub(super) index: usize,
}

/// One instruction as it was laid out.
#[derive(Clone, Debug)]
pub(super) struct Placed {
    pub(super) ip: u64,
    form: Form,
    /// Where its direct branch leads.
    pub(super) target: Option<Spot>,
}

impl Placed {
    pub(super) fn kind(&self) -> Kind {
        self.form.kind
    }

    pub(super) fn length(&self) -> u8 {
        self.form.bytes.len() as u8 + self.form.displacement
    }

    pub(super) fn next(&self) -> u64 {
        self.ip + u64::from(self.length())
    }
}

/// Code of one mode and privilege.
#[derive(Clone, Debug)]
pub(super) struct Region {
    pub(super) bits: u8,
    pub(super) kernel: bool,
    pub(super) code: Vec<Placed>,
}

impl Region {
    pub(super) fn mode(&self) -> ExecMode {
        match self.bits {
            16 => ExecMode::Bits16,
            32 => ExecMode::Bits32,
            _ => ExecMode::Bits64,
        }
    }

    /// Whether near branches may lead from one to the other.
    pub(super) fn is_near(&self, other: &Region) -> bool {
        (self.bits, self.kernel) == (other.bits, other.kernel)
    }
}

/// All code.
#[derive(Clone, Debug)]
pub(super) struct Layout {
    pub(super) regions: Vec<Region>,
    /// The kernel returns with ERETU, ERETS and RSM, too.
    pub(super) has_event_returns: bool,
}

/// Base address, bits, kernel, and how many of a hundred programs have it. The first two are within reach of each other.
const REGIONS: [(u64, u8, bool, u64); 6] = [
    (0x40_0000, 64, false, 100),
    (0x60_0000, 64, false, 60),
    (0xffff_ffff_8100_0000, 64, true, 80),
    (0x7f12_3456_0000, 64, false, 30),
    (0x0804_8000, 32, false, 35),
    (0x7000, 16, false, 25),
];

/// Kinds that chance may choose in code, and how often. What a mode lacks is left out there.
const KINDS: [(Kind, u64); 23] = [
    (Kind::Plain, 220),
    (Kind::Conditional, 130),
    (Kind::Jump, 25),
    (Kind::Call, 40),
    (Kind::IndirectJump, 14),
    (Kind::IndirectCall, 20),
    (Kind::Return, 50),
    (Kind::PtWrite, 12),
    (Kind::PageTable, 10),
    (Kind::Mwait, 5),
    (Kind::Begin, 8),
    (Kind::Commit, 12),
    (Kind::Syscall, 10),
    (Kind::ToUser, 8),
    (Kind::Iret, 8),
    (Kind::Eretu, 3),
    (Kind::Erets, 3),
    (Kind::VmEntry, 4),
    (Kind::UserIret, 4),
    (Kind::Rsm, 1),
    (Kind::Far, 5),
    (Kind::SoftwareInterrupt, 4),
    (Kind::Fault, 3),
];

impl Layout {
    pub(super) fn new(dice: &mut Dice) -> Layout {
        let mut regions: Vec<Region> = Vec::new();
        let has_event_returns = dice.percent(15);
        for (base, bits, kernel, share) in REGIONS {
            if !dice.percent(share) {
                continue;
            }
            let base = base + dice.below(if bits == 16 { 0x100 } else { 0x2000 });
            let count = if dice.percent(10) { 600 } else { 10 + dice.index(120) };
            let code = place(dice, base, (bits, kernel), count, has_event_returns);
            regions.push(Region { bits, kernel, code });
        }
        let mut layout = Layout { regions, has_event_returns };
        layout.aim(dice);
        layout
    }

    pub(super) fn at(&self, spot: Spot) -> &Placed {
        &self.regions[spot.region].code[spot.index]
    }

    pub(super) fn region(&self, spot: Spot) -> &Region {
        &self.regions[spot.region]
    }

    /// A random instruction of the regions that `fits` takes, if there is one.
    pub(super) fn any(&self, dice: &mut Dice, fits: impl Fn(usize, &Region) -> bool) -> Option<Spot> {
        let regions: Vec<usize> =
            (0..self.regions.len()).filter(|&region| fits(region, &self.regions[region])).collect();
        if regions.is_empty() {
            return None;
        }
        let region = dice.one(&regions);
        Some(Spot { region, index: dice.index(self.regions[region].code.len()) })
    }

    /// The instruction for the encoder.
    pub(super) fn instruction(&self, spot: Spot) -> Instruction {
        let placed = self.at(spot);
        let target = placed.target.map_or(0, |target| self.at(target).ip);
        Instruction { ip: placed.ip, length: placed.length(), class: placed.kind().class(), target }
    }

    /// The bytes of each region.
    pub(super) fn code(&self) -> Vec<Code> {
        let mut all: Vec<Code> = self.regions.iter().map(|region| self.bytes_of(region)).collect();
        all.sort_by_key(|code| code.address);
        all
    }

    fn bytes_of(&self, region: &Region) -> Code {
        let address = region.code[0].ip;
        let (mut bytes, mut instructions) = (Vec::new(), Vec::new());
        for placed in &region.code {
            instructions.push((bytes.len() as u32, placed.length()));
            bytes.extend(placed.form.bytes);
            if let Some(target) = placed.target {
                let distance = self.at(target).ip.wrapping_sub(placed.next());
                bytes.extend(&distance.to_le_bytes()[..usize::from(placed.form.displacement)]);
            }
        }
        Code { address, bits: region.bits, bytes, instructions }
    }

    /// Gives each direct branch its target.
    fn aim(&mut self, dice: &mut Dice) {
        for region in 0..self.regions.len() {
            for index in 0..self.regions[region].code.len() {
                let spot = Spot { region, index };
                if self.at(spot).kind().is_direct() {
                    let target = self.target(dice, spot);
                    self.regions[region].code[index].target = Some(target);
                }
            }
        }
    }

    /// A target within reach, from which no way without packets leads back.
    fn target(&self, dice: &mut Dice, from: Spot) -> Spot {
        let region = self.region(from);
        for _ in 0..20 {
            // A short branch reaches what is near; a call of the next instruction reads its own address.
            let near = dice.percent(50) || self.at(from).form.displacement == 1;
            let spot = if near {
                let least = from.index.saturating_sub(20);
                let index = least + dice.index(region.code.len().min(from.index + 20) - least);
                Some(Spot { region: from.region, index })
            } else {
                self.any(dice, |_, other| other.is_near(region))
            };
            if let Some(spot) = spot.filter(|&spot| self.reaches(from, spot) && !self.leads_back(spot, from))
            {
                return spot;
            }
        }
        Spot { region: from.region, index: from.index + 1 }
    }

    fn reaches(&self, from: Spot, to: Spot) -> bool {
        let distance = self.at(to).ip.wrapping_sub(self.at(from).next()).cast_signed();
        match self.at(from).form.displacement {
            1 => i8::try_from(distance).is_ok(),
            2 => i16::try_from(distance).is_ok(),
            _ => i32::try_from(distance).is_ok(),
        }
    }

    /// Whether execution comes from `spot` to the direct jump or call at `goal` without any packet.
    fn leads_back(&self, mut spot: Spot, goal: Spot) -> bool {
        if self.at(goal).kind() == Kind::Conditional {
            return false;
        }
        loop {
            if spot == goal {
                return true;
            }
            let placed = self.at(spot);
            spot = match placed.kind() {
                Kind::Jump | Kind::Call => match placed.target {
                    Some(target) => target,
                    None => return false,
                },
                Kind::Plain | Kind::PtWrite | Kind::PageTable | Kind::Mwait | Kind::Begin | Kind::Commit => {
                    Spot { index: spot.index + 1, ..spot }
                }
                _ => return false,
            };
        }
    }
}

/// So many instructions from `base` on.
fn place(dice: &mut Dice, base: u64, mode: (u8, bool), count: usize, event_returns: bool) -> Vec<Placed> {
    let (bits, kernel) = mode;
    let mut known: Vec<(Kind, u64, Vec<Form>)> = Vec::new();
    for (kind, share) in KINDS {
        let forms = forms(kind, bits, kernel);
        let wanted = event_returns || !matches!(kind, Kind::Eretu | Kind::Erets | Kind::Rsm);
        if !forms.is_empty() && wanted {
            known.push((kind, share, forms));
        }
    }
    let total: u64 = known.iter().map(|(_, share, _)| share).sum();
    let mut code: Vec<Placed> = Vec::new();
    let mut ip = base;
    // Some code is long and straight: more than a decoder keeps as one block.
    let mut straight = 0;
    while code.len() < count || code.last().is_none_or(|last| last.kind().may_go_on()) {
        if straight == 0 && dice.percent(1) && bits != 16 {
            let most = if dice.percent(10) { 400 } else { 40 };
            straight = dice.index(most);
        }
        let mut chosen = if straight > 0 { 0 } else { dice.below(total) };
        straight = straight.saturating_sub(1);
        let found = known.iter().find(|(_, share, _)| {
            let found = chosen < *share;
            chosen = chosen.saturating_sub(*share);
            found
        });
        let Some((_, _, forms)) = found else { break };
        let placed = Placed { ip, form: dice.one(forms), target: None };
        ip = placed.next();
        code.push(placed);
    }
    // The last one: a jump of which a packet says where it goes.
    let form = dice.one(&forms(Kind::IndirectJump, bits, kernel));
    code.push(Placed { ip, form, target: None });
    code
}
