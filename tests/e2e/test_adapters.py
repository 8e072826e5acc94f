"""LoRA adapters, embeddings, sleep and wake: the OpenAI SDK for Python and vLLM's own endpoints."""
import base64
import math
import struct

import openai
import pytest

import fleet
import wire

RUNTIME_LORA = {"VLLM_ALLOW_RUNTIME_LORA_UPDATING": "1"}
HELLO = [{"role": "user", "content": "Say hello."}]


def client_of(server):
    return openai.OpenAI(base_url=server.url + "/v1", api_key="unused", max_retries=0, timeout=30)


def post(server, path, body=b""):
    return wire.ask(server.port, "POST", path, body)


def ask(client, model, tokens=8):
    return client.chat.completions.create(model=model, messages=HELLO, max_tokens=tokens)


def test_adapters_load_list_answer_and_unload(start):
    engine = start(fleet.Engine, "--enable-lora", "--sim-speed", "20", env=RUNTIME_LORA)
    client = client_of(engine)
    added = post(engine, "/v1/load_lora_adapter", {"lora_name": "sql", "lora_path": "/adapters/sql"})
    assert (added.status, added.body) == (200, b"Success: LoRA adapter 'sql' added successfully.")
    cards = {card.id: card for card in client.models.list()}
    assert set(cards) == {"tiny", "sql"}
    assert cards["sql"].parent == "tiny" and cards["sql"].root == "/adapters/sql"
    answer = ask(client, "sql")
    assert answer.model == "sql"
    assert answer.choices[0].message.content != ask(client, "tiny").choices[0].message.content
    again = post(engine, "/v1/load_lora_adapter", {"lora_name": "sql", "lora_path": "/adapters/sql"})
    assert again.status == 400 and again.json()["error"]["type"] == "InvalidUserInput"
    assert 'running_lora_adapters="sql"' in wire.ask(engine.port, "GET", "/metrics").body.decode()
    removed = post(engine, "/v1/unload_lora_adapter", {"lora_name": "sql"})
    assert removed.body == b"Success: LoRA adapter 'sql' removed successfully."
    with pytest.raises(openai.NotFoundError, match="The model `sql` does not exist."):
        ask(client, "sql")
    assert post(engine, "/v1/unload_lora_adapter", {"lora_name": "sql"}).status == 404


def test_a_router_sends_requests_where_their_adapter_is(start):
    with_sql = start(fleet.Engine, "--enable-lora", "--lora-modules", "sql=/a", "--sim-speed", "20")
    without = start(fleet.Engine, "--sim-speed", "20")
    router = start(fleet.Router, [with_sql.url, without.url])
    fleet.wait_until(lambda: {m["id"] for m in router.models()} == {"tiny", "sql"}, 10, "both listed")
    client = client_of(router)
    for _ in range(6):
        assert ask(client, "sql").model == "sql"
    assert with_sql.metrics().total("vllm:request_success_total") == 6
    assert without.metrics().total("vllm:request_success_total") == 0
    with pytest.raises(openai.NotFoundError):
        ask(client, "poet")


@pytest.fixture(scope="module")
def embedder():
    engine = fleet.Engine("--runner", "pooling", "--sim-embedding-size", "256",
                          "--hf-overrides", '{"is_matryoshka": true}')
    yield engine
    engine.close()


@pytest.fixture(scope="module")
def embedder_router(embedder):
    router = fleet.Router([embedder.url])
    yield router
    router.close()


@pytest.fixture(params=["embedder", "embedder_router"])
def embeddings(request):
    return client_of(request.getfixturevalue(request.param)).embeddings


def test_embeddings(embeddings):
    answer = embeddings.create(model="tiny", input=["the quick brown fox", "a quick brown fox", "tax"])
    assert answer.object == "list" and answer.model == "tiny"
    assert [item.index for item in answer.data] == [0, 1, 2]
    vectors = [item.embedding for item in answer.data]  # base64 on the wire: the SDK's default
    assert all(len(vector) == 256 for vector in vectors)
    assert all(math.isclose(sum(x * x for x in v), 1, rel_tol=1e-4) for v in vectors)
    near, far = (sum(a * b for a, b in zip(vectors[0], vectors[i])) for i in (1, 2))
    assert near > far
    assert answer.usage.prompt_tokens == answer.usage.total_tokens > 3


def test_embeddings_as_numbers_are_those_in_base64(embeddings):
    numbers = embeddings.create(model="tiny", input="hi", encoding_format="float")
    text = embeddings.create(model="tiny", input="hi", encoding_format="base64")
    raw = text.data[0].embedding
    decoded = struct.unpack("<256f", base64.b64decode(raw)) if isinstance(raw, str) else raw
    assert list(decoded) == pytest.approx(numbers.data[0].embedding)


def test_embeddings_of_tokens_and_of_a_size(embeddings):
    assert embeddings.create(model="tiny", input=[1, 2, 3]).usage.prompt_tokens == 3
    assert len(embeddings.create(model="tiny", input="hi", dimensions=64).data[0].embedding) == 64


def test_wrong_embedding_requests_are_refused(embeddings):
    with pytest.raises(openai.BadRequestError, match="at least one prompt"):
        embeddings.create(model="tiny", input=[])
    with pytest.raises(openai.NotFoundError):
        embeddings.create(model="nope", input="hi")


def test_an_engine_sleeps_and_wakes(start):
    engine = start(fleet.Engine, "--sim-speed", "20", env={"VLLM_SERVER_DEV_MODE": "1"})
    client = client_of(engine)
    ask(client, "tiny")
    assert post(engine, "/sleep?level=1").status == 200
    assert wire.ask(engine.port, "GET", "/is_sleeping").json() == {"is_sleeping": True}
    assert wire.ask(engine.port, "GET", "/health").status == 200
    assert engine.metrics().total("vllm:engine_sleep_state", sleep_state="weights_offloaded") == 1
    with pytest.raises(openai.APITimeoutError):
        client.with_options(timeout=0.5).chat.completions.create(model="tiny", messages=HELLO)
    assert post(engine, "/wake_up?tags=weights").status == 200
    assert wire.ask(engine.port, "GET", "/is_sleeping").json() == {"is_sleeping": True}
    assert post(engine, "/wake_up?tags=kv_cache").status == 200
    assert wire.ask(engine.port, "GET", "/is_sleeping").json() == {"is_sleeping": False}
    assert ask(client, "tiny").usage.completion_tokens == 8
    assert engine.metrics().total("vllm:engine_sleep_state", sleep_state="awake") == 1
