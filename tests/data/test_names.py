from pairsmith.data.names import printable, quoted, shortened


def test_shortened_texts_keep_both_ends():
    assert shortened("as it is", 8) == "as it is"
    assert shortened("as it was", 8) == "as i…was"
    for longest in range(1, 12):
        assert len(shortened("some folder/photo_0001.png", longest)) == longest
    assert shortened("photo_0001.png", 12) != shortened("photo_0002.png", 12)


def test_control_characters_are_escaped():
    assert printable("a\x1b[2J\nb€") == "a\\x1b[2J\\nb€"


def test_quoted_values_are_cut_to_the_maximum_length():
    assert quoted("two\nlines") == "'two\\nlines'"
    assert quoted(2.5) == "2.5"
    assert quoted("x" * 1000) == f"'{'x' * 20}…{'x' * 19}'"
    assert len(quoted(10**100)) == 40
