//! Names of Free Pascal: `SYSUTILS$_$TSTRINGBUILDER_$__$$_APPEND$ANSISTRING$$TSTRINGBUILDER` is `sysutils.tstringbuilder.append`.
//!
//! ```text
//! UNIT_$$_ROUTINE$PARAMETER$PARAMETER$$RESULT
//! UNIT$_$TYPE_$__$$_METHOD...                    of a type, or
//! UNIT$_$OUTER$PARAMETER_$$_ROUTINE...           of another routine
//! P$PROGRAM_$$_ROUTINE...                        of the program itself
//! ```
//!
//! Source: `make_mangledname` and `tprocdef.mangledname` in `compiler/symdef.pas` of Free Pascal 3.2. Names are in small letters here: the language knows no
//! difference, the compiler writes capitals. Parameters are left out, as those of C++.

/// Between what holds a routine and the routine.
const HOLDS: &str = "_$$_";
/// Between a unit and a type or routine in it.
const WITHIN: &str = "$_$";
/// After a type that holds a routine.
const OF_TYPE: &str = "_$_";

/// The qualified name of `mangled`; `None` where it is no routine's of Free Pascal.
pub(super) fn demangle(mangled: &str) -> Option<String> {
    // A routine within a routine of a type: the last one is it.
    let (holder, routine) = mangled.rsplit_once(HOLDS)?;
    let holder = holder.strip_prefix("P$").unwrap_or(holder);
    let mut parts = holder.split(HOLDS).flat_map(|part| part.split(WITHIN));
    // What has more before its unit is data: `RTTI_$SYSTEM`.
    let mut names = vec![identifier(parts.next()?)?];
    for part in parts {
        let part = part.strip_suffix(OF_TYPE).unwrap_or(part);
        names.push(identifier(part.split('$').next()?)?);
    }
    names.push(match routine.strip_prefix('$') {
        // `$assign`, `$plus`: an operator.
        Some(operator) => format!("operator {}", operator.split('$').next()?),
        None => identifier(routine.split('$').next()?)?,
    });
    Some(names.join("."))
}

/// `name` in small letters, if it is one as the compiler writes it.
fn identifier(name: &str) -> Option<String> {
    let is_written = |char: char| char.is_ascii_uppercase() || char.is_ascii_digit() || char == '_';
    let begins = name.starts_with(|first: char| first.is_ascii_uppercase() || first == '_');
    (begins && name.chars().all(is_written)).then(|| name.to_ascii_lowercase())
}
