# SPDX-License-Identifier: GPL-2.0-or-later
"""Reports and decisions in Python types."""

from __future__ import annotations

import html
from collections.abc import Iterator
from typing import Any, Union

from . import _e4replay

Figure = Union[int, float, None]


def _distinct(names: list[str]) -> list[str]:
    """Makes the names of a table's columns unique: a second "legacy" becomes "legacy (2)"."""
    out: list[str] = []
    for name in names:
        again = name
        count = 1
        while again in out:
            count += 1
            again = f"{name} ({count})"
        out.append(again)
    return out


class Report:
    """The result of a replay, a verification or a point of a sweep: figures, with a column for each policy."""

    def __init__(self, report: _e4replay.Report) -> None:
        self._report = report
        self._columns: list[str] = _distinct(report.columns())
        self._rows: list[tuple[Any, ...]] = report.rows()

    @property
    def columns(self) -> list[str]:
        """The names of the columns: "recorded", if its figures are known, and the policies."""
        return list(self._columns)

    @property
    def rows(self) -> dict[str, list[Figure]]:
        """The figures of each row by its key, one per column. docs/metrics.md explains the rows."""
        return {row[0]: list(row[6]) for row in self._rows}

    @property
    def labels(self) -> dict[str, str]:
        """The labels of the rows in the table, by key."""
        return {row[0]: row[2] for row in self._rows}

    def __getitem__(self, key: str) -> list[Figure]:
        for row in self._rows:
            if row[0] == key:
                return list(row[6])
        raise KeyError(key)

    def table(self, *, all: bool = False) -> list[dict[str, Any]]:
        """A list of dicts for pandas.DataFrame(): one for each row that `e4replay replay --all` prints, or for every row
        if `all` is true."""
        out = []
        for key, section, label, better, shown, start, values in self._rows:
            if shown or all:
                out.append({"key": key, "section": section, "label": label, "better": better, "start": start,
                            **dict(zip(self._columns, values))})
        return out

    @property
    def text(self) -> str:
        """The text that `e4replay` prints."""
        return self._report.text()

    @property
    def json(self) -> str:
        """The JSON document (docs/schema)."""
        return self._report.json()

    @property
    def agreement(self) -> _e4replay.Agreement:
        """For a verification, the agreement of the policy with the recorded kernel. Otherwise, the agreement of the
        recorded kernel's model with that kernel, which says how far the results can be trusted."""
        return self._report.agreement()

    @property
    def agrees(self) -> bool:
        """For a verification: whether every decision, group and counter equals the kernel's."""
        return self._report.agrees()

    @property
    def recorded_policy(self) -> str:
        """The policy of the recorded kernel."""
        return self._report.recorded_policy()

    def free_extents(self, column: int | str) -> _e4replay.FreeExtents:
        """Free extents at the end of a column."""
        if isinstance(column, str):
            if column not in self._columns:
                raise KeyError(column)
            column = self._columns.index(column)
        found = self._report.free_extents(column) if column >= 0 else None
        if found is None:
            raise IndexError(f"there is no column {column}: the report has {len(self._columns)}")
        return found

    @property
    def free_extents_before(self) -> _e4replay.FreeExtents:
        """Free extents of the start image."""
        return self._report.free_extents_before()

    def __repr__(self) -> str:
        return f"<e4replay.Report of {', '.join(self._columns)}>"

    def _repr_html_(self) -> str:
        head = "".join(f"<th>{html.escape(name)}</th>" for name in ["", "start", *self._columns])
        body = ""
        section = None
        for row in self.table():
            if row["section"] != section:
                section = row["section"]
                body += f'<tr><th colspan="{len(self._columns) + 2}">{html.escape(section)}</th></tr>'
            figures = [row["start"], *(row[name] for name in self._columns)]
            body += f"<tr><td>{html.escape(row['label'])}</td>"
            body += "".join(f"<td>{_shown(figure)}</td>" for figure in figures) + "</tr>"
        return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"


def _shown(figure: Figure) -> str:
    if figure is None:
        return ""
    return f"{figure:,}" if isinstance(figure, int) else f"{figure:,.2f}"


class Decisions:
    """The requests of a replay in order, with the policy's decision for each."""

    def __init__(self, decisions: _e4replay.Decisions) -> None:
        self._decisions = decisions

    def __len__(self) -> int:
        return len(self._decisions)

    def __getitem__(self, index: int) -> _e4replay.Decision:
        return self._decisions.at(index)

    def __iter__(self) -> Iterator[_e4replay.Decision]:
        return (self._decisions.at(index) for index in range(len(self)))

    def columns(self) -> dict[str, memoryview]:
        """Each field as an array, without copying. `criterion` has indexes into `criteria`."""
        return self._decisions.columns()

    @property
    def criteria(self) -> list[str]:
        """The meanings of the numbers in the column `criterion`."""
        return _e4replay.criteria()

    def table(self) -> list[dict[str, Any]]:
        """A list of dicts for pandas.DataFrame(), one for each request."""
        fields = _e4replay.Decision._fields
        return [{field: getattr(decision, field) for field in fields} for decision in self]

    @property
    def report(self) -> Report:
        """The report of the replay."""
        return Report(self._decisions.report)

    def __repr__(self) -> str:
        return f"<e4replay.Decisions: {len(self)}>"
