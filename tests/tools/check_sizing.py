#!/usr/bin/env python3
"""Runs `presenced-sim seeds` and `plan` and looks at what they print.

usage: check_sizing.py PROGRAM
"""

import json
import subprocess
import sys


def run(program, *arguments):
    done = subprocess.run([program, *arguments], capture_output=True, text=True, check=False)
    return done.returncode, done.stdout, done.stderr


def expect(holds, what):
    if not holds:
        sys.exit(f"check_sizing: {what}")


def check_seeds(program):
    code, out, err = run(program, "seeds", "--quick", "--json")
    expect(code == 0, f"seeds ended with {code}: {err}{out}")
    figures = json.loads(out)["figures"]
    expect({figure["text"] for figure in figures} >= {"A", "B", "C"}, "a text has no figure")
    broken = [figure["figure"] for figure in figures if figure["holds"] is False]
    expect(not broken, f"do not hold: {broken}")
    by_name = {figure["figure"]: figure for figure in figures}
    grace = by_name["announcements with 0 s of grace"]["values"]["announcements"]
    expect(abs(grace - 200_000) <= 1, f"without grace {grace} announcements")
    watched = by_name["to those who watch: what presenced does"]["values"]["deliveries_per_s"]
    expect(watched == 10_000, f"{watched} deliveries to those who watch")
    if any(figure["how"] == "skipped" for figure in figures):
        print("no redis-server here: its figures were skipped")
    else:
        slot = by_name["slot of presence:{u42}:phone, by Redis and by presenced"]
        expect(slot["values"]["slot"] == 11448, f"slot {slot}")
        plain = by_name["TTL before and after a plain SET"]
        expect(plain["ours"].endswith("then -1"), f"TTL {plain}")

    code, out, _ = run(program, "seeds", "--quick", "--no-redis")
    expect(code == 0, f"seeds as a table ended with {code}")
    columns = [line for line in out.splitlines() if line.startswith("  text")]
    expect(len(set(columns)) == 1 and len(columns) >= 6, f"the heads of columns differ: {columns}")


def check_plan(program):
    code, out, err = run(program, "plan", "--users", "50000000", "--contacts", "150",
                         "--sessions-per-day", "20", "--json")
    expect(code == 0, f"plan ended with {code}: {err}")
    plan = json.loads(out)
    expect(round(plan["load"]["rows_average_per_s"]) == 11_574, f"load {plan['load']}")
    tiers = {tier["tier"]: tier for tier in plan["tiers"]}
    expect(tiers["nodes"]["working"] >= 10_000_000 / 250_000, f"nodes {tiers['nodes']}")
    used = max(need["machines"] / tier["working"]
               for tier in plan["tiers"] for need in tier["needs"])
    expect(abs(plan["bottleneck"]["used"] - used) < 1e-3 * used, f"{plan['bottleneck']}, not {used}")
    expect(plan["outage"]["told_offline"] == plan["outage"]["silenced"] > 0, f"{plan['outage']}")
    for wrong, word in ((["--users", "0"], "users is 0"), (["--ttl", "60"], "three intervals"),
                        (["--users", "many"], "users"), (["--cost-delivery", "-1"], "cost-delivery")):
        code, out, err = run(program, "plan", *wrong)
        expect(code != 0 and word in err, f"plan {wrong} ended with {code}: {err}")
        expect(out == "", f"plan {wrong} printed {out}")


if __name__ == "__main__":
    check_seeds(sys.argv[1])
    check_plan(sys.argv[1])
