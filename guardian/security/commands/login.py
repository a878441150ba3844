"""`guardian login` and `guardian logout`: a person signs in at the provider of identities, on any device with a browser
(the device flow, RFC 8628). The CLI keeps what proves it.
"""

from __future__ import annotations

import time
from typing import Annotated, Any

import typer

from guardian.cli.credentials import forget_login, get_json, keep_login, kept_of, post_form
from guardian.cli.options import EndpointsOption, chosen
from guardian.cli.printing import echo
from guardian.errors import InvalidInput, NotSignedIn

_MAX_WAIT_S = 900.0
_DEVICE = "urn:ietf:params:oauth:grant-type:device_code"


def login(
    endpoints: EndpointsOption = "",
    http: Annotated[
        str, typer.Option("--http", help="A member's console, such as https://g1:9751: it tells of the provider.")
    ] = "",
    issuer: Annotated[str, typer.Option(help="The provider of identities, instead of --http.")] = "",
    client_id: Annotated[str, typer.Option("--client-id", help="Guardian's name there, with --issuer.")] = "guardian",
) -> None:
    """Sign in at your organisation's provider of identities: open the address shown, in any browser.

    Example: guardian login --http https://g1.example.net:9751
    """
    found = chosen(endpoints)
    console = http or (found.context.http if found.context is not None else "")
    if not issuer:
        if not console:
            raise InvalidInput("--http is not given, nor in the context: give a member's console, or --issuer")
        told = get_json(f"{console.rstrip('/')}/auth/oidc")
        issuer, client_id = str(told.get("issuer", "")), str(told.get("client_id", client_id))
        if not issuer:
            raise InvalidInput(f"{console} has no provider of identities: use a token (GUARDIAN_TOKEN_FILE)")
        scopes = [str(scope) for scope in told.get("scopes", ["openid"])]
    else:
        scopes = ["openid", "email", "profile", "groups"]
    provider = get_json(f"{issuer.rstrip('/')}/.well-known/openid-configuration")
    if "device_authorization_endpoint" not in provider:
        raise InvalidInput(f"{issuer} has no device flow: use a token (GUARDIAN_TOKEN_FILE)")
    # Without offline_access a login is over with its first token, after minutes.
    asked = " ".join(dict.fromkeys((*scopes, "offline_access")))
    status, begun = post_form(provider["device_authorization_endpoint"], {"client_id": client_id, "scope": asked})
    if status != 200:
        raise NotSignedIn(f"{issuer} refused the sign-in: {begun.get('error_description', begun.get('error', status))}")
    echo(f"Open {begun.get('verification_uri_complete') or begun['verification_uri']}", err=True)
    echo(f"and see that it shows the code {begun['user_code']}", err=True)
    answer = _wait(str(provider["token_endpoint"]), client_id, begun)
    keep_login(
        {
            "endpoints": list(found.endpoints),
            "issuer": issuer,
            "client_id": client_id,
            "token_endpoint": provider["token_endpoint"],
            **kept_of(answer),
        }
    )
    echo(f"signed in, for {', '.join(found.endpoints)}")


def logout(endpoints: EndpointsOption = "") -> None:
    """Forget what `guardian login` got for these members.

    Example: guardian logout
    """
    found = chosen(endpoints)
    echo("signed out" if forget_login(found.endpoints) else f"nobody was signed in for {', '.join(found.endpoints)}")


def _wait(token_endpoint: str, client_id: str, begun: dict[str, Any]) -> dict[str, Any]:
    """Asks the provider again and again whether the person has agreed, as often as it lets us."""
    pause_s = float(begun.get("interval", 5))
    until_s = time.monotonic() + min(float(begun.get("expires_in", _MAX_WAIT_S)), _MAX_WAIT_S)
    form = {"grant_type": _DEVICE, "device_code": str(begun["device_code"]), "client_id": client_id}
    while time.monotonic() < until_s:
        time.sleep(pause_s)
        status, told = post_form(token_endpoint, form)
        if status == 200 and told.get("id_token"):
            return told
        match told.get("error"):
            case "authorization_pending":
                continue
            case "slow_down":
                pause_s += 5
            case error:
                raise NotSignedIn(f"the provider of identities refused: {error or status}")
    raise NotSignedIn("nobody agreed in time: run guardian login again")
