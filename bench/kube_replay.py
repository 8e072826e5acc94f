"""An API server that answers from memory: what the real one said to the same request before.

It passes a GET on the first time and keeps the answer, head and body. A watch gets what record_watch()
heard of the real server in the same encoding, an event a chunk, once replay() is called. TLS with the real
server's certificate, so that clients trust it; a thread a connection.
"""
import http.client
import re
import ssl
import socket
import struct
import threading

PROTOBUF = "application/vnd.kubernetes.protobuf"
SLICE = 1 << 20


class Recorder(threading.Thread):
    """Hears a watch of the real server until it has so many events."""

    def __init__(self, connect, path, token, accept, events):
        super().__init__(daemon=True)
        self.connection = connect()
        self.connection.request("GET", path, headers={"Authorization": f"Bearer {token}", "Accept": accept})
        self.answer = self.connection.getresponse()
        if self.answer.status != 200:
            raise RuntimeError(f"{path}: {self.answer.status} {self.answer.read(500)!r}")
        self.events, self.frames, self.bytes = events, [], 0
        self.start()

    def run(self):
        protobuf = PROTOBUF in self.answer.getheader("Content-Type")
        while len(self.frames) < self.events:
            if protobuf:
                length = self.answer.read(4)
                frame = length + self.answer.read(struct.unpack(">I", length)[0])
            else:
                frame = self.answer.readline()
            self.bytes += len(frame)
            self.frames.append(b"%x\r\n%b\r\n" % (len(frame), frame))
        self.connection.close()


class Replay:
    def __init__(self, port, folder, token):
        """`port` is where the real server listens, `folder` has its certificates."""
        self.real_port, self.token = port, token
        self.trust = ssl.create_default_context(cafile=folder / "ca.crt")
        self.context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        self.context.load_cert_chain(folder / "server.crt", folder / "server.key")
        self.answers, self.watches = {}, {}
        self.begun = threading.Event()
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.port = self.listener.getsockname()[1]
        threading.Thread(target=self.accept, daemon=True).start()

    def real(self):
        return http.client.HTTPSConnection("127.0.0.1", self.real_port, context=self.trust)

    def record_watch(self, path, kinds, events):
        """Begins to hear in these encodings; wait_recorded() returns when all is heard."""
        self.recorders = {kind: Recorder(self.real, path, self.token, kind, events) for kind in kinds}

    def wait_recorded(self):
        for kind, recorder in self.recorders.items():
            recorder.join()
            if len(recorder.frames) != recorder.events:
                raise RuntimeError(f"the watch ended after {len(recorder.frames)} of {recorder.events} events")
            self.watches[PROTOBUF in kind] = b"".join(recorder.frames), recorder.answer.getheader("Content-Type")

    def replay(self):
        self.begun.set()

    def accept(self):
        while True:
            raw, _ = self.listener.accept()
            threading.Thread(target=self.serve, args=(raw,), daemon=True).start()

    def serve(self, raw):
        try:
            raw.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            with self.context.wrap_socket(raw, server_side=True) as client:
                reader = client.makefile("rb")
                while line := reader.readline():
                    path = line.split()[1].decode()
                    fields = {}
                    while (line := reader.readline()) not in (b"\r\n", b""):
                        name, _, value = line.decode().partition(":")
                        fields[name.lower()] = value.strip()
                    if re.search(r"[?&]watch=(1|true)\b", path):
                        self.watch(client, fields)
                    else:
                        self.answer(client, path, fields)
        except OSError:
            pass  # it went away

    def ask(self, path, fields):
        """What the real server says to a GET: head and body."""
        real = self.real()
        real.putrequest("GET", path, skip_accept_encoding=True)
        for name, value in {**fields, "Authorization": f"Bearer {self.token}"}.items():
            real.putheader(name, value)
        real.endheaders()
        answer = real.getresponse()
        body = answer.read()
        real.close()
        kept = "".join(f"{name}: {answer.getheader(name)}\r\n" for name in ("Content-Type", "Content-Encoding")
                       if answer.getheader(name))
        head = f"HTTP/1.1 {answer.status} {answer.reason}\r\n{kept}Content-Length: {len(body)}\r\n\r\n"
        return head.encode(), body

    def get(self, path):
        return self.ask(path, {})[1]

    def answer(self, client, path, fields):
        kept = {name: fields[name] for name in ("accept", "accept-encoding") if name in fields}
        key = path, *kept.values()
        if key not in self.answers:
            self.answers[key] = b"".join(self.ask(path, kept))
        client.sendall(self.answers[key])

    def watch(self, client, fields):
        protobuf = PROTOBUF in fields["accept"]
        frames, kind = self.watches.get(protobuf, (b"", "application/json"))
        client.sendall(f"HTTP/1.1 200 OK\r\nContent-Type: {kind}\r\nTransfer-Encoding: chunked\r\n\r\n".encode())
        self.begun.wait()
        self.begun.clear()
        view = memoryview(frames)
        for at in range(0, len(view), SLICE):
            client.sendall(view[at:at + SLICE])
