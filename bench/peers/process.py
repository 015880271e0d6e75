"""Code that the runners share: the building of the programs, and processes with their cost."""

import argparse
import json
import os
import shutil
import signal
import subprocess
import tempfile
import threading
import time
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent.parent
# The first interval between two checks of a running process, and the maximum to which it grows, in seconds.
WATCH_S = 0.0005, 0.02


class Unavailable(Exception):
    """A program is missing on this machine; the text names the package."""


class Failed(Exception):
    """The reason why a process gave no result."""


class Watch(threading.Thread):
    """Watches a process: records its peak resident memory, and ends it at its time limit."""

    def __init__(self, pid, timeout_s):
        super().__init__(daemon=True)
        self.pid, self.deadline = pid, time.monotonic() + timeout_s
        self.peak_bytes, self.late, self.ended = 0, False, threading.Event()

    def run(self):
        pause, longest = WATCH_S
        while not self.ended.wait(pause):
            pause = min(1.5 * pause, longest)
            self.peak_bytes = max(self.peak_bytes, peak_of(self.pid))
            if time.monotonic() > self.deadline and not self.late:
                self.late = True
                # The process leads its own group, so that its children end with it.
                os.killpg(self.pid, signal.SIGKILL)

    def stop(self):
        self.ended.set()
        self.join()


def peak_of(pid):
    """Peak resident bytes so far. By wait4 they would be at least those of this program, as a child starts as its copy."""
    try:
        lines = Path(f"/proc/{pid}/status").read_text(encoding="ascii", errors="replace").splitlines()
    except OSError:
        return 0
    return next((int(line.split()[1]) * 1024 for line in lines if line.startswith("VmHWM:")), 0)


def measure(command, timeout_s):
    """Runs a command to its end: its output, CPU seconds and peak resident bytes."""
    with tempfile.TemporaryFile() as output, tempfile.TemporaryFile() as errors:
        process = subprocess.Popen(
            command, stdin=subprocess.DEVNULL, stdout=output, stderr=errors, cwd=ROOT, start_new_session=True
        )
        watch = Watch(process.pid, timeout_s)
        watch.start()
        try:
            # Not reaped before the watcher has ended, so that the id is not reused.
            os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOWAIT)
        except KeyboardInterrupt:
            os.killpg(process.pid, signal.SIGKILL)
            raise
        finally:
            watch.stop()
            _, status, usage = os.wait4(process.pid, 0)
            process.returncode = os.waitstatus_to_exitcode(status)
        if watch.late:
            raise Failed(f"stopped after {timeout_s} s")
        if process.returncode != 0:
            errors.seek(0)
            said = errors.read().decode(errors="replace").strip().splitlines()[-5:]
            raise Failed(f"exit code {process.returncode}: " + " / ".join(said))
        output.seek(0)
        return output.read(), usage.ru_utime + usage.ru_stime, watch.peak_bytes


def build_fairlane():
    """The path of the release program, which is built if necessary; target/release is not changed."""
    if shutil.which("cargo") is None:
        raise Unavailable("cargo is not installed: see https://rustup.rs")
    command = [
        "cargo",
        "build",
        "--profile",
        "dist",
        "--package",
        "fairlane",
        "--message-format=json-render-diagnostics",
    ]
    built = subprocess.run(command, cwd=ROOT, stdout=subprocess.PIPE, check=False)
    if built.returncode != 0:
        raise Unavailable("fairlane does not build")
    for artifact in map(json.loads, built.stdout.splitlines()):
        if artifact.get("executable") and artifact["target"]["name"] == "fairlane":
            return artifact["executable"]
    raise Unavailable("the package fairlane has no program of that name")


NS3_NEEDS = "On Debian and Ubuntu: apt install g++ make libns3-dev"


def build_ns3(build, name):
    """The path of a program of ns3/, which is built into the folder `build`."""
    if shutil.which("make") is None or shutil.which("g++") is None:
        raise Unavailable(f"ns-3's programs need a compiler. {NS3_NEEDS}")
    made = subprocess.run(
        ["make", "-C", str(HERE / "ns3"), f"BUILD={build}", f"{build}/{name}"],
        capture_output=True,
        text=True,
        check=False,
    )
    if made.returncode != 0:
        said = "\n".join(made.stderr.strip().splitlines()[:5])
        raise Unavailable(f"ns-3's programs do not build. {NS3_NEEDS}\n{said}")
    return str(build / name)


def positive(text):
    number = int(text)
    if number < 1:
        raise argparse.ArgumentTypeError(f"{text}: at least 1")
    return number
