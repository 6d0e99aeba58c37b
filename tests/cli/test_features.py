"""From raw texts and images to a ranking, on the command line."""

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from PIL import Image

from pairsmith.files.items import read_items
from pairsmith.recipe.embeddings import EMBEDDINGS
from support.commands import refused

LIKED, NOT_LIKED = ["lovely", "superb", "delightful"], ["awful", "boring", "dreadful"]


@pytest.fixture(autouse=True)
def reviews(tmp_path, monkeypatch):
    """The working folder: reviews.csv with texts and pictures and no numbers, new.csv likewise, and answers.csv.

    A review is the better, the more of its words are kind.
    """
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(0)
    kind = rng.integers(0, 7, 50)
    texts = [" ".join(rng.permutation([*rng.choice(LIKED, k), *rng.choice(NOT_LIKED, 6 - k)])) for k in kind]
    for row in range(50):
        Image.fromarray(rng.integers(0, 255, (6, 8), dtype=np.uint8)).save(f"{row}.png")
    table = pd.DataFrame(
        {"id": [f"r{row}" for row in range(50)], "review": texts, "photo": [f"{r}.png" for r in range(50)]}
    )
    table[:40].to_csv("reviews.csv", index=False)
    table[40:].to_csv("new.csv", index=False)
    pairs = np.array([rng.choice(40, 2, replace=False) for _ in range(200)])
    pairs = pairs[kind[pairs[:, 0]] != kind[pairs[:, 1]]]
    outcome = np.sign(kind[pairs[:, 0]] - kind[pairs[:, 1]])
    frame = pd.DataFrame({"first": table.id.to_numpy()[pairs[:, 0]], "second": table.id.to_numpy()[pairs[:, 1]]})
    frame.assign(outcome=outcome).to_csv("answers.csv", index=False)
    return dict(zip(table.id, kind, strict=True))


def test_features_are_written_and_said(run):
    code, out, err = run("features reviews.csv --text review --image photo -o features.csv --save-recipe recipe.json")
    assert (code, err) == (0, "")
    lines = out.splitlines()
    assert lines[0].startswith("review: text, 8 features, ")
    assert lines[0].endswith("% of the variance kept")
    assert lines[1].startswith("photo: image, ")
    assert lines[2].startswith("Wrote features.csv: 40 items, ")
    made = read_items(Path("features.csv")).features
    assert made.shape[1] == int(lines[2].split()[-2])
    run("features new.csv --recipe recipe.json -o more.csv")
    assert list(read_items(Path("more.csv")).features.columns) == list(made.columns)
    code, out, err = run("features reviews.csv --text review")
    assert out.startswith("id,review_characters,review_words,review_1")
    assert err.splitlines()[1] == "photo: not used, it has many different texts; name it as text to use it"


def test_new_texts_are_ranked_by_a_model_of_texts(run, reviews):
    for options in ("", " --linear"):
        code, out, err = run(f"fit reviews.csv answers.csv --text review -o model.json{options}")
        assert code == 0
        assert out.startswith("review: text, 8 features, ")
        code, out, err = run("rank new.csv model.json -o ranking.csv")
        assert code == 0, err
        ranking = pd.read_csv("ranking.csv")
        assert np.corrcoef(ranking.score, [reviews[name] for name in ranking.id])[0, 1] > 0.8
    assert refused(run("rank answers.csv model.json"), "answers.csv: the id")
    Path("other.csv").write_text("id,text\na,b\nc,d\n")
    assert refused(run("rank other.csv model.json"), "other.csv: the table has no column 'review', which the recipe")


def test_select_makes_features_and_takes_those_of_a_model(run):
    code, out, err = run("select reviews.csv -k 5 --text review --image photo")
    assert code == 0
    assert len(out.splitlines()) == 6
    assert err.splitlines()[1].startswith("photo: image")
    run("fit reviews.csv answers.csv --text review -o model.json --linear")
    code, out, _ = run("select new.csv -k 5 --objective entropy --model model.json -o pairs.csv")
    assert code == 0
    assert set(pd.read_csv("pairs.csv")["first"]) <= {f"r{row}" for row in range(40, 50)}
    assert refused(
        run("select new.csv -k 5 --objective entropy --model model.json --text review"),
        "--model model.json has its own features; leave out --text",
    )


def test_a_campaign_is_made_from_texts_alone_and_its_model_ranks_new_ones(run):
    code, out, err = run(
        "campaign create c.db --items reviews.csv --show text:review --show image:photo --question ? -k 5"
    )
    assert (code, err) == (0, "")
    assert out.startswith("No numbers are given: features are made from review: text, 8 features, ")
    assert "; photo: image" in out.splitlines()[0]
    assert "Made c.db: 40 items, 5 pairs planned." in out
    assert run("campaign import c.db answers.csv")[0] == 0
    assert run("fit c.db -o model.json")[0] == 0
    code, out, err = run("rank new.csv model.json")
    assert code == 0
    assert len(out.splitlines()) == 11
    assert run("rank c.db model.json")[0] == 0
    run("fit reviews.csv answers.csv --text review --image photo --dimensions 3 -o other.json --linear")
    for line in ("rank c.db other.json", "select c.db -k 2 --objective entropy --model other.json"):
        assert refused(run(line), "other.json: its features were made differently from the campaign's"), line


def test_a_campaign_whose_texts_are_named_or_that_has_numbers(run):
    table = pd.read_csv("reviews.csv").assign(price=np.arange(40.0))
    table.to_csv("priced.csv", index=False)
    create = "--show text:review --show image:photo --question ? -k 5"
    code, out, _ = run(f"campaign create a.db --items priced.csv {create}")
    assert code == 0
    assert "features" not in out  # there are numbers
    code, out, _ = run(f"campaign create b.db --items priced.csv {create} --text review --dimensions 3")
    assert out.startswith("Features are made from review: text, 5 features, ")
    assert "price: number, 1 feature" in out
    assert "photo" not in out
    told = "--dimensions is of columns that --text or --image names"
    assert refused(run(f"campaign create d.db --items priced.csv {create} --dimensions 3"), told)


def test_embeddings_are_kept_beside_the_output(run, monkeypatch):
    asked = []

    def load(_):
        return lambda texts: [asked.append(text) or [text.count(c) for c in "abdefg"] for text in texts]

    monkeypatch.setitem(EMBEDDINGS, "letters", load)
    line = "features reviews.csv --text review --text-embedding letters -o f.csv --save-recipe r.json"
    code, out, _ = run(line)
    assert code == 0
    assert out.startswith("review: text by letters, 5 features, ")
    assert Path("f.csv.cache").exists()
    count = len(asked)
    run(line)
    assert len(asked) == count
    run("features new.csv --recipe r.json -o g.csv")
    assert len(asked) > count
    assert Path("g.csv.cache").exists()


def test_embeddings_are_for_fit_select_and_campaigns_too(run, monkeypatch):
    asked = []

    def load(_):
        return lambda texts: [asked.append(text) or [text.count(c) for c in "abdefg"] for text in texts]

    monkeypatch.setitem(EMBEDDINGS, "letters", load)
    options = "--text review --text-embedding letters --dimensions 2"
    shown = "--show text:review --text-embedding letters --dimensions 2"
    for line, output in (
        (f"fit reviews.csv answers.csv {options} -o m.json --linear", "m.json"),
        (f"select reviews.csv -k 2 {options} -o p.csv", "p.csv"),
        (f"campaign create c.db --items reviews.csv {shown} --question ? -k 2", "c.db"),
    ):
        asked.clear()
        code, out, err = run(line)
        assert (code, err) == (0, "")
        assert "review: text by letters, 2 features" in out
        assert len(asked) == 40
        Path(output).unlink()
        assert run(line)[0] == 0
        assert len(asked) == 40  # kept beside the output
    told = "is of columns that --text or --image names"
    for line in (
        "fit reviews.csv answers.csv --features x -o m.json",
        "select reviews.csv -k 2",
        "select new.csv -k 2 --objective entropy --model m.json",
        "campaign create d.db --items reviews.csv --question ? --features x",
        "campaign create d.db --items reviews.csv --question ? --no-features",
    ):
        assert refused(run(f"{line} --text-embedding letters"), f"--text-embedding {told}"), line
        assert refused(run(f"{line} --image-embedding onnx:x"), f"--image-embedding {told}"), line
    for line in ("fit c.db -o n.json", "select c.db -k 2"):
        assert refused(run(f"{line} --text-embedding letters"), "is a campaign and brings its own items"), line


def test_odd_texts_are_texts(run):
    """Alphabets side by side, emoji, a million characters, and none at all."""
    table = pd.read_csv("reviews.csv")
    odd = ["Отлично 👍🏽 とても良い ممتاز 👨‍👩‍👧", "wörd 好" * 150_000, "<b>&amp;\u202e"]
    table["review"] = [*odd, *table["review"][3:-1], ""]
    table.to_csv("odd.csv", index=False)
    code, _, err = run("features odd.csv --text review -o f.csv")
    assert code == 0
    assert err == (
        "Warning: row 40 (item 'r39'), column 'review' is empty; features say nothing else of an empty text\n"
    )
    assert np.isfinite(read_items(Path("f.csv")).features.to_numpy()).all()


def test_what_is_refused_in_one_line(run):
    table = pd.read_csv("reviews.csv")
    table.assign(review="").to_csv("empty.csv", index=False)
    table.assign(price=[*range(39), "much"]).to_csv("mixed.csv", index=False)
    table.assign(photo=[*table.photo[:-1], "reviews.csv"]).to_csv("pictures.csv", index=False)
    table.assign(photo=[*table.photo[:-1], "gone.png"]).to_csv("gone.csv", index=False)
    Path("not.json").write_text(json.dumps({"pairsmith model": 2}))
    for line, told in (
        ("features empty.csv --text review", "empty.csv: text column 'review' is empty in all 40 rows"),
        ("features mixed.csv --text review", "row 40 (item 'r39'), column 'price': 'much' stands among numbers"),
        ("features pictures.csv --image photo", "row 40 (item 'r39'), column 'photo': reviews.csv is not an image"),
        ("features gone.csv --image photo", "row 40 (item 'r39'), column 'photo': there is no file gone.png"),
        ("features reviews.csv", "table has no column to make features from"),
        ("features reviews.csv --text photo --recipe r.json", "leave out the other options that say so"),
        ("features reviews.csv --recipe not.json", "not.json is no recipe"),
        ("features reviews.csv --text review -o reviews.csv", "one of the input files"),
        ("features reviews.csv --text review --dimensions 0", "dimensions must be at least 1"),
        ("features reviews.csv --text review --text-embedding magic", "there is no embedding 'magic'"),
        ("features reviews.csv --text review --text-embedding fastembed", "needs fastembed; pip install fastembed"),
        ("fit gone.csv answers.csv --image photo -o m.json", "gone.csv: row 40"),
        ("fit reviews.csv answers.csv --text review --no-features -o m.json", "leaves nothing for --text"),
        ("fit reviews.csv answers.csv --dimensions 3 --features x -o m.json", "--dimensions is of columns"),
        ("select gone.csv --image photo -k 3", "gone.csv: row 40"),
        ("campaign create x.db --items gone.csv --show image:photo --question ?", "gone.csv: row 40"),
        ("campaign create x.db --items mixed.csv --show text:review --show image:photo --question ?",
         "item 'r39' has the value 'much' in column 'price'"),
    ):  # fmt: skip
        assert refused(run(line), told), line


@pytest.fixture
def no_work(monkeypatch):
    """To make features from texts is an error: what is wrong has to be said before."""
    from pairsmith.recipe.text import TextAxes

    def fit(*_):
        raise AssertionError("features were made")

    monkeypatch.setattr(TextAxes, "fit", fit)


@pytest.mark.usefixtures("no_work")
@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("fit reviews.csv wrong.csv --text review -o m.json", "wrong.csv: row 2 names the item 'nobody'"),
        ("fit reviews.csv none.csv --text review -o m.json", "none.csv"),
        ("fit reviews.csv answers.csv --labels l.csv --text review -o m.json", "l.csv: row 1 names the item 'nobody'"),
        ("select reviews.csv -k 5 --text review --answers wrong.csv", "wrong.csv: row 2 names the item 'nobody'"),
        ("select reviews.csv -k 5 --text review --labels l.csv", "l.csv: row 1 names the item 'nobody'"),
        ("select reviews.csv -k 5 --text review --candidates wrong.csv", "wrong.csv: row 2 names the item 'nobody'"),
        ("campaign create c.db --items reviews.csv --show text:review --question ? --labels l.csv", "l.csv: row 1"),
        ("campaign create c.db --items reviews.csv --show text:review --question ? --instructions no.md", "no.md"),
        ("campaign create c.db --items gap.csv --show text:review --question ?",
         "gap.csv: row 3 has nothing to show in column 'review'"),
        ("features long.csv --text review --image photo",
         "long.csv: row 2 (item 'r1'), column 'photo': 'xxxxxxxx"),
    ],
)  # fmt: skip
def test_what_is_wrong_elsewhere_is_said_before_features_are_made(run, line, said):
    Path("wrong.csv").write_text("first,second,outcome\nr0,r1,1\nr2,nobody,1\n")
    Path("l.csv").write_text("id,label\nnobody,1\nr0,0\n")
    table = pd.read_csv("reviews.csv")
    table.assign(review=table.review.where(table.index != 2, " ")).to_csv("gap.csv", index=False)
    table.assign(photo=table.photo.where(table.index != 1, "x" * 5000)).to_csv("long.csv", index=False)
    assert refused(run(line), said)
