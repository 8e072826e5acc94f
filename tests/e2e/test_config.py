"""The scheduling file: --check-config, a start with it, and a reload under the program's own threads."""
import os
import subprocess

import fleet
import wire

GOOD = """\
scheduler:
  plugins:
    Score:
      enabled:
        - name: gpu-usage
          weight: 1
"""
EXAMPLE = fleet.ROOT / "docs" / "examples" / "scheduling.yaml"


def check(*flags):
    return subprocess.run([fleet.BINARY, "router", "--check-config", *flags], capture_output=True, text=True,
                          timeout=20)


def replace(file, text):
    """As editors and ConfigMaps do: the file is never seen half-written."""
    new = file.with_suffix(".new")
    new.write_text(text)
    os.replace(new, file)


def test_the_example_of_the_documentation_is_usable():
    done = check("--config", EXAMPLE)
    assert (done.returncode, done.stderr) == (0, "")
    assert "0 warnings" in done.stdout


def test_a_check_names_file_line_and_field(tmp_path):
    file = tmp_path / "router.yaml"
    file.write_text(GOOD.replace("weight: 1", "weight: -1"))
    done = check("--config", file)
    assert done.returncode == 1
    assert f"{file}: line 6: scheduler.plugins.Score.enabled[0].weight is -1" in done.stderr


def test_a_check_warns_of_what_is_unknown(tmp_path):
    file = tmp_path / "router.yaml"
    file.write_text(GOOD + "sheduler: {}\n")
    done = check("--config", file)
    assert done.returncode == 0
    assert "line 7: sheduler: unknown field, did you mean 'scheduler'?" in done.stderr


def test_a_policy_beside_a_file_is_wrong_usage():
    done = check("--config", EXAMPLE, "--policy", "random")
    assert done.returncode == 2 and "choose one" in done.stderr


def test_a_file_that_cannot_be_used_ends_the_start(tmp_path):
    file = tmp_path / "router.yaml"
    file.write_text("scheduler: [\n")
    done = subprocess.run([fleet.BINARY, "router", "--backend", "http://127.0.0.1:1", "--config", file,
                           "--port", str(fleet.free_port()), "--metrics-port", str(fleet.free_port())],
                          capture_output=True, text=True, timeout=20)
    assert done.returncode == 1 and "line " in done.stderr


def test_a_reload_is_taken_over_or_refused_while_requests_run(start, plain_engine, tmp_path):
    file = tmp_path / "router.yaml"
    file.write_text(GOOD)
    router = start(fleet.Router, [plain_engine.url], "--config", file, "--allow-explain", "--loops", "2",
                   policy=None)

    def explanation():
        answer = wire.chat(router.port, headers=[("x-fairlead-explain", "1")], max_tokens=1)
        assert answer.status == 200
        return answer.headers["x-fairlead-explain"]

    def explained_by(scorer):
        # Each connection goes to one of two loops: all of them have taken the change over.
        return all(f'"{scorer}":' in explanation() for _ in range(8))

    assert explained_by("gpu-usage")
    replace(file, GOOD.replace("gpu-usage", "least-request"))
    fleet.wait_until(lambda: explained_by("least-request"), 10, "the new file decides")
    replace(file, GOOD.replace("weight: 1", "weight: much"))
    fleet.wait_until(lambda: router.metrics().total("fairlead_config_current") == 0, 10, "a refusal is seen")
    assert explained_by("least-request")
    assert router.metrics().total("fairlead_config_errors_total") == 1
