#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""The examples of docs/python.md run in their order, and print the output that the page shows."""

import contextlib
import io
import os
import re
import tempfile
import unittest

import support


class Guide(unittest.TestCase):
    def test_examples(self):
        with open(f"{support.SOURCE}/docs/python.md", encoding="utf-8") as page:
            examples = re.findall(r"^```python\n(.*?)^```$", page.read(), re.M | re.S)
        self.assertGreaterEqual(len(examples), 10)
        said = io.StringIO()
        names = {}
        with tempfile.TemporaryDirectory() as directory:
            support.printed("trace", "convert", support.TRACE, f"{directory}/run.e4c", "--image", support.IMAGE)
            os.symlink(os.path.abspath(support.IMAGE), f"{directory}/disk.img")
            os.chdir(directory)
            with contextlib.redirect_stdout(said):
                for example in examples:
                    exec(compile(example, "docs/python.md", "exec"), names)
            os.chdir("/")
        for line in ("['recorded', 'legacy', 'cr1.5']", "['recorded', 'legacy', 'roomy']"):
            self.assertIn(line, said.getvalue().splitlines())
        self.assertIn("unknown policy 'nobody'", said.getvalue())
        self.assertIn("clusters are free in group 0", said.getvalue())
        self.assertGreater(names["searches"], 1000)
        self.assertGreater(len(set(names["hits"])), 1)


if __name__ == "__main__":
    unittest.main()
