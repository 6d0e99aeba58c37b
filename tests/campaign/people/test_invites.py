"""Invites."""

import numpy as np
import pytest
import sqlalchemy as sa

from pairsmith.campaign.answering import leases
from pairsmith.campaign.people import invites as people
from pairsmith.campaign.planning import pace
from pairsmith.campaign.store import schema
from pairsmith.campaign.store.answers import add_answers
from pairsmith.campaign.store.database import CampaignError, Refused
from support.campaigns import Clock, answers_of, invite_people


def test_tokens_are_hashed_revocable_and_of_one_role(target, make):
    store = make(target)
    token = people.invite(store, "anna")
    assert people.person_with_token(store, token, "rater") is not None
    assert people.person_with_token(store, token, "organiser") is None
    assert people.person_with_token(store, token[:-1], "rater") is None
    with pytest.raises(CampaignError, match="has an invite already"):
        people.invite(store, "anna")
    with store.reading() as connection:
        for table in schema.tables.sorted_tables:
            assert token not in str(connection.execute(sa.select(table)).all())
    held = leases.next_pair(store, people.person_with_token(store, token, "rater"))
    assert people.revoke(store, "anna") == 1
    assert people.person_with_token(store, token, "rater") is None
    (ben,) = invite_people(store, 1)
    assert {leases.next_pair(store, ben).left} <= {held.left, held.right}  # her pair is free at once
    assert people.person_with_token(store, people.invite(store, "anna"), "rater") is not None


def test_an_invite_forged_in_the_file_is_void(tmp_path, make, run):
    store = make(str(tmp_path / "t.db"))
    anna = people.invite(store, "anna")
    known = "x" * 43
    with store.writing() as connection:
        own = connection.execute(sa.select(schema.people.c.seal).where(schema.people.c.name == "anna")).scalar_one()
        for name, seal in (("eve", None), ("mallory", own), ("trudy", "0" * 64)):
            values = {"name": name, "role": "rater", "hash": people.hash_of(known + name), "seal": seal}
            connection.execute(schema.people.insert().values(**values))
        connection.execute(schema.people.update().where(schema.people.c.name == "anna").values(role="organiser"))
    assert people.person_with_token(store, anna, "organiser") is None
    for name in ("eve", "mallory", "trudy"):
        assert people.person_with_token(store, known + name, "rater") is None
    assert people.revoke(store, "eve") == 1


def test_a_revoked_lease_is_not_taken_for_an_imported_answer(target, make):
    """Answered after all, by whoever was invited again, it counts for the pace as any other."""
    clock = Clock()
    store = make(target, n=3, k=2, clock=clock)
    anna = people.person_with_token(store, people.invite(store, "anna"), "rater")
    held = [leases.next_pair(store, anna)]
    held.append(leases.next_pair(store, anna, [held[0].token]))
    people.revoke(store, "anna")
    assert pace.count_pairs(store)[:2] == (2, 2)
    again = people.person_with_token(store, people.invite(store, "anna"), "rater")
    assert again == anna
    for lease in held:
        clock.now += 2
        assert leases.answer(store, again, lease.token, "left")
    assert pace.answers_per_second(store) == pytest.approx(np.log(2) / 2)


def test_new_links_replace_the_old_ones_and_keep_the_person(target, make):
    store = make(target)
    old = people.invite_all(store, ["anna", "ben"], quota=5)
    anna = people.person_with_token(store, old[0], "rater")
    held = leases.next_pair(store, anna)
    with pytest.raises(CampaignError, match="have invites already; repeat the command with --again"):
        people.invite_all(store, ["carla", "anna", "ben"])
    assert people.invited(store) == [("anna", "rater"), ("ben", "rater")]
    new = people.invite_all(store, ["carla", "anna"], again=True)
    assert people.person_with_token(store, new[1], "rater") == anna
    assert people.person_with_token(store, old[0], "rater") is None
    assert people.person_with_token(store, old[1], "rater") is not None
    assert leases.progress(store, anna)["quota"] == 5
    assert leases.answer(store, anna, held.token, "left")
    with pytest.raises(CampaignError, match="'dora' is named twice"):
        people.invite_all(store, ["dora", "dora"], again=True)


def test_names_that_are_reserved_or_look_like_another_are_refused(target, make):
    store = make(target)
    people.local_rater(store)
    add_answers(store, answers_of([(0, 1)], rater="Nina"))
    people.invite(store, "anna")
    for name, role, message in (
        ("local", "rater", "'local' is reserved for the rater at this machine; choose another name"),
        ("local", "organiser", "'local' is reserved"),
        ("Imported", "rater", "'Imported' is reserved for answers that are imported without a name"),
        ("Anna", "rater", "'Anna' looks like 'anna', who is there already; choose another name"),
        ("Anna", "organiser", "'Anna' looks like 'anna'"),
        ("nina", "rater", "'nina' looks like 'Nina'"),
    ):
        with pytest.raises(Refused, match=f"^{message}"):
            people.invite(store, name, role)
    with pytest.raises(Refused, match="'Dora' looks like 'dora'"):
        people.invite_all(store, ["dora", "Dora"])
    assert people.invited(store) == [("anna", "rater")]
    assert people.invite(store, "anna", "organiser")  # the same person in another role
    assert people.invite(store, "Nina")  # the organiser says that the imported answers are hers


@pytest.mark.parametrize(
    ("given", "name"), [(" anna ", "anna"), ("anna  meier", "anna meier"), ("anna\u00a0meier\t", "anna meier")]
)
def test_names_have_single_spaces(given, name):
    assert people.check_name(given) == name
