# SPDX-License-Identifier: GPL-2.0-or-later
"""Builds the Python package as a wheel, for pip and other front ends (PEP 517).

CMake builds the extension module and libe4replay with the preset `wheel`, and installs both into a directory. A
wheel is a zip file of that directory, with metadata. Making it needs only Python's standard library. The environment
variable CMAKE_ARGS adds options for CMake. The setting build-dir is the build directory
(`pip wheel --config-settings build-dir=DIR`).
"""

import base64
import hashlib
import os
import pathlib
import re
import shlex
import shutil
import subprocess
import sys
import sysconfig
import tarfile
import tempfile
import time
import zipfile

TOP = pathlib.Path(__file__).resolve().parents[2]


def _version():
    found = re.search(r"^project\(e4replay VERSION ([0-9.]+)", (TOP / "CMakeLists.txt").read_text(), re.M)
    if found is None:
        raise RuntimeError("CMakeLists.txt names no version")
    return found[1]


def _about():
    return f"""Metadata-Version: 2.1
Name: e4replay
Version: {_version()}
Summary: Replays recorded ext4 block allocations under other allocator policies
License: GPL-2.0-or-later
Classifier: Operating System :: POSIX :: Linux
Classifier: Typing :: Typed
Requires-Python: >=3.9
Description-Content-Type: text/markdown

{(TOP / "docs" / "python.md").read_text(encoding="utf-8")}"""


def _tag():
    """The wheel's tag: it runs with this version of Python, on machines with the same libraries as this one."""
    python = f"cp{sys.version_info[0]}{sys.version_info[1]}"
    return f"{python}-{python}-{sysconfig.get_platform().replace('-', '_').replace('.', '_')}"


def _write_about(directory):
    info = pathlib.Path(directory) / f"e4replay-{_version()}.dist-info"
    info.mkdir()
    (info / "METADATA").write_text(_about(), encoding="utf-8")
    (info / "WHEEL").write_text(
        f"Wheel-Version: 1.0\nGenerator: e4r_wheel\nRoot-Is-Purelib: false\nTag: {_tag()}\n", encoding="utf-8")
    shutil.copy(TOP / "LICENSE", info)
    return info.name


def _run(*words):
    # The caller, a build front end, reads standard output, so the command's output goes to standard error.
    subprocess.run([str(word) for word in words], cwd=TOP, stdout=sys.stderr, check=True)


def _build(prefix, settings):
    """Builds the package and installs it in `prefix`."""
    if shutil.which("cmake") is None or shutil.which("ninja") is None:
        raise RuntimeError("building e4replay needs packages of Debian: run tools/setup.sh build python")
    build = (settings or {}).get("build-dir") or TOP / "build" / f"wheel-{sys.implementation.cache_tag}"
    options = shlex.split(os.environ.get("CMAKE_ARGS", ""))
    _run("cmake", "--preset", "wheel", "-B", build, f"-DPython3_EXECUTABLE={sys.executable}", *options)
    _run("cmake", "--build", build, "--target", "e4r_python")
    _run("cmake", "--install", build, "--component", "wheel", "--strip", "--prefix", prefix)


def _written():
    """The time stamp of files in archives, fixed so that the same tree gives the same archive."""
    return int(os.environ.get("SOURCE_DATE_EPOCH", "1767225600"))


def _pack(directory, wheel):
    """Writes the wheel, with a list of its files and their hashes."""
    files = {file for file in directory.rglob("*") if file.is_file()}
    # A wheel cannot contain symbolic links, so the library is stored under the name by which it is loaded.
    files -= {file.resolve() for file in files if file.is_symlink()}
    record = next(directory.glob("*.dist-info")).name + "/RECORD"
    lines = []
    with zipfile.ZipFile(wheel, "w", zipfile.ZIP_DEFLATED) as archive:
        def add(name, data, mode):
            info = zipfile.ZipInfo(name, time.gmtime(max(_written(), 315532800))[:6])
            info.compress_type = zipfile.ZIP_DEFLATED
            info.external_attr = (0o100000 | mode) << 16
            archive.writestr(info, data)

        for file in sorted(files):
            data = file.read_bytes()
            name = file.relative_to(directory).as_posix()
            digest = base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()
            lines.append(f"{name},sha256={digest},{len(data)}\n")
            add(name, data, 0o755 if ".so" in file.name else 0o644)
        add(record, "".join(lines) + f"{record},,\n", 0o644)


def get_requires_for_build_wheel(config_settings=None):
    return []


def get_requires_for_build_sdist(config_settings=None):
    return []


def prepare_metadata_for_build_wheel(metadata_directory, config_settings=None):
    return _write_about(metadata_directory)


def build_wheel(wheel_directory, config_settings=None, metadata_directory=None):
    name = f"e4replay-{_version()}-{_tag()}.whl"
    with tempfile.TemporaryDirectory() as directory:
        _build(directory, config_settings)
        _write_about(directory)
        _pack(pathlib.Path(directory), pathlib.Path(wheel_directory) / name)
    return name


def build_sdist(sdist_directory, config_settings=None):
    """The files that git tracks."""
    if not (TOP / ".git").exists():
        raise RuntimeError(f"{TOP} is not a checkout: a source distribution is made from a clone")
    root = f"e4replay-{_version()}"
    listed = subprocess.run(["git", "ls-files", "-z"], cwd=TOP, check=True, stdout=subprocess.PIPE).stdout
    names = [os.fsdecode(name) for name in listed.split(b"\0")]
    with tempfile.TemporaryDirectory() as directory:
        about = pathlib.Path(directory) / "PKG-INFO"
        about.write_text(_about(), encoding="utf-8")
        with tarfile.open(pathlib.Path(sdist_directory) / f"{root}.tar.gz", "w:gz", format=tarfile.PAX_FORMAT) as out:
            for name in sorted(name for name in names if (TOP / name).is_file()):
                out.add(TOP / name, f"{root}/{name}", recursive=False)
            out.add(about, f"{root}/PKG-INFO")
    return f"{root}.tar.gz"
