//! A capture of which only the records are used.

use model::{ThreadId, Ticks, TimeConversion, Tsc};
use perfdata::{AskedFrequencies, Pauses, Schedule};

use crate::inputs::comms::Comms;
use crate::inputs::files::Files;
use crate::inputs::functions::Functions;
use crate::inputs::queues::Queues;
use crate::inputs::scene::Scene;
use crate::records::sideband::Sideband;

/// Names no thread: the reader of a population does.
struct Nameless;

impl Comms for Nameless {
    fn comm(&self, _: ThreadId, _: Tsc) -> String {
        String::new()
    }
}

/// Runs `work` on what is known without a flow; the caller reads the records.
pub(super) fn with_scene<T>(
    schedule: &Schedule,
    conversion: TimeConversion,
    functions: &dyn Functions,
    files: &dyn Files,
    work: impl FnOnce(&Scene<'_>) -> T,
) -> T {
    work(&Scene {
        records: &|_| Sideband::default(),
        samples: None,
        schedule,
        frequencies: &AskedFrequencies::default(),
        pauses: &Pauses::default(),
        conversion: Some(conversion),
        functions,
        comms: &Nameless,
        files,
        queues: &Queues::default(),
        kernel_traced: false,
        threads_traced: false,
        switches_recorded: schedule.tells_switches(),
        sees_all_cpus: true,
        stall_threshold: Ticks(0),
        caches: None,
    })
}
