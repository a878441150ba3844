"""A plan, or what an operation would do, that a person asks for in the browser. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from guardian.errors import GuardianError
from guardian.model.plan import Plan
from guardian.web.parts import Person


@dataclass(frozen=True, slots=True)
class AskedPlan:
    """`given` is what was typed into the form `form` for `cluster`; `doing` what is done for it now. Once it is over
    it has a plan, or an error."""

    id: str
    person: Person
    cluster: str
    form: str
    given: Mapping[str, str] = field(default_factory=dict)
    began_ms: int = 0
    doing: str = ""
    plan: Plan | None = None
    error: GuardianError | None = None

    @property
    def is_over(self) -> bool:
        """Return whether nothing is done for it any more."""
        return self.plan is not None or self.error is not None

    def made(self, plan: Plan) -> AskedPlan:
        """Return it with its plan."""
        return replace(self, plan=plan)

    def ended(self, error: GuardianError) -> AskedPlan:
        """Return it with why there is none."""
        return replace(self, error=error)
