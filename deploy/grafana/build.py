"""Writes dashboards/*.json, which are checked in: `python -m deploy.grafana.build`. A test compares them."""

from __future__ import annotations

import json
from pathlib import Path

from deploy.grafana.board import Board
from deploy.grafana.boards import BOARDS

DASHBOARDS = Path(__file__).parent / "dashboards"


def text_of(board: Board) -> str:
    return json.dumps(board.to_json(), indent=2, ensure_ascii=False) + "\n"


def main() -> None:
    DASHBOARDS.mkdir(exist_ok=True)
    for name, board in BOARDS.items():
        (DASHBOARDS / f"{name}.json").write_text(text_of(board))


if __name__ == "__main__":
    main()
