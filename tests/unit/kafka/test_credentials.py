from __future__ import annotations

from pathlib import Path

import pytest

from guardian.errors import InvalidInput
from guardian.kafka.credentials import read_password, require_ca_file
from guardian.model.topology import ClusterSecurity, SecurityProtocol


def sasl(password_file: Path) -> ClusterSecurity:
    return ClusterSecurity(SecurityProtocol.SASL_PLAINTEXT, "PLAIN", "guardian", str(password_file))


@pytest.mark.parametrize("line_end", ["", "\n", "\r\n"])
def test_the_password_is_the_files_text_without_its_line_end(tmp_path: Path, line_end: str) -> None:
    file = tmp_path / "password"
    file.write_bytes(b" s3 cret " + line_end.encode())
    assert read_password(sasl(file)) == " s3 cret "


def test_a_missing_password_file_is_named(tmp_path: Path) -> None:
    file = tmp_path / "none"
    with pytest.raises(InvalidInput) as refusal:
        read_password(sasl(file))
    assert str(refusal.value) == (
        f"security.password_file is {str(file)!r}: it can't be read (No such file or directory); "
        "create it, readable by Guardian"
    )


@pytest.mark.parametrize(("content", "reason"), [(b"\n", "the file is empty"), (b"\xff\xfe", "it is not UTF-8 text")])
def test_a_password_file_without_a_password_is_refused(tmp_path: Path, content: bytes, reason: str) -> None:
    file = tmp_path / "password"
    file.write_bytes(content)
    with pytest.raises(InvalidInput, match=reason):
        read_password(sasl(file))


def test_a_missing_ca_file_is_named_and_none_at_all_is_fine() -> None:
    require_ca_file(ClusterSecurity(SecurityProtocol.SSL))
    with pytest.raises(InvalidInput, match=r"^security.ca_file is '/no/ca.pem': "):
        require_ca_file(ClusterSecurity(SecurityProtocol.SSL, ca_file="/no/ca.pem"))


@pytest.mark.parametrize("content", ["", "no certificate", "-----BEGIN CERTIFICATE-----\n-----END CERTIFICATE-----\n"])
def test_a_ca_file_without_a_certificate_is_refused(tmp_path: Path, content: str) -> None:
    file = tmp_path / "ca.pem"
    file.write_text(content)
    with pytest.raises(InvalidInput, match="it holds no certificate; use one or more in PEM format"):
        require_ca_file(ClusterSecurity(SecurityProtocol.SSL, ca_file=str(file)))
