"""One table says what every error is to gRPC, HTTP and programs, in both directions."""

from __future__ import annotations

from collections.abc import Iterator

import grpc
import pytest

from guardian import errors
from guardian.errors import GuardianError
from guardian.model.wire.status import TOLD, kind_of, status_of, told_of


def every(kind: type[GuardianError]) -> Iterator[type[GuardianError]]:
    for each in kind.__subclasses__():
        if each.__module__ == errors.__name__:
            yield each
        yield from every(each)


@pytest.mark.parametrize("kind", list(dict.fromkeys(every(GuardianError))))
def test_every_error_has_a_row_of_its_own(kind: type[GuardianError]) -> None:
    assert told_of(kind("x")) is TOLD[kind]
    by_code = kind_of(TOLD[kind].code)
    assert by_code is None or issubclass(kind, by_code)


def test_names_are_of_one_error_and_codes_too_but_for_unavailable() -> None:
    assert len({told.name for told in TOLD.values()}) == len(TOLD)
    widest = [told for kind, told in TOLD.items() if GuardianError in kind.__bases__]
    codes = [told.code for told in widest if told.code is not grpc.StatusCode.UNAVAILABLE]
    assert len(set(codes)) == len(codes)
    assert kind_of(grpc.StatusCode.UNAVAILABLE) is None


def test_what_is_no_error_of_ours() -> None:
    assert status_of(KeyError("x")) is grpc.StatusCode.UNAVAILABLE
    assert (told_of(KeyError("x")).http, told_of(KeyError("x")).name) == (500, "internal")
