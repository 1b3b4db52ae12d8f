#!/usr/bin/env python3
"""Draws what the core costs from a thousand sessions on to ten million.

    presenced-bench engine --connections 10000000 --rounds 1 --json | tools/growth_picture.py docs/images/growth.svg
"""
import json
import math
import re
import sys

WIDTH, HEIGHT = 800, 420
LEFT, RIGHT, TOP, BOTTOM = 70, 210, 30, 50
SERIES = [  # metric, name, colour
    ("cpu_per_heartbeat", "heartbeat", "#1b7f5c"),
    ("cpu_per_look", "look at one user", "#2f6fb0"),
    ("cpu_per_watch", "watch, with its look", "#8a5cc2"),
    ("cpu_per_attach", "attach", "#b5651d"),
    ("cpu_per_expiry", "expiry", "#b03a48"),
    ("bytes_per_session", "bytes a session", "#555555"),
]


def read(text):
    """{metric: [(sessions, value)]} of one report."""
    found = {}
    for name, metric in json.loads(text)["metrics"].items():
        match = re.fullmatch(r"(\w+?)_(\d+)", name)
        if match:
            found.setdefault(match[1], []).append((int(match[2]), metric["value"]))
    return {name: sorted(points) for name, points in found.items()}


def draw(curves):
    sizes = sorted({size for points in curves.values() for size, _ in points})
    low, high = math.log10(sizes[0]), math.log10(sizes[-1])
    least, most = 0, 5  # 1 to 100,000 ns or bytes

    def x(size):
        return LEFT + (math.log10(size) - low) / max(high - low, 1) * (WIDTH - LEFT - RIGHT)

    def y(value):
        part = (math.log10(max(value, 1)) - least) / (most - least)
        return HEIGHT - BOTTOM - part * (HEIGHT - TOP - BOTTOM)

    out = [f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" '
           'font-family="sans-serif" font-size="13">',
           f'<rect width="{WIDTH}" height="{HEIGHT}" fill="white"/>']
    for power in range(least, most + 1):
        at = y(10**power)
        out.append(f'<line x1="{LEFT}" x2="{WIDTH - RIGHT}" y1="{at:.1f}" y2="{at:.1f}" stroke="#ddd"/>')
        out.append(f'<text x="{LEFT - 8}" y="{at + 4:.1f}" text-anchor="end">{10**power:,}</text>')
    for size in sizes:
        out.append(f'<text x="{x(size):.1f}" y="{HEIGHT - BOTTOM + 20}" text-anchor="middle">{size:,}</text>')
    out.append(f'<text x="{(LEFT + WIDTH - RIGHT) / 2}" y="{HEIGHT - 10}" text-anchor="middle">sessions</text>')
    out.append(f'<text x="{LEFT - 50}" y="{TOP - 12}">ns (or bytes)</text>')
    labels = []
    for metric, name, colour in SERIES:
        points = curves.get(metric)
        if not points:
            continue
        path = " ".join(f"{x(size):.1f},{y(value):.1f}" for size, value in points)
        dash = ' stroke-dasharray="5 4"' if metric.startswith("bytes") else ""
        out.append(f'<polyline points="{path}" fill="none" stroke="{colour}" stroke-width="2"{dash}/>')
        for size, value in points:
            out.append(f'<circle cx="{x(size):.1f}" cy="{y(value):.1f}" r="3" fill="{colour}"/>')
        labels.append([y(points[-1][1]), f"{name}: {points[-1][1]:,.0f}", colour])
    at = 0
    for place, text, colour in sorted(labels):
        at = max(place + 4, at + 16)  # So that none lies on another.
        out.append(f'<text x="{WIDTH - RIGHT + 10}" y="{at:.1f}" fill="{colour}">{text}</text>')
    out.append("</svg>")
    return "\n".join(out) + "\n"


def main():
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    picture = draw(read(sys.stdin.read()))
    with open(sys.argv[1], "w", encoding="utf-8") as file:
        file.write(picture)


if __name__ == "__main__":
    main()
