"""Markdown made harmless."""

from pairsmith.campaign.web.markdown import render


def test_markdown_is_rendered_and_made_harmless():
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
