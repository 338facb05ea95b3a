//! What the numbers of descriptors stand for, and which of them lead to servers that are asked.
//!
//! Input: system calls in the order of time, those of a thread or of its whole process. A number is used again once it was closed: what
//! it stood for is known by the calls that made it and their order.

use std::collections::{HashMap, HashSet};

use crate::tables::syscalls::{self, MakesDescriptor, Object, Transferring};

/// What a descriptor stands for, as far as calls show it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum EndpointKind {
    /// It was made before the recording, by a thread whose calls are not known, or by another call.
    Unknown,
    /// A connection that a client opened: from `accept`.
    Accepted {
        /// The descriptor of the socket that listens.
        listening: u32,
    },
    /// A connection that the process opened itself: `connect`.
    Connected,
    /// A file by its name: `open`.
    File,
    /// An eventfd, a timerfd or a signalfd.
    Event,
}

/// One use of a descriptor's number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Endpoint {
    pub(crate) descriptor: u32,
    pub(crate) kind: EndpointKind,
    /// Which use of the number it is, from 0.
    made: u32,
}

impl Endpoint {
    /// Whether the number came to stand for it while calls were followed.
    pub(crate) fn is_new(&self) -> bool {
        self.made > 0
    }

    /// Whether so many `bytes` may be those of an event: a counter of an eventfd or timerfd, or signals of a signalfd
    /// (`include/uapi/linux/signalfd.h`). Nothing is ever written to what `bytes` are read from as events.
    pub(crate) fn may_be_event(&self, bytes: u64) -> bool {
        const COUNTER: u64 = 8;
        const SIGNAL: u64 = 128;
        let is_small = bytes == COUNTER || (bytes > 0 && bytes.is_multiple_of(SIGNAL));
        match self.kind {
            EndpointKind::Event => true,
            EndpointKind::Unknown => is_small,
            _ => false,
        }
    }
}

/// A call that has begun.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Call {
    pub(crate) number: u64,
    /// Its first argument.
    pub(crate) argument: u64,
}

impl Call {
    /// Its descriptor, and which way it moves bytes.
    pub(crate) fn transfer(&self) -> Option<(u32, Transferring)> {
        let name = syscalls::known_name(self.number)?;
        let direction = syscalls::transfers(name)?;
        match syscalls::object(name, self.argument)? {
            Object::FileDescriptor(descriptor) => Some((descriptor, direction)),
            Object::Futex(_) => None,
        }
    }

    /// The descriptor that it makes a connection of.
    pub(crate) fn connects(&self) -> Option<u32> {
        let makes = syscalls::makes_descriptor(syscalls::known_name(self.number)?)?;
        (makes == MakesDescriptor::Connects).then_some(self.descriptor())
    }

    /// Its first argument as a descriptor: the kernel takes the low 32 bits of the register.
    fn descriptor(&self) -> u32 {
        (self.argument & 0xffff_ffff) as u32
    }
}

/// What each number stands for; those that were never made by the calls that were followed are not in it.
#[derive(Debug, Default)]
pub(crate) struct Descriptors(HashMap<u32, Endpoint>);

impl Descriptors {
    /// What `descriptor` stands for now.
    pub(crate) fn endpoint(&self, descriptor: u32) -> Endpoint {
        let unknown = Endpoint { descriptor, kind: EndpointKind::Unknown, made: 0 };
        self.0.get(&descriptor).copied().unwrap_or(unknown)
    }

    /// Follows a call that makes or ends a descriptor to its end. The number that stands for something else from now on comes back
    /// as what it stood for.
    pub(crate) fn returned(&mut self, call: Call, result: i64) -> Option<Endpoint> {
        let makes = syscalls::makes_descriptor(syscalls::known_name(call.number)?)?;
        let argument = call.descriptor();
        let made = u32::try_from(result).ok();
        match makes {
            MakesDescriptor::Accepted => {
                Some(self.make(made?, EndpointKind::Accepted { listening: argument }))
            }
            MakesDescriptor::File => Some(self.make(made?, EndpointKind::File)),
            MakesDescriptor::Event => Some(self.make(made?, EndpointKind::Event)),
            MakesDescriptor::Other => Some(self.make(made?, EndpointKind::Unknown)),
            // Whether it has succeeded already or goes on in the background.
            MakesDescriptor::Connects => {
                let endpoint = self.endpoint(argument);
                self.0.insert(argument, Endpoint { kind: EndpointKind::Connected, ..endpoint });
                Some(endpoint)
            }
            MakesDescriptor::Closes => Some(self.make(argument, EndpointKind::Unknown)),
        }
    }

    /// From now on `descriptor` stands for something else than what comes back.
    fn make(&mut self, descriptor: u32, kind: EndpointKind) -> Endpoint {
        let old = self.endpoint(descriptor);
        self.0.insert(descriptor, Endpoint { descriptor, kind, made: old.made.saturating_add(1) });
        old
    }
}

/// What another server was last asked.
#[derive(Clone, Copy, Debug)]
struct Asked {
    /// For which request; `None`: for none that is known.
    request: Option<Endpoint>,
    /// Whether it has answered anything since.
    answered: bool,
}

/// Which connections lead to servers that a request needs, and which lead to clients. A server is one that the process
/// connected to, else one that it wrote to before it read from there; from what is older than the recording it may have read, so
/// that counts only while it works for a request.
#[derive(Debug, Default)]
pub(crate) struct Peers {
    /// What was read from, or tried to be, so far.
    read_from: HashSet<Endpoint>,
    /// The servers that were asked.
    asked: HashMap<Endpoint, Asked>,
}

impl Peers {
    /// The request that a read of `bytes` belongs to: what a server answers, to that for which it was asked.
    pub(crate) fn read(&mut self, from: Endpoint, bytes: u64) -> Endpoint {
        self.read_from.insert(from);
        let Some(asked) = self.asked.get_mut(&from) else { return from };
        asked.answered |= bytes > 0;
        asked.request.unwrap_or(from)
    }

    /// The request that is answered, or for which another server is asked, by a thread that works for `current`. A question may be
    /// written in parts, and while another request is read.
    pub(crate) fn written(&mut self, to: Endpoint, current: Option<Endpoint>) -> Endpoint {
        let known = self.asked.get(&to).copied();
        let is_server = match to.kind {
            EndpointKind::Connected => true,
            EndpointKind::Unknown => known.is_some() || !self.read_from.contains(&to),
            _ => false,
        };
        if !is_server {
            return to;
        }
        let still_asked = known.filter(|asked| !asked.answered || current.is_none());
        let request = still_asked.and_then(|asked| asked.request).or(current);
        // What was there before the recording may have been read from.
        if request.is_some() || to.is_new() {
            self.asked.insert(to, Asked { request, answered: false });
        }
        request.unwrap_or(to)
    }

    /// Whether a server is asked there.
    pub(crate) fn ask(&self, at: &Endpoint) -> bool {
        at.kind == EndpointKind::Connected || self.asked.contains_key(at)
    }

    /// Whether anything was read from there.
    pub(crate) fn have_read(&self, from: &Endpoint) -> bool {
        self.read_from.contains(from)
    }

    /// Nothing is read from or written to `endpoint` any more.
    pub(crate) fn forget(&mut self, endpoint: &Endpoint) {
        self.read_from.remove(endpoint);
        self.asked.remove(endpoint);
    }
}
