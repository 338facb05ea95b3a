//! The view of all outliers, and the population's counters.

use schemars::JsonSchema;
use serde::Serialize;

use super::lengths::LengthsTwin;
use super::numa::NumaViewTwin;
use super::words::{CauseWord, SideWord};
use super::{BinTwin, ModesTwin};
use crate::escape::bounded_for_json;
use crate::number::JsonNumber;
use crate::reasons::{Blame, Reason, Reasons};
use crate::view::{CauseShare, CounterView, DeviceView, IoShare, SplitView, Story, View, WaitView};

#[derive(Serialize, JsonSchema)]
#[schemars(rename = "view")]
pub(super) struct ViewTwin {
    causes: Vec<ShareTwin>,
    stories: Vec<StoryTwin>,
    reasons: ReasonsTwin,
    devices: Vec<DeviceTwin>,
    block_io: Option<IoTwin>,
    waits: Vec<WaitTwin>,
    numa: Option<NumaViewTwin>,
    nodes: Vec<String>,
    remarks: Vec<String>,
}

#[derive(Serialize, JsonSchema)]
#[schemars(rename = "cause_share")]
struct ShareTwin {
    cause: CauseWord,
    dominates: u64,
    outliers: u64,
    duration_ns: u64,
    excess_ns: u64,
    #[schemars(range(min = 0))]
    share: f64,
}

#[derive(Serialize, JsonSchema)]
#[schemars(rename = "story")]
struct StoryTwin {
    words: String,
    causes: Vec<CauseWord>,
    ids: Vec<u64>,
    excess_ns: u64,
    #[schemars(range(min = 0))]
    share: f64,
    shortest_ns: u64,
    longest_ns: u64,
}

#[derive(Serialize, JsonSchema)]
#[schemars(rename = "reasons")]
struct ReasonsTwin {
    explained: u64,
    outliers: u64,
    all: Vec<ReasonTwin>,
    smaller_ns: u64,
    #[schemars(range(min = 0))]
    smaller_share: f64,
}

#[derive(Serialize, JsonSchema)]
#[schemars(rename = "reason")]
struct ReasonTwin {
    cause: CauseWord,
    what: String,
    first: u64,
    outliers: u64,
    excess_ns: u64,
    #[schemars(range(min = 0))]
    share: f64,
    blamed: Vec<BlameTwin>,
}

#[derive(Serialize, JsonSchema)]
#[schemars(rename = "blame")]
struct BlameTwin {
    who: String,
    first: u64,
    excess_ns: u64,
}

#[derive(Serialize, JsonSchema)]
#[schemars(rename = "device_view")]
struct DeviceTwin {
    device: String,
    direction: String,
    accesses: LengthsTwin,
    histogram: Vec<BinTwin>,
    modes: Option<ModesTwin>,
    #[schemars(range(min = 0))]
    wait_share: f64,
}

#[derive(Serialize, JsonSchema)]
#[schemars(rename = "io_share")]
struct IoTwin {
    #[schemars(range(min = 0))]
    share: f64,
    #[schemars(range(min = 0))]
    slow_share: f64,
    #[schemars(range(min = 0))]
    fast_share: f64,
    #[schemars(range(min = 0))]
    others_share: f64,
}

#[derive(Serialize, JsonSchema)]
#[schemars(rename = "wait_view")]
struct WaitTwin {
    object: String,
    cause: CauseWord,
    fast: LengthsTwin,
    slow: LengthsTwin,
    #[schemars(range(min = 0))]
    fast_share: f64,
    #[schemars(range(min = 0))]
    slow_share: f64,
    modes: Option<ModesTwin>,
}

#[derive(Serialize, JsonSchema)]
#[schemars(rename = "counter_view")]
pub(super) struct CounterTwin {
    label: String,
    name: String,
    count: u64,
    rho: Option<f64>,
    confidence: Option<[f64; 2]>,
    #[schemars(range(min = 0))]
    p: Option<f64>,
    split: Option<SplitTwin>,
    significant: bool,
}

#[derive(Serialize, JsonSchema)]
#[schemars(rename = "split")]
struct SplitTwin {
    side: SideWord,
    #[schemars(with = "f64")]
    threshold: JsonNumber,
    slow_matched: u64,
    slow: u64,
    fast_matched: u64,
    fast: u64,
    #[schemars(range(min = 0))]
    p: f64,
}

impl ViewTwin {
    pub(super) fn new(view: &View) -> ViewTwin {
        let bounded = |texts: &[String]| texts.iter().map(|text| bounded_for_json(text)).collect();
        ViewTwin {
            causes: view.causes.iter().map(ShareTwin::new).collect(),
            stories: view.stories.iter().map(StoryTwin::new).collect(),
            reasons: ReasonsTwin::new(&view.reasons),
            devices: view.devices.iter().map(DeviceTwin::new).collect(),
            block_io: view.block_io.as_ref().map(IoTwin::new),
            waits: view.waits.iter().map(WaitTwin::new).collect(),
            numa: view.numa.as_ref().map(NumaViewTwin::new),
            nodes: bounded(&view.nodes()),
            remarks: bounded(&view.remarks),
        }
    }
}

impl ShareTwin {
    fn new(share: &CauseShare) -> ShareTwin {
        ShareTwin {
            cause: CauseWord::new(&share.cause),
            dominates: share.dominates,
            outliers: share.outliers,
            duration_ns: share.duration_ns,
            excess_ns: share.excess_ns,
            share: millionths(share.share),
        }
    }
}

impl StoryTwin {
    fn new(story: &Story) -> StoryTwin {
        StoryTwin {
            words: bounded_for_json(&story.words),
            causes: story.causes.iter().map(|cause| CauseWord::new(cause)).collect(),
            ids: story.ids.clone(),
            excess_ns: story.excess_ns,
            share: millionths(story.share),
            shortest_ns: story.shortest_ns,
            longest_ns: story.longest_ns,
        }
    }
}

impl ReasonsTwin {
    fn new(reasons: &Reasons) -> ReasonsTwin {
        ReasonsTwin {
            explained: reasons.explained,
            outliers: reasons.outliers,
            all: reasons.all.iter().map(ReasonTwin::new).collect(),
            smaller_ns: reasons.smaller_ns,
            smaller_share: millionths(reasons.smaller_share),
        }
    }
}

impl ReasonTwin {
    fn new(reason: &Reason) -> ReasonTwin {
        let blame = |blame: &Blame| BlameTwin {
            who: bounded_for_json(&blame.who),
            first: blame.first,
            excess_ns: blame.excess_ns,
        };
        ReasonTwin {
            cause: CauseWord::new(&reason.cause),
            what: bounded_for_json(&reason.what),
            first: reason.first,
            outliers: reason.outliers,
            excess_ns: reason.excess_ns,
            share: millionths(reason.share),
            blamed: reason.blamed.iter().map(blame).collect(),
        }
    }
}

impl DeviceTwin {
    fn new(device: &DeviceView) -> DeviceTwin {
        DeviceTwin {
            device: bounded_for_json(&device.device),
            direction: bounded_for_json(&device.direction),
            accesses: LengthsTwin::new(&device.accesses),
            histogram: device.histogram.iter().map(BinTwin::new).collect(),
            modes: device.modes.as_ref().map(ModesTwin::new),
            wait_share: millionths(device.wait_share),
        }
    }
}

impl IoTwin {
    fn new(io: &IoShare) -> IoTwin {
        IoTwin {
            share: millionths(io.share),
            slow_share: millionths(io.slow_share),
            fast_share: millionths(io.fast_share),
            others_share: millionths(io.others_share),
        }
    }
}

impl WaitTwin {
    fn new(wait: &WaitView) -> WaitTwin {
        WaitTwin {
            object: bounded_for_json(&wait.object),
            cause: CauseWord::new(&wait.cause),
            fast: LengthsTwin::new(&wait.fast),
            slow: LengthsTwin::new(&wait.slow),
            fast_share: millionths(wait.fast_share),
            slow_share: millionths(wait.slow_share),
            modes: wait.modes.as_ref().map(ModesTwin::new),
        }
    }
}

impl CounterTwin {
    pub(super) fn new(counter: &CounterView) -> CounterTwin {
        CounterTwin {
            label: bounded_for_json(&counter.label),
            name: bounded_for_json(&counter.name),
            count: counter.count,
            rho: counter.rho.map(millionths),
            confidence: counter.confidence.map(|(low, high)| [millionths(low), millionths(high)]),
            p: counter.p,
            split: counter.split.as_ref().map(SplitTwin::new),
            significant: counter.is_significant,
        }
    }
}

impl SplitTwin {
    fn new(split: &SplitView) -> SplitTwin {
        SplitTwin {
            side: if split.is_below { SideWord::Below } else { SideWord::Above },
            threshold: split.threshold.into(),
            slow_matched: split.slow_matched,
            slow: split.slow,
            fast_matched: split.fast_matched,
            fast: split.fast,
            p: split.p,
        }
    }
}

/// A share or coefficient to a millionth: more digits would only show how floating point was summed.
fn millionths(figure: f64) -> f64 {
    (figure * 1e6).round() / 1e6
}
