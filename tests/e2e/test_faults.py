"""What a dead, hung, slow or lying engine, and a client that misbehaves, may cost: only itself."""
import concurrent.futures
import json
import threading
import time

import pytest

import fake_engine
import fleet
import wire
from fake_engine import DONE, STREAM_HEAD, FakeEngine, chunk, delta, response, whole_stream


def good(call):
    call.send(whole_stream() if b'"stream": true' in call.body else response(fake_engine.COMPLETION))


def error_of(answer):
    error = answer.json()["error"]
    assert isinstance(error["message"], str) and error["message"] and "type" in error
    return error


def assert_broken_stream(answer, started_with):
    """An SSE answer whose engine died: what came, then an error event, then [DONE], a clean end."""
    assert answer.status == 200 and answer.clean
    events = answer.events()
    assert json.loads(events[0]) == started_with if started_with else True
    assert events[-1] == "[DONE]", events
    assert json.loads(events[-2])["error"]["message"], events
    return events


def assert_idle(router):
    metrics = router.metrics
    fleet.wait_until(lambda: metrics().total("fairlead_requests_in_flight") == 0, 5,
                     "no request is in flight")


# ---- engines that end ----------------------------------------------------------------------------

def test_engine_killed_mid_stream_ends_with_an_error_event(start):
    engine = start(fleet.Engine)
    router = start(fleet.Router, [engine.url])
    with wire.Connection(router.port) as client:
        body = {"model": "tiny", "stream": True, "max_tokens": 4000,
                "messages": [{"role": "user", "content": "hi"}]}
        client.send(wire.request_bytes("POST", "/v1/chat/completions", body))
        status, _, _ = client.read_head()
        assert status == 200
        stream = b"".join(client.read_chunk() for _ in range(4))
        engine.kill9()
        while data := client.read_chunk():
            stream += data
    events = [e for e in stream.decode().split("\n\n") if e]
    assert events[-1] == "data: [DONE]"
    assert json.loads(events[-2].removeprefix("data: "))["error"]["message"]
    assert_idle(router)


def test_requests_of_a_killed_engine_move_before_their_first_byte(start):
    # Two slow engines: all requests are in prefill when one is killed.
    engines = [start(fleet.Engine, "--sim-speed", "0.02") for _ in range(2)]
    router = start(fleet.Router, [engine.url for engine in engines])
    prompt = "word " * 200
    with concurrent.futures.ThreadPoolExecutor(8) as pool:
        answers = [pool.submit(wire.chat, router.port, f"{i} {prompt}", max_tokens=1)
                   for i in range(8)]
        fleet.wait_until(lambda: all(engine.running() >= 3 for engine in engines), 5,
                         "both engines have requests")
        engines[0].kill9()
        assert [answer.result().status for answer in answers] == [200] * 8
    assert_idle(router)


def test_unanswered_requests_of_a_stopped_engine_move_within_3_s(start):
    engines = [start(fleet.Engine, "--sim-speed", "20") for _ in range(2)]
    router = start(fleet.Router, [engine.url for engine in engines])
    for i in range(4):  # connections to both are warm
        assert wire.chat(router.port, f"warm {i}", max_tokens=1).status == 200
    engines[0].pause()

    def one(i):
        begun = time.monotonic()
        answer = wire.chat(router.port, f"request {i}", max_tokens=1)
        return answer.status, time.monotonic() - begun

    with concurrent.futures.ThreadPoolExecutor(10) as pool:
        results = list(pool.map(one, range(10)))
    assert [status for status, _ in results] == [200] * 10
    assert max(seconds for _, seconds in results) <= 3.0, results
    # While it is stopped nothing waits for it; when it goes on it is used again.
    begun = time.monotonic()
    for i in range(6):
        assert wire.chat(router.port, f"later {i}", max_tokens=1).status == 200
    assert time.monotonic() - begun < 1.5
    engines[0].resume()
    served = lambda: engines[0].metrics().total("vllm:request_success_total")
    before = served()

    def used_again():
        assert wire.chat(router.port, "again", max_tokens=1).status == 200
        return served() > before

    fleet.wait_until(used_again, 10, "the resumed engine serves again")


def test_reset_mid_stream_is_an_error_event(start):
    def behaviour(call):
        call.send(STREAM_HEAD + chunk(delta("one")))
        call.reset()

    with FakeEngine(behaviour) as fake:
        router = start(fleet.Router, [fake.url])
        answer = wire.chat(router.port, stream=True)
        assert_broken_stream(answer, json.loads(delta("one")[6:]))
        assert_idle(router)


@pytest.mark.parametrize("end", ["reset", "close"])
def test_engine_that_ends_in_mid_body_never_ends_cleanly(start, end):
    def behaviour(call):
        call.send(response(fake_engine.COMPLETION)[:-5])
        call.reset() if end == "reset" else call.close()

    with FakeEngine(behaviour) as fake:
        router = start(fleet.Router, [fake.url])
        answer = wire.chat(router.port)
        assert not answer.clean or answer.status >= 500
        assert_idle(router)


def test_reset_in_mid_event_keeps_the_events_whole(start):
    def behaviour(call):
        call.send(STREAM_HEAD + chunk(delta("one")) + chunk(delta("two")[:20]))
        call.close()

    with FakeEngine(behaviour) as fake:
        router = start(fleet.Router, [fake.url])
        answer = wire.chat(router.port, stream=True)
        assert answer.clean and answer.body.endswith(b"data: [DONE]\n\n")
        assert b'"error"' in answer.body
        # The cut event is ended by the blank line before the error, so that a parser resumes there.
        assert b'\n\ndata: {"error"' in answer.body


# ---- engines that answer wrongly -----------------------------------------------------------------

def test_5xx_moves_to_another_replica(start):
    bad = lambda call: call.send(response({"error": {"message": "broken"}},
                                          "503 Service Unavailable"))
    with FakeEngine(bad) as broken, FakeEngine(good) as healthy:
        router = start(fleet.Router, [broken.url, healthy.url])
        assert [wire.chat(router.port, f"{i}").status for i in range(6)] == [200] * 6
        assert len(healthy.calls) == 6 and len(broken.calls) >= 1
        assert_idle(router)


def test_5xx_of_the_only_replica_reaches_the_client_with_its_body(start):
    bad = lambda call: call.send(response({"error": {"message": "broken", "type": "x", "code": 500}},
                                          "500 Internal Server Error"))
    with FakeEngine(bad) as broken:
        router = start(fleet.Router, [broken.url])
        answer = wire.chat(router.port)
        assert answer.status in (500, 502, 503)
        error_of(answer)
        assert_idle(router)


@pytest.mark.parametrize("status", ["400 Bad Request", "404 Not Found", "422 Unprocessable Entity",
                                    "429 Too Many Requests"])
def test_4xx_is_the_clients_and_is_never_tried_again(start, status):
    body = {"error": {"message": "your fault", "type": "BadRequestError", "param": None, "code": 400}}
    with FakeEngine(lambda call: call.send(response(body, status))) as one, \
            FakeEngine(lambda call: call.send(response(body, status))) as two:
        router = start(fleet.Router, [one.url, two.url])
        answer = wire.chat(router.port)
        assert (f"{answer.status} {answer.reason}", answer.json()) == (status, body)
        assert len(one.calls) + len(two.calls) == 1


def test_error_as_first_event_moves_to_another_replica(start):
    event = b'data: {"error":{"message":"dead","type":"InternalServerError","code":500}}\n\n'
    bad = lambda call: call.send(STREAM_HEAD + chunk(event) + chunk(DONE) + chunk(b""))
    with FakeEngine(bad) as broken, FakeEngine(good) as healthy:
        router = start(fleet.Router, [broken.url, healthy.url])
        for i in range(4):
            answer = wire.chat(router.port, f"{i}", stream=True)
            assert answer.status == 200 and b'"error"' not in answer.body, answer.body
            assert answer.events()[-1] == "[DONE]"
        assert broken.calls and len(healthy.calls) == 4


def test_error_as_first_event_of_the_only_replica_is_an_error(start):
    event = b'data: {"error":{"message":"dead","type":"InternalServerError","code":500}}\n\n'
    bad = lambda call: call.send(STREAM_HEAD + chunk(event) + chunk(DONE) + chunk(b""))
    with FakeEngine(bad) as broken:
        router = start(fleet.Router, [broken.url])
        answer = wire.chat(router.port, stream=True)
        if answer.status == 200:
            assert '"error"' in answer.events()[0] and answer.events()[-1] == "[DONE]"
        else:
            assert answer.status >= 500
            error_of(answer)


@pytest.mark.parametrize("garbage", [
    b"nonsense\r\n\r\n",
    b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\nContent-Length: 6\r\n\r\nhello!",
    b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
    b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\nhello\r\n0\r\n\r\n",
    b"HTTP/1.1 200 OK\r\nX: " + b"a" * 300_000 + b"\r\n\r\n",
    b"",
], ids=["nonsense", "two-lengths", "length-and-chunked", "bad-chunk-size", "endless-head", "nothing"])
def test_an_engine_that_does_not_speak_http_is_left(start, garbage):
    def bad(call):
        call.send(garbage)
        call.close()

    with FakeEngine(bad) as broken, FakeEngine(good) as healthy:
        router = start(fleet.Router, [broken.url, healthy.url])
        assert [wire.chat(router.port, f"{i}").status for i in range(4)] == [200] * 4
        assert_idle(router)


def test_a_slow_head_and_a_slow_first_byte_are_waited_for(start):
    def slow(call):
        answer = whole_stream()
        for part in (answer[:10], answer[10:60], answer[60:len(STREAM_HEAD)]):
            call.send(part)
            time.sleep(0.4)
        call.send(answer[len(STREAM_HEAD):])

    with FakeEngine(slow) as fake:
        router = start(fleet.Router, [fake.url])
        answer = wire.chat(router.port, stream=True)
        assert answer.status == 200 and len(answer.events()) == 5
        assert len(fake.calls) == 1


def test_the_head_is_held_until_the_first_body_byte(start):
    """So an engine that dies in prefill after its head (vLLM sends it first) costs the client nothing."""
    def bad(call):
        call.send(STREAM_HEAD)
        time.sleep(0.2)
        call.reset()

    with FakeEngine(bad) as broken, FakeEngine(good) as healthy:
        router = start(fleet.Router, [broken.url, healthy.url])
        for i in range(4):
            answer = wire.chat(router.port, f"{i}", stream=True)
            assert answer.status == 200 and len(answer.events()) == 5
        assert broken.calls


def test_no_replica_is_a_503_with_retry_after(start):
    engine = start(fleet.Engine)
    router = start(fleet.Router, [engine.url])
    engine.kill9()
    answer = wire.chat(router.port)
    assert answer.status in (502, 503), answer.body
    error_of(answer)
    assert wire.ask(router.port, "GET", "/readyz").status == 200  # never depends on the back ends
    assert wire.ask(router.port, "GET", "/healthz").status == 200


# ---- clients that misbehave ----------------------------------------------------------------------

def test_a_client_that_leaves_during_prefill_frees_the_engine(start):
    engine = start(fleet.Engine, "--sim-speed", "0.2")  # a step of prefill takes about a second
    router = start(fleet.Router, [engine.url])
    for leave in (wire.Connection.close, wire.Connection.reset):
        client = wire.Connection(router.port)
        body = {"model": "tiny", "messages": [{"role": "user", "content": "word " * 3000}],
                "stream": True}
        client.send(wire.request_bytes("POST", "/v1/chat/completions", body))
        fleet.wait_until(lambda: engine.running() == 1, 5, "the engine has the request")
        leave(client)
        fleet.wait_until(lambda: engine.running() == 0, 5, "the engine drops it")
        assert_idle(router)
    assert engine.blocks_in_use() == 0


def test_a_client_that_leaves_mid_stream_frees_the_engine(start):
    engine = start(fleet.Engine)
    router = start(fleet.Router, [engine.url])
    for leave in (wire.Connection.close, wire.Connection.reset):
        client = wire.Connection(router.port)
        body = {"model": "tiny", "messages": [{"role": "user", "content": "hi"}], "stream": True,
                "max_tokens": 5000}
        client.send(wire.request_bytes("POST", "/v1/chat/completions", body))
        client.read_head()
        client.read_chunk()
        leave(client)
        fleet.wait_until(lambda: engine.running() == 0, 5, "the engine drops it")
        assert_idle(router)
    assert engine.blocks_in_use() == 0


def test_a_stalled_client_holds_little_memory_and_nobody_else(start):
    """Backpressure: the engine's sends stop when the client does not read."""
    sent, big = [], b"data: " + b"x" * 65536 + b"\n\n"

    def flood(call):
        if b"flood" not in call.body:
            return good(call)
        call.connection.socket.settimeout(3)
        call.send(STREAM_HEAD + chunk(delta("first")))
        try:
            for _ in range(2000):  # 128 MiB
                call.send(chunk(big))
                sent.append(len(big))
        except TimeoutError:
            call.close()

    with FakeEngine(flood) as fake:
        router = start(fleet.Router, [fake.url])
        assert wire.chat(router.port).status == 200
        before = router.rss()
        client = wire.Connection(router.port, receive_buffer=4096)
        client.send(wire.request_bytes("POST", "/v1/chat/completions", {
            "model": "tiny", "stream": True, "messages": [{"role": "user", "content": "flood"}]}))
        client.read_head()
        settled = lambda: (len(sent), time.sleep(0.3), len(sent))
        fleet.wait_until(lambda: (now := settled())[0] == now[2] and now[0] > 0, 10, "the sender stalls")
        assert router.rss() - before < 4 << 20
        assert sum(sent) < 32 << 20
        begun = time.monotonic()
        assert [wire.chat(router.port, f"{i}").status for i in range(20)] == [200] * 20
        assert time.monotonic() - begun < 2
        client.close()
        assert_idle(router)


def test_a_client_that_sends_its_head_byte_by_byte_and_stalls_is_timed_out_or_harmless(start):
    engine = start(fleet.Engine, "--sim-speed", "20")
    router = start(fleet.Router, [engine.url])
    stalled = [wire.Connection(router.port) for _ in range(100)]
    for i, client in enumerate(stalled):
        client.send(b"POST /v1/chat/completions HTTP/1.1\r\nHost: x\r\n"[:5 + i % 40])
    assert wire.chat(router.port, max_tokens=1).status == 200
    for client in stalled:
        client.close()
    fleet.wait_until(lambda: router.sockets() < 50, 5, "their connections are gone")


# ---- the router itself ---------------------------------------------------------------------------

def test_sigterm_lets_requests_finish(start):
    engine = start(fleet.Engine)
    router = start(fleet.Router, [engine.url], "--drain-delay", "500ms")
    answers = []
    worker = threading.Thread(target=lambda: answers.append(
        wire.chat(router.port, stream=True, max_tokens=300)))
    worker.start()
    fleet.wait_until(lambda: engine.running() == 1, 5, "the request runs")
    router.popen.terminate()
    fleet.wait_until(lambda: wire.ask(router.port, "GET", "/readyz").status == 503, 2, "not ready")
    assert wire.chat(router.port, max_tokens=1).status == 200  # still taken: load balancers lag
    worker.join(20)
    assert answers[0].clean and answers[0].events()[-1] == "[DONE]"
    assert b'"error"' not in answers[0].body
    assert router.popen.wait(10) == 0


def test_a_port_in_use_is_named(start):
    engine = start(fleet.Engine)
    router = start(fleet.Router, [engine.url])
    second = fleet.Process("router", "--backend", engine.url, "--port", router.port,
                           "--metrics-port", fleet.free_port())
    assert second.popen.wait(10) != 0
    assert str(router.port) in second.output() and "in use" in second.output()
