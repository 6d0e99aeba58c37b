import pytest

from pairsmith.files.answers import read_answers, read_pairs
from pairsmith.files.items import read_items


def test_pairs_go_by_the_names_of_their_columns(write, items):
    won = write("won.csv", "rater,winner,loser\n1,2,3\n1,5,4\n")
    assert read_pairs(won, items).tolist() == [[1, 2], [4, 3]]
    assert read_answers(won, items)[0].tolist() == [[1, 2], [4, 3]]
    both = write("both.csv", "winner,loser,first,second,outcome\n,,3,4,\n4,5,4,5,1\n")
    assert read_pairs(both, items).tolist() == [[2, 3], [3, 4]]  # planned pairs count, answered or not
    assert read_answers(both, items)[0].tolist() == [[3, 4]]
    for name, text in (
        ("swapped.csv", "rater,left,right\n1,2,3\n"),
        ("two.csv", "a,b\n1,2\n"),
        ("one.csv", "first\n1\n"),
    ):
        path = write(name, text)
        found = ", ".join(text.splitlines()[0].split(","))
        with pytest.raises(ValueError, match=f"columns first and second, or winner and loser; found {found}"):
            read_pairs(path, items)
        with pytest.raises(ValueError, match=f"first, second and outcome, or winner and loser; found {found}"):
            read_answers(path, items)


def test_rows_are_counted_as_the_file_has_them(write, items):
    for text, told in (
        ("first,second,outcome\n1,2,\n1,3,\n1,2,maybe\n", "row 3 has the outcome 'maybe'"),
        ("first,second,outcome\n1,2,1\n1,3,\n2,2,1\n", "row 3 pairs the item '2' with itself"),
        ("first,second,outcome\n1,2,\n1,nobody,1\n", "row 2 names the item 'nobody'"),
        ("first,second,outcome\n1,2,\n1,,1\n", "row 2 has nothing in column 'second'"),
        ("first,second,winner\n1,2,\n1,2,3\n", "row 2 names the winner '3'"),
        ("first,second,outcome,count\n1,2,,1\n1,2,1,-1\n", "row 2 has no proper count"),
        ("first,second,outcome,count\n1,2,1,1\n1,2,1,inf\n", "row 2 has no proper count; use 0 or a number from 1e-09"),
        ("first,second,outcome,count\n1,2,1,0\n1,2,1,0\n", "every count is 0, so that there are no answers"),
    ):
        with pytest.raises(ValueError, match=told):
            read_answers(write("answers.csv", text), items)


def test_answers_that_a_campaign_left_out_do_not_count(write, items):
    """Its export of all answers says which."""
    rows = "1,2,1,counts\n1,3,-1,struck\n1,nobody,1,excluded\n2,3,tie,\n2,4,-1,Excluded \n3,4,1,done\n"
    found = read_answers(write("answers.csv", f"first,second,outcome,status\n{rows}"), items)
    assert found.pairs.tolist() == [[0, 1], [1, 2], [2, 3]]
    assert found.outcomes.tolist() == [1, 0, 1]
    assert found.rows.tolist() == [0, 3, 5]


def test_answers_to_several_questions_are_not_mixed(write, items):
    head = "first,second,outcome,rater,why,question\n"
    both = write("both.csv", f"{head}1,2,1,anna,designed,1\n1,2,-1,anna,designed,2\n")
    with pytest.raises(ValueError, match=r"both\.csv holds answers to 2 questions; export those to one with"):
        read_answers(both, items)
    assert len(read_answers(both, items, several_questions=True).pairs) == 2
    assert len(read_answers(write("one.csv", f"{head}1,2,1,anna,designed,2\n"), items).pairs) == 1
    prompts = write("prompts.csv", "first,second,outcome,question\n1,2,1,Why?\n2,3,1,How?\n")
    assert len(read_answers(prompts, items).pairs) == 2


def test_columns_that_contradict_each_other_are_refused(write, items):
    for text, told in (
        ("first,second,outcome,winner,loser\n1,2,1,1,2\n2,1,1,1,2\n", "row 2 has the winner '1', which contradicts"),
        ("first,second,winner,loser\n1,2,1,3\n", "row 1 has the loser '3', which contradicts its first and second"),
        ("first,second,outcome,loser\n1,2,-1,2\n", "row 1 has the loser '2'"),
    ):
        with pytest.raises(ValueError, match=told):
            read_answers(write("answers.csv", text), items)
    agreed = write("answers.csv", "first,second,outcome,winner,loser\n1,2,-1,2,1\n1,2,0,tie,\n")
    assert read_answers(agreed, items)[1].tolist() == [-1, 0]


@pytest.mark.parametrize(
    ("text", "outcomes", "counts"),
    [
        ("first,second,outcome\n1,2,first\n1,2,SECOND\n1,2, tie \n", [1, -1, 0], [1, 1, 1]),
        ("first,second,outcome,count\n1,2,+1,3\n1,2,-1.0,0\n1,2,0,2.5\n", [1, -1, 0], [3, 0, 2.5]),
        ("first,second,winner\n1,2,1\n1,2,2\n1,2,Tie\n", [1, -1, 0], [1, 1, 1]),
        ("winner,loser,count\n1,2,4\n", [1], [4]),
        ("first,second,outcome\n", [], []),
    ],
)
def test_outcomes_in_all_their_words(write, items, text, outcomes, counts):
    pairs, found, weights, *_ = read_answers(write("answers.csv", text), items)
    assert pairs.tolist() == [[0, 1]] * len(outcomes)
    assert (found.tolist(), weights.tolist()) == (outcomes, counts)


def test_spaces_around_ids_do_not_count(write):
    items = read_items(write("items.csv", "id,f\n x,1\ny ,2\nz,3\n"))
    for text in ("x,y,x", " x , y, x ", "x ,y ,x"):
        for head, expected in (("first,second,winner", 1), ("second,first,winner", -1)):
            pairs, outcomes, *_ = read_answers(write("answers.csv", f"{head}\n{text}\n"), items)
            assert (sorted(pairs[0].tolist()), outcomes.tolist()) == ([0, 1], [expected])
        won = write("won.csv", f"winner,loser\n{text.rpartition(',')[0]}\n")
        assert read_pairs(won, items).tolist() == [[0, 1]]
        assert read_answers(won, items)[0].tolist() == [[0, 1]]
    tie = write("tie.csv", "first,second,winner\nx,z, Tie \n")
    assert read_answers(tie, items)[1].tolist() == [0]
    with pytest.raises(ValueError, match="row 1 names the winner 'z ', which is neither"):
        read_answers(write("third.csv", "first,second,winner\nx,y,z \n"), items)


def test_zeros_that_are_probably_losses_are_refused(write, items):
    head = "first,second,outcome"
    for rows in ("1,2,1\n1,3,0\n", "1,2,1.0\n1,3,0.0\n2,3,\n", "1,2,first\n1,3,0\n"):
        with pytest.raises(
            ValueError, match="'outcome' holds 0 and 1 but no -1, and 0 means a tie; write -1 where the"
        ):
            read_answers(write("coded.csv", f"{head}\n{rows}"), items)
    for rows, outcomes in (
        ("1,2,1\n1,3,tie\n", [1, 0]),
        ("1,2,1\n1,3,tie\n2,3,0\n", [1, 0, 0]),
        ("1,2,1\n1,3,0\n2,3,-1\n", [1, 0, -1]),
        ("1,2,0\n1,3,0\n", [0, 0]),
        ("1,2,1\n1,3,1\n", [1, 1]),
    ):
        assert read_answers(write("coded.csv", f"{head}\n{rows}"), items).outcomes.tolist() == outcomes
    exported = write("exported.csv", f"{head},why\n1,2,1,random\n1,3,0,random\n")
    assert read_answers(exported, items).outcomes.tolist() == [1, 0]  # a campaign says what it means


@pytest.mark.parametrize(
    "text",
    [
        "first,second,outcome\n1,2,{0}\n",
        "first,second,outcome\n1,{0},1\n",
        "first,second,winner\n1,2,{0}\n",
        "winner,loser\n{0},{0}\n",
    ],
)
def test_errors_cut_long_cells(write, items, text):
    path = write("answers.csv", text.format("an essay " * 1000))
    with pytest.raises(ValueError, match=r"an essay .*….*") as caught:
        read_answers(path, items)
    assert len(str(caught.value).replace(str(path), "").replace(str(items.path), "")) < 150
