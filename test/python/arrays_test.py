#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Tests of arrays with and without numpy, and of images and allocators."""

import array
import gc
import sys
import unittest

import e4replay
from support import IMAGE, churn, churn_sweep


class Allocators(unittest.TestCase):
    def setUp(self):
        self.image = e4replay.Image(IMAGE)
        self.groups = self.image.file_system.groups

    def test_a_bitmap_has_what_the_group_has_free(self):
        for group in range(self.groups):
            words = self.image.bitmap(group)
            self.assertEqual((words.format, words.readonly), ("Q", True))
            clear = sum(64 - bin(word).count("1") for word in words)
            self.assertEqual(clear, self.image.group(group).free_clusters)
            self.assertEqual(clear, self.image.free_clusters()[group])

    def test_maps_are_of_all_groups(self):
        allocator = e4replay.Allocator(self.image, loaded=True)
        for name in ("free_clusters", "free_runs", "largest_order"):
            numbers = getattr(allocator, name)()
            self.assertEqual(len(numbers), self.groups)
            self.assertEqual(numbers.tolist(), [getattr(allocator.group(group), name) for group in range(self.groups)])
        self.assertEqual(allocator.free_clusters().tolist(), self.image.free_clusters().tolist())

    def test_it_allocates_and_frees(self):
        with e4replay.Allocator(self.image, "linux-7.3", mb_max_to_scan=10) as allocator:
            before = allocator.free_extents().blocks
            decision = allocator.allocate(1000, 64, file_size=1 << 18, flags=e4replay.DATA)
            self.assertTrue(decision.success)
            self.assertEqual(decision.asked, 64)
            allocator.drop_inode(1000)
            self.assertEqual(allocator.free_extents().blocks, before - decision.len)
            allocator.free(decision.block, decision.len)
            allocator.commit()
            self.assertEqual(allocator.free_extents().blocks, before)
            self.assertEqual(allocator.counters()["reqs"], 1)
            self.assertEqual(allocator.check(), [])
        with self.assertRaisesRegex(e4replay.Error, "closed"):
            allocator.commit()

    def test_arrays_outlive_what_they_came_from(self):
        words = self.image.bitmap(0)
        expected = words.tolist()
        columns = churn_sweep().decisions("legacy").columns()
        total = sum(columns["len"])
        self.image.close()
        del self.image
        gc.collect()
        self.assertEqual(words.tolist(), expected)
        self.assertEqual(sum(columns["len"]), total)
        with self.assertRaises(TypeError):
            words[0] = 1

    def test_the_standard_library_takes_them(self):
        words = self.image.bitmap(0)
        copy = array.array("Q", words.tobytes())
        self.assertEqual(copy.tolist(), words.tolist())

    def test_numpy_is_not_needed(self):
        self.assertNotIn("numpy", sys.modules)


class WithNumpy(unittest.TestCase):
    def test_nothing_is_copied(self):
        import numpy
        image = e4replay.Image(IMAGE)
        words = image.bitmap(1)
        of_numpy = numpy.asarray(words)
        self.assertEqual(of_numpy.dtype, numpy.uint64)
        self.assertTrue(numpy.shares_memory(of_numpy, numpy.asarray(image.bitmap(1))))
        bits = numpy.unpackbits(of_numpy.view(numpy.uint8), bitorder="little")
        self.assertEqual(int((bits == 0).sum()), image.group(1).free_clusters)

    def test_columns_are_strided(self):
        import numpy
        decisions = churn_sweep().decisions("legacy")
        lengths = numpy.asarray(decisions.columns()["len"])
        self.assertEqual(lengths.tolist(), [one.len for one in decisions])
        self.assertGreater(lengths.strides[0], lengths.itemsize)

    def test_pandas_takes_tables(self):
        import pandas
        frame = pandas.DataFrame(churn().replay(["legacy"]).table()).set_index("key")
        self.assertEqual(frame.loc["free_extents/count", "legacy"], frame.loc["free_extents/count", "recorded"])


class Refused(unittest.TestCase):
    def test_in_the_tools_words(self):
        for words, call in (
                ("/none: No such file or directory", lambda: e4replay.Image("/none")),
                ("/none: No such file or directory", lambda: e4replay.Capture("/none")),
                ("unknown policy 'nobody': choose from", lambda: churn().replay(["nobody"])),
                ("unknown tunable 'mb_none': choose from", lambda: churn().replay(["legacy"], mb_none=1)),
                ("has no group 32: it has 32", lambda: e4replay.Image(IMAGE).group(32)),
                ("has no group 32: it has 32", lambda: e4replay.Image(IMAGE).bitmap(32)),
                ("opened without its bitmaps", lambda: e4replay.Image(IMAGE, bitmaps=False).bitmap(0)),
                ("opened without its bitmaps", lambda: e4replay.Allocator(e4replay.Image(IMAGE, bitmaps=False))),
                ("inodes are counted from 1", lambda: e4replay.Allocator(churn()).allocate(0, 1)),
                ("give 1 to 32768", lambda: e4replay.Allocator(churn()).allocate(1, 0)),
                ("part of them is not in use|part of them is metadata",
                 lambda: e4replay.Allocator(churn()).free(0, 1))):
            with self.subTest(words), self.assertRaisesRegex(e4replay.Error, words):
                call()

    def test_what_is_no_number_or_too_large(self):
        allocator = e4replay.Allocator(churn())
        for call in (lambda: allocator.allocate(-1, 1), lambda: allocator.allocate(1 << 64, 1),
                     lambda: allocator.allocate(1, 1 << 32), lambda: allocator.allocate("1", 1),
                     lambda: allocator.free(-1, 1), lambda: allocator.group(-1), lambda: allocator.bitmap(1 << 40),
                     lambda: e4replay.Allocator("image"), lambda: churn().replay([1]), lambda: churn().replay(1),
                     lambda: churn().replay(["legacy"], mb_max_to_scan=1.5), lambda: e4replay.Image(1),
                     lambda: churn().replay(["legacy"], threads=-1)):
            with self.assertRaises((TypeError, OverflowError)):
                call()

        with self.assertRaisesRegex(TypeError, "^len is -1: give a whole number"):
            allocator.allocate(1, -1)

    def test_classes_of_the_module_cannot_be_made_empty(self):
        for name in ("Search", "SearchedGroup", "Decision", "FreeExtents", "Event"):
            with self.assertRaises(TypeError):
                getattr(e4replay, name)()

    def test_what_is_closed(self):
        capture, image = e4replay.Capture(IMAGE, churn_trace()), e4replay.Image(IMAGE)
        events = capture.events()
        capture.close()
        image.close()
        self.assertEqual(next(events).name, "ext4_allocate_inode")
        for call in (lambda: capture.replay(["legacy"]), lambda: image.file_system, capture.sweep):
            with self.assertRaisesRegex(e4replay.Error, "closed"):
                call()


def churn_trace():
    from support import TRACE
    return TRACE


if __name__ == "__main__":
    unittest.main()
