"""The attack table: what hostile clients and engines send, and what must come of it.

ATTACKS are bytes to the router's port. Their verdict is the list of statuses that the client gets, in
this order; 200 is an answer of the engine, so as many requests were forwarded as there are 200s. Then the
router closes the connection, unless `keeps`. An empty list: closed without an answer.

HANDSHAKES are bytes to a TLS port; no byte of HTTP may come of them. ANSWERS are bytes of an engine; their
verdict is the status that the client gets, or CUT: an answer that does not end in order.
"""

import collections

Attack = collections.namedtuple("Attack", "kind name send verdict keeps half_close pause")
Answer = collections.namedtuple("Answer", "name send then verdict")
CUT = "cut"

BODY = b'{"model":"tiny","messages":[{"role":"user","content":"hi"}]}'
N = str(len(BODY)).encode()
LINE = b"POST /v1/chat/completions HTTP/1.1\r\n"
HOST = b"Host: x\r\n"
JSON = b"Content-Type: application/json\r\n"
LENGTH = b"Content-Length: " + N + b"\r\n"
CHUNKED = b"Transfer-Encoding: chunked\r\n"
WHOLE = LINE + HOST + JSON + LENGTH + b"\r\n" + BODY
CHUNKS = f"{len(BODY):x}\r\n".encode() + BODY + b"\r\n0\r\n\r\n"
GET = b"GET /v1/models HTTP/1.1\r\nHost: x\r\n\r\n"

ATTACKS, HANDSHAKES, ANSWERS = [], [], []


def attack(kind, name, send, *verdict, keeps=False, half_close=False, pause=0):
    ATTACKS.append(Attack(kind, name, send, list(verdict), keeps, half_close, pause))


def fields(kind, name, text, *verdict, body=BODY, length=LENGTH, **more):
    """A chat request with further fields."""
    attack(kind, name, LINE + HOST + JSON + length + text + b"\r\n" + body, *verdict, **more)


def bare(kind, name, text, *verdict, body=BODY, **more):
    """A chat request whose framing is in `text`."""
    fields(kind, name, text, *verdict, body=body, length=b"", **more)


def line(name, text, *verdict, rest=HOST + JSON + LENGTH + b"\r\n" + BODY, **more):
    attack("request line", name, text + b"\r\n" + rest, *verdict, **more)


# ---- smuggling: two readings of where a message ends ---------------------------------------------
S = "smuggling"
SMUGGLED = b"0\r\n\r\nGET /v1/models HTTP/1.1\r\nHost: x\r\n\r\n"
bare(S, "length and coding", LENGTH + CHUNKED, 400, body=SMUGGLED)
bare(S, "coding and length", CHUNKED + LENGTH, 400, body=SMUGGLED)
bare(S, "length 0 and coding", b"Content-Length: 0\r\n" + CHUNKED, 400, body=SMUGGLED)
bare(S, "length and an unknown coding", LENGTH + b"Transfer-Encoding: x\r\n", 400)
bare(S, "length and an empty coding", LENGTH + b"Transfer-Encoding:\r\n", 400)
bare(S, "length twice, the same", LENGTH + LENGTH, 400)
bare(S, "length twice, smaller first", b"Content-Length: 3\r\n" + LENGTH, 400)
bare(S, "length twice, larger first", LENGTH + b"Content-Length: 3\r\n", 400)
bare(S, "length twice in other cases", LENGTH + b"CONTENT-LENGTH: " + N + b"\r\n", 400)
bare(S, "coding twice", CHUNKED + CHUNKED, 400, body=CHUNKS)
for value in (
    b"+" + N,
    b"-1",
    b"-0",
    b"0x10",
    b"1 0",
    b"10,10",
    b"10, 11",
    b"10;",
    b"1.0",
    b"1e1",
    b"",
    b" ",
    b"'10'",
    b'"10"',
    b"1_0",
    b"NaN",
    b"18446744073709551616",
    b"18446744073709551617",
    b"9" * 30,
    b"\xd9\xa1",
    b"10\x00",
    b"10\x0b",
    b"\x0c10",
    b"10\x85",
):
    bare(S, f"length {value!r}"[:60], b"Content-Length: " + value + b"\r\n", 400)
for value in (
    b"xchunked",
    b"chunked, chunked",
    b"chunked, identity",
    b"identity, chunked",
    b"identity",
    b"gzip, chunked",
    b"gzip",
    b"chunked;q=1",
    b'"chunked"',
    b"'chunked'",
    b"chunked,",
    b",chunked",
    b"chunke",
    b"chunkedd",
    b"chunked chunked",
    b"",
    b"cow",
):
    bare(S, f"coding {value!r}", b"Transfer-Encoding: " + value + b"\r\n", 501, body=CHUNKS)
for value in (b"chunked\x00", b"chunked\x0b", b"\x0cchunked", b"chun\rked", b"\x01chunked", b"chunked\x7f"):
    bare(S, f"coding {value!r}", b"Transfer-Encoding: " + value + b"\r\n", 400, body=CHUNKS)
for value in (b"chunked", b"Chunked", b"CHUNKED", b"  chunked", b"chunked \t", b"\tchunked"):
    bare(S, f"coding {value!r}", b"Transfer-Encoding:" + value + b"\r\n", 200, body=CHUNKS, keeps=True)
for value in (b"007", b"0" * 10 + N):
    want = [200] if value.endswith(N) else [400, 408]  # '{"model' is no JSON, and the rest no request
    bare(S, f"length {value!r}", b"Content-Length: " + value + b"\r\n", *want, keeps=want == [200])
bare(S, "length after blanks and tabs", b"Content-Length:\t " + N + b" \t\r\n", 200, keeps=True)
bare(S, "coding under 1.0", b"", 400)
ATTACKS[-1] = ATTACKS[-1]._replace(send=LINE.replace(b"1.1", b"1.0") + HOST + JSON + CHUNKED + b"\r\n" + CHUNKS)
for name, text in {
    "space before the colon": b"Transfer-Encoding : chunked\r\n",
    "tab before the colon": b"Transfer-Encoding\t: chunked\r\n",
    "length, space before the colon": b"Content-Length : 5\r\n",
    "space before the name": b" Transfer-Encoding: chunked\r\n",
    "folded value": b"Transfer-Encoding:\r\n chunked\r\n",
    "folded with a tab": b"X: a\r\n\tTransfer-Encoding: chunked\r\n",
    "NUL in the name": b"Content-Length\x00: 5\r\n",
    "vertical tab in the name": b"\x0bContent-Length: 5\r\n",
    "blank in the name": b"Content Length: 5\r\n",
    "colon in the name's place": b": 5\r\n",
    "no colon": b"Content-Length 5\r\n",
    "umlaut in the name": "Cöntent: 5\r\n".encode(),
    "bracket in the name": b"X[0]: 5\r\n",
    "bare CR in a value": b"X: a\rTransfer-Encoding: chunked\r\n",
    "bare CR before a name": b"\rTransfer-Encoding: chunked\r\n",
    "NUL in a value": b"X: a\x00b\r\n",
    "escape in a value": b"X: \x1b[31m\r\n",
    "bare LF between fields": b"X: a\nTransfer-Encoding: chunked\r\n",
    "bare LF ends the head": b"X: a\r\n\n",
    "CR CR LF": b"X: a\r\r\n",
}.items():
    fields(S, name, text, 400)
for name, text in {
    "an underscore for the hyphen": b"Transfer_Encoding: chunked\r\n",
    "length in an underscore": b"Content_Length: 5\r\n",
    "a field named by Connection": b"Connection: content-length\r\n",
    "Connection names the host": b"Connection: host, transfer-encoding\r\n",
    "Connection in pieces": b"Connection: keep\r\nConnection: -alive\r\n",
    "a proxy's connection": b"Proxy-Connection: close\r\nKeep-Alive: timeout=1\r\n",
    "TE": b"TE: trailers, chunked\r\n",
    "Trailer": b"Trailer: Content-Length\r\n",
    "bytes past ASCII in a value": b"X-Name: \xff\xfe\r\n",
    "an empty value": b"X-Empty:\r\n",
    "a very short name": b"!: x\r\n",
    "no space after the colon": b"X-A:b\r\n",
}.items():
    fields(S, name, text, 200, keeps=True)
attack(S, "the body of one is the next", WHOLE + WHOLE, 200, 200, keeps=True)
attack(S, "a body where none is said", LINE + HOST + JSON + b"\r\n" + GET, 400, 200, keeps=True)
attack(
    S, "a GET with a body", GET[:-2] + b"Content-Length: " + str(len(GET)).encode() + b"\r\n\r\n" + GET, 200, keeps=True
)
attack(S, "a request within a chunk", LINE + HOST + JSON + CHUNKED + b"\r\n" + CHUNKS + GET, 200, 200, keeps=True)
attack(S, "bytes after the end", WHOLE + b"X", 200, 408)
attack(S, "an answer as a request", b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n", 400)
attack(S, "close and then another", WHOLE.replace(HOST, HOST + b"Connection: close\r\n") + WHOLE, 200)
attack(S, "1.0 and then another", WHOLE.replace(b"1.1", b"1.0") + WHOLE, 200)

# ---- request line and host -----------------------------------------------------------------------
P = b"/v1/chat/completions"
for name, text in {
    "two spaces": b"POST  " + P + b" HTTP/1.1",
    "a tab": b"POST\t" + P + b" HTTP/1.1",
    "a trailing space": b"POST " + P + b" HTTP/1.1 ",
    "a leading space": b" POST " + P + b" HTTP/1.1",
    "no version": b"POST " + P,
    "no target": b"POST HTTP/1.1",
    "nothing": b"   ",
    "a lower case version": b"POST " + P + b" http/1.1",
    "version 1.2": b"POST " + P + b" HTTP/1.2",
    "version 1.10": b"POST " + P + b" HTTP/1.10",
    "version 1.1.1": b"POST " + P + b" HTTP/1.1.1",
    "version 1": b"POST " + P + b" HTTP/1",
    "version 01.1": b"POST " + P + b" HTTP/01.1",
    "another protocol": b"POST " + P + b" ICY/1.1",
    "a blank in the target": b"POST /v1/chat completions HTTP/1.1",
    "NUL in the target": b"POST " + P + b"\x00 HTTP/1.1",
    "a fragment": b"POST " + P + b"#a HTTP/1.1",
    "bytes past ASCII": b"POST /v1/ch\xc3\xa4t HTTP/1.1",
    "DEL in the query": b"POST " + P + b"?\x7f HTTP/1.1",
    "a relative target": b"POST v1/chat/completions HTTP/1.1",
    "the host's form": b"CONNECT x:443 HTTP/1.1",
    "another scheme": b"POST ftp://x" + P + b" HTTP/1.1",
    "a bad method": b"P(ST " + P + b" HTTP/1.1",
    "NUL in the method": b"PO\x00ST " + P + b" HTTP/1.1",
    "a bare CR": b"POST " + P + b" HTTP/1.1\r",
    "a star for POST": b"POST * HTTP/1.1",
    "garbage": b"\x80\x81\x82",
}.items():
    line(name, text, 400)
line("version 2.0", b"POST " + P + b" HTTP/2.0", 505)
line("version 0.9", b"POST " + P + b" HTTP/0.9", 505)
line("the preface of HTTP/2", b"PRI * HTTP/2.0", 505, rest=b"\r\nSM\r\n\r\n")
for name, text in {
    "a slash at the end": b"POST " + P + b"/ HTTP/1.1",
    "two slashes": b"POST /" + P + b" HTTP/1.1",
    "dots": b"POST /v1/../v1/chat/completions HTTP/1.1",
    "an encoded slash": b"POST /v1/chat%2fcompletions HTTP/1.1",
    "an encoded letter": b"POST /v1/chat/completion%73 HTTP/1.1",
    "a parameter": b"POST " + P + b";a=b HTTP/1.1",
    "upper case": b"POST /V1/CHAT/COMPLETIONS HTTP/1.1",
    "a backslash": b"POST \\v1\\chat HTTP/1.1",
}.items():
    line(name, text, 400 if b"\\" in text else 404)
line("a lower case method", b"post " + P + b" HTTP/1.1", 405)
line("another method", b"DELETE " + P + b" HTTP/1.1", 405)
line("TRACE", b"TRACE " + P + b" HTTP/1.1", 405)
line("a query", b"POST " + P + b"?a=b&c HTTP/1.1", 200, keeps=True)
line("the absolute form", b"POST http://other" + P + b" HTTP/1.1", 200, keeps=True)
attack("request line", "one empty line before", b"\r\n" + WHOLE, 200, keeps=True)
attack("request line", "two empty lines before", b"\r\n\r\n" + WHOLE, 400)
attack("request line", "an empty line of LF before", b"\n" + WHOLE, 400)
attack("request line", "a bare LF", WHOLE.replace(b"HTTP/1.1\r\n", b"HTTP/1.1\n", 1), 400)
attack("request line", "LF everywhere", WHOLE.replace(b"\r\n", b"\n"), 400)
attack("request line", "CR everywhere", WHOLE.replace(b"\r\n", b"\r"), half_close=True)
attack("request line", "no host", WHOLE.replace(HOST, b""), 400)
attack("request line", "two hosts", WHOLE.replace(HOST, HOST + b"Host: y\r\n"), 400)
attack("request line", "the same host twice", WHOLE.replace(HOST, HOST + HOST), 400)
for value, want in {
    b"": 200,
    b"x:99999x": 200,
    b"[::1": 200,
    b"a, b": 400,
    b"a b": 400,
    b"a/b": 400,
    b"a\\b": 400,
    b"user@x": 400,
    b"a#b": 400,
    b"\xe4": 400,
}.items():
    attack("request line", f"host {value!r}", WHOLE.replace(HOST, b"Host: " + value + b"\r\n"), want, keeps=want == 200)
for value in (b"websocket", b"h2c", b"TLS/1.3", b""):
    fields("request line", f"upgrade {value!r}", b"Connection: upgrade\r\nUpgrade: " + value + b"\r\n", 501)
fields("request line", "an unknown expectation", b"Expect: 200-ok\r\n", 417)
fields("request line", "two expectations", b"Expect: 100-continue, x\r\n", 417)

# ---- chunked framing -----------------------------------------------------------------------------
H = LINE + HOST + JSON + CHUNKED + b"\r\n"
X = f"{len(BODY):x}".encode()
for name, text in {
    "no digits": b"\r\n" + BODY,
    "0x": b"0x" + X + b"\r\n" + BODY,
    "a sign": b"+" + X + b"\r\n" + BODY,
    "negative": b"-1\r\n",
    "a leading blank": b" " + X + b"\r\n" + BODY,
    "a trailing blank": X + b" \r\n" + BODY,
    "a letter past f": b"g\r\n",
    "a comma": X + b",\r\n" + BODY,
    "16 digits": b"0" * 14 + X + b"\r\n" + BODY + b"\r\n",
    "overflow": b"1" + b"0" * 16 + b"\r\n" + BODY,
    "all ones": b"f" * 16 + b"\r\n" + BODY,
    "a size ended by LF": X + b"\n" + BODY,
    "a size ended by CR": X + b"\r" + BODY,
    "CR CR LF": X + b"\r\r\n" + BODY,
    "NUL": X + b"\x00\r\n" + BODY,
    "an extension ended by LF": X + b";a\n" + BODY,
    "a control in an extension": X + b";a=\x01\r\n" + BODY,
    "an extension without its sign": X + b" a=b\r\n" + BODY,
    "an endless extension": X + b";" + b"a" * 300,
    "data too long": b"3\r\nabcd\r\n0\r\n\r\n",
    "data ended by LF": X + b"\r\n" + BODY + b"\n0\r\n\r\n",
    "data ended by CR": X + b"\r\n" + BODY + b"\r0\r\n",
    "data without its end": X + b"\r\n" + BODY + b"0\r\n\r\n",
    "a quoted size": b'"5"\r\nhello\r\n',
    "a trailer ended by LF": X + b"\r\n" + BODY + b"\r\n0\r\nA: b\n\r\n",
    "an end of LF": X + b"\r\n" + BODY + b"\r\n0\r\n\n",
    "endless trailers": X + b"\r\n" + BODY + b"\r\n0\r\n" + b"A: b\r\n" * 1500,
}.items():
    attack("chunks", name, H + text, 400)
for name, text in {
    "extensions": X + b";a=b;c=\"d\"\r\n" + BODY + b"\r\n0;e\r\n\r\n",
    "a blank before an extension": X + b" ;a\r\n" + BODY + b"\r\n0\r\n\r\n",
    "trailers": X + b"\r\n" + BODY + b"\r\n0\r\nA: b\r\nC: d\r\n\r\n",
    "upper case": X.upper() + b"\r\n" + BODY + b"\r\n0\r\n\r\n",
    "a length as trailer": X + b"\r\n" + BODY + b"\r\n0\r\nContent-Length: 3\r\nTransfer-Encoding: x\r\n\r\n",
    "15 digits": X.rjust(15, b"0") + b"\r\n" + BODY + b"\r\n" + b"0" * 15 + b"\r\n\r\n",
    "a byte a chunk": b"".join(b"1\r\n" + bytes([c]) + b"\r\n" for c in BODY) + b"0\r\n\r\n",
    "an empty extension": X + b";\r\n" + BODY + b"\r\n0\r\n\r\n",
}.items():
    attack("chunks", name, H + text, 200, keeps=True)
for name, text in {
    "the end is missing": X + b"\r\n" + BODY + b"\r\n",
    "in the middle of data": X + b"\r\n" + BODY[:9],
    "a size past every bound": b"f" * 15 + b"\r\n" + BODY,
    "in the middle of a size": X[:1],
    "after the last chunk": X + b"\r\n" + BODY + b"\r\n0\r\n",
}.items():
    attack("chunks", "ends: " + name, H + text, half_close=True)
attack("chunks", "ends: a counted body", WHOLE[:-1], half_close=True)
attack("chunks", "ends: in the head", WHOLE[:50], half_close=True)
attack("chunks", "ends: before a byte", b"", half_close=True)

# ---- bombs ---------------------------------------------------------------------------------------
B = "bombs"
fields(B, "100 fields", b"".join(b"X-%d: y\r\n" % i for i in range(97)), 200, keeps=True)
fields(B, "101 fields", b"".join(b"X-%d: y\r\n" % i for i in range(98)), 431)
fields(B, "10,000 fields", b"a: b\r\n" * 10_000, 431)
fields(B, "one field of 31 KiB", b"X: " + b"a" * (31 << 10) + b"\r\n", 200, keeps=True)
fields(B, "one field of 32 KiB", b"X: " + b"a" * (32 << 10) + b"\r\n", 431)
fields(B, "a name of 40 KiB", b"a" * (40 << 10) + b": b\r\n", 431)
fields(B, "a field of 4 MiB", b"X: " + b"a" * (4 << 20) + b"\r\n", 431)
fields(B, "10,000 names in Connection", b"Connection: " + b"a," * 10_000 + b"\r\n", 200, keeps=True)
line("a target of 8 KiB", b"POST " + P + b"?" + b"a" * (8192 - len(P) - 1) + b" HTTP/1.1", 200, keeps=True)
line("a target of 8 KiB and one", b"POST " + P + b"?" + b"a" * (8192 - len(P)) + b" HTTP/1.1", 414)
line("a target of 100 KiB", b"POST /" + b"a" * 100_000 + b" HTTP/1.1", 431)
line("a method of 20 KiB", b"A" * 20_000 + b" / HTTP/1.1", 404)
attack(B, "a line without an end", b"A" * (1 << 20), 431)
for name, length, want in (
    ("64 MiB and one", (64 << 20) + 1, 413),
    ("18 digits", 10**17, 413),
    ("19 digits", 10**18, 400),
    ("all of 63 bits", 2**63 - 1, 400),
):
    bare(B, "length of " + name, b"Content-Length: %d\r\n" % length, want)
for coding in (b"gzip", b"deflate", b"br", b"zstd", b"gzip, gzip", b"x"):
    fields(B, f"content coding {coding!r}", b"Content-Encoding: " + coding + b"\r\n", 415)
fields(B, "content coding identity", b"Content-Encoding: identity\r\n", 200, keeps=True)
for name, body in {
    "no JSON": b"hello",
    "cut JSON": BODY[:-1],
    "JSON and more": BODY + b"x",
    "an array": b"[" + BODY + b"]",
    "100,000 brackets": b'{"model":"tiny","a":' + b"[" * 100_000,
    "an open string": b'{"model":"tiny',
    "a control in a string": b'{"model":"ti\x01ny"}',
    "NUL": b'{"model":"tiny\x00"}',
    "invalid UTF-8": b'{"model":"tiny\xff"}',
    "nothing": b"",
}.items():
    bare(B, "body: " + name, b"Content-Length: %d\r\n" % len(body), 400, body=body, keeps=True)
for name, body in {
    "no model": b"{}",
    "an empty model": b'{"model":""}',
    "a number for a model": b'{"model":1}',
    "a lone surrogate as model": b'{"model":"\\ud800"}',
    "an unknown model": b'{"model":"' + b"m" * 100_000 + b'"}',
    "an unknown model last": BODY[:-1] + b',"model":"nope"}',
}.items():
    bare(B, "body: " + name, b"Content-Length: %d\r\n" % len(body), 404, body=body, keeps=True)
for name, body in {
    "100,000 keys": BODY[:-1] + b"".join(b',"k%d":1' % i for i in range(100_000)) + b"}",
    "a number of 100,000 digits": BODY[:-1] + b',"n":' + b"9" * 100_000 + b"}",
    "blanks": b" " * 100_000 + BODY,
    "the model twice": b'{"model":"nope",' + BODY[1:],
}.items():
    bare(B, "body: " + name, b"Content-Length: %d\r\n" % len(body), 200, body=body, keeps=True)

# ---- slowness: with --head-timeout 300ms ----------------------------------------------------------
for name, send, pause in (
    ("a byte at a time", WHOLE[:60], 0.02),
    ("half a line", b"POST /v1", 0),
    ("no end of the head", WHOLE[:90], 0),
    ("a line at a time", b"GET / HTTP/1.1\r\nA: b\r\nC: d\r\nE: f\r\n" * 2, 0.01),
    ("one byte", b"P", 0),
    ("an empty line and nothing", b"\r\nG", 0),
):
    attack("slowness", name, send, 408, pause=pause)
attack("slowness", "a second request that stalls", WHOLE + WHOLE[:30], 200, 408)
attack("slowness", "nothing at all", b"")
attack("slowness", "an empty line", b"\r\n")

# ---- TLS -----------------------------------------------------------------------------------------


def record(kind, data, version=b"\x03\x01"):
    return bytes([kind]) + version + len(data).to_bytes(2, "big") + data


def hello(version=b"\x03\x03", suites=b"\x13\x01\xc0\x2f", extensions=b"", session=b""):
    body = (
        version
        + bytes(range(32))
        + bytes([len(session)])
        + session
        + len(suites).to_bytes(2, "big")
        + suites
        + b"\x01\x00"
        + len(extensions).to_bytes(2, "big")
        + extensions
    )
    return b"\x01" + len(body).to_bytes(3, "big") + body


def extension(kind, data):
    return kind.to_bytes(2, "big") + len(data).to_bytes(2, "big") + data


HANDSHAKES = {
    "random": bytes((i * 167 + 13) % 251 for i in range(1000)),
    "zeros": bytes(5000),
    "ones": b"\xff" * 5000,
    "SSH": b"SSH-2.0-OpenSSH_9.2\r\n" * 20,
    "SMTP": b"EHLO x\r\n" * 50,
    "the preface of HTTP/2": b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
    "SSL 2": b"\x80\x2e\x01\x00\x02\x00\x15\x00\x00\x00\x10" + bytes(40),
    "SSL 3": record(22, hello(b"\x03\x00"), b"\x03\x00"),
    "TLS 1.0": record(22, hello(b"\x03\x01")),
    "TLS 1.1": record(22, hello(b"\x03\x02")),
    "no common suite": record(22, hello(suites=b"\x00\x05")),
    "no suites": record(22, hello(suites=b"")),
    "odd suites": record(22, hello(suites=b"\x13")),
    "an alert first": record(21, b"\x02\x28"),
    "warnings": record(21, b"\x01\x5a") * 50,
    "data first": record(23, b"GET / HTTP/1.1\r\n\r\n"),
    "a cipher change first": record(20, b"\x01") * 50,
    "a heartbeat": record(24, b"\x01\x40\x00"),
    "an unknown record": record(99, b"x"),
    "an empty record": record(22, b""),
    "a record too large": b"\x16\x03\x01\xff\xff" + bytes(20000),
    "a server's hello": record(22, b"\x02" + hello()[1:]),
    "a finished first": record(22, b"\x14\x00\x00\x0c" + bytes(12)),
    "a length past the record": record(22, hello()[:40] + b"\xff" * 30),
    "a session of 255 bytes": record(22, hello(session=bytes(255))),
    "ALPN of nothing": record(22, hello(extensions=extension(16, b"\x00\x00"))),
    "ALPN h2 only": record(22, hello(extensions=extension(16, b"\x00\x03\x02h2"))),
    "ALPN past its end": record(22, hello(extensions=extension(16, b"\x00\x09\xffhttp/1.1"))),
    "a name of 300 bytes": record(22, hello(extensions=extension(0, b"\x01\x2f\x00\x01\x2c" + b"a" * 300))),
    "a name with NUL": record(22, hello(extensions=extension(0, b"\x00\x06\x00\x00\x03a\x00b"))),
    "an extension twice": record(22, hello(extensions=extension(16, b"\x00\x03\x02h2") * 2)),
    "extensions past the end": record(22, hello(extensions=b"\x00\x10\xff\xff")),
    "a hello cut": record(22, hello())[:30],
    "a hello in records of a byte": b"".join(record(22, bytes([b])) for b in hello()[:-1]),
    "nothing": b"",
}

# ---- engines -------------------------------------------------------------------------------------
OK = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n"


def answer(name, send, verdict, then="keep"):
    ANSWERS.append(Answer(name, send, then, verdict))


for name, text in {
    "garbage": b"\x00\x01\x02\r\n\r\n",
    "SSH": b"SSH-2.0-x\r\n\r\n",
    "a bare body": b"{}\r\n\r\n",
    "HTTP/2": b"HTTP/2.0 200 OK\r\n\r\n",
    "no version": b"200 OK\r\n\r\n",
    "a status of two digits": b"HTTP/1.1 20 OK\r\n\r\n",
    "status 999": b"HTTP/1.1 999 X\r\n\r\n",
    "status 099": b"HTTP/1.1 099 X\r\n\r\n",
    "a status of letters": b"HTTP/1.1 2x0 OK\r\n\r\n",
    "bare LF": b"HTTP/1.1 200 OK\nContent-Length: 2\n\n{}",
    "two lengths": OK + b"Content-Length: 2\r\nContent-Length: 2\r\n\r\n{}",
    "length and coding": OK + b"Content-Length: 2\r\n" + CHUNKED + b"\r\n{}",
    "a negative length": OK + b"Content-Length: -2\r\n\r\n{}",
    "a listed length": OK + b"Content-Length: 2, 2\r\n\r\n{}",
    "a length past 64 bits": OK + b"Content-Length: 99999999999999999999\r\n\r\n{}",
    "another coding": OK + b"Transfer-Encoding: gzip\r\n\r\n{}",
    "coding twice": OK + CHUNKED + CHUNKED + b"\r\n0\r\n\r\n",
    "a folded field": OK + b"X: a\r\n b\r\nContent-Length: 2\r\n\r\n{}",
    "a space before a colon": OK + b"Content-Length : 2\r\n\r\n{}",
    "NUL in a field": OK + b"X: \x00\r\nContent-Length: 2\r\n\r\n{}",
    "101 fields": OK + b"X: y\r\n" * 101 + b"Content-Length: 2\r\n\r\n{}",
    "a head of 40 KiB": OK + b"X: " + b"a" * (40 << 10) + b"\r\n\r\n",
    "an endless line": b"H" * 50_000,
    "17 interim answers": b"HTTP/1.1 100 Continue\r\n\r\n" * 17 + OK + b"Content-Length: 2\r\n\r\n{}",
    "an upgrade": b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\nConnection: upgrade\r\n\r\n",
    "a bad first chunk": OK + CHUNKED + b"\r\nzz\r\n",
    "a chunk too large": OK + CHUNKED + b"\r\n" + b"f" * 17 + b"\r\n",
    "a request as an answer": WHOLE,
    "a reason with a control": b"HTTP/1.1 200 O\x01K\r\nContent-Length: 2\r\n\r\n{}",
}.items():
    answer(name, text, 502)
for name, text in {
    "nothing": b"",
    "half a head": OK[:20],
    "a head and no body": OK + b"Content-Length: 2\r\n\r\n",
    "chunks without one": OK + CHUNKED + b"\r\n",
}.items():
    answer("ends: " + name, text, 502, "close")
    answer("reset: " + name, text, 502, "reset")
for name, text in {
    "a body too short": OK + b"Content-Length: 20\r\n\r\n{}",
    "chunks without their end": OK + CHUNKED + b"\r\n2\r\n{}\r\n",
    "in a chunk": OK + CHUNKED + b"\r\n9\r\n{}",
}.items():
    answer("ends: " + name, text, CUT, "close")
    answer("reset: " + name, text, CUT, "reset")
answer("a bad second chunk", OK + CHUNKED + b"\r\n2\r\n{}\r\nzz\r\n", 502)
answer("a chunk that is longer than it says", OK + CHUNKED + b"\r\n2\r\n{}{}\r\n0\r\n\r\n", 502)
POISON = OK + b"Content-Length: 10\r\n\r\n\"poisoned\""
for name, text in {
    "a body too long": OK + b"Content-Length: 2\r\n\r\n{}{}",
    "a second answer": OK + b"Content-Length: 2\r\n\r\n{}" + POISON,
    "a second answer after chunks": OK + CHUNKED + b"\r\n2\r\n{}\r\n0\r\n\r\n" + POISON,
    "16 interim answers": b"HTTP/1.1 100 Continue\r\n\r\n" * 16 + OK + b"Content-Length: 2\r\n\r\n{}",
    "extensions and trailers": OK + CHUNKED + b"\r\n2;a=b\r\n{}\r\n0\r\nContent-Length: 9\r\n\r\n",
    "no reason": b"HTTP/1.1 200\r\nContent-Length: 2\r\n\r\n{}",
    "hop-by-hop fields": OK + b"Connection: x-a\r\nX-A: b\r\nKeep-Alive: x\r\nContent-Length: 2\r\n\r\n{}",
}.items():
    answer(name, text, 200)
answer("until it closes", b"HTTP/1.0 200 OK\r\n\r\n{}", 200, "close")
answer("no body, but bytes", b"HTTP/1.1 204 No Content\r\nContent-Length: 2\r\n\r\n{}" + POISON, 204)
answer("not modified, but bytes", b"HTTP/1.1 304 Not Modified\r\nContent-Length: 2\r\n\r\n{}" + POISON, 304)

if __name__ == "__main__":
    counts = collections.Counter(a.kind for a in ATTACKS) + collections.Counter(
        {"tls": len(HANDSHAKES), "engines": len(ANSWERS)}
    )
    print(*(f"{kind}: {count}" for kind, count in counts.items()), f"all: {counts.total()}", sep="\n")
