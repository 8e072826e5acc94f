"""`fairlead drain`: a router stops without cutting anything off."""
import signal
import subprocess
import threading

import fleet
import wire


def drain(*words, timeout=30):
    return subprocess.run([fleet.BINARY, "drain", *map(str, words)], capture_output=True, text=True,
                          timeout=timeout)


def router_with_debug_port(start, engine, *flags):
    port = fleet.free_port()
    router = start(fleet.Router, [engine.url], "--debug-port", port, *flags)
    router.debug_port = port
    return router


def begin_stream(port, tokens):
    client = wire.Connection(port)
    client.send(wire.request_bytes("POST", "/v1/chat/completions", {
        "model": "tiny", "stream": True, "max_tokens": tokens,
        "messages": [{"role": "user", "content": "hi"}]}))
    assert client.read_head()[0] == 200
    return client


def rest_of_stream(client):
    body = b""
    while chunk := client.read_chunk():
        body += chunk
    return body


def test_it_waits_until_what_runs_has_finished(start, plain_engine):
    router = router_with_debug_port(start, plain_engine, "--drain-delay", "1s")
    client = begin_stream(router.port, 1500)
    outcome = []
    command = threading.Thread(
        target=lambda: outcome.append(drain(f"http://127.0.0.1:{router.debug_port}")))
    command.start()
    fleet.wait_until(lambda: wire.ask(router.port, "GET", "/readyz").status == 503, 5, "not ready")
    assert wire.ask(router.metrics_port, "GET", "/readyz").status == 503
    assert wire.chat(router.port, max_tokens=1).status == 200  # load balancers notice late
    # A second time, and the signal that follows a preStop hook: nothing is cut off.
    assert drain(f"http://127.0.0.1:{router.debug_port}", "--no-wait").returncode == 0
    router.popen.send_signal(signal.SIGTERM)
    assert rest_of_stream(client).endswith(b"data: [DONE]\n\n")
    client.close()
    command.join(30)
    assert router.popen.wait(10) == 0, router.output()
    lines = outcome[0].stdout.splitlines()
    assert outcome[0].returncode == 0, outcome[0]
    assert "/readyz says no; requests to go: 1" in lines[0], lines
    assert lines[-1].endswith("has stopped"), lines


def test_it_says_what_is_wrong(start, plain_engine):
    router = router_with_debug_port(start, plain_engine)
    nobody = drain(f"http://127.0.0.1:{fleet.free_port()}")
    assert nobody.returncode == 1 and "--debug-port" in nobody.stderr, nobody
    other = drain(f"http://127.0.0.1:{router.metrics_port}")
    assert other.returncode == 1 and "it answers 404" in other.stderr, other
    engine = drain(plain_engine.url)
    assert engine.returncode == 1 and "does not drain" in engine.stderr, engine
    for words in ([], ["--no-wait"], ["ftp://x"], ["http://127.0.0.1:1", "--timeot", "1s"]):
        wrong = drain(*words)
        assert wrong.returncode == 2 and wrong.stderr, words
    assert wire.ask(router.port, "GET", "/readyz").status == 200


def test_it_gives_up_in_time_and_the_router_goes_on(start, plain_engine):
    router = router_with_debug_port(start, plain_engine)
    client = begin_stream(router.port, 3000)
    late = drain(f"http://127.0.0.1:{router.debug_port}", "--timeout", "500ms")
    assert late.returncode == 1 and "still running (1)" in late.stderr, late
    assert router.popen.poll() is None
    client.close()
    assert router.popen.wait(10) == 0
