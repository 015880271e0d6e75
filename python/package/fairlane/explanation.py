"""Explanations of disciplines."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["Explanation", "Resolved"]


@dataclass(frozen=True)
class Resolved:
    """One parameter as it will be used.

    Attributes:
        key: Its name.
        value: Its value, with its unit.
        origin: ``given``, ``default`` or ``derived``.
        why: The reason for a default, or the rule by which it was derived.
        meaning: The meaning of the parameter.
    """

    key: str
    value: str
    origin: str
    why: str | None
    meaning: str


@dataclass(frozen=True, repr=False)
class Explanation:
    """Every parameter of a discipline as it will be used, with consequences and warnings.

    Attributes:
        kind: The discipline's name.
        rate: The link's rate.
        parameters: All parameters, in the order of the documentation.
        consequences: Consequences of the values, such as the time in which the average reacts.
        warnings: Values that look wrong, such as ``max`` below twice ``min``.
    """

    kind: str
    rate: str
    parameters: tuple[Resolved, ...]
    consequences: tuple[str, ...]
    warnings: tuple[str, ...]

    def __getitem__(self, key: str) -> str:
        """Returns the value of the parameter ``key``, with its unit.

        Raises:
            KeyError: There is no such parameter.
        """
        for parameter in self.parameters:
            if parameter.key == key:
                return parameter.value
        raise KeyError(key)

    def __repr__(self) -> str:
        parts = f"{len(self.parameters)} parameters, {len(self.warnings)} warnings; print it to read it"
        return f"<Explanation of {self.kind} on a link of {self.rate}: {parts}>"

    def _repr_html_(self) -> str:
        from fairlane._html import bullets, caption, table

        rows = [(each.key, each.value, each.origin, each.why, each.meaning) for each in self.parameters]
        parts = (("Consequences", self.consequences), ("Warnings", self.warnings))
        lists = "".join(bullets(title, lines) for title, lines in parts)
        head = caption(f"{self.kind} on a link of {self.rate}")
        return head + table(["parameter", "value", "origin", "why", "meaning"], rows) + lists

    def __str__(self) -> str:
        width = max((len(parameter.key) for parameter in self.parameters), default=0)
        lines = [f"{self.kind} on a link of {self.rate}"]
        for parameter in self.parameters:
            why = f"{parameter.origin}: {parameter.why}" if parameter.why else parameter.origin
            lines.append(f"  {parameter.key:<{width}}  {parameter.value} ({why})")
        for title, words in (("Consequences", self.consequences), ("Warnings", self.warnings)):
            lines += [title, *(f"  - {word}" for word in words)] if words else []
        return "\n".join(lines)
