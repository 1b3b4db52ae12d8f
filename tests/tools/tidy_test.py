"""tidy.py finds what it promises to find."""

import pathlib
import sys
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tools"))

import tidy  # noqa: E402


def errors_of(check, *arguments):
    report = tidy.Report()
    check(*arguments, report)
    return report.errors


class TidyTest(unittest.TestCase):
    def test_white_space(self):
        self.assertEqual(len(errors_of(tidy.check_text, "a.cc", "int a; \n")), 1)
        self.assertEqual(len(errors_of(tidy.check_text, "a.cc", "\tint a;\n")), 1)
        self.assertEqual(len(errors_of(tidy.check_text, "a.cc", "int a;")), 1)
        self.assertEqual(errors_of(tidy.check_text, "a.cc", "int a;\n"), [])

    def test_length_of_files(self):
        self.assertEqual(errors_of(tidy.check_text, "a.cc", "int a;\n" * 500), [])
        self.assertEqual(len(errors_of(tidy.check_text, "a.cc", "int a;\n" * 501)), 1)
        self.assertEqual(errors_of(tidy.check_text, "a.json", "1\n" * 501), [])

    def test_length_of_functions(self):
        lines = ["void f(int a) {"] + ["    a();"] * 61 + ["}"]
        self.assertEqual(list(tidy.long_functions(lines)), [(1, 61)])
        self.assertEqual(list(tidy.long_functions(lines[:-2] + ["}"])), [])

    def test_headers_and_clocks(self):
        self.assertEqual(len(errors_of(tidy.check_cpp, "src/a.h", "int a;\n")), 1)
        reading = "auto t = std::chrono::steady_clock::now();\n"
        self.assertEqual(len(errors_of(tidy.check_cpp, "src/presence/core/a.cc", reading)), 1)
        self.assertEqual(errors_of(tidy.check_cpp, tidy.CLOCK_FILE, reading), [])

    def test_secrets_are_compared_in_constant_time(self):
        for line in ("if (session.resume_hash == request.resume_hash) {", "return known.text != hook->secret;",
                     "if (signature == expected) {", "std::memcmp(secret.data(), given, 32)"):
            self.assertEqual(len(errors_of(tidy.check_cpp, "src/presence/core/a.cc", line + "\n")), 1, line)
        for line in ("if (equal_in_constant_time(session.resume_hash, hash)) {", "if (secret.empty()) {",
                     "session.resume_hash = request.new_resume_hash;", "if (key == \"secret\") {", "return a == secret_of(b);"):
            self.assertEqual(errors_of(tidy.check_cpp, "src/presence/core/a.cc", line + "\n"), [], line)

    def test_a_folder_is_on_the_map_by_its_path_or_in_the_row_of_its_parent(self):
        named = {"src/presence/base", "tests", "unit", "sdk/client"}
        for folder in ("src/presence/base", "tests/unit", "sdk", "sdk/client"):
            self.assertTrue(tidy.is_on_map(folder, named), folder)
        for folder in ("src/presence/core", "tests/fault", "sdk/react", "fuzz", "apps/unit"):
            self.assertFalse(tidy.is_on_map(folder, named), folder)

    def test_a_map_that_names_what_is_not_there(self):
        complaints = errors_of(tidy.check_named_paths, ROOT, "README.md", "See `tools/nowhere.py`.")
        self.assertEqual(len(complaints), 1)
        self.assertEqual(errors_of(tidy.check_named_paths, ROOT, "README.md", "`tools/tidy.py`"), [])


if __name__ == "__main__":
    unittest.main()
