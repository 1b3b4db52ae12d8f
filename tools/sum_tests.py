#!/usr/bin/env python3
"""Sums the JUnit XML files of all test runners: ctest, vitest, node --test, tools/check.py.

usage: sum_tests.py [--quiet] [--at-least-one-failure CODE] FOLDER

Prints one line a file (unless --quiet), the names of what failed, and last `N passed, N failed`.
Exit 1 if anything failed or nothing ran. A CODE other than 0 means that a step failed outside the
runners (the build, say): it counts as one failure if no runner tells of one.
"""

import argparse
import pathlib
import re
import sys
import xml.etree.ElementTree as ElementTree
from dataclasses import dataclass, field


@dataclass
class Sum:
    """Counts of one file, or of all."""

    passed: int = 0
    skipped: int = 0
    failed: list = field(default_factory=list)

    def add(self, other):
        self.passed += other.passed
        self.skipped += other.skipped
        self.failed += other.failed


def read_file(path):
    """The counts of one file. One that is no XML counts as one failure."""
    found = Sum()
    try:
        text = pathlib.Path(path).read_bytes()
        # node's runner lets colour codes of a message through, which are no XML.
        root = ElementTree.fromstring(re.sub(rb"[\x00-\x08\x0b\x0c\x0e-\x1f]", b"", text))
    except (ElementTree.ParseError, OSError) as error:
        found.failed.append(f"{path.name}: cannot be read: {error}")
        return found
    for case in root.iter("testcase"):
        name = " ".join(filter(None, (case.get("classname"), case.get("name"))))
        status = case.get("status", "")
        if case.find("failure") is not None or case.find("error") is not None or status == "fail":
            found.failed.append(f"{path.stem}: {name}{reason_of(case)}")
        elif case.find("skipped") is not None or status in ("notrun", "disabled"):
            found.skipped += 1
        else:
            found.passed += 1
    return found


def reason_of(case):
    """What a failed case says of itself, cut to one short line; empty if it says nothing."""
    for failure in (*case.findall("failure"), *case.findall("error")):
        said = " ".join((failure.get("message") or failure.text or "").split())
        if said:
            return f": {said[:200]}"
    return ""


def main(arguments):
    parser = argparse.ArgumentParser()
    parser.add_argument("--quiet", action="store_true")
    parser.add_argument("--at-least-one-failure", metavar="CODE", type=int, default=0)
    parser.add_argument("folder", type=pathlib.Path)
    options = parser.parse_args(arguments)

    total = Sum()
    for path in sorted(options.folder.glob("*.xml")):
        found = read_file(path)
        total.add(found)
        if not options.quiet:
            print(f"{path.stem}: {found.passed} passed, {len(found.failed)} failed, "
                  f"{found.skipped} skipped")
    if options.at_least_one_failure and not total.failed:
        total.failed.append("a step outside the test runners, see above")
    for name in total.failed:
        print(f"FAILED {name}")
    print(f"{total.passed} passed, {len(total.failed)} failed")
    return 1 if total.failed or not total.passed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
