"""A stand-in for a ClickHouse server: its HTTP protocol, spoken for the embedded engine, as a process of its own.

No package registry has a server that is new enough (Debian's is of 2018), so this shows that what the driver sends and
reads is right: statements, parameters, settings, formats, errors. It shows nothing of a real server's own ways.

    python tests/contract/clickhouse_http.py FOLDER      prints its port, and serves until its standard input ends
"""

from __future__ import annotations

import os
import re
import sys
import threading
from base64 import b64encode
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qsl, urlsplit

import chdb

_INSERT = re.compile(r"\s*(INSERT\s+INTO\s+.*?)\s+FORMAT\s+(\w+)\s*$", re.IGNORECASE | re.DOTALL)
_FORMAT = re.compile(r"\s+FORMAT\s+(\w+)\s*;?\s*$", re.IGNORECASE)
_CODE = re.compile(r"Code: (\d+)")
# What HTTP alone knows, and HTTP's own settings.
_NOT_OF_A_STATEMENT = {
    "database",
    "query",
    "default_format",
    "query_id",
    "client_protocol_version",
    "wait_end_of_query",
}
_OF_HTTP = ("param_", "http_", "send_progress", "enable_http", "cancel_http")
_LOGIN = b"ann:s3cret"


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    engine_url = ""

    def do_GET(self) -> None:
        self._answer(b"")

    def do_POST(self) -> None:
        self._answer(self.rfile.read(int(self.headers.get("Content-Length") or 0)))

    def log_message(self, *_: Any) -> None:
        """Tests are quiet."""

    def _answer(self, body: bytes) -> None:
        asked = dict(parse_qsl(urlsplit(self.path).query, keep_blank_values=True))
        sql, data = (asked["query"].encode(), body) if "query" in asked else (body, b"")
        if sql[:6].upper() == b"INSERT" and not data:
            sql, _, data = sql.partition(b"\n")  # rows follow the statement
        if self.headers.get("Authorization") != f"Basic {b64encode(_LOGIN).decode()}":
            self._fail("Code: 516. DB::Exception: Authentication failed")
            return
        settings = {
            name: value
            for name, value in asked.items()
            if name not in _NOT_OF_A_STATEMENT and not name.startswith(_OF_HTTP)
        }
        parameters = {name[6:]: value for name, value in asked.items() if name.startswith("param_")}
        engine = chdb.connect(self.engine_url)
        try:
            engine.query(f"USE {asked.get('database') or 'default'}")
            self._succeed(
                *_run(engine, sql.decode(), data, settings, parameters, asked.get("default_format", "TabSeparated"))
            )
        except (chdb.ChdbError, RuntimeError) as error:
            self._fail(str(error))
        finally:
            engine.close()

    def _succeed(self, result: bytes, format_: str) -> None:
        self.send_response(200)
        self.send_header("X-ClickHouse-Format", format_)
        self.send_header("X-ClickHouse-Summary", "{}")
        self.send_header("Content-Length", str(len(result)))
        self.end_headers()
        self.wfile.write(result)

    def _fail(self, text: str) -> None:
        code = _CODE.search(text)
        self.send_response(500)
        self.send_header("X-ClickHouse-Exception-Code", code[1] if code else "1000")
        self.send_header("Content-Length", str(len(text.encode())))
        self.end_headers()
        self.wfile.write(text.encode())


def _run(
    engine: Any, sql: str, data: bytes, settings: dict[str, str], parameters: dict[str, str], default_format: str
) -> tuple[bytes, str]:
    suffix = (
        f" SETTINGS {', '.join(f'{name} = {_literal(value)}' for name, value in settings.items())}" if settings else ""
    )
    insert = _INSERT.match(sql)
    if insert:
        with os.fdopen(os.memfd_create("rows"), "wb") as rows:
            rows.write(data)
            rows.flush()
            source = f"file('/proc/self/fd/{rows.fileno()}', {insert[2]})"
            engine.query(f"{insert[1]} SELECT * FROM {source}{suffix}")  # noqa: S608  a test's own statement
        return b"", "TabSeparated"
    found = _FORMAT.search(sql)
    format_ = found[1] if found else default_format
    statement = _FORMAT.sub("", sql)
    if statement.lstrip()[:6].upper() == "SELECT":
        statement += suffix
    return engine.query(statement, format_, params=parameters).bytes(), format_


def _literal(value: str) -> str:
    return value if value.isdecimal() else f"'{value}'"


def main(folder: str) -> None:
    Handler.engine_url = f"{folder}?max_threads=2"
    engine = chdb.connect(Handler.engine_url)  # open as long as the process lives
    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    sys.stdout.write(f"{server.server_port}\n")
    sys.stdout.flush()
    sys.stdin.read()
    engine.close()
    os._exit(0)


if __name__ == "__main__":
    main(sys.argv[1])
