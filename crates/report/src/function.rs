//! The function that a place names.
//!
//! Input: a place of a segment, as `worker() lock.c:107`. Output: the function's name; of one without a name its file and address.

/// File and stated address of a function without a name: `nginx` and 0x1a2b40 of `nginx+0x1a2b40`.
pub fn unnamed_function(name: &str) -> Option<(&str, u64)> {
    let (file, address) = name.rsplit_once("+0x")?;
    u64::from_str_radix(address, 16).ok().map(|address| (file, address))
}

/// The name of the function that a place begins with: `worker` of `worker() lock.c:107` and of `worker() < main()`.
pub fn function_of(place: &str) -> Option<&str> {
    let first = place.split(' ').next().filter(|first| unnamed_function(first).is_some());
    let named = || place.split_once("()").map(|(name, _)| name);
    first.or_else(named).filter(|name| !name.is_empty())
}
