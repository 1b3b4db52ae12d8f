#!/usr/bin/env python3
"""Runs clang-tidy over the sources, within a bound of time, and remembers which were clean.

usage: clang_tidy.py [--all] [--seconds N] [--build FOLDER]
Looks at files that changed against the main branch first, then at the others in an order that
moves on with each commit, until the time is over; --all takes all the time it needs. A file
whose text, headers and rules are as they were when it was clean is not looked at again.
"""

import argparse
import concurrent.futures
import hashlib
import json
import os
import pathlib
import re
import subprocess
import sys
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent
INCLUDE = re.compile(r'^\s*#\s*include\s*"([^"]+)"', re.M)
# What g++ takes and this clang does not (captured bindings, parts of <ranges> in clang 14). Such a
# file is g++'s to judge; the build has done so.
NOT_UNDERSTOOD = "[clang-diagnostic-error]"
NOISE = re.compile(r"^\d+ warnings? generated|^Suppressed \d+|^Use -header-filter|^\s*$")


def git(*arguments):
    done = subprocess.run(["git", "-C", str(ROOT), *arguments], capture_output=True, text=True)
    return done.stdout.splitlines() if done.returncode == 0 else []


def changed_files():
    """What differs from the main branch, or was changed by the last commit if this is main."""
    for base in ("origin/main", "HEAD~1"):
        changed = git("diff", "--name-only", base)
        if changed:
            return set(changed)
    return set()


def fingerprint(path, seen):
    """Hash over `path` and the project's headers that it includes, directly or not."""
    if path in seen or not path.exists():
        return ""
    seen.add(path)
    text = path.read_text()
    parts = [hashlib.sha256(text.encode()).hexdigest()]
    for header in INCLUDE.findall(text):
        for folder in (ROOT / "src", ROOT / "tests", path.parent):
            parts.append(fingerprint(folder / header, seen))
    return hashlib.sha256("".join(parts).encode()).hexdigest()


def run_one(path, build, deadline):
    """None if there was no time; else what clang-tidy said, empty if nothing, NOT_UNDERSTOOD if it
    could not read the file."""
    left = deadline - time.monotonic()
    if left <= 0:
        return None
    # g++ is told of warnings and of precompiled headers that clang knows nothing about.
    command = ["clang-tidy", "-quiet", "-p", str(build), "--warnings-as-errors=*",
               "--extra-arg=-Wno-unknown-warning-option", "--extra-arg=-Wno-error",
               "--extra-arg=-Wno-ignored-optimization-argument", str(path)]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=max(left, 60))
    except subprocess.TimeoutExpired:
        return None
    if done.returncode == 0:
        return ""
    if NOT_UNDERSTOOD in done.stdout:
        return NOT_UNDERSTOOD
    lines = (done.stdout + done.stderr).splitlines()
    return "\n".join(line for line in lines if not NOISE.match(line)) or "clang-tidy failed"


def sources(build):
    """Sources of the project that the build compiles, in the order in which to look at them."""
    commands = json.loads((build / "compile_commands.json").read_text())
    files = {pathlib.Path(entry["file"]).resolve() for entry in commands}
    paths = [file for file in files if file.is_relative_to(ROOT / "src")
             or file.is_relative_to(ROOT / "apps")]
    changed = changed_files()
    turn = (git("rev-parse", "HEAD") or [""])[0]

    def order(path):
        name = path.relative_to(ROOT).as_posix()
        return (name not in changed, hashlib.sha256((turn + name).encode()).hexdigest())

    return sorted(paths, key=order)


def main(arguments):
    parser = argparse.ArgumentParser()
    parser.add_argument("--all", action="store_true")
    parser.add_argument("--seconds", type=float, default=240)
    parser.add_argument("--build", type=pathlib.Path, default=ROOT / "build/release")
    options = parser.parse_args(arguments)

    clean_file = ROOT / "build/tidy-clean.json"
    clean = set(json.loads(clean_file.read_text())) if clean_file.exists() else set()
    rules = (ROOT / ".clang-tidy").read_text()
    deadline = time.monotonic() + (36_000 if options.all else options.seconds)
    still_clean, skipped, complaints = set(), 0, 0
    todo = {}
    for path in sources(options.build):
        key = hashlib.sha256((rules + fingerprint(path, set())).encode()).hexdigest()
        if key in clean:
            still_clean.add(key)
        else:
            todo[path] = key
    with concurrent.futures.ThreadPoolExecutor(max_workers=os.cpu_count()) as pool:
        runs = {path: pool.submit(run_one, path, options.build, deadline) for path in todo}
        for path, run in runs.items():
            said = run.result()
            if said is None:
                skipped += 1
            elif said == NOT_UNDERSTOOD:
                still_clean.add(todo[path])
                print(f"{path.relative_to(ROOT)}: not understood by this clang, left to g++")
            elif said:
                complaints += 1
                print(said)
            else:
                still_clean.add(todo[path])
    clean_file.write_text(json.dumps(sorted(still_clean)))
    print(f"clang-tidy: {len(still_clean)} files clean, {complaints} with complaints, "
          f"{skipped} not looked at for want of time")
    return 1 if complaints else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
