#!/usr/bin/env python3
"""Bytes of Redis memory per online user, for layouts of the record, beside the pair of keys that the usual scheme
writes (`SET presence:USER GATEWAY EX 100` and `ZADD presence:beats`).

usage: memory.py [--users N] [--port PORT]     (starts a redis-server of its own without --port)
Prints a table and, as its last line, JSON.
"""

import argparse
import json
import os
import shutil
import socket
import subprocess
import tempfile
import time

RECORD_BYTES = 92  # tests/unit/redis/codec_test.cc, AnOrdinaryRecordIsSmall.
PARTITIONS = 64
NODES = 3


class Redis:
    """Just enough of the protocol to send many commands and read their answers."""

    def __init__(self, port):
        self.socket = socket.create_connection(("127.0.0.1", port))
        self.file = self.socket.makefile("rb")

    @staticmethod
    def encode(words):
        parts = [b"*%d\r\n" % len(words)]
        for word in words:
            data = word if isinstance(word, bytes) else str(word).encode()
            parts.append(b"$%d\r\n%s\r\n" % (len(data), data))
        return b"".join(parts)

    def read(self):
        line = self.file.readline().rstrip()
        kind, head = line[:1], line[1:]
        if kind == b"-":
            raise RuntimeError(head.decode())
        if kind == b"$":
            size = int(head)
            return None if size < 0 else self.file.read(size + 2)[:-2]
        if kind == b"*":
            return [self.read() for _ in range(int(head))]
        return int(head) if kind == b":" else head

    def run(self, *words):
        self.socket.sendall(self.encode(words))
        return self.read()

    def run_all(self, commands, at_once=500):
        batch = []
        for command in commands:
            batch.append(self.encode(command))
            if len(batch) == at_once:
                self.socket.sendall(b"".join(batch))
                for _ in batch:
                    self.read()
                batch = []
        if batch:
            self.socket.sendall(b"".join(batch))
            for _ in batch:
                self.read()

    def used(self):
        info = self.run("INFO", "memory").decode()
        return int(info.split("used_memory:")[1].split("\r")[0])


def user(number):
    return f"user-{number:08d}"


def tag(number):
    return f"p{number % PARTITIONS:02d}"


def seeds_pair(count):
    for i in range(count):
        yield "SET", f"presence:{user(i)}", "gw-7", "EX", "86400"
        yield "ZADD", "presence:beats", f"{1764000000 + i % 30}.{i % 1000000:06d}", user(i)


def string_a_user(count):
    for i in range(count):
        yield "SET", f"pd{{{tag(i)}}}u{user(i)}", os.urandom(RECORD_BYTES), "PX", 26 * 3600 * 1000


def hash_a_bucket(per_bucket):
    def commands(count):
        buckets = max(count // PARTITIONS // per_bucket, 1)
        for i in range(count):
            key = f"pd{{{tag(i)}}}b{i // PARTITIONS % buckets}"
            yield "HSET", key, user(i), os.urandom(RECORD_BYTES)
        for partition in range(PARTITIONS):
            for bucket in range(buckets):
                yield "EXPIRE", f"pd{{p{partition:02d}}}b{bucket}", 26 * 3600
    return commands


def index_set(count):
    yield from string_a_user(count)
    for i in range(count):
        yield "SADD", f"pd{{{tag(i)}}}n{i % NODES}", user(i)


def index_small_sets(per_bucket):
    """The node's users of a partition in small sorted sets, which Redis packs into one piece."""
    def commands(count):
        yield from string_a_user(count)
        buckets = max(count // PARTITIONS // NODES // per_bucket, 1)
        for i in range(count):
            yield ("ZADD", f"pd{{{tag(i)}}}n{i % NODES}.{i // PARTITIONS // NODES % buckets}", 0, user(i))
    return commands


def index_list(count):
    yield from string_a_user(count)
    for i in range(count):
        yield "RPUSH", f"pd{{{tag(i)}}}n{i % NODES:016x}", user(i)


LAYOUTS = {
    "SET EX + ZADD (the bar)": seeds_pair,
    "record: string a user": string_a_user,
    "record: hash of 64 users": hash_a_bucket(64),
    "record: hash of 64 users, packed (hash-max-listpack-value 256)": hash_a_bucket(64),
    "string a user + node index: one set a node and partition": index_set,
    "string a user + node index: sorted sets of 64, packed": index_small_sets(64),
    "string a user + node index: one list a node and partition": index_list,
}


def measure(redis, name, layout, count):
    redis.run("FLUSHALL", "SYNC")
    packed = "packed (hash" in name
    redis.run("CONFIG", "SET", "hash-max-listpack-value", 256 if packed else 64)
    time.sleep(0.2)
    before = redis.used()
    redis.run_all(layout(count))
    time.sleep(1.2)  # Until tables that grew have been moved over.
    return (redis.used() - before) / count


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--users", type=int, default=100_000)
    parser.add_argument("--port", type=int)
    options = parser.parse_args()
    server, folder, port = None, None, options.port
    if port is None:
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            port = probe.getsockname()[1]
        folder = tempfile.mkdtemp(prefix="presenced-memory-")
        server = subprocess.Popen(["redis-server", "--port", str(port), "--bind", "127.0.0.1", "--dir", folder,
                                   "--save", "", "--appendonly", "no"], stdout=subprocess.DEVNULL)
        time.sleep(1)
    try:
        redis = Redis(port)
        results = {name: measure(redis, name, layout, options.users) for name, layout in LAYOUTS.items()}
    finally:
        if server:
            server.kill()
            server.wait()
            shutil.rmtree(folder, ignore_errors=True)
    bar = next(iter(results.values()))
    print(f"{options.users} users, record of {RECORD_BYTES} bytes")
    for name, value in results.items():
        print(f"{value:8.1f} B a user  {value / bar:5.2f}  {name}")
    print(json.dumps({name: round(value, 1) for name, value in results.items()}))


if __name__ == "__main__":
    main()
