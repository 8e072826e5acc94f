"""Who may ask a router and an engine, and who they believe is asking: keys, pages, clients behind proxies."""
import hashlib
import json

import openai
import pytest

import fake_engine
import fleet
import wire
from fake_engine import FakeEngine, response

KEY, OTHER = "sk-of-a-client-1", "sk-of-a-client-2"
PAGE = ("Origin", "https://chat.example")


def bearer(key):
    return [("Authorization", f"Bearer {key}")]


def sdk(port, key, **options):
    return openai.OpenAI(base_url=f"http://127.0.0.1:{port}/v1", api_key=key, max_retries=0, **options)


def complete(client):
    return client.chat.completions.create(model="tiny", max_tokens=2,
                                          messages=[{"role": "user", "content": "hi"}])


@pytest.fixture
def fake():
    with FakeEngine(lambda call: call.send(response(fake_engine.COMPLETION))) as engine:
        yield engine


def start_router(start, backends, *flags, key=None):
    """Without waiting for models where listing them needs a key."""
    router = start(fleet.Router, backends, *flags, wait=False)
    router.wait_ready(router.port, "/readyz")
    fleet.wait_until(lambda: wire.ask(router.port, "GET", "/v1/models", None,
                                      bearer(key) if key else []).json()["data"], 10, "a model")
    return router


def test_a_client_without_a_key_gets_the_sdks_authentication_error(start, tmp_path):
    engine = start(fleet.Engine)
    keys = tmp_path / "keys"
    keys.write_text(f"# clients\n{KEY}\nsha256:{hashlib.sha256(OTHER.encode()).hexdigest()}\n")
    router = start_router(start, [engine.url], "--api-key-file", keys, key=KEY)
    for key in (KEY, OTHER):
        assert complete(sdk(router.port, key)).choices
    with pytest.raises(openai.AuthenticationError) as error:
        complete(sdk(router.port, "sk-of-nobody"))
    assert error.value.status_code == 401 and error.value.code == "invalid_api_key"
    assert wire.ask(router.port, "GET", "/v1/models").status == 401
    for path in ("/healthz", "/readyz"):
        assert wire.ask(router.port, "GET", path).status == 200
    assert wire.ask(router.metrics_port, "GET", "/metrics").status == 200
    # A change is taken over; one that is no good is not.
    keys.write_text(OTHER + "\n")
    fleet.wait_until(lambda: wire.ask(router.port, "GET", "/v1/models", None, bearer(KEY)).status == 401,
                     5, "the key is refused")
    keys.write_text("not a key\n")
    fleet.wait_until(lambda: router.metrics().total("fairlead_api_key_file_errors_total") == 1, 5,
                     "the file is refused")
    assert complete(sdk(router.port, OTHER)).choices
    router.terminate()
    said = router.log.read_text()
    assert "the keys of clients stay as they were" in said
    assert "sk-of" not in said and "not a key" not in said


def test_a_router_shows_an_engine_its_key(start, tmp_path):
    engine = start(fleet.Engine, "--api-key", "sk-of-the-engine", env={"VLLM_API_KEY": "unused"})
    with pytest.raises(openai.AuthenticationError):
        complete(sdk(engine.port, "sk-of-nobody"))
    assert wire.ask(engine.port, "GET", "/health").status == 200
    keys = tmp_path / "keys"
    keys.write_text(KEY)
    secret = tmp_path / "engine_key"
    secret.write_text("sk-of-the-engine\n")
    router = start_router(start, [engine.url], "--api-key-file", keys, "--backend-api-key-file",
                          secret, key=KEY)
    assert complete(sdk(router.port, KEY)).choices
    with pytest.raises(openai.AuthenticationError):
        complete(sdk(router.port, "sk-of-the-engine"))
    router.terminate()
    assert "sk-of" not in router.log.read_text()


def test_a_router_without_the_engines_key_finds_no_model(start):
    engine = start(fleet.Engine, "--api-key", "sk-of-the-engine")
    router = start(fleet.Router, [engine.url], wait=False)
    router.wait_ready(router.port, "/readyz")
    assert wire.ask(router.port, "GET", "/v1/models").json()["data"] == []
    assert wire.chat(router.port).status == 404


def test_it_does_not_start_without_the_keys(start, tmp_path):
    keys = tmp_path / "keys"
    keys.write_text("# nobody\n")
    for path in (keys, tmp_path / "missing"):
        router = start(fleet.Router, ["http://127.0.0.1:1"], "--api-key-file", path, wait=False)
        assert router.popen.wait(10) != 0
        assert "--api-key-file" in router.output() and str(path) in router.output()


def test_a_client_behind_a_trusted_proxy(start, fake):
    router = start(fleet.Router, [fake.url], "--trusted-proxies", "127.0.0.0/8,fd00::/8",
                   "--access-log", "json")
    sent = [("X-Forwarded-For", "198.51.100.1, 203.0.113.5"), ("X-Forwarded-For", "127.0.0.9")]
    assert wire.chat(router.port, headers=sent).status == 200
    assert fake.calls[-1].headers["x-forwarded-for"] == "203.0.113.5, 127.0.0.9, 127.0.0.1"
    router.terminate()
    lines = [json.loads(line) for line in router.output().splitlines() if line.startswith("{")]
    # Each loop writes its own lines, so that their order among loops says nothing.
    asked = [line for line in lines if line["path"] == "/v1/chat/completions"]
    assert [line["client_ip"] for line in asked] == ["203.0.113.5"]


def test_a_client_that_makes_up_its_address(start, fake):
    router = start(fleet.Router, [fake.url], "--access-log", "json")
    assert wire.chat(router.port, headers=[("X-Forwarded-For", "203.0.113.5")]).status == 200
    assert fake.calls[-1].headers["x-forwarded-for"] == "127.0.0.1"
    router.terminate()
    lines = [json.loads(line) for line in router.output().splitlines() if line.startswith("{")]
    assert lines[-1]["client_ip"] == "127.0.0.1"


def test_a_page_in_a_browser(start, tmp_path):
    """What a browser checks before a page may use OpenAI's client: the preflight, then the answer."""
    engine = start(fleet.Engine)
    keys = tmp_path / "keys"
    keys.write_text(KEY)
    router = start_router(start, [engine.url], "--api-key-file", keys, "--cors-origins",
                          "https://chat.example", key=KEY)
    wanted = "authorization,content-type,x-stainless-lang,x-stainless-retry-count"
    preflight = wire.ask(router.port, "OPTIONS", "/v1/chat/completions", None, [
        PAGE, ("Access-Control-Request-Method", "POST"), ("Access-Control-Request-Headers", wanted)])
    assert 200 <= preflight.status < 300
    assert preflight.headers["access-control-allow-origin"] == PAGE[1]
    assert "POST" in preflight.headers["access-control-allow-methods"]
    assert set(wanted.split(",")) <= set(preflight.headers["access-control-allow-headers"].split(","))
    for stream in (False, True):
        answer = wire.chat(router.port, stream=stream, max_tokens=2, headers=[PAGE, *bearer(KEY)])
        assert answer.status == 200
        assert answer.headers["access-control-allow-origin"] == PAGE[1]
        assert "x-request-id" in answer.headers["access-control-expose-headers"]
    refused = wire.chat(router.port, headers=[PAGE])
    assert refused.status == 401 and refused.headers["access-control-allow-origin"] == PAGE[1]


def test_wrong_lists_end_the_start(start):
    for flags in (("--trusted-proxies", "10.1.2.3/8"), ("--cors-origins", "chat.example")):
        router = start(fleet.Router, ["http://127.0.0.1:1"], *flags, wait=False)
        assert router.popen.wait(10) == 2
        assert flags[0] in router.output() and flags[1] in router.output()
