"""More than replicas can take, posts that never end, and names without end."""
import concurrent.futures
import resource
import threading
import time

import pytest

import fake_engine
import fleet
import wire
from fake_engine import FakeEngine, response

MIB = 1 << 20


@pytest.fixture
def fake():
    with FakeEngine(lambda call: call.send(response(fake_engine.COMPLETION))) as engine:
        yield engine


def test_what_no_replica_has_room_for_waits_or_is_turned_away(start):
    release = threading.Event()

    def slow(call):
        release.wait(20)
        call.send(response(fake_engine.COMPLETION))

    with FakeEngine(slow) as one, FakeEngine(slow) as two:
        router = start(fleet.Router, [one.url, two.url], "--backend-requests-max", 2,
                       "--queue-requests-max", 3)
        with concurrent.futures.ThreadPoolExecutor(7) as pool:
            served = [pool.submit(wire.chat, router.port) for _ in range(7)]
            fleet.wait_until(lambda: router.metrics().total("fairlead_queue_requests") == 3, 10,
                             "four run and three wait")
            assert len(one.calls) == 2 and len(two.calls) == 2
            for _ in range(5):
                refused = wire.chat(router.port)
                error = refused.json()["error"]
                assert refused.status == 503 and error["code"] == "overloaded", error
                assert int(refused.headers["retry-after"]) >= 1
            assert wire.ask(router.metrics_port, "GET", "/readyz").status == 200
            release.set()
            assert [answer.result().status for answer in served] == [200] * 7
        metrics = router.metrics()
        assert metrics.total("fairlead_requests_shed_total", reason="queue_requests") == 5
        assert metrics.total("fairlead_queue_wait_seconds_count", outcome="served") == 3
        assert metrics.total("fairlead_queue_requests") == 0


def test_a_thousand_slow_posters_of_64_mib_cost_what_they_send(start, fake):
    posters = 1000
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if hard != resource.RLIM_INFINITY and hard < posters + 200:
        pytest.skip(f"{hard} open files are not enough for {posters} connections")
    resource.setrlimit(resource.RLIMIT_NOFILE, (max(soft, posters + 200), hard))
    # Enough for one of them altogether, and for the little that each sends.
    router = start(fleet.Router, [fake.url], "--held-bytes-max", "192MiB")
    assert wire.chat(router.port).status == 200
    before = router.rss()
    head = (f"POST /v1/chat/completions HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n"
            f"Content-Length: {64 * MIB}\r\n\r\n").encode()
    clients = []
    try:
        for _ in range(posters):
            clients.append(wire.Connection(router.port))
            clients[-1].send(head + b'{"model":"tiny","prompt":"' + b"x" * 4096)
        for client in clients[::50]:
            client.send(b"y" * 4096)
        fleet.wait_until(lambda: router.metrics().total("fairlead_connections") >= posters, 10,
                         "all are connected")
        growth = router.rss() - before
        print(f"{posters} posters: {growth / MIB:.1f} MiB")
        assert growth < 80 * MIB
        held = router.metrics().total("fairlead_held_body_bytes")
        assert 0 < held < 128 * MIB, held
        # Others are served meanwhile, also with a body that is no small one.
        body = b'{"model":"tiny","prompt":"' + b"z" * MIB + b'"}'
        assert wire.ask(router.port, "POST", "/v1/completions", body).status == 200
    finally:
        for client in clients:
            client.close()
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
    fleet.wait_until(lambda: router.metrics().total("fairlead_held_body_bytes") == 0, 15,
                     "nothing is held any more")


def test_prompts_names_and_users_without_end_do_not_grow_it(start, fake):
    router = start(fleet.Router, [fake.url], "--index-bytes-max", "64KiB", policy="prefix-cache")

    def rounds(first, count):
        with wire.Connection(router.port) as client:
            for i in range(first, first + count):
                known = wire.request_bytes("POST", "/v1/chat/completions", {
                    "model": "tiny", "user": f"user-{i}",
                    "messages": [{"role": "user", "content": f"{i} " * 500}]},
                    [("X-Session-ID", f"s{i}"), ("X-Request-Id", f"r{i}")])
                unknown = wire.request_bytes("POST", "/v1/completions",
                                             {"model": f"model-{i}", "prompt": "x"})
                client.send(known + unknown)
                assert client.read_response().status == 200
                assert client.read_response().status == 404
            del fake.calls[:]

    # Past every bound: 8,192 pairs in the index (some 10 a prompt), 500 models told apart.
    rounds(0, 1500)
    time.sleep(0.3)
    before, exposed = router.rss(), len(router.exposition().splitlines())
    rounds(1500, 3000)
    growth = router.rss() - before
    print(f"growth: {growth / 1024:.0f} KiB")
    assert growth < 2 * MIB
    assert router.metrics().total("kthena_router_prefix_cache_entries") <= 64 * 1024 / 8
    text = router.exposition().decode()
    assert abs(len(text.splitlines()) - exposed) < 20
    assert "user-" not in text and "model-1" not in text


def test_a_low_limit_of_open_files_is_raised_or_named(start, fake):
    router = start(fleet.Router, [fake.url])
    soft, hard = resource.prlimit(router.pid, resource.RLIMIT_NOFILE)
    assert soft == min(hard, 1 << 20) or hard == resource.RLIM_INFINITY
    assert ("few files may be open" in router.log.read_text()) == (0 <= soft < 1 << 16)
