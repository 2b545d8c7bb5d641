"""Makes the archives here, by the tools that people make archives with.

Needs zip, 7z, GNU tar, gzip, zstd. What is in them, `tests/inputs/fixtures.rs` says, too.
"""

import gzip
import io
import os
import pathlib
import random
import subprocess
import sys
import tarfile
import tempfile
import zipfile

HERE = pathlib.Path(__file__).resolve().parent
TIME = 1_700_000_000

packet = b"\n\x02X\x01"
numbers = random.Random(16)
files = {
    "d/a.pb": packet * 50,
    "b.pftrace": b"\n\xc8\x01" + bytes(numbers.randrange(256) for _ in range(200)),
    "m.json": b'{"perfetto_manifest": {"version": 1}}',
    "k.gz": gzip.compress(packet * 30, mtime=0),
    ".hidden/x": b"x",
    "empty": b"",
    "notes.txt": b"hello\n",
    "ä.pb": packet * 3,
    "l" * 60 + "/" + "m" * 60 + "/c.pb": packet * 2,
}
ORDER = list(files)


class Pipe(io.RawIOBase):
    """Can be written, and not sought."""

    def __init__(self):
        self.bytes = b""

    def writable(self):
        return True

    def write(self, data):
        self.bytes += bytes(data)
        return len(data)


def run(*command, **more):
    return subprocess.run(command, check=True, stdout=subprocess.PIPE, **more).stdout


def by_zipfile(out, method, zip64=False):
    with zipfile.ZipFile(out, "w", method) as archive:
        for name, data in files.items():
            info = zipfile.ZipInfo(name, (2023, 11, 14, 22, 13, 20))
            info.compress_type = method
            with archive.open(info, "w", force_zip64=zip64) as member:
                member.write(data)


def by_tarfile(format):
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w", format=format) as archive:
        for name, data in files.items():
            info = tarfile.TarInfo(name)
            info.size, info.mtime = len(data), TIME
            archive.addfile(info, io.BytesIO(data))
        link = tarfile.TarInfo("link.pb")
        link.type, link.linkname = tarfile.SYMTYPE, "d/a.pb"
        archive.addfile(link)
    return out.getvalue()


def write(name, data):
    if name.endswith(".tar"):
        name, data = name + ".gz", gzip.compress(data, mtime=0)
    (HERE / name).write_bytes(data)


def main():
    with tempfile.TemporaryDirectory() as place:
        os.chdir(place)
        for name, data in files.items():
            pathlib.Path(name).parent.mkdir(parents=True, exist_ok=True)
            pathlib.Path(name).write_bytes(data)
        for path in [*pathlib.Path(".").rglob("*"), pathlib.Path(".")]:
            os.utime(path, (TIME, TIME))
        zipped = ["zip", "-q", "-X"]
        write("zip-r.zip", run(*zipped, "-r", "out.zip", ".") and b"" or pathlib.Path("out.zip").read_bytes())
        os.remove("out.zip")
        run(*zipped, "-0", "-r", "out.zip", *ORDER)
        write("zip-stored.zip", pathlib.Path("out.zip").read_bytes())
        os.remove("out.zip")
        # To a pipe: with data descriptors, and sizes of 64 bits.
        write("zip-to-pipe.zip", run(*zipped, "-r", "-", *ORDER))
        write("zip-from-pipe.zip", run(*zipped, "-", "-", input=files["d/a.pb"]))
        run("7z", "a", "-tzip", "-bso0", "out.zip", *ORDER)
        write("7z.zip", pathlib.Path("out.zip").read_bytes())
        os.remove("out.zip")
        for name, format in [("gnu", "gnu"), ("ustar", "ustar"), ("pax", "posix"), ("old", "oldgnu")]:
            pax = ["--pax-option=delete=atime,delete=ctime"] if format == "posix" else []
            write(f"tar-{name}.tar", run("tar", f"--format={format}", *pax, "--owner=0", "--group=0", "-b1", "-cf-", *ORDER))
        os.chdir(HERE)

    for name, method in [("deflated", zipfile.ZIP_DEFLATED), ("stored", zipfile.ZIP_STORED)]:
        out = io.BytesIO()
        by_zipfile(out, method, zip64=True)
        write(f"python-{name}-zip64.zip", out.getvalue())
        for suffix, zip64 in [("", False), ("-zip64", True)]:
            out = Pipe()
            by_zipfile(out, method, zip64)
            write(f"python-{name}-to-pipe{suffix}.zip", out.bytes)
    write("python-pax.tar", by_tarfile(tarfile.PAX_FORMAT))
    write("python-gnu.tar", by_tarfile(tarfile.GNU_FORMAT))


sys.exit(main())
