"""The examples that record on all hosts (docs/examples): systemd, the schemas of Kubernetes and the binary itself accept them."""

import os
import re
import shlex
import subprocess
from pathlib import Path

import kubernetes_validate
import pytest
import yaml
from conftest import ROOT

UNIT = ROOT / "docs/examples/tailtrace.service"
DAEMON_SET = ROOT / "docs/examples/tailtrace-daemonset.yaml"
PAGE = ROOT / "docs/start-production.md"
BINARY = Path(os.environ["TAILTRACE"])
# As the examples have them, and one that only machines with Intel PT need, outside of containers.
PROGRAM = ["/usr/bin/checkout", "--port", "8080"]
KCORE = "CAP_SYS_RAWIO"


def verified(text, folder):
    """What `systemd-analyze verify` says of a unit on a machine that has the binary."""
    unit = folder / UNIT.name
    unit.write_text(text.replace("/usr/bin/tailtrace", str(BINARY)))
    run = subprocess.run(["systemd-analyze", "verify", "--man=no", unit], capture_output=True, text=True, check=False)
    said = [line for line in run.stderr.splitlines() if UNIT.name in line]
    assert run.returncode == 0 or said, run.stderr
    return said


def settings(text):
    """A unit's settings: the values of each name."""
    found = {}
    for line in text.replace("\\\n", " ").splitlines():
        if line and line[0] not in "#[":
            name, value = line.split("=", 1)
            found.setdefault(name, []).append(value)
    return found


def command_of_unit(text):
    """The words of `ExecStart=`, of a host and with folders (systemd.service(5), "Command lines"; systemd.unit(5), "Specifiers")."""
    (line,) = settings(text)["ExecStart"]
    for written, meant in [("${CACHE_DIRECTORY}", "/cache"), ("${STATE_DIRECTORY}", "/state"), ("%H", "web-7"), ("$$", "$")]:
        line = line.replace(written, meant)
    return shlex.split(line)


def container_of(text):
    (container,) = yaml.safe_load(text)["spec"]["template"]["spec"]["containers"]
    return container


def command_of_daemon_set(text, folder):
    """The words with which the container's own shell runs `tailtrace`."""
    for name, does in [("tailtrace", 'printf "%s\\0" tailtrace "$@"'), ("rm", "")]:
        (folder / name).write_text(f"#!/bin/sh\n{does}\n")
        (folder / name).chmod(0o755)
    container = container_of(text)
    environment = {"PATH": str(folder)} | {variable["name"]: "node-7" for variable in container["env"]}
    run = subprocess.run([*container["command"], *container["args"]], env=environment, capture_output=True, text=True, check=True)
    return run.stdout.split("\0")[:-1]


def commands(unit, daemon_set, folder):
    return [command_of_unit(unit), command_of_daemon_set(daemon_set, folder)]


def perf_of(words):
    """perf's command line, where `tailtrace record` takes these words; else what it says."""
    run = subprocess.run([BINARY, *words[1:2], "--dry-run", *words[2:]], capture_output=True, text=True, check=False)
    return run.stdout if run.returncode == 0 else run.stderr


def is_understood(words):
    """Whether perf gets the program and what `tailtrace record` itself chooses, and no word more: an unknown option would be perf's."""
    separator = words.index("--")
    folder = words[words.index("-o") + 1]
    alone = ["tailtrace", "record", "--snapshot-over", "20ms", "-o", folder, *words[separator:]]
    return perf_of(words) == perf_of(alone)


def problems(text):
    """What Kubernetes' own schema has against it, unknown fields among it."""
    try:
        kubernetes_validate.validate(yaml.safe_load(text), "1.34", strict=True)
    except kubernetes_validate.ValidationError as error:
        return error.message
    return None


def test_systemd_takes_the_unit_as_it_stands(tmp_path):
    text = UNIT.read_text()
    assert verified(text, tmp_path) == []
    for right, wrong in [
        ("UMask=", "UMasc="),
        ("KillMode=mixed", "KillMode=some"),
        ("ExecStart=/usr/bin/tailtrace", "ExecStart=/usr/bin/tailtrack"),
    ]:
        assert text.count(right), right
        assert verified(text.replace(right, wrong), tmp_path) != [], wrong


def test_kubernetes_takes_the_daemon_set_as_it_stands():
    text = DAEMON_SET.read_text()
    assert problems(text) is None
    for right, wrong, says in [
        ("hostPID: true", "hostPid: true", "hostPid"),
        ("hostPID: true", "hostPID: some", "some"),
        ("readOnly: true", "readonly: true", "readonly"),
        ("drop: [ALL]", "drop: ALL", "ALL"),
        ("containerPort: 8080", "containerPort: http", "http"),
    ]:
        assert text.count(right) == 1, right
        assert says in (problems(text.replace(right, wrong)) or ""), wrong


def test_labels_volumes_and_their_places_belong_together():
    spec = yaml.safe_load(DAEMON_SET.read_text())["spec"]
    assert spec["selector"]["matchLabels"].items() <= spec["template"]["metadata"]["labels"].items()
    container = container_of(DAEMON_SET.read_text())
    assert {mount["name"] for mount in container["volumeMounts"]} == {volume["name"] for volume in spec["template"]["spec"]["volumes"]}
    places = [mount["mountPath"] for mount in container["volumeMounts"]]
    written = re.findall(r"(?:-o|--bundle-to) (/\w+)", container["args"][0])
    assert len(written) == 2 and set(written) <= set(places)


def test_the_binary_understands_both_commands(tmp_path):
    for words in commands(UNIT.read_text(), DAEMON_SET.read_text(), tmp_path):
        assert words[:2] == ["tailtrace", "record"] or words[0] == "/usr/bin/tailtrace"
        assert words[-3:] == PROGRAM
        assert is_understood(words), perf_of(words)
        assert '"$TAILTRACE_BUNDLE"' in words[words.index("--on-bundle") + 1]
        tags = [words[at + 1] for at, word in enumerate(words) if word == "--tag"]
        assert {"service=checkout", "release=2026.44"} < set(tags) and {"host=web-7", "host=node-7"} & set(tags)


@pytest.mark.parametrize(
    ("right", "wrong"),
    [("--a-minute", "--per-minute"), ("--bundle-disk 500", "--bundle-disk much"), ("--tag service=", "--tag "), ("20ms,request", "20 ms")],
)
def test_a_command_that_the_binary_does_not_understand_is_noticed(tmp_path, right, wrong):
    texts = [UNIT.read_text(), DAEMON_SET.read_text()]
    assert all(text.count(right) == 1 for text in texts)
    for words in commands(*(text.replace(right, wrong) for text in texts), tmp_path):
        assert not is_understood(words)


def test_both_have_the_capabilities_that_the_page_explains_and_no_other():
    rows = re.findall(r"^\| `(CAP_\w+)`", PAGE.read_text(), re.MULTILINE)
    assert len(rows) == len(set(rows)) == 5
    # systemd leaves out those that it does not know.
    known = Path("/usr/include/linux/capability.h").read_text()
    assert all(re.search(rf"^#define {name}\s", known, re.MULTILINE) for name in rows)
    unit = settings(UNIT.read_text())
    for name in ["AmbientCapabilities", "CapabilityBoundingSet"]:
        (capabilities,) = unit[name]
        assert capabilities.split() == rows
    context = container_of(DAEMON_SET.read_text())["securityContext"]
    assert context["capabilities"] == {"drop": ["ALL"], "add": [name.removeprefix("CAP_") for name in rows if name != KCORE]}
    assert "privileged" not in context and not context["allowPrivilegeEscalation"]
