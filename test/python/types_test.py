#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Tests of types: mypy accepts the package and the examples, and every public name has a type in the stubs."""

import ast
import glob
import os
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

import e4replay
import support
from e4replay import _e4replay

PACKAGE = os.path.dirname(e4replay.__file__)

# Messages of stubtest about every class that pybind11 makes, and about names imported from Python's standard library.
OF_PYBIND11 = re.compile(r" is inconsistent, metaclass differs$|\.__init__ is inconsistent, stub does not have \*args")
LENT = re.compile(r"^e4replay\.(Iterable|Iterator|Sequence)\.")

# pybind11 states one of these return types if a function can return any object. The stub is more precise.
VAGUE = {"object", "list", "tuple", "dict"}


def run(module, *words, path):
    with tempfile.TemporaryDirectory() as cache:
        environment = {**os.environ, "MYPYPATH": path, "PYTHONPATH": path, "MYPY_CACHE_DIR": cache}
        return subprocess.run([sys.executable, "-B", "-m", module, *words], cwd=cache, env=environment, text=True,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False)


def differences(path):
    """Returns the errors that stubtest finds in the package below that directory."""
    said = run("mypy.stubtest", "--concise", "e4replay", path=path).stdout
    return [line for line in said.splitlines() if not OF_PYBIND11.search(line) and not LENT.match(line)]


def stated(function):
    """Returns the return type that the docstring of a pybind11 function states."""
    found = re.search(r"\) -> (.+)$", (function.__doc__ or "").split("\n")[0])
    if found is None:
        return "object"
    text = re.sub(r"e4replay(\._e4replay\.|::)", "", found[1])
    text = text.replace("List[", "list[").replace("Tuple[", "tuple[").replace("Set[", "set[")
    return re.sub(r"^Optional\[(.*)\]$", r"\1 | None", text)


class Types(unittest.TestCase):
    def test_mypy_accepts_package_and_examples(self):
        examples = sorted(glob.glob(f"{support.SOURCE}/examples/*.py"))
        self.assertGreaterEqual(len(examples), 5)
        done = run("mypy", "--strict", PACKAGE, *examples, path=os.path.dirname(PACKAGE))
        self.assertEqual(done.returncode, 0, done.stdout)

    def test_every_name_has_a_stub(self):
        self.assertEqual(differences(os.path.dirname(PACKAGE)), [])

    def test_a_missing_stub_is_noticed(self):
        with tempfile.TemporaryDirectory() as directory:
            copy = shutil.copytree(PACKAGE, f"{directory}/e4replay", ignore=shutil.ignore_patterns("__pycache__"))
            with open(f"{copy}/_e4replay.pyi", encoding="utf-8") as file:
                stubs = file.read()
            fewer = stubs.replace("@final\nclass Memory: ...\n", "")
            fewer = fewer.replace("    @property\n    def fault(self) -> str: ...\n", "")
            fewer = fewer.replace("    def free_clusters(self) -> memoryview: ...\n    def free_runs",
                                  "    def free_runs")
            self.assertEqual(stubs.count("\n") - fewer.count("\n"), 5)
            with open(f"{copy}/_e4replay.pyi", "w", encoding="utf-8") as file:
                file.write(fewer)
            with open(f"{copy}/__init__.py", encoding="utf-8") as file:
                code = file.read().replace("self._allocator.free_clusters()", "memoryview(b'')")
            with open(f"{copy}/__init__.py", "w", encoding="utf-8") as file:
                file.write(code)
            found = differences(directory)
        self.assertEqual([line.split()[0] for line in found],
                         ["e4replay.Group.fault", "e4replay._e4replay.Allocator.free_clusters",
                          "e4replay._e4replay.Group.fault", "e4replay._e4replay.Memory"])

    def test_stubs_state_what_the_module_returns(self):
        with open(f"{PACKAGE}/_e4replay.pyi", encoding="utf-8") as file:
            tree = ast.parse(file.read())
        of_classes = [(getattr(_e4replay, of.name), of) for of in tree.body if isinstance(of, ast.ClassDef)]
        compared = 0
        for owner, scope in [(_e4replay, tree), *of_classes]:
            for stub in scope.body:
                if not isinstance(stub, ast.FunctionDef):
                    continue
                function = owner.__dict__[stub.name]
                function = getattr(function, "fget", getattr(function, "__func__", function))
                if stated(function) not in VAGUE:
                    compared += 1
                    self.assertEqual(ast.unparse(stub.returns), stated(function), (owner.__name__, stub.name))
        self.assertGreater(compared, 100)


if __name__ == "__main__":
    unittest.main()
