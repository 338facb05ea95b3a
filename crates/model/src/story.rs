//! What a headline needs of a segment, in parts: `Segment::detail` has the same and more in one sentence.

/// The part that another thread played in a segment.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Role {
    /// None, or it is not known.
    #[default]
    None,
    /// It held what was waited for.
    Holder,
    /// It ended the wait.
    Waker,
    /// It ran instead.
    Runner,
    /// It ran at the same time, on another CPU; whether the time is its doing is not known.
    Beside,
    /// It sent the interrupt.
    Sender,
    /// It most likely did, as no record says who sent it.
    LikelySender,
}

/// What a thread did for a request at a time of the wait for its answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum Part {
    /// It was ready to run and did not.
    NotRun,
    /// It worked for others.
    OthersFirst,
    /// It waited itself, with requests to serve.
    Waits,
    /// It worked for this request.
    OwnWork,
    /// The request was on its way, or the thread was looking for the next one.
    Between,
}

impl Part {
    /// Its name in reports.
    pub fn name(self) -> &'static str {
        match self {
            Part::NotRun => "not-run",
            Part::OthersFirst => "others-first",
            Part::Waits => "waits",
            Part::OwnWork => "own-work",
            Part::Between => "between",
        }
    }
}

/// How often samples of some time lay in a function: it is inferred that it ran there, for a sample stands for the time around it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SampledFunction {
    /// Its name, as `main()`.
    pub function: String,
    /// How many samples.
    pub samples: u64,
}

/// Who did what to which object, and where. Each part is empty where it is not known.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Story {
    /// What was waited for or used: `mutex`, `data in a pipe`, `TCP socket`.
    pub object: String,
    /// The code whose time it is, called or made to wait: the innermost function that belongs to no library, with its source line
    /// where that is known, as `worker() lock.c:107`.
    pub place: String,
    /// The program's own functions that had called the one of `place`, innermost first, `audit() < serve()`: where the thread was taken off its
    /// CPU, and of a spin-wait loop.
    pub callers: String,
    /// The library's function that it had called, where that took the time: `memcpy()`.
    pub through: String,
    /// The other thread, or the interrupt, by name.
    pub by: String,
    /// The other threads that had a good part of the CPU's time besides that one, those with the most first.
    pub besides: Vec<String>,
    /// The part that it played.
    pub role: Role,
    /// Where it was when it ended the wait, as `place`; of a thread that had the CPU: the function that had most of its user code then;
    /// of a sender: its system call.
    pub by_place: String,
    /// The worker that ran the interval's task then; empty where the interval is no task's, and where no thread ran it.
    pub worker: String,
    /// Whether it is the time of a task that no thread ran.
    pub is_not_run: bool,
    /// Below a wait for an answer: what it was for the request.
    pub part: Option<Part>,
    /// Whether it read the request in this time.
    pub takes: bool,
    /// Whether no typical interval runs the function that `place` names.
    pub unusual: bool,
    /// Without a trace: the functions of the stay on the CPU that this is a part of, by its samples, those with the most first.
    pub sampled: Vec<SampledFunction>,
}
