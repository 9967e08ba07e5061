# SPDX-License-Identifier: GPL-2.0-or-later
"""Policies written in Python."""

from __future__ import annotations

from typing import Any

from . import _e4replay

# Stands for a Policy's own rung in its ladder.
OWN = "own"


class Policy:
    """A ladder of the library's rungs with one rung written in Python.

    A subclass has good(), which says whether a group is suitable. choose() may pick the next group; without it,
    the rung walks from group to group. Attributes describe the rung. An object may have more attributes, such as
    parameters of a sweep.

        class Roomy(e4replay.Policy):
            "legacy with a rung for the largest free chunks between CR1 and CR2"
            def good(self, search, group):
                return group.largest_order >= 8
            def choose(self, search):
                for order in range(search.orders - 1, 7, -1):
                    for group in search.by_largest(order):
                        if search.is_usable(group):
                            return group

        capture.replay(["legacy", Roomy()])

    Further methods are optional. applies(search) says whether the rung is tried at all. least_free(search) is the
    number of free clusters below which a group is refused before any other check. leave(search) is called when
    the rung has found nothing. An exception ends the replay, and the call of the replay raises it again.
    """

    name: str = ""  # the name in reports; if empty, the class name in lower case
    summary: str = ""  # one line; if empty, the first line of the docstring
    kernel: str = "legacy"  # the policy whose other rules this policy uses
    # Rungs of the policy `kernel`, or of another policy as "POLICY:CRITERION". The last rung must walk through all
    # groups.
    ladder: tuple[str, ...] = ("CR0", "CR1", OWN, "CR2", "CR3")
    # The criterion under which searches of the own rung are counted: one that no other rung of the ladder has, or a new
    # name. A process can have at most four new names, including those of plug-ins.
    criterion: str = "CR1.5"
    meaning: str = "written in Python"
    # docs/adding-a-policy.md explains the following attributes.
    fast: bool = True
    striped: bool = False
    scan: str = "extents"
    lengths: str = "all"

    def good(self, search: _e4replay.Search, group: _e4replay.SearchedGroup) -> bool:
        """Whether the loaded group is suitable."""
        raise NotImplementedError(f"{type(self).__name__} has no method good()")

    def _registered(self) -> Any:
        """Registers the policy once. A caller keeps the result alive, even if the attribute changes."""
        known: Any = self.__dict__.get("_registration")
        if known is None:
            known = self._registration = self._register()
        return known

    def __repr__(self) -> str:
        return f"<e4replay.Policy {self.name or type(self).__name__.lower()}>"

    def _register(self) -> Any:
        of = type(self)
        if of.good is Policy.good:
            raise NotImplementedError(f"{of.__name__} has no method good()")
        own = _e4replay.own_rung()
        own.criterion, own.meaning, own.scan, own.lengths = self.criterion, self.meaning, self.scan, self.lengths
        own.fast, own.striped = self.fast, self.striped
        optional = ("applies", "least_free", "choose", "leave")
        own.methods = {method for method in optional if callable(getattr(of, method, None))}
        if OWN not in self.ladder:
            raise ValueError(f"the ladder of {of.__name__} has no place for its rung: put e4replay.OWN into it")
        ladder = [self._rung(rung) for rung in self.ladder]
        doc = (of.__doc__ or "").strip() if of.__doc__ != Policy.__doc__ else ""
        summary = self.summary or doc.split("\n")[0] or f"{of.__qualname__}, written in Python"
        return _e4replay.register_policy(self, self.name or of.__name__.lower(), summary,
                                         f"{of.__module__}.{of.__qualname__}", self.kernel, ladder, own)

    def _rung(self, rung: str) -> tuple[str, str]:
        if rung == OWN:
            return "", ""
        policy, colon, criterion = rung.rpartition(":")
        return (policy if colon else self.kernel), criterion


