"""Two minutes of trouble in real time under 2,000 requests/s of 4 tokens: engines killed, stopped, slowed,
resetting, failing, lying in their metrics and coming back, at most two of five at a time.

FAIRLEAD_CHAOS_SECONDS says how long (120 in CI, else 20), FAIRLEAD_CHAOS_RATE how many requests a second,
FAIRLEAD_CHAOS_SEED repeats what a run printed. Where the machine is too busy for the rate it is halved until it
comes through in the warm-up; the test prints what it came to."""
import contextlib
import json
import os
import random
import re
import threading
import time

import pytest

import fleet
import wire

SECONDS = float(os.environ.get("FAIRLEAD_CHAOS_SECONDS") or (120 if os.environ.get("CI") else 20))
RATE = float(os.environ.get("FAIRLEAD_CHAOS_RATE") or 2000)
RATE_MIN = 125
WARM_UP_SECONDS = 8
ENGINES, BROKEN_MAX = 5, 2  # so that of three attempts one finds a healthy engine
DEADLINE = 8  # of a request, in the router
# Requests that two stopped engines hold for two seconds are thousands at a time, and what they took stays with the
# process: 20 MiB were seen. A leak of 140 bytes a request would be more; test_soak.py looks for less.
RSS_GROWTH_MAX = 32 << 20
FAULTS = ({"hang": True}, {"reset_after_chunks": 2}, {"error_rate": 1}, {"error_rate": 0.3},
          {"slow_factor": 100}, {"freeze_metrics": True}, {"claim_running": 0}, {"claim_running": 5000})
HEALED = {"hang": False, "reset_after_chunks": 0, "error_rate": 0, "slow_factor": 1,
          "freeze_metrics": False, "claim_running": -1}


class Trouble:
    """Breaks and heals engines, each kind of trouble for a few seconds."""

    def __init__(self, start, seed):
        self.start, self.random = start, random.Random(seed)
        self.engines = [start(fleet.Engine, "--sim-speed", "50") for _ in range(ENGINES)]
        self.broken = {}  # index: (when it is over, how)
        self.counts = {"kill": 0, "stop": 0, "fault": 0}

    def step(self):
        for i, (until, heal) in list(self.broken.items()):
            if time.monotonic() >= until:
                del self.broken[i]
                heal()
        if len(self.broken) < BROKEN_MAX and self.random.random() < 0.05:
            i = self.random.randrange(ENGINES)
            if i not in self.broken:
                heal = getattr(self, self.random.choice(("kill", "stop", "fault")))(i)
                self.broken[i] = (time.monotonic() + self.random.uniform(1, 6), heal)

    def kill(self, i):
        self.counts["kill"] += 1
        self.engines[i].kill9()

        def heal():
            self.engines[i] = self.start(fleet.Engine, "--sim-speed", "50", wait=False,
                                         port=self.engines[i].port)
        return heal

    def stop(self, i):
        self.counts["stop"] += 1
        self.engines[i].pause()
        return lambda: self.engines[i].resume()

    def fault(self, i):
        self.counts["fault"] += 1
        self.engines[i].wait_ready(self.engines[i].port, "/health")  # it may be starting after a kill
        self.set_faults(i, self.random.choice(FAULTS))
        return lambda: self.set_faults(i, HEALED)

    def set_faults(self, i, faults):
        assert wire.ask(self.engines[i].port, "POST", "/sim/faults", faults).status == 200

    @contextlib.contextmanager
    def running(self):
        over, failed = threading.Event(), []

        def run():
            try:
                while not over.wait(0.05):
                    self.step()
            except Exception as error:  # noqa: BLE001: shown by the test
                failed.append(error)

        worker = threading.Thread(target=run)
        worker.start()
        try:
            yield
        finally:
            over.set()
            worker.join()
            for _, heal in self.broken.values():
                heal()
            self.broken.clear()
            for engine in self.engines:
                engine.wait_ready(engine.port, "/health")
        assert not failed, failed


def load(start, router, rate, seconds, tmp_path, seed):
    """Half of the requests streamed, half not; the reports of both."""
    reports, benches = {}, {}
    for kind in ("stream", "no-stream"):
        reports[kind] = tmp_path / f"{kind}-{seconds}.json"
        benches[kind] = start(
            fleet.Process, "bench", "--url", router.url, f"--{kind}", "--rate", rate / 2, "--duration",
            f"{seconds}s", "--timeout", f"{DEADLINE + 1}s", "--max-tokens", 4, "--workload",
            "prefix-groups", "--prefixes", 100, "--prefix-tokens", 100, "--question-tokens", 8,
            "--seed", seed, "--no-explain", "--json", reports[kind])
    for bench in benches.values():
        assert bench.popen.wait(seconds + 60) == 0, bench.output()
    return {kind: json.loads(path.read_text())["reports"][0] for kind, path in reports.items()}


def settle(router, engines):
    for name in ("fairlead_requests_in_flight", "fairlead_reservations", "fairlead_connections",
                 "kthena_router_active_requests", "kthena_router_active_upstream_requests",
                 "fairlead_held_body_bytes"):
        fleet.wait_until(lambda: router.metrics().total(name) == 0, 15, f"{name} is zero")
    for engine in engines:
        fleet.wait_until(lambda: engine.running() == 0 and engine.blocks_in_use() == 0, 15,
                         "no request and no block in use")
    assert router.metrics().total("fairlead_bugs_total") == 0


def failures_before_the_first_byte(log, begin):
    """Access log lines of 5xx from `begin` on; a stream or body that broke off later is a 200 there."""
    with log.open(errors="replace") as lines:
        lines.seek(begin)
        return [line for line in lines if re.search(r' HTTP/1\.1" 5\d\d ', line)]


@pytest.mark.timeout(SECONDS + 300)
def test_chaos_under_load_costs_only_what_is_beyond_its_first_byte(start, tmp_path):
    seed = int(os.environ.get("FAIRLEAD_CHAOS_SEED") or random.SystemRandom().randrange(1 << 31))
    print(f"FAIRLEAD_CHAOS_SEED={seed}")
    trouble = Trouble(start, seed)
    router = start(fleet.Router, [engine.url for engine in trouble.engines], "--request-timeout",
                   f"{DEADLINE}s", "--first-byte-timeout", "6s", "--chunk-timeout", "3s",
                   policy="prefix-cache")
    rate = RATE
    while True:
        with trouble.running():
            warm_up = load(start, router, rate, WARM_UP_SECONDS, tmp_path, seed + 1)
        settle(router, trouble.engines)
        # Some are late by the silence of a stopped engine.
        came_through = all(report["requests_per_s"] > 0.7 * rate / 2 for report in warm_up.values())
        if came_through or rate / 2 < RATE_MIN:
            break
        rate /= 2
    rss, warm = router.rss(), router.log.stat().st_size
    refused = router.metrics().total("fairlead_retries_refused_total")
    with trouble.running():
        reports = load(start, router, rate, SECONDS, tmp_path, seed)
    settle(router, trouble.engines)
    growth = router.rss() - rss
    failures = failures_before_the_first_byte(router.log, warm)
    metrics = router.metrics()
    refused = metrics.total("fairlead_retries_refused_total") - refused
    requests = sum(report["requests"] for report in reports.values())
    print(f"{requests} requests, {requests / SECONDS:.0f} of {RATE:.0f} a second; trouble: {trouble.counts}; "
          f"{metrics.total('fairlead_retries_total'):.0f} retries, {refused:.0f} refused; {len(failures)} failed before their first byte; "
          f"RSS grew by {growth / 2**20:.1f} MiB")
    for kind, report in reports.items():
        print(kind, report["errors_by_kind"], "ms:", report["end_to_end_ms"])
        # Not "timed out": no client waits past its deadline. Nor "no connection" or "not sent".
        allowed = {"error event", "connection reset", "broken answer", "http 500", "http 502", "http 503"}
        assert set(report["errors_by_kind"]) <= allowed, report["errors_by_kind"]
    assert sum(trouble.counts.values()) >= SECONDS / 10
    # Two of five are broken at a time, so three attempts fail only where trouble moves on under them; who failed
    # with fewer found the budget of retries used up by what two stopped engines had held.
    early = [line for line in failures if "upstream_attempts=3" not in line]
    assert len(early) <= refused, early[:5]
    assert len(failures) - len(early) <= requests / 1000, failures[:5]
    assert len(failures) <= requests / 100, failures[:5]
    assert growth <= RSS_GROWTH_MAX
