"""The contract of the API."""

import json

import pytest

from pairsmith.campaign.store.snapshot import take_snapshot
from pairsmith.campaign.web import contract as contracts
from support.campaigns import ask, client_of

JSON = {"Content-Type": "application/json"}


def test_a_body_with_a_repeated_key_is_refused(api):
    lease = api.post("/api/next", json={}).json()["pair"]["lease"]
    body = f'{{"lease": "{lease}", "choice": "left", "choice": "right"}}'
    response = api.post("/api/answer", content=body, headers=JSON)
    assert response.status_code == 422
    assert "the key 'choice' is there twice; keep one" in response.text
    assert len(take_snapshot(api.store).answers) == 0
    assert api.post("/api/answer", json={"lease": lease, "choice": "left"}).json()["counted"]


@pytest.mark.parametrize("body", ["{", "[" * 5_000, "\xff", ""])
def test_invalid_json_is_refused(api, body):
    assert api.post("/api/answer", content=body, headers=JSON).status_code in (400, 422)


def test_a_comment_may_be_as_long_as_the_contract_says(tmp_path, make):
    with client_of(make(str(tmp_path / "t.db"), comments=True, graded=True)) as api:
        pair = ask(api, "next")["pair"]
        assert ask(api, "renew", holding=[pair["lease"], "another"]) == {"held": [pair["lease"]]}
        body = json.dumps({"lease": pair["lease"], "choice": "left", "strength": "much", "comment": 1000 * "😀"})
        assert len(body) > 12_000  # the gate must let escaped text of this length pass
        sent = api.post("/api/answer", content=body, headers={"Content-Type": "application/json"})
        assert sent.json()["counted"]
        too_long = {"lease": pair["lease"], "choice": "left", "comment": 1001 * "x"}
        assert api.post("/api/answer", json=too_long).status_code == 422
        assert api.post("/api/answer", json={**too_long, "comment": None, "strength": "very"}).status_code == 422


def test_the_contract_has_valid_examples_of_requests_and_responses(api):
    contract = api.get("/api/openapi.json").json()
    models = contract["components"]["schemas"]
    page = api.get("/api").text
    for path, methods in contract["paths"].items():
        for about in methods.values():
            given = about["responses"]["200"]["content"].get("application/json", {}).get("schema", {})
            if path.startswith("/api/") and path != "/api/dashboard":  # it has no model, being as long as the dashboard
                assert models[given["$ref"].split("/")[-1]]["examples"]
    # The examples are valid.
    for name in ("Answer", "PairResponse", "AnswerResponse", "Ranking", "Campaign", "RenewedLeases"):
        (example,) = models[name]["examples"]
        getattr(contracts, name).model_validate(example, strict=True)
    assert "Air scatters blue light most." in page
