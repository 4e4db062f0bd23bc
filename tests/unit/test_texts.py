"""What Fabula itself says to a narrator: no genre's words, and nothing that is never said."""

import ast
import re
from pathlib import Path

import pytest

import domain
from domain.prompt import texts
from domain.prompt.sections import LABELS

CONSTANTS = {name: value for name, value in vars(texts).items() if isinstance(value, str) and name.isupper()}

PARTS = {
    node.id
    for node in ast.walk(ast.parse(Path(texts.__file__).read_text(encoding="utf-8")))
    if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load)
}
"""Constants that others are made of: phrases by which a repeated text is told, wherever it is cut off."""

# What places a story in a genre: its arms, its people, its beasts, its places and its goods.
GENRE = frozenset(
    re.findall(
        r"\w+",
        """
        alien amulet android archer armor armour arrow assassin asteroid axe bandit barbarian bard barkeep baron
        beast bishop blade blaster blood bullet captain castle cathedral cave cavern clan corpse cowboy crew
        crown crypt cult curse cyborg dagger demon desert detective devil dragon druid dungeon dwarf elf emperor
        empire fairy fang forest fortress galaxy ghost ghoul giant goblin god goddess gold grimoire guard guild
        gun gunslinger hacker harbour hero heroine horde horse hyperspace inn innkeeper inspector jungle king
        kingdom knight laboratory lantern laser loot lord mage magic magician mansion mech mercenary merchant
        monk monster murder murderer mutant necromancer ninja nurse oracle orc outlaw paladin pharaoh pirate
        pistol planet plague poison police portal potion priest princess prince prophecy pyramid quest queen
        ranger realm revolver rifle robot rogue ruin rune saloon samurai scientist scroll shaman sheriff shield
        ship shotgun sorcerer soldier spaceship spacesuit spear spell spy starship steed superhero sword tavern
        temple thief throne tomb torch tower treasure troll undead vampire vault viking village villager villain
        wand warlock warrior weapon werewolf witch wizard wolf zombie
        """,
    )
)


def genre_nouns(text: str) -> set[str]:
    words = re.findall(r"[^\W\d_]+", text.lower())
    return {form for word in words for form in (word, word.removesuffix("s"), word.removesuffix("es")) if form in GENRE}


@pytest.mark.parametrize("text", [*CONSTANTS.values(), *LABELS.values()])
def test_no_text_holds_a_genre_noun(text: str) -> None:
    assert genre_nouns(text) == set()


@pytest.mark.parametrize(
    ("text", "noun"),
    [
        ("The dragon sleeps.", "dragon"),
        ("Two Swords, crossed.", "sword"),
        ("Witches and the like", "witch"),
        ("the tavern's door", "tavern"),
        ("A SPACESHIP", "spaceship"),
    ],
)
def test_a_genre_noun_would_be_found(text: str, noun: str) -> None:
    assert genre_nouns(text) == {noun}


def test_a_word_that_only_contains_one_is_not_found() -> None:
    assert genre_nouns("speaking, going on, a friendship, swordless, shipping") == set()


def test_every_text_is_used_by_the_domain() -> None:
    root = Path(str(domain.__file__)).parent
    used = {
        node.attr
        for path in root.rglob("*.py")
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id == "texts"
    }
    assert set(CONSTANTS) - used <= PARTS
    assert used <= set(vars(texts))


def test_every_text_is_a_named_constant_of_visible_words() -> None:
    assert {name for name in vars(texts) if not name.startswith("_")} - set(CONSTANTS) == {"STATE_HEADINGS"}
    assert set(texts.STATE_HEADINGS) <= set(CONSTANTS.values())
    for text in CONSTANTS.values():
        assert text == text.strip() != ""


def test_no_two_texts_are_the_same_and_none_is_within_another_but_its_parts() -> None:
    said = [text for name, text in CONSTANTS.items() if name not in PARTS]
    assert len(set(CONSTANTS.values())) == len(CONSTANTS)
    assert [(a, b) for a in said for b in said if a is not b and a in b] == []
