#!/usr/bin/env python3
"""Holds the includes of src/presence to tools/layers.toml.

usage: check_layers.py [ROOT]     ROOT is the folder of the project, default: this one's parent
Prints one line for each include that is not allowed, and exits 1 if there is one.
"""

import fnmatch
import pathlib
import re
import sys
import tomllib

INCLUDE = re.compile(r'^\s*#\s*include\s*([<"])([^>"]+)[>"]')


def layer_of(path, layers):
    """The layer that holds `path` (relative to src/presence), or None."""
    parents = [parent.as_posix() for parent in pathlib.PurePosixPath(path).parents]
    return next((parent for parent in parents if parent in layers), None)


def library_of(header, libraries):
    """The library that `header` belongs to, or None; the longest beginning decides."""
    found = [(len(start), name) for name, starts in libraries.items() for start in starts
             if header.startswith(start)]
    return max(found)[1] if found else None


def is_standard_cpp(header):
    return "/" not in header and not header.endswith(".h")


class Checker:
    """Decides about single includes; knows the table, touches no file."""

    def __init__(self, table):
        self.layers = table["layers"]
        self.libraries = table["libraries"]

    def complaint(self, path, opening, header):
        """What is wrong with an include of `header` in `path` (relative to src/presence)."""
        layer = layer_of(path, self.layers)
        if layer is None:
            return "stands in no layer of tools/layers.toml"
        if opening == '"':
            return self._project_complaint(layer, header)
        if is_standard_cpp(header):
            return None
        library = library_of(header, self.libraries)
        if library is None:
            allowed = self.layers[layer].get("system", False)
            return None if allowed else f"{layer} may not use the system's headers"
        return self._library_complaint(path, layer, library)

    def _project_complaint(self, layer, header):
        if not header.startswith("presence/"):
            return "quoted includes begin with presence/"
        other = layer_of(header.removeprefix("presence/"), self.layers)
        if other is None:
            return "no such layer"
        allowed = self.layers[layer]["presence"]
        if other == layer or other in allowed or "*" in allowed:
            return None
        return f"{layer} may not include {other}"

    def _library_complaint(self, path, layer, library):
        row = self.layers[layer]
        name = pathlib.PurePosixPath(path).name
        globs = row.get("files", {}).get(library, [])
        if library in row["third_party"] or any(fnmatch.fnmatch(name, glob) for glob in globs):
            return None
        if globs:
            return f"{layer} may use {library} only in {', '.join(globs)}"
        return f"{layer} may not use {library}"


def check(root):
    """All complaints about the sources under `root`, as lines."""
    table = tomllib.loads((root / "tools/layers.toml").read_text())
    checker = Checker(table)
    lines = []
    source = root / "src/presence"
    for file in sorted(source.rglob("*")):
        if file.suffix not in (".h", ".cc"):
            continue
        path = file.relative_to(source).as_posix()
        for number, line in enumerate(file.read_text().splitlines(), start=1):
            match = INCLUDE.match(line)
            complaint = match and checker.complaint(path, match[1], match[2])
            if complaint:
                lines.append(f"src/presence/{path}:{number}: {match[2]}: {complaint}")
    return lines


def main(arguments):
    root = pathlib.Path(arguments[0]) if arguments else pathlib.Path(__file__).parent.parent
    complaints = check(root.resolve())
    for line in complaints:
        print(line)
    return 1 if complaints else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
