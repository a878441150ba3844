"""What a ticket would send to Kafka, told without sending it."""

from __future__ import annotations

from dataclasses import dataclass

from guardian.model.text import Text


@dataclass(frozen=True, slots=True)
class PreviewRequest:
    """One change that a request asks for; `api` is Kafka's name of it, `subject` a partition, broker or topic."""

    api: str
    subject: str
    change: str


@dataclass(frozen=True, slots=True)
class PreviewRound:
    """What one tick sends, in its order, and what it says."""

    requests: tuple[PreviewRequest, ...]
    sentence: Text


@dataclass(frozen=True, slots=True)
class Preview:
    """The first round is exact, those after it are as they come when each copy ends at once. `remark` says how it ends,
    or why it is not known further; `first` what comes before the first round (it waits, is planned anew, pauses, ...),
    empty where nothing does. `asks` are what the plan was asked for and changes besides, a sentence each."""

    rounds: tuple[PreviewRound, ...]
    remark: Text
    first: Text = ""
    asks: tuple[Text, ...] = ()
