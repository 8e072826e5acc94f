"""Starts and watches the processes of a test: engines, routers, and what they say about themselves."""
import os
import pathlib
import re
import signal
import socket
import subprocess
import tempfile
import time

import wire

ROOT = pathlib.Path(__file__).resolve().parents[2]
BINARY = pathlib.Path(os.environ.get("FAIRLEAD_BIN", ROOT / "build" / "fairlead"))
LOGS = pathlib.Path(os.environ.get("FAIRLEAD_E2E_LOGS") or tempfile.mkdtemp(prefix="fairlead-e2e."))

_given = set()


def free_port():
    """A port that nothing listens on, and that this run has not given out before."""
    while True:
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            port = probe.getsockname()[1]
        if port not in _given:
            _given.add(port)
            return port


def wait_until(condition, seconds, what):
    """Polls until `condition()` is true; its last value or exception explains a failure."""
    end = time.monotonic() + seconds
    last = None
    while True:
        try:
            last = condition()
            if last:
                return last
        except (OSError, ConnectionError) as error:
            last = error
        if time.monotonic() > end:
            raise AssertionError(f"not within {seconds} s: {what} (last: {last!r})")
        time.sleep(0.01)


class Metrics(dict):
    """{(name, ((label, value), ...)): value}"""

    def total(self, name, **labels):
        """The sum over all series of a name that carry these labels; it must exist."""
        found = [value for (series, have), value in self.items()
                 if series == name and set(labels.items()) <= set(have)]
        assert found, f"no series {name} {labels}; have {sorted({n for n, _ in self})}"
        return sum(found)


def parse_metrics(text):
    metrics = Metrics()
    for line in text.splitlines():
        if match := re.fullmatch(r'([\w:]+)(?:\{(.*)\})? (\S+)', line):
            labels = tuple(sorted(re.findall(r'(\w+)="((?:[^"\\]|\\.)*)"', match.group(2) or "")))
            metrics[(match.group(1), labels)] = float(match.group(3))
    return metrics


class Process:
    count = 0

    def __init__(self, *args, env=None):
        Process.count += 1
        self.log = LOGS / f"{Process.count:03d}-{args[0]}.log"
        with open(self.log, "wb") as out:
            self.popen = subprocess.Popen([BINARY, *map(str, args)], stdout=out,
                                          stderr=subprocess.STDOUT, stdin=subprocess.DEVNULL,
                                          env=dict(os.environ, **(env or {})))

    @property
    def pid(self):
        return self.popen.pid

    def wait_ready(self, port, path):
        def ready():
            assert self.popen.poll() is None, f"ended with {self.popen.returncode}:\n{self.output()}"
            return wire.ask(port, "GET", path).status == 200
        wait_until(ready, 20, f"{self.log.name} answers {path}")

    def output(self):
        return self.log.read_text(errors="replace")[-4000:]

    def kill9(self):
        self.popen.kill()
        self.popen.wait()

    def pause(self):
        os.kill(self.pid, signal.SIGSTOP)

    def resume(self):
        os.kill(self.pid, signal.SIGCONT)

    def terminate(self):
        self.popen.terminate()
        return self.popen.wait(20)

    def close(self):
        if self.popen.poll() is None:
            self.resume()
            self.popen.terminate()
            try:
                self.popen.wait(10)
            except subprocess.TimeoutExpired:
                self.kill9()

    def rss(self):
        status = pathlib.Path(f"/proc/{self.pid}/status").read_text()
        return int(re.search(r"VmRSS:\s+(\d+) kB", status).group(1)) * 1024

    def sockets(self):
        links = []
        for fd in pathlib.Path(f"/proc/{self.pid}/fd").iterdir():
            try:
                links.append(os.readlink(fd))
            except FileNotFoundError:
                pass
        return sum(link.startswith("socket:") for link in links)


class Engine(Process):
    def __init__(self, *flags, env=None, wait=True, port=None):
        self.port = port or free_port()
        super().__init__("engine", "--model", "tiny-model", "--served-model-name", "tiny",
                         "--host", "127.0.0.1", "--port", self.port, *flags, env=env)
        if wait:
            self.wait_ready(self.port, "/health")

    @property
    def url(self):
        return f"http://127.0.0.1:{self.port}"

    def metrics(self):
        return parse_metrics(wire.ask(self.port, "GET", "/metrics").body.decode())

    def running(self):
        metrics = self.metrics()
        return metrics.total("vllm:num_requests_running") + metrics.total("vllm:num_requests_waiting")

    def blocks_in_use(self):
        return self.metrics().total("vllm:kv_cache_usage_perc")


class Router(Process):
    def __init__(self, backends, *flags, policy="round-robin", wait=True):
        self.port, self.metrics_port = free_port(), free_port()
        args = [flag for backend in backends for flag in ("--backend", backend)]
        if "--drain-delay" not in flags:
            flags += ("--drain-delay", "0s")  # no load balancer lags here
        if policy is not None:
            flags += ("--policy", policy)
        super().__init__("router", *args, "--host", "127.0.0.1", "--port", self.port,
                         "--metrics-port", self.metrics_port, "--debug-port", 0, *flags)
        if wait:
            self.wait_ready(self.port, "/readyz")
            if backends:
                wait_until(lambda: len(self.models()) > 0, 10, "the router lists a model")

    @property
    def url(self):
        return f"http://127.0.0.1:{self.port}"

    def models(self):
        return wire.ask(self.port, "GET", "/v1/models").json()["data"]

    def metrics(self):
        return parse_metrics(self.exposition().decode())

    def exposition(self):
        return wire.ask(self.metrics_port, "GET", "/metrics").body
