//! Examples for the help of each command: what people paste first.

pub(crate) const ALL: &str = "\
Examples:
  tailtrace stat    -i perf.data --intervals intervals.csv
  tailtrace explain -i perf.data --intervals intervals.csv --top 3
  tailtrace explain -i perf.data --begin probe_app:start --end probe_app:stop --key id --over 50us
  tailtrace explain -i perf.data --ptwrite id=40..63,ticks=0..39 --format markdown
  tailtrace diff    before.data after.data --intervals before.csv --intervals-b after.csv
  tailtrace tui     -i perf.data --intervals intervals.csv
  tailtrace dump    -i perf.data --insns --cpu 1 --time 12.5,12.6

Each command's --help has more.";

pub(crate) const RECORD: &str = "\
Examples:
  tailtrace record -- ./program                                 # all of the machine, while it runs
  tailtrace record --preset standard -- ./program               # with system calls and page faults
  tailtrace record --no-pt -- ./program                         # as on a machine without Intel PT
  tailtrace record --no-pt --snapshot-over 1ms -o slow -- ./program   # only what took longer
  tailtrace record --no-pt --snapshot-over 5ms -o rings --bundle-to bundles -- ./program
  tailtrace record --resume app:begin --pause app:end -- ./program   # a trace between these
  tailtrace record -o slow.data -e 'block:*' -- ./program       # with more events
  tailtrace record --dry-run -- ./program                       # only prints perf's command line
  tailtrace record --machine-only -o perf.data                  # for a recording made without it";

pub(crate) const DOCTOR: &str = "\
Examples:
  tailtrace doctor                                              # before the first recording
  tailtrace doctor -o slow.data --preset full                   # where it will be written, and what
  tailtrace doctor --trial                                      # while the program runs
  tailtrace doctor --format json | jq .can_record";

pub(crate) const SLICE: &str = "\
Examples:
  tailtrace slice -i perf.data --intervals intervals.csv --id 23 -o slow.data
  tailtrace slice -i perf.data --intervals intervals.csv --top 3 -o slow.data";

pub(crate) const BUNDLE: &str = "\
Examples:
  tailtrace bundle -i perf.data --intervals intervals.csv --id 23 -o slow.tar.zst
  tailtrace bundle -i perf.data --intervals intervals.csv --top 1 --redact --no-binaries -o slow";

pub(crate) const STAT: &str = "\
Examples:
  tailtrace stat -i perf.data --intervals intervals.csv
  tailtrace stat --function handle_order                        # every call in the trace
  tailtrace stat --intervals intervals.csv --causes             # what makes the tail slow
  tailtrace stat --intervals intervals.csv --cpu 2,3 --format json | jq .population.percentiles
  tailtrace stat --intervals intervals.csv --expect 'p99 < 2ms' --expect 'share(offcpu.lock) < 5%'";

pub(crate) const EXPLAIN: &str = "\
Examples:
  tailtrace explain --intervals intervals.csv                   # the outliers, at most ten
  tailtrace explain --intervals intervals.csv --id 4711         # this one
  tailtrace explain --intervals intervals.csv --top 20 --html ticket.html
  tailtrace explain --begin probe_app:start --end probe_app:stop --key id --over 50us
  tailtrace explain -i perf.data --symfs ./rootfs -k vmlinux --ptwrite id=40..63,ticks=0..39
  tailtrace explain --intervals intervals.csv --format markdown | wl-copy";

pub(crate) const TUI: &str = "\
Examples:
  tailtrace tui --intervals intervals.csv                       # ? shows the keys
  tailtrace tui --intervals intervals.csv --label order --over 50us";

pub(crate) const EXPORT: &str = "\
Examples:
  tailtrace export --intervals intervals.csv --to perfetto -o slow.pftrace # ui.perfetto.dev
  tailtrace export --intervals intervals.csv --to firefox -o slow.json    # profiler.firefox.com
  tailtrace export --intervals intervals.csv --top 1 --to folded -o slow.folded
  tailtrace export --intervals intervals.csv --over 1ms --to csv -o segments.csv";

pub(crate) const DIFF: &str = "\
Examples:
  tailtrace diff before.data after.data --intervals before.csv --intervals-b after.csv
  tailtrace diff fast.data slow.data --begin probe_app:start --end probe_app:stop --key id
  tailtrace diff fast.data slow.data --function handle_order --symfs fast-root --symfs-b slow-root
  tailtrace diff before.data after.data --function handle_order --format html > difference.html
  tailtrace diff before.data after.data --function handle_order --expect 'p99 <= 1.05x'";

pub(crate) const FLEET: &str = "\
Examples:
  tailtrace fleet ingest bundles/ -o tables                     # again: only what is new
  tailtrace fleet rows slow.tar.zst | jq -r 'select(.table == \"causes\") | .row.chain'
  tailtrace fleet compact tables";

pub(crate) const DUMP: &str = "\
Examples:
  tailtrace dump --records                                      # as perf report --stats
  tailtrace dump --count                                        # instructions per CPU
  tailtrace dump --insns --cpu 1 --time 12.5,12.6 | head";

pub(crate) const GENERATE: &str = "\
Examples:
  tailtrace generate completions bash > ~/.local/share/bash-completion/completions/tailtrace
  tailtrace generate completions zsh > \"${fpath[1]}/_tailtrace\"
  tailtrace generate man -o ~/.local/share/man/man1
  tailtrace generate schema report > tailtrace-report-1.json
  tailtrace generate header -o tailtrace.h                      # for C and C++: marks intervals";
