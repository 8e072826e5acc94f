"""Compares an answer with one recorded from a real vLLM: status, headers that clients read, and the
body by key, order, type and value; a stream event by event. What a tokenizer of its own and another
model's weights must change is named here once (LOOSE); all else that differs needs an entry with a
reason in replay_exceptions.json.
"""
import json
import re

# Values that are the model's or the moment's: their type is compared, not their value.
LOOSE = {"id", "created", "content", "text", "token", "logprob", "bytes", "token_ids", "token_strs",
         "tokens", "count", "prompt", "text_offset", "tokens_logprobs", "token_logprobs", "arguments"}
# Counted in tokens of text: equal only where the request gave token ids.
TEXT_TOKENS = {"prompt_tokens", "total_tokens", "cached_tokens"}
# Lists of tokens: as long as our tokenizer makes them.
ANY_LENGTH = {"tokens", "token_strs", "bytes", "token_ids"}
HEADERS = ("content-type", "transfer-encoding", "allow", "x-request-id", "retry-after", "server")


class Recorded:
    def __init__(self, exchange):
        self.name, self.method, self.path = (exchange[k] for k in ("name", "method", "path"))
        self.body = exchange["body"]
        head, self.text = exchange["response"].split("\n\n", 1)
        lines = head.split("\n")
        _, status, self.reason = (lines[0].split(" ", 2) + [""])[:3]
        self.status = int(status)
        self.headers = dict(line.split(": ", 1) for line in lines[1:])
        prompt = self.body.get("prompt") if isinstance(self.body, dict) else None
        self.by_ids = isinstance(prompt, list) and all(isinstance(token, int) for token in prompt)
        # The request id that was sent is in the id that came back.
        sent = re.fullmatch(r'.*?"id":"(?:chat)?cmpl-([\w]+-[\w-]+)".*', self.text, re.S)
        self.request_id = sent.group(1) if sent else None


def kind(value):
    if value is None or isinstance(value, bool):
        return repr(value)
    return {int: "number", float: "number", str: "string", list: "list", dict: "object"}[type(value)]


def compare_json(want, got, by_ids, path="$"):
    """Differences as (path, text); the path has keys and list positions: $.choices[0].text"""
    key = re.sub(r"\[\d+\]$", "", path).rsplit(".", 1)[-1]
    if kind(want) != kind(got):
        return [(path, f"want {want!r}, got {got!r}")]
    if isinstance(want, dict):
        found = []
        if list(want) != list(got):
            found.append((path, f"want keys {list(want)}, got {list(got)}"))
        for name in want:
            if name in got:
                found += compare_json(want[name], got[name], by_ids, f"{path}.{name}")
        return found
    if isinstance(want, list):
        found = []
        if len(want) != len(got) and key not in ANY_LENGTH:
            found.append((path, f"want {len(want)} elements, got {len(got)}"))
        for i, (left, right) in enumerate(zip(want, got)):
            found += compare_json(left, right, by_ids, f"{path}[{i}]")
        return found
    if key == "id":
        made_up = r"(chatcmpl-|cmpl-|modelperm-|chatcmpl-tool-)[0-9a-f]{16,32}"
        left, right = re.fullmatch(made_up, want), re.fullmatch(made_up, got)
        if left and right and left.group(1) == right.group(1):
            return []
    elif key in LOOSE or (key in TEXT_TOKENS and not by_ids):
        return []
    return [] if want == got else [(path, f"want {want!r}, got {got!r}")]


def compare_events(want, got, by_ids):
    found = []
    if len(want) != len(got):
        found.append(("events", f"want {len(want)} events, got {len(got)}: {got[-3:]}"))
    for i, (left, right) in enumerate(zip(want, got)):
        if left == "[DONE]" or right == "[DONE]":
            if left != right:
                found.append((f"events[{i}]", f"want {left}, got {right}"))
        else:
            found += compare_json(json.loads(left), json.loads(right), by_ids, f"events[{i}]")
    return found


def families(text):
    """{metric: (type, help, [label names])} of an exposition."""
    found = {}
    for line in text.splitlines():
        if match := re.match(r"# (HELP|TYPE) (\S+) ?(.*)", line):
            entry = found.setdefault(match.group(2), {"labels": set()})
            entry[match.group(1)] = match.group(3)
        elif match := re.match(r"([\w:]+)(?:\{(.*)\})? ", line):
            name = match.group(1)
            base = re.sub(r"_(bucket|sum|count)$", "", name)
            labels = re.findall(r'(\w+)="', match.group(2) or "")
            entry = found.get(name) or found.setdefault(base, {"labels": set()})
            entry["labels"] |= set(labels)
    return found


def compare_metrics(want, got):
    want, got = families(want), families(got)
    found = []
    for name, entry in want.items():
        if name not in got:
            found.append((f"metrics.{name}", "is missing"))
            continue
        for part in ("TYPE", "HELP", "labels"):
            if entry.get(part) != got[name].get(part):
                found.append((f"metrics.{name}.{part}",
                              f"want {entry.get(part)!r}, got {got[name].get(part)!r}"))
    return found


def compare(recorded, answer):
    found = []
    if (answer.status, answer.reason) != (recorded.status, recorded.reason):
        found.append(("status", f"want {recorded.status} {recorded.reason}, "
                                f"got {answer.status} {answer.reason}: {answer.body[:300]!r}"))
        return found
    for name in HEADERS:
        if recorded.headers.get(name) != answer.headers.get(name):
            found.append((f"headers.{name}", f"want {recorded.headers.get(name)!r}, "
                                             f"got {answer.headers.get(name)!r}"))
    if "content-length" in recorded.headers and "content-length" not in answer.headers:
        found.append(("headers.content-length", "is missing"))
    content_type = recorded.headers.get("content-type", "")
    if not answer.clean:
        found.append(("body", "the connection ended before it was whole"))
    elif content_type.startswith("text/event-stream"):
        events = recorded.text.rstrip("\n").split("\n\n")
        found += compare_events([e.removeprefix("data: ") for e in events], answer.events(),
                                recorded.by_ids)
    elif recorded.path == "/metrics":
        found += compare_metrics(recorded.text, answer.body.decode())
    elif content_type.startswith("application/json"):
        found += compare_json(json.loads(recorded.text), answer.json(), recorded.by_ids)
    elif answer.body.decode() != recorded.text:
        found.append(("body", f"want {recorded.text!r}, got {answer.body!r}"))
    return found
