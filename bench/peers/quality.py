"""What a router makes of its engines' caches: prompts over shared prefixes, and what came back.

Four simulated engines whose caches together just hold all prefixes serve a closed loop; the share of
prompt tokens that they took from their caches, and the times to the first token, say how well the
router sent requests to where their prefix was. An oracle is one engine with all the blocks.
"""
import bisect
import collections
import http.client
import json
import random
import statistics
import threading
import time

PREFIXES, WORDS, QUESTION_WORDS, OUTPUT_TOKENS = 96, 600, 12, 8
REQUESTS, IN_FLIGHT, ENGINES = 1200, 24, 4
USES = ("zipf", "uniform")

Outcome = collections.namedtuple("Outcome", "cached misses p50 p90 p90_is p99")


def prefix(number):
    """600 words that no other prefix begins with."""
    rng = random.Random(f"prefix {number}")
    return " ".join(rng.choice(("alpha", "beta", "gamma", "delta")) + str(rng.randrange(1000))
                    for _ in range(WORDS))


def order(use, seed):
    """The prefix of each request, the same for every router."""
    rng = random.Random(f"{use} {seed}")
    if use == "uniform":
        return [rng.randrange(PREFIXES) for _ in range(REQUESTS)]
    bounds, total = [], 0.0
    for rank in range(1, PREFIXES + 1):
        total += 1 / rank
        bounds.append(total)
    return [bisect.bisect(bounds, rng.random() * total) for _ in range(REQUESTS)]


def body_of(number, request):
    question = " ".join(f"q{request}w{i}" for i in range(QUESTION_WORDS))
    return json.dumps({
        "model": "bench", "stream": True, "stream_options": {"include_usage": True},
        "max_tokens": OUTPUT_TOKENS,
        "messages": [{"role": "system", "content": prefix(number)},
                     {"role": "user", "content": question}]})


class Client(threading.Thread):
    """Takes the next request until there are no more."""

    def __init__(self, port, bodies, results):
        super().__init__(daemon=True)
        self.port, self.bodies, self.results = port, bodies, results
        self.error = None

    def run(self):
        try:
            connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=60)
            while True:
                try:
                    body = next(self.bodies)
                except StopIteration:
                    return
                self.results.append(self.ask(connection, body))
        except Exception as error:  # noqa: BLE001: told to the main thread
            self.error = error

    @staticmethod
    def ask(connection, body):
        start = time.perf_counter()
        connection.request("POST", "/v1/chat/completions", body,
                           {"Content-Type": "application/json"})
        answer = connection.getresponse()
        if answer.status != 200:
            raise RuntimeError(f"status {answer.status}: {answer.read(300)!r}")
        first, usage = None, None
        for line in answer:
            if not line.startswith(b"data: {"):
                continue
            event = json.loads(line[6:])
            if first is None and event["choices"] and event["choices"][0]["delta"].get("content"):
                first = time.perf_counter() - start
            usage = event.get("usage") or usage
        details = usage.get("prompt_tokens_details") or {}
        return first * 1000, usage["prompt_tokens"], details.get("cached_tokens") or 0


class Locked:
    """An iterator that threads share."""

    def __init__(self, items):
        self.items, self.lock = iter(items), threading.Lock()

    def __next__(self):
        with self.lock:
            return next(self.items)


def run(port, use, seed):
    """1,200 requests, 24 at a time, through what listens at `port`."""
    bodies = Locked(body_of(number, i) for i, number in enumerate(order(use, seed)))
    results = []
    clients = [Client(port, bodies, results) for _ in range(IN_FLIGHT)]
    for client in clients:
        client.start()
    for client in clients:
        client.join()
        if client.error:
            raise client.error
    return outcome_of(results)


def outcome_of(results):
    """Of (TTFT, prompt tokens, cached tokens). A miss had to compute more than half of its prompt."""
    results = sorted(results)
    hits = [cached * 2 >= prompt for _, prompt, cached in results]
    cuts = statistics.quantiles([first for first, _, _ in results], n=100)
    # What most of the requests were whose TTFT is near the 90th percentile.
    near = hits[len(hits) * 875 // 1000:len(hits) * 925 // 1000]
    cached = sum(c for _, _, c in results) / sum(p for _, p, _ in results)
    return Outcome(cached, hits.count(False) / len(hits), cuts[49], cuts[89],
                   "hit" if sum(near) * 2 > len(near) else "miss", cuts[98])
