"""TLS on both sides against implementations nobody here wrote: Python's ssl and the openssl command."""

import json
import os
import ssl
import subprocess
import time

import pytest

import certificates
import fake_engine
import fleet
import wire
from fake_engine import FakeEngine, response, whole_stream


@pytest.fixture(scope="module")
def authority(tmp_path_factory):
    return certificates.Authority(tmp_path_factory.mktemp("tls"))


@pytest.fixture
def fake():
    with FakeEngine(lambda call: call.send(response(fake_engine.COMPLETION))) as engine:
        yield engine


def start_router(start, authority, backends, *flags, name="router"):
    cert, key = authority.issue(name, "DNS:router.example,IP:127.0.0.1")
    router = start(fleet.Router, backends, "--tls-cert", cert, "--tls-key", key, *flags, wait=False)
    router.wait_ready(router.metrics_port, "/readyz")
    return router, cert, key


def client_context(authority):
    return ssl.create_default_context(cafile=authority.path)


def connect(port, context, name="router.example"):
    connection = wire.Connection(port)
    connection.socket = context.wrap_socket(connection.socket, server_hostname=name)
    return connection


def chat(connection, **fields):
    body = {"model": "tiny", "messages": [{"role": "user", "content": "hi"}], **fields}
    connection.send(wire.request_bytes("POST", "/v1/chat/completions", body))
    return connection.read_response()


def test_pythons_ssl_verifies_and_speaks_to_it(start, authority, fake):
    router, _, _ = start_router(start, authority, [fake.url])
    for version in (ssl.TLSVersion.TLSv1_2, ssl.TLSVersion.TLSv1_3):
        context = client_context(authority)
        context.minimum_version = context.maximum_version = version
        context.set_alpn_protocols(["h2", "http/1.1"])
        with connect(router.port, context) as client:
            assert client.socket.selected_alpn_protocol() == "http/1.1"
            for _ in range(3):
                assert chat(client).json() == fake_engine.COMPLETION
            client.socket = client.socket.unwrap()  # close_notify is answered with close_notify
    assert router.metrics().total("fairlead_tls_handshakes_total", result="ok") == 2


def test_openssl_verifies_it(start, authority, fake):
    router, _, _ = start_router(start, authority, [fake.url])
    run = subprocess.run(
        [
            "openssl",
            "s_client",
            "-connect",
            f"127.0.0.1:{router.port}",
            "-CAfile",
            authority.path,
            "-verify_return_error",
            "-verify_hostname",
            "router.example",
            "-alpn",
            "http/1.1",
            "-ign_eof",
        ],
        input=b"GET /v1/models HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n",
        capture_output=True,
        timeout=20,
    )
    assert run.returncode == 0, run.stderr
    assert b"Verify return code: 0 (ok)" in run.stdout and b"HTTP/1.1 200 OK" in run.stdout


def test_what_is_refused(start, authority, fake):
    router, _, _ = start_router(start, authority, [fake.url])
    old = client_context(authority)
    old.minimum_version, old.maximum_version = ssl.TLSVersion.TLSv1, ssl.TLSVersion.TLSv1_1
    old.set_ciphers("ALL:@SECLEVEL=0")
    other = client_context(authority)
    other.set_alpn_protocols(["h2"])
    for context in (old, other):
        with pytest.raises(ssl.SSLError):
            connect(router.port, context)
    answer = wire.ask(router.port, "GET", "/healthz")  # plain HTTP
    assert answer.status == 400 and answer.clean and answer.json()["error"]["code"] == "https_required"
    assert router.metrics().total("fairlead_tls_handshakes_total", result="failed") == 3


def test_a_handshake_and_a_request_byte_by_byte(start, authority, fake):
    router, _, _ = start_router(start, authority, [fake.url])
    incoming, outgoing = ssl.MemoryBIO(), ssl.MemoryBIO()
    secure = client_context(authority).wrap_bio(incoming, outgoing, server_hostname="router.example")
    with wire.Connection(router.port) as plain:

        def step(call):
            while True:
                try:
                    return call()
                except ssl.SSLWantReadError:
                    for byte in outgoing.read():
                        plain.send(bytes([byte]))
                    incoming.write(plain.socket.recv(1))

        step(secure.do_handshake)
        body = json.dumps({"model": "tiny", "messages": []}).encode()
        secure.write(wire.request_bytes("POST", "/v1/chat/completions", body))
        answer = step(lambda: secure.read(65536))
        assert answer.startswith(b"HTTP/1.1 200 OK")


def test_a_large_body_and_a_stream(start, authority):
    def behaviour(call):
        call.send(response({"length": len(call.body)}) if b'"big"' in call.body else whole_stream(50))

    with FakeEngine(behaviour) as fake:
        router, _, _ = start_router(start, authority, [fake.url])
        with connect(router.port, client_context(authority)) as client:
            answer = chat(client, big="x" * (20 << 20))
            assert answer.json()["length"] > 20 << 20
            answer = chat(client, stream=True)
            assert answer.clean and answer.events()[-1] == "[DONE]" and len(answer.events()) == 52


def test_a_client_that_leaves_cancels_its_request(start, authority):
    left = []

    def behaviour(call):
        call.send(fake_engine.STREAM_HEAD + fake_engine.chunk(fake_engine.delta("a")))
        left.append(call.wait_for_client_to_leave())

    with FakeEngine(behaviour) as fake:
        router, _, _ = start_router(start, authority, [fake.url])
        client = connect(router.port, client_context(authority))
        client.send(
            wire.request_bytes("POST", "/v1/chat/completions", {"model": "tiny", "messages": [], "stream": True})
        )
        client.read_head()
        client.close()
        fleet.wait_until(lambda: left == [True], 5, "the engine's request is cancelled")


def test_the_certificate_is_read_again(start, authority, fake):
    router, cert, key = start_router(start, authority, [fake.url], name="renewed")
    context = client_context(authority)
    before = connect(router.port, context)
    serial = before.socket.getpeercert()["serialNumber"]

    def current():
        with connect(router.port, context) as client:
            return client.socket.getpeercert()["serialNumber"]

    fresh_cert, fresh_key = authority.issue("fresh", "DNS:router.example")
    key.write_bytes(fresh_key.read_bytes())  # for a moment they do not go together
    time.sleep(1.5)
    assert current() == serial
    assert "the certificate stays as it was" in router.output()
    os.replace(fresh_cert, cert)
    fleet.wait_until(lambda: current() != serial, 5, "the new certificate is shown")
    assert chat(before).status == 200, "an old connection goes on"
    cert.write_text("rubbish")
    fleet.wait_until(lambda: router.metrics().total("fairlead_tls_certificate_errors_total") == 2, 5, "it says so")
    assert current() != serial
    before.close()


@pytest.fixture
def secure_engine(authority):
    def make(alternatives, behaviour=lambda call: call.send(response(fake_engine.COMPLETION)), days=30, by=None):
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(*(by or authority).issue(f"engine{len(engines)}", alternatives, days))
        engine = FakeEngine(behaviour, tls=context)
        engines.append(engine)
        return engine

    engines = []
    yield make
    for engine in engines:
        engine.__exit__()


def test_engines_are_verified(start, authority, secure_engine, tmp_path):
    good = secure_engine("IP:127.0.0.1")
    wrong = [
        secure_engine("IP:127.0.0.2"),
        secure_engine("DNS:localhost"),
        secure_engine("IP:127.0.0.1", days=-1),
        secure_engine("IP:127.0.0.1", by=certificates.Authority(tmp_path, "stranger")),
    ]
    router = start(fleet.Router, [engine.url for engine in [good, *wrong]], "--backend-ca-file", authority.path)
    for _ in range(10):
        assert wire.chat(router.port).json() == fake_engine.COMPLETION
    assert len(good.calls) == 10 and not any(engine.calls for engine in wrong)


def test_a_name_is_sent_and_verified(start, authority, secure_engine):
    engine = secure_engine("DNS:localhost")
    names = []
    engine.tls.sni_callback = lambda _, name, __: names.append(name)
    router = start(fleet.Router, [engine.url.replace("127.0.0.1", "localhost")], "--backend-ca-file", authority.path)
    assert wire.chat(router.port).status == 200
    assert set(names) == {"localhost"}


def test_the_systems_authorities_are_the_default(start, secure_engine):
    engine = secure_engine("IP:127.0.0.1")
    router = start(fleet.Router, [engine.url], wait=False)
    router.wait_ready(router.metrics_port, "/readyz")
    time.sleep(1)
    assert wire.chat(router.port).status in (404, 503) and not engine.calls


@pytest.mark.parametrize("said", [True, False], ids=["with close_notify", "without"])
def test_an_answer_that_ends_by_closing_needs_close_notify(start, authority, secure_engine, said):
    def behaviour(call):
        call.send(b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n\r\n{}")
        if said:
            call.connection.socket = call.connection.socket.unwrap()
        call.close()

    engine = secure_engine("IP:127.0.0.1", behaviour)
    router = start(fleet.Router, [engine.url], "--backend-ca-file", authority.path)
    try:
        answer = wire.chat(router.port)
        clean = answer.clean
    except ConnectionError:
        clean = False
    assert clean == said


@pytest.mark.parametrize(
    "flags, why",
    [
        (("--tls-cert", "CERT"), "--tls-cert and --tls-key go together"),
        (("--tls-cert", "CERT", "--tls-key", "CERT"), "the key: holds no private key"),
        (("--tls-cert", "KEY", "--tls-key", "KEY"), "the certificate: holds no certificate"),
        (("--tls-cert", "/nowhere", "--tls-key", "KEY"), "cannot read /nowhere"),
        (("--backend-ca-file", "KEY"), "--backend-ca-file"),
    ],
    ids=lambda value: None if isinstance(value, tuple) else value,
)
def test_it_does_not_start_with_what_is_wrong(authority, flags, why):
    cert, key = authority.issue("flags", "DNS:x")
    flags = [str({"CERT": cert, "KEY": key}.get(flag, flag)) for flag in flags]
    run = subprocess.run(
        [fleet.BINARY, "router", "--backend", "http://127.0.0.1:1", *flags], capture_output=True, text=True, timeout=20
    )
    assert run.returncode != 0 and why in run.stderr, run.stderr


def test_many_handshakes_that_stall_hold_nobody_up(start, authority, fake):
    router, _, _ = start_router(start, authority, [fake.url], "--head-timeout", "1s", "--loops", 1)
    stalled = []
    for i in range(300):
        stalled.append(wire.Connection(router.port))
        stalled[-1].send(b"\x16\x03\x01\x02\x00\x01"[: i % 7])
    with connect(router.port, client_context(authority)) as client:
        assert chat(client).status == 200
    for connection in stalled:
        connection.socket.settimeout(5)
        try:
            while connection.socket.recv(100):
                pass
        except ConnectionResetError:
            pass
        connection.close()
