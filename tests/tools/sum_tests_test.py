"""The sum over all runners counts each of their dialects of JUnit XML, and misses no failure."""

import contextlib
import io
import pathlib
import subprocess
import sys
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tools"))

import sum_tests  # noqa: E402

CTEST = """<testsuite name="t" tests="3">
<testcase name="unit/a" classname="unit/a" status="run"/>
<testcase name="unit/b" classname="unit/b" status="fail"><failure message=""/></testcase>
<testcase name="unit/c" classname="unit/c" status="notrun"><skipped/></testcase></testsuite>"""
NODE = """<testsuites><testsuite name="outer"><testsuite name="inner">
<testcase name="x" classname="test"/></testsuite>
<testcase name="y" classname="test"><failure type="testCodeFailure"/></testcase></testsuite>
</testsuites>"""
VITEST = """<testsuites><testsuite name="f"><testcase classname="f" name="v"/></testsuite></testsuites>"""


class SumTestsTest(unittest.TestCase):
    def run_on(self, files, *arguments):
        with tempfile.TemporaryDirectory() as folder:
            for name, text in files.items():
                (pathlib.Path(folder) / name).write_text(text)
            said = io.StringIO()
            with contextlib.redirect_stdout(said):
                code = sum_tests.main([*arguments, folder])
        return code, said.getvalue().splitlines()

    def test_the_last_line_sums_all_runners(self):
        code, lines = self.run_on({"ctest.xml": CTEST, "node.xml": NODE, "vitest.xml": VITEST})
        self.assertEqual(lines[-1], "3 passed, 2 failed")
        self.assertEqual(code, 1)

    def test_all_passed_is_exit_zero(self):
        self.assertEqual(self.run_on({"v.xml": VITEST})[0], 0)

    def test_nothing_ran_is_no_success(self):
        code, lines = self.run_on({})
        self.assertEqual((code, lines[-1]), (1, "0 passed, 0 failed"))

    def test_a_file_cut_short_counts_as_a_failure(self):
        code, lines = self.run_on({"v.xml": VITEST[:40]})
        self.assertEqual((code, lines[-1]), (1, "0 passed, 1 failed"))

    def test_a_failed_build_counts_even_if_no_runner_tells(self):
        code, lines = self.run_on({"v.xml": VITEST}, "--at-least-one-failure", "1")
        self.assertEqual((code, lines[-1]), (1, "1 passed, 1 failed"))

    def test_what_a_failure_says_is_told_on_one_short_line(self):
        said = '<testcase name="x" classname="c"><failure message="%s"/></testcase>'
        _, lines = self.run_on({"v.xml": said % ("two\nlines " + 300 * "y")})
        self.assertEqual(lines[-2], "FAILED v: c x: two lines " + 190 * "y")

    def test_a_runner_that_crashed_is_recorded(self):
        with tempfile.TemporaryDirectory() as folder:
            file = pathlib.Path(folder) / "crashed.xml"
            subprocess.run([ROOT / "tools/recorded.sh", file, "sh", "-c", "exit 139"])
            found = sum_tests.main(["--quiet", folder])
        self.assertEqual(found, 1)


if __name__ == "__main__":
    unittest.main()
