"""What the Kthena router answered to 23 requests, asked of ours with static back ends: the same status,
and the same words inside our error object, unless kthena_exchanges.json says what was decided and why.

The recording is not part of this repository: FAIRLEAD_CAPTURES names the folder that has
kthena-router/exchanges.json. Without it this file is left out (conftest.py).
"""
import json
import os
import pathlib
import re

import pytest

import fleet
import replay
import wire

CAPTURE = pathlib.Path(os.environ["FAIRLEAD_CAPTURES"]) / "kthena-router" / "exchanges.json"
COUNT = 23  # the others are these again, and what is no request of a client
RECORDED = [replay.Recorded(e) for e in json.loads(CAPTURE.read_text())[:COUNT]]
HEADERS = {r.name: [tuple(h.split(": ", 1)) for h in e["headers"]]
           for r, e in zip(RECORDED, json.loads(CAPTURE.read_text()))}
DECIDED = {entry["exchange"]: entry for entry in json.loads(
    (fleet.ROOT / "tests" / "e2e" / "kthena_exchanges.json").read_text())}
MODELS = {"tiny-route": "tiny", "gone-route": "gone"}
UUID = re.compile(r"\b(chatcmpl|cmpl)-([0-9a-f]{8})-([0-9a-f]{4})-([0-9a-f]{4})-([0-9a-f]{4})-([0-9a-f]{12})")


@pytest.fixture(scope="module")
def router():
    """One engine that serves, one that listed its model and then died."""
    engine = fleet.Engine("--enable-prefix-caching", "--block-size", "16", "--sim-speed", "20",
                          "--enable-prompt-tokens-details")
    gone = fleet.Engine("--served-model-name", "gone")
    router = fleet.Router([engine.url, gone.url])
    fleet.wait_until(lambda: len(router.models()) == 2, 10, "both models")
    gone.kill9()
    yield router
    for process in (router, engine, gone):
        process.close()


def ask(router, recorded):
    body = recorded.body
    if isinstance(body, dict):
        body = dict(body, model=MODELS[body["model"]]) if body.get("model") in MODELS else body
        body = json.dumps(body)
    return wire.ask(router.port, recorded.method, recorded.path,
                    None if body is None else body.encode(), HEADERS[recorded.name])


def message_of(answer):
    error = answer.json()["error"]
    assert set(error) == {"message", "type", "param", "code"}, "an object that OpenAI's clients read"
    return error["message"]


def check_same(recorded, answer):
    assert answer.status == recorded.status and answer.clean, answer.body
    text = UUID.sub(lambda m: m.group(1) + "-" + "".join(m.groups()[1:]), recorded.text)
    if recorded.headers["Content-Type"].startswith("text/event-stream"):
        events = [e.strip().removeprefix("data: ") for e in re.split(r"\n\n+", text) if e.strip()]
        assert replay.compare_events(events, answer.events(), False) == []
    elif recorded.status == 200:
        assert replay.compare_json(json.loads(text), answer.json(), False) == []
    else:
        words = json.loads(text) if text.startswith('"') else text
        assert words in message_of(answer)


@pytest.mark.parametrize("recorded", [r for r in RECORDED if DECIDED[r.name]["verdict"] != "later"],
                         ids=lambda r: r.name)
def test_an_exchange(recorded, router):
    entry, answer = DECIDED[recorded.name], ask(router, recorded)
    if entry["verdict"] == "same":
        return check_same(recorded, answer)
    assert answer.status == entry["status"]
    if "text" in entry:
        assert entry["text"] in message_of(answer)
    else:
        assert [m["id"] for m in answer.json()["data"]] == ["tiny", "gone"]
        assert answer.json()["object"] == "list"


def test_every_exchange_is_decided():
    assert [r.name for r in RECORDED] == list(DECIDED)
    for entry in DECIDED.values():
        assert entry["verdict"] in ("same", "decided", "later"), entry
        assert entry["verdict"] == "same" or entry["reason"], entry
