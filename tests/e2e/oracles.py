"""Servers that nobody here wrote, to compare with: nginx, and uvicorn with both of its parsers."""

import hashlib
import pathlib
import shutil
import subprocess
import sys
import tempfile

import fleet
import wire

HERE = pathlib.Path(__file__).parent
SENTINEL = b"GET /sentinel HTTP/1.1\r\nHost: x\r\n\r\n"

NGINX = """
daemon off; worker_processes 1; pid {folder}/pid; error_log {folder}/error.log;
events {{ worker_connections 256; }}
http {{
  access_log off; client_body_temp_path {folder}; proxy_temp_path {folder}; fastcgi_temp_path {folder};
  uwsgi_temp_path {folder}; scgi_temp_path {folder};
  client_max_body_size 100m; large_client_header_buffers 8 128k;
  server {{ listen 127.0.0.1:{port}; location / {{ proxy_pass http://127.0.0.1:{behind}; }} }}
}}
"""


class Oracle:
    def __init__(self, name, command):
        self.name, self.port = name, fleet.free_port()
        self.log = open(fleet.LOGS / f"oracle-{name}.log", "wb")
        self.popen = subprocess.Popen(
            command(self.port), stdout=self.log, stderr=subprocess.STDOUT, stdin=subprocess.DEVNULL, cwd=HERE
        )
        fleet.wait_until(lambda: wire.ask(self.port, "GET", "/").status == 200, 20, f"{name} answers")

    def close(self):
        self.popen.terminate()
        self.popen.wait(10)
        self.log.close()

    def frames(self, data):
        """[(method, path, length, sha256)] of the requests that it takes `data` for, up to one that it
        refuses (None), with a sentinel behind them; the sentinel is left out."""
        found = []
        with wire.Connection(self.port) as connection:
            try:
                connection.send(data + SENTINEL)
                while True:
                    answer = connection.read_response()
                    if answer.status != 200:
                        return found + [None]
                    seen = answer.json()
                    if seen["path"] == "/sentinel":
                        return found
                    found.append((seen["method"], seen["path"], seen["length"], seen["sha256"]))
            except OSError:
                return found + [None]


def frame_of(method, path, body):
    return (method, path.split("?")[0], len(body), hashlib.sha256(body).hexdigest())


def start_all():
    def uvicorn(parser):
        return lambda port: [
            sys.executable,
            "-m",
            "uvicorn",
            "oracle_app:app",
            "--port",
            str(port),
            "--http",
            parser,
            "--log-level",
            "warning",
            "--no-access-log",
        ]

    started = [Oracle("httptools", uvicorn("httptools")), Oracle("h11", uvicorn("h11"))]

    def nginx(port):
        folder = pathlib.Path(tempfile.mkdtemp(prefix="fairlead-nginx."))
        (folder / "nginx.conf").write_text(NGINX.format(folder=folder, port=port, behind=started[0].port))
        return [shutil.which("nginx") or "/usr/sbin/nginx", "-c", str(folder / "nginx.conf"), "-p", str(folder)]

    return started + [Oracle("nginx", nginx)]
