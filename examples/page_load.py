"""How long Chromium takes to load a page next to an upload, behind a slow link with each of some queues.

    pip install fairlane playwright && playwright install chromium && python examples/page_load.py [QUEUE ...]

It needs Linux, and no root: see docs/shell.md. CHROMIUM names another browser's program.
"""

from __future__ import annotations

import os
import sys
import threading
import time
from contextlib import suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import fairlane as fl
from playwright.sync_api import sync_playwright

HOME = """
[bottleneck]
rate  = "50mbit"
delay = "10ms"
queue = { kind = "droptail", limit = "1000p" }

[bottleneck.reverse]
rate  = "5mbit"
delay = "10ms"
queue = { kind = "droptail", limit = "1000p" }

[[flows]]
name = "upload"
kind = "tcp"
cc   = "reno"
from = "right"
to   = "left"
"""
QUEUES = ("droptail", "red", "choke", "fq-codel", "cake")
OBJECTS, OBJECT = 60, os.urandom(20_000)
PAGE = "".join(f'<img src="/{number}">' for number in range(OBJECTS)).encode()
FILLED = 5.0  # seconds until the upload has filled the queue


class Site(BaseHTTPRequestHandler):
    """A page of 60 objects."""

    protocol_version = "HTTP/1.1"

    def do_GET(self) -> None:
        body = PAGE if self.path == "/" else OBJECT
        self.send_response(200)
        self.send_header("Content-Type", "text/html" if self.path == "/" else "image/png")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def handle(self) -> None:
        with suppress(ConnectionResetError):  # the browser has ended
            super().handle()

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - as its base has it
        pass


def load(address: str) -> float:
    """Loads the page behind the link, and returns the seconds until all of it is there."""
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=os.environ.get("CHROMIUM"), args=["--no-sandbox"])
        page = browser.new_page()
        time.sleep(FILLED)
        page.goto(address, wait_until="load", timeout=120_000)
        return float(page.evaluate("performance.getEntriesByType('navigation')[0].loadEventStart")) / 1000


def main(queues: list[str]) -> dict[str, float]:
    """Loads the page behind each queue, and returns the seconds that it took."""
    seconds = {}
    with ThreadingHTTPServer(("127.0.0.1", 0), Site) as site:
        threading.Thread(target=site.serve_forever, daemon=True).start()
        address = f"http://gateway:{site.server_port}/"
        print(f"{'queue':<10} {'page':>8} {'waiting packets':>16}")
        for queue in queues:
            with fl.shell(HOME, queue=queue, flows=True) as link:
                done = link.run([sys.executable, __file__, "--load", address], capture_output=True, text=True)
            if done.returncode:
                sys.exit(done.stderr)
            seconds[queue] = float(done.stdout)
            delay = done.outcome.queue("bottleneck/reverse")["delay_s"]["mean"]
            print(f"{queue:<10} {seconds[queue]:6.2f} s {1000 * delay:13.0f} ms")
        site.shutdown()
    return seconds


if __name__ == "__main__":
    if sys.argv[1:2] == ["--load"]:
        print(load(sys.argv[2]))
    else:
        main(sys.argv[1:] or list(QUEUES))
