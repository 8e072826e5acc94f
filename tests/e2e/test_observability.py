"""What a router says about itself beside its metrics: access log, debug server, traces."""
import http.server
import json
import threading

import fleet
import wire

TRACE = "0af7651916cd43dd8448eb211c80319c"
CALLER = "b7ad6b7169203331"


class Collector:
    """An OpenTelemetry collector: takes OTLP/HTTP with JSON and keeps the spans."""

    def __init__(self):
        self.spans, self.paths = [], set()
        collector = self

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_POST(self):
                body = json.loads(self.rfile.read(int(self.headers["content-length"])))
                collector.paths.add((self.path, self.headers["content-type"]))
                for resource in body["resourceSpans"]:
                    names = {a["key"]: a["value"] for a in resource["resource"]["attributes"]}
                    assert names["service.name"] == {"stringValue": "fairlead-router"}
                    for scope in resource["scopeSpans"]:
                        collector.spans += scope["spans"]
                self.send_response(200)
                self.send_header("content-type", "application/json")
                self.send_header("content-length", "2")
                self.end_headers()
                self.wfile.write(b"{}")

            def log_message(self, *_):
                pass

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server.server_port}"
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.server.shutdown()
        self.server.server_close()


def ask_traced(port, flags):
    return wire.chat(port, stream=True, max_tokens=2,
                     headers=[("traceparent", f"00-{TRACE}-{CALLER}-{flags}")])


def test_spans_reach_a_collector(start):
    engine = start(fleet.Engine, "--sim-speed", "20")
    with Collector() as collector:
        router = start(fleet.Router, [engine.url], "--otlp-endpoint", collector.url)
        assert ask_traced(router.port, "00").status == 200
        assert ask_traced(router.port, "01").status == 200
        fleet.wait_until(lambda: len(collector.spans) == 3, 10, "three spans have come")
        assert collector.paths == {("/v1/traces", "application/json")}
        by_name = {span["name"]: span for span in collector.spans}
        assert set(by_name) == {"pick", "attempt", "request"}
        assert {span["traceId"] for span in collector.spans} == {TRACE}
        assert by_name["request"]["parentSpanId"] == CALLER
        assert by_name["attempt"]["parentSpanId"] == by_name["request"]["spanId"]
        exported = "fairlead_trace_spans_exported_total"
        fleet.wait_until(lambda: router.metrics().total(exported) == 3, 5, "they are counted")
        # Spans of the last second are sent at the end.
        assert ask_traced(router.port, "01").status == 200
        router.terminate()
        assert len(collector.spans) == 6


def test_the_debug_server_is_on_the_loopback_address(start):
    engine = start(fleet.Engine)
    port = fleet.free_port()
    start(fleet.Router, [engine.url], "--debug-port", port)
    pods = wire.ask(port, "GET", "/debug/config_dump/pods").json()["pods"]
    assert [pod["name"] for pod in pods] == [f"127.0.0.1:{engine.port}"]
    assert pods[0]["backend_type"] == "static" and pods[0]["models"] == ["tiny"]
    assert set(pods[0]["metrics"]) == {"gpuCacheUsage", "requestWaitingNum", "requestRunningNum",
                                       "tpot", "ttft"}
    missing = wire.ask(port, "GET", "/debug/config_dump/namespaces/default/modelroutes/nope")
    assert missing.status == 404 and missing.json() == {"error": "ModelRoute not found"}


def test_a_debug_port_that_is_taken_stops_nothing(start):
    engine = start(fleet.Engine)
    port = fleet.free_port()
    start(fleet.Router, [engine.url], "--debug-port", port)
    second = start(fleet.Router, [engine.url], "--debug-port", port)
    assert wire.chat(second.port, max_tokens=1).status == 200
    assert "no debug server" in second.output()


def test_the_access_log_is_json_lines(start):
    engine = start(fleet.Engine)
    router = start(fleet.Router, [engine.url], "--access-log", "json")
    assert wire.chat(router.port, max_tokens=3).status == 200
    router.terminate()
    lines = [json.loads(line) for line in router.output().splitlines() if line.startswith("{")]
    line = [line for line in lines if line["path"] == "/v1/chat/completions"][0]
    assert line["status_code"] == 200 and line["output_tokens"] == 3
    assert line["backend_type"] == "static" and line["selected_pod"] == f"127.0.0.1:{engine.port}"
