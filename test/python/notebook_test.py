#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""docs/which-trim-order.ipynb runs, prints the figures that are stored in it, and draws.

    notebook_test.py --store    runs it and stores its text and drawings
"""

import os
import sys
import tempfile
import unittest

import nbformat
from nbconvert.preprocessors import ExecutePreprocessor

NOTEBOOK = f"{os.environ['E4R_SOURCE']}/docs/which-trim-order.ipynb"


def executed():
    notebook = nbformat.read(NOTEBOOK, as_version=4)
    with tempfile.TemporaryDirectory() as home:
        # Do not use the kernels and settings of the user who runs the tests. This interpreter is the kernel.
        os.environ.update(HOME=home, JUPYTER_PATH=home, MPLBACKEND="module://matplotlib_inline.backend_inline",
                          PYDEVD_DISABLE_FILE_VALIDATION="1")
        runner = ExecutePreprocessor(timeout=300, kernel_name="python3")
        notebook, _ = runner.preprocess(notebook, {"metadata": {"path": home}})
    for cell in notebook.cells:
        cell.metadata.pop("execution", None)
        if cell.cell_type == "code":
            cell.outputs = [output for output in cell.outputs if output.get("name") != "stderr"]
    return notebook


def printed(notebook):
    return [output.text for cell in notebook.cells if cell.cell_type == "code"
            for output in cell.outputs if output.output_type == "stream"]


def drawn(notebook):
    return [output.data["image/png"] for cell in notebook.cells if cell.cell_type == "code"
            for output in cell.outputs if "image/png" in output.get("data", {})]


class Notebook(unittest.TestCase):
    def test_it_prints_and_draws_what_is_stored(self):
        stored, now = nbformat.read(NOTEBOOK, as_version=4), executed()
        self.assertEqual(len(printed(stored)), 2)
        self.assertEqual(printed(now), printed(stored))
        self.assertEqual(len(drawn(stored)), 1)
        # Fonts differ between machines, and so do the bytes of a picture.
        self.assertEqual(len(drawn(now)), 1)
        self.assertGreater(len(drawn(now)[0]), 10000)
        self.assertLess(os.path.getsize(NOTEBOOK), 200000)


if __name__ == "__main__":
    if sys.argv[1:] == ["--store"]:
        nbformat.write(executed(), NOTEBOOK)
    else:
        unittest.main()
