"""Which endpoints are allowed."""

import json
from collections.abc import Sequence
from ipaddress import IPv4Address, IPv6Address
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from adapters.endpoint_policy import (
    AddressRefused,
    EndpointPolicy,
    NameUnresolved,
    Resolver,
    literal_address,
    refusal_of,
    refusal_of_public,
    shown,
)
from domain.errors import EndpointRefused

CASES = [
    json.loads(line) for line in (Path(__file__).parent.parent / "cases" / "endpoints.jsonl").read_bytes().splitlines()
]


def resolving(*addresses: str) -> Resolver:
    """A resolver that knows one name for everybody."""

    def resolve(_host: str, _port: int) -> Sequence[str]:
        if not addresses:
            raise OSError
        return addresses

    return resolve


def allowed(url: str, policy: EndpointPolicy | None = None) -> bool:
    try:
        (policy or EndpointPolicy()).check(url)
    except EndpointRefused:
        return False
    return True


@pytest.mark.parametrize("case", CASES, ids=lambda case: case["url"])
def test_each_case_is_judged_as_it_should_be(case: dict[str, Any]) -> None:
    assert allowed(case["url"]) is case["allowed"]


@pytest.mark.parametrize(
    "url",
    [
        "http://user:secret@127.0.0.1/v1",
        "http://@127.0.0.1/v1",
        "http:///@127.0.0.1/v1",
        "http:127.0.0.1/v1",
        "http://127.0.0.1/v1?key=secret",
        "http://127.0.0.1/v1#x",
        "http://127.0.0.1:0/v1",
        "http://127.0.0.1:65536/v1",
        "http://127.0.0.1:0x50/v1",
        "http://[127.0.0.1]/v1",
        "http://[fe80::1%25eth0]/v1",
        "http://[fd00::1%25eth0]/v1",
        "http://[::127.0.0.1]/v1",
        "http://[64:ff9b:1::1]/v1",
        "http://[2001::1]/v1",
        "http://[ff02::1]/v1",
        "http://[fd20:ce::254]/v1",
        "http://255.255.255.255/v1",
        "http://0x/v1",
        "http://08.1/v1",
        "http://256.1/v1",
        "http://1.2.3.4.5/v1",
        "http://4294967296/v1",
        "http://127.0.0.1\n/v1",
        "http://127.0.0.1\t.example/v1",
        " http://127.0.0.1/v1",
        "http://１２７.0.0.1/v1",
        "http://%31%32%37.0.0.1/v1",
        "ws://127.0.0.1/v1",
        "javascript:alert(1)",
        "http://127.0.0.1/" + "v" * 3000,
        "http://127.0.0.1/v1?",
        "http://127.0.0.1/v1#",
        "http:\\\\127.0.0.1\\v1",
        "http:/127.0.0.1/v1",
        "//127.0.0.1/v1",
        "http:// 127.0.0.1/v1",
        "http://127.0.0.1\r\nHost: x/v1",
        "http://127.0.0.1\0/v1",
        "http://127.0.0.1%00.example/v1",
        "http://127.0.0.1%2fx/v1",
        "http://127.0.0.1;x/v1",
        "http://127.0.0.1,10.0.0.1/v1",
        "http://:80/v1",
        "http://[]/v1",
        "http://[::1/v1",
        "http://::1/v1",
        "http://[::1]x/v1",
        "http://[1::2::3]/v1",
        "http://[::1%25lo]/v1",
        "http://[::1%lo]/v1",
        "http://[v1.x]/v1",
        "http://127.0.0.1:+80/v1",
        "http://127.0.0.1:-1/v1",
        "http://127.0.0.1: 80/v1",
        "http://127.0.0.1:http/v1",
        "http://127.0.0.1:80:80/v1",
        "http://127.0.0.1:00/v1",
        f"http://127.0.0.1:{'9' * 500}/v1",
        "http://127.0.0.1../v1",
        "http://127..1/v1",
        "http://.127.0.0.1/v1",
        "http://0x7f.0.0.0x/v1",
        "http://0x100000000/v1",
        "http://0xg/v1",
        "http://010.0.0.1/v1",
        "http://0b1111111.1/v1",
        "http://1_0.0.0.1/v1",
        "http://127。0。0。1/v1",
        "http://①②⑦.0.0.1/v1",
        "http://lοcalhost/v1",
        "http://bücher.example/v1",
        "http://xn--/v1",
        "http://xn--a/v1",
        "http://1.1/v1",
        "http://3232235777.1/v1",
        "http://11.0.0.1/v1",
        "http://9.255.255.255/v1",
        "http://172.15.255.255/v1",
        "http://192.167.255.255/v1",
        "http://192.169.0.0/v1",
        "http://100.63.255.255/v1",
        "http://100.128.0.0/v1",
        "http://128.0.0.1/v1",
        "http://192.0.0.8/v1",
        "http://192.0.2.1/v1",
        "http://198.51.100.1/v1",
        "http://198.19.255.255/v1",
        "http://192.88.99.1/v1",
        "http://168.63.129.16/v1",
        "http://240.0.0.1/v1",
        "http://0.1.2.3/v1",
        "http://[::2]/v1",
        "http://[::8.8.8.8]/v1",
        "http://[::ffff:8.8.8.8]/v1",
        "http://[::ffff:0.0.0.0]/v1",
        "http://[::ffff:0:127.0.0.1]/v1",
        "http://[64:ff9b::127.0.0.1]/v1",
        "http://[100::1]/v1",
        "http://[2001:20::1]/v1",
        "http://[2001:db8::1]/v1",
        "http://[2606:4700::1111]/v1",
        "http://[3fff::1]/v1",
        "http://[fec0::1]/v1",
        "http://[feff::1]/v1",
        "http://[febf::1]/v1",
        "http://[fbff::1]/v1",
        "http://[fe00::1]/v1",
        "http://[fd00:ec2::23]/v1",
        "http://[fd00:42::42]/v1",
    ],
)
def test_what_else_is_refused(url: str) -> None:
    assert not allowed(url)


@pytest.mark.parametrize(
    "url",
    [
        "http://0177.1/v1",
        "http://0177.0.0.1/v1",
        "http://0300.0250.0.1/v1",
        "http://012.0.0.1/v1",
        "http://0x7f.0.0.1/v1",
        "http://127.0.0x0.0x1/v1",
        "http://127.0.0.1./v1",
        "http://127.65535/v1",
        "http://10.1/v1",
        "HTTP://LocalHost:1/v1",
        "http://[::FFFF:7F00:1]",
        "http://[0:0:0:0:0:ffff:7f00:1]:1/v1",
        "http://[0:0:0:0:0:0:0:1]/v1",
        "http://127.0.0.1",
        "http://127.0.0.1/",
        "http://127.0.0.1:/v1",
        "http://127.0.0.1:65535/v1",
        "http://127.0.0.1:00080/v1",
        "https://127.0.0.1:443/v1",
        "http://127.0.0.1/a/../v1",
        "http://127.255.255.255/v1",
        "http://10.255.255.255/v1",
        "http://172.16.0.0/v1",
        "http://192.168.255.255/v1",
        "http://100.64.0.0/v1",
        "http://100.127.255.255/v1",
        "http://100.100.100.201/v1",
        "http://[fc00::1]/v1",
        "http://[fdff:ffff::1]/v1",
        "http://[fd00:ec2::255]/v1",
        "http://[::ffff:100.64.0.1]/v1",
    ],
)
def test_what_else_is_allowed(url: str) -> None:
    assert allowed(url)


def test_requests_are_made_to_an_address_in_its_usual_spelling() -> None:
    for host in ("0177.0.0.1", "0x7f.1", "2130706433", "127.0.0.1."):
        assert str(EndpointPolicy().check_form(f"http://{host}:8080/v1")) == "http://127.0.0.1:8080/v1"


def test_a_name_in_punycode_is_a_name() -> None:
    policy = EndpointPolicy(resolve=resolving("192.168.1.5"))
    assert str(policy.check_form("http://xn--bcher-kva.test:8080/v1")) == "http://xn--bcher-kva.test:8080/v1"
    assert allowed("http://xn--bcher-kva.test/v1", policy)


@given(st.ip_addresses(v=4))
def test_every_spelling_of_an_ipv4_address_is_judged_alike(address: IPv4Address) -> None:
    number = int(address)
    first, rest = number >> 24, number & 0xFFFFFF
    spellings = (str(address), str(number), hex(number), f"0{number:o}", f"{first}.{rest}", f"{hex(first)}.0{rest:o}")
    assert {literal_address(spelling) for spelling in spellings} == {address}
    mapped = IPv6Address(f"::ffff:{address}")
    assert refusal_of(mapped) == refusal_of(address)


@given(st.ip_addresses(v=6))
def test_of_ipv6_only_loopback_and_unique_local_addresses_are_allowed(address: IPv6Address) -> None:
    if address.ipv4_mapped is None and not str(address).startswith("fd"):
        assert (refusal_of(address) is None) == (address == IPv6Address("::1") or int(address) >> 121 == 0xFC >> 1)


@given(st.text())
def test_any_text_is_either_an_endpoint_or_refused(text: str) -> None:
    policy = EndpointPolicy(resolve=resolving("127.0.0.1"))
    for url in (text, f"http://{text}", f"http://{text}/v1", f"http://127.0.0.1:{text}"):
        allowed(url, policy)


def test_a_name_is_judged_by_every_address_that_it_has() -> None:
    assert allowed("http://story.test/v1", EndpointPolicy(resolve=resolving("192.168.1.5", "fd12::1")))
    assert not allowed("http://story.test/v1", EndpointPolicy(resolve=resolving("192.168.1.5", "8.8.8.8")))
    assert not allowed("http://story.test/v1", EndpointPolicy(resolve=resolving("fe80::1%eth0")))
    assert not allowed("http://story.test/v1", EndpointPolicy(resolve=resolving("::ffff:169.254.169.254")))


def test_a_name_that_does_not_resolve_is_refused_when_it_is_saved() -> None:
    with pytest.raises(EndpointRefused, match="does not resolve"):
        EndpointPolicy(resolve=resolving()).check("http://story.test/v1")
    with pytest.raises(NameUnresolved):
        EndpointPolicy(resolve=resolving()).judged("story.test", 80)


def test_the_form_alone_is_checked_without_resolving() -> None:
    policy = EndpointPolicy(resolve=resolving())
    assert policy.check_form("http://story.test:8080/v1").host == "story.test"
    with pytest.raises(EndpointRefused):
        policy.check_form("http://8.8.8.8/v1")


def test_judging_gives_the_addresses_to_connect_to() -> None:
    policy = EndpointPolicy(resolve=resolving("::ffff:10.0.0.1", "10.0.0.1", "::1"))
    assert policy.judged("story.test", 80) == ("10.0.0.1", "::1")
    assert policy.judged("127.1", 80) == ("127.0.0.1",)
    with pytest.raises(AddressRefused):
        policy.judged("8.8.8.8", 80)


def test_a_public_endpoint_is_allowed_only_by_its_exact_url() -> None:
    policy = EndpointPolicy(frozenset({"https://models.test/v1"}), resolving("8.8.8.8"))
    assert allowed("https://models.test/v1", policy)
    assert allowed("https://models.test/v1/", policy)
    assert not allowed("https://models.test/v2", policy)
    assert not allowed("http://models.test/v1", policy)
    assert not allowed("https://other.test/v1", policy)
    assert policy.judged("models.test", 443) == ("8.8.8.8",)
    with pytest.raises(AddressRefused):
        policy.judged("models.test", 80)


@pytest.mark.parametrize(
    "url",
    [
        "https://models.test/v1/chat",
        "https://models.test/",
        "https://models.test:443/v1",
        "http://models.test:443/v1",
        "HTTPS://models.test/v1",
        "https://Models.test/v1",
    ],
)
def test_another_url_of_the_same_host_is_refused_before_any_request(url: str) -> None:
    policy = EndpointPolicy(frozenset({"https://models.test/v1"}), resolving("8.8.8.8"))
    with pytest.raises(EndpointRefused, match="allows another URL of this host"):
        policy.check_form(url)
    assert not policy.is_public(url)


def test_a_public_address_is_allowed_by_its_exact_url_too() -> None:
    policy = EndpointPolicy(frozenset({"http://8.8.8.8:8080/v1", "https://[2606:4700::1111]/v1"}))
    assert allowed("http://8.8.8.8:8080/v1", policy)
    assert allowed("https://[2606:4700::1111]/v1", policy)
    assert not allowed("http://8.8.8.8/v1", policy)
    assert not allowed("http://134744072:8080/v1", policy)


def test_private_endpoints_stay_allowed_beside_a_public_one() -> None:
    policy = EndpointPolicy(frozenset({"https://models.test/v1"}))
    assert allowed("http://127.0.0.1:8080/v1", policy)
    assert not policy.is_public("http://127.0.0.1:8080/v1")
    assert not EndpointPolicy().is_public("")


def test_a_public_endpoint_must_be_well_formed() -> None:
    with pytest.raises(EndpointRefused, match="not an http or https URL"):
        EndpointPolicy(frozenset({"models.test"}))


@pytest.mark.parametrize(
    "address",
    [
        "0.0.0.0",
        "169.254.169.254",
        "100.100.100.200",
        "168.63.129.16",
        "192.0.0.192",
        "192.88.99.1",
        "198.18.0.1",
        "203.0.113.5",
        "224.0.0.1",
        "255.255.255.255",
        "::",
        "::8.8.8.8",
        "::ffff:169.254.169.254",
        "::ffff:0:8.8.8.8",
        "64:ff9b::808:808",
        "2001::1",
        "2001:db8::1",
        "2002:808:808::1",
        "3fff::1",
        "fd00:ec2::254",
        "fe80::1",
        "fec0::1",
        "ff02::1",
    ],
)
def test_not_even_an_exact_url_leads_to_a_metadata_service(address: str) -> None:
    assert not allowed(
        "https://models.test/v1", EndpointPolicy(frozenset({"https://models.test/v1"}), resolving(address))
    )
    spelt = f"https://[{address}]/v1" if ":" in address else f"https://{address}/v1"
    assert refusal_of_public(spelt) is not None
    with pytest.raises(EndpointRefused):
        EndpointPolicy(frozenset({spelt}))


def test_a_refusal_says_why_and_keeps_passwords_to_itself() -> None:
    with pytest.raises(EndpointRefused, match="user name or a password"):
        EndpointPolicy().check("http://user:secret@127.0.0.1/v1")
    for url in (
        "http://user:secret@127.0.0.1/v1",
        "http://user:sec/secret@127.0.0.1/v1",
        "http://127.0.0.1/v1?key=secret",
    ):
        with pytest.raises(EndpointRefused) as caught:
            EndpointPolicy().check(url)
        assert "secret" not in f"{caught.value!r} {caught.value.fields}"
    with pytest.raises(EndpointRefused, match=r"resolves to 8\.8\.8\.8, an address neither"):
        EndpointPolicy(resolve=resolving("8.8.8.8")).check("http://story.test/v1")


def test_what_is_shown_of_a_url() -> None:
    assert shown("http://127.0.0.1:8080/v1") == "http://127.0.0.1:8080/v1"
    assert shown("http://a:b@c@127.0.0.1/v1?x#y") == "http://…@127.0.0.1/v1"
    assert shown("user:pass@host") == "//…@host"
