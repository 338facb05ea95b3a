//! From the arguments to what is asked of the analysis: option text becomes plain values.

use std::path::{Path, PathBuf};

use analysis::Request;
use analysis::request::{Code, Effort, Filters, Input, Server, Source};
use anyhow::Result;
use intervals::{EventPair, Selection};
use model::{PhaseKind, Pid, Tid};
use pt::EngineKind;

use super::{
    AnalysisArgs, CodeArgs, EffortArgs, Engine, EngineArgs, InputArgs, SelectionArgs, SourceArgs, StatArgs,
    text,
};

/// The environment variable that names the capture where no argument does.
const INPUT: &str = "TAILTRACE_INPUT";

/// What `-` means where a file is read from its beginning to its end.
pub(crate) const STDIN: &str = "/dev/stdin";

/// What `perf record` writes where no option names another file.
const USUAL_INPUT: &str = "perf.data";

impl AnalysisArgs {
    /// What they ask.
    pub(crate) fn request(&self) -> Result<Request> {
        let effort = Effort { baselines: self.effort.baselines, same_path: self.same_path };
        Ok(Request { effort, ..request(&self.input, &self.source, &self.selection)? })
    }
}

impl StatArgs {
    /// What they ask.
    pub(crate) fn request(&self) -> Result<Request> {
        request(&self.input, &self.source, &self.selection)
    }
}

impl InputArgs {
    /// The path that they name, or that is meant where they name none.
    pub(crate) fn path(&self) -> PathBuf {
        let named = self.capture.clone().or_else(|| self.input.clone());
        let by_environment =
            || Some(PathBuf::from(std::env::var_os(INPUT)?)).filter(|path| path != Path::new(""));
        named.or_else(by_environment).unwrap_or_else(|| USUAL_INPUT.into())
    }

    /// The capture that they name.
    pub(crate) fn request(&self) -> Input {
        Input {
            path: self.path(),
            code: self.code.request(),
            engine: self.engine.request(),
            cache: cache_folder(),
            account: None,
        }
    }
}

/// `tailtrace` in the user's cache folder (XDG Base Directory Specification): `$XDG_CACHE_HOME`, else `~/.cache`.
fn cache_folder() -> Option<PathBuf> {
    let set = |name| std::env::var_os(name).map(PathBuf::from).filter(|path| path.is_absolute());
    let caches = set("XDG_CACHE_HOME").or_else(|| Some(set("HOME")?.join(".cache")))?;
    Some(caches.join("tailtrace"))
}

impl CodeArgs {
    /// Where they say the code is.
    pub(crate) fn request(&self) -> Code {
        let CodeArgs { symfs, vmlinux, kallsyms, source, debuginfod } = self.clone();
        Code { symfs, vmlinux, kallsyms, source, debuginfod, ..Code::default() }
    }
}

impl EngineArgs {
    /// The engine that they name.
    pub(crate) fn request(self) -> Option<EngineKind> {
        self.engine.map(|engine| match engine {
            Engine::Libipt => EngineKind::Libipt,
            Engine::Native => EngineKind::Native,
        })
    }
}

impl EffortArgs {
    /// How many threads shall decode, where the arguments say so.
    pub(crate) fn threads(&self) -> Option<usize> {
        self.jobs.map(usize::from)
    }
}

fn request(input: &InputArgs, source: &SourceArgs, selection: &SelectionArgs) -> Result<Request> {
    Ok(Request {
        input: input.request(),
        source: source.request()?,
        filters: selection.filters()?,
        selection: selection.criteria()?,
        effort: Effort::default(),
        outputs: Vec::new(),
    })
}

impl SourceArgs {
    fn request(&self) -> Result<Option<Source>> {
        let SourceArgs { intervals, ptwrite, pt_regions, region_names, function, requests, .. } =
            self.clone();
        if let Some(path) = intervals {
            return Ok(Some(Source::File(if path == Path::new("-") { STDIN.into() } else { path })));
        }
        if let Some(pair) = self.pair()? {
            return Ok(Some(Source::Events(pair)));
        }
        if let Some(spec) = ptwrite {
            return Ok(Some(Source::Ptwrite(spec.parse()?)));
        }
        if pt_regions {
            return Ok(Some(Source::PtRegions(region_names)));
        }
        if !requests.is_empty() {
            return Ok(Some(Source::Requests(requests.iter().map(|text| Server::of(text)).collect())));
        }
        Ok(function.map(Source::Function))
    }

    /// The events that begin and end intervals and their phases, where they are given.
    fn pair(&self) -> Result<Option<EventPair>> {
        let (Some(begin), Some(end)) = (&self.begin, &self.end) else { return Ok(None) };
        let kinds =
            [(PhaseKind::Run, &self.run), (PhaseKind::Ready, &self.ready), (PhaseKind::Await, &self.r#await)];
        let mut phases = Vec::new();
        for (kind, event) in
            kinds.into_iter().flat_map(|(kind, events)| events.iter().map(move |event| (kind, event)))
        {
            phases.push((kind, event.parse()?));
        }
        Ok(Some(EventPair { begin: begin.parse()?, end: end.parse()?, key: self.key.clone(), phases }))
    }
}

impl SelectionArgs {
    fn filters(&self) -> Result<Filters> {
        Ok(Filters {
            times: text::times(self.time.as_deref())?,
            cpus: text::cpus(self.cpu.as_deref())?,
            pids: self.pid.iter().map(|&pid| Pid(pid)).collect(),
            tids: self.tid.iter().map(|&tid| Tid(tid)).collect(),
            comms: self.comm.clone(),
            labels: self.label.clone(),
        })
    }

    fn criteria(&self) -> Result<Selection> {
        Ok(Selection {
            top: self.top,
            over_ns: self.over.as_deref().map(text::duration_ns).transpose()?,
            percentile: self.percentile,
            mad: self.mad,
            slow_mode: self.slow_mode,
            ids: self.id.clone(),
        })
    }
}
