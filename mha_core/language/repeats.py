"""Documents that say the same twice: random words, and lists of names."""

from __future__ import annotations

from functools import cache

from mha_core.language.documents import Document, Relation
from mha_core.language.lexicon import SECTIONS, Chance, Language, load_lexicon, nouns_of
from mha_core.language.tokenizer import load_tokenizer
from mha_core.language.vocabulary import grammar_words

SHORTEST, LONGEST = 5, 20


@cache
def core_words() -> tuple[str, ...]:
    """The grammar's own words, as far as they are words of the vocabulary."""
    whole = {e.piece for e in load_tokenizer().entries if e.kind == "word"}
    return tuple(word for word in grammar_words() if word in whole)


@cache
def held_words() -> tuple[str, ...]:
    """The nouns of the longer lists that are kept out of training, and their plurals."""
    languages: tuple[Language, ...] = ("english", "chinese")
    nouns = [noun for language in languages for noun in nouns_of(language, "held", SECTIONS)]
    return tuple(word for noun in nouns for word in (noun.word, noun.plural) if word)


@cache
def other_words() -> tuple[str, ...]:
    """Everything else a text may hold, but for the words kept out of training."""
    taken = set(held_words()).union(core_words())
    return tuple(
        e.piece for e in load_tokenizer().entries if e.kind == "word" and e.piece not in taken
    )


@cache
def pool_words() -> tuple[str, ...]:
    """The sixty-four nouns of the first training steps."""
    return tuple(noun.word for noun in load_lexicon("english").nouns)[:64]


def repeat(words: list[str], language: str = "en") -> Document:
    """Words said twice; the second time each can be predicted from the first.

    >>> repeat(["cat", "dog", "cup"]).words
    ['cat', 'dog', 'cup', 'cat', 'dog', 'cup']
    """
    length = len(words)
    document = Document("zh" if language == "zh" else "en", skip_loss=length)
    document.words = [*words, *words]
    document.relations = [
        Relation("repeat", place, place - length + 1) for place in range(length, 2 * length)
    ]
    return document


def make_pool_repeat(draw: Chance) -> Document:
    """A repeat over the small pool, for the first training steps."""
    return repeat(draw.choices(pool_words(), k=draw.randint(SHORTEST, LONGEST)))


def make_repeat(draw: Chance) -> Document:
    """Random words of the grammar, or its nouns, said twice; other words now and then."""
    length = draw.randint(SHORTEST, LONGEST)
    if draw.reaches():
        return repeat(draw.choices(other_words(), k=length))
    if draw.random() < 0.5:
        return repeat(draw.choices(core_words(), k=length))
    nouns = load_lexicon(draw.choice(("english", "english", "chinese"))).nouns
    return repeat([noun.word for noun in draw.choices(nouns, k=length)])


def make_names(draw: Chance) -> Document:
    """A list of names, said twice, with a sentence's frame around it."""
    names = draw.sample([n.word for n in load_lexicon("english").names], draw.randint(3, 7))
    listed: list[str] = []
    for name in names[:-1]:
        listed += [name, ","]
    listed = [*listed[:-1], "and", names[-1]]
    document = Document("en", skip_loss=len(listed))
    document.add(*listed, draw.choice(("came .", "left .", "waited .", "laughed .")))
    start = len(document.words)
    document.add(*listed, draw.choice(("slept .", "talked .", "played .")))
    for place in range(len(listed) - 1):
        document.relations.append(Relation("repeat", start + place, place + 1))
    return document
