"""Generated code is checked in beside its source, and is what the source gives."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]
SOURCES = sorted(path.relative_to(ROOT) for path in (ROOT / "protos/guardian/v1").glob("*.proto"))


def test_the_generated_code_is_what_the_protos_give(tmp_path: Path) -> None:
    out = [f"--{kind}_out={tmp_path}" for kind in ("python", "pyi", "grpc_python")]
    command = [sys.executable, "-m", "grpc_tools.protoc", "-I.", *out, f"--mypy_grpc_out=quiet:{tmp_path}"]
    environment = {**os.environ, "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}"}
    subprocess.run([*command, *map(str, SOURCES)], cwd=ROOT, env=environment, check=True)

    generated = sorted(path.relative_to(tmp_path) for path in tmp_path.rglob("*.py*") if path.is_file())
    assert len(generated) == 4 * len(SOURCES)
    stale = [str(path) for path in generated if (ROOT / path).read_bytes() != (tmp_path / path).read_bytes()]
    assert not stale, f"run `make protos` and commit: {stale}"


def test_every_proto_states_the_evolution_rules() -> None:
    for source in SOURCES:
        assert "Evolution rules" in (ROOT / source).read_text().split("syntax =")[0], source
