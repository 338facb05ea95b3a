//! Words that an English-speaking engineer must translate back, and what perf, the kernel and the Intel SDM say instead.

/// Spellings of one word or phrase, in lower case, and the standard term.
pub(super) const WORDS: &[(&[&str], &str)] = &[
    (&["behind"], "after, following; or add a sentence to RIGHT where something is queued or runs first"),
    (&["tell", "tells", "told", "untold"], "report, show, record, name; distinguish; known"),
    (&["surely"], "leave it out, or give the reason"),
    (&["bear out", "bears out", "bore out", "borne out", "bearing out"], "confirm"),
    (&["joined"], "converted, matched, concatenated"),
    (
        &[
            "stand-still",
            "stand-stills",
            "standstill",
            "standstills",
            "stood still",
            "stands still",
            "stand still",
            "standing still",
        ],
        "stall: no instruction retired",
    ),
    (&["nobody"], "no thread, none, no one"),
    (&["reason on record"], "no reason recorded"),
    (&["meanwhile"], "while it was off, during this time"),
    (&["neighbours", "neighbour", "neighbouring"], "co-running threads, SMT sibling; adjacent"),
    (&["records of all kinds"], "all recommended events recorded"),
    (&["goes with slowness", "go with slowness"], "correlates with slow intervals"),
    (&["asked for"], "requested"),
    (&["gone idle", "going idle", "goes idle", "went idle"], "entered idle"),
    (&["gave way", "gives way", "give way"], "paused, yielded"),
    (&["waiting loop", "waiting loops"], "spin-wait loop"),
    (&["under way"], "in progress, pending"),
    (
        &[
            "who ended",
            "who woke",
            "who runs",
            "who ran",
            "who held",
            "who holds",
            "who wakes",
            "who waited",
            "who waits",
        ],
        "the thread that …",
    ),
    (&["as tailtrace wants"], "with the recommended events"),
    (&["nothing had come"], "no packet had arrived"),
    (&["planted", "unplanted"], "injected"),
    (&["format-tested"], "tested with synthetic input only"),
    (&["for want of"], "because … is missing"),
    (&["is said", "are said", "and said"], "the report notes"),
    (&["say by how much", "says by how much"], "carries the uncertainty"),
    (&["the way out of", "way into the scheduler", "its way out"], "exit, path into"),
    (&["at the pace of"], "rate"),
    (&["what the one did"], "what the waking thread was doing"),
    (&["happening", "happenings"], "occurrence, event"),
];

/// Sentences and names in which a word of the list is right, as a person has decided for each: causes, and what is
/// queued behind something or waits behind what runs first. In lower case; one that occurs nowhere fails the test.
pub(super) const RIGHT: &[&str] = &[
    "queue.behind",
    // Runnable: another thread runs first.
    "runnable behind",
    "and behind",
    "queued behind",
    // A rule's name in the scenario language.
    "returns-behind-psb",
    // A check's name in the JSON report, which is a contract.
    "\"neighbours\"",
];
