"""A restart without a gap: routers hand their listening sockets over under steady load."""
import pathlib
import tempfile
import threading
import time

import pytest

import fleet
import wire

RESTARTS = 5


class Load:
    """Clients that ask without a pause until they are stopped; none may see anything fail."""

    def __init__(self, port):
        self.port, self.stopping = port, threading.Event()
        self.served = {"fresh": 0, "kept": 0, "stream": 0}
        self.failures = []
        kinds = [("fresh", self._fresh)] * 3 + [("kept", self._kept)] * 3 + [("stream", self._stream)] * 2
        self.threads = [threading.Thread(target=self._run, args=kind) for kind in kinds]
        for thread in self.threads:
            thread.start()

    def stop(self):
        self.stopping.set()
        for thread in self.threads:
            thread.join(30)
        assert not any(thread.is_alive() for thread in self.threads), "a client hangs"

    def _run(self, kind, ask):
        connection = None
        while not self.stopping.is_set():
            try:
                connection = ask(connection)
                self.served[kind] += 1
            except Exception as error:  # refused, reset, cut off, a wrong status: all of it counts
                self.failures.append(f"{kind}: {error!r}")
                connection = None
        if connection:
            connection.close()

    def _fresh(self, _):
        answer = wire.chat(self.port, max_tokens=2)
        assert answer.status == 200 and answer.clean, answer.status

    def _kept(self, connection):
        connection = connection or wire.Connection(self.port)
        connection.send(wire.request_bytes("POST", "/v1/chat/completions", {
            "model": "tiny", "max_tokens": 2, "messages": [{"role": "user", "content": "hi"}]}))
        answer = connection.read_response()
        assert answer.status == 200 and answer.clean, answer.status
        if answer.headers.get("connection") == "close":
            connection.close()
            return None
        return connection

    def _stream(self, _):
        answer = wire.chat(self.port, stream=True, max_tokens=40)
        assert answer.status == 200 and answer.clean and answer.events()[-1] == "[DONE]"


class Generations:
    """Routers on the same ports, one after the other."""

    def __init__(self, start, engines):
        self.start, self.engines = start, engines
        self.port, self.metrics_port, self.debug_port = (fleet.free_port() for _ in range(3))
        self.path = tempfile.mkdtemp(prefix="fairlead-handover.") + "/socket"

    def next(self, *flags):
        backends = [word for engine in self.engines for word in ("--backend", engine.url)]
        return self.start(fleet.Process, "router", *backends, "--host", "127.0.0.1",
                          "--port", self.port, "--metrics-port", self.metrics_port,
                          "--debug-port", self.debug_port, "--handover", self.path,
                          "--drain-delay", "500ms", *flags)


@pytest.fixture
def generations(start):
    engines = [start(fleet.Engine, "--sim-speed", "20") for _ in range(2)]
    return Generations(start, engines)


def test_five_restarts_under_load_fail_no_request(generations):
    router = generations.next("--loops", 2)
    router.wait_ready(generations.port, "/readyz")
    load = Load(generations.port)
    try:
        # Other numbers of loops, too: sockets without a loop of their own must not be forgotten.
        for loops in (2, 1, 4, 3, 2)[:RESTARTS]:
            time.sleep(0.5)  # of load on this generation
            old, router = router, generations.next("--loops", loops)
            fleet.wait_until(lambda: old.popen.poll() is not None, 30, "the old router has drained")
            assert old.popen.returncode == 0, old.output()
            assert router.popen.poll() is None, router.output()
        time.sleep(0.5)
    finally:
        load.stop()
    assert load.failures == []
    print("served:", load.served)
    assert min(load.served.values()) > 5 * RESTARTS, load.served
    # The last one serves all ports.
    router.wait_ready(generations.metrics_port, "/readyz")
    assert wire.ask(generations.debug_port, "GET", "/drain").json()["process"] == router.pid


def test_a_new_router_that_cannot_start_changes_nothing(generations):
    router = generations.next()
    router.wait_ready(generations.port, "/readyz")
    load = Load(generations.port)
    try:
        failed = generations.next("--config", "/nowhere.yaml")
        assert failed.popen.wait(10) == 1
        time.sleep(0.3)
        assert router.popen.poll() is None
        assert wire.ask(generations.port, "GET", "/readyz").status == 200
    finally:
        load.stop()
    assert load.failures == []
    # And the next one may try.
    following = generations.next()
    fleet.wait_until(lambda: router.popen.poll() is not None, 30, "the old router has drained")
    following.wait_ready(generations.port, "/readyz")


def test_a_long_stream_ends_in_the_old_router(generations):
    router = generations.next()
    router.wait_ready(generations.port, "/readyz")
    with wire.Connection(generations.port) as client:
        client.send(wire.request_bytes("POST", "/v1/chat/completions", {
            "model": "tiny", "stream": True, "max_tokens": 2000,
            "messages": [{"role": "user", "content": "long"}]}))
        status, _, _ = client.read_head()
        assert status == 200
        following = generations.next()
        following.wait_ready(generations.port, "/readyz")
        fleet.wait_until(lambda: wire.ask(generations.debug_port, "GET", "/drain").json()["process"]
                         == following.pid, 10, "the new one has the ports")
        assert router.popen.poll() is None, "it has a stream to finish"
        body = b""
        while chunk := client.read_chunk():
            body += chunk
        assert body.endswith(b"data: [DONE]\n\n")
    fleet.wait_until(lambda: router.popen.poll() is not None, 10, "the old router ends")
    assert router.popen.returncode == 0


def test_a_router_that_stops_takes_its_socket_with_it(generations):
    router = generations.next()
    router.wait_ready(generations.port, "/readyz")
    fleet.wait_until(lambda: pathlib.Path(generations.path).exists(), 5, "it can be asked")
    assert router.terminate() == 0
    assert not pathlib.Path(generations.path).exists()
    # What a killed one leaves behind does not hinder the next.
    killed = generations.next()
    killed.wait_ready(generations.port, "/readyz")
    killed.kill9()
    generations.next().wait_ready(generations.port, "/readyz")
