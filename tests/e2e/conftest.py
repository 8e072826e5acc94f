"""Fixtures: engines and routers as processes of the built binary, closed at the end of their scope."""
import os
import pathlib
import sys

import pytest

sys.path.insert(0, str(pathlib.Path(__file__).parent))

import fleet  # noqa: E402

# Recordings of other programs are not kept here: without them their tests are left out, not skipped.
collect_ignore = [] if "FAIRLEAD_CAPTURES" in os.environ else ["test_kthena_captures.py"]
if collect_ignore:
    print(f"left out: {collect_ignore[0]}, as FAIRLEAD_CAPTURES names no folder with recordings")

TOOLS = ("--enable-auto-tool-choice", "--tool-call-parser", "hermes")


def pytest_collection_modifyitems(items):
    assert fleet.BINARY.exists(), f"{fleet.BINARY} is not there: make build"


@pytest.fixture
def start(request):
    """start(Engine, ...) starts a process that ends with the test and prints its log on failure."""
    started = []

    def run(kind, *args, **kwargs):
        process = kind(*args, **kwargs)
        started.append(process)
        return process

    yield run
    for process in reversed(started):
        process.close()
        print(f"--- {process.log.name} (exit {process.popen.returncode})\n{process.output()}")


@pytest.fixture(scope="session")
def tool_engine():
    engine = fleet.Engine(*TOOLS, "--enable-prompt-tokens-details", "--sim-speed", "20")
    yield engine
    engine.close()


@pytest.fixture(scope="session")
def plain_engine():
    engine = fleet.Engine("--sim-speed", "20")
    yield engine
    engine.close()


@pytest.fixture(scope="session")
def router(tool_engine):
    router = fleet.Router([tool_engine.url], policy="prefix-cache")
    yield router
    router.close()


@pytest.fixture(scope="session")
def plain_router(plain_engine):
    router = fleet.Router([plain_engine.url])
    yield router
    router.close()
