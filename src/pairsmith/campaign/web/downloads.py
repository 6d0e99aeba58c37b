"""What organisers take away: the ranking and the answers as CSV."""

from __future__ import annotations

import io
import tempfile
from pathlib import Path

from fastapi import APIRouter, Request
from fastapi.responses import Response

from pairsmith.campaign.exchange.files import export_answers
from pairsmith.campaign.reporting.ranking import Rankings
from pairsmith.campaign.store.store import Store
from pairsmith.campaign.web.access import Access
from pairsmith.campaign.web.api import Question, which
from pairsmith.files.write_table import write_csv


def downloads(store: Store, access: Access) -> APIRouter:
    """Files for organisers."""
    router = APIRouter(prefix="/download", include_in_schema=False)

    @router.get("/ranking.csv")
    def ranking(request: Request, question: Question = 1) -> Response:
        """The ranking of the last report, of all items."""
        access.person(request, "organiser")
        text = io.StringIO()
        write_csv(Rankings(store).table(which(store, question)), text)
        return _csv(text.getvalue().encode(), "ranking.csv" if question == 1 else f"ranking-{question}.csv")

    @router.get("/answers.csv")
    def answers(request: Request) -> Response:
        """The answers that stand, as `pairsmith campaign export` writes them."""
        access.person(request, "organiser")
        with tempfile.TemporaryDirectory(prefix="pairsmith-") as folder:
            path = Path(folder) / "answers.csv"
            export_answers(store, "csv", path)
            return _csv(path.read_bytes(), path.name)

    return router


def _csv(content: bytes, name: str) -> Response:
    headers = {"Content-Disposition": f'attachment; filename="{name}"'}
    return Response(content, media_type="text/csv; charset=utf-8", headers=headers)
