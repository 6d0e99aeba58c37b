"""Who asks: the cookie or the header of an invite, or whoever sits at this machine."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from functools import cached_property

from fastapi import HTTPException, Request
from fastapi.responses import RedirectResponse, Response

from pairsmith.campaign.people import invites as people
from pairsmith.campaign.store.store import Store

MONTH = 30 * 24 * 3600  # seconds that a browser keeps an invite


@dataclass(frozen=True)
class Access:
    """Who may ask a campaign for what. Handlers call it: as a dependency it would wait for a thread of its own."""

    store: Store
    local: bool  # on this machine only, where nobody needs an invite
    insecure: bool  # elsewhere: cookies may travel without TLS

    def cookie(self, role: str) -> str:
        """Return the name of the cookie that keeps an invite in this role to this campaign.

        Browsers send a cookie to all ports of a host, so campaigns on one host need cookies of different names. The id
        of a campaign from elsewhere may hold anything, which its hash does not.
        """
        return f"pairsmith-{role}-{hashlib.sha256(str(self.store.settings.id).encode()).hexdigest()[:16]}"

    def person(self, request: Request, role: str) -> int:
        """The person who asks, or 401."""
        scheme, _, bearer = request.headers.get("authorization", "").partition(" ")
        token = bearer if scheme.lower() == "bearer" else request.cookies.get(self.cookie(role), "")
        if token:
            person = people.person_of(self.store, token, role)
            if person is not None:
                return person
            if bearer:
                raise HTTPException(401, "this invite is not good (any more); ask for a new one")
        if self.local:
            return self._local_person
        raise HTTPException(401, "this needs an invite link; ask whoever runs the campaign")

    @cached_property
    def _local_person(self) -> int:
        return people.local_person(self.store)

    def anybody(self, request: Request) -> None:
        """Anybody who has an invite, or 401."""
        try:
            self.person(request, "organiser")
        except HTTPException:
            self.person(request, "rater")

    def enter(self, request: Request, token: str, role: str, to: str) -> Response:
        """From the link of an invite to its page, with a cookie that keeps it."""
        if people.person_of(self.store, token, role) is None:
            raise HTTPException(401, "this invite is not good (any more); ask for a new one")
        response = RedirectResponse(to, 303)
        self.keep(request, response, token, role)
        return response

    def keep(self, request: Request, response: Response, token: str, role: str) -> None:
        """Give the browser the cookie of an invite."""
        secure = request.url.scheme == "https" or not (self.local or self.insecure)
        response.set_cookie(self.cookie(role), token, max_age=MONTH, httponly=True, samesite="lax", secure=secure)

    def is_known(self, request: Request) -> bool:
        """Whether this browser has an invite as a rater."""
        return people.person_of(self.store, request.cookies.get(self.cookie("rater"), ""), "rater") is not None
