"""Markdown rendered safely."""

import re
import time
from collections import Counter
from html import escape, unescape

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pairsmith.campaign.markdown import render


def test_markdown_is_rendered_safely():
    html = render("**bold** `code`\n\n| a | b |\n|---|---|\n| 1 | 2 |\n\n[x](https://example.org)")
    assert "<strong>bold</strong>" in html
    assert "<table>" in html
    assert 'rel="noopener noreferrer"' in html
    for attack in (
        "<script>alert(1)</script>",
        "<img src=x onerror=alert(1)>",
        "![x](http://evil.example/track.png)",
        "[x](javascript:alert(1))",
        "[x](data:text/html,<script>alert(1)</script>)",
        "<svg/onload=alert(1)>",
        "<a href='https://x' onclick='alert(1)'>x</a>",
        "<style>*{display:none}</style><iframe src=//evil.example>",
    ):
        html = render(attack)
        for bad in ("<script", "<img", "<svg", "<iframe", "<style", 'href="javascript', 'href="data', "<a href='"):
            assert bad not in html, html


def shown_words(html):
    """The words that a reader sees, and the addresses and titles of links."""
    attributes = re.findall(r'(?:href|title|start)="([^"]*)"', html)
    text = unescape(" ".join([re.sub(r"<[^>]*>", "", html), *attributes]))
    return Counter(re.findall(r"[^\W_]+", text))


def nested(opening, closing="", depth=10):
    return opening * depth + "core" + closing * depth


TEXTS = {
    "a list ten deep": "\n".join(f"{'  ' * depth}- word{depth}" for depth in range(10)) + "\n\nafter",
    "a list in one line": nested("- ", depth=10) + "\n\nafter",
    "twenty quotes": nested("> ", depth=20) + "\n\nafter",
    "a thousand quotes": nested(">", depth=1000) + "\n\nafter",
    "a thousand lists": nested("- ", depth=1000) + "\n\nafter",
    "quotes and lists": nested("> - ", depth=40),
    "emphasis": nested("*", "*", 1000),
    "two kinds of emphasis": nested("**a _b ", " c_ d**", 500),
    "struck out": nested("~~a ", " b~~", 300),
    "brackets": nested("[", "]", 1000),
    "links in links": nested("[", "](https://x.example)", 100),
    "HTML": "before\n\n<div class=hidden>\ninside\n</div>\n\n<!-- comment -->\n\nand <b>bold</b> <!-- inline -->",
    "details": "<details><summary>more</summary>\n\n- hidden\n\n</details>",
    "a script": "<script>\nalert(1)\n</script>\n<?php echo ?>\n<!DOCTYPE x>\n<![CDATA[data]]>",
    "a definition": '[note]: https://x.example "title"\n\n[comment]: # (hidden text)\n\nsee [this][note] and [note]',
    "a footnote": "word[^1]\n\n[^1]: the note",
    "pictures": "![alt](https://x.example/a.png) ![](https://x.example/b.png) ![c][d]",
    "links": "[a](b.html) [c](#d) [e](ftp://f/g) [h](javascript:i) <j:k> [](https://x.example) [l](mailto:m@n.example)",
    "a table": "| a | b |\n|---|:-:|\n| 1 | 2 | lost |\n| 3 |",
    "code": "```python the info\ncode\n```\n\n~~~\nopen\n\n    indented\n\n    more",
    "numbers": "7. seven\n\n1986\\. A year\n\n2) two",
    "entities": "5 &lt; 6 &amp; &copy; &#65; &bogus;".replace("&lt;", "<").replace("&amp;", "&"),
    "headings": "# one #\n\ntwo\n===\n\n####### seven\n\nthree\n---",
}  # fmt: skip


@pytest.mark.parametrize("name", TEXTS)
def test_no_word_is_left_out(name):
    written = Counter(re.findall(r"[^\W_]+", TEXTS[name].replace("&copy;", "").replace("&#65;", "A")))
    assert written <= shown_words(render(TEXTS[name]))


@given(st.lists(st.sampled_from([
    "word", "other", " ", "  ", "    ", "\n", "\n\n", "\t", "- ", "1. ", "> ", "# ", "```", "~~~", "`", "*", "**", "_",
    "~~", "[", "]", "(", ")", "](", "]: ", "![", "<", ">", "<b>", "<!--", "-->", "</div>", "|", "|-|-|\n", "---", "\\",
    "https://x.example", "ftp:", "\"", "=", "&amp", "\r\n", "\0",
]), max_size=60))  # fmt: skip
@settings(max_examples=400, deadline=None)
def test_no_word_of_random_text_is_left_out(pieces):
    text = "".join(pieces).replace("&amp;", "")
    html = render(text)
    assert Counter(re.findall(r"word|other|ftp|x\.example", text)) <= Counter(
        re.findall(r"word|other|ftp|x\.example", unescape(html))
    )
    assert not re.search(r"<(?:img|script|div|b>|!--)", html)


def test_usual_texts_are_formatted():
    assert render(TEXTS["a list ten deep"]).count("<ul>") == 10
    assert render(TEXTS["twenty quotes"]).count("<blockquote>") == 20
    assert '<a href="https://x.example/a.png"' in render(TEXTS["pictures"].split()[0])
    assert "<p><code>python</code></p>\n<pre><code>code" in render("```python\ncode\n```")
    for name in ("HTML", "numbers", "headings", "a footnote", "details"):
        assert "<pre" not in render(TEXTS[name])


def test_text_that_cannot_be_rendered_whole_is_shown_as_source():
    text = nested("> ", depth=1000) + "<script>"
    assert render(text) == f'<pre class="source">{escape(text)}</pre>\n'


@pytest.mark.parametrize("text", ["> " * 40 + "😀", ">" * 31 + " +++", "- " * 16 + "😀→", "[ ](http://x.y/hidden)"])
def test_signs_without_letters_are_shown_too(text):
    assert render(text) == f'<pre class="source">{escape(text)}</pre>\n'


PIECES = ["> ", ">", "- ", "1. ", "[", "![", "*", "_a *b ", "~~", "`", "<", "](", "[](", "| "]


@pytest.mark.parametrize("piece", PIECES)
def test_rendering_time_is_proportional_to_length(piece):
    def seconds(length):
        began = time.process_time()
        render.__wrapped__(piece * (length // len(piece)) + "\na" * (length // 4))
        return time.process_time() - began

    allowed = 2.5 * 10 * min(seconds(10_000) for _ in range(2))  # in proportion it is 10, squared 100
    assert any(seconds(100_000) < allowed for _ in range(3))  # other processes may slow one try down
