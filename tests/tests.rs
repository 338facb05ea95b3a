//! Tests of the whole: the binary on captures, and the house rules.
//!
//! * `checks`: the report on a capture that lacks something, and on how it was made.
//! * `composition`: what all intervals are made of, against the causes in the emulator's log.
//! * `dependencies`: each direct dependency is explained in `docs/dependencies.md`.
//! * `diff`: two captures against each other.
//! * `engines`: both engines on the same captures and scenarios.
//! * `doctor`: `doctor` on made-up machines and on this one.
//! * `documents`: the files that the documents name are there.
//! * `examples`: what the help shows runs as it stands.
//! * `expect`: figures against limits, for continuous integration.
//! * `fleet`: tables of captures against their reports, read by `DuckDB`.
//! * `function_calls`: the calls of a function by both engines, of which one gives all blocks.
//! * `generated`: help, completions, man pages, the header of marks, the progress bar.
//! * `guests`: recordings without Intel PT of a guest, against what its program injected.
//! * `hostile`: names from strangers in a capture, through every format.
//! * `inputs`: captures and bundles named in any way, stdout as a file, colours and notes.
//! * `kernel_calls`: the kernel's functions add up to the causes that they lie below.
//! * `kept_calls`: the calls of a function that were found are kept for the next run, and of a bundle none.
//! * `layering`: which crate may import which.
//! * `marked_spans`: spans that other tools write, against marks around them on the same recording of this machine.
//! * `no_pt`: a real recording of this machine, by `record` without Intel PT, against what its program planted.
//! * `numa`: nodes of threads, devices and memory; names of devices.
//! * `verdicts`: injected causes are named, with their time, in the emulated captures.
//! * `instructions`: `dump --insns` against other decoders and against the emulator's own log.
//! * `ptwrite_snapshots`: snapshots of a program that marks in its trace alone.
//! * `requests`: the requests of a server by its system calls, against its client and perf.
//! * `recording`: `record` with a perf of the test's own.
//! * `records`: `dump --records` against perf.
//! * `schema`: JSON against its schemas.
//! * `scenarios`: hand-made captures, code patched at run time among them.
//! * `score`: verdicts against known truth, on all stored captures.
//! * `code`: the code that took longest is counted and timed.
//! * `contract`: exit codes, formats, options, bad input.
//! * `bundled_code`: debug files and kernels that a bundle brings along.
//! * `bundled_snapshots`: the bundles of a real recording of this machine that goes on.
//! * `delivered_snapshots`: such bundles on their way: delivered, too many, on a full disk, and of a recorder that was killed.
//! * `bundles`: a bundle against its recording, what redaction leaves, and bundles from strangers.
//! * `slices`: a slice against its recording, by our report and by perf's instructions.
//! * `snapshots`: a real recording of this machine that keeps only what was slow.
//! * `span_sources`: the spans that Go and the JDK write, recorded here, against the clocks that their programs read.
//! * `span_threads`: spans without a thread, by uprobes and PTWRITEs with their ids, against markers of the same intervals.
//! * `spans`: OTLP JSON and trace events against the interval file of the same capture.
//! * `start_pages`: the commands of the pages from a program to a report, run as they stand.
//! * `streams`: captures written to a pipe, against the same in a file.
//! * `robustness`: bad input of every kind.
//! * `packages`: the crates are fit to publish: texts inside, captures outside.
//! * `pt_regions`: regions of the ITT API in the trace, against the interval file.
//! * `ptwrite`: marks in the trace that branches spell, against perf; what they mean lies beside the capture.
//! * `perfetto`: the Perfetto export against perf's switches and wake-ups.
//! * `random_programs`: programs whose execution is known by construction, through both engines.
//! * `readme`: the README shows what the tool prints.
//! * `traced_events`: a CTF trace of `LTTng` beside a recording of this machine, against marks around its events.
//! * `traced_snapshots`: the same with Intel PT, with a perf that plays emulated captures back.
//! * `tui`: the drilldown in a real terminal.
//! * `variants`: the same intervals with the kernel untraced, and with no trace at all.
//! * `words`: plain English in documents, strings and comments.

mod bundled_code;
mod bundled_snapshots;
mod bundles;
mod captures;
mod checks;
mod code;
mod collectors;
mod composition;
mod contract;
mod delivered_snapshots;
mod dependencies;
mod diff;
mod doctor;
mod documents;
mod engines;
mod event_pairs;
mod examples;
mod expect;
mod fleet;
mod function_calls;
mod generated;
mod guests;
mod headlines;
mod hostile;
mod inputs;
mod instructions;
mod kept_calls;
mod kernel_calls;
mod languages;
mod layering;
mod marked_spans;
mod no_pt;
mod numa;
mod of_one_program;
mod packages;
mod perfetto;
mod pt_regions;
mod ptwrite;
mod ptwrite_snapshots;
mod random_programs;
mod readme;
mod recorded_code;
mod recording;
mod records;
mod requests;
mod robustness;
mod same_path;
mod scenarios;
mod schema;
mod score;
mod slices;
mod snapshots;
mod span_sources;
mod span_threads;
mod spans;
mod start_pages;
mod stories;
mod streams;
mod tasks;
mod traced_events;
mod traced_snapshots;
mod tui;
mod variants;
mod verdicts;
mod words;
