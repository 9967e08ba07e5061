#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Checks that every file that a document names or links to exists, that docs/index.md names every document of
docs/ and kernel/README.md every document of kernel/, and that each product's page is one click away.

  links_test.py SOURCE
"""
import pathlib
import re
import sys

# Files that the reader creates.
MADE = {"src/allocator/policies/roomy.cc", "kernel/lab/jobs/prealloc.sh"}
# The first page of each product.
PRODUCTS = ["tools/e4replay/README.md", "tools/tune2fs-lazy/README.md", "kernel/README.md"]
# References in text: a path from the root of the source with an extension, or a Markdown link.
NAMED = re.compile(r"(?<![\w./~$-])(?<!\]\()((?:docs|kernel|packaging|src|test|tools|traces)/[\w./-]*\.(?:cff|cc|cmake|h|js|json|md|png|py|sh|spec|svg))\b")
LINK = re.compile(r"\]\(([^)#:\s]+)\)")


def main(source):
    documents = [*source.glob("*.md"), *source.glob("docs/**/*.md"), *source.glob("tools/*/*.md"),
                 source / "kernel/README.md", *source.glob("kernel/*/*.md")]
    assert len(documents) > 25, f"{len(documents)} documents"
    wrong = []
    named = 0
    for document in documents:
        text = document.read_text()
        where = document.relative_to(source)
        for name in NAMED.findall(text):
            named += 1
            if name not in MADE and not (source / name).exists():
                wrong.append(f"{where} names {name}")
        for link in LINK.findall(text):
            named += 1
            if not (document.parent / link).exists():
                wrong.append(f"{where} links to {link}")
    assert named > 200, f"{named} names"
    index = (source / "docs/index.md").read_text()
    # README.md and docs/index.md must link to the page of each product.
    for product in PRODUCTS:
        for page, text in (("README.md", (source / "README.md").read_text()), ("docs/index.md", index)):
            if f"{product})" not in text:
                wrong.append(f"{page} does not link to {product}")
    for document in source.glob("docs/**/*.md"):
        name = str(document.relative_to(source))
        if name not in index and name != "docs/index.md":
            wrong.append(f"docs/index.md does not lead to {name}")
    kernel = (source / "kernel/README.md").read_text()
    for document in source.glob("kernel/*/*.md"):
        if f"]({document.relative_to(source / 'kernel')})" not in kernel:
            wrong.append(f"kernel/README.md does not lead to {document.relative_to(source)}")
    for one in wrong:
        print(f"links_test: {one}", file=sys.stderr)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main(pathlib.Path(sys.argv[1]).resolve()))
