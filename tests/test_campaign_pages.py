"""The pages."""

SCRIPTS = [f"/static/{name}.js" for name in ("common", "label", "dashboard", "charts")]


def test_pages_need_nothing_from_elsewhere(api):
    for path in ("/", "/dashboard", "/api", *SCRIPTS, "/static/campaign.css", "/nowhere"):
        text = api.get(path).text
        assert "//cdn" not in text
        assert "https://" not in text.replace("http://www.w3.org/2000/svg", "")
    assert "POST /api/answer" in api.get("/api").text
    assert api.get("/api/openapi.json").json()["paths"].keys() >= {"/api/next", "/api/answer", "/api/undo"}
