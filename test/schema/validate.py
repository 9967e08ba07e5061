#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Validates documents against the schemas of their kinds.

validate.py SCHEMAS DOCUMENTS: validates DOCUMENTS/KIND/*.json against SCHEMAS/KIND.schema.json. Every
schema must have a document, and every document a schema. A document with a member that no schema names must be
refused, at each level where the set of keys is closed. Every part of SCHEMAS/common.json must be in use.

validate.py --lines SCHEMA FILE: each line of FILE must be a document of SCHEMA.
"""
import copy
import json
import pathlib
import sys

import jsonschema


class Schema:
    """A file of schemas. References are relative to the directory of the file, as in a user's validator."""

    def __init__(self, path, files=None):
        self.path = path
        self.root = json.loads(path.read_text())
        self.files = {} if files is None else files
        self.files[path.name] = self
        self.used = set()  # parts of this file that something refers to

    def target(self, reference):
        """Returns the (file, part) that a reference in this file names."""
        name, _, place = reference.partition("#/$defs/")
        if name and name not in self.files:
            Schema(self.path.with_name(name), self.files)
        file = self.files[name] if name else self
        file.used.add(place)
        return file, file.root["$defs"][place]

    def whole(self, node):
        """Returns (file, node) with the reference resolved. The node's own keywords take precedence."""
        if "$ref" not in node:
            return self, node
        file, part = self.target(node["$ref"])
        return file, part | {key: value for key, value in node.items() if key != "$ref"}

    def validator(self):
        resolver = jsonschema.RefResolver(self.path.resolve().as_uri(), self.root)
        return jsonschema.Draft202012Validator(self.root, resolver=resolver)


def closed_objects(file, node, document):
    """Yields the objects of the document whose schema closes the set of keys."""
    file, node = file.whole(node)
    if isinstance(document, dict):
        if node.get("additionalProperties") is False:
            yield document
        for key, value in document.items():
            yield from closed_objects(file, node.get("properties", {}).get(key, {}), value)
    elif isinstance(document, list):
        for value in document:
            yield from closed_objects(file, node.get("items", {}), value)


def undescribed(file, node, path=""):
    for key, value in node.get("properties", {}).items():
        below, value = file.whole(value)
        if not value.get("description"):
            yield f"{path}/{key}"
        yield from undescribed(below, value, f"{path}/{key}")
    if "items" in node:
        yield from undescribed(*file.whole(node["items"]), path + "[]")


def references(node):
    if isinstance(node, dict):
        if isinstance(node.get("$ref"), str):
            yield node["$ref"]
        for value in node.values():
            yield from references(value)
    elif isinstance(node, list):
        for value in node:
            yield from references(value)


def unused_parts(files):
    for file in list(files.values()):
        for reference in references(file.root):
            file.target(reference)
    for file in files.values():
        for part in sorted(set(file.root.get("$defs", {})) - file.used):
            yield f"{file.path.name}: nothing refers to '{part}'"


def errors_of(validator, document, where):
    for error in validator.iter_errors(document):
        at = "/".join(str(step) for step in error.absolute_path)
        yield f"{where}: at '{at}': {error.message[:300]}"


def check(file, kind, document_path):
    """Yields the faults of a document. A schema that accepts unknown members is a fault, too."""
    document = json.loads(document_path.read_text())
    validator = file.validator()
    where = f"{kind}/{document_path.name}"
    yield from errors_of(validator, document, where)
    stranger = copy.deepcopy(document)
    closed = list(closed_objects(file, file.root, stranger))
    if not closed:
        yield f"{file.path.name}: closes no object"
    for at in closed[:200]:
        at["no such member"] = 1  # a name that no schema can define
        if validator.is_valid(stranger):
            yield f"{where}: a member that no schema names is accepted"
        del at["no such member"]


def check_lines(schema, path):
    validator = Schema(schema).validator()
    lines = path.read_text().splitlines()
    for number, line in enumerate(lines, 1):
        yield from errors_of(validator, json.loads(line), f"{path}:{number}")
    if not lines:
        yield f"{path}: has no document"


def check_kinds(schemas, documents):
    faults, files = [], {}
    kinds = {path.name.removesuffix(".schema.json"): Schema(path, files) for path in schemas.glob("*.schema.json")}
    found = {path.name for path in documents.iterdir() if path.is_dir() and list(path.glob("*.json"))}
    for kind in sorted(set(kinds) ^ found):
        if kind in kinds or list((documents / kind).glob("*.json")):
            faults.append(f"{kind}: has only one of a schema and a document")
    checked = 0
    for kind, file in sorted(kinds.items()):
        faults += [f"{file.path.name}: {field}: no description" for field in undescribed(file, file.root)]
        for path in sorted((documents / kind).glob("*.json")):
            faults += check(file, kind, path)
            checked += 1
    faults += unused_parts(files)
    for file in files.values():
        jsonschema.Draft202012Validator.check_schema(file.root)
    if checked == 0:
        faults.append("no document was checked")
    print(f"{checked} documents of {len(kinds)} kinds")
    return faults


def main(arguments):
    of_lines = arguments[0] == "--lines"
    faults = list((check_lines if of_lines else check_kinds)(*map(pathlib.Path, arguments[-2:])))
    for fault in faults:
        print(fault)
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
