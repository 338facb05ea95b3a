//! Any bytes as a perf.data: open it and look at everything.
#![no_main]

use std::path::Path;

use libfuzzer_sys::fuzz_target;
use perfdata::PerfData;

fuzz_target!(|bytes: &[u8]| {
    let Ok(perf_data) = PerfData::from_bytes(Path::new("fuzz"), bytes.to_vec()) else { return };
    for record in perf_data.records() {
        if let perfdata::Record::Sample(sample) = &record.record {
            let fields = sample.format().map_or(&[][..], |format| format.fields());
            for field in fields {
                let _ = sample.raw().and_then(|raw| field.value(raw));
            }
            let _ = sample.callchain_addresses().count();
            let _ = sample.read().map(|read| read.counters().count());
            let _ = sample.weight().and_then(perfdata::Weight::retire_latency);
        }
    }
    for buffer in perf_data.aux_buffers() {
        let _ = perf_data.aux_bytes(buffer);
    }
    for sample in perf_data.aux_samples() {
        let _ = perf_data.aux_sample_bytes(sample);
    }
    let _ = (perf_data.map_events(), perf_data.loss(), perf_data.thread_names(), perf_data.schedule());
});
