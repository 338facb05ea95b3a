//! A random walk over the code: which instructions ran, what happened between them, and the packets of both.
//!
//! Invariant: what is in the list can be known from the packets, and all that can be known from them is in the list: where
//! packets are lost, it ends with the last instruction that an earlier packet shows.

mod events;
mod steps;

use super::layout::{Layout, Spot};
use super::{Beyond, Happened, Program};
use crate::dice::Dice;
use crate::encoder::{Addresses, Encoder, Settings};

/// What is traced.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Filter {
    All,
    /// What runs outside of the kernel.
    User,
    Kernel,
    /// The region with this number, by its addresses.
    Region(usize),
}

/// A walk in progress.
#[allow(clippy::struct_excessive_bools, reason = "each is a fact of its own")]
struct Walk {
    dice: Dice,
    layout: Layout,
    encoder: Encoder,
    settings: Settings,
    filter: Filter,
    tsc: u64,
    /// The next instruction, while tracing is on.
    at: Spot,
    /// Where tracing may resume.
    resume: Spot,
    calls: Vec<Spot>,
    interrupted: Vec<Spot>,
    in_transaction: bool,
    /// PTWRITEs are written, and page tables.
    ptwrites: bool,
    page_tables: bool,
    triggers: bool,
    /// How often of a thousand instructions something happens before one.
    unrest: u64,
    happened: Vec<(u64, Happened)>,
    /// How much of it packets show that were written.
    shown: usize,
    unbound: Vec<u64>,
    /// What the last packet that shows something was.
    last: Last,
    beyond_libipt: Vec<Beyond>,
}

/// A packet that shows what ran.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Last {
    /// A branch, or an event of its own.
    Plain,
    /// MOV CR3 ran, and no such packet came since.
    PageTable,
    /// A FUP with MODE.Exec.
    Mask,
}

/// Walks over `layout`.
pub(super) fn execute(layout: Layout, mut dice: Dice) -> Program {
    let settings = settings(&mut dice);
    let filter = filter(&mut dice, &layout);
    let mut encoder = Encoder::new(settings);
    if dice.percent(15) {
        encoder.defer_targets();
    }
    let (at, unrest) = (Spot { region: 0, index: 0 }, dice.one(&[2, 15, 60]));
    let (ptwrites, page_tables, triggers) = (dice.percent(70), dice.percent(80), dice.percent(5));
    let mut walk = Walk {
        dice,
        layout,
        encoder,
        settings,
        filter,
        tsc: 1 << 32,
        at,
        resume: at,
        calls: Vec::new(),
        interrupted: Vec::new(),
        in_transaction: false,
        ptwrites,
        page_tables,
        triggers,
        unrest,
        happened: Vec::new(),
        shown: 0,
        unbound: Vec::new(),
        last: Last::Plain,
        beyond_libipt: Vec::new(),
    };
    walk.run();
    let Walk { layout, encoder, happened, unbound, beyond_libipt, .. } = walk;
    let (trace, _) = encoder.finish();
    let has_exact_times = settings.tsc_denominator == 1 && settings.cycles && settings.ratios;
    Program { settings, code: layout.code(), trace, happened, unbound, beyond_libipt, has_exact_times }
}

fn settings(dice: &mut Dice) -> Settings {
    let (tsc_numerator, tsc_denominator) = dice.one(&[(100, 1), (100, 1), (84, 1), (216, 1), (125, 3)]);
    Settings {
        return_compression: dice.percent(80),
        cycles: dice.percent(75),
        mtc_period: dice.percent(75).then_some(dice.one(&[0, 3, 6])),
        tsc_numerator,
        tsc_denominator,
        psb_bytes: dice.one(&[100, 300, 2048]),
        ratios: dice.percent(90),
        tsc_ratio: 25,
        long_tnt: dice.percent(25),
        addresses: dice.one(&[Addresses::Short, Addresses::Wide, Addresses::Full]),
        event_trace: dice.percent(30),
        event_addresses: dice.percent(60),
    }
}

fn filter(dice: &mut Dice, layout: &Layout) -> Filter {
    let has_kernel = layout.regions.iter().any(|region| region.kernel);
    match dice.below(10) {
        0..=4 => Filter::All,
        5 | 6 => Filter::User,
        7 if has_kernel => Filter::Kernel,
        8 => Filter::Region(dice.index(layout.regions.len())),
        _ => Filter::Region(0),
    }
}

impl Walk {
    fn run(&mut self) {
        let steps = 200 + self.dice.below(2000);
        self.encoder.switch_on(self.tsc);
        for _ in 0..steps {
            if !self.encoder.is_enabled() {
                self.rest();
            }
            if self.dice.below(1000) < self.unrest {
                self.interrupt_flow();
            } else {
                self.step();
            }
            if self.encoder.is_enabled() && !self.in_transaction {
                self.sync();
            }
        }
        if self.encoder.is_enabled() {
            self.stop();
        }
        self.encoder.flush_tnt();
    }

    /// Time goes on by what an instruction takes.
    fn spend(&mut self) {
        let ticks = match self.dice.below(100) {
            0..10 => 0,
            10..90 => 1 + self.dice.below(20),
            90..99 => self.dice.below(500),
            _ => self.dice.below(100_000),
        };
        self.tsc += ticks;
    }

    fn ip(&self, spot: Spot) -> u64 {
        self.layout.at(spot).ip
    }

    fn is_traced(&self, spot: Spot) -> bool {
        let region = self.layout.region(spot);
        match self.filter {
            Filter::All => true,
            Filter::User => !region.kernel,
            Filter::Kernel => region.kernel,
            Filter::Region(number) => spot.region == number,
        }
    }

    fn log(&mut self, happened: Happened) {
        self.happened.push((self.tsc, happened));
    }

    /// Packets show all that happened so far.
    fn show(&mut self) {
        (self.shown, self.last) = (self.happened.len(), Last::Plain);
    }

    /// libipt's engine need not be exact in this program.
    fn goes_beyond(&mut self, what: Beyond) {
        if !self.beyond_libipt.contains(&what) {
            self.beyond_libipt.push(what);
        }
    }

    /// A PSB, if one is due.
    fn sync(&mut self) {
        let before = self.encoder.sync_points().len();
        let ip = self.ip(self.at);
        self.encoder.psb_if_due(ip);
        if self.encoder.sync_points().len() != before {
            self.show();
        }
    }
}
