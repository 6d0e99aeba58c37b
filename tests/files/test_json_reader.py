import pytest

from pairsmith.files.json_reader import RepeatedKey, parse_json


def test_json_is_parsed():
    assert parse_json('{"a": [1, {"b": null}], "c": 2.5}') == {"a": [1, {"b": None}], "c": 2.5}
    assert parse_json(b'"\xc3\xa9"') == "é"


@pytest.mark.parametrize("text", ['{"a": 1, "a": 1}', '[{"b": {"a": 1, "c": 2, "a": 3}}]', '{"a": 1, "\\u0061": 2}'])
def test_a_repeated_key_is_refused(text):
    with pytest.raises(RepeatedKey, match="the key 'a' is there twice; keep one"):
        parse_json(text)


@pytest.mark.parametrize(
    ("text", "told"),
    [("", "Expecting value"), ("{", "Expecting"), ("[" * 100_000, "nested too deeply"), (b"\xff", "decode")],
)
def test_what_is_no_json_is_a_value_error(text, told):
    with pytest.raises(ValueError, match=told):
        parse_json(text)
