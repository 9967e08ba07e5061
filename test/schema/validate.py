#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Holds documents against the schemas of their kinds.

validate.py SCHEMAS DOCUMENTS: DOCUMENTS/KIND/*.json against SCHEMAS/KIND.schema.json. Every schema
must have a document, every document a schema, and a document with a member that no schema names
must be refused, at each level where the set of keys is closed.
"""
import copy
import json
import pathlib
import sys

import jsonschema


def closed_objects(schema, document):
    """Objects of the document whose schema closes the set of keys."""
    if isinstance(document, dict):
        if schema.get("additionalProperties") is False:
            yield document
        for key, value in document.items():
            yield from closed_objects(schema.get("properties", {}).get(key, {}), value)
    elif isinstance(document, list):
        for value in document:
            yield from closed_objects(schema.get("items", {}), value)


def undescribed(schema, path=""):
    for key, value in schema.get("properties", {}).items():
        if not value.get("description"):
            yield f"{path}/{key}"
        yield from undescribed(value, f"{path}/{key}")
    if "items" in schema:
        yield from undescribed(schema["items"], path + "[]")


def main(schemas, documents):
    faults = []
    kinds = {path.name.removesuffix(".schema.json"): path for path in schemas.glob("*.schema.json")}
    found = {path.name for path in documents.iterdir() if path.is_dir() and list(path.glob("*.json"))}
    for kind in sorted(set(kinds) ^ found):
        if kind in kinds or list((documents / kind).glob("*.json")):
            faults.append(f"{kind}: has only one of a schema and a document")
    checked = 0
    for kind, path in sorted(kinds.items()):
        schema = json.loads(path.read_text())
        jsonschema.Draft202012Validator.check_schema(schema)
        validator = jsonschema.Draft202012Validator(schema)
        faults += [f"{path.name}: {field}: no description" for field in undescribed(schema)]
        for file in sorted((documents / kind).glob("*.json")):
            document = json.loads(file.read_text())
            for error in validator.iter_errors(document):
                where = "/".join(str(step) for step in error.absolute_path)
                faults.append(f"{kind}/{file.name}: at '{where}': {error.message[:300]}")
            stranger = copy.deepcopy(document)
            closed = list(closed_objects(schema, stranger))
            if not closed:
                faults.append(f"{path.name}: closes no object")
            for at in closed[:200]:
                at["no such member"] = 1  # and none of a name that a file may give
                if validator.is_valid(stranger):
                    faults.append(f"{kind}/{file.name}: a member that no schema names is accepted")
                del at["no such member"]
            checked += 1
    for fault in faults:
        print(fault)
    print(f"{checked} documents of {len(kinds)} kinds")
    return 1 if faults or checked == 0 else 0


if __name__ == "__main__":
    sys.exit(main(pathlib.Path(sys.argv[1]), pathlib.Path(sys.argv[2])))
