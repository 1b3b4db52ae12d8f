#!/usr/bin/env python3
"""Breaks rules of the server on purpose, one at a time, and tells after how many stories the simulation found each.

    tools/sim_breaks.py            builds and plays all; hours without a warm ccache, else some minutes
    tools/sim_breaks.py NAME...    only these
    tools/sim_breaks.py --check    only whether each break still finds its place in the sources

Works in a worktree of its own, build/breaks, at the commit that is checked out. The table is for docs/testing.md.
"""

import pathlib
import re
import subprocess
import sys
from dataclasses import dataclass

ROOT = pathlib.Path(__file__).resolve().parent.parent
TREE = ROOT / "build/breaks"
MOST_SEEDS = 200


@dataclass(frozen=True)
class Break:
    name: str
    rule: str
    file: str
    edits: tuple[tuple[str, str], ...]


BREAKS = (
    Break("half-a-grace", "a session in grace ends after half of it", "core/liveness.cc",
          (("stalls_.deadline(local.pinged_or_lost_at, heartbeat.grace);", "stalls_.deadline(local.pinged_or_lost_at, heartbeat.grace / 2);"),)),
    Break("short-ttl", "a session ends for silence one second early", "core/liveness.cc",
          (("pinged ? heartbeat.ttl :", "pinged ? heartbeat.ttl - Millis{1000} :"),
           ("if (silent >= parts_.config.heartbeat.ttl) {", "if (silent >= parts_.config.heartbeat.ttl - Millis{1000}) {"))),
    Break("invisible-counted", "who is invisible is counted and listed in rooms", "core/room_desk.cc",
          (("subject != nullptr && subject->at_home && subject->open_to_all &&\n           subject->shown_status() != Status::offline;",
            "subject != nullptr && subject->at_home && subject->open_to_all;"),
           ("subject != nullptr && subject->at_home && subject->shown_status() != Status::offline;",
            "subject != nullptr && subject->at_home;"))),
    Break("version-stays", "a change that is shown does not raise the version", "rules/transition.cc",
          (("after.shown_version = next_version(before.shown_version, facts.floors.shown);",
            "after.shown_version = before.shown_version;"),)),
    Break("last-seen-early", "last seen is a minute before the last sign of life", "rules/transition.cc",
          (("return before ? std::max(*before, seen) : seen;", "return seen - Millis{60'000};"),)),
    Break("blocked-hear", "a block is not applied to signals in rooms", "core/room_delivery.cc",
          (("if (replica->is_self(viewer, slot) || replica->is_listed_for(viewer, slot)) {", "if (replica->is_self(viewer, slot) || true) {"),
           ("(viewer->user == signal->from || crowd->rows[i].sees(0))", "(viewer->user == signal->from || crowd->rows[i].sees(0) || true)"))),
    Break("no-fence", "word that a session was taken ends a newer life of it, too", "core/elsewhere.cc",
          (("local.id == taken.session && local.epoch <= taken.epoch", "local.id == taken.session"),)),
    Break("older-life", "after an outage a server holds on to a session that went on elsewhere", "core/sharing.cc",
          (("session.node == self && taken->epoch < session.epoch", "session.node == self"),)),
    Break("dead-stay", "nobody settles the death of a server", "core/cluster_sweep.cc",
          (("if (!node.alive && left <= Millis{0}) {", "if (!node.alive && left <= Millis{0} && false) {"),)),
    Break("lease-ignored", "a server whose lease is over goes on writing", "core/settle.cc",
          (("if (!parts_.nodes.vouches(parts_.clock.now()) ||", "if (false ||"),)),
    Break("unknown-offline", "whom nobody can tell of is shown offline", "core/snapshot.cc",
          (("seen.unreachable = (subject.unreachable || !nodes_.knows_all())", "seen.unreachable = false && (subject.unreachable || !nodes_.knows_all())"),)),
    Break("edge-stays", "one watch of those that end stays", "core/watch_desk.cc",
          (("void WatchDesk::drop(WatchIndex::EdgeId id) {\n", "void WatchDesk::drop(WatchIndex::EdgeId id) {\n    static int dropped = 0;\n    if (++dropped % 1000 == 0) {\n        return;\n    }\n"),)),
    Break("timer-stays", "the window against flapping is never closed", "core/announcer.cc",
          (("        user.flap.reset();\n    }\n}\n\nvoid PresenceService::tell_what", "    }\n}\n\nvoid PresenceService::tell_what"),)),
    Break("not-stated", "a server states nothing again to a store that was away", "core/cluster_member.cc",
          (("parts_.scheduler.post([this] { assert_all(incarnation_); });", "asserted_ = incarnation_;"),)),
)


def broken(one: Break, tree: pathlib.Path) -> str:
    text = (tree / "src/presence" / one.file).read_text()
    for old, new in one.edits:
        if text.count(old) != 1:
            raise SystemExit(f"{one.name}: {one.file} has {text.count(old)} times: {old}")
        text = text.replace(old, new)
    return text


def sim(tree: pathlib.Path) -> pathlib.Path:
    def run(*words: str) -> None:
        subprocess.run(words, cwd=tree, check=True, stdout=subprocess.DEVNULL)
    run("cmake", "--preset", "release")
    run("cmake", "--build", "build/release", "--target", "presenced-sim")
    return tree / "build/release/bin/presenced-sim"


def find(program: pathlib.Path) -> tuple[int, str] | None:
    """How many stories it took, and what the check said."""
    played = 0
    for seed in range(1, MOST_SEEDS + 1):
        played += 1
        run = subprocess.run([str(program), "run", "--seed", str(seed), "--tries", "0"], capture_output=True, text=True)
        if run.returncode != 0:
            said = re.search(r"^as it was: (.*)", run.stdout, re.M)
            return played, said.group(1) if said else (run.stderr or run.stdout).strip().splitlines()[-1]
    return None


def main() -> int:
    names = [name for name in sys.argv[1:] if not name.startswith("-")]
    chosen = [one for one in BREAKS if not names or one.name in names]
    if "--check" in sys.argv:
        for one in BREAKS:
            broken(one, ROOT)
        return 0
    if not TREE.exists():
        subprocess.run(["git", "worktree", "add", "--detach", str(TREE)], cwd=ROOT, check=True)
    missed = 0
    for one in chosen:
        place = TREE / "src/presence" / one.file
        whole = place.read_text()
        place.write_text(broken(one, TREE))
        try:
            found = find(sim(TREE))
        finally:
            place.write_text(whole)
        missed += found is None
        stories, by = found or ("not in", f"{MOST_SEEDS}")
        print(f"| {one.rule} | {stories} | {by} |", flush=True)
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
