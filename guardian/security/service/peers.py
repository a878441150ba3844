"""Who is at the other end of a gRPC call, by the certificate that was shown, and whether it still counts.

TLS has verified the authority and the date when the connection began. Connections live for hours, so both what was
taken back and what has run out since is refused here, with each call, and ends a stream that is open.
"""

from __future__ import annotations

import inspect
from collections.abc import AsyncIterator, Callable, Mapping
from functools import partial
from typing import Any, TypeAlias

import grpc
import grpc.aio
import structlog

from guardian.errors import InvalidInput, NotSignedIn
from guardian.security.certificates.facts import CertificateFacts, facts_of
from guardian.security.service.open_streams import LOOK_AGAIN_S, replies_while
from guardian.security.service.tls import PemFiles
from guardian.serving.errors import MethodInterceptor

_log = structlog.get_logger(__name__)

_Handler: TypeAlias = "grpc.RpcMethodHandler[Any, Any]"
AuthContext = Mapping[str, Any]  # of lists of bytes, whatever the stubs of gRPC say


def certificate_of(auth_context: AuthContext) -> CertificateFacts | None:
    """Return what the peer of a call (`context.auth_context()`) has shown; None without TLS."""
    shown = auth_context.get("x509_pem_cert")
    if not shown:
        return None
    try:
        return facts_of(shown[0])
    except InvalidInput:
        return None  # TLS has accepted what we can't read: nobody is known by it


class CertificateInterceptor(MethodInterceptor):
    """Refuses calls of peers whose certificate counts no longer, with NotSignedIn, which another interceptor before
    this one answers. Logs and counts them, and tells `record` the method, the sentence and the address.
    """

    def __init__(
        self,
        files: PemFiles,
        now_ms: Callable[[], int],
        record: Callable[[str, str, str], None] = lambda *_: None,
        look_again_s: float = LOOK_AGAIN_S,
    ) -> None:
        self._look_again_s = look_again_s
        self._files = files
        self._now_ms = now_ms
        self._record = record

    def wrap(self, call: grpc.HandlerCallDetails, _kind: str, method: Callable[..., Any]) -> Callable[..., Any]:
        return checking(method, partial(self.check, call.method), self._look_again_s)

    def check(self, method: str, context: Any) -> None:
        """Raises NotSignedIn."""
        peer = context.peer() or ""
        self._files.counters.serve(peer)
        facts = certificate_of(context.auth_context())
        reason, sentence = self._refusal(facts)
        if not reason:
            return
        self._files.counters.refuse(reason)
        _log.warning(
            "call refused",
            reason=reason,
            peer=peer,
            certificate=facts.names if facts else (),
            serial=f"{facts.serial:x}" if facts else "",
        )
        self._record(method, sentence, peer)
        raise NotSignedIn(sentence)

    def _refusal(self, facts: CertificateFacts | None) -> tuple[str, str]:
        """The reason, as it is counted, and the sentence; empty: it counts."""
        revoked = self._files.current().revoked
        if facts is None:
            return "no_certificate", "no certificate was shown that can be read: give --ca, --certificate and --key"
        whose = f"the certificate of {', '.join(facts.names) or facts.common_name or 'nobody'}"
        if facts.serial in revoked.serials:
            return "revoked", f"{whose} was taken back by its authority: ask for a new one"
        if facts.not_after_ms <= self._now_ms():
            return "expired", f"{whose} has expired: renew it"
        if revoked.next_update_ms is not None and revoked.next_update_ms <= self._now_ms():
            crl = self._files.files.crl
            return (
                "crl_out_of_date",
                f"the member's list of revoked certificates, {crl}, is out of date: put a newer one there",
            )
        return "", ""


def checking(
    method: Callable[..., Any], check: Callable[[Any], None], every_s: float = LOOK_AGAIN_S
) -> Callable[..., Any]:
    """Return the same kind of function; `check` looks at the call's context first, and at a stream's repeatedly."""
    if inspect.isasyncgenfunction(method):

        async def stream(request: Any, context: Any) -> AsyncIterator[Any]:
            check(context)
            async for reply in replies_while(method(request, context), partial(check, context), every_s):
                yield reply

        return stream
    if inspect.iscoroutinefunction(method):

        async def coroutine(request: Any, context: Any) -> Any:
            check(context)
            return await method(request, context)

        return coroutine

    def call(request: Any, context: Any) -> Any:
        check(context)
        return method(request, context)

    return call
