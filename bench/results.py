"""bench/RESULTS.md: sections that programs write, each between its own markers."""
import os
import pathlib
import platform
import re
import subprocess

FILE = pathlib.Path(__file__).resolve().parent / "RESULTS.md"
TITLE = """# Measured

Written by the programs that measured, each its own section; run them again rather than edit this file.
"""


def write_section(name, text):
    """Replaces the section of that name, or adds it at the end; the others stay as they are."""
    begin, end = f"<!-- begin {name} -->", f"<!-- end {name} -->"
    section = f"{begin}\n{text.strip()}\n{end}"
    old = FILE.read_text() if FILE.exists() else TITLE
    pattern = re.compile(re.escape(begin) + ".*?" + re.escape(end), re.DOTALL)
    if pattern.search(old):
        new = pattern.sub(lambda _: section, old)
    else:
        new = f"{old.rstrip()}\n\n{section}\n"
    FILE.write_text(new)


def machine():
    """Processor, cores in use, memory and kernel, in one line."""
    cpu = "unknown processor"
    for line in pathlib.Path("/proc/cpuinfo").read_text().splitlines():
        if line.startswith("model name"):
            cpu = line.partition(":")[2].strip()
            break
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30
    return (f"{cpu}, {len(os.sched_getaffinity(0))} cores, {memory:.0f} GiB, "
            f"Linux {platform.release()}")


def commit():
    done = subprocess.run(["git", "-C", FILE.parent, "log", "-1", "--format=%h %cs"],
                          capture_output=True, text=True)
    return done.stdout.strip() or "unknown"


def table(header, rows):
    """A Markdown table; the first column is text, the others are numbers."""
    lines = ["| " + " | ".join(header) + " |",
             "|" + "|".join(["---"] + ["---:"] * (len(header) - 1)) + "|"]
    return "\n".join(lines + ["| " + " | ".join(map(str, row)) + " |" for row in rows])
