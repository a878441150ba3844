"""Answers of HTTP that a person may read in a terminal: no text from others gets into one raw."""

from __future__ import annotations

from typing import Any

from fastapi.responses import JSONResponse, PlainTextResponse

from guardian.model.text import escaped, json_escaped


class JsonAnswer(JSONResponse):
    """Answers with JSON, in which escapes of JSON's own stand for unsafe characters."""

    def render(self, content: Any) -> bytes:
        return json_escaped(bytes(super().render(content)).decode(errors="surrogatepass")).encode()


class TextAnswer(PlainTextResponse):
    """Answers with lines of text, in which unsafe characters are written out."""

    def render(self, content: Any) -> bytes:
        return escaped(str(content), "\n").encode()
