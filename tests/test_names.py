from pairsmith.data.names import printable, quoted, shortened


def test_long_names_keep_both_their_ends():
    assert shortened("as it is", 8) == "as it is"
    assert shortened("as it was", 8) == "as i…was"
    for longest in range(1, 12):
        assert len(shortened("some folder/photo_0001.png", longest)) == longest
    assert shortened("photo_0001.png", 12) != shortened("photo_0002.png", 12)


def test_what_commands_a_terminal_is_escaped():
    assert printable("a\x1b[2J\nb€") == "a\\x1b[2J\\nb€"


def test_values_are_quoted_and_cut():
    assert quoted("two\nlines") == "'two\\nlines'"
    assert quoted(2.5) == "2.5"
    assert quoted("x" * 1000) == f"'{'x' * 20}…{'x' * 19}'"
    assert len(quoted(10**100)) == 40
