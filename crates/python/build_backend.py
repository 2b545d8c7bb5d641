"""Builds the wheel: maturin's, with the loadable extension inside.

The extension is a build of its own (`cargo extension`), which maturin does not
know of, so it is built here first and laid beside the package's modules. There is
no source distribution: the sources are a Cargo workspace, of which this
directory is a part.

`CARGO_TARGET_DIR` is where both builds go, as usual. `TIMEBASE_PROFILE` names Cargo's profile for
both, `release` if it is not set; the tests save time with `dev`.
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
    """What pip calls (PEP 517)."""
    target = Path(os.environ.get("CARGO_TARGET_DIR", _ROOT / "target")).resolve() / "extension"
    # What `cargo extension` is, with a say in where it is built.
    manifest = _ROOT / "crates" / "extension" / "Cargo.toml"
    profile = os.environ.get("TIMEBASE_PROFILE", "release")
    command = ["cargo", "build", "--profile", profile, "--locked", "--manifest-path", manifest, "--target-dir", target]
    subprocess.run(command, check=True)
    built = target / ("debug" if profile == "dev" else profile)
    laid = [_HERE / "timebase" / name for name in _LIBRARIES if (built / name).is_file()]
    try:
        # A tag that says which glibc the wheel needs (`manylinux_2_34`); maturin's
        # default here is `linux`, which claims that any will do.
        os.environ.setdefault("MATURIN_PEP517_ARGS", f"--compatibility pypi --profile {profile}")
        for path in laid:
            shutil.copy2(built / path.name, path)
        return maturin.build_wheel(wheel_directory, config_settings, metadata_directory)
    finally:
        for path in laid:
            path.unlink(missing_ok=True)
