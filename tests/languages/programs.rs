//! Programs that mark in their language, and write down what else they know of each request: how they are built and run.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::captures::repository;
use crate::no_pt::run;

/// Compiles `fixtures/programs/both_marks.rs` with the crate's sources and the header.
pub(super) fn both_marks(folder: &Path) -> PathBuf {
    let root = repository();
    let (object, library) = (folder.join("both_marks.o"), folder.join("libtailtrace_marks.rlib"));
    let mut compiler = Command::new("cc");
    compiler
        .args(["-std=c11", "-O2", "-Wall", "-Wextra", "-Werror", "-I"])
        .arg(root.join("crates/marks/include"));
    compiler.arg("-c").arg(root.join("fixtures/programs/both_marks.c")).arg("-o").arg(&object);
    run(&mut compiler, "this test needs a C compiler");
    let rustc = || {
        let mut rustc = Command::new("rustc");
        rustc.args(["--edition", "2024", "-O"]);
        rustc
    };
    let mut crates = rustc();
    crates.args(["--crate-type", "rlib", "--crate-name", "tailtrace_marks", "--cfg", "feature=\"std\""]);
    run(crates.arg(root.join("crates/marks/src/lib.rs")).arg("-o").arg(&library), "the crate compiles");
    let program = folder.join("both_marks");
    let mut main = rustc();
    main.arg("--extern").arg(format!("tailtrace_marks={}", library.display()));
    main.arg(format!("-Clink-arg={}", object.display())).arg(root.join("fixtures/programs/both_marks.rs"));
    run(main.arg("-o").arg(&program), "the program compiles");
    program
}

/// Compiles `fixtures/programs/both_marks.go` in a module that requires the package.
pub(super) fn both_marks_of_go(folder: &Path) -> PathBuf {
    let root = repository();
    let package = root.join("crates/marks/go");
    fs::copy(root.join("fixtures/programs/both_marks.go"), folder.join("main.go")).expect("copied");
    let module = format!(
        "module both\n\ngo 1.19\n\nrequire tailtrace/marks v0.0.0\n\nreplace tailtrace/marks => {}\n",
        package.display()
    );
    fs::write(folder.join("go.mod"), module).expect("written");
    let mut compiler = Command::new("go");
    compiler.args(["build", "-o", "both", "."]).current_dir(folder);
    run(&mut compiler, "this test needs Go (Debian: golang-go)");
    folder.join("both")
}

/// Compiles the Java class and its library into `folder`, which is then a class path.
pub(crate) fn java_marks(folder: &Path) -> &Path {
    let root = repository();
    let mut compiler = Command::new("javac");
    compiler.arg("-d").arg(folder).arg(root.join("crates/marks/java/tailtrace/Marks.java"));
    run(&mut compiler, "this test needs a JDK (Debian: openjdk-17-jdk-headless)");
    let javac = String::from_utf8(run(Command::new("which").arg("javac"), "which").stdout).expect("UTF-8");
    let javac = fs::canonicalize(javac.trim()).expect("there");
    let include = javac.parent().and_then(Path::parent).expect("a JDK").join("include");
    let includes = [include.clone(), include.join("linux")];
    shared_library(
        &root.join("crates/marks/java/marks.c"),
        &includes,
        &folder.join("tailtrace/libtailtrace_marks.so"),
    );
    folder
}

/// Compiles `fixtures/programs/BothMarks.java` with the class; how it is run.
pub(super) fn both_marks_of_java(folder: &Path) -> Vec<String> {
    let classes = java_marks(folder).to_string_lossy().into_owned();
    let mut compiler = Command::new("javac");
    compiler.args(["-cp", &classes, "-d", &classes]);
    run(compiler.arg(repository().join("fixtures/programs/BothMarks.java")), "the program compiles");
    ["java", "-cp", &classes, "BothMarks"].map(str::to_owned).into()
}

/// Compiles the Node.js addon beside `fixtures/programs/both_marks.js`; how that is run.
pub(super) fn both_marks_of_node(folder: &Path) -> Vec<String> {
    let root = repository();
    let program = folder.join("both_marks.js");
    fs::copy(root.join("fixtures/programs/both_marks.js"), &program).expect("copied");
    let mut npm = Command::new("npm");
    npm.args(["install", "--silent", "--no-save", "node-api-headers"]).current_dir(folder);
    run(&mut npm, "this test needs Node.js and npm");
    let headers = [folder.join("node_modules/node-api-headers/include")];
    shared_library(
        &root.join("crates/marks/node/tailtrace_marks.c"),
        &headers,
        &folder.join("tailtrace_marks.node"),
    );
    vec!["node".to_owned(), program.to_string_lossy().into_owned()]
}

/// Compiles the .NET class, its library and `fixtures/programs/both_marks.cs` with Mono's compiler; the program.
pub(super) fn both_marks_of_dotnet(folder: &Path) -> PathBuf {
    let root = repository();
    let program = folder.join("both_marks.exe");
    let mut compiler = Command::new("mcs");
    compiler.args(["-optimize", "-warnaserror"]).arg(format!("-out:{}", program.display()));
    compiler.arg(root.join("fixtures/programs/both_marks.cs")).arg(root.join("crates/marks/dotnet/Marks.cs"));
    run(&mut compiler, "this test needs Mono (Debian: mono-mcs)");
    shared_library(&root.join("crates/marks/dotnet/marks.c"), &[], &folder.join("libtailtrace_marks.so"));
    program
}

/// Compiles `crates/symbols/tests/Prices.cs` with Mono's compiler, for .NET Core; the program.
pub(super) fn prices_of_dotnet(folder: &Path) -> PathBuf {
    let program = folder.join("prices.exe");
    let mut compiler = Command::new("mcs");
    compiler.args(["-optimize", "-warnaserror"]).arg(format!("-out:{}", program.display()));
    run(
        compiler.arg(repository().join("crates/symbols/tests/Prices.cs")),
        "this test needs Mono (Debian: mono-mcs)",
    );
    fs::write(folder.join("prices.runtimeconfig.json"), RUNS_ON).expect("written");
    program
}

/// Which .NET a program wants.
pub(super) const RUNS_ON: &str = r#"{"runtimeOptions": {"framework": {"name": "Microsoft.NETCore.App", "version": "3.1.0"},
    "configProperties": {"System.Globalization.Invariant": true}}}"#;

/// The runtime of .NET Core, as its makers have it among the packages of Python.
pub(super) fn dotnet() -> PathBuf {
    let place = Path::new(env!("CARGO_TARGET_TMPDIR")).join("dotnet");
    let program = place.join("dotnetcore2/bin/dotnet");
    if !program.exists() {
        let python = || {
            let mut python = Command::new("python3");
            python.current_dir(&place).arg("-m");
            python
        };
        fs::create_dir_all(&place).expect("made");
        let download =
            ["pip", "download", "--quiet", "--disable-pip-version-check", "--no-deps", "dotnetcore2==3.1.23"];
        run(python().args(download), "this test needs Python and pip");
        let wheel = "dotnetcore2-3.1.23-py3-none-manylinux1_x86_64.whl";
        run(python().args(["zipfile", "-e", wheel, "."]), "a package of PyPI is a ZIP file");
        fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).expect("executable");
    }
    program
}

fn shared_library(source: &Path, includes: &[PathBuf], to: &Path) {
    let mut compiler = Command::new("cc");
    compiler.args(["-O2", "-shared", "-fPIC", "-Wall", "-Wextra", "-Werror"]);
    for include in includes.iter().chain([&repository().join("crates/marks/include")]) {
        compiler.arg("-I").arg(include);
    }
    run(compiler.arg(source).arg("-o").arg(to).arg("-lpthread"), "this test needs a C compiler");
}

/// Compiles the Python extension beside `fixtures/programs/both_marks.py`; how that is run.
pub(super) fn both_marks_of_python(folder: &Path) -> Vec<String> {
    let root = repository();
    let program = folder.join("both_marks.py");
    fs::copy(root.join("fixtures/programs/both_marks.py"), &program).expect("copied");
    let paths = ["-c", "import sysconfig; print(sysconfig.get_paths()['include'])"];
    let paths = run(Command::new("python3").args(paths), "this test needs Python (Debian: python3-dev)");
    let include = PathBuf::from(String::from_utf8(paths.stdout).expect("UTF-8").trim());
    let extension = folder.join("tailtrace_marks.so");
    shared_library(&root.join("crates/marks/python/tailtrace_marks.c"), &[include], &extension);
    vec!["python3".to_owned(), program.to_string_lossy().into_owned()]
}
