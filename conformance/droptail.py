#!/usr/bin/env python3
"""Replays vectors of `droptail` against a DropTail of a few lines, to show how the files are read.

    conformance/droptail.py [FILE ...]        default: all vectors of droptail that need no random numbers

Exits with 1 at the first difference. Put your own queue in place of DropTail and it checks yours.
"""
import json
import pathlib
import sys
from collections import deque


class DropTail:
    """A FIFO of at most `limit` packets that drops what comes, or the oldest, when it is full."""

    def __init__(self, header):
        parameters = header["parameters"]
        self.limit = int(parameters["limit"].removesuffix("p"))
        self.front = parameters.get("drop", "tail") == "front"
        self.queue = deque()

    def enqueue(self, packet):
        fates = []
        if len(self.queue) >= self.limit > 0 and self.front:
            fates.append(["dropped", self.queue.popleft()["id"], "limit"])
        if len(self.queue) >= self.limit:
            fates.append(["dropped", packet["id"], "limit"])
        else:
            self.queue.append(packet)
        return fates

    def dequeue(self):
        return [["departed", self.queue.popleft()["id"]]] if self.queue else []


def check(path):
    """The number of operations in the file at `path`, all of which went as it says."""
    with open(path) as lines:
        header = json.loads(next(lines))
        if header["version"] != 1 or header["kind"] != "droptail":
            sys.exit(f"{path}: this reads version 1 of droptail, not {header['version']} of {header['kind']}")
        queue = DropTail(header)
        for number, line in enumerate(lines, start=2):
            step = json.loads(line)
            fates = queue.enqueue(step) if step["op"] == "enqueue" else queue.dequeue()
            queued = sum(packet["bytes"] for packet in queue.queue)
            got = (fates, len(queue.queue), queued)
            expected = (step["fates"], step["packets"], step["queued"])
            if got != expected:
                sys.exit(f"{path}, line {number}: {got} instead of {expected}")
    return number - 1


if __name__ == "__main__":
    vectors = pathlib.Path(__file__).parent / "vectors"
    for path in sys.argv[1:] or [vectors / "droptail.jsonl", vectors / "droptail-front.jsonl"]:
        print(f"{path}: {check(path)} operations agree")
