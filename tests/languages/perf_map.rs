//! The perf map that .NET writes with `COMPlus_PerfMapEnabled` (`DOTNET_PerfMapEnabled` since .NET 6) names code that it made at run time.

use std::fs;
use std::io::{BufRead as _, BufReader};
use std::ops::Range;
use std::path::Path;
use std::process::{Command, Stdio};

use model::{MapEvent, Mapping, Pid, Tsc};
use symbols::{ProcessImages, SearchPath};

use super::programs::{dotnet, prices_of_dotnet};

const AT: Tsc = Tsc(10);

/// What a line of the map says: `START SIZE NAME`, the numbers in hexadecimal.
fn line(line: &str) -> Option<(Range<u64>, &str)> {
    let mut words = line.splitn(3, ' ');
    let mut number = || u64::from_str_radix(words.next()?, 16).ok();
    let (start, size) = (number()?, number()?);
    Some((start..start + size, words.next()?))
}

#[test]
fn the_perf_map_of_dotnet_names_its_methods() {
    let folder = tempfile::tempdir().expect("a folder");
    let program = prices_of_dotnet(folder.path());
    let mut runtime = Command::new(dotnet());
    runtime.arg(program).env("COMPlus_PerfMapEnabled", "1").stdin(Stdio::piped()).stdout(Stdio::piped());
    let mut runtime = runtime.spawn().expect(".NET runs");
    let output = BufReader::new(runtime.stdout.take().expect("its output"));
    assert!(output.lines().map_while(Result::ok).any(|line| line == "compiled"));
    let pid = Pid(i32::try_from(runtime.id()).expect("a PID"));
    drop(runtime.stdin.take());
    assert!(runtime.wait().expect("ended").success());
    let name = format!("tmp/perf-{pid}.map");
    let map = fs::read_to_string(Path::new("/").join(&name)).expect("the map");
    let _ = fs::remove_file(Path::new("/").join(&name));
    let _ = fs::remove_file(format!("/tmp/perfinfo-{pid}.map"));
    fs::create_dir(folder.path().join("tmp")).expect("made");
    fs::write(folder.path().join(&name), &map).expect("written");

    let of_price: Vec<Range<u64>> = map
        .lines()
        .filter_map(line)
        .filter(|(_, name)| name.contains("Prices::Price("))
        .map(|(at, _)| at)
        .collect();
    let (Some(first), Some(last)) =
        (of_price.iter().map(|at| at.start).min(), of_price.iter().map(|at| at.end).max())
    else {
        panic!("{map}");
    };
    let range = first & !0xfff..last.next_multiple_of(0x1000);
    let mapping =
        Mapping { pid, range, file_offset: 0, path: "//anon".to_owned(), build_id: None, inode: None };
    let search = SearchPath { symfs: Some(folder.path().to_owned()), ..SearchPath::default() };
    let images = ProcessImages::new(search, vec![(AT, MapEvent::Map(mapping))], Vec::new());
    // It was compiled again when it had run for long; both are there, without types and how they were compiled.
    for at in of_price {
        for address in [at.start, at.start + 1, at.end - 1] {
            let found = images.function_at(pid, address, AT).map(|found| found.name.to_string());
            assert_eq!(found.as_deref(), Some("Prices::Price"), "{address:x} in {map}");
        }
    }
}
