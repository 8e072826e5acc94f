"""Right behaviour where other routers went wrong, as far as no other file has it (docs/field-lessons.md)."""
import fake_engine
import fleet
import wire
from fake_engine import FakeEngine, response


def test_a_back_end_without_metrics_shows(start):
    """It is used like any other, and its missing signal is missing in the router's metrics, too."""
    engine = start(fleet.Engine)
    with FakeEngine(lambda call: call.send(response(fake_engine.COMPLETION))) as fake:
        router = start(fleet.Router, [engine.url, fake.url])
        name = "fairlead_backend_metrics_age_seconds"

        def shown():
            return {dict(labels)["backend"] for series, labels in router.metrics() if series == name}
        fleet.wait_until(lambda: shown() == {f"127.0.0.1:{engine.port}"}, 10, "one has metrics")
        for _ in range(4):
            assert wire.chat(router.port, max_tokens=1).status == 200
        assert len(fake.calls) == 2
        assert shown() == {f"127.0.0.1:{engine.port}"}
