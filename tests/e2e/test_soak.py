"""1,000 rounds of everything that can go wrong; afterwards nothing is held."""
import random
import time

import fake_engine
import fleet
import wire
from fake_engine import STREAM_HEAD, FakeEngine, chunk, delta, response, whole_stream

ROUNDS = 1000
RSS_GROWTH_MAX = 5 << 20


def misbehave(call):
    """What the request's text asks for, except that a second try is answered well."""
    text = call.body
    again = sum(other.body == text for other in call.fake.shared) > 1
    call.fake.shared.append(call)
    if again or b"good" in text:
        call.send(whole_stream() if b'"stream": true' in text else response(fake_engine.COMPLETION))
    elif b"reset-mid-stream" in text:
        call.send(STREAM_HEAD + chunk(delta("one")))
        call.reset()
    elif b"reset-at-once" in text:
        call.reset()
    elif b"close-mid-body" in text:
        call.send(response(fake_engine.COMPLETION)[:-3])
        call.close()
    elif b"status-5xx" in text:
        call.send(response({"error": {"message": "no"}}, "503 Service Unavailable"))
    elif b"status-4xx" in text:
        call.send(response({"error": {"message": "no"}}, "400 Bad Request"))
    elif b"first-event-error" in text:
        call.send(STREAM_HEAD + chunk(b'data: {"error":{"message":"x"}}\n\n') + chunk(b""))
    elif b"hold" in text:
        call.wait_for_client_to_leave()


def one_round(number, router, engine_router):
    kinds = ("good", "reset-mid-stream", "reset-at-once", "close-mid-body", "status-5xx", "status-4xx",
             "first-event-error", "hold", "engine-whole", "engine-leave", "bad-request")
    kind = kinds[number % len(kinds)]
    stream = kind in ("reset-mid-stream", "first-event-error", "hold") or number % 2 == 0
    text = f"{kind} {number}"
    if kind == "engine-whole":
        answer = wire.chat(engine_router.port, text, stream=stream, max_tokens=5)
        assert answer.status == 200 and answer.clean
    elif kind in ("hold", "engine-leave"):
        port = (router if kind == "hold" else engine_router).port
        client = wire.Connection(port)
        client.send(wire.request_bytes("POST", "/v1/chat/completions", {
            "model": "tiny", "stream": True, "max_tokens": 4000,
            "messages": [{"role": "user", "content": text}]}))
        if kind == "engine-leave":
            client.read_head()
        else:
            time.sleep(0.002)
        client.reset() if number % 4 == 0 else client.close()
    elif kind == "bad-request":
        with wire.Connection(router.port) as client:
            client.send(b"POST /v1/chat/completions HTTP/1.1\r\nContent-Length: x\r\n\r\n")
            assert 400 <= client.read_head()[0] < 500
    else:
        wire.chat(router.port, text, stream=stream)


def test_after_a_thousand_rounds_nothing_is_held(start):
    seen = []
    with FakeEngine(misbehave) as one, FakeEngine(misbehave) as two:
        one.shared = two.shared = seen
        engines = [start(fleet.Engine, "--sim-speed", "20") for _ in range(2)]
        router = start(fleet.Router, [one.url, two.url], policy="prefix-cache")
        engine_router = start(fleet.Router, [engine.url for engine in engines], policy="prefix-cache")
        processes = [router, engine_router, *engines]
        order = list(range(ROUNDS))
        random.Random(7).shuffle(order)
        for number in order[:44]:  # every kind has been through, so what is allocated once, is
            one_round(number, router, engine_router)
        settle(router, engine_router, engines)
        rss = [process.rss() for process in processes]
        sockets = [process.sockets() for process in processes]
        for number in order:
            one_round(number, router, engine_router)
            del seen[:-50]
        settle(router, engine_router, engines)
        # The rounds did what they say: requests moved, clients left, answers broke off.
        metrics = router.metrics()
        assert metrics.total("fairlead_retries_total") > ROUNDS / 20
        assert metrics.total("fairlead_upstream_failures_total") > ROUNDS / 10
        assert metrics.total("fairlead_requests_cancelled_total") > ROUNDS / 20
        assert metrics.total("fairlead_requests_total") > ROUNDS / 2
        growth = [process.rss() - before for process, before in zip(processes, rss)]
        print("growth in KiB:", [g // 1024 for g in growth])
        assert max(growth) <= RSS_GROWTH_MAX, [f"{g / 2**20:.1f} MiB" for g in growth]
        # Idle pooled connections may stay, as many as there were; none accumulate.
        for process, before in zip(processes, sockets):
            assert process.sockets() <= before + 4, (process.log.name, before, process.sockets())
    for process in processes:
        assert process.terminate() == 0, process.output()


def settle(router, engine_router, engines):
    for each in (router, engine_router):
        for name in ("fairlead_requests_in_flight", "fairlead_reservations", "fairlead_connections"):
            fleet.wait_until(lambda: each.metrics().total(name) <= 0, 15, f"{name} is zero")
    for engine in engines:
        fleet.wait_until(lambda: engine.running() == 0 and engine.blocks_in_use() == 0, 15,
                         "no request and no block in use")
