"""Builds the wheel with maturin, with the loadable extension inside.

The extension is a separate build (`cargo extension`), which maturin does not know. So this backend builds it
first and copies it next to the package's modules. There is no source distribution, because the sources are a
Cargo workspace, and this directory is a part of it.

`CARGO_TARGET_DIR` is the directory of both builds, as usual. `TIMEBASE_PROFILE` names Cargo's profile for
both; the default is `release`. The tests save time with `dev`.
"""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import maturin
from maturin import (
    get_requires_for_build_wheel as get_requires_for_build_wheel,
    prepare_metadata_for_build_wheel as prepare_metadata_for_build_wheel,
)

_HERE = Path(__file__).resolve().parent
_ROOT = _HERE.parent.parent
_LIBRARIES = ("libtimebase.so", "libtimebase.dylib", "timebase.dll")


def build_wheel(wheel_directory, config_settings=None, metadata_directory=None):
    """pip calls this function (PEP 517)."""
    target = Path(os.environ.get("CARGO_TARGET_DIR", _ROOT / "target")).resolve() / "extension"
    # The same as `cargo extension`, but with a chosen target directory.
    manifest = _ROOT / "crates" / "extension" / "Cargo.toml"
    profile = os.environ.get("TIMEBASE_PROFILE", "release")
    command = ["cargo", "build", "--profile", profile, "--locked", "--manifest-path", manifest, "--target-dir", target]
    subprocess.run(command, check=True)
    built = target / ("debug" if profile == "dev" else profile)
    laid = [_HERE / "timebase" / name for name in _LIBRARIES if (built / name).is_file()]
    try:
        # A tag that tells the glibc that the wheel needs (`manylinux_2_34`). Maturin's default here is
        # `linux`, which claims that any glibc works.
        os.environ.setdefault("MATURIN_PEP517_ARGS", f"--compatibility pypi --profile {profile}")
        for path in laid:
            shutil.copy2(built / path.name, path)
        return maturin.build_wheel(wheel_directory, config_settings, metadata_directory)
    finally:
        for path in laid:
            path.unlink(missing_ok=True)
