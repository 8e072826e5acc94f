"""Hostile peers on either side, by the table in attacks.py, and what others make of what is forwarded.

Each attack has its verdict there. Whatever was forwarded, nginx and uvicorn must frame in the same way;
and so must they, if they take them at all, the bytes that the client sent: else one of them in front of
the router could be made to smuggle.
"""

import hashlib
import json
import socket
import ssl
import time

import pytest

import attacks
import certificates
import fleet
import oracles
import wire
from fake_engine import FakeEngine, response

CLOSE_DEADLINE = 8.0


def echo(call):
    """Answers with what only this request can be answered with."""
    call.send(response({"echo": hashlib.sha256(call.body).hexdigest()}))


@pytest.fixture(scope="module")
def engine():
    with FakeEngine(echo) as fake:
        yield fake


@pytest.fixture(scope="module")
def router(engine):
    router = fleet.Router([engine.url], "--head-timeout", "300ms", "--idle-timeout", "500ms")
    yield router
    router.close()


@pytest.fixture(scope="module")
def judges():
    started = oracles.start_all()
    yield started
    for oracle in started:
        oracle.close()


def parse_answer(data):
    """(status, body, rest) of the first answer in `data`, which is well formed to the byte."""
    head, mark, rest = data.partition(b"\r\n\r\n")
    assert mark, f"no whole head: {data[:200]!r}"
    lines = head.split(b"\r\n")
    version, status, _ = lines[0].split(b" ", 2)
    assert version == b"HTTP/1.1" and len(status) == 3, lines[0]
    fields = {}
    for line in lines[1:]:
        name, colon, value = line.partition(b": ")
        assert colon and name.strip() == name, line
        assert name.lower() not in fields, f"twice: {name}"
        fields[name.lower()] = value
    assert b"transfer-encoding" not in fields
    length = int(fields[b"content-length"])
    assert len(rest) >= length, f"the body is cut: {data!r}"
    return int(status), rest[:length], rest[length:]


def read_to_end(connection):
    """All bytes until the router closes in order."""
    connection.socket.settimeout(CLOSE_DEADLINE)
    data = b""
    while chunk := connection.socket.recv(65536):
        data += chunk
    return data


def send(connection, case):
    try:
        if not case.pause:
            connection.send(case.send)
        for at in range(len(case.send) if case.pause else 0):
            connection.send(case.send[at : at + 1])
            time.sleep(case.pause)
        if case.half_close:
            connection.socket.shutdown(socket.SHUT_WR)
    except (BrokenPipeError, ConnectionResetError):
        pass  # refused before the end


def check_answers(answers, case, calls):
    assert [status for status, _ in answers] == case.verdict
    echoes = [json.loads(body)["echo"] for _, body in answers if b'"echo"' in body]
    assert echoes == [hashlib.sha256(call.body).hexdigest() for call in calls]
    for status, body in answers:
        if status >= 400:
            assert json.loads(body)["error"]["message"]


@pytest.mark.parametrize("case", attacks.ATTACKS, ids=lambda case: f"{case.kind}: {case.name}"[:80])
def test_a_hostile_client(router, engine, judges, case):
    before = len(engine.calls)
    with wire.Connection(router.port) as connection:
        send(connection, case)
        if case.keeps:
            answers = []
            for _ in case.verdict:
                answer = connection.read_response()
                assert answer.clean
                answers.append((answer.status, answer.body))
            assert connection.buffer == b""
        else:
            data, answers = read_to_end(connection), []
            while data:
                status, body, data = parse_answer(data)
                answers.append((status, body))
        check_answers(answers, case, engine.calls[before:])
        if case.keeps:  # what follows on the same connection is answered by itself
            body = dict(json.loads(attacks.BODY), user=case.name)
            connection.send(wire.request_bytes("POST", "/v1/chat/completions", body))
            want = hashlib.sha256(json.dumps(body).encode()).hexdigest()
            assert connection.read_response().json() == {"echo": want}
            engine.calls.pop()
    calls = engine.calls[before:]
    want = [oracles.frame_of(call.method, call.path, call.body) for call in calls]
    for judge in judges:
        for call, frame in zip(calls, want):
            framed = judge.frames(call.raw)
            # A refusal is for size alone: h11 takes heads of up to 16 KiB.
            assert framed == [frame] or (framed == [None] and len(call.raw) > 16 << 10), judge.name
        if case.keeps and case.verdict == [200] * len(calls):
            framed = judge.frames(case.send)
            taken = framed[:-1] if framed and framed[-1] is None else framed
            assert [frame[2:] for frame in taken] == [frame[2:] for frame in want[: len(taken)]], judge.name


@pytest.mark.parametrize("name", attacks.HANDSHAKES)
def test_tls_garbage(secure_router, name):
    router, authority = secure_router
    with wire.Connection(router.port) as connection:
        try:
            connection.send(attacks.HANDSHAKES[name])
        except OSError:
            pass
        try:
            data = read_to_end(connection)
        except ConnectionResetError:
            data = b""
        assert b"HTTP" not in data and len(data) < 5000, data
    context = ssl.create_default_context(cafile=authority.path)
    with socket.create_connection(("127.0.0.1", router.port), timeout=5) as plain:
        with context.wrap_socket(plain, server_hostname="router.example") as secure:
            secure.sendall(b"GET /healthz HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")
            assert secure.recv(100).startswith(b"HTTP/1.1 200 ")


@pytest.fixture(scope="module")
def secure_router(engine, tmp_path_factory):
    folder = tmp_path_factory.mktemp("tls")
    authority = certificates.Authority(folder)
    cert, key = authority.issue("router", "DNS:router.example")
    router = fleet.Router(
        [engine.url],
        "--tls-cert",
        cert,
        "--tls-key",
        key,
        "--head-timeout",
        "300ms",
        "--idle-timeout",
        "500ms",
        wait=False,
    )
    router.wait_ready(router.metrics_port, "/readyz")
    yield router, authority
    router.close()


class HostileEngine:
    """Answers requests that name no canary with the bytes of the case."""

    case = None

    def __call__(self, call):
        if b"canary" in call.body:
            return echo(call)
        call.send(self.case.send)
        if self.case.then == "close":
            call.close()
        if self.case.then == "reset":
            time.sleep(0.005)  # else the reset may overtake what was sent
            call.reset()


@pytest.fixture(scope="module")
def hostile():
    behaviour = HostileEngine()
    with FakeEngine(behaviour) as fake:
        router = fleet.Router([fake.url])
        yield behaviour, router
        router.close()


def canary(connection, text):
    body = dict(json.loads(attacks.BODY), user=f"canary {text}")
    connection.send(wire.request_bytes("POST", "/v1/chat/completions", body))
    want = hashlib.sha256(json.dumps(body).encode()).hexdigest()
    assert connection.read_response().json() == {"echo": want}


@pytest.mark.parametrize("case", attacks.ANSWERS, ids=lambda case: case.name)
def test_a_hostile_engine(hostile, case):
    behaviour, router = hostile
    behaviour.case = case
    with wire.Connection(router.port) as bystander, wire.Connection(router.port) as client:
        canary(bystander, "before")
        client.send(attacks.WHOLE)
        try:
            answer = client.read_response()
        except ConnectionError:
            answer = None
        if case.verdict == attacks.CUT:
            assert answer is None or not answer.clean, answer.body
        else:
            assert answer is not None and answer.clean and answer.status == case.verdict
            if answer.status == 502:
                assert answer.json()["error"]["code"] == "replica_failed"
            if answer.status == 200:
                assert answer.body == b"{}"
            canary(client, "after")
        canary(bystander, "after")
