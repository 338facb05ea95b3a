"""Writes the licences of what is linked into tailtrace, as the packages of `scripts/release` carry them.

    python3 scripts/third_party_notices.py TARGET >THIRD-PARTY-NOTICES

In: what `cargo tree` says is linked for TARGET (no build scripts, no procedural macros, no crates of tests), and the licence files in
the sources of those crates, with those of the C libraries that some of them bundle. Out: each text once, below the crates that it
covers. A crate without a file of its own gets the standard text of its licence, with its authors; one whose licence has none here is
an error.
"""

import json
import re
import subprocess
import sys
from collections import defaultdict
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
LICENCE_FILE = re.compile(r"(licen[cs]e|copying|copyright|notice|unlicense)", re.IGNORECASE)
# C libraries in the sources of their bindings, linked statically: crate, folder.
BUNDLED = {"capstone-sys": "capstone", "libipt-sys": "libipt", "zstd-sys": "zstd"}
MIT = """Permission is hereby granted, free of charge, to any person obtaining a copy of this software and associated documentation files (the
"Software"), to deal in the Software without restriction, including without limitation the rights to use, copy, modify, merge, publish,
distribute, sublicense, and/or sell copies of the Software, and to permit persons to whom the Software is furnished to do so, subject to
the following conditions:

The above copyright notice and this permission notice shall be included in all copies or substantial portions of the Software.

THE SOFTWARE IS PROVIDED "AS IS", WITHOUT WARRANTY OF ANY KIND, EXPRESS OR IMPLIED, INCLUDING BUT NOT LIMITED TO THE WARRANTIES OF
MERCHANTABILITY, FITNESS FOR A PARTICULAR PURPOSE AND NONINFRINGEMENT. IN NO EVENT SHALL THE AUTHORS OR COPYRIGHT HOLDERS BE LIABLE FOR
ANY CLAIM, DAMAGES OR OTHER LIABILITY, WHETHER IN AN ACTION OF CONTRACT, TORT OR OTHERWISE, ARISING FROM, OUT OF OR IN CONNECTION WITH THE
SOFTWARE OR THE USE OR OTHER DEALINGS IN THE SOFTWARE."""
HEAD = """tailtrace is licensed MIT OR Apache-2.0. Its binary contains the software below, under the licences that follow. It loads libdw and
libelf of elfutils (GPL-2.0-or-later OR LGPL-3.0-or-later) from the system at run time; they are not part of it and may be replaced.
"""


def cargo(*arguments):
    return subprocess.run(["cargo", *arguments], cwd=ROOT, check=True, capture_output=True, text=True).stdout


def linked(target):
    """(name, version) of every crate in the binary that is not our own."""
    tree = cargo("tree", "--locked", "--package", "tailtrace", "--edges", "normal,no-proc-macro", "--target", target,
                 "--prefix", "none", "--no-dedupe", "--format", "{p}")
    found = set()
    for line in tree.splitlines():
        name, version, *source = line.split()
        if not any(part.startswith("(/") for part in source):
            found.add((name, version.removeprefix("v")))
    return found


def licence_files(package):
    """The licence texts in a crate's sources, and in those of the C library that it bundles."""
    source = Path(package["manifest_path"]).parent
    bundled = BUNDLED.get(package["name"])
    folders = [source, source / bundled] if bundled else [source]
    files = [file for folder in folders for file in sorted(folder.iterdir())
             if file.is_file() and LICENCE_FILE.match(file.name) and file.suffix not in {".rs", ".html", ".json"}]
    if bundled and files[-1].parent == source:
        sys.exit(f"{package['name']}: the licence of the library that it bundles is not where it was")
    return [file.read_text(errors="replace") for file in files]


def standard_texts(package):
    """The text of a crate's licence where its sources hold none."""
    expression = package["license"] or ""
    if "MIT" in expression.replace("MIT-0", ""):
        return [f"MIT License\n\nCopyright (c) {', '.join(package['authors']) or 'the authors of ' + package['name']}\n\n{MIT}\n"]
    if "Apache-2.0" in expression:
        return [(ROOT / "LICENSE-APACHE").read_text()]
    sys.exit(f"{package['name']}: no licence file, and no standard text for {expression!r}")


def main():
    packages = {(package["name"], package["version"]): package
                for package in json.loads(cargo("metadata", "--locked", "--format-version=1"))["packages"]}
    covered = defaultdict(list)  # text → crates, in the order of their names
    texts = {}
    for key in sorted(linked(sys.argv[1])):
        package = packages[key]
        for text in licence_files(package) or standard_texts(package):
            words = " ".join(text.split())
            texts.setdefault(words, text.strip())
            sources = f"; sources: {package['repository']}" if "CDDL" in package["license"] else ""
            covered[words].append(f"{key[0]} {key[1]} ({package['license']}{sources})")
    runtime = {"name": "The Rust standard library", "license": "MIT", "authors": ["The Rust Project Developers"]}
    [text] = standard_texts(runtime)
    texts[""] = text.strip()
    covered[""].append("the standard library of Rust (MIT OR Apache-2.0)")
    print(HEAD)
    for words, crates in covered.items():
        print("=" * 100)
        print(*crates, sep="\n", end="\n\n")
        print(texts[words], end="\n\n")


if __name__ == "__main__":
    main()
