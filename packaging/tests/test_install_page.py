"""The commands of docs/install.md work, word by word, in a copy of this machine."""

from __future__ import annotations

import json
import re
import subprocess
import sys
import threading
import time
from typing import TYPE_CHECKING

from conftest import ROOT, machine, need, run

if TYPE_CHECKING:
    from pathlib import Path

PAGE = (ROOT / "docs/install.md").read_text()
COMPOSE = (ROOT / "packaging/docker/compose.yml").read_text()

# Substitutes for commands that cannot run in the copy, in /usr/local/bin. sudo: the commands run as root anyway. apt:
# it cannot ask, and Prometheus is not installed whole; its example and the checker of its files take its place.
SUDO = '#!/bin/sh\nexec "$@"\n'
APT = """#!/bin/sh
case "$*" in
  "install prometheus") cp -r {prometheus}/. / ;;
  *) exec /usr/bin/apt -o APT::Get::Assume-Yes=true "$@" ;;
esac
"""
# systemctl: there is no systemd, so this executes what the package's unit says.
SYSTEMCTL = """#!{python}
import os, re, signal, subprocess, sys, time
from pathlib import Path

command, service = [word for word in sys.argv[1:] if word != "--now"]
if service == "prometheus":
    sys.exit()
instance = service.removeprefix("fairlane-router@")
unit = Path("/usr/lib/systemd/system/fairlane-router@.service").read_text()
log, pid = Path(f"/run/{{instance}}.log"), Path(f"/run/{{instance}}.pid")


def directives(name):
    return [line.replace("%I", instance).split() for line in re.findall(f"^{{name}}=(.*)", unit, re.MULTILINE)]


def wait(condition):
    end = time.monotonic() + 60
    while not condition():
        if time.monotonic() > end:
            sys.exit(f"{{sys.argv}} takes too long: {{log.read_text()}}")
        time.sleep(0.01)


if command == "enable":
    with log.open("w") as errors:
        process = subprocess.Popen(directives("ExecStart")[0], stdin=subprocess.DEVNULL, stdout=errors, stderr=errors)
    pid.write_text(str(process.pid))
    wait(lambda: process.poll() is not None or "working" in log.read_text())
    sys.exit(process.poll() or 0)
process = int(pid.read_text())
if command == "reload":
    before = len(log.read_text())
    for command in directives("ExecReload"):
        subprocess.run([word.replace("$MAINPID", str(process)) for word in command], check=True)
    wait(lambda: len(log.read_text()) > before)
elif command == "disable":
    os.kill(process, signal.SIGTERM)
    wait(lambda: "ended" in log.read_text())
elif command == "status":
    os.kill(process, 0)
else:
    sys.exit(f"no substitute for systemctl {{command}}")
"""


def blocks(section: str) -> list[str]:
    """Returns the blocks of commands of a section of the page, those of its subsections too."""
    text = re.split(r"^## ", PAGE.partition(f"\n## {section}\n")[2], flags=re.MULTILINE)[0]
    return re.findall(r"^```\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)


def place(inside: list[str], path: str, text: str) -> None:
    """Writes an executable file in the copy."""
    command = [*inside, "sh", "-c", f"cat >{path} && chmod 755 {path}"]
    subprocess.run(command, input=text, text=True, check=True, timeout=60)


def test_a_debian_router(packages: dict[str, Path], tmp_path: Path) -> None:
    """Would catch a command that fails, a file that the package has elsewhere, and a router that leaves something."""
    need("apt", "dpkg", "nft", "iptables-save")
    prometheus = ROOT / "target/tools/prometheus"
    with machine(tmp_path) as inside:
        place(inside, "/usr/local/bin/sudo", SUDO)
        place(inside, "/usr/local/bin/apt", APT.format(prometheus=prometheus))
        place(inside, "/usr/local/bin/systemctl", SYSTEMCTL.format(python=sys.executable))
        run(*inside, "rm", "-rf", "/etc/fairlane")
        run(*inside, "mkdir", "/srv/page")
        run(*inside, "cp", packages["deb"], "/srv/page")

        def at_page(commands: str) -> str:
            path = "PATH=/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin"
            return run(*inside, "env", path, "sh", "-ec", f"cd /srv/page\n{commands}")

        *steps, remove = blocks("A Debian router")
        there = (prometheus / "usr/bin/promtool").is_file()
        said = [at_page(commands) for commands in steps if there or "promtool" not in commands]
        _, _, dry_run, _, top, *_ = said
        assert "Link of 18mbit, overhead 38b, mpu 84b, noatm\n" in dry_run
        assert "Rules for packets leaving by eth0\n" in dry_run
        assert "fq-codel, queue 0 on eth0" in top
        assert "18mbit, overhead 38b, mpu 84b" in top
        # The reload has taken effect, and the rules are those of one router.
        end = time.monotonic() + 60
        while "17mbit" not in at_page("fairlane top 9277 --once"):
            assert time.monotonic() < end, "the router has not read its file again"
        assert has_rules(inside)
        if there:
            assert "9 rules found" in said[-1]
        at_page(remove)
        assert not has_rules(inside)
        left = at_page("ls -d /usr/bin/fairlane /etc/fairlane /usr/share/fairlane 2>/dev/null || true")
        assert left == ""


def has_rules(inside: list[str]) -> bool:
    """Returns true if a router's rules are installed, by nft or by iptables."""
    tables = run(*inside, "sh", "-c", "nft list tables; iptables-save")
    return bool(re.search("fairlane_q0|FAIRLANE-Q0", tables))


def listed(key: str) -> list[str]:
    """Returns a list in brackets of the compose file."""
    found = re.search(rf"^ *{key}: \[(.*)\]$", COMPOSE, re.MULTILINE)
    assert found, key
    return [word.strip(' "') for word in found[1].split(",")]


def test_a_container(packages: dict[str, Path], tmp_path: Path) -> None:
    """A router works with the rights and the files of the container. Would catch a right that it lacks."""
    need("setpriv", "nft", "iptables-save")
    dockerfile = (ROOT / "packaging/docker/Dockerfile").read_text()
    [entry] = re.findall(r"^ENTRYPOINT (.*)$", dockerfile, re.MULTILINE)
    rights = ",".join(f"+{right.lower()}" for right in listed("cap_add"))
    with machine(tmp_path) as inside:
        # What the Dockerfile's RUN does, without the network.
        run(*inside[:-2], "dpkg-deb", "--extract", packages["deb"], inside[-1])
        [config] = re.findall(r"<<'END'\n(interface = .*?)^END$", PAGE, re.MULTILINE | re.DOTALL)
        place(inside, listed("command")[0], config)
        root = inside[-1]
        assert listed("tmpfs") == ["/run"]
        assert "read_only: true" in COMPOSE
        run(*inside[:-2], "mount", "-o", "remount,ro", root)
        less = ["setpriv", f"--bounding-set=-all,{rights}", "--inh-caps=-all", "--no-new-privs"]
        command = [*inside, *less, *json.loads(entry), *listed("command")]
        with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as router:
            watchdog = threading.Timer(60, router.kill)
            watchdog.start()
            assert router.stderr
            said = []
            for line in router.stderr:
                said.append(line)
                if "working" in line:
                    router.terminate()
        watchdog.cancel()
        assert any("working" in line for line in said), said
        assert router.returncode == 0
        assert not has_rules(inside)
