"""The commands on who takes part in a campaign."""

import pytest

from pairsmith.campaign.people import invites as people
from pairsmith.campaign.store.store import Store
from support.campaigns import CREATE

pytestmark = pytest.mark.usefixtures("folder")


@pytest.mark.parametrize("name", ["", " ", "two\nlines", "\0", "\udcff", 201 * "x"])
def test_a_name_is_one_line(run, name):
    run(*CREATE)
    code, out, err = run("campaign", "invite", "c.db", name)
    assert (code, out, err.count("\n")) == (2, "", 1)
    assert "is no name" in err
    assert run("campaign", "invite", "c.db", "anna", name)[:2] == (2, "")  # nobody has a link, when one name is none
    assert run("campaign", "people", "c.db")[1].startswith("Nobody is invited yet")


@pytest.mark.parametrize("url", ["label.example.org", "https://", "ftp://label.example.org", "https://a b"])
def test_an_invite_needs_the_address_of_a_server(run, url):
    run(*CREATE)
    code, out, err = run("campaign", "invite", "c.db", "anna", "--url", url)
    assert (code, out) == (2, "")
    assert "is not of the form https://label.example.org" in err


def test_people_are_listed_or_said_to_be_none(run):
    run(*CREATE)
    assert run("campaign", "people", "c.db")[:2] == (0, "Nobody is invited yet: pairsmith campaign invite c.db NAME\n")
    run("campaign", "invite", "c.db", "anna", "ben")
    run("campaign", "invite", "c.db", "ole", "--dashboard")
    assert run("campaign", "people", "c.db")[1] == "rater  anna\nrater  ben\norganiser  ole\n"


def test_a_link_is_good_until_it_is_revoked(run):
    run(*CREATE)
    code, out, err = run("campaign", "invite", "c.db", "anna", "ben", "--url", "https://label.example.org/")
    assert (code, err) == (0, "")
    links = dict(line.split(": ") for line in out.splitlines())
    assert list(links) == ["anna", "ben"]
    tokens = {name: link.removeprefix("https://label.example.org/join/") for name, link in links.items()}
    assert run("campaign", "revoke", "c.db", "anna")[:2] == (0, "anna: revoked.\n")
    with Store("c.db") as store:
        assert people.person_with_token(store, tokens["anna"], "rater") is None
        assert people.person_with_token(store, tokens["ben"], "rater") is not None
        assert people.person_with_token(store, tokens["ben"], "organiser") is None
    code, _, err = run("campaign", "revoke", "c.db", "carla")
    assert (code, err) == (2, "Error: 'carla' has no invite; invited: ben\n")


def test_all_are_invited_or_revoked_or_nobody(run):
    run(*CREATE)
    code, out, err = run("campaign", "invite", "c.db", " anna ", "ben", "--url", "https://label.example.org")
    assert (code, err) == (0, "")
    assert [line.split(": ")[0] for line in out.splitlines()] == ["anna", "ben"]
    for second in ("anna", "carla", "anna "):
        code, out, err = run("campaign", "invite", "c.db", "carla", second)
        assert (code, out, err.count("\n")) == (2, "", 1)
    code, out, _ = run("campaign", "revoke", "c.db", "ben", "nobody")
    assert (code, out) == (2, "")
    assert "rater  ben\n" in run("campaign", "people", "c.db")[1]
    code, out, err = run("campaign", "exclude", "c.db", "ben", "nobody")
    assert (code, out) == (2, "")
    assert "there is no rater 'nobody'; there are: anna, ben" in err
    assert "excluded" not in run("campaign", "raters", "c.db")[1]
    assert "there is no rater '\\udcff'" in run("campaign", "include", "c.db", "\udcff")[2]


def test_links_to_this_machine_come_with_a_warning(run):
    run(*CREATE)
    code, out, err = run("campaign", "invite", "c.db", "anna", "ben")
    assert code == 0
    assert out.startswith("anna: http://127.0.0.1:8000/join/")
    assert err == (
        "Warning: only this machine can open these links. For others, repeat the command with --again and with the"
        " address of the server: --url https://label.example.org\n"
    )
    assert "Warning: only this machine can open this link." in run("campaign", "invite", "c.db", "--enrol", "3")[2]
    assert run("campaign", "invite", "c.db", "carla", "--url", "http://127.0.0.1:8000")[2] == ""  # asked for


def test_links_that_were_made_with_the_wrong_address_are_made_again(run):
    run(*CREATE)
    names = ["anna", "ben", "carla", "dora", "emil"]
    run("campaign", "invite", "c.db", *names[:3])
    right = ["campaign", "invite", "c.db", *names, "--url", "https://label.example.org"]
    code, out, err = run(*right)
    assert (code, out) == (2, "")
    assert err == (
        "Error: 'anna', 'ben', 'carla' have invites already; repeat the command with --again to replace the old links\n"
    )
    code, out, err = run(*right, "--again")
    assert (code, err) == (0, "")
    links = dict(line.split(": ") for line in out.splitlines())
    assert list(links) == names
    with Store("c.db") as store:
        for link in links.values():
            token = link.removeprefix("https://label.example.org/join/")
            assert people.person_with_token(store, token, "rater") is not None
    assert "--again is for people by name" in run("campaign", "invite", "c.db", "--enrol", "3", "--again")[2]


def test_names_that_look_alike_are_refused_with_both(run):
    run(*CREATE)
    run("campaign", "invite", "c.db", "ben")
    for name, shown in (("Ben", "'Ben'"), ("bеn", r"'bеn' (spelt 'b\u0435n')"), ("b\u200ben", None)):
        code, out, err = run("campaign", "invite", "c.db", "anna", name, "--url", "https://label.example.org")
        assert (code, out, err.count("\n")) == (2, "", 1)
        assert (f"{shown} looks like 'ben', who is there already" if shown else "is no name") in err
    assert run("campaign", "people", "c.db")[1] == "rater  ben\n"


def test_a_folder_that_is_not_there_is_not_confirmed(run):
    run(*CREATE)
    assert run("campaign", "trust", "c.db", "--media", "none") == (
        2,
        "",
        "Error: --media none: there is no such folder\n",
    )
