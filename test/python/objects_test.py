#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Checks every class of the package: complete objects, docstrings, a repr, and an entry in the stub."""

import ast
import copy
import gc
import inspect
import os
import unittest

import e4replay
from e4replay import _e4replay
from support import IMAGE, SOURCE, TRACE, Plain, churn, churn_sweep

SEALED = [of for of in vars(_e4replay).values() if isinstance(of, type) and of is not e4replay.Error]


class Empty(unittest.TestCase):
    """No caller can make an object without contents. In an earlier version, reading such an object crashed."""

    def test_by_new(self):
        self.assertGreater(len(SEALED), 15)
        for of in SEALED:
            with self.subTest(of.__name__), self.assertRaises(TypeError):
                of.__new__(of)

    def test_by_a_call(self):
        for of in SEALED:
            with self.subTest(of.__name__), self.assertRaises(TypeError):
                of()

    def test_by_a_base_class(self):
        for of in SEALED:
            for base in of.__mro__[1:]:
                with self.subTest(of.__name__, base=base.__name__), self.assertRaises(TypeError):
                    base.__new__(of)

    def test_by_a_subclass(self):
        for of in SEALED:
            with self.subTest(of.__name__), self.assertRaises(TypeError):
                type("Mine", (of,), {})()

    def test_by_copying(self):
        for one in (next(iter(churn().events())), churn().image.file_system, churn_sweep().decisions("legacy")[0]):
            for copied in (copy.copy, copy.deepcopy):
                with self.subTest(type(one).__name__), self.assertRaises(TypeError):
                    copied(one)


class Attributes(unittest.TestCase):
    """A policy that changes its own attributes while it decides."""

    def replay(self, change):
        class Changes(Plain):
            done = False

            def good(self, search, group):
                if not Changes.done:
                    Changes.done = True
                    change(self)
                    gc.collect()
                return Plain.good(self, search, group)

        expected = churn_sweep().point(Plain())["mb_stats/extents_scanned"]
        for call in (lambda of: churn_sweep().point(of), lambda of: churn_sweep().decisions(of).report):
            Changes.done = False
            self.assertEqual(call(Changes())["mb_stats/extents_scanned"], expected)
        Changes.done = False
        with e4replay.Allocator(churn(), Changes(), loaded=True) as allocator:
            for logical in range(0, 400, 4):
                self.assertTrue(allocator.allocate(100, 4, logical=logical).success)

    def test_all_are_gone(self):
        self.replay(lambda policy: policy.__dict__.clear())

    def test_one_is_gone(self):
        self.replay(lambda policy: policy.__dict__.pop("_registration"))

    def test_another_has_its_place(self):
        self.replay(lambda policy: setattr(policy, "_registration", None))


class Objects(unittest.TestCase):
    def public(self):
        for name in e4replay.__all__:
            of = getattr(e4replay, name)
            if isinstance(of, type) and of is not e4replay.Error:
                yield of

    def test_each_has_a_docstring(self):
        for of in self.public():
            self.assertTrue(inspect.getdoc(of), of.__name__)
            for name, member in inspect.getmembers(of):
                if name.startswith("_") or isinstance(member, (str, tuple, bool)):
                    continue
                with self.subTest(of.__name__, member=name):
                    self.assertTrue(inspect.getdoc(member))

    def test_each_has_a_repr(self):
        seen = []

        class Looks(Plain):
            def good(self, search, group):
                seen[:] = seen or [repr(search), repr(group)]
                return Plain.good(self, search, group)

        sweep = churn_sweep()
        decisions = sweep.decisions(Looks())
        report = decisions.report
        image = churn().image
        with e4replay.Allocator(churn()) as allocator:
            objects = [churn(), sweep, decisions, decisions[0], report, report.agreement, image, image.file_system,
                       image.group(0), image.free_extents(), next(iter(churn().events())),
                       e4replay.EventReader(TRACE), Plain(), allocator, allocator.group(0),
                       e4replay.find_policy("legacy")]
            texts = [repr(one) for one in objects] + seen
        for text in texts:
            with self.subTest(text):
                self.assertRegex(text, r"^<(e4replay\.[A-Za-z]+|policy) ?[^\n]*>$")
                self.assertNotIn(" object at 0x", text)
        self.assertEqual(len(set(texts)), len(texts))
        self.assertIn(TRACE, repr(churn()))
        self.assertIn("groups=32", repr(image.file_system))
        with e4replay.Image(IMAGE) as closed:
            pass
        self.assertIn("(closed)", repr(closed))


class Stub(unittest.TestCase):
    """python/e4replay/_e4replay.pyi has the same names as the module."""

    def setUp(self):
        with open(os.path.join(SOURCE, "python/e4replay/_e4replay.pyi"), encoding="utf-8") as stub:
            self.body = ast.parse(stub.read()).body

    @staticmethod
    def names(body):
        out = set()
        for one in body:
            if isinstance(one, (ast.ClassDef, ast.FunctionDef)):
                out.add(one.name)
            elif isinstance(one, ast.AnnAssign):
                out.add(one.target.id)
        return out

    def test_the_module(self):
        has = {name for name in vars(_e4replay) if not name.startswith("__")}
        self.assertEqual(self.names(self.body) - has, set())
        self.assertEqual(has - self.names(self.body), set())

    def test_its_classes(self):
        for of in self.body:
            if not isinstance(of, ast.ClassDef) or of.name == "Error":
                continue
            special = {"__len__", "__iter__", "__next__"}
            has = {name for name in vars(getattr(_e4replay, of.name)) if name in special or not name.startswith("__")}
            with self.subTest(of.name):
                self.assertEqual(self.names(of.body), has)


if __name__ == "__main__":
    unittest.main()
