"""Who may use a campaign: the holder of an invite, in a cookie or a header, or anybody at this machine."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from functools import cached_property

from fastapi import HTTPException, Request
from fastapi.responses import RedirectResponse, Response

from pairsmith.campaign.people import invites as people
from pairsmith.campaign.store.store import Store

COOKIE_SECONDS = 30 * 24 * 3600
NOT_VALID = "this invite is not valid, or no longer valid; ask for a new one"


@dataclass(frozen=True)
class Access:
    """Checks of who may do what in a campaign.

    Handlers call these methods. As a dependency of FastAPI, each check would wait for a thread of its own.
    """

    store: Store
    local: bool  # the campaign is served to this machine only, and nobody needs an invite
    insecure: bool  # the campaign is served to others, and cookies may travel without TLS

    def cookie_name(self, role: str) -> str:
        """Return the name of the cookie that keeps an invite in this role to this campaign.

        Browsers send a cookie to all ports of a host, so campaigns on one host need different names. The name holds a
        hash of the campaign's id, because the id of a campaign made elsewhere may hold any characters.
        """
        return f"pairsmith-{role}-{hashlib.sha256(str(self.store.settings.id).encode()).hexdigest()[:16]}"

    def require_person(self, request: Request, role: str) -> int:
        """Return the person who makes this request in this role, or refuse with 401."""
        scheme, _, bearer = request.headers.get("authorization", "").partition(" ")
        token = bearer if scheme.lower() == "bearer" else request.cookies.get(self.cookie_name(role), "")
        if token:
            person = people.person_with_token(self.store, token, role)
            if person is not None:
                return person
            if bearer:
                raise HTTPException(401, NOT_VALID)
        if self.local:
            return self._local_person
        raise HTTPException(401, "this needs an invite link; ask the organiser of the campaign for one")

    @cached_property
    def _local_person(self) -> int:
        return people.local_rater(self.store)

    def require_any_invite(self, request: Request) -> None:
        """Accept an invite in any role, or refuse with 401."""
        try:
            self.require_person(request, "organiser")
        except HTTPException:
            self.require_person(request, "rater")

    def enter_by_link(self, request: Request, token: str, role: str, address: str) -> Response:
        """Lead from the link of an invite to its page, with a cookie that keeps the invite."""
        if people.person_with_token(self.store, token, role) is None:
            raise HTTPException(401, NOT_VALID)
        response = RedirectResponse(address, 303)
        self.set_cookie(request, response, token, role)
        return response

    def set_cookie(self, request: Request, response: Response, token: str, role: str) -> None:
        """Give the browser a cookie that keeps this invite."""
        secure = request.url.scheme == "https" or not (self.local or self.insecure)
        response.set_cookie(
            self.cookie_name(role), token, max_age=COOKIE_SECONDS, httponly=True, samesite="lax", secure=secure
        )

    def has_rater_invite(self, request: Request) -> bool:
        """Return whether this browser keeps a rater's invite."""
        return (
            people.person_with_token(self.store, request.cookies.get(self.cookie_name("rater"), ""), "rater")
            is not None
        )
