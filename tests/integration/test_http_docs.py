"""The documentation works with the network cable out: everything in it comes from this server."""

import re

import httpx


def test_the_page_loads_from_this_server_only(client: httpx.Client) -> None:
    page = client.get("/docs")
    assert page.headers["content-type"].startswith("text/html")
    links = re.findall(r'(?:src|href)="([^"]+)"', page.text)
    assert links
    for link in links:
        assert link.startswith(("/", "data:")), link
        if link.startswith("/"):
            assert client.get(link).status_code == 200
    assert not re.search(r"https?://|//[a-z]", page.text)
    assert "<script>" not in page.text


def test_the_bare_address_leads_to_the_page(client: httpx.Client) -> None:
    answer = client.get("/")
    assert (answer.status_code, answer.headers["location"]) == (307, "/docs")
    assert "/" not in client.get("/openapi.json").json()["paths"]


def test_the_script_that_starts_it_names_this_server_only(client: httpx.Client) -> None:
    script = client.get("/docs/start.js")
    assert script.headers["content-type"].startswith("text/javascript")
    named = re.findall(r'"(/[^"]*)"', script.text)
    assert named == ["/openapi.json"]
    assert "http" not in script.text
    assert "validatorUrl: null" in script.text  # or it would ask a validator on the internet
    assert client.get("/openapi.json").json()["openapi"].startswith("3.1")


def test_the_policy_lets_nothing_else_be_loaded(client: httpx.Client) -> None:
    policy = dict(
        part.strip().split(" ", 1) for part in client.get("/docs").headers["content-security-policy"].split(";")
    )
    assert policy["default-src"] == "'none'"
    for kind in ("script-src", "connect-src"):
        assert policy[kind] == "'self'"
    assert not re.search(r"https?:", " ".join(policy.values()))


def test_the_files_are_the_real_ones(client: httpx.Client) -> None:
    assert "SwaggerUIBundle" in client.get("/docs/swagger-ui-bundle.js").text
    assert ".swagger-ui" in client.get("/docs/swagger-ui.css").text
    assert "@import" not in client.get("/docs/swagger-ui.css").text
