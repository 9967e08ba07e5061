#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Other threads run during long calls, and Ctrl-C ends the calls. A failing test may hang, so ctest has a limit."""

import os
import shutil
import signal
import tempfile
import threading
import time
import traceback
import unittest
import warnings

import e4replay
from support import IMAGE, TRACE, Plain, churn, churn_sweep, path


class Threads(unittest.TestCase):
    def test_a_reader_waits_without_the_lock(self):
        """The trace comes through a FIFO from another Python thread, which must run, or the call does not end."""
        with tempfile.TemporaryDirectory() as directory:
            fifo = os.path.join(directory, "events")
            os.mkfifo(fifo)

            def write():
                with open(TRACE, "rb") as source, open(fifo, "wb") as sink:
                    shutil.copyfileobj(source, sink)

            writer = threading.Thread(target=write)
            writer.start()
            events = sum(1 for _ in e4replay.EventReader(fifo))
            writer.join()
        self.assertEqual(events, churn().event_count)

    def test_replays_at_once(self):
        expected = churn_sweep().point("cr1.5")["mb_stats/extents_scanned"]
        found = []
        threads = [threading.Thread(target=lambda: found.append(
            (churn_sweep().point("cr1.5")["mb_stats/extents_scanned"], churn_sweep().point(Plain())["requests"])))
            for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(len(found), 4)
        self.assertEqual({tuple(one[0]) for one in found}, {tuple(expected)})


class Interrupted(unittest.TestCase):
    def test_within_a_replay(self):
        """A Python thread sends the signal during the call."""
        capture = e4replay.Capture(path("posting-256g.img"), path("posting-256g.e4t.zst"))
        inside = False
        while not inside:
            sender = threading.Timer(0.05, os.kill, (os.getpid(), signal.SIGINT))
            try:
                sender.start()
                while True:
                    capture.replay(["legacy", "cr1.5", "linux-7.3"])
            except KeyboardInterrupt as error:
                # The exception must come from the call, not from code between two calls.
                frames = traceback.extract_tb(error.__traceback__)
                inside = frames[-1].name == "replay" and frames[-1].line.startswith("return Report(")
            sender.join()

    def test_a_policy_is_asked_no_more(self):
        calls, seen = [], []

        def handler(number, frame):
            seen.append(number)
            raise KeyboardInterrupt

        class Interrupts(Plain):
            def good(self, search, group):
                calls.append(1)
                os.kill(os.getpid(), signal.SIGINT)
                while not seen:
                    time.sleep(0.001)
                return True

        before = signal.signal(signal.SIGINT, handler)
        try:
            with self.assertRaises(KeyboardInterrupt):
                churn_sweep().point(Interrupts())
        finally:
            signal.signal(signal.SIGINT, before)
        self.assertEqual(len(seen), 1)
        self.assertLessEqual(len(calls), 2)


    def interrupted(self, call):
        """Ctrl-C, which is sent once the call is at work (`started`), ends the call."""
        started = threading.Event()

        def send():
            started.wait()
            time.sleep(0.05)
            os.kill(os.getpid(), signal.SIGINT)

        sender = threading.Thread(target=send)
        sender.start()
        with self.assertRaises(KeyboardInterrupt):
            call(started)
        sender.join()

    def test_a_policy_without_end(self):
        class Endless(Plain):
            def good(self, search, group):
                self.started.set()
                while True:
                    pass

        def replay(started):
            policy = Endless()
            policy.started = started
            churn_sweep().point(policy)

        self.interrupted(replay)
        self.assertGreater(churn_sweep().point(Plain())["requests"][0], 0)

    def test_a_policy_that_catches_everything(self):
        class Stubborn(Plain):
            def good(self, search, group):
                self.started.set()
                for _ in range(3):
                    try:
                        while True:
                            pass
                    except BaseException:  # pylint: disable=broad-except
                        pass
                return False

        def replay(started):
            policy = Stubborn()
            policy.started = started
            churn().replay([policy])

        self.interrupted(replay)

    def test_a_kernel_that_does_not_answer(self):
        """A fake kernel: the name of its file selects its behaviour (test/guest/fake_kernel.cc)."""
        with tempfile.TemporaryDirectory() as directory:
            kernel = os.path.join(directory, "hangs")
            shutil.copy(os.environ["E4R_FAKE_KERNEL"], kernel)
            sweep = churn_sweep()

            def replay(started):
                started.set()
                sweep.point("kernel:" + kernel)

            self.interrupted(replay)


class Warned(unittest.TestCase):
    def test_in_the_words_of_the_tool(self):
        """A recording with which the model hardly agrees, because the start image is wrong."""
        with warnings.catch_warnings(record=True) as said:
            warnings.simplefilter("always")
            e4replay.Capture(path("churn-1k.img"), path("churn-1k-nodelalloc.trace.zst")).sweep(force=True)
        for one in said:
            self.assertEqual(one.category, UserWarning)
        with self.assertRaises(e4replay.Error):
            e4replay.Capture(path("posting-256g.img"), TRACE).replay(["legacy"])
        with warnings.catch_warnings(record=True) as said:
            warnings.simplefilter("always")
            forced = e4replay.Capture(path("h-4k.img"), TRACE).replay(["legacy"], force=True)
        self.assertLess(forced.agreement.identical, forced.agreement.decisions)
        self.assertTrue(any("no policy here is this kernel" in str(one.message) for one in said), said)
        self.assertTrue(all(one.filename.endswith(".py") for one in said))

    def test_as_errors(self):
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            with self.assertRaises(UserWarning):
                e4replay.Capture(path("h-4k.img"), TRACE).replay(["legacy"], force=True)


if __name__ == "__main__":
    unittest.main()
