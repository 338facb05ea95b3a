//! AUX buffers against `perf script -D`, and the facts of the PT setup.

use tailtrace_perfdata::PerfData;

use crate::captures;

#[test]
fn aux_buffers_equal_perf_script_dump() {
    for capture in captures::with_pt() {
        let text = captures::dump(&capture);
        let perf_data = PerfData::open(&capture).expect("opens");
        let place = capture.display();
        let printed: Vec<&str> =
            text.lines().filter(|line| line.contains("PERF_RECORD_AUXTRACE size:")).collect();
        assert!(!printed.is_empty() && printed.len() == perf_data.aux_buffers().len(), "{place}");
        for (line, buffer) in printed.iter().zip(perf_data.aux_buffers()) {
            let all_ones = u64::from(u32::MAX);
            let tid = buffer.tid.map_or(all_ones, |tid| u64::try_from(tid.0).expect("no negative number"));
            let cpu = buffer.cpu.map_or(all_ones, |cpu| u64::from(cpu.0));
            assert!(line.contains(&format!(" {:#x} [", buffer.record_offset.0)), "{place}: {line}");
            for (name, value) in [
                ("size", buffer.size),
                ("offset", buffer.aux_offset),
                ("ref", buffer.reference),
                ("idx", u64::from(buffer.idx)),
                ("tid", tid),
                ("cpu", cpu),
            ] {
                assert_eq!(number_after(line, name), value, "{place}: {name} in {line}");
            }
            assert_eq!(buffer.file_offset.0, buffer.record_offset.0 + 48, "{place}");
            assert_eq!(perf_data.aux_bytes(buffer).len() as u64, buffer.size, "{place}");
        }
        // Somewhere in the first buffer stands a PSB.
        let first = perf_data.aux_bytes(&perf_data.aux_buffers()[0]);
        let psb = [0x02, 0x82].repeat(8);
        assert!(first.windows(16).any(|window| window == psb), "{place}: no PSB");
    }
}

#[test]
fn setup_equals_perf_script_dump() {
    for capture in captures::with_pt() {
        let text = captures::dump(&capture);
        let perf_data = PerfData::open(&capture).expect("opens");
        let place = capture.display();
        let setup = perf_data.intel_pt().expect("Intel PT");
        let printed = |name: &str| {
            let line = text.lines().find(|line| line.trim_start().starts_with(name)).unwrap_or_default();
            let value = line.trim_start()[name.len()..].trim();
            value
                .strip_prefix("0x")
                .map_or_else(|| value.parse().unwrap_or(0), |hex| u64::from_str_radix(hex, 16).unwrap_or(0))
        };
        assert_eq!(u64::from(setup.pmu_type), printed("PMU Type"), "{place}");
        assert_eq!(setup.tsc_bit, printed("TSC bit"), "{place}");
        assert_eq!(setup.noretcomp_bit, printed("NoRETComp bit"), "{place}");
        assert_eq!(setup.have_sched_switch, printed("Have sched_switch"), "{place}");
        assert_eq!(u64::from(setup.snapshot_mode), printed("Snapshot mode"), "{place}");
        assert_eq!(u64::from(setup.per_cpu_mmaps), printed("Per-cpu maps"), "{place}");
        assert_eq!(setup.mtc_bit, printed("MTC bit"), "{place}");
        assert_eq!(setup.mtc_freq_bits, printed("MTC freq bits"), "{place}");
        assert_eq!(u64::from(setup.tsc_ctc_ratio_n), printed("TSC:CTC numerator"), "{place}");
        assert_eq!(u64::from(setup.tsc_ctc_ratio_d), printed("TSC:CTC denominator"), "{place}");
        assert_eq!(setup.cyc_bit, printed("CYC bit"), "{place}");
        assert_eq!(u64::from(setup.max_nonturbo_ratio), printed("Max non-turbo ratio"), "{place}");
        assert_eq!(u64::from(setup.cap_user_time_zero), printed("Cap Time Zero"), "{place}");
        let (shift, mult, zero) = (printed("Time Shift"), printed("Time Muliplier"), printed("Time Zero"));
        let expected = u32::try_from(mult)
            .ok()
            .and_then(|mult| model::TimeConversion::new(u16::try_from(shift).ok()?, mult, zero));
        let expected = expected.filter(|_| setup.cap_user_time_zero);
        assert_eq!(perf_data.time_conversion(), expected, "{place}");
        assert_eq!(perf_data.diagnostics().is_empty(), expected.is_some(), "{place}");
    }
}

/// The number after `name: ` in a line of the dump; -1 is printed for all ones.
fn number_after(line: &str, name: &str) -> u64 {
    let value = line.split_once(&format!(" {name}: ")).expect("named").1;
    let value = value.split_whitespace().next().expect("a number");
    match value.strip_prefix("0x") {
        Some(hex) => u64::from_str_radix(hex, 16).expect("hexadecimal"),
        None if value == "-1" => u64::from(u32::MAX),
        None => value.parse().expect("decimal"),
    }
}
