"""The packages are complete, their needs are right, and they can be installed and removed."""

from __future__ import annotations

import gzip
import os
import re
import shutil
import subprocess
import tarfile
from typing import TYPE_CHECKING

from conftest import PROGRAMS, ROOT, need, need_root, run
from skip import because

if TYPE_CHECKING:
    from pathlib import Path

UNIT = "fairlane-router@.service"


def listed(package: Path) -> dict[str, str]:
    """Returns the files of a .deb with their modes."""
    lines = run("dpkg-deb", "--contents", package).splitlines()
    return {line.split()[5].removeprefix("."): line.split()[0] for line in lines if not line.startswith("d")}


def field(package: Path, name: str) -> str:
    """Returns a field of a .deb's control file."""
    return run("dpkg-deb", "--field", package, name).strip()


def field_of_rpm(package: Path, name: str) -> str:
    """Returns a field of a .rpm's header."""
    return run("rpm", "-qp", "--qf", f"%{{{name}}}", package)


def test_the_deb_has_all_files(packages: dict[str, Path]) -> None:
    """Would catch a file that is missing, and a program that cannot be executed."""
    need("dpkg-deb")
    files = listed(packages["deb"])
    assert {path for path, mode in files.items() if mode != "-rw-r--r--"} == {"/usr/bin/fairlane", "/usr/bin/aqmrun"}
    doc = "/usr/share/doc/fairlane"
    for path in [
        f"/usr/lib/systemd/system/{UNIT}",
        "/usr/share/man/man1/fairlane-router.1.gz",
        "/usr/share/man/man1/aqmrun.1.gz",
        "/usr/share/bash-completion/completions/fairlane",
        "/usr/share/fish/vendor_completions.d/fairlane.fish",
        "/usr/share/zsh/vendor-completions/_fairlane",
        "/usr/share/fairlane/grafana/fairlane.json",
        "/usr/share/fairlane/prometheus/fairlane.rules.yml",
        *(f"{doc}/{name}" for name in ("examples/router.toml", "copyright", "licences.gz", "changelog.gz")),
    ]:
        assert path in files, path
    # Nothing of the machine that built it.
    assert not [path for path in files if not path.startswith("/usr/")]
    assert field(packages["deb"], "Version") in (ROOT / "Cargo.toml").read_text()


def test_the_deb_names_its_libraries(packages: dict[str, Path], tmp_path: Path) -> None:
    """The needs are those that Debian's own tool finds. Would catch a new library, and a newer function of libc."""
    need("dpkg-deb", "dpkg-shlibdeps")
    (tmp_path / "debian").mkdir()
    (tmp_path / "debian/control").write_text("Source: fairlane\n\nPackage: fairlane\nArchitecture: any\n")
    programs = [f"-e{PROGRAMS / name}" for name in ("fairlane", "aqmrun")]
    found = subprocess.run(
        ["dpkg-shlibdeps", "-O", *programs], cwd=tmp_path, capture_output=True, text=True, check=False, timeout=60
    )
    if found.returncode != 0:
        because("dpkg", f"dpkg-shlibdeps knows no libraries here: {found.stderr}")
    theirs = found.stdout.strip().removeprefix("shlibs:Depends=").split(", ")
    ours = field(packages["deb"], "Depends").split(", ")
    # Debian 13 gave some libraries' packages a second name, which provides the first.
    names = [{need.split()[0].removesuffix("t64") for need in needs} for needs in (ours, theirs)]
    assert names[0] == names[1]
    [libc] = [need for need in ours if need.startswith("libc6 ")]
    assert libc in theirs
    assert field(packages["deb"], "Recommends") == "nftables | iptables, procps"


def test_lintian_has_no_complaint(packages: dict[str, Path], libraries: dict[str, Path]) -> None:
    """Would catch violations of Debian's policy."""
    need("lintian")
    debs = [packages["deb"], libraries["libfairlane0.deb"], libraries["libfairlane-dev.deb"]]
    run("lintian", "--fail-on=error,warning", "--allow-root", *debs)


def test_programs_are_built_with_the_library(libraries: dict[str, Path], tmp_path: Path) -> None:
    """The program of docs/c.md, in a separate root. Would catch a file that is missing, and one in another place."""
    need("dpkg-deb", "pkg-config", "cc")
    root = tmp_path / "root"
    for name in ("libfairlane0.deb", "libfairlane-dev.deb"):
        run("dpkg-deb", "--extract", libraries[name], root)
    [found] = root.glob("usr/lib/*/pkgconfig/fairlane.pc")
    settings = {"PKG_CONFIG_SYSROOT_DIR": str(root), "PKG_CONFIG_LIBDIR": str(found.parent)}
    source = tmp_path / "relay.c"
    source.write_text((ROOT / "docs/c.md").read_text().split("```c\n")[1].split("```")[0])
    flags = run("pkg-config", "--cflags", "--libs", "fairlane", **settings).split()
    run("cc", "-Wall", "-Werror", "-o", tmp_path / "shared", source, *flags)
    static = run("pkg-config", "--static", "--cflags", "--libs", "fairlane", **settings).split()
    archive = str(found.parents[1] / "libfairlane.a")
    static = [archive if flag == "-lfairlane" else flag for flag in static]
    run("cc", "-Wall", "-Werror", "-o", tmp_path / "static", source, *static)
    for name in ("shared", "static"):
        command = [str(tmp_path / name), "chok"]
        libdir = str(found.parents[1]) if name == "shared" else ""
        done = subprocess.run(
            command, capture_output=True, text=True, check=False, timeout=60, env={"LD_LIBRARY_PATH": libdir}
        )
        assert 'did you mean "choke"?' in done.stderr
    assert "libfairlane.so.0" in run("readelf", "--dynamic", tmp_path / "shared")
    version = field(libraries["libfairlane0.deb"], "Version")
    assert field(libraries["libfairlane-dev.deb"], "Depends") == f"libfairlane0 (= {version})"
    assert (root / "usr/share/man/man3/libfairlane.3.gz").is_file()
    licences = gzip.decompress((root / "usr/share/doc/libfairlane0/licences.gz").read_bytes()).decode()
    assert "siphasher" in licences
    assert "tokio" not in licences


def test_the_rpms_of_the_library_are_right(libraries: dict[str, Path]) -> None:
    """Would catch a library that rpm(8) does not find for the programs that need it."""
    need("rpm")
    shared, development = libraries["libfairlane0.rpm"], libraries["libfairlane-devel.rpm"]
    version = field_of_rpm(shared, "VERSION")
    files = run("rpm", "-qpl", shared, development).splitlines()
    for path in [
        f"/usr/lib64/libfairlane.so.{version}",
        *(f"/usr/lib64/{name}" for name in ("libfairlane.so.0", "libfairlane.so", "libfairlane.a")),
        "/usr/lib64/pkgconfig/fairlane.pc",
        "/usr/include/fairlane.h",
    ]:
        assert path in files, path
    assert "libfairlane.so.0()" in run("rpm", "-qp", "--provides", shared)
    assert "libc.so.6(GLIBC_" in run("rpm", "-qp", "--requires", shared)
    assert f"libfairlane0 = {version}" in run("rpm", "-qp", "--requires", development)


def test_it_is_installed_and_removed(packages: dict[str, Path], tmp_path: Path) -> None:
    """In a separate root, with this machine's libraries. Would catch a file that stays, and a script that fails."""
    need("dpkg", "bash")
    need_root()
    database = tmp_path / "var/lib/dpkg"
    for folder in ("info", "updates", "triggers"):
        (database / folder).mkdir(parents=True)
    shutil.copy("/var/lib/dpkg/status", database / "status")

    def dpkg(*arguments: str | Path) -> str:
        options = ["--force-script-chrootless", "--force-not-root", "--no-debsig", f"--log={tmp_path / 'log'}"]
        return run("dpkg", f"--root={tmp_path}", *options, *arguments)

    before = {path for path in tmp_path.rglob("*") if database not in path.parents}
    dpkg("--install", packages["deb"])
    assert run("dpkg-query", f"--admindir={database}", "-W", "-f=${Status}", "fairlane") == "install ok installed"

    assert run(tmp_path / "usr/bin/fairlane", "--version").split() == ["fairlane", field(packages["deb"], "Version")]
    assert "Usage: aqmrun" in run(tmp_path / "usr/bin/aqmrun", "--help")
    completion = tmp_path / "usr/share/bash-completion/completions/fairlane"
    assert "_fairlane" in run("bash", "-c", f"source {completion}; complete -p fairlane")
    # The unit is the repository's, with the program's place.
    unit = (tmp_path / "usr/lib/systemd/system" / UNIT).read_text()
    source = (ROOT / "packaging/systemd" / UNIT).read_text()
    assert unit == source.replace("=/usr/local/bin/", "=/usr/bin/") != source
    # No interface has a router yet, so nothing is started.
    assert not list(tmp_path.glob("etc/systemd/**/*")) + list((tmp_path / "etc/fairlane").iterdir())
    # An operator's file stays, and its removal removes the folder.
    mine = tmp_path / "etc/fairlane/eth0.toml"
    shutil.copy(tmp_path / "usr/share/doc/fairlane/examples/router.toml", mine)
    dpkg("--install", packages["deb"])
    assert mine.is_file()
    mine.unlink()
    dpkg("--purge", "fairlane")
    after = {path for path in tmp_path.rglob("*") if database not in path.parents}
    assert after - before == {tmp_path / "log"}


def test_every_linked_crate_has_its_licence(packages: dict[str, Path], tmp_path: Path) -> None:
    """Would catch a crate whose licence is not in the package, and a copyright file that is not in Debian's format."""
    need("dpkg-deb")
    run("dpkg-deb", "--extract", packages["deb"], tmp_path)
    doc = tmp_path / "usr/share/doc/fairlane"
    copyright_file = (doc / "copyright").read_text()
    assert copyright_file.startswith("Format: https://www.debian.org/doc/packaging-manuals/copyright-format/1.0/\n")
    assert {re.split(":", paragraph)[0] for paragraph in copyright_file.split("\n\n")} == {"Format", "Files", "License"}
    licences = gzip.decompress((doc / "licences.gz").read_bytes()).decode()
    heads, *texts = licences.split("\n\n" + "=" * 80 + "\n\n")
    crates = dict(line.split(": ", 1) for line in heads.splitlines()[2:])
    # These are linked into every router.
    assert {"clap", "tokio", "serde"} <= {name.split()[0] for name in crates}
    # Every licence disclaims warranties. A notice next to it need not.
    granted = [text for text in texts if "WARRANT" in text.upper()]
    assert {name for text in granted for name in text.split("\n", 1)[0].split(", ")} == set(crates)
    for name, licence in crates.items():
        assert f"  {name}: {licence}\n" in copyright_file
    # The allowed licences are those of deny.toml: none of a copyleft alone.
    allowed = (ROOT / "deny.toml").read_text()
    for licence in crates.values():
        alternatives = re.split(r" OR |/", re.sub(r"[()]", "", licence))
        assert any(all(f'"{part}"' in allowed for part in choice.split(" AND ")) for choice in alternatives), licence


def test_the_rpm_is_right(packages: dict[str, Path], tmp_path: Path) -> None:
    """Would catch a package that rpm(8) does not read, and a missing need."""
    need("rpm")
    package = packages["rpm"]
    assert run("rpm", "-qp", "--qf", "%{NAME} %{RELEASE} %{LICENSE}", package) == "fairlane 1 MIT OR Apache-2.0"
    files = set(run("rpm", "-qpl", package).splitlines())
    assert {"/usr/bin/fairlane", f"/usr/lib/systemd/system/{UNIT}", "/usr/share/zsh/site-functions/_fairlane"} <= files
    requires = run("rpm", "-qp", "--requires", package)
    # As the file of each library names its newest function: readelf(1), section .gnu.version_r.
    symbols = run("readelf", "--wide", "--version-info", PROGRAMS / "fairlane", PROGRAMS / "aqmrun")
    versions = {tuple(map(int, found.split("."))) for found in re.findall(r"Name: GLIBC_([\d.]+)", symbols)}
    # The newest one may be of libc or of libm.
    assert f".so.6(GLIBC_{'.'.join(map(str, max(versions)))})(64bit)" in requires
    assert "(nftables or iptables-nft)" in run("rpm", "-qp", "--recommends", package)
    need_root()
    # There is neither a library nor a shell in this root.
    rpm = ["rpm", f"--root={tmp_path}", "--dbpath=/db", "--nodeps"]
    run(*rpm, "--install", package)
    run(*rpm, "--verify", "fairlane")
    run(*rpm, "--erase", "--noscripts", "fairlane")
    assert not [path for path in tmp_path.rglob("fairlane*") if path.is_file()]


def test_the_ipk_has_the_service(static_programs: Path, tmp_path: Path) -> None:
    """Would catch a service that does not find its program, and an example that would be started."""
    programs = tmp_path / "programs"
    programs.mkdir()
    # This program does not run here, as one for a box does not.
    shutil.copy(static_programs / "fairlane", programs)
    run(ROOT / "packaging/build", programs, "ipk", OUT=str(tmp_path / "out"), OPENWRT_ARCH="box")
    version = re.search(r'^version = "(.*)"', (ROOT / "Cargo.toml").read_text(), re.MULTILINE)
    assert version
    with tarfile.open(tmp_path / f"out/fairlane_{version[1]}_box.ipk", "r:gz") as package:
        package.extractall(tmp_path, filter="data")
    with tarfile.open(tmp_path / "data.tar.gz") as data:
        modes = {member.name.removeprefix("."): member.mode for member in data.getmembers()}
    assert modes["/usr/sbin/fairlane"] & 0o111
    assert modes["/etc/init.d/fairlane"] & 0o111
    assert "PROG=/usr/sbin/fairlane\n" in (ROOT / "packaging/openwrt/fairlane.init").read_text()
    assert not [path for path in modes if path.startswith("/etc/fairlane/") and path.endswith(".toml")]
    control = run("tar", "-xzOf", tmp_path / "control.tar.gz", "./control")
    assert "Depends: kmod-nft-queue, kmod-nfnetlink-queue\n" in control


def test_the_apk_has_the_programs(static_packages: dict[str, Path]) -> None:
    """Would catch a unit of systemd, which Alpine does not have."""
    files = run("tar", "-tzf", static_packages["apk"]).split()
    assert static_packages.keys() == {"deb", "rpm", "apk", "ipk"}
    assert {"usr/bin/fairlane", "usr/bin/aqmrun", "usr/share/man/man1/fairlane-router.1.gz"} <= set(files)
    assert not [path for path in files if "systemd" in path]


def test_programs_without_libraries_need_nothing(static_packages: dict[str, Path]) -> None:
    """Would catch a need that only this machine has."""
    need("dpkg-deb")
    assert field(static_packages["deb"], "Depends") == ""


def test_alpine_and_openwrt_need_programs_without_libraries(tmp_path: Path) -> None:
    """Would catch a package that installs and does not run."""
    refused = subprocess.run(
        [ROOT / "packaging/build", PROGRAMS, "ipk"],
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
        env={**os.environ, "OUT": str(tmp_path / "out")},
    )
    assert refused.returncode == 2
    assert "need glibc, which Alpine and OpenWrt do not have" in refused.stderr


def test_a_package_is_the_same_again(static_packages: dict[str, Path], static_programs: Path, tmp_path: Path) -> None:
    """Would catch a file with the time or the place of the build."""
    run(ROOT / "packaging/build", static_programs, "deb", OUT=str(tmp_path), FAIRLANE=str(PROGRAMS / "fairlane"))
    assert (tmp_path / static_packages["deb"].name).read_bytes() == static_packages["deb"].read_bytes()
