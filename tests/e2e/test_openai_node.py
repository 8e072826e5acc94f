"""Runs openai_node.test.mjs against the engine and against a router; Node counts its own cases."""
import os
import pathlib
import re
import subprocess

import pytest

import fleet

SUITE = pathlib.Path(__file__).with_name("openai_node.test.mjs")
CASES = len(re.findall(r'^test\("', SUITE.read_text(), re.M))


@pytest.mark.parametrize("through", ["engine", "router"])
def test_openai_node(through, tool_engine, router, start):
    slow_engine = start(fleet.Engine)
    slow = slow_engine if through == "engine" else start(fleet.Router, [slow_engine.url])
    server = tool_engine if through == "engine" else router
    env = dict(os.environ, BASE_URL=server.url + "/v1", SLOW_URL=slow.url + "/v1",
               SLOW_METRICS=slow_engine.url + "/metrics", NO_COLOR="1")
    run = subprocess.run(["node", "--test", "--test-reporter=tap", str(SUITE)], env=env, text=True,
                         capture_output=True, timeout=100, cwd=SUITE.parent)
    assert run.returncode == 0, run.stdout[-6000:] + run.stderr[-2000:]
    assert int(re.search(r"^# pass (\d+)$", run.stdout, re.M).group(1)) == CASES, run.stdout
