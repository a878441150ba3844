"""`guardian token`: the token is shown once, the file keeps a hash, and what is revoked is gone."""

from __future__ import annotations

from pathlib import Path

import pytest
from typer.testing import CliRunner

from guardian.errors import InvalidInput, NotFound, NotSignedIn
from guardian.security.commands import token
from guardian.security.rules.tokens import find_token, parse_tokens

RUNNER = CliRunner()
_FAR_MS = 1 << 42


def run(*arguments: str) -> str:
    result = RUNNER.invoke(token.app, arguments, catch_exceptions=False)
    assert result.exit_code == 0, result.output
    return result.output


def test_a_token_is_shown_once_and_kept_as_a_hash(tmp_path: Path) -> None:
    file = tmp_path / "tokens.toml"
    text = run("create", "ci", "--file", str(file), "--expires", "never").strip()
    assert text not in file.read_text()
    assert find_token(parse_tokens(file.read_text()), text, _FAR_MS).name == "ci"
    assert file.stat().st_mode & 0o777 == 0o600
    assert "ci" in run("list", "--file", str(file))


def test_a_token_goes_into_a_file_of_its_own(tmp_path: Path) -> None:
    file, out = tmp_path / "tokens.toml", tmp_path / "ci.token"
    assert "gdn_" not in run("create", "ci", "--file", str(file), "--out", str(out))
    assert out.stat().st_mode & 0o777 == 0o600
    with pytest.raises(InvalidInput, match="can't be written"):
        run("create", "ci", "--file", str(file), "--out", str(out))
    assert len(parse_tokens(file.read_text())) == 1


def test_what_is_revoked_is_gone(tmp_path: Path) -> None:
    file = tmp_path / "tokens.toml"
    first = run("create", "ci", "--file", str(file)).strip()
    second = run("create", "cd", "--file", str(file)).strip()
    run("revoke", "ci", "--file", str(file), "--yes")
    stored = parse_tokens(file.read_text())
    with pytest.raises(NotSignedIn):
        find_token(stored, first, 0)
    assert find_token(stored, second, 0).name == "cd"
    with pytest.raises(NotFound, match="has the ID or name 'ci'"):
        run("revoke", "ci", "--file", str(file), "--yes")


@pytest.mark.parametrize("name", ["", " ", "healing", "guardian", "a\nb", "x" * 200])
def test_nobody_can_be_called_so(tmp_path: Path, name: str) -> None:
    with pytest.raises(InvalidInput, match="name is"):
        run("create", name, "--file", str(tmp_path / "tokens.toml"))


def test_a_damaged_file_is_not_written_over(tmp_path: Path) -> None:
    file = tmp_path / "tokens.toml"
    file.write_text("[[tokens]\n")
    with pytest.raises(InvalidInput, match="is not valid TOML"):
        run("create", "ci", "--file", str(file))
    assert file.read_text() == "[[tokens]\n"
