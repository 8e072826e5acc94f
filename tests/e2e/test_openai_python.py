"""The OpenAI SDK for Python, unmodified, against the engine and against a router before it."""
import asyncio
import json
import time

import openai
import pytest

import fleet

WEATHER = [{"type": "function", "function": {
    "name": "get_weather", "description": "Weather of a city",
    "parameters": {"type": "object", "properties": {"city": {"type": "string"},
                                                    "days": {"type": "integer"}},
                   "required": ["city"]}}}]
HELLO = [{"role": "user", "content": "Say hello."}]


def client_of(server, **options):
    options = {"max_retries": 0, "timeout": 30, **options}
    return openai.OpenAI(base_url=server.url + "/v1", api_key="unused", **options)


@pytest.fixture(params=["tool_engine", "router"])
def client(request):
    return client_of(request.getfixturevalue(request.param))


@pytest.fixture(params=["plain_engine", "plain_router"])
def plain_client(request):
    return client_of(request.getfixturevalue(request.param))


def test_lists_the_model(client):
    models = list(client.models.list())
    assert [model.id for model in models] == ["tiny"]


def test_chat(client):
    answer = client.chat.completions.create(model="tiny", messages=HELLO, max_tokens=12)
    choice = answer.choices[0]
    assert answer.object == "chat.completion" and answer.model == "tiny"
    assert choice.message.role == "assistant" and choice.message.content
    assert choice.finish_reason == "length"
    assert answer.usage.completion_tokens == 12
    assert answer.usage.total_tokens == answer.usage.prompt_tokens + 12


def test_the_same_prompt_gives_the_same_text(client):
    ask = lambda: client.chat.completions.create(model="tiny", messages=HELLO, max_tokens=20)
    assert ask().choices[0].message.content == ask().choices[0].message.content


def test_chat_stream_is_the_whole_answer_token_by_token(client):
    whole = client.chat.completions.create(model="tiny", messages=HELLO, max_tokens=16)
    stream = client.chat.completions.create(model="tiny", messages=HELLO, max_tokens=16, stream=True,
                                            stream_options={"include_usage": True})
    chunks = list(stream)
    text = "".join(c.choices[0].delta.content or "" for c in chunks if c.choices)
    assert text == whole.choices[0].message.content
    assert chunks[0].choices[0].delta.role == "assistant"
    assert [c.choices[0].finish_reason for c in chunks if c.choices][-1] == "length"
    assert chunks[-1].choices == [] and chunks[-1].usage.completion_tokens == 16
    assert len({c.id for c in chunks}) == 1
    assert sum(bool(c.choices and c.choices[0].delta.content) for c in chunks) == 16


def test_stream_without_usage_has_no_usage(client):
    stream = client.chat.completions.create(model="tiny", messages=HELLO, max_tokens=4, stream=True)
    chunks = list(stream)
    assert all(chunk.usage is None and len(chunk.choices) == 1 for chunk in chunks)


def test_stream_through_the_sdk_helper(client):
    with client.chat.completions.stream(model="tiny", messages=HELLO) as stream:
        for _ in stream:
            pass
        final = stream.get_final_completion()
    assert final.choices[0].message.content and final.choices[0].finish_reason == "stop"


def test_several_choices(client):
    answer = client.chat.completions.create(model="tiny", messages=HELLO, max_tokens=4, n=3)
    assert [choice.index for choice in answer.choices] == [0, 1, 2]
    assert answer.usage.completion_tokens == 12
    stream = client.chat.completions.create(model="tiny", messages=HELLO, max_tokens=4, n=2,
                                            stream=True)
    seen = {0: 0, 1: 0}
    for chunk in stream:
        for choice in chunk.choices:
            seen[choice.index] += bool(choice.delta.content)
    assert seen == {0: 4, 1: 4}


def test_stop_string_ends_the_answer_before_it(client):
    whole = client.chat.completions.create(model="tiny", messages=HELLO, max_tokens=40)
    text = whole.choices[0].message.content
    stop = text[20:26]
    answer = client.chat.completions.create(model="tiny", messages=HELLO, max_tokens=40, stop=[stop])
    assert answer.choices[0].message.content == text[:text.index(stop)]
    assert answer.choices[0].finish_reason == "stop"


def test_completions(client):
    answer = client.completions.create(model="tiny", prompt="Once upon a time", max_tokens=6)
    assert answer.object == "text_completion" and answer.choices[0].text
    stream = client.completions.create(model="tiny", prompt="Once upon a time", max_tokens=6,
                                       stream=True)
    assert "".join(c.choices[0].text for c in stream if c.choices) == answer.choices[0].text


def test_completions_of_several_prompts(client):
    answer = client.completions.create(model="tiny", prompt=["a", "b", "c"], max_tokens=2)
    assert [choice.index for choice in answer.choices] == [0, 1, 2]


def test_usage_names_the_cached_tokens(client):
    # A system prompt of its own for each server, so that its first request finds nothing cached.
    prompt = f"You answer for {client.base_url}. " + "All of this is shared by every request. " * 40
    ask = lambda: client.chat.completions.create(
        model="tiny", max_tokens=2,
        messages=[{"role": "system", "content": prompt}, {"role": "user", "content": "Now?"}])
    first, second = ask().usage, ask().usage
    # At most the first block: the template's words before the prompt are everyone's.
    assert first.prompt_tokens_details is None or first.prompt_tokens_details.cached_tokens <= 16
    assert second.prompt_tokens_details.cached_tokens >= second.prompt_tokens * 0.9


def test_tool_call(client):
    answer = client.chat.completions.create(model="tiny", messages=HELLO, tools=WEATHER)
    choice = answer.choices[0]
    assert choice.finish_reason in ("tool_calls", "stop")
    forced = client.chat.completions.create(
        model="tiny", messages=HELLO, tools=WEATHER,
        tool_choice={"type": "function", "function": {"name": "get_weather"}})
    call = forced.choices[0].message.tool_calls[0]
    assert call.type == "function" and call.function.name == "get_weather" and call.id
    assert isinstance(json.loads(call.function.arguments), dict)


def test_required_tool_call_and_its_answer(client):
    messages = list(HELLO)
    answer = client.chat.completions.create(model="tiny", messages=messages, tools=WEATHER,
                                            tool_choice="required")
    message = answer.choices[0].message
    assert message.tool_calls
    messages += [message.model_dump(exclude_none=True),
                 {"role": "tool", "tool_call_id": message.tool_calls[0].id, "content": "sunny"}]
    final = client.chat.completions.create(model="tiny", messages=messages, tools=WEATHER,
                                           tool_choice="none", max_tokens=5)
    assert final.choices[0].message.content and not final.choices[0].message.tool_calls


def test_streamed_tool_call(client):
    stream = client.chat.completions.create(
        model="tiny", messages=HELLO, tools=WEATHER, stream=True,
        tool_choice={"type": "function", "function": {"name": "get_weather"}})
    name, arguments = "", ""
    for chunk in stream:
        for part in (chunk.choices[0].delta.tool_calls or []) if chunk.choices else []:
            assert part.index == 0
            name += part.function.name or ""
            arguments += part.function.arguments or ""
    assert name == "get_weather" and isinstance(json.loads(arguments), dict)


def test_auto_tools_without_their_flags_is_a_400(plain_client):
    with pytest.raises(openai.BadRequestError) as error:
        plain_client.chat.completions.create(model="tiny", messages=HELLO, tools=WEATHER)
    assert "--enable-auto-tool-choice and --tool-call-parser" in error.value.body["message"]
    assert error.value.body["code"] == 400


def test_unknown_model_is_a_404(client):
    with pytest.raises(openai.NotFoundError) as error:
        client.chat.completions.create(model="nope", messages=HELLO)
    assert "nope" in error.value.body["message"]
    assert error.value.body["code"] in (404, "model_not_found")


def test_bad_requests_are_400s_with_a_body(client):
    for bad in ({"max_tokens": 0}, {"temperature": -1}, {"messages": []},
                {"stream_options": {"include_usage": True}}):
        with pytest.raises(openai.BadRequestError) as error:
            client.chat.completions.create(**{"model": "tiny", "messages": HELLO, **bad})
        assert error.value.body["message"] and error.value.body["code"] == 400, bad


def test_request_id_reaches_the_answer(client):
    answer = client.chat.completions.create(model="tiny", messages=HELLO, max_tokens=1,
                                            extra_headers={"x-request-id": "abc-123"})
    assert answer.id == "chatcmpl-abc-123"


def test_router_returns_the_request_id(router):
    raw = client_of(router).chat.completions.with_raw_response.create(
        model="tiny", messages=HELLO, max_tokens=1, extra_headers={"x-request-id": "abc-124"})
    assert raw.headers["x-request-id"] == "abc-124"
    raw = client_of(router).chat.completions.with_raw_response.create(
        model="tiny", messages=HELLO, max_tokens=1)
    assert raw.headers["x-request-id"] and raw.parse().id == "chatcmpl-" + raw.headers["x-request-id"]


def test_nobody_listens():
    client = openai.OpenAI(base_url=f"http://127.0.0.1:{fleet.free_port()}/v1", api_key="x",
                           max_retries=0)
    with pytest.raises(openai.APIConnectionError):
        client.models.list()


def test_a_client_that_times_out_frees_its_slot(start):
    engine = start(fleet.Engine, "--sim-speed", "0.05")
    router = start(fleet.Router, [engine.url])
    for server in (engine, router):
        with pytest.raises(openai.APITimeoutError):
            client_of(server, timeout=0.5).chat.completions.create(
                model="tiny", messages=HELLO, max_tokens=2000)
        fleet.wait_until(lambda: engine.running() == 0, 5, "the engine drops the request")
    assert engine.blocks_in_use() == 0


def test_a_closed_stream_frees_its_slot(start):
    engine = start(fleet.Engine)
    router = start(fleet.Router, [engine.url])
    for server in (engine, router):
        stream = client_of(server).chat.completions.create(
            model="tiny", messages=HELLO, max_tokens=5000, stream=True)
        for _, chunk in zip(range(5), stream):
            assert chunk.choices
        assert engine.running() == 1
        stream.close()
        fleet.wait_until(lambda: engine.running() == 0, 5, "the engine drops the request")
    assert engine.blocks_in_use() == 0


def test_many_at_once(tool_engine, router):
    async def run(server):
        async with openai.AsyncOpenAI(base_url=server.url + "/v1", api_key="x", max_retries=0,
                                      timeout=60) as client:
            async def one(number):
                stream = await client.chat.completions.create(
                    model="tiny", max_tokens=20, stream=True,
                    messages=[{"role": "user", "content": f"Number {number}."}])
                return sum([bool(c.choices and c.choices[0].delta.content) async for c in stream])
            return await asyncio.gather(*(one(i) for i in range(64)))
    for server in (tool_engine, router):
        begun = time.monotonic()
        assert asyncio.run(run(server)) == [20] * 64
        assert time.monotonic() - begun < 30
