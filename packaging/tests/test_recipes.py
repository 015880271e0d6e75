"""The formula, the recipe, cargo binstall's addresses and the image fit the release."""

from __future__ import annotations

import hashlib
import json
import re
import shutil
import subprocess
from typing import TYPE_CHECKING

import pytest
import yaml
from conftest import ROOT, need, run

if TYPE_CHECKING:
    from pathlib import Path

VERSION = re.findall(r'^version = "(.+)"', (ROOT / "Cargo.toml").read_text(), re.MULTILINE)[0]
WORKFLOW = yaml.safe_load((ROOT / ".github/workflows/release.yml").read_text())
TARGETS = [row["target"] for row in WORKFLOW["jobs"]["binaries"]["strategy"]["matrix"]["include"]]
ADDRESS = f"https://github.com/fairlane/fairlane/releases/download/v{VERSION}"


def archive(target: str) -> str:
    """The name that scripts/release gives to the programs of a target."""
    text = (ROOT / "scripts/release").read_text()
    assert "name=fairlane-$version-$TARGET\n" in text
    assert '*windows*) (cd "$FILES" && 7z a -bd "$name.zip"' in text
    return f"fairlane-{VERSION}-{target}.{'zip' if 'windows' in target else 'tar.gz'}"


@pytest.fixture
def release(tmp_path: Path) -> Path:
    """A folder with an archive of each target, whose content is its name."""
    for target in TARGETS:
        (tmp_path / archive(target)).write_text(target)
    return tmp_path


def checksum(target: str) -> str:
    """The checksum of that archive."""
    return hashlib.sha256(target.encode()).hexdigest()


def test_the_formula_is_of_this_release(release: Path) -> None:
    """Would catch an archive that has another name, a wrong checksum, and a mistake in Ruby."""
    run(ROOT / "scripts/release", "--recipes", release)
    formula = (release / "fairlane.rb").read_text()
    found = dict(re.findall(r'url "(.+)"\n +sha256 "(.+)"', formula))
    unix = [target for target in TARGETS if "windows" not in target]
    assert found == {f"{ADDRESS}/{archive(target)}": checksum(target) for target in unix}
    assert f'version "{VERSION}"' in formula
    need("ruby")
    assert run("ruby", "-c", release / "fairlane.rb") == "Syntax OK\n"


def test_the_formula_installs_what_the_archive_has(release: Path, tmp_path: Path) -> None:
    """The formula runs with stand-ins for Homebrew. Would catch a file that the archive does not have."""
    need("ruby")
    run(ROOT / "scripts/release", "--recipes", release)
    unpacked = tmp_path / "unpacked"
    for name in (
        "fairlane",
        "aqmrun",
        "man/fairlane.1",
        *(f"completions/fairlane.{it}" for it in ("bash", "fish", "zsh")),
    ):
        (unpacked / name).parent.mkdir(parents=True, exist_ok=True)
        (unpacked / name).touch()
    homebrew = """
        module OS; def self.linux? = true; end
        class Place
          def install(*files)
            named = files.flat_map { |it| it.is_a?(Hash) ? it.keys : it }
            named.each { |it| File.file?(it) or abort "no #{it}" }
            puts files.length
          end
        end
        class Formula
          def self.method_missing(name, *) = block_given? ? (yield if %i[on_linux on_intel].include?(name)) : nil
          def self.respond_to_missing?(*) = true
          def self.test = nil
          %i[bin man1 bash_completion fish_completion zsh_completion].each { |it| define_method(it) { Place.new } }
        end
        load ARGV[0]
        Fairlane.new.install
    """
    done = subprocess.run(
        ["ruby", "-e", homebrew, release / "fairlane.rb"], cwd=unpacked, capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert len(done.stdout.split()) == 6


def test_the_recipe_is_of_this_release(release: Path) -> None:
    """Would catch a platform without a source, and a word that the template did not replace."""
    run(ROOT / "scripts/release", "--recipes", release)
    recipe = yaml.safe_load((release / "recipe.yaml").read_text())
    assert recipe["package"] == {"name": "fairlane", "version": VERSION}
    found = {source["then"]["url"]: source["then"]["sha256"] for source in recipe["source"]}
    assert found == {f"{ADDRESS}/{archive(target)}": checksum(target) for target in TARGETS}
    assert len({source["if"] for source in recipe["source"]}) == len(TARGETS)
    unix, windows = recipe["build"]["script"]
    assert unix["then"][0] == 'mkdir -p "$PREFIX/bin" "$PREFIX/share/man/man1"'
    assert windows["if"] == "win"
    for licence in recipe["about"]["license_file"]:
        assert (ROOT / licence).is_file()


def test_recipes_need_every_archive(release: Path) -> None:
    """Would catch a formula with a checksum of nothing."""
    (release / archive(TARGETS[0])).unlink()
    done = subprocess.run(
        [ROOT / "packaging/recipes", release], capture_output=True, text=True, check=False, timeout=60
    )
    assert done.returncode == 2
    assert f"has no {archive(TARGETS[0])}; scripts/release {TARGETS[0]} makes it" in done.stderr
    assert not (release / "fairlane.rb").exists()


def test_cargo_binstall_finds_the_archives() -> None:
    """Would catch an archive that was renamed, and a folder in it."""
    cargo = shutil.which("cargo")
    if cargo is None:
        pytest.skip("there is no cargo")
    read = run(
        cargo, "metadata", "--no-deps", "--format-version", "1", "--manifest-path", ROOT / "crates/cli/Cargo.toml"
    )
    [package] = [package for package in json.loads(read)["packages"] if package["name"] == "fairlane"]
    told = package["metadata"]["binstall"]
    # The systems of the releases, and those whose programs for another libc are the same.
    wanted = {target: target for target in TARGETS}
    wanted |= {f"{machine}-unknown-linux-gnu": f"{machine}-unknown-linux-musl" for machine in ("x86_64", "aarch64")}
    for target, ours in wanted.items():
        given = {**told, **told["overrides"].get(target, {})}
        words = {
            "repo": package["repository"],
            "name": "fairlane",
            "bin": "fairlane",
            "version": VERSION,
            "target": target,
            "binary-ext": ".exe" if "windows" in target else "",
        }
        filled = {key: re.sub(r"\{ ([\w-]+) \}", lambda it: words[it[1]], given[key]) for key in ("pkg-url", "bin-dir")}  # noqa: B023
        assert filled["pkg-url"] == f"{ADDRESS}/{archive(ours)}"
        assert filled["bin-dir"] == f"fairlane-{VERSION}-{ours}/fairlane{words['binary-ext']}"
        assert given["pkg-fmt"] == ("zip" if "windows" in target else "tgz")


def test_the_image_has_the_programs_alone() -> None:
    """Would catch a file that `make static` does not make, and an instruction that needs a shell."""
    text = (ROOT / "packaging/Dockerfile").read_text()
    lines = [line for line in text.replace("\\\n", " ").splitlines() if line and not line.startswith("#")]
    instructions = [line.split(maxsplit=1) for line in lines]
    assert instructions[0] == ["FROM", "scratch"]
    assert "RUN" not in [name for name, _ in instructions]
    [copied] = [rest.split() for name, rest in instructions if name == "COPY"]
    assert copied == ["fairlane", "aqmrun", "/usr/bin/"]
    [start] = [json.loads(rest) for name, rest in instructions if name == "ENTRYPOINT"]
    assert start == ["/usr/bin/fairlane"]
    assert [json.loads(rest) for name, rest in instructions if name == "CMD"] == [["--help"]]
