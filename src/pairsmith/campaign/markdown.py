"""Render Markdown as safe HTML that leaves no text out."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from functools import lru_cache
from html import escape
from itertools import accumulate, pairwise
from typing import Any

import nh3
from markdown_it import MarkdownIt
from markdown_it.renderer import RendererHTML
from markdown_it.token import Token

MAX_BLOCK_DEPTH = 30  # of nested blocks; a list counts twice, for itself and its item. Parsing time grows with it
MAX_DEPTH = 100  # of nested elements; browsers drop elements that are nested some hundreds deep
_SCHEMES = ("http", "https", "mailto")
_TAGS = {"p", "br", "hr", "h1", "h2", "h3", "h4", "h5", "h6", "strong", "em", "s", "code", "pre", "blockquote", "ul",
         "ol", "li", "a", "table", "thead", "tbody", "tr", "th", "td"}  # fmt: skip
_WORD = re.compile(r"[^\W_]+|[^\x00-\x7f\s]")  # words, and signs such as arrows and emoji


@lru_cache(2048)
def render(markdown: str) -> str:
    """Return safe HTML that shows all of the text.

    HTML in the source is shown as text. Pictures become links, and links lead only to the web or to e-mail addresses. A
    text that Markdown would cut, such as one that is nested too deeply, is shown as its source.
    """
    parser = _parser()
    env: dict[str, Any] = {}
    tokens = parser.parse(markdown, env)
    if not _shows_everything(markdown, tokens):
        return f'<pre class="source">{escape(markdown)}</pre>\n'
    return nh3.clean(
        parser.renderer.render(tokens, parser.options, env),
        tags=_TAGS,
        attributes={"a": {"href", "title"}, "ol": {"start"}},
        url_schemes=set(_SCHEMES),
    )


def _parser() -> MarkdownIt:
    parser = MarkdownIt("commonmark", {"html": False, "maxNesting": MAX_BLOCK_DEPTH})
    parser.enable(["table", "strikethrough"])
    parser.disable(["image", "reference"])  # pictures would load from elsewhere; definitions would not be shown
    parser.validateLink = lambda url: url.lower().startswith(  # type: ignore[method-assign]
        tuple(f"{scheme}:" for scheme in _SCHEMES)
    )
    parser.add_render_rule("fence", _fence)
    return parser


def _fence(renderer: RendererHTML, tokens: Sequence[Token], at: int, options: Any, env: Any) -> str:
    """Return a block of code, below the text that follows its opening fence."""
    info = tokens[at].info.strip()
    return (f"<p><code>{escape(info)}</code></p>\n" if info else "") + renderer.fence(tokens, at, options, env)


def _shows_everything(markdown: str, tokens: list[Token]) -> bool:
    """Return whether every word of the source is in the parsed blocks, and every block can be seen."""
    flat = [part for token in tokens for part in (token, *(token.children or []))]
    if max(accumulate(token.nesting for token in flat), default=0) > MAX_DEPTH:
        return False
    if max((token.level + token.nesting for token in tokens), default=0) >= MAX_BLOCK_DEPTH:  # the parser stops there
        return False
    shown = [part for part in flat if part.type != "text" or part.content.strip()]
    if any(a.type == "link_open" and b.type == "link_close" for a, b in pairwise(shown)):  # a link that nobody sees
        return False
    parsed = Counter(word for token in tokens for word in _WORD.findall(f"{token.info} {token.content}"))
    return Counter(_WORD.findall(markdown)) <= parsed
