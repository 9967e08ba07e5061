#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""`pip install .` without a network: pip makes the wheel in isolation, a venv installs it, and examples run there."""

import hashlib
import os
import re
import shutil
import subprocess
import sys
import tarfile
import tempfile
import unittest
import zipfile

import support

BUILD = os.environ["E4R_WHEEL_BUILD"]  # next to the build of the tests, so that ccache finds its files
VERSION = os.environ["E4R_VERSION"]
CHURN = f"{support.SOURCE}/traces/churn-4k.e4c"


def offline():
    """Returns the words that run a command without a network."""
    for words in (["unshare", "--net"], ["unshare", "--map-root-user", "--net"]):
        if subprocess.run([*words, "true"], capture_output=True, check=False).returncode == 0:
            return words
    return []  # pip's options exclude an index, too


def hash_of(path):
    with open(path, "rb") as file:
        return hashlib.sha256(file.read()).hexdigest()


class Wheel(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.directory = tempfile.mkdtemp()
        cls.addClassCleanup(shutil.rmtree, cls.directory)
        cls.addClassCleanup(shutil.rmtree, BUILD, ignore_errors=True)
        # The venv's Python must not find this machine's packages or the build.
        cls.environment = {name: value for name, value in os.environ.items()
                           if name not in ("PYTHONPATH", "LD_LIBRARY_PATH")}
        cls.environment["PIP_CONFIG_FILE"] = os.devnull
        cls.environment["CMAKE_ARGS"] = "-DE4R_WERROR=ON"  # as in the presets of the tests
        cls.venv("tools")
        cls.wheel = cls.made("isolated")

    @classmethod
    def run_there(cls, *words):
        done = subprocess.run(words, cwd=cls.directory, env=cls.environment, stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, text=True, check=False)
        assert done.returncode == 0, done.stdout
        return done.stdout

    @classmethod
    def venv(cls, name):
        cls.run_there(sys.executable, "-m", "venv", f"{cls.directory}/{name}")

    @classmethod
    def pip(cls, venv, *words):
        return cls.run_there(*offline(), f"{cls.directory}/{venv}/bin/pip", "--disable-pip-version-check", *words)

    @classmethod
    def made(cls, name, *words):
        to = f"{cls.directory}/{name}"
        cls.pip("tools", "wheel", "--no-index", "--no-deps", "--config-settings", f"build-dir={BUILD}", "-w", to,
                *words, support.SOURCE)
        [wheel] = os.listdir(to)
        return f"{to}/{wheel}"

    def test_files(self):
        tag = f"cp{sys.version_info[0]}{sys.version_info[1]}"
        self.assertRegex(os.path.basename(self.wheel), rf"^e4replay-{re.escape(VERSION)}-{tag}-{tag}-linux_\w+\.whl$")
        with zipfile.ZipFile(self.wheel) as wheel:
            names = set(wheel.namelist())
            about = wheel.read(f"e4replay-{VERSION}.dist-info/METADATA").decode()
        modules = {name for name in names if re.fullmatch(r"e4replay/_e4replay\..*\.so", name)}
        self.assertEqual(len(modules), 1)
        information = {f"e4replay-{VERSION}.dist-info/{name}" for name in ("METADATA", "WHEEL", "RECORD", "LICENSE")}
        self.assertEqual(names - modules - information,
                         {"e4replay/__init__.py", "e4replay/report.py", "e4replay/policy.py", "e4replay/py.typed",
                          "e4replay/_e4replay.pyi", "e4replay/libe4replay.so.0"})
        self.assertIn(f"\nVersion: {VERSION}\n", about)

    def test_a_build_that_is_not_isolated_makes_the_same_file(self):
        again = self.made("own", "--no-build-isolation")
        self.assertEqual(os.path.basename(again), os.path.basename(self.wheel))
        self.assertEqual(hash_of(again), hash_of(self.wheel))

    def test_a_source_distribution_has_what_a_build_needs(self):
        code = f"import e4r_wheel; print(e4r_wheel.build_sdist({self.directory!r}))"
        self.environment["PYTHONPATH"] = f"{support.SOURCE}/packaging/wheel"
        try:
            name = self.run_there(sys.executable, "-B", "-c", code).strip()
        finally:
            del self.environment["PYTHONPATH"]
        self.assertEqual(name, f"e4replay-{VERSION}.tar.gz")
        with tarfile.open(f"{self.directory}/{name}") as archive:
            names = archive.getnames()
        listed = subprocess.run(["git", "ls-files"], cwd=support.SOURCE, check=True, capture_output=True, text=True)
        self.assertEqual(set(names), {f"e4replay-{VERSION}/{file}" for file in ["PKG-INFO", *listed.stdout.split()]})

    def test_installed(self):
        self.venv("user")
        python = f"{self.directory}/user/bin/python"
        self.pip("user", "install", "--no-index", self.wheel)
        listed = self.pip("user", "list", "--format=freeze")
        self.assertIn(f"e4replay=={VERSION}\n", listed)
        where = self.run_there(python, "-c", "import e4replay; print(e4replay.__version__, e4replay.__file__)")
        version, place = where.split()
        self.assertEqual(version, VERSION)
        self.assertTrue(place.startswith(f"{self.directory}/user/lib"), place)
        # Every file has the hash that the wheel's list states.
        self.run_there(python, "-c", """
import base64, hashlib, importlib.metadata as metadata
for file in metadata.files('e4replay'):
    if file.hash is not None:
        digest = hashlib.sha256(file.read_binary()).digest()
        assert base64.urlsafe_b64encode(digest).rstrip(b'=').decode() == file.hash.value, file
""")
        for name in ("which_kernel", "fragmented_space", "which_tunable", "each_file", "month"):
            script = f"{support.SOURCE}/examples/{name}.py"
            here = subprocess.run([sys.executable, "-B", script, CHURN], capture_output=True, text=True, check=True)
            self.assertEqual(self.run_there(python, script, CHURN), here.stdout)
        # mypy finds the types where pip has installed them.
        typed = f"{self.directory}/typed.py"
        with open(typed, "w", encoding="utf-8") as file:
            file.write("import e4replay\nreveal_type(e4replay.Image('x').file_system.blocks)\n")
        said = self.run_there(sys.executable, "-m", "mypy", "--strict", "--cache-dir", os.devnull,
                              "--python-executable", python, typed)
        self.assertIn('Revealed type is "builtins.int"', said)


if __name__ == "__main__":
    unittest.main()
