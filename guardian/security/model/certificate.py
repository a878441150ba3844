"""For how long a certificate, its authority or a list of revoked ones counts."""

from __future__ import annotations

from dataclasses import dataclass

_DAY_MS = 86_400_000
SOON_MS = 14 * _DAY_MS
_SHARE = 3


@dataclass(frozen=True, slots=True)
class CertificateLife:
    """`owner` is whose it is, `use` the section of the member's configuration or what else it is for. `what` is one of
    certificate, ca, crl, and `where` a file or an endpoint. Times are ms since the epoch.
    """

    owner: str
    use: str
    what: str
    where: str
    from_ms: int
    until_ms: int

    @property
    def soon_ms(self) -> int:
        """Return from when on it is to be renewed: two weeks before the end, or when a third is left, whichever is
        later. So who renews certificates of some days every day is left in peace.
        """
        return self.until_ms - min(SOON_MS, (self.until_ms - self.from_ms) // _SHARE)
