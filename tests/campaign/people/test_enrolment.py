"""Links by which people enrol themselves."""

import pytest
import sqlalchemy as sa

from pairsmith.campaign.answering import leases
from pairsmith.campaign.people import enrolment, trust
from pairsmith.campaign.people import invites as people
from pairsmith.campaign.store import schema
from pairsmith.campaign.store.answers import add_answers
from pairsmith.campaign.store.database import Refused
from pairsmith.campaign.store.raters import UNNAMED
from support.campaigns import answers_of


def refused(status, *given):
    with pytest.raises(Refused) as found:
        enrolment.enrol(*given)
    assert found.value.status == status


def test_each_place_of_a_link_gives_an_invite(target, make):
    store = make(target)
    link = enrolment.open_places(store, 2)
    anna = enrolment.enrol(store, link, "  Anna  Meier ")
    assert enrolment.places_left(store, link) == 1
    ben = enrolment.enrol(store, link, "Ben")
    assert people.invited(store) == [("Anna Meier", "rater"), ("Ben", "rater")]
    for token in (anna, ben):
        assert leases.next_pair(store, people.person_with_token(store, token, "rater")) is not None
        assert people.person_with_token(store, token, "organiser") is None
    assert enrolment.places_left(store, link) == 0
    refused(410, store, link, "Carla")
    refused(401, store, link[:-1], "Carla")
    refused(401, store, anna, "Carla")  # an invite is no link for many
    assert people.person_with_token(store, link, "rater") is None
    with store.reading() as connection:
        for table in schema.tables.sorted_tables:
            assert link not in str(connection.execute(sa.select(table)).all())


def test_names_of_revoked_raters_stay_taken(target, make):
    store = make(target)
    link = enrolment.open_places(store, 9)
    people.invite(store, "Anna")
    people.invite(store, "Ole", "organiser")
    people.revoke(store, "Anna")
    add_answers(store, answers_of([(0, 1)], rater="Ben"))
    for name in ("Anna", "anna ", "ＡＮＮＡ", "BEN", "ole", "local", "Local", "Аnna", "imported", "Imported", "lоcal"):
        refused(409, store, link, name)
    for name in ("", " ", "\0", "\u202e", "\u3164", 201 * "x"):
        refused(422, store, link, name)
    assert enrolment.places_left(store, link) == 9
    assert enrolment.enrol(store, link, "Zoë")


def test_a_name_that_looks_like_another_is_refused_with_both(target, make):
    store = make(target)
    link = enrolment.open_places(store, 9)
    people.invite(store, "ben")
    with pytest.raises(Refused, match=r"^'bеn' \(spelt 'b\\u0435n'\) looks like 'ben', who is there already; choose"):
        enrolment.enrol(store, link, "bеn")
    for name in ("Benn", "Müller", "Muller", "李", "季"):
        assert enrolment.enrol(store, link, name)


def test_imported_answers_do_not_belong_to_a_rater_of_the_same_name(target, make):
    """Answers imported under somebody's name count as hers for the model only."""
    store = make(target)
    link = enrolment.open_places(store, 2)
    anna = people.person_with_token(store, enrolment.enrol(store, link, "anna"), "rater")
    add_answers(store, answers_of([(0, 1), (0, 2)], rater="anna"))
    add_answers(store, answers_of([(0, 3)], rater=UNNAMED))
    found = leases.progress(store, anna)
    assert (found["answers"], found["yours"], found["undo"]) == (3, 0, None)


def test_closing_links_keeps_the_raters_who_enrolled(target, make):
    store = make(target)
    link, other = enrolment.open_places(store, 5), enrolment.open_places(store, 3)
    anna = enrolment.enrol(store, link, "anna")
    assert enrolment.all_places(store) == 7
    assert enrolment.close(store) == 7
    for token in (link, other):
        assert enrolment.places_left(store, token) is None
        refused(401, store, token, "ben")
    assert people.person_with_token(store, anna, "rater") is not None


def test_a_link_forged_in_the_file_is_void(target, make):
    store = make(target)
    link = enrolment.open_places(store, 2)
    with store.writing() as connection:
        own = connection.execute(sa.select(schema.enrolments.c.seal)).scalar_one()
        for at, seal in enumerate((None, own, "0" * 64)):
            values = {"hash": people.hash_of(f"known{at}"), "places": 2, "seal": seal}
            connection.execute(schema.enrolments.insert().values(values))
    for at in range(3):
        refused(401, store, f"known{at}", "eve")
    with store.writing() as connection:
        connection.execute(schema.enrolments.update().values(places=1000))
    refused(401, store, link, "eve")


@pytest.mark.parametrize("good", [True, False])
def test_links_from_elsewhere_are_valid_once_confirmed(target, make, elsewhere, good):
    store = make(target)
    link = enrolment.open_places(store, 2)
    elsewhere()
    refused(401, store, link, "anna")
    assert (enrolment.all_places(store), enrolment.all_places(store, confirmed=False)) == (0, 2)
    trust.confirm(store, None, with_invites=good)
    if good:
        assert enrolment.enrol(store, link, "anna")
    else:
        refused(401, store, link, "anna")


@pytest.mark.parametrize("places", [0, -1, 10_001])
def test_the_number_of_places_has_bounds(tmp_path, make, places):
    with pytest.raises(ValueError, match="--enrol must be between 1 and 10000"):
        enrolment.open_places(make(str(tmp_path / "t.db")), places)
