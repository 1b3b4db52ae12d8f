#!/usr/bin/env python3
"""Tidiness that no formatter sees: sizes, white space, clock readers, and maps that stay true.

usage: tidy.py [ROOT]
Prints `error: ...` and `warning: ...` lines; exits 1 if there is an error.
"""

import pathlib
import re
import subprocess
import sys

SOURCE_SUFFIXES = {".h", ".cc", ".py", ".sh", ".ts", ".tsx", ".mjs", ".js", ".css", ".cmake"}
TEXT_SUFFIXES = SOURCE_SUFFIXES | {".md", ".toml", ".yaml", ".txt", ".html", ".json"}
WARN_FILE_LINES = 400
MOST_FILE_LINES = 500
WARN_FUNCTION_LINES = 60
GENERATED = re.compile(r"(^|/)package-lock\.json$|^fuzz/corpus/|(^|/)\.")

# Only this file asks the system for the time; everybody else is handed a Clock.
CLOCK_FILE = "src/presence/base/clock.cc"
CLOCK_READ = re.compile(r"\b(steady_clock|system_clock|high_resolution_clock)::now\b"
                        r"|\bclock_gettime\s*\(|\bgettimeofday\s*\(|[^\w.>:]time\s*\(\s*(nullptr|NULL|0)\s*\)")

# What is to be guessed is compared in constant time, by the functions of that name alone.
SECRET = r"(?:resume_hash|resume_secret|secret|signature|api_key|key_hash|presented)"
SECRET_COMPARED = re.compile(rf"\b{SECRET}\s*[!=]=(?!=)|[!=]=\s*(?:\w+(?:\.|->))*{SECRET}\b(?!\s*\()|\bmemcmp\s*\(\s*{SECRET}")

# Folders that ARCHITECTURE.md has to name, each with a slash at its end.
MAPPED = ("*", "src/presence/*", "src/presence/stores/*", "tests/*", "apps/*", "sdk/*", "web/*")
MAPS = ("ARCHITECTURE.md", "README.md")
NAMED_PATH = re.compile(r"`([\w.-]+(?:/[\w.-]+)*/?)`")


class Report:
    """Collects what was found, in order."""

    def __init__(self):
        self.errors = []
        self.warnings = []

    def error(self, text):
        self.errors.append(text)

    def warning(self, text):
        self.warnings.append(text)


def project_files(root):
    """Files of the project: those that git keeps or would keep."""
    command = ["git", "-C", str(root), "ls-files", "--cached", "--others", "--exclude-standard"]
    listed = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    return [path for path in sorted(set(listed.splitlines())) if (root / path).is_file()]


def check_text(path, text, report):
    """White space and sizes of one file."""
    lines = text.splitlines()
    for number, line in enumerate(lines, start=1):
        if line != line.rstrip():
            report.error(f"{path}:{number}: space at the end of the line")
        if "\t" in line:
            report.error(f"{path}:{number}: a tab")
    if text and not text.endswith("\n"):
        report.error(f"{path}: no newline at the end")
    if pathlib.PurePosixPath(path).suffix not in SOURCE_SUFFIXES:
        return
    if len(lines) > MOST_FILE_LINES:
        report.error(f"{path}: {len(lines)} lines, most is {MOST_FILE_LINES}")
    elif len(lines) > WARN_FILE_LINES:
        report.warning(f"{path}: {len(lines)} lines, should be under {WARN_FILE_LINES}")


def long_functions(lines):
    """(line, length) of each function over the limit. A function here is a block whose head has a
    bracket and stands at the margin or one step in, and whose end is a brace as far in."""
    head = re.compile(r"^( {0,4})[\w:~<>*&\[\]].*\)?.*\{$")
    opened = None
    for number, line in enumerate(lines, start=1):
        if opened is None:
            match = head.match(line)
            if match and "(" in line and not line.lstrip().startswith(("namespace", "struct", "class",
                                                                       "TEST_P(Suite")):
                opened = (number, match[1])
        elif line in (opened[1] + "}", opened[1] + "};", opened[1] + "});"):
            if number - opened[0] - 1 > WARN_FUNCTION_LINES:
                yield opened[0], number - opened[0] - 1
            opened = None


def check_cpp(path, text, report):
    """What holds for C++ only."""
    lines = text.splitlines()
    if path.endswith(".h") and "#pragma once" not in lines:
        report.error(f"{path}: no #pragma once")
    for number, length in long_functions(lines):
        report.warning(f"{path}:{number}: a function of {length} lines, should be under "
                       f"{WARN_FUNCTION_LINES}")
    if path.startswith("src/") and path != CLOCK_FILE:
        for number, line in enumerate(lines, start=1):
            if CLOCK_READ.search(line.split("//")[0]):
                report.error(f"{path}:{number}: reads the time; only {CLOCK_FILE} does")
    if path.startswith("src/"):
        for number, line in enumerate(lines, start=1):
            if SECRET_COMPARED.search(line.split("//")[0]):
                report.error(f"{path}:{number}: compares a secret byte by byte; equal_in_constant_time does not")


def mapped_folders(root, files):
    """Folders that have to be on the map: those of MAPPED that hold a file of the project."""
    holding = {parent.as_posix() for file in files for parent in pathlib.PurePosixPath(file).parents}
    found = set()
    for pattern in MAPPED:
        found |= {folder.relative_to(root).as_posix() for folder in root.glob(pattern)
                  if folder.is_dir() and not folder.name.startswith(".")}
    return sorted(found & holding - {"."})


def is_on_map(folder, named):
    """Whether a folder is named: by its path, by something below it, or, outside the layers, by
    its last name in the row of its parent."""
    path = pathlib.PurePosixPath(folder)
    by_last_name = not folder.startswith("src/") and path.name in named and str(path.parent) in named
    return folder in named or by_last_name or any(name.startswith(folder + "/") for name in named)


def check_maps(root, files, report):
    """ARCHITECTURE.md names each folder; each path that a map names exists."""
    architecture = root / "ARCHITECTURE.md"
    if not architecture.exists():
        report.error("ARCHITECTURE.md is missing")
    else:
        named = {name.rstrip("/") for name in NAMED_PATH.findall(architecture.read_text())}
        for folder in mapped_folders(root, files):
            if not is_on_map(folder, named):
                report.error(f"ARCHITECTURE.md does not name the folder {folder}")
    for name in MAPS:
        if (root / name).exists():
            check_named_paths(root, name, (root / name).read_text(), report)


def check_named_paths(root, name, text, report):
    for number, line in enumerate(text.splitlines(), start=1):
        for path in NAMED_PATH.findall(line):
            looks_like_path = "/" in path or path.endswith((".md", ".toml", ".h", ".cc", ".py"))
            if not looks_like_path or path.startswith(("build/", "v1/")):
                continue
            beside = [root / path, root / "src/presence" / path, root / "src/presence" / f"{path}.h"]
            if not any(candidate.exists() for candidate in beside):
                report.error(f"{name}:{number}: names {path}, which does not exist")


def check(root):
    report = Report()
    files = [path for path in project_files(root) if not GENERATED.search(path)]
    for path in files:
        if pathlib.PurePosixPath(path).suffix not in TEXT_SUFFIXES:
            continue
        try:
            text = (root / path).read_text()
        except UnicodeDecodeError:
            report.error(f"{path}: is not UTF-8")
            continue
        check_text(path, text, report)
        if path.endswith((".h", ".cc")):
            check_cpp(path, text, report)
    check_maps(root, files, report)
    return report


def main(arguments):
    root = pathlib.Path(arguments[0]) if arguments else pathlib.Path(__file__).parent.parent
    report = check(root.resolve())
    for line in report.warnings:
        print(f"warning: {line}")
    for line in report.errors:
        print(f"error: {line}")
    return 1 if report.errors else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
