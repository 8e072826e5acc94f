"""Rows of bench/run about size: what a second event loop and a thousand replicas add to a request, and what
watching replicas costs while nobody asks."""
import time

from measure import REQUEST_CONNECTIONS, fail, free_port, median_pair, median_round

LOOPS_RATIO_MAX, REPLICAS_RATIO_MAX, SCRAPE_PERCENT_MAX = 1.1, 1.2, 2.0
FEW, MANY = 4, 1000
# Few and many cannot take turns of a quarter second (see replicas_rows), so there are more pairs of them.
PAIRS_MORE = 2
# One loop moves between the CPUs and two share one with the client, so single rounds differ by a tenth.
LOOPS_ROUNDS = 3  # times the others'
SETTLE_SECONDS, IDLE_SECONDS = 3, 5


def addresses(count, port):
    return [f"127.0.{1 + i // 250}.{1 + i % 250}:{port}" for i in range(count)]


def idle_share(server):
    """CPU seconds a second while no request comes."""
    time.sleep(SETTLE_SECONDS)
    before, begun = server.cpu_us(), time.monotonic()
    time.sleep(IDLE_SECONDS)
    return (server.cpu_us() - before) / 1e6 / (time.monotonic() - begun)


def loops_row(bench, flags):
    """One loop and two on the same CPUs, the client's among them."""
    mock = bench.start_mock()
    cpus = f"{bench.cpu},{bench.client_cpu}"
    backends = [f"127.0.0.1:{mock.port}"]
    targets = [bench.start_router(f"loops-{n}", backends, "--loops", n, *flags, cpus=cpus)
               for n in (1, 2)]
    r = bench.interleaved("request", REQUEST_CONNECTIONS, targets, LOOPS_ROUNDS * bench.args.rounds)
    bench.close()
    one, two = median_round(r, *(t.name for t in targets), "cpu_request_us")
    return ("CPU a request, 2 loops", "us", one, two, LOOPS_RATIO_MAX, None, "1 loop")


def replicas_rows(bench, flags):
    """Both with what watching their replicas costs taken off: that is the other row. Of the pairs that were
    measured one after the other, the one with the median ratio."""
    port = free_port()
    bench.start("relay_mock", [bench.args.tools / "relay_mock", port, "all"], port,
                bench.client_cpu, "/health")
    watching, pairs = {}, []
    for _ in range(bench.args.rounds + PAIRS_MORE):
        cost = {}
        # In turn, and never both at once: a thousand replicas that are watched would disturb the other one.
        for count in (FEW, MANY):
            server = bench.start_router(f"replicas-{count}", addresses(count, port), *flags)
            if count not in watching:
                watching[count] = idle_share(server)
            bench.measured(server, "request", REQUEST_CONNECTIONS)
            r = bench.measured(server, "request", REQUEST_CONNECTIONS)
            cost[count] = r["cpu_request_us"] - watching[count] * 1e6 / r["requests_per_s"]
            server.stop()
            bench.servers.remove(server)
        if min(cost.values()) <= 0:
            fail("watching replicas cost more than all that was measured")
        pairs.append((cost[FEW], cost[MANY]))
    bench.close()
    few, many = median_pair(pairs)
    return [(f"CPU a request, {MANY} replicas", "us", few, many, REPLICAS_RATIO_MAX, None,
             f"{FEW} replicas"),
            ("watching 100 replicas, of a core", "%", None, 100 * watching[MANY] * 100 / MANY, None,
             SCRAPE_PERCENT_MAX, "")]


def fleet_rows(bench, flags):
    return [loops_row(bench, flags), *replicas_rows(bench, flags)]
