"""What README and docs show is run as it is written."""

import re
import shlex
from contextlib import nullcontext
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from PIL import Image

from pairsmith.campaign.people import invites as people
from pairsmith.campaign.planning import worker
from pairsmith.campaign.store.store import Store
from pairsmith.campaign.web import server
from support.campaigns import answer_next

ROOT = Path(__file__).parents[1]
RESULTS = sorted((ROOT / "experiments" / "results").glob("*.md"))
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md")), ROOT / "CONTRIBUTING.md", *RESULTS]


def blocks(page, kind):
    return re.findall(rf"^```{kind}\n(.*?)^```", (ROOT / page).read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL)


def commands(page):
    """The words of each command of pairsmith in blocks of sh, in their order; scripts are none."""
    shown = [block.replace("\\\n", " ") for block in blocks(page, "sh") if not block.startswith("#!")]
    lines = [shlex.split(line, comments=True) for block in shown for line in block.splitlines()]
    return [words[1:] for words in lines if words[:1] == ["pairsmith"]]


def files(page):
    """The tables that a page shows, by the names that it gives them."""
    text = (ROOT / page).read_text(encoding="utf-8")
    return re.findall(r"`([\w-]+\.csv)`:\n\n```(?:csv)?\n(.*?)^```", text, re.MULTILINE | re.DOTALL)


@pytest.fixture
def obey(run, tmp_path, monkeypatch):
    """obey(words): run this command, in a folder of its own. What serves stops as soon as it would begin to."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(server, "serve", lambda *_: None)
    monkeypatch.setattr(worker, "Worker", lambda _: nullcontext())

    def do(words):
        code, out, err = run(*words, *(["--no-open", "--port", "0"] if words[0] == "serve" else []))
        assert code == 0, f"{' '.join(words)}: {err}"
        return out

    return do


@pytest.mark.slow
def test_the_first_minutes_in_python(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    names = {"__name__": "shown"}  # what is for __main__ alone starts a cluster
    (example,) = blocks("README.md", "python")
    exec(compile(example, "README.md", "exec"), names)
    assert "expects 16% of the pairs in the wrong order; in fact 10% are" in (ROOT / "README.md").read_text("utf-8")
    assert f"{names['model'].doubt_:.0%}" == "16%"
    ranked = names["quality"][names["model"].rank(names["X"]).index.to_numpy()]
    wrong = np.less.outer(ranked, ranked)[np.triu_indices(300, 1)]  # the first is the worse
    assert f"{wrong.mean():.0%}" == "10%"


@pytest.mark.parametrize(
    ("name", "count"),
    [("python", 1), ("features", 2)],  # the plots of python.md take half a minute; test_plot.py draws them
)
def test_python_on_other_pages(name, count, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    names = {}
    for block in blocks(f"docs/{name}.md", "python")[:count]:
        exec(compile(block, name, "exec"), names)


@pytest.fixture
def tables(tmp_path):
    """The tables that README and docs/command_line.md name: 90 items in three prompts, labels, answers and texts."""
    rng = np.random.default_rng(0)
    names = [f"r{row:02d}" for row in range(90)]
    X = pd.DataFrame(rng.standard_normal((90, 2)).round(3), columns=["f_1", "f_2"])
    X.assign(id=names, prompt=["p", "q", "r"] * 30).to_csv(tmp_path / "items.csv", index=False)
    pd.DataFrame({"id": names[:6], "label": [0, 1] * 3}).to_csv(tmp_path / "labels.csv", index=False)
    pairs = [[names[at] for at in rng.choice(30, 2, replace=False) * 3] for _ in range(40)]  # of one prompt
    answers = pd.DataFrame(pairs, columns=["first", "second"]).assign(outcome=1)
    answers.to_csv(tmp_path / "answers.csv", index=False)
    for row in range(90):
        Image.new("L", (20, 20), 2 * row).save(tmp_path / f"{row}.png")
    texts = [f"It has {row} words, {'good' if row % 2 else 'bad'} ones" for row in range(90)]
    reviews = pd.DataFrame({"id": names, "review": texts, "photo": [f"{row}.png" for row in range(90)]})
    reviews.to_csv(tmp_path / "reviews.csv", index=False)
    reviews[:5].assign(id=list("abcde")).to_csv(tmp_path / "new.csv", index=False)
    pd.DataFrame({"id": names, "essay": texts}).to_csv(tmp_path / "essays.csv", index=False)


@pytest.mark.slow
def test_commands_of_the_readme_run(obey, tables):
    for words in commands("README.md"):
        if words[0] == "demo-campaign":  # it has tests of its own
            continue
        obey(words)
        if "create" in words:
            with Store("essays.db") as store:
                for _ in range(10):
                    answer_next(store)
        if words[:2] == ["rank", "essays.db"]:
            assert pd.read_csv("ranking.csv")["id"].nunique() == 90
    assert len(pd.read_csv("pairs.csv")) == 200
    assert Path("ranking.png").exists()


@pytest.mark.slow
def test_commands_of_the_command_line_page_run(obey, tables):
    for words in commands("docs/command_line.md"):
        obey(words)
    assert len(pd.read_csv("pairs.csv")) == 200
    assert len(pd.read_csv("round.csv")) == 20
    assert pd.read_csv("ranking.csv")["id"].nunique() == 5


@pytest.mark.slow
def test_commands_for_organisers_run(obey):
    for name, text in files("docs/campaigns.md"):
        Path(name).write_text(text)
    told = {}
    for words in commands("docs/campaigns.md"):
        told[" ".join(words[:2])] = out = obey(words)
        if "anna" in words and words[1] == "invite":
            with Store("essays.db") as store:
                anna = people.person_with_token(store, re.search("anna: .*/join/(.*)", out).group(1), "rater")
                for _ in range(6):
                    answer_next(store, person=anna)
    assert "anna" in told["campaign raters"]
    assert "2 pairs with a known outcome" in told["campaign gold"]
    assert "6 answers, 0 of them new" in told["campaign import"]
    assert "6 answers. It was read again" in told["campaign backup"]


@pytest.mark.slow
def test_commands_for_language_models_run(obey):
    (name, text), *_ = files("docs/language_models.md")
    Path(name).write_text(text)
    for words in commands("docs/language_models.md"):
        obey(words)
    assert Path(name).read_text() == text


@pytest.mark.parametrize("guide", PAGES, ids=lambda guide: f"{guide.parent.name}/{guide.name}")
def test_links_lead_somewhere(guide):
    text = guide.read_text(encoding="utf-8")
    headings = {path: _anchors(path) for path in PAGES}
    for target in re.findall(r"\]\((?!https?:)([^)\s]+)\)", text):
        path, _, anchor = target.partition("#")
        found = (guide.parent / path).resolve() if path else guide
        assert found.exists(), f"{guide.name} links to {target}"
        assert not anchor or anchor in headings[found], f"{guide.name} links to {target}"


def _anchors(path):
    """What GitHub makes of the headings of a page."""
    headings = re.findall(r"^#+ (.*)$", path.read_text(encoding="utf-8"), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}
