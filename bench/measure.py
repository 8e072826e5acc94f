"""What bench/run and bench/peers/run share: processes pinned to CPUs, their CPU time, and load on them."""
import json
import os
import pathlib
import signal
import socket
import statistics
import subprocess
import sys
import time
import urllib.request

ROOT = pathlib.Path(__file__).resolve().parent.parent
REQUEST_CONNECTIONS, STREAMS = 32, 64
# Of nginx's, for a request and for a relayed chunk.
CPU_RATIO_MAX = 1.00
# Targets take turns of so many seconds, because what else a shared machine does comes in bursts of a
# second or so: each target then gets its part. A stream lasts a quarter of a second.
SLICE_SECONDS = {"request": 0.25, "stream": 1.0}
WARM_UP_SECONDS = 0.1


def add_arguments(parser):
    parser.add_argument("--binary", type=pathlib.Path, default=ROOT / "build/fairlead")
    parser.add_argument("--tools", type=pathlib.Path, default=ROOT / "build/bench",
                        help="where relay_mock and relay_load are")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--seconds", type=float, default=3, help="of each round")


def check_programs(args):
    for program in (args.binary, args.tools / "relay_mock", args.tools / "relay_load"):
        if not program.exists():
            fail(f"{program} is missing: run `make bench`, which builds it")


def fail(message):
    sys.exit(f"{pathlib.Path(sys.argv[0]).resolve().relative_to(ROOT)}: {message}")


def free_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


def process_tree(pid):
    """The process and all below it."""
    tree = [pid]
    for one in tree:
        for task in pathlib.Path(f"/proc/{one}/task").glob("*"):
            try:
                tree += map(int, (task / "children").read_text().split())
            except OSError:
                pass  # ended meanwhile
    return tree


def cpu_us(pid):
    """CPU time of all threads. Nanosecond counters where the kernel has them, else clock ticks."""
    try:
        tasks = pathlib.Path(f"/proc/{pid}/task").iterdir()
        return sum(int((t / "schedstat").read_text().split()[0]) for t in tasks) / 1000
    except FileNotFoundError:
        fields = pathlib.Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) * 1e6 / os.sysconf("SC_CLK_TCK")


def stolen_ticks(cpus):
    """So long has the host of a virtual machine kept these CPUs from it while they had work."""
    names = {f"cpu{cpu}" for cpu in cpus}
    lines = (line.split() for line in pathlib.Path("/proc/stat").read_text().splitlines())
    return sum(int(fields[8]) for fields in lines if fields[0] in names)


def rss_kib(pid):
    for line in pathlib.Path(f"/proc/{pid}/status").read_text().splitlines():
        if line.startswith("VmRSS:"):
            return int(line.split()[1])
    raise RuntimeError(f"process {pid} has no VmRSS")


class Server:
    """A process pinned to one CPU that listens on a port; its output goes to a file."""

    def __init__(self, name, command, port, cpu, folder, env=None):
        self.name, self.port, self.log = name, port, folder / f"{name}.log"
        with self.log.open("w") as out:
            self.process = subprocess.Popen(
                ["taskset", "-c", str(cpu), *map(str, command)], stdout=out, stderr=out,
                stdin=subprocess.DEVNULL, env=dict(os.environ, **(env or {})))
        self.pid = self.process.pid

    def wait_ready(self, path, seconds=20):
        """None if it does not come to that."""
        deadline = time.monotonic() + seconds
        while time.monotonic() < deadline:
            if self.process.poll() is not None:
                break
            try:
                url = f"http://127.0.0.1:{self.port}{path}"
                with urllib.request.urlopen(url, timeout=2) as answer:
                    if answer.status == 200:
                        return self
            except OSError:
                time.sleep(0.05)
        return None

    def cpu_us(self):
        return sum(cpu_us(pid) for pid in process_tree(self.pid))

    def stop(self):
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)
            try:
                self.process.wait(15)
            except subprocess.TimeoutExpired:
                for pid in reversed(process_tree(self.pid)):
                    os.kill(pid, signal.SIGKILL)
                self.process.wait()


class Rig:
    """Servers on the first CPU; the client and what stands behind the servers on the last one."""

    def __init__(self, args, folder):
        self.args, self.folder, self.servers = args, folder, []
        cpus = sorted(os.sched_getaffinity(0))
        self.cpu, self.client_cpu = cpus[0], cpus[-1]

    def start(self, name, command, port, cpu, ready, env=None):
        server = Server(name, command, port, cpu, self.folder, env)
        self.servers.append(server)
        if server.wait_ready(ready) is None:
            fail(f"{name} did not become ready:\n{server.log.read_text()[-2000:]}")
        return server

    def start_mock(self):
        port = free_port()
        return self.start("relay_mock", [self.args.tools / "relay_mock", port], port,
                          self.client_cpu, "/health")

    def start_nginx(self, backend_port):
        port = free_port()
        conf = (ROOT / "bench/nginx.conf").read_text()
        for key, value in (("PORT", port), ("BACKEND", backend_port), ("DIR", self.folder)):
            conf = conf.replace(f"@{key}@", str(value))
        (self.folder / "nginx.conf").write_text(conf)
        return self.start("nginx", ["nginx", "-p", self.folder, "-c", self.folder / "nginx.conf"],
                          port, self.cpu, "/health")

    def start_fairlead(self, backend_ports, *flags):
        backends = [f"127.0.0.1:{port}" for port in backend_ports]
        return self.start_router("fairlead", backends, *flags)

    def start_router(self, name, backends, *flags, cpus=None):
        """`backends` are HOST:PORT; `cpus` as taskset takes them, else the first CPU."""
        port = free_port()
        words = [word for backend in backends for word in ("--backend", f"http://{backend}")]
        return self.start(name, [self.args.binary, "router", *words, "--port", port, "--metrics-port",
                                 free_port(), "--debug-port", 0, *flags],
                          port, self.cpu if cpus is None else cpus, "/v1/models")

    def load(self, port, mode, connections, seconds, *more):
        command = ["taskset", "-c", self.client_cpu, self.args.tools / "relay_load", port, mode,
                   connections, seconds, *more]
        done = subprocess.run(list(map(str, command)), capture_output=True, text=True)
        if done.returncode != 0:
            fail(f"{mode} at port {port} failed: {done.stderr.strip()}")
        result = json.loads(done.stdout)
        if result["errors"]:
            fail(f"{mode} at port {port}: {result['errors']} answers were not 200")
        return result

    def measured(self, server, mode, connections, *more):
        """One round of one server."""
        return self.round(mode, connections, [server], *more)[server.name]

    def round(self, mode, connections, targets, *more):
        """By target name: what the load said, with the server's CPU a request and an event beside it.
        Counts are sums over the slices, latencies the medians of those that the host disturbed least."""
        slices = {server.name: [] for server in targets}
        for i in range(max(1, round(self.args.seconds / SLICE_SECONDS[mode]))):
            for server in targets if i % 2 == 0 else targets[::-1]:
                self.load(server.port, mode, connections, WARM_UP_SECONDS, *more)
                before, stolen = server.cpu_us(), stolen_ticks((self.cpu, self.client_cpu))
                result = self.load(server.port, mode, connections,
                                   min(SLICE_SECONDS[mode], self.args.seconds), *more)
                result["cpu_us"] = server.cpu_us() - before
                result["stolen"] = stolen_ticks((self.cpu, self.client_cpu)) - stolen
                slices[server.name].append(result)
        return {name: summed(results) for name, results in slices.items()}

    def interleaved(self, mode, connections, targets, rounds=None):
        """By target name: its rounds, the targets taking turns within each."""
        rounds = [self.round(mode, connections, targets) for _ in range(rounds or self.args.rounds)]
        return {server.name: [r[server.name] for r in rounds] for server in targets}

    def close(self):
        for server in reversed(self.servers):
            server.stop()
        self.servers = []


def summed(slices):
    result = {key: sum(r[key] for r in slices) for key in ("requests", "events", "seconds", "cpu_us")}
    # A host that takes a CPU away does so for most of a millisecond: that would be the p99 of whoever had
    # its turn just then.
    least = min(r["stolen"] for r in slices)
    quiet = [r for r in slices if r["stolen"] == least]
    result |= {key: statistics.median(r[key] for r in quiet) for key in ("p50_us", "p99_us")}
    result["cpu_request_us"] = result["cpu_us"] / result["requests"]
    result["cpu_event_us"] = result["cpu_us"] / max(result["events"], 1)
    result["busy"] = result["cpu_us"] / (result["seconds"] * 1e6)
    result["requests_per_s"] = result["requests"] / result["seconds"]
    return result


def mark(met):
    return "ok" if met else "MISSED"


def median(results, name, key):
    return statistics.median(r[key] for r in results[name])


def median_pair(pairs):
    """Of (base, ours) measured beside each other, the pair with the median ratio."""
    pairs = sorted(pairs, key=lambda pair: pair[1] / pair[0])
    return pairs[len(pairs) // 2]


def median_round(results, base, ours, key):
    return median_pair([(b[key], o[key]) for b, o in zip(results[base], results[ours], strict=True)])
