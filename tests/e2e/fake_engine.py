"""An engine that answers exactly the bytes a test gives it, over raw sockets, one thread a connection.

    with FakeEngine(lambda call: call.send(b"HTTP/1.1 500 ...")) as fake: Router([fake.url])

It answers /health, /v1/models (model "tiny") and 404s /metrics by itself; every other request goes to
`behaviour` with the request read whole. A connection is kept alive unless the behaviour closes it.
"""
import json
import socket
import threading

import wire

MODELS = {"object": "list", "data": [{"id": "tiny", "object": "model", "created": 1,
                                      "owned_by": "vllm", "root": "tiny", "parent": None,
                                      "max_model_len": 8192}]}


def response(body, status="200 OK", content_type="application/json", headers=()):
    if not isinstance(body, bytes):
        body = json.dumps(body).encode()
    lines = [f"HTTP/1.1 {status}", f"Content-Type: {content_type}", f"Content-Length: {len(body)}"]
    lines += [f"{name}: {value}" for name, value in headers]
    return "\r\n".join(lines + ["", ""]).encode() + body


def chunk(data):
    return f"{len(data):x}\r\n".encode() + data + b"\r\n"


STREAM_HEAD = (b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream; charset=utf-8\r\n"
               b"Transfer-Encoding: chunked\r\n\r\n")


def delta(text, finish=None, id="chatcmpl-fake"):
    event = {"id": id, "object": "chat.completion.chunk", "created": 1, "model": "tiny",
             "choices": [{"index": 0, "delta": {"content": text}, "logprobs": None,
                          "finish_reason": finish}]}
    return b"data: " + json.dumps(event, separators=(",", ":")).encode() + b"\n\n"


DONE = b"data: [DONE]\n\n"
COMPLETION = {"id": "chatcmpl-fake", "object": "chat.completion", "created": 1, "model": "tiny",
              "choices": [{"index": 0, "message": {"role": "assistant", "content": "fake"},
                           "finish_reason": "stop"}],
              "usage": {"prompt_tokens": 1, "total_tokens": 2, "completion_tokens": 1}}


def whole_stream(count=3):
    chunks = [chunk(delta(f"t{i} ")) for i in range(count)]
    return STREAM_HEAD + b"".join(chunks) + chunk(delta("", "stop")) + chunk(DONE) + chunk(b"")


class Call:
    """One request and its connection."""

    def __init__(self, fake, connection, head, method, path, headers, body):
        self.fake, self.connection = fake, connection
        self.method, self.path, self.headers, self.body = method, path, headers, body
        self.raw = head + body  # as it came, if its body was counted
        self.open = True

    def send(self, data):
        self.connection.send(data)

    def close(self):
        self.open = False
        self.connection.close()

    def reset(self):
        self.open = False
        self.connection.reset()

    def wait_for_client_to_leave(self, seconds=10):
        """True once the router has closed its side."""
        self.connection.socket.settimeout(seconds)
        try:
            while self.connection.socket.recv(4096):
                pass
        except TimeoutError:
            return False
        except OSError:
            pass
        self.close()
        return True


class FakeEngine:
    def __init__(self, behaviour, tls=None):
        self.behaviour = behaviour
        self.tls = tls  # an ssl.SSLContext
        self.calls = []
        self.errors = []
        self.listener = socket.create_server(("127.0.0.1", 0), backlog=512)
        self.port = self.listener.getsockname()[1]
        self.connections = set()
        threading.Thread(target=self._accept, daemon=True).start()

    @property
    def url(self):
        return f"{'https' if self.tls else 'http'}://127.0.0.1:{self.port}"

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.listener.shutdown(socket.SHUT_RDWR)
        self.listener.close()
        for connection in list(self.connections):
            try:
                connection.socket.shutdown(socket.SHUT_RDWR)
            except OSError:
                pass
        assert not self.errors, self.errors

    def _accept(self):
        while True:
            try:
                accepted, _ = self.listener.accept()
            except OSError:
                return
            accepted.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            connection = wire.Connection.__new__(wire.Connection)
            connection.socket, connection.buffer = accepted, b""
            self.connections.add(connection)
            threading.Thread(target=self._serve, args=(connection,), daemon=True).start()

    def _serve(self, connection):
        try:
            if self.tls:
                connection.socket = self.tls.wrap_socket(connection.socket, server_side=True)
            while self._serve_one(connection):
                pass
        except (ConnectionError, TimeoutError, OSError):
            pass  # the router left: tests look at what it did, not at how
        except Exception as error:  # a bug in the test's own script must not pass in silence
            self.errors.append(repr(error))
        finally:
            self.connections.discard(connection)
            connection.close()

    def _serve_one(self, connection):
        raw_head = connection.read_until(b"\r\n\r\n")
        head = raw_head.decode("latin-1").split("\r\n")
        method, path, _ = head[0].split(" ")
        headers = {n.lower(): v.strip() for n, v in (line.split(":", 1) for line in head[1:-2])}
        body = b""
        if headers.get("transfer-encoding") == "chunked":
            body = b"".join(iter(connection.read_chunk, b""))
        elif "content-length" in headers:
            body = connection.read_exactly(int(headers["content-length"]))
        if path == "/health":
            connection.send(response(b""))
        elif path == "/v1/models":
            connection.send(response(MODELS))
        elif path == "/metrics":
            connection.send(response(b"not here", "404 Not Found", "text/plain"))
        else:
            call = Call(self, connection, raw_head, method, path, headers, body)
            self.calls.append(call)
            self.behaviour(call)
            return call.open
        return True
