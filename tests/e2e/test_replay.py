"""Every exchange recorded from vLLM 0.20.2, replayed against the engine and through a router."""
import fnmatch
import json

import pytest

import fleet
import replay
import wire

FIXTURES = fleet.ROOT / "tests" / "fixtures" / "vllm-0.20.2"
BIG = [replay.Recorded(e) for e in json.loads((FIXTURES / "exchanges.json").read_text())]
SMALL = [replay.Recorded(e) for e in
         json.loads((FIXTURES / "exchanges_small_cache.json").read_text())["exchanges"]]
EXCEPTIONS = json.loads((fleet.ROOT / "tests" / "e2e" / "replay_exceptions.json").read_text())
FORWARDED = ("/v1/chat/completions", "/v1/completions", "/tokenize", "/detokenize")
used = set()


def send(port, recorded):
    body = recorded.body
    if body is not None:
        body = body.encode() if isinstance(body, str) else json.dumps(body).encode()
    headers = [("x-request-id", recorded.request_id)] if recorded.request_id else []
    return wire.ask(port, recorded.method, recorded.path, body, headers)


def check(recorded, answer, server):
    left = []
    for path, text in replay.compare(recorded, answer):
        for i, known in enumerate(EXCEPTIONS):
            if fnmatch.fnmatchcase(recorded.name, known["exchange"].replace("[", "[[]")) and \
                    fnmatch.fnmatchcase(path, known["path"].replace("[", "[[]")) and \
                    server in known.get("on", "engine router"):
                used.add(i)
                break
        else:
            left.append(f"{path}: {text}")
    assert not left, f"{recorded.name} on {server}:\n" + "\n".join(left)


def test_the_comparison_finds_differences():
    chat = BIG[0]
    answer = wire.Response(200, "OK", dict(chat.headers), chat.text.encode(), True)
    assert replay.compare(chat, answer) == []
    for old, new in (('"object":"chat', '"objec":"chat'), ('"index":0', '"index":"0"'),
                     ('"role":"assistant","content"', '"content":"","role"'), ("length", "stop"),
                     ('"refusal":null,', ""), ('"tool_calls":[]', '"tool_calls":[1]')):
        assert old in chat.text
        answer.body = chat.text.replace(old, new, 1).encode()
        try:
            assert replay.compare(chat, answer), f"{new} is not noticed"
        except json.JSONDecodeError:
            pass
    stream = BIG[3]
    events = stream.text.rstrip("\n").split("\n\n")
    for broken in (events[1:], events[:-1], events[:2] + events[3:], [events[1]] + events[1:]):
        answer = wire.Response(200, "OK", dict(stream.headers), "".join(e + "\n\n" for e in broken)
                               .encode(), True)
        assert replay.compare(stream, answer)
    answer.status = 500
    assert replay.compare(stream, answer)


@pytest.fixture(scope="module")
def big_engine():
    engine = fleet.Engine("--enable-prefix-caching", "--block-size", "16", "--max-model-len", "8192",
                          "--sim-speed", "20")
    yield engine
    engine.close()


@pytest.fixture(scope="module")
def big_router(big_engine):
    router = fleet.Router([big_engine.url])
    yield router
    router.close()


@pytest.mark.parametrize("recorded", BIG, ids=lambda r: r.name)
def test_replay(recorded, big_engine):
    check(recorded, send(big_engine.port, recorded), "engine")


@pytest.mark.parametrize("recorded", [r for r in BIG if r.path in FORWARDED and r.method == "POST"],
                         ids=lambda r: r.name)
def test_replay_through_the_router(recorded, big_router):
    check(recorded, send(big_router.port, recorded), "router")


def test_replay_of_the_small_cache_in_order(start):
    """In order on one fresh engine: what is cached, evicted and salted shows in cached_tokens."""
    engine = start(fleet.Engine, "--num-gpu-blocks-override", "40", "--max-model-len", "512",
                   "--enable-prompt-tokens-details", "--sim-speed", "20",
                   env={"VLLM_SERVER_DEV_MODE": "1"})
    for recorded in SMALL:
        check(recorded, send(engine.port, recorded), "engine")


def test_every_exception_is_needed():
    """Runs last in this file: an entry that nothing used any more is to be removed."""
    assert [EXCEPTIONS[i] for i in range(len(EXCEPTIONS)) if i not in used] == []
    assert all(entry["reason"] for entry in EXCEPTIONS)
