"""English sentences of the kind people type, with and without a pronoun."""

from __future__ import annotations

from mha_core.language.documents import Document, Relation
from mha_core.language.english import (
    LINKS,
    act_of,
    adverbial,
    choose_antecedent,
    choose_pair,
    common_trait,
    continuation,
    lexicon,
    mention,
    past,
    pick,
    pick_person,
    pick_pronoun,
    title,
)
from mha_core.language.lexicon import Chance, settle

OBJECT = {"he": "him", "she": "her", "it": "it", "they": "them"}


def make_everyday(draw: Chance) -> Document:
    """A sentence or two of the kind people type."""
    document = Document("en")
    for _ in range(draw.choice((1, 1, 2))):
        draw.choice((_say_statement, _say_single, _say_helped, _say_fit, _say_single, _say_now))(
            document, draw
        )
        document.add(".")
    return document


def _say_single(document: Document, draw: Chance) -> None:
    """One noun and a pronoun for it: the girl laughed because she was happy."""
    noun = pick(draw, "people", "names", "animals", "things")
    pronoun = pick_pronoun(draw, noun, 0.15)
    if draw.random() < 0.35:
        document.add(title(draw.choice(("I", "we", "you", "they")), document))
        document.add(past(draw, "handle" if noun.is_thing else "social"))
        of = mention(document, draw, noun, pronoun)
    else:
        of = mention(document, draw, noun, pronoun)
        was = "were" if of.is_many else "was"
        trait = draw.choice(noun.family.traits or ("new",))
        generic = common_trait(draw, noun)
        go = "went to the " + draw.choice(lexicon().words("places", "go"))
        sat = past(draw, "rest") + " on the " + draw.choice(lexicon().words("places", "on"))
        document.add(
            draw.choice(
                (
                    act_of(draw, noun).past,
                    f"{was} {trait}",
                    f"{was} {generic}",
                    *(
                        ()
                        if noun.is_thing
                        else (go, go, sat, sat, past(draw, "go") + " home", "could n't sleep")
                    ),
                )
            )
        )
    adverbial(document, draw)
    document.add(draw.choice(LINKS[:-2]))
    continuation(document, draw, of, None)


def _say_helped(document: Document, draw: Chance) -> None:
    """The one who did it and the one it was done to: A thanked B because she helped him."""
    first, second = pick_person(draw), pick_person(draw)
    one, two = settle(first, draw), settle(second, draw)
    if one == two:
        return _say_helped(document, draw)
    subject = mention(document, draw, first, one)
    document.add(past(draw, "social"))
    other = mention(document, draw, second, two)
    document.add(draw.choice(("because", "because", "and", "so", "when", "but", "after")))
    chosen, rest = choose_antecedent(draw, subject, other)
    query = document.add(chosen.pronoun)
    document.relations.append(
        Relation("pronoun", query, chosen.place, (subject.place, other.place))
    )
    if draw.random() < 0.5:  # the act of its own, so that this row has to look
        document.add(
            act_of(draw, chosen.noun).past, draw.choice(("with", "for")), OBJECT[rest.pronoun]
        )
    else:
        document.add(
            draw.choice(("had", "did n't", "wanted to", "")),
            past(draw, "social"),
            OBJECT[rest.pronoun],
        )
    return None


def _say_fit(document: Document, draw: Chance) -> None:
    """Two things and a size: the trophy does not fit in the suitcase because it is too large."""
    first = pick(draw, "things")
    hollow = ("container", "vessel", "vehicle", "building")
    second = draw.choice([n for n in lexicon().things if n.family.name in hollow])
    subject = mention(document, draw, first, "it", "the")
    document.add(
        draw.choice(
            ("does not fit", "did not fit", "does n't fit", "did n't fit", "could not fit")
        ),
        "in",
    )
    other = mention(document, draw, second, "it", "the")
    document.add("because")
    query = document.add("it")
    large = draw.random() < 0.6
    chosen = subject if large else other
    document.relations.append(
        Relation("pronoun", query, chosen.place, (subject.place, other.place))
    )
    document.add(
        draw.choice(("is", "was")),
        "too",
        draw.choice(("large", "big", "long") if large else ("small", "little", "narrow")),
    )


def _say_statement(document: Document, draw: Chance) -> None:
    """A sentence without a pronoun to resolve, over the everyday words."""
    words = lexicon()
    person = pick_person(draw)
    thing = pick(draw, "things").word
    adjective = draw.choice(words.words("adjectives", "any"))
    more = words.words("more", "words")[:28]
    inside = draw.choice(words.words("places", "inside"))
    number = draw.choice(("one", "two", "three", "some", "many"))
    things = pick(draw, "things").plural or thing
    weather = draw.choice(("hot", "cold", "dark", "late", "good", "wet", "raining"))
    relative = draw.choice(("mother", "father", "brother", "sister", "friend"))
    doing = draw.choice(words.words("verbs", "ing"))
    act, soon = _infinitive(draw), draw.choice(("tomorrow", "soon", "now", "together"))
    never, of, mine, was = _infinitive(draw), *(draw.choice(more) for _ in range(3))
    go = draw.choice(words.words("places", "go"))
    company = draw.choice(("friends", "parents", "children"))
    better, other = draw.choice(("better", "more beautiful")), pick(draw, "things").word
    animal, moved, below = pick(draw, "animals"), past(draw, "move"), pick(draw, "animals")
    forms = (
        f"There is a {adjective} {thing} in the {inside}",
        f"I have {number} {things}",
        f"It is {weather} today so we stayed home",
        f"My {relative} likes {doing}",
        f"We will {act} {soon}",
        f"You should not {never} the {thing}",
        f"What is the {of} of the {thing}",
        f"This is my {mine}",
        f"The {was} was {adjective}",
        f"Tomorrow we can go to the {go} with our {company}",
        f"The {thing} is {better} than the {other}",
        f"The {adjective} {animal.word} {moved} over the {adjective} {below.word}",
    )
    if draw.random() < 0.3:
        mention(document, draw, person, settle(person, draw))
        document.add(
            past(draw, "say"),
            draw.choice(("that everything was good", "me about the party", "us a story")),
        )
    else:
        document.add(draw.choice(forms))


def _infinitive(draw: Chance) -> str:
    """The base of an everyday verb."""
    return draw.choice(lexicon().words("verbs", "infinitive"))


def _say_now(document: Document, draw: Chance) -> None:
    """In the present: the boy likes the girl because she sings."""
    (first, one), (second, two) = choose_pair(draw)
    if first.is_thing or "they" in (one, two) or one == two:
        return _say_statement(document, draw)
    subject = mention(document, draw, first, one)
    verb = draw.choice(
        [v for v in lexicon().verbs("handle" if second.is_thing else "social") if v.third]
    )
    document.add(
        draw.choice(
            (verb.third, verb.third, "is looking at", "will see", "is waiting for", "can hear")
        )
    )
    other = mention(document, draw, second, two)
    document.add(draw.choice(("because", "because", "so", "but", "when", "and")))
    chosen, _ = choose_antecedent(draw, subject, other)
    query = document.add(chosen.pronoun)
    document.relations.append(
        Relation("pronoun", query, chosen.place, (subject.place, other.place))
    )
    acts = [a for a in chosen.noun.family.acts if a.third]
    if acts and draw.random() < 0.6:
        document.add(draw.choice(acts).third, draw.choice(("", "every day", "often", "well")))
    else:
        document.add(
            draw.choice(("is", "is very", "is always", "is")),
            draw.choice(chosen.noun.family.traits or ("small",)),
        )
    return None
