//! Where the source of a file's functions lies.
//!
//! Input: the debug information of one file. Output: the source of where a program begins and of each function: the file in which it is
//! declared, or that of its first line where nothing says so; the package that a source belongs to. A runtime or library that is linked into
//! a program, or lies in a file of its own, has no debug information where the program has, or that of another place: a compiler's folder, a package's. Source: what distributions and compilers record as the
//! places of their sources (`DW_AT_name`, `DW_AT_comp_dir`).

use std::sync::atomic::{AtomicU8, Ordering};
use std::sync::{Arc, OnceLock};

use crate::image::{Image, ImageKind};
use crate::search::SearchPath;

/// Where programs begin: C, C++ and most others; Fortran; D; Go. Ada's main procedure has [`ADA`] before its name.
const BEGINNINGS: [&str; 4] = ["main", "MAIN__", "_Dmain", "main.main"];
const ADA: &str = "_ada_";

/// Folders of compilers and installed headers.
const TOOLS: [&str; 9] = [
    "/usr/include/",
    "/usr/lib/",
    "/usr/lib64/",
    "/usr/local/include/",
    "/usr/local/lib/",
    "/usr/local/go/",
    "/usr/share/",
    "/rustc/",
    "/opt/rh/",
];

/// Folders that hold one folder for each package: of distributions' builds, of build tools' downloads (of Go's, one for each host).
const PACKAGES: [&str; 8] = [
    "/usr/src/debug/",
    "/usr/src/",
    "/build/",
    "/builddir/build/BUILD/",
    "/nix/store/",
    "/gnu/store/",
    "/go/pkg/mod/",
    "/.conan2/p/",
];

/// What is known of a file's functions.
#[derive(Debug, Default)]
pub(crate) struct Sources {
    /// The source file of where a program begins in it.
    main: OnceLock<Option<Arc<str>>>,
    /// By function: [`OWN`], [`FOREIGN`], or 0 where it was not looked at.
    functions: OnceLock<Box<[AtomicU8]>>,
}

const OWN: u8 = 1;
const FOREIGN: u8 = 2;

impl Sources {
    /// What `judge` says of function `symbol`, one of `count`, judged once.
    pub(crate) fn is_foreign(
        &self,
        symbol: u32,
        count: impl FnOnce() -> usize,
        judge: impl FnOnce() -> bool,
    ) -> bool {
        let known = self.functions.get_or_init(|| (0..count()).map(|_| AtomicU8::new(0)).collect());
        let Some(known) = known.get(symbol as usize) else { return false };
        match known.load(Ordering::Relaxed) {
            0 => {
                let is_foreign = judge();
                known.store(if is_foreign { FOREIGN } else { OWN }, Ordering::Relaxed);
                is_foreign
            }
            known => known == FOREIGN,
        }
    }
}

impl Image {
    /// The source file of where a program begins in it; `None` where none does, or no line covers that.
    pub(crate) fn main_source(&self, search: &SearchPath) -> Option<&Arc<str>> {
        let find = || {
            let is_file = self.kind == ImageKind::File && self.lines(search).is_some();
            let symbols = self.symbols(search).filter(|_| is_file)?;
            let begins =
                symbols.iter().filter(|(_, name)| BEGINNINGS.contains(name) || name.starts_with(ADA));
            let sources = begins.filter_map(|(range, _)| self.source_at(search, range.start));
            // Compilers add a `main` of their own that calls the program's, such as D's.
            sources.min_by_key(|source| is_of_tools(source))
        };
        self.sources.main.get_or_init(find).as_ref()
    }

    /// The source file of the function that was compiled at a stated address.
    pub(crate) fn source_at(&self, search: &SearchPath, svma: u64) -> Option<Arc<str>> {
        let lines = self.lines(search)?;
        let by_line = || lines.at(svma).pop()?.file;
        lines.declared_in(svma).or_else(by_line).map(Arc::from)
    }
}

/// Whether `source` lies in a compiler's folder.
fn is_of_tools(source: &str) -> bool {
    TOOLS.iter().any(|tools| source.starts_with(tools))
}

/// The folder of a compiler, or of one package among others, that `source` lies in.
pub(crate) fn package(source: &str) -> Option<&str> {
    if let Some(tools) = TOOLS.iter().find(|tools| source.starts_with(**tools)) {
        return Some(tools);
    }
    PACKAGES.iter().find_map(|folder| {
        let is_rooted = !folder.starts_with("/.") && !folder.starts_with("/go/");
        let at = if is_rooted { source.starts_with(folder).then_some(0) } else { source.find(folder) }?;
        let name = at + folder.len();
        // A file of no package lies in the folder itself.
        let end = name + source.get(name..)?.find('/')?;
        let package = source.get(name..end)?;
        // Many programs are built in a folder of that name: a distribution's packages there have a version.
        (*folder != "/build/" || package.contains('-')).then(|| source.get(..end)).flatten()
    })
}

#[cfg(test)]
mod tests {
    use super::package;

    #[test]
    fn sources_of_packages_are_told_apart() {
        for (source, of) in [
            ("/usr/lib/gcc/x86_64-linux-gnu/12/adainclude/a-coorma.adb", Some("/usr/lib/")),
            ("/rustc/29483883/library/std/src/io/mod.rs", Some("/rustc/")),
            ("/build/zlib-1.2.13/inflate.c", Some("/build/zlib-1.2.13")),
            ("/usr/src/debug/nginx-1.24/src/core/nginx.c", Some("/usr/src/debug/nginx-1.24")),
            ("/home/me/go/pkg/mod/github.com/acme/log@v1/log.go", Some("/home/me/go/pkg/mod/github.com")),
            ("/home/me/build/shop/main.c", None),
            ("/build/main.c", None),
            ("/build/src/main.c", None),
            ("/usr/src/util.c", None),
            ("/usr/src", None),
            ("main.c", None),
        ] {
            assert_eq!(package(source), of, "{source}");
        }
    }
}
