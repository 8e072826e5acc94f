"""The metrics of router and engine as Prometheus' own tool reads them."""
import re
import subprocess

import fleet
import wire


def lint(text):
    run = subprocess.run(["promtool", "check", "metrics"], input=text, capture_output=True)
    return run.returncode, (run.stdout + run.stderr).decode().splitlines()


def test_router_metrics_pass_promtool(start):
    engine = start(fleet.Engine, "--sim-speed", "20")
    router = start(fleet.Router, [engine.url], policy="prefix-cache")
    for i in range(5):
        assert wire.chat(router.port, f"{i}", max_tokens=2, stream=i % 2 == 0).status == 200
    assert wire.ask(router.port, "GET", "/v1/nothing").status == 404
    text = router.exposition()
    status, lines = lint(text)
    assert status == 0 and lines == [], lines
    assert b"fairlead_" in text and b"kthena_router_requests_total{" in text


def test_engine_metrics_fail_only_where_vllm_names_do(plain_engine):
    assert wire.chat(plain_engine.port, max_tokens=2).status == 200
    text = wire.ask(plain_engine.port, "GET", "/metrics").body
    _, lines = lint(text)
    # vLLM's names have a colon; its _created gauges of histograms and a histogram called _total are
    # what promtool's naming rules do not like. Nothing else may be found, and no syntax error.
    known = re.compile(r"vllm:\S+ (metric names should not contain ':'|"
                       r"non-\S+ metrics should not have \"_\w+\" suffix|"
                       r"use base unit .*|counters should have .*)")
    assert [line for line in lines if not known.fullmatch(line)] == []


def test_router_answers_metrics_on_its_own_port_only(start):
    engine = start(fleet.Engine)
    router = start(fleet.Router, [engine.url])
    assert wire.ask(router.metrics_port, "GET", "/metrics").status == 200
    assert wire.ask(router.port, "GET", "/metrics").status == 404
