"""What an ASGI server makes of the bytes it gets: it answers with the message as it has framed it."""

import hashlib
import json


async def app(scope, receive, send):
    if scope["type"] != "http":
        return
    body, more = b"", True
    while more:
        message = await receive()
        body, more = body + message.get("body", b""), message.get("more_body", False)
    seen = {
        "method": scope["method"],
        "path": scope["path"],
        "length": len(body),
        "sha256": hashlib.sha256(body).hexdigest(),
    }
    answer = json.dumps(seen).encode()
    await send(
        {
            "type": "http.response.start",
            "status": 200,
            "headers": [(b"content-type", b"application/json"), (b"content-length", str(len(answer)).encode())],
        }
    )
    await send({"type": "http.response.body", "body": answer})
