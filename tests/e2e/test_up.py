"""`fairlead up` as a newcomer meets it: the first answer, a second one, a port in use, a killed engine."""
import os
import pathlib
import re
import signal
import socket
import subprocess

import fleet
import wire


def up(start, port, *flags):
    return start(fleet.Process, "up", "--port", port, "--metrics-port", fleet.free_port(), *flags)


def children(pid):
    """{process id: command line} of the engines and the router."""
    found = {}
    for task in pathlib.Path(f"/proc/{pid}/task").iterdir():
        for child in (task / "children").read_text().split():
            found[int(child)] = pathlib.Path(f"/proc/{child}/cmdline").read_text().split("\0")
    return found


def alive(pid):
    try:
        return "Z" not in pathlib.Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0]
    except FileNotFoundError:
        return False


def test_once_shows_an_answer_and_what_to_try_next(start):
    port = fleet.free_port()
    process = up(start, port, "--once")
    assert process.popen.wait(20) == 0, process.output()
    out = process.log.read_text()
    assert re.search(r"\d+ tokens, the first after \d+ ms", out), out
    assert "curl -iN" in out and "fairlead bench --compare round-robin,prefix-cache" in out


def test_the_shown_curl_works_and_ctrl_c_stops_everything(start):
    port = fleet.free_port()
    process = up(start, port)
    fleet.wait_until(lambda: "Ctrl-C stops everything" in process.log.read_text(), 20, "up is ready")
    kids = children(process.pid)
    assert len(kids) == 4, kids
    command = re.search(r"  (curl .*?)\n\n", process.log.read_text(), re.S).group(1)
    answer = subprocess.run(["bash", "-c", command], capture_output=True, text=True, timeout=30).stdout
    assert answer.startswith("HTTP/1.1 200") and answer.rstrip().endswith("data: [DONE]"), answer
    assert "x-fairlead-explain:" in answer.lower()
    os.kill(process.pid, signal.SIGINT)
    assert process.popen.wait(10) == 0
    assert not any(alive(kid) for kid in kids)


def test_a_second_up_says_that_one_runs(start):
    port = fleet.free_port()
    first = up(start, port)
    fleet.wait_until(lambda: "Ctrl-C stops everything" in first.log.read_text(), 20, "up is ready")
    second = up(start, port)
    assert second.popen.wait(10) == 1
    assert "already running" in second.output() and str(first.pid) in second.output()
    assert first.popen.poll() is None
    third = up(start, fleet.free_port(), "--once")  # on another port it may run beside the first
    assert third.popen.wait(20) == 0, third.output()


def test_a_port_in_use_is_named_with_what_to_do(start):
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        process = up(start, port)
        assert process.popen.wait(10) == 1
        assert f"port {port} is in use" in process.output() and "--port" in process.output()


def test_a_killed_engine_is_named_and_started_again(start):
    port = fleet.free_port()
    process = up(start, port)
    fleet.wait_until(lambda: "Ctrl-C stops everything" in process.log.read_text(), 20, "up is ready")
    engines = [pid for pid, words in children(process.pid).items() if "engine" in words]
    os.kill(engines[0], signal.SIGKILL)
    model = wire.ask(port, "GET", "/v1/models").json()["data"][0]["id"]
    for i in range(10):
        answer = wire.ask(port, "POST", "/v1/chat/completions", {
            "model": model, "max_tokens": 1, "messages": [{"role": "user", "content": f"{i}"}]})
        assert answer.status == 200
    fleet.wait_until(lambda: "signal 9" in process.log.read_text(), 5, "the end is told")
    fleet.wait_until(lambda: "started again" in process.log.read_text(), 10, "it starts again")
    fleet.wait_until(lambda: sum("engine" in w for w in children(process.pid).values()) == 3, 5,
                     "three engines run")


def test_nothing_is_left_when_up_itself_is_killed(start):
    process = up(start, fleet.free_port())
    fleet.wait_until(lambda: "Ctrl-C stops everything" in process.log.read_text(), 20, "up is ready")
    kids = children(process.pid)
    process.kill9()
    fleet.wait_until(lambda: not any(alive(kid) for kid in kids), 5, "its children are gone")
