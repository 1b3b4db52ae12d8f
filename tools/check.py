#!/usr/bin/env python3
"""All that ./dev check looks at: format, layers, tidiness, clang-tidy, cppcheck. Each is one test case.

usage: check.py [--fix] [--all] [--results FILE]
--fix formats the C++ in place; --all lets clang-tidy look at every file however long it takes, and
runs cppcheck.
"""

import argparse
import os
import pathlib
import subprocess
import sys
import time
import xml.etree.ElementTree as ElementTree

ROOT = pathlib.Path(__file__).resolve().parent.parent


def cpp_files():
    command = ["git", "-C", str(ROOT), "ls-files", "--cached", "--others", "--exclude-standard",
               "*.cc", "*.h"]
    listed = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    return [path for path in sorted(set(listed.splitlines())) if (ROOT / path).is_file()]


def steps(options):
    """Name and command of each check."""
    python = [sys.executable]
    formatting = ["clang-format", "-i"] if options.fix else ["clang-format", "--dry-run", "--Werror"]
    tidying = python + ["tools/clang_tidy.py"] + (["--all"] if options.all else [])
    found = [
        ("clang-format", formatting + cpp_files()),
        ("layers", python + ["tools/check_layers.py"]),
        ("tidy", python + ["tools/tidy.py"]),
        ("clang-tidy", tidying),
    ]
    return found + ([("cppcheck", cppcheck())] if options.all else [])


def cppcheck():
    """What it knows of the sources without the headers of libraries, which it would read for an hour. (The programs
    write times as `20s`, of which it makes an error of its own.)"""
    return ["cppcheck", "--std=c++20", "--language=c++", "--enable=warning,performance,portability",
            "--inconclusive", "--inline-suppr", "--suppressions-list=tools/cppcheck.txt",
            "--error-exitcode=1", "--quiet", "-j", str(os.cpu_count() or 1), "-I", "src", "src"]


def run_step(name, command):
    """Runs one check and prints what it says. Returns its test case."""
    started = time.monotonic()
    done = subprocess.run(command, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                          text=True)
    seconds = time.monotonic() - started
    print(done.stdout, end="")
    print(f"{'ok    ' if done.returncode == 0 else 'FAILED'} {name} ({seconds:.1f} s)", flush=True)
    case = ElementTree.Element("testcase", classname="check", name=name, time=f"{seconds:.3f}")
    if done.returncode != 0 and name == "clang-tidy" and os.environ.get("CI") == "true":
        # It gets through a share of the files in its time, another with each commit: what it says
        # there is for the next change, and does not refuse this one.
        print("clang-tidy complained; not counted", flush=True)
    elif done.returncode != 0:
        failure = ElementTree.SubElement(case, "failure", message=f"exit {done.returncode}")
        failure.text = done.stdout[-4000:]
    return case


def main(arguments):
    parser = argparse.ArgumentParser()
    parser.add_argument("--fix", action="store_true")
    parser.add_argument("--all", action="store_true")
    parser.add_argument("--results", type=pathlib.Path)
    options = parser.parse_args(arguments)

    suite = ElementTree.Element("testsuite", name="check")
    for name, command in steps(options):
        suite.append(run_step(name, command))
    if options.results:
        options.results.parent.mkdir(parents=True, exist_ok=True)
        ElementTree.ElementTree(suite).write(options.results, encoding="unicode")
    return 1 if suite.findall(".//failure") else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
