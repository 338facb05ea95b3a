//! Explains user code of which an outlier ran more, or ran it more slowly, than its baselines.

use std::collections::BTreeMap;

use model::{Cause, Pid, Slower, Ticks};

use super::budget::Extra;
use super::front_end::{self, FrontEnd};
use super::inclusive::Whole;
use super::profile::{Baselines, Profile, SMALLEST, Typical, Use};
use crate::claims::lengths::tell_ns;
use crate::claims::strings::tell_strings;
use crate::examine::examined::Examined;
use crate::inputs::functions::Functions;
use crate::samples::front_end::samples::run_at;
use crate::tables::libraries::{called, is_unnamed, spoken};
use crate::walk::user_code::{ByAddress, NodeKey};
use crate::walk::user_runs::SIGNAL;

/// The inputs of the explanation.
pub(super) struct Story<'a> {
    pub(super) outlier: &'a Examined,
    pub(super) own: &'a Profile,
    pub(super) baselines: &'a Baselines,
    pub(super) twins: &'a ByAddress<NodeKey, Typical>,
    pub(super) extras: &'a ByAddress<NodeKey, Extra>,
    pub(super) front_end: FrontEnd,
    pub(super) inclusive: &'a ByAddress<NodeKey, Whole>,
    pub(super) functions: &'a dyn Functions,
}

impl Story<'_> {
    /// The node that the words for `node`'s extra work are about: calls that no baseline makes are one story with what they call.
    pub(super) fn subject(&self, node: NodeKey) -> NodeKey {
        if self.is_new(node) { self.topmost_new(node) } else { node }
    }

    fn is_new(&self, node: NodeKey) -> bool {
        !self.baselines.nodes.contains_key(&node)
    }

    /// Explains `node`'s time with `cause`, in a few words.
    pub(super) fn tell(&self, node: NodeKey, cause: &Cause) -> String {
        let told = self.tell_code(node, cause);
        self.strings(node).map_or_else(|| told.clone(), |strings| format!("{told}; {strings}"))
    }

    /// What of it passed in single string instructions.
    fn strings(&self, node: NodeKey) -> Option<String> {
        let Examined { strings, runs, conversion, .. } = self.outlier;
        let is_known = self.baselines.nodes.contains_key(&node);
        let top = if is_known { node } else { self.topmost_new(node) };
        let ticks =
            if is_known { self.own.get(&node).map_or(0, |used| used.ticks) } else { self.whole(top).ran.0 };
        let is_part = |of: NodeKey| if is_known { of == node } else { self.is_below(of, top) };
        let of_node = strings.iter().filter(|string| {
            run_at(runs, string.range.start).is_some_and(|run| !string.kernel && is_part(run.node))
        });
        tell_strings(of_node, Ticks(ticks), *conversion)
    }

    fn tell_code(&self, node: NodeKey, cause: &Cause) -> String {
        match cause {
            Cause::UserExtraWork if self.is_new(node) => self.new_call(self.topmost_new(node)),
            Cause::UserExtraWork => self.more_of_the_same(node),
            Cause::UserSlower(Slower::Frequency) => format!("{}; {}", self.slower(node), self.pace(node)),
            Cause::UserSlower(Slower::FrontEnd) => format!("{}; {}", self.slower(node), self.footprint()),
            Cause::UserSlower(Slower::Other) => match front_end::told(self.outlier, self.baselines) {
                Some(told) => format!("{}; {told}", self.slower(node)),
                None => self.slower(node),
            },
            _ => self.slower(node),
        }
    }

    /// `rehash() at table.c:88 called 1 time by insert(), 41.2 us, and 12.0 us in the kernel; typical 0`: including everything it
    /// called.
    fn new_call(&self, node: NodeKey) -> String {
        let used = self.own.get(&node).copied().unwrap_or_default();
        let Whole { ran, in_kernel, off_cpu } = self.whole(node);
        let mut time = self.length(ran);
        for (ticks, place) in [(in_kernel, "in the kernel"), (off_cpu, "off the CPU")] {
            if ticks >= SMALLEST {
                time = format!("{time}, and {} {place}", self.length(ticks));
            }
        }
        let called = match used.calls {
            // The flow begins inside it, or resumes in it.
            0 => "ran".to_owned(),
            calls => format!("called {}{}", times(calls), self.caller(node).unwrap_or_default()),
        };
        let known = self.outlier.code.nodes.get(&node);
        let entry = known.map_or(0, |node| node.start);
        let is_handler = known.is_some_and(|node| self.is_signal(node.parent));
        let handler = if is_handler { "signal handler " } else { "" };
        let signal = self.outlier.signals.get(&node).filter(|_| is_handler);
        let signal = signal.map_or_else(String::new, |signal| format!(" for {signal}"));
        let below = self.named_below(node).map_or_else(String::new, |below| format!("{below} below "));
        format!("{handler}{below}{}{signal} {called}, {time}; typical 0", self.place(node, entry))
    }

    /// `consume() called 12 times by work(); typical 2`, or which loop ran how often.
    fn more_of_the_same(&self, node: NodeKey) -> String {
        let used = self.own.get(&node).copied().unwrap_or_default();
        let typical = self.baselines.nodes.get(&node).copied().unwrap_or_default();
        if used.calls > typical.most_calls && typical.most_calls > 0 {
            let entry = self.outlier.code.nodes.get(&node).map_or(0, |node| node.start);
            return format!(
                "{} called {}{}; typical {}",
                self.place(node, entry),
                times(used.calls),
                self.caller(node).unwrap_or_default(),
                typical.mean.calls
            );
        }
        let Some(extra) = self.extras.get(&node) else { return self.slower(node) };
        let typical = match extra.typical_executions {
            0 => "typical 0".to_owned(),
            most => format!("typical up to {most}"),
        };
        let caller = self.caller(node).map_or_else(String::new, |by| format!(", called{by},"));
        format!("{}{caller} ran {}; {typical}", self.place(node, extra.block), times(extra.executions))
    }

    /// `consume: 13002 instructions, 12 calls; typical 12900 and 12`
    fn slower(&self, node: NodeKey) -> String {
        let own = self.own.get(&node).copied().unwrap_or_default();
        let typical = self.typical(node);
        let (calls, instructions) = (own.calls, own.instructions);
        let (usual_calls, usual) = (typical.calls, typical.instructions);
        let (what, calls) =
            (self.name(node), if calls == 1 { "1 call".into() } else { format!("{calls} calls") });
        format!("{what}: {instructions} instructions, {calls}; typical {usual} and {usual_calls}")
    }

    /// `core:bus ratio 10.0, typical 30.0`, or what the governor requested; both where each is known for a part.
    fn pace(&self, node: NodeKey) -> String {
        let own = self.own.get(&node).copied().unwrap_or_default();
        let typical = self.typical(node);
        let by_ratio = own.ratio.below(&typical.ratio).map(ratios);
        let by_governor = own.asked.below(&typical.asked).map(asked_frequencies);
        by_ratio.into_iter().chain(by_governor).collect::<Vec<_>>().join("; ")
    }

    /// Whether `node` is slower because of what the governor requested, at least in part.
    pub(super) fn is_told_by_governor(&self, node: NodeKey) -> bool {
        let asked = self.own.get(&node).map(|used| used.asked).unwrap_or_default();
        asked.below(&self.typical(node).asked).is_some()
    }

    /// What the baselines use of `node`, or of the same function under another caller.
    fn typical(&self, node: NodeKey) -> Use {
        let typical = self.baselines.nodes.get(&node).or_else(|| self.twins.get(&node));
        typical.map_or_else(Use::default, |typical| typical.mean)
    }

    /// How much code ran, beside the size of the core's caches.
    fn footprint(&self) -> String {
        let footprint = &self.outlier.code.footprint;
        let (lines, windows) = (footprint.lines(), footprint.windows());
        let uops = self.outlier.code.distinct_instructions();
        let caches = self
            .outlier
            .caches
            .map_or_else(|| "this CPU's caches are unknown".to_owned(), |caches| caches.to_string());
        let typical = self.baselines.most_lines;
        let told = front_end::told(self.outlier, self.baselines);
        let is_measured = self.front_end.measures(&Cause::UserSlower(Slower::FrontEnd));
        let inferred = (!is_measured).then(|| "slow where code runs for the first time".to_owned());
        let how: Vec<String> = inferred.into_iter().chain(told).collect();
        let how = how.join("; ");
        format!(
            "{how}; {lines} code lines (typical up to {typical}), {windows} windows, \
             about {uops} uops; {caches}"
        )
    }

    /// The outermost caller of `node` that no baseline has.
    fn topmost_new(&self, node: NodeKey) -> NodeKey {
        let callers = self.outlier.code.lineage(node).skip(1);
        let new = callers.take_while(|(caller, known)| {
            let is_new = self.own.contains_key(caller) && !self.baselines.nodes.contains_key(caller);
            is_new && &*known.function != SIGNAL
        });
        new.last().map_or(node, |(top, _)| top)
    }

    /// ` by insert()`: who called `node`, and ` below insert()` where functions without a name are between them, or it called itself, too.
    /// A signal's handler, and a function whose callers are not known or have no name, has none.
    fn caller(&self, node: NodeKey) -> Option<String> {
        let mut callers = self.outlier.code.lineage(node).skip(1).enumerate();
        let (at, (_, caller)) = callers.find(|(_, (_, caller))| !is_unnamed(&caller.function))?;
        let is_known = &*caller.function != SIGNAL && !caller.function.starts_with('[');
        let is_recursive = self.own.get(&node).is_some_and(|used| used.recursive);
        let how = if at == 0 && !is_recursive { "by" } else { "below" };
        is_known.then(|| format!(" {how} {}", called(&spoken(&caller.function))))
    }

    /// What the function `top`, which has no name, called: the outermost function with a name that had at least half of its time with
    /// all it called.
    fn named_below(&self, top: NodeKey) -> Option<String> {
        let known = self.outlier.code.nodes.get(&top)?;
        if !is_unnamed(&known.function) {
            return None;
        }
        let mut by_name: BTreeMap<&str, u64> = BTreeMap::new();
        for (node, used) in self.own {
            let mut outermost = None;
            let mut lineage = self.outlier.code.lineage(*node);
            let is_below = lineage.any(|(key, caller)| {
                let has_name = !is_unnamed(&caller.function) && !caller.function.starts_with('[');
                if has_name && &*caller.function != SIGNAL {
                    outermost = Some(&*caller.function);
                }
                key == top
            });
            if let Some(name) = outermost.filter(|_| is_below) {
                *by_name.entry(name).or_default() += used.ticks;
            }
        }
        let (name, ticks) = by_name.into_iter().max_by_key(|&(_, ticks)| ticks)?;
        (ticks >= self.whole(top).ran.0 / 2).then(|| called(&spoken(name)))
    }

    /// Whether `node` is the frame above a signal's handler.
    fn is_signal(&self, node: NodeKey) -> bool {
        self.outlier.code.nodes.get(&node).is_some_and(|node| &*node.function == SIGNAL)
    }

    /// The time of `node` with everything it called.
    fn whole(&self, node: NodeKey) -> Whole {
        self.inclusive.get(&node).copied().unwrap_or_default()
    }

    /// Whether `node` is `top`, or a part of what it called.
    fn is_below(&self, node: NodeKey, top: NodeKey) -> bool {
        node == top || self.outlier.code.lineage(node).any(|(caller, _)| caller == top)
    }

    fn name(&self, node: NodeKey) -> String {
        self.outlier
            .code
            .nodes
            .get(&node)
            .map_or_else(|| "[unknown]".to_owned(), |node| node.name().to_owned())
    }

    /// `rehash() at table.c:88`, without the line where no line table covers `address`.
    fn place(&self, node: NodeKey, address: u64) -> String {
        let thread = self.outlier.interval.stop_thread.or(self.outlier.interval.start_thread);
        let pid = thread.map_or(Pid::KERNEL, |thread| thread.pid);
        let line = self.functions.line_at(pid, address, self.outlier.interval.range.start);
        let name = self.name(node);
        let call = if name.ends_with([')', ']']) { name } else { called(&name) };
        line.map_or_else(|| call.clone(), |line| format!("{call} at {line}"))
    }

    /// In microseconds where the capture has a conversion of ticks to time.
    fn length(&self, ticks: Ticks) -> String {
        match self.outlier.conversion {
            Some(conversion) => tell_ns(conversion.ticks_to_ns(ticks)),
            None => format!("{} ticks", ticks.0),
        }
    }
}

/// Two averages of the core:bus ratio, in thousandths.
fn ratios((own, typical): (u64, u64)) -> String {
    let ratio = |milli: u64| format!("{}.{}", milli / 1000, milli % 1000 / 100);
    format!("core:bus ratio {}, typical {}", ratio(own), ratio(typical))
}

/// Two averages of frequencies, in hertz. The requested frequency may differ from the core's actual one.
fn asked_frequencies((own, typical): (u64, u64)) -> String {
    let gigahertz = |hertz: u64| {
        let megahertz = (hertz + 500_000) / 1_000_000;
        format!("{}.{:03} GHz", megahertz / 1000, megahertz % 1000)
    };
    format!("{} requested by the governor (cpu_frequency), typical {}", gigahertz(own), gigahertz(typical))
}

fn times(count: u64) -> String {
    if count == 1 { "1 time".into() } else { format!("{count} times") }
}
