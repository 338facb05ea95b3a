"""Fixtures: tables by hand, and a simulated fleet."""

import json
import subprocess
import sys
from pathlib import Path

import pytest
from made import capture, together, write
from pyspark.sql import SparkSession
from tailtrace_fleet import spark
from tailtrace_fleet.tables import open_tables

ROOT = Path(__file__).resolve().parents[4]


@pytest.fixture
def opened(tmp_path):
    """Opens the tables of captures that `made.capture` describes."""
    return lambda *captures: open_tables(write(tmp_path, **together(captures)))


@pytest.fixture
def one_capture(opened):
    """The tables of one capture with one outlier."""
    return opened(capture("c", stories=[("s", 500)]))


def simulated(folder, outliers, hosts=1000):
    """A fleet of so many hosts: its tables and the answer that a report must find."""
    program = ROOT / "scripts/fleet-simulate"
    subprocess.run([sys.executable, program, folder, "--outliers", str(outliers), "--hosts", str(hosts)], check=True)
    return folder / "tables", json.loads((folder / "answer.json").read_text())


@pytest.fixture(scope="session")
def fleet(tmp_path_factory):
    """The simulated fleet with one capture for each host and day."""
    return simulated(tmp_path_factory.mktemp("fleet"), 150_000)


@pytest.fixture(scope="session")
def session():
    """Spark on two threads, that tries each task four times."""
    builder = SparkSession.builder.master("local[2,4]").config("spark.ui.enabled", "false")
    builder = builder.config("spark.sql.shuffle.partitions", 1).config("spark.log.level", "OFF")
    # Over few rows, compiling costs more than it saves: of queries, and of Java.
    builder = builder.config("spark.driver.extraJavaOptions", "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC")
    builder = builder.config("spark.sql.codegen.wholeStage", "false").config("spark.sql.codegen.factoryMode", "NO_CODEGEN")
    made = spark.session(builder.config("spark.driver.bindAddress", "127.0.0.1").config("spark.driver.host", "127.0.0.1"))
    yield made
    made.stop()
