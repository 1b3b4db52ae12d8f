#!/usr/bin/env python3
"""Writes presenced.toml(5) from what `presenced config` prints, so that it cannot go stale.

usage: man_keys.py BINARY >presenced.toml.5
"""

import re
import subprocess
import sys

HEAD = r""".\" Written by tools/man_keys.py from `presenced config`.
.Dd November 30, 2026
.Dt PRESENCED.TOML 5
.Os
.Sh NAME
.Nm presenced.toml
.Nd configuration of the presence server
.Sh DESCRIPTION
.Xr presenced 8
reads a TOML file, then variables
.Ev PRESENCED_SECTION_KEY ,
then
.Fl Fl set ;
the last wins.
A key with a dot stands in a section of the file:
.Ql heartbeat.ttl
is
.Ql ttl
below
.Ql [heartbeat] .
Unknown keys and impossible relations are refused at start, with key, value and bound.
.Pp
A duration is
.Ql 30s , 1500ms , 10m
or
.Ql 1h .
A secret given as
.Ql file:PATH
is the first line of that file.
Keys marked
.Sq live
take a new value at
.Dv SIGHUP ;
others at a restart.
.Pp
.Ql presenced check --config FILE
says what would be refused.
.Sh KEYS
.Bl -tag -width Ds
"""

TAIL = """.El
.Sh SEE ALSO
.Xr presenced 8
"""

LINE = re.compile(r"(?P<key>[\w.]+) = (?P<default>.*?)  # (?P<unit>[^;]+); (?P<doc>.*)")
LIVE = " (SIGHUP reloads it)"
# The number of cores of whoever makes the page is no default.
DEFAULTS = {"threads": "one a core"}


def escaped(text):
    text = text.replace("\\", "\\e")
    return "\\&" + text if text.startswith((".", "'")) else text


def entry(line):
    match = LINE.fullmatch(line)
    if not match:
        raise SystemExit(f"man_keys: not a line of `presenced config`: {line}")
    doc = match["doc"]
    live = doc.endswith(LIVE)
    default = DEFAULTS.get(match["key"], match["default"])
    facts = [match["unit"], f"default: {default}" if default else "not set by default"]
    if live:
        doc = doc.removesuffix(LIVE)
        facts.append("live")
    # A sentence a line, as mdoc wants it.
    sentences = re.sub(r"([.;:?]) (?=[A-Z])", r"\1\n", doc).split("\n")
    return "\n".join([f".It Ic {match['key']} Pq {escaped(', '.join(facts))}", *map(escaped, sentences)])


def main(arguments):
    printed = subprocess.run([arguments[0], "config"], capture_output=True, text=True, check=True).stdout
    print(HEAD + "\n".join(entry(line) for line in printed.splitlines()) + "\n" + TAIL, end="")


if __name__ == "__main__":
    main(sys.argv[1:])
