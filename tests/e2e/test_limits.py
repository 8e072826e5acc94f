"""Limits at the limit and one past it, and answers cut at every byte."""
import json
import time

import pytest

import fake_engine
import fleet
import wire
from fake_engine import FakeEngine, response, whole_stream

BODY_MAX = 64 << 20


def padded_body(size):
    head = b'{"model":"tiny","messages":[{"role":"user","content":"'
    tail = b'"}]}'
    return head + b"a" * (size - len(head) - len(tail)) + tail


@pytest.fixture
def fake():
    with FakeEngine(lambda call: call.send(response(fake_engine.COMPLETION))) as engine:
        yield engine


def test_a_body_of_64_mib_passes_unchanged(start, fake):
    router = start(fleet.Router, [fake.url])
    body = padded_body(BODY_MAX)
    assert wire.ask(router.port, "POST", "/v1/chat/completions", body).status == 200
    assert fake.calls[0].body == body


def test_one_byte_more_is_413(start, fake):
    router = start(fleet.Router, [fake.url])
    body = padded_body(BODY_MAX + 1)
    with wire.Connection(router.port) as client:
        # By its length: refused before the body is sent.
        client.send(wire.request_bytes("POST", "/v1/chat/completions", body)[:1000])
        answer = client.read_response()
        assert answer.status == 413 and answer.json()["error"]["message"]
    assert fake.calls == []


def test_one_byte_more_in_chunks_is_413(start, fake):
    router = start(fleet.Router, [fake.url])
    body = padded_body(BODY_MAX + 1)
    with wire.Connection(router.port) as client:
        client.send(b"POST /v1/chat/completions HTTP/1.1\r\nHost: x\r\n"
                    b"Content-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n")
        try:
            for at in range(0, len(body), 1 << 20):
                client.send(fake_engine.chunk(body[at:at + (1 << 20)]))
            client.send(b"0\r\n\r\n")
        except OSError:
            pass  # refused before the end
        answer = client.read_response()
        assert answer.status == 413 and answer.json()["error"]["message"]
    assert fake.calls == []


def test_64_mib_in_chunks_pass(start, fake):
    router = start(fleet.Router, [fake.url])
    body = padded_body(BODY_MAX)
    with wire.Connection(router.port) as client:
        client.send(b"POST /v1/chat/completions HTTP/1.1\r\nHost: x\r\n"
                    b"Content-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n")
        for at in range(0, len(body), 1 << 20):
            client.send(fake_engine.chunk(body[at:at + (1 << 20)]))
        client.send(b"0\r\n\r\n")
        assert client.read_response().status == 200
    assert fake.calls[0].body == body


def test_expect_100_continue(start, fake):
    router = start(fleet.Router, [fake.url])
    body = padded_body(1000)
    request = wire.request_bytes("POST", "/v1/chat/completions", body, [
        ("Expect", "100-continue"), ("Content-Length", str(len(body)))])
    with wire.Connection(router.port) as client:
        client.send(request[:-len(body)])
        assert client.read_head()[0] == 100
        client.send(body)
        assert client.read_response().status == 200
    too_big = wire.request_bytes("POST", "/v1/chat/completions", b"", [
        ("Expect", "100-continue"), ("Content-Length", str(BODY_MAX + 1))])
    with wire.Connection(router.port) as client:
        client.send(too_big)
        assert client.read_head()[0] == 413


def test_pipelined_requests_are_answered_in_order(start, fake):
    router = start(fleet.Router, [fake.url])
    with wire.Connection(router.port) as client:
        one = wire.request_bytes("POST", "/v1/chat/completions", padded_body(500))
        client.send(one + wire.request_bytes("GET", "/v1/models") + one)
        kinds = [client.read_response().json()["object"] for _ in range(3)]
    assert kinds == ["chat.completion", "list", "chat.completion"]


def test_a_whole_answer_cut_at_every_byte(start):
    answer_bytes = response(fake_engine.COMPLETION)
    cut = 0

    def behaviour(call):
        call.send(answer_bytes[:cut])
        time.sleep(0.001)
        call.send(answer_bytes[cut:])

    with FakeEngine(behaviour) as fake:
        router = start(fleet.Router, [fake.url])
        with wire.Connection(router.port) as client:
            for cut in range(1, len(answer_bytes)):
                client.send(wire.request_bytes("POST", "/v1/chat/completions", padded_body(200)))
                answer = client.read_response()
                assert answer.status == 200, cut
                assert answer.json() == fake_engine.COMPLETION, cut
        assert len(fake.calls) == len(answer_bytes) - 1  # none was tried twice


def test_a_stream_cut_at_every_byte(start):
    stream = whole_stream(2)
    cut = 0

    def behaviour(call):
        call.send(stream[:cut])
        time.sleep(0.001)
        call.send(stream[cut:])

    want = None
    with FakeEngine(behaviour) as fake:
        router = start(fleet.Router, [fake.url])
        with wire.Connection(router.port) as client:
            for cut in range(1, len(stream)):
                client.send(wire.request_bytes("POST", "/v1/chat/completions", {
                    "model": "tiny", "stream": True,
                    "messages": [{"role": "user", "content": "hi"}]}))
                answer = client.read_response()
                assert answer.status == 200 and answer.clean, cut
                want = want or answer.body
                assert answer.body == want and answer.events()[-1] == "[DONE]", cut
        assert len(fake.calls) == len(stream) - 1


def test_a_stream_sent_byte_by_byte(start):
    stream = whole_stream(2)

    def behaviour(call):
        for i in range(len(stream)):
            call.send(stream[i:i + 1])

    with FakeEngine(behaviour) as fake:
        router = start(fleet.Router, [fake.url])
        answer = wire.chat(router.port, stream=True)
        assert answer.clean and len(answer.events()) == 4


def test_a_request_cut_at_every_byte(start, fake):
    router = start(fleet.Router, [fake.url])
    request = wire.request_bytes("POST", "/v1/chat/completions", padded_body(120))
    with wire.Connection(router.port) as client:
        for cut in range(1, len(request)):
            client.send(request[:cut])
            time.sleep(0.001)
            client.send(request[cut:])
            assert client.read_response().status == 200, cut


@pytest.mark.parametrize("body, routed", [
    (b'{"model":"nope","messages":[],"model":"tiny"}', True),
    (b'{"model":"tiny","messages":[],"model":"nope"}', False),
    (b'{"m\\u006fdel":"tiny","messages":[]}', True),
    (b'{"model":"nope","x":{"model":"tiny"},"messages":[]}', False),
    (b'{"x":[{"model":"nope"}],"model":"t\\u0069ny","messages":[]}', True),
], ids=["last-wins", "last-is-unknown", "escaped-key", "nested-is-no-key", "escaped-value"])
def test_a_repeated_model_key_the_last_one_wins(start, fake, body, routed):
    router = start(fleet.Router, [fake.url])
    answer = wire.ask(router.port, "POST", "/v1/chat/completions", body)
    if routed:
        assert answer.status == 200
        assert fake.calls[0].body == body  # the engine sees the same bytes, so the same last key
    else:
        assert answer.status == 404 and answer.json()["error"]["message"]
        assert fake.calls == []


@pytest.mark.parametrize("request_bytes", [
    b"POST /v1/chat/completions HTTP/1.1\r\nHost: x\r\nContent-Length: 2\r\nContent-Length: 3\r\n\r\n{}",
    b"POST /v1/chat/completions HTTP/1.1\r\nHost: x\r\nContent-Length: 2\r\n"
    b"Transfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
    b"POST /v1/chat/completions HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: gzip, chunked\r\n\r\n",
    b"POST /v1/chat/completions HTTP/1.1\r\nHost: x\r\nA: b\r\n c\r\nContent-Length: 2\r\n\r\n{}",
    b"POST /v1/chat/completions HTTP/1.1\nHost: x\nContent-Length: 2\n\n{}",
    b"POST /v1/chat/completions HTTP/1.1\r\nHost: x\r\nContent-Length : 2\r\n\r\n{}",
    b"POST /v1/chat/completions HTTP/1.1\r\nHost: x\r\nContent-Length: +2\r\n\r\n{}",
    b"POST /v1/chat/completions HTTP/1.1\r\nContent-Length: 2\r\n\r\n{}",
], ids=["two-lengths", "length-and-chunked", "other-encoding", "folding", "bare-lf", "space-before-colon",
        "signed-length", "no-host"])
def test_ambiguous_framing_is_refused(start, fake, request_bytes):
    router = start(fleet.Router, [fake.url])
    with wire.Connection(router.port) as client:
        client.send(request_bytes)
        status, _, _ = client.read_head()
        assert 400 <= status < 502
    assert fake.calls == []


def test_paths_and_methods(start, fake):
    router = start(fleet.Router, [fake.url])
    assert wire.ask(router.port, "GET", "/v1/nothing").status == 404
    answer = wire.ask(router.port, "GET", "/v1/chat/completions")
    assert answer.status == 405 and answer.headers["allow"] == "POST"
    assert wire.ask(router.port, "POST", "/v1/chat/completions", b"{}", [
        ("Content-Encoding", "gzip")]).status == 415
    assert wire.ask(router.port, "POST", "/v1/chat/completions", b"{not json").status == 400
    assert fake.calls == []


def test_credentials_do_not_reach_an_engine(start, fake):
    router = start(fleet.Router, [fake.url])
    assert wire.chat(router.port, headers=[("Authorization", "Bearer secret")]).status == 200
    assert "authorization" not in fake.calls[0].headers


def test_the_bytes_of_a_request_reach_the_engine_unchanged(start, fake):
    router = start(fleet.Router, [fake.url])
    body = ('{ "unknown" : 1.10e+2 ,"messages":[{"content":"\\u00e9 é","role":"user"}],\n'
            '"model":"tiny","seed":12345678901234567890}').encode()
    assert wire.ask(router.port, "POST", "/v1/chat/completions", body).status == 200
    assert fake.calls[0].body == body
    assert json.loads(fake.calls[0].body)["seed"] == 12345678901234567890
