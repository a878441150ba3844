"""A token endpoint of OAuth 2.0 (RFC 6749, section 4.4) over HTTPS: it signs JWTs, and counts what it is asked."""

from __future__ import annotations

import base64
import json
import ssl
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from urllib.parse import parse_qs, unquote_plus

from joserfc import jwt
from joserfc.jwk import RSAKey

ISSUER = "https://issuer.example.test"
AUDIENCE = "kafka"
SCOPE = "kafka admin"


class TokenEndpoint:
    """`life_s` is that of the next tokens, in seconds; `asked` counts requests that got one."""

    def __init__(self, client_id: str, client_secret: str, certificate: Path) -> None:
        self.life_s = 3600
        self.audience = AUDIENCE
        self.asked = 0
        self.is_broken = False
        self.login = (client_id, client_secret)
        self.key = RSAKey.generate_key(2048, {"kid": "one", "use": "sig", "alg": "RS256"})
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(certificate)
        self.server = ThreadingHTTPServer(("127.0.0.1", 0), self._handler())
        self.server.socket = context.wrap_socket(self.server.socket, server_side=True)

    @property
    def url(self) -> str:
        return f"https://127.0.0.1:{self.server.server_address[1]}/token"

    def jwks(self) -> str:
        """Return the public key, as a broker reads it."""
        return json.dumps({"keys": [self.key.as_dict(private=False)]})

    def token(self) -> str:
        """Return a new token."""
        now = int(time.time())
        claims = {
            "iss": ISSUER,
            "aud": self.audience,
            "sub": "guardian",
            "scope": SCOPE,
            "iat": now,
            "exp": now + self.life_s,
        }
        return jwt.encode({"alg": "RS256", "kid": "one"}, claims, self.key)

    @contextmanager
    def running(self) -> Iterator[TokenEndpoint]:
        thread = threading.Thread(target=self.server.serve_forever, daemon=True)
        thread.start()
        try:
            yield self
        finally:
            self.server.shutdown()
            self.server.server_close()
            thread.join()

    def answer(self, authorization: str, form: dict[str, list[str]]) -> tuple[int, dict[str, object]]:
        """Return the status and the answer to a request."""
        if self.is_broken:
            return 503, {}
        scheme, _, both = authorization.partition(" ")
        name, _, secret = base64.b64decode(both).decode().partition(":") if scheme == "Basic" else ("", "", "")
        if (unquote_plus(name), unquote_plus(secret)) != self.login:
            return 401, {"error": "invalid_client"}
        if form.get("grant_type") != ["client_credentials"]:
            return 400, {"error": "unsupported_grant_type"}
        if form.get("scope", [SCOPE]) != [SCOPE]:
            return 400, {"error": "invalid_scope"}
        self.asked += 1
        return 200, {"access_token": self.token(), "token_type": "Bearer", "expires_in": self.life_s}

    def _handler(self) -> type[BaseHTTPRequestHandler]:
        endpoint = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers["Content-Length"])).decode()
                status, answer = endpoint.answer(self.headers.get("Authorization", ""), parse_qs(body))
                text = json.dumps(answer).encode()
                self.send_response(status)
                self.send_header("Content-Type", "application/json")
                self.send_header("Content-Length", str(len(text)))
                self.end_headers()
                self.wfile.write(text)

            def log_message(self, *_: object) -> None:
                """Say nothing."""

        return Handler
