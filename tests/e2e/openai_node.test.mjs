// The OpenAI SDK for Node, unmodified, against the server of BASE_URL (test_openai_node.py starts it).
import assert from "node:assert/strict";
import test from "node:test";
import OpenAI from "openai";

const baseURL = process.env.BASE_URL;
const client = new OpenAI({ baseURL, apiKey: "unused", maxRetries: 0, timeout: 30_000 });
const slow = new OpenAI({ baseURL: process.env.SLOW_URL, apiKey: "unused", maxRetries: 0 });
const messages = [{ role: "user", content: "Say hello." }];
const tools = [{
  type: "function",
  function: {
    name: "get_weather",
    description: "Weather of a city",
    parameters: { type: "object", properties: { city: { type: "string" } }, required: ["city"] },
  },
}];
const forced = { type: "function", function: { name: "get_weather" } };

async function engineIsIdle() {
  for (let tries = 0; tries < 500; ++tries) {
    const text = await (await fetch(process.env.SLOW_METRICS)).text();
    const running = [...text.matchAll(/^vllm:num_requests_(?:running|waiting)\{.*\} (\S+)$/gm)];
    assert.equal(running.length, 2);
    if (running.every((match) => Number(match[1]) === 0)) return;
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
  assert.fail("the engine still runs the request");
}

test("lists the model", async () => {
  const ids = [];
  for await (const model of client.models.list()) ids.push(model.id);
  assert.deepEqual(ids, ["tiny"]);
});

test("chat", async () => {
  const answer = await client.chat.completions.create({ model: "tiny", messages, max_tokens: 12 });
  assert.equal(answer.choices[0].finish_reason, "length");
  assert.ok(answer.choices[0].message.content.length > 0);
  assert.equal(answer.usage.completion_tokens, 12);
});

test("a stream is the whole answer, token by token, with usage at its end", async () => {
  const whole = await client.chat.completions.create({ model: "tiny", messages, max_tokens: 16 });
  const stream = await client.chat.completions.create({
    model: "tiny", messages, max_tokens: 16, stream: true, stream_options: { include_usage: true },
  });
  let text = "", pieces = 0, usage;
  for await (const chunk of stream) {
    const content = chunk.choices[0]?.delta?.content;
    if (content) { text += content; ++pieces; }
    usage = chunk.usage ?? usage;
  }
  assert.equal(text, whole.choices[0].message.content);
  assert.equal(pieces, 16);
  assert.equal(usage.completion_tokens, 16);
});

test("completions", async () => {
  const answer = await client.completions.create({ model: "tiny", prompt: "Once", max_tokens: 5 });
  assert.equal(answer.object, "text_completion");
  assert.ok(answer.choices[0].text.length > 0);
});

test("a forced tool call, whole and streamed", async () => {
  const answer = await client.chat.completions.create(
    { model: "tiny", messages, tools, tool_choice: forced });
  const call = answer.choices[0].message.tool_calls[0];
  assert.equal(call.function.name, "get_weather");
  JSON.parse(call.function.arguments);

  const runner = client.chat.completions.stream(
    { model: "tiny", messages, tools, tool_choice: forced });
  const final = await runner.finalChatCompletion();
  assert.equal(final.choices[0].message.tool_calls[0].function.name, "get_weather");
  JSON.parse(final.choices[0].message.tool_calls[0].function.arguments);
});

test("an unknown model is a 404 with a message", async () => {
  await assert.rejects(client.chat.completions.create({ model: "nope", messages }), (error) => {
    assert.ok(error instanceof OpenAI.NotFoundError);
    assert.match(error.error.message, /nope/);
    return true;
  });
});

test("a bad request is a 400 with a message", async () => {
  await assert.rejects(
    client.chat.completions.create({ model: "tiny", messages, max_tokens: 0 }), (error) => {
      assert.ok(error instanceof OpenAI.BadRequestError);
      assert.match(error.error.message, /max_tokens/);
      return true;
    });
});

test("a client that times out frees its slot", async () => {
  await assert.rejects(
    slow.chat.completions.create({ model: "tiny", messages, max_tokens: 5000 }, { timeout: 400 }),
    OpenAI.APIConnectionTimeoutError);
  await engineIsIdle();
});

test("an aborted stream frees its slot", async () => {
  const stream = await slow.chat.completions.create(
    { model: "tiny", messages, max_tokens: 5000, stream: true });
  let seen = 0;
  for await (const chunk of stream) {
    assert.ok(chunk.choices.length === 1);
    if (++seen === 3) break; // the SDK aborts the request
  }
  await engineIsIdle();
});

test("forty streams at once", async () => {
  const one = async (number) => {
    const stream = await client.chat.completions.create({
      model: "tiny", max_tokens: 10, stream: true,
      messages: [{ role: "user", content: `Number ${number}.` }],
    });
    let pieces = 0;
    for await (const chunk of stream) pieces += chunk.choices[0]?.delta?.content ? 1 : 0;
    return pieces;
  };
  const counts = await Promise.all(Array.from({ length: 40 }, (_, i) => one(i)));
  assert.deepEqual(counts, Array(40).fill(10));
});
