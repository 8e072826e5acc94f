#!/usr/bin/env python3
"""Breaks each rule of tools/tidy once, in a small tree, and expects exactly the finding it makes.

Run as python3 tools/tidy_test.py; ctest runs it as "tidy".
"""
import importlib.machinery
import importlib.util
import pathlib
import tempfile
import textwrap
import unittest

HERE = pathlib.Path(__file__).parent
loader = importlib.machinery.SourceFileLoader("tidy", str(HERE / "tidy"))
tidy = importlib.util.module_from_spec(importlib.util.spec_from_loader("tidy", loader))
loader.exec_module(tidy)

GOOD = {
    "src/README.md": """\
        | folder | layer | what | same layer |
        |---|---|---|---|
        | `base` | 0 | ground | |
        | `codec` | 1 | formats | |
        | `obs` | 1 | metrics | codec |
        | `cache_index` | 3 | pure, with atomics: the index | |
        | `pick` | 3 | pure: choices | cache_index |
        | `router` | 4 | shell | |
        """,
    "src/base/CMakeLists.txt": "fairlead_library(NAME base HDRS a.h SRCS a.cc TESTS a_test.cc)",
    "src/base/README.md": "# base\nSee `a.h`.\n",
    "src/base/a.h": "// What a is.\n#pragma once\n#include <string>\n",
    "src/base/a.cc": '#include "base/a.h"\n#include <fmt/format.h>\n',
    "src/base/a_test.cc": '#include "base/a.h"\n#include <gtest/gtest.h>\n',
    "src/codec/CMakeLists.txt": "fairlead_library(NAME codec HDRS c.h DEPS base)",
    "src/codec/README.md": "# codec\n",
    "src/codec/c.h": '// c\n#pragma once\n#include "base/a.h"\n',
    "src/pick/CMakeLists.txt": "fairlead_library(NAME pick HDRS p.h DEPS base TEST_DEPS codec)",
    "src/pick/README.md": "# pick\n",
    "src/pick/p.h": '// p: never `::now(` in a comment\n#pragma once\n#include "base/a.h"\n',
    "src/router/CMakeLists.txt": "fairlead_library(NAME router HDRS r.h DEPS base codec pick)",
    "src/router/README.md": "# router\n",
    "src/router/r.h": '// r\n#pragma once\n#include <sys/socket.h>\n#include "pick/p.h"\n',
    "README.md": "Look at `src/base/a.h`, [pick](src/pick/README.md), `build/x` and `base/a.*`.\n",
}


def findings(changes):
    with tempfile.TemporaryDirectory() as folder:
        root = pathlib.Path(folder)
        for name, text in {**GOOD, **changes}.items():
            if text is None:
                continue
            path = root / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(textwrap.dedent(text))
            if text.startswith("#!"):
                path.chmod(0o755)
        return [f"{path}:{line}: {message}" for path, line, message in tidy.check(root).findings]


class Tidy(unittest.TestCase):
    def expect(self, changes, *wanted):
        got = findings(changes)
        self.assertEqual(len(got), len(wanted), got)
        for text in wanted:
            self.assertTrue(any(text in line for line in got), f"{text!r} not in {got}")

    def test_a_good_tree_has_no_findings(self):
        self.expect({})

    def test_include_of_a_folder_not_in_deps(self):
        self.expect({"src/router/CMakeLists.txt": "fairlead_library(NAME router HDRS r.h DEPS base)"},
                    'src/router/r.h:4: includes "pick/p.h" but pick is not in DEPS')

    def test_dependency_on_a_higher_layer(self):
        self.expect({"src/codec/CMakeLists.txt": "fairlead_library(NAME codec HDRS c.h DEPS base pick)"},
                    "layer 1 must not depend on pick (layer 3)")

    def test_dependency_on_the_own_layer_that_the_table_does_not_name(self):
        self.expect({"src/obs/CMakeLists.txt": "fairlead_library(NAME obs DEPS codec)",
                     "src/obs/README.md": "# obs\n"})
        self.expect({"src/obs/CMakeLists.txt": "fairlead_library(NAME obs)",
                     "src/obs/README.md": "# obs\n",
                     "src/codec/CMakeLists.txt":
                         "fairlead_library(NAME codec HDRS c.h DEPS base obs)"},
                    "layer 1 must not depend on obs (layer 1)")

    def test_cycle(self):
        table = GOOD["src/README.md"].replace("formats | |", "formats | obs |")
        self.expect({"src/README.md": table,
                     "src/obs/CMakeLists.txt": "fairlead_library(NAME obs DEPS codec)",
                     "src/obs/README.md": "# obs\n",
                     "src/codec/CMakeLists.txt":
                         "fairlead_library(NAME codec HDRS c.h DEPS base obs)"},
                    "dependency cycle: codec -> obs -> codec")

    def test_tests_may_use_test_deps_and_sources_may_not(self):
        cmake = "fairlead_library(NAME pick HDRS p.h SRCS {} DEPS base TEST_DEPS codec)"
        self.expect({"src/pick/CMakeLists.txt": cmake.format("p_test.cc"),
                     "src/pick/p_test.cc": '#include "codec/c.h"\n'})
        self.expect({"src/pick/CMakeLists.txt": cmake.format("p.cc"),
                     "src/pick/p.cc": '#include "codec/c.h"\n'}, "codec is not in DEPS")

    def test_test_dependency_on_a_higher_layer(self):
        self.expect({"src/pick/CMakeLists.txt":
                     "fairlead_library(NAME pick HDRS p.h DEPS base TEST_DEPS router)"},
                    "TEST_DEPS: layer 3 must not use router")

    def test_include_that_does_not_exist_or_is_relative(self):
        self.expect({"src/base/a.cc": '#include "base/b.h"\n'}, '"base/b.h" does not exist')
        self.expect({"src/base/a.cc": '#include "a.h"\n'}, "write the path from src/")

    def test_folder_without_a_line_a_library_or_a_readme(self):
        self.expect({"src/extra/CMakeLists.txt": "fairlead_library(NAME extra)",
                     "src/extra/README.md": "# extra\n"}, "src/extra:1: has no line")
        self.expect({"src/pick/README.md": None, "README.md": ""}, "src/pick/README.md:1: missing")
        self.expect({"src/pick/README.md": "x\n" * 60}, "under 60 lines")
        self.expect({"src/obs/README.md": "# obs\n"}, "src/obs/CMakeLists.txt:1: missing")

    def test_file_that_no_target_builds(self):
        self.expect({"src/base/lost.cc": ""}, "lost.cc:1: is not listed")

    def test_library_with_another_name(self):
        self.expect({"src/codec/CMakeLists.txt": "fairlead_library(NAME kodec HDRS c.h DEPS base)"},
                    "NAME must be codec")

    def test_pure_core_that_reads_the_clock_or_does_io(self):
        for line, message in (
            ("auto t = std::chrono::steady_clock::now();", "reads a clock"),
            ("std::mutex m;", "uses threads"),
            ("clock_gettime(CLOCK_MONOTONIC, &t);", "calls the operating system"),
            ("base::SystemClock clock;", "owns a clock"),
            ("#include <thread>", "must not include <thread>"),
            ("#include <sys/socket.h>", "must not include <sys/socket.h>"),
        ):
            with self.subTest(line):
                self.expect({"src/pick/p.h": f"// p\n#pragma once\n{line}\n"},
                            f"src/pick/p.h:3: a pure core {message}")
        self.expect({"src/pick/p.h": "// p\n#pragma once\n#include <atomic>\n"})

    def test_atomics_in_another_core(self):
        table = GOOD["src/README.md"] + "| `plan` | 3 | pure: plans | |\n"
        self.expect({"src/README.md": table,
                     "src/plan/CMakeLists.txt": "fairlead_library(NAME plan HDRS q.h)",
                     "src/plan/README.md": "# plan\n",
                     "src/plan/q.h": "// q\n#pragma once\n#include <atomic>\n"}, "atomics belong to")

    def test_third_party_header_in_the_wrong_place(self):
        for header in ("openssl/ssl.h", "simdjson.h", "boost/describe.hpp", "fairlead_rust.h"):
            with self.subTest(header):
                self.expect({"src/base/a.cc": f"#include <{header}>\n"}, "may be seen only in")
        self.expect({"src/base/a.cc": "#include <boost/asio.hpp>\n"}, "not a library this tree uses")
        self.expect({"src/base/a.cc": "#include <iostream>\n"}, "<iostream>: use fmt")

    def test_throw_and_catch(self):
        self.expect({"src/base/a.cc": "void f() { throw 1; }\n"}, "throw: return a Result")
        self.expect({"src/base/a.cc": "try {} catch (...) {}\n"}, "catch: only at")
        self.expect({"src/base/a.cc": '// throw\nauto s = "throw";\n'})

    def test_sleeping_test(self):
        self.expect({"src/base/a_test.cc": "std::this_thread::sleep_for(1s);\n"}, "never sleeps")

    def test_names_that_say_nothing(self):
        self.expect({"src/base/CMakeLists.txt":
                     "fairlead_library(NAME base HDRS a.h utils.h SRCS a.cc TESTS a_test.cc)",
                     "src/base/utils.h": "// u\n#pragma once\n"}, "'utils.h' says nothing")

    def test_header_without_a_guard_or_a_purpose(self):
        self.expect({"src/pick/p.h": "// p\n"}, "no #pragma once")
        self.expect({"src/pick/p.h": "#pragma once\n"}, "starts with what it is for")

    def test_document_that_names_a_missing_path(self):
        self.expect({"README.md": "see `src/base/gone.h`\n"}, "README.md:1: names src/base/gone.h")
        self.expect({"README.md": "see [x](docs/gone.md)\n"}, "names docs/gone.md")
        self.expect({"src/base/README.md": "`gone.cc`\n"}, "names gone.cc")

    def test_lesson_without_its_test(self):
        rows = {name: f"| {name} | right | comes with the rest |\n" for name in tidy.LESSONS}

        def lessons(**changed):
            return {"docs/field-lessons.md": "".join((rows | changed).values()),
                    "src/base/a_test.cc": "TEST(A, Holds) {}\nTEST_F(A, HoldsAsWell) {}\n",
                    "tests/e2e/test_a.py": "def test_holds(start):\n    pass\n"}
        good = ("| L1 | right | `src/base/a_test.cc:A.Holds` `src/base/a_test.cc:A.HoldsAsWell` "
                "`tests/e2e/test_a.py:test_holds` |\n")
        self.expect(lessons(L1=good))
        self.expect(lessons(L1=good.replace("A.Holds`", "A.Hold`")), "has no test A.Hold")
        self.expect(lessons(L1=good.replace("test_holds", "test_hold")), "has no test test_hold")
        self.expect(lessons(L1=good.replace("a_test.cc:A.HoldsA", "b_test.cc:A.HoldsA")),
                    "src/base/b_test.cc does not exist")
        self.expect(lessons(W3="| W3 | right | |\n"), "W3 has no test")
        self.expect(lessons(W3=""), "W3 is missing")
        self.expect(lessons(W3=rows["W3"] * 2), "W3 is no entry, or is there twice")

    def test_text_of_one_machine(self):
        self.expect({"README.md": "cd /ro" "ot/fairlead\n"}, "names a path of one machine")
        self.expect({"README.md": "from reg." + tidy.HOSTS[0] + "\n"}, "names a package registry")

    def test_generated_file_that_differs(self):
        generator = "#!/bin/sh\necho '// generated by tools/gen'\necho 1\n"
        out = "// generated by tools/gen\n1\n"
        self.expect({"tools/gen": generator, "docs/out.txt": out})
        self.expect({"tools/gen": generator, "docs/out.txt": out + "2\n"}, "generate it again")
        self.expect({"docs/out.txt": out}, "its generator tools/gen does not exist")


if __name__ == "__main__":
    unittest.main()
