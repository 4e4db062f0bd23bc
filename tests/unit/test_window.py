from domain.prompt.events import Window
from domain.prompt.window import with_declared


def test_a_declaration_fills_the_hole_that_the_server_left() -> None:
    declared = with_declared(Window(detail="Nobody answers."), 4096)
    assert (declared.tokens, declared.source, declared.enforceable, declared.verified) == (
        4096,
        "declared",
        True,
        False,
    )
    assert declared.detail == "Nobody answers. The settings declare 4,096 tokens."


def test_a_declaration_moves_no_known_window() -> None:
    known = Window(tokens=8192, source="loaded", verified=True, enforceable=True)
    assert with_declared(known, 4096) == known
    assert with_declared(known, 100_000) == known


def test_a_declaration_stays_below_the_ceiling_that_the_server_advertises() -> None:
    assert with_declared(Window(model_max=2048), 4096).tokens == 2048


def test_without_a_declaration_unknown_stays_unknown() -> None:
    assert with_declared(Window(), None) == Window()
