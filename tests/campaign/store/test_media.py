"""Media files must be of the type that their ending claims."""

import os

import pytest

from pairsmith.campaign.store import media as media_files
from support.campaigns import BEGINNINGS


@pytest.mark.parametrize("ending", BEGINNINGS)
def test_a_file_is_shown_only_if_it_begins_as_its_ending_claims(tmp_path, ending):
    kind = next(kind for kind, endings in media_files.MEDIA.items() if ending in endings)
    root = os.path.realpath(tmp_path)
    others = {".txt": b"root:x:0:0", ".html": b"<html><svg/></html>", ".utf16": "text".encode("utf-16"), ".none": b""}
    for own, head in (BEGINNINGS | others).items():
        (tmp_path / f"x{ending}").write_bytes(head + bytes(100))
        if own == ending or (own, ending) == (".avif", ".m4a"):  # both are of the MP4 family
            media_files.open_file(root, f"x{ending}", kind).close()
        else:
            with pytest.raises(media_files.MediaError, match="does not begin as"):
                media_files.open_file(root, f"x{ending}", kind)


def test_svgs_of_common_programs_are_recognised(tmp_path):
    for text in (
        "\ufeff<svg/>".encode(),
        '<?xml version="1.0" encoding="UTF-16"?><svg/>'.encode("utf-16"),
        b'<!DOCTYPE svg PUBLIC "-//W3C//DTD SVG 1.1//EN" "x.dtd" [<!ENTITY ns "http://x">]>\n<svg xmlns="&ns;"/>',
        b'<s:svg xmlns:s="http://www.w3.org/2000/svg"></s:svg>',
        b"<!--" + 9000 * b" long" + b"--><svg>" + 90000 * b"<g/>" + b"</svg>",
    ):
        (tmp_path / "x.svg").write_bytes(text)
        media_files.open_file(os.path.realpath(tmp_path), "x.svg", "image").close()
