"""Files of items: only the ones that the campaign lists are served, whole, in ranges or as thumbnails."""

import builtins
import io
import os
import socket

import httpx2 as httpx
import numpy as np
import pytest
from fastapi.testclient import TestClient
from PIL import Image

from pairsmith.campaign.answering import leases
from pairsmith.campaign.people import invites as people
from pairsmith.campaign.store import media as media_files
from pairsmith.campaign.store import schema
from pairsmith.campaign.web import media
from pairsmith.campaign.web.app import create_app
from pairsmith.campaign.web.media import THUMBNAIL_PIXELS, Picture, make_thumbnail
from support.campaigns import BEGINNINGS, SVG


@pytest.mark.slow
def test_only_files_that_the_campaign_lists_can_be_fetched(tmp_path, store, serve):
    url, _ = serve(store.target, plans=False)
    host, port = url.removeprefix("http://").split(":")
    assert httpx.get(f"{url}/media/0/0").status_code == 200
    for path in (
        "/media/0/../../secret.txt",
        "/media/..%2f..%2fsecret.txt/0",
        "/static/../app.py",
        "/static/..%2fapp.py",
        "/static/%2e%2e/app.py",
        "/static//etc/passwd",
        "/static/....//app.py",
        f"/media/0/{tmp_path}/secret.txt",
        "/media/0/0%00.txt",
        "//etc/passwd",
        "/media/0/1",
        "/t.db",
    ):
        with socket.create_connection((host, int(port))) as raw:  # an HTTP client would normalise the path
            raw.sendall(f"GET {path} HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n\r\n".encode())
            answer = b""
            while more := raw.recv(65536):
                answer += more
        assert answer.split()[1] in (b"404", b"422", b"400"), path
        assert b"secret" not in answer.split(b"\r\n\r\n", 1)[1].replace(b"secret.txt", b"")


@pytest.fixture
def pictures(tmp_path, make):
    """A campaign of the pictures 0.png to 11.png in a folder; a secret file lies next to the folder."""
    (tmp_path / "secret.png").write_bytes(BEGINNINGS[".png"] + b"secret")
    folder = tmp_path / "pictures" / "deep"
    folder.mkdir(parents=True)
    for row in range(12):
        (folder / f"{row}.png").write_bytes(BEGINNINGS[".png"] + bytes([row]))
    parts = [[("image", f"deep/{row}.png")] for row in range(12)]
    return make(str(tmp_path / "t.db"), parts=parts, media=tmp_path / "pictures")


def swap(path, to):
    path.unlink()
    path.symlink_to(to)


def test_files_swapped_for_links_or_other_things_are_not_served(tmp_path, pictures):
    folder = tmp_path / "pictures" / "deep"
    (tmp_path / "text").write_text("secret")
    with TestClient(create_app(pictures), base_url="http://127.0.0.1") as client:

        def answer(row):
            found = client.get(f"/media/{row}/0")
            assert b"secret" not in found.content
            assert str(tmp_path) not in found.text
            return found.status_code, found.json()["detail"] if found.status_code == 404 else found.content[8:]

        assert answer(0) == (200, b"\0")
        swap(folder / "0.png", folder / "1.png")
        assert answer(0) == (200, b"\1")  # this link stays within the folder
        swap(folder / "2.png", tmp_path / "secret.png")
        assert answer(2) == (404, "the file of this item lies outside the folder of the campaign's files")
        swap(folder / "3.png", tmp_path / "text")
        assert answer(3)[0] == 404
        (folder / "4.png").write_text("secret")
        assert "does not begin as image/png" in answer(4)[1]
        (folder / "5.png").unlink()
        assert answer(5) == (404, "the file of this item is not there, or cannot be read")
        os.mkfifo(folder / "5.png")
        assert answer(5) == (404, "the file of this item is no regular file")
        (folder / "6.png").unlink()
        (folder / "6.png").mkdir()
        assert answer(6)[0] == 404
        folder.rename(tmp_path / "elsewhere")
        folder.symlink_to(tmp_path / "elsewhere")
        assert answer(7)[0] == 404
        folder.unlink()
        (tmp_path / "elsewhere").rename(folder)
        assert answer(7) == (200, b"\7")
        (tmp_path / "pictures").rename(tmp_path / "other")
        (tmp_path / "pictures").symlink_to(tmp_path / "other")
        assert answer(7)[0] == 404  # another folder was confirmed


def test_a_link_made_after_the_check_is_not_followed(tmp_path, pictures, monkeypatch):
    folder = tmp_path / "pictures" / "deep"
    descend = media_files._descend

    def late(root, steps):
        swap(folder / steps[-1], tmp_path / "secret.png")
        return descend(root, steps)

    monkeypatch.setattr(media_files, "_descend", late)
    with TestClient(create_app(pictures), base_url="http://127.0.0.1") as client:
        assert client.get("/media/0/0").status_code == 404
    monkeypatch.setattr(media_files, "_CAN_DESCEND", False)  # also on systems where folders cannot be opened one by one
    with pytest.raises(media_files.MediaError, match="is not there"):
        media_files.open_file(pictures.settings.folder, "deep/1.png", "image")


@pytest.mark.parametrize(
    "path", ["../secret.png", "/etc/passwd", "deep/../../secret.png", "x\0.png", "", ".", "deep", "\udcff.png"]
)
def test_a_database_cannot_name_a_file_outside_the_folder(tmp_path, pictures, path):
    with pictures.writing() as connection:
        connection.execute(schema.items.update().values(parts=[["image", path], ["image", str(tmp_path / path)]]))
    with TestClient(create_app(pictures), base_url="http://127.0.0.1") as client:
        for part in (0, 1):
            found = client.get(f"/media/0/{part}")
            assert found.status_code == 404
            assert b"secret" not in found.content


def test_ranges_and_unchanged_files(tmp_path, pictures):
    whole = BEGINNINGS[".png"] + bytes(range(200)) * 5000  # larger than a chunk
    (tmp_path / "pictures/deep/0.png").write_bytes(whole)
    with TestClient(create_app(pictures), base_url="http://127.0.0.1") as client:

        def get(**headers):
            return client.get("/media/0/0", headers={name.replace("_", "-"): value for name, value in headers.items()})

        full = get()
        assert (full.status_code, full.content) == (200, whole)
        assert full.headers["content-length"] == str(len(whole))
        assert full.headers["accept-ranges"] == "bytes"
        size = len(whole)
        for asked, first, last in (
            ("bytes=0-", 0, size - 1),
            ("bytes=0-1", 0, 1),
            ("bytes=5-999999999", 5, size - 1),
            ("bytes=-7", size - 7, size - 1),
            (f"bytes=-{size + 5}", 0, size - 1),
        ):
            found = get(Range=asked)
            assert (found.status_code, found.content) == (206, whole[first : last + 1])
            assert found.headers["content-range"] == f"bytes {first}-{last}/{size}"
        for asked in (f"bytes={size}-", "bytes=5-4", "bytes=-0"):
            found = get(Range=asked)
            assert (found.status_code, found.headers["content-range"]) == (416, f"bytes */{size}")
        for asked in ("bytes=-", "bytes=0-1,3-4", "lines=1-2", "bytes=x-", "bytes=" + 99 * "9" + "-"):
            assert get(Range=asked).status_code == 200
        tag = full.headers["etag"]
        for known in (tag, f"W/{tag}", f'"other", {tag}'):
            assert get(If_None_Match=known).status_code == 304
        assert get(Range="bytes=0-1", If_Range=tag).status_code == 206
        assert get(Range="bytes=0-1", If_Range='"other"').status_code == 200
        (tmp_path / "pictures/deep/0.png").write_bytes(whole[:99])
        assert get(If_None_Match=tag).status_code == 200


def test_files_are_closed_however_the_response_ends(tmp_path, pictures):
    with TestClient(create_app(pictures), base_url="http://127.0.0.1") as client:
        client.get("/media/0/0")
        before = set(os.listdir("/dev/fd"))
        for headers in ({}, {"Range": "bytes=0-1"}, {"Range": "bytes=99-"}):
            tag = client.get("/media/0/0", headers=headers).headers.get("etag", "")
            client.get("/media/0/0", headers={"If-None-Match": tag})
        (tmp_path / "pictures/deep/0.png").write_text("text")
        client.get("/media/0/0")
        assert len(set(os.listdir("/dev/fd")) - before) <= 1  # the listing itself


@pytest.mark.slow
def test_a_file_truncated_meanwhile_ends_the_connection_without_a_traceback(tmp_path, make, serve, capfd):
    sound = tmp_path / "x.wav"
    sound.write_bytes(BEGINNINGS[".wav"] + bytes(60_000_000))  # more than is buffered on the way
    url, _ = serve(make(str(tmp_path / "t.db"), parts=[[("audio", "x.wav")]] * 12, media=tmp_path).target, plans=False)
    with httpx.stream("GET", f"{url}/media/0/0") as response:
        pieces = response.iter_raw()
        next(pieces)
        os.truncate(sound, 100)
        with pytest.raises(httpx.TransportError):
            list(pieces)
    assert httpx.get(f"{url}/media/0/0").status_code == 200
    told = capfd.readouterr().err
    assert "Traceback" not in told
    assert told.count("\n") == 1


def test_raters_fetch_what_was_shown_to_them(target, make, tmp_path):
    (tmp_path / "x.svg").write_bytes(SVG)
    store = make(target, n=6, k=3, parts=[[("image", "x.svg")]] * 6, media=tmp_path)
    with TestClient(create_app(store, local=False), base_url="https://label.example.org") as client:

        def fetched(token):
            bearer = {"Authorization": f"Bearer {token}"}
            return {row for row in range(6) if client.get(f"/media/{row}/0", headers=bearer).status_code == 200}

        anna, ben, ole = (
            people.invite(store, "anna"),
            people.invite(store, "ben"),
            people.invite(store, "ole", "organiser"),
        )
        assert fetched(anna) == set()
        first = leases.next_pair(store, people.person_with_token(store, anna, "rater"))
        assert fetched(anna) == {first.left, first.right}
        assert fetched(ben) == set()
        leases.answer(store, people.person_with_token(store, anna, "rater"), first.token, "skip")
        second = leases.next_pair(store, people.person_with_token(store, anna, "rater"))
        assert fetched(anna) == {first.left, first.right, second.left, second.right}
        assert fetched(ole) == set(range(6))


@pytest.fixture
def photographs(tmp_path, make):
    """A campaign of real pictures, except for the last, which only begins like one."""
    for row in range(11):
        Image.new("RGB", (300, 200), (20 * row, 0, 0)).save(tmp_path / f"{row}.png")
    (tmp_path / "11.png").write_bytes(BEGINNINGS[".png"])
    parts = [[("text", "x"), ("image", f"{row}.png")] for row in range(12)]
    return make(str(tmp_path / "t.db"), parts=parts, media=tmp_path)


def test_thumbnails_are_made_once_and_for_organisers_only(tmp_path, photographs, monkeypatch):
    made = []
    real = media.make_thumbnail
    monkeypatch.setattr(media, "make_thumbnail", lambda picture: made.append(picture.row) or real(picture))
    with TestClient(create_app(photographs, local=False), base_url="https://label.example.org") as public:
        rater, organiser = (
            {"Authorization": f"Bearer {people.invite(photographs, name, name)}"} for name in ("rater", "organiser")
        )
        person = people.person_with_token(photographs, rater["Authorization"][7:], "rater")
        shown = leases.next_pair(photographs, person).left
        assert public.get(f"/media/{shown}/1", headers=rater).status_code == 200
        assert public.get(f"/media/{shown}/1/small", headers=rater).status_code == 401
        for _ in range(2):
            found = public.get("/media/3/1/small", headers=organiser)
            assert (found.status_code, found.headers["content-type"]) == (200, "image/webp")
            assert Image.open(io.BytesIO(found.content)).size == (112, 75)
        assert made == [3]
        Image.new("RGB", (50, 50)).save(tmp_path / "3.png")  # replaces the picture
        assert Image.open(io.BytesIO(public.get("/media/3/1/small", headers=organiser).content)).size == (50, 50)
        whole = public.get("/media/11/1/small", headers=organiser)  # it cannot be decoded, so the file itself comes
        assert (whole.content, whole.headers["content-type"]) == (BEGINNINGS[".png"], "image/png")
        for path in ("/media/3/0/small", "/media/3/2/small", "/media/99/0/small"):
            assert public.get(path, headers=organiser).status_code == 404


def picture(name, size=(400, 200), mode="RGB", **options):
    file = io.BytesIO()
    Image.new(mode, size, "red").save(file, name, **options)
    file.seek(0)
    return Picture(file, 0, 0, 1, 2)


@pytest.mark.parametrize("name", ["PNG", "JPEG", "GIF", "WEBP"])
def test_thumbnails_are_small_and_keep_their_colours(name):
    with Image.open(io.BytesIO(make_thumbnail(picture(name)))) as made:
        assert (made.format, made.size) == ("WEBP", (THUMBNAIL_PIXELS, THUMBNAIL_PIXELS // 2))
        red, green, blue = made.convert("RGB").getpixel((50, 20))
        assert red > 240
        assert max(green, blue) < 20


def test_thumbnails_stay_transparent_and_are_upright():
    file = io.BytesIO()
    Image.new("RGBA", (20, 20), (0, 0, 0, 0)).save(file, "PNG")
    with Image.open(io.BytesIO(make_thumbnail(Picture(file, 0, 0, 1, 2)))) as made:
        assert made.convert("RGBA").getpixel((3, 3))[3] == 0
        assert made.size == (20, 20)  # a small picture is not enlarged
    exif = Image.Exif()
    exif[0x0112] = 6  # rotated by a quarter turn
    with Image.open(io.BytesIO(make_thumbnail(picture("JPEG", exif=exif)))) as made:
        assert made.size == (THUMBNAIL_PIXELS // 2, THUMBNAIL_PIXELS)


def test_unreadable_pictures_and_missing_pillow_give_no_thumbnail(monkeypatch):
    assert make_thumbnail(Picture(io.BytesIO(b"\x89PNG\r\n\x1a\n and more"), 0, 0, 1, 2)) is None
    assert make_thumbnail(picture("BMP")) is None  # Pillow reads it, but campaigns do not show it
    real = builtins.__import__

    def without(name, *rest):
        if name == "PIL":
            raise ImportError
        return real(name, *rest)

    monkeypatch.setattr(builtins, "__import__", without)
    assert make_thumbnail(Picture(io.BytesIO(), 0, 0, 1, 2)) is None


def test_sixteen_bit_grey_stays_grey():
    file = io.BytesIO()
    Image.fromarray(np.full((20, 20), 128 * 257, dtype=np.uint16)).save(file, "PNG")
    with Image.open(io.BytesIO(make_thumbnail(Picture(file, 0, 0, 1, 2)))) as made:
        assert abs(made.convert("L").getpixel((10, 10)) - 128) < 3


def test_of_huge_pictures_only_jpegs_are_decoded_at_a_fraction_of_their_size(monkeypatch):
    monkeypatch.setattr(media, "MAX_IMAGE_PIXELS", 1000 * 1000 - 1)
    assert make_thumbnail(picture("PNG", (1000, 1000))) is None
    assert make_thumbnail(picture("JPEG", (1000, 1000))) is not None


def test_a_changed_picture_is_a_different_key():
    one, same, other = (Picture(io.BytesIO(), 0, 0, changed, 2) for changed in (1, 1, 2))
    assert one == same
    assert hash(one) == hash(same)
    assert one != other
