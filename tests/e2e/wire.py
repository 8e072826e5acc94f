"""Raw HTTP/1.1 over a socket, for tests that need to see and send exact bytes."""
import json
import socket

DEADLINE = 20.0


class Response:
    def __init__(self, status, reason, headers, body, clean):
        self.status, self.reason, self.headers, self.body = status, reason, headers, body
        self.clean = clean  # False: the connection ended before the body was whole

    def json(self):
        return json.loads(self.body)

    def events(self):
        """The data of each SSE event; the body must be made of whole events."""
        parts = self.body.decode().split("\n\n")
        assert parts[-1] == "", f"the last event is cut: {parts[-1]!r}"
        for part in parts[:-1]:
            assert part.startswith("data: ") and "\n" not in part, f"not one data line: {part!r}"
        return [part[len("data: "):] for part in parts[:-1]]


class Connection:
    def __init__(self, port, host="127.0.0.1", receive_buffer=None):
        self.socket = socket.socket()
        if receive_buffer:
            self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, receive_buffer)
        self.socket.settimeout(DEADLINE)
        self.socket.connect((host, port))
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.buffer = b""

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def close(self):
        self.socket.close()

    def reset(self):
        """Closes with RST instead of FIN."""
        self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\1\0\0\0\0\0\0\0")
        self.socket.close()

    def send(self, data):
        self.socket.sendall(data)

    def _more(self):
        data = self.socket.recv(65536)
        self.buffer += data
        return bool(data)

    def read_until(self, mark):
        """Up to and with `mark`; raises ConnectionError if the peer ends before."""
        while mark not in self.buffer:
            if not self._more():
                raise ConnectionError(f"ended before {mark!r}; got {self.buffer[-200:]!r}")
        head, self.buffer = self.buffer.split(mark, 1)
        return head + mark

    def read_exactly(self, count):
        data, self.buffer = bytearray(self.buffer[:count]), self.buffer[count:]
        while len(data) < count:
            more = self.socket.recv(min(count - len(data), 1 << 20))
            if not more:
                raise ConnectionError("ended in mid-body")
            data += more
        return bytes(data)

    def read_head(self):
        lines = self.read_until(b"\r\n\r\n").decode("latin-1").split("\r\n")
        _, status, reason = (lines[0].split(" ", 2) + [""])[:3]
        headers = {}
        for line in lines[1:-2]:
            name, value = line.split(":", 1)
            headers[name.lower()] = value.strip()
        return int(status), reason, headers

    def read_chunk(self):
        size = int(self.read_until(b"\r\n").split(b";")[0], 16)
        data = self.read_exactly(size + 2)
        assert data.endswith(b"\r\n"), data
        return data[:-2]

    def read_response(self):
        status, reason, headers = self.read_head()
        while status == 100:
            status, reason, headers = self.read_head()
        body, clean = b"", True
        try:
            if status in (204, 304):
                pass
            elif headers.get("transfer-encoding") == "chunked":
                while chunk := self.read_chunk():
                    body += chunk
            elif "content-length" in headers:
                body = self.read_exactly(int(headers["content-length"]))
            else:
                while self._more():
                    pass
                body, self.buffer = self.buffer, b""
        except ConnectionError:
            clean = False
        return Response(status, reason, headers, body, clean)


def request_bytes(method, path, body=None, headers=()):
    if body is not None and not isinstance(body, bytes):
        body = json.dumps(body).encode()
    lines = [f"{method} {path} HTTP/1.1", "Host: test"]
    names = {name.lower() for name, _ in headers}
    if body is not None and "content-type" not in names:
        lines.append("Content-Type: application/json")
    if body is not None and not names & {"content-length", "transfer-encoding"}:
        lines.append(f"Content-Length: {len(body)}")
    lines += [f"{name}: {value}" for name, value in headers]
    return "\r\n".join(lines + ["", ""]).encode() + (body or b"")


def ask(port, method, path, body=None, headers=()):
    with Connection(port) as connection:
        connection.send(request_bytes(method, path, body, headers))
        return connection.read_response()


def chat(port, text="hi", *, stream=False, headers=(), **fields):
    body = {"model": "tiny", "messages": [{"role": "user", "content": text}], "stream": stream,
            **fields}
    return ask(port, "POST", "/v1/chat/completions", body, headers)
