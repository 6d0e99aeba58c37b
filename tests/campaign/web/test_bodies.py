"""Bodies of requests."""

import pytest

from pairsmith.campaign.store.snapshot import take_snapshot

JSON = {"Content-Type": "application/json"}


def test_a_repeated_key_is_refused_and_nothing_is_answered(api):
    lease = api.post("/api/next", json={}).json()["pair"]["lease"]
    body = f'{{"lease": "{lease}", "choice": "left", "choice": "right"}}'
    response = api.post("/api/answer", content=body, headers=JSON)
    assert response.status_code == 422
    assert "the key 'choice' is there twice; keep one" in response.text
    assert len(take_snapshot(api.store).answers) == 0
    assert api.post("/api/answer", json={"lease": lease, "choice": "left"}).json()["counted"]


@pytest.mark.parametrize("body", ["{", "[" * 5_000, "\xff", ""])
def test_what_is_no_json_is_refused(api, body):
    assert api.post("/api/answer", content=body, headers=JSON).status_code in (400, 422)
