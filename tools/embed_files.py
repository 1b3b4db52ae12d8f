#!/usr/bin/env python3
"""Writes C++ that holds files: embed_files.py OUTPUT NAME=FILE... DIR:PREFIX...

Each NAME=FILE becomes one entry; each PREFIX:DIR one for every file below DIR, named PREFIX/path.
A file or folder that is not there is left out: a binary without pages still serves.
"""

import sys
from pathlib import Path


def entries(arguments):
    for argument in arguments:
        if "=" in argument:
            name, _, path = argument.partition("=")
            if Path(path).is_file():
                yield name, Path(path)
        else:
            prefix, _, folder = argument.partition(":")
            for path in sorted(Path(folder).rglob("*")):
                if path.is_file():
                    yield f"{prefix}/{path.relative_to(folder).as_posix()}", path


def literal(data):
    rows = []
    for start in range(0, len(data), 24):
        rows.append(",".join(str(byte) for byte in data[start : start + 24]))
    return ",\n".join(rows) or "0"


def main():
    output = Path(sys.argv[1])
    found = list(entries(sys.argv[2:]))
    parts = ['#include "presence/app/embedded_files.h"\n', "namespace presence::app {", "namespace {"]
    for index, (_, path) in enumerate(found):
        data = path.read_bytes()
        parts.append(f"constexpr unsigned char kFile{index}[] = {{\n{literal(data)}}};")
    parts.append("}  // namespace\n")
    parts.append("std::span<const EmbeddedFile> embedded_files() {")
    parts.append("    static const EmbeddedFile files[] = {")
    for index, (name, path) in enumerate(found):
        parts.append(
            f'        {{"{name}", {{reinterpret_cast<const char*>(kFile{index}), '
            f"{path.stat().st_size}}}}},"
        )
    parts.append('        {"", ""}};')
    parts.append(f"    return {{files, {len(found)}}};")
    parts.append("}\n\n}  // namespace presence::app\n")
    text = "\n".join(parts)
    if not output.is_file() or output.read_text() != text:
        output.write_text(text)


if __name__ == "__main__":
    main()
