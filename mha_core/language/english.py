"""English: nouns, clauses, and who a pronoun stands for."""

from __future__ import annotations

from dataclasses import dataclass

from mha_core.language.documents import Choice, Document, Relation
from mha_core.language.lexicon import (
    PIECE,
    Chance,
    Lexicon,
    Noun,
    Verb,
    invent_word,
    load_lexicon,
    long_words,
    settle,
)

LINKS = (
    "because",
    "because",
    "because",
    "so",
    "but",
    "when",
    "while",
    "and",
    ", and",
    ", but",
    ", so",
    "until",
    "although",
    "before",
    "after",
    "and then",
    ".",
    ".",
)


OWNER = {"he": "his", "she": "her", "it": "its", "they": "their"}

ADVERBS = (
    "also",
    "just",
    "really",
    "still",
    "never",
    "always",
    "often",
    "only",
    "already",
    "quickly",
    "slowly",
    "quietly",
    "once",
)


def lexicon() -> Lexicon:
    """The English words."""
    return load_lexicon("english")


@dataclass(frozen=True, slots=True)
class Mention:
    """A noun said in a document: where, and which pronoun takes it up."""

    noun: Noun
    place: int
    pronoun: str

    @property
    def is_many(self) -> bool:
        """Whether it was said in the plural."""
        return self.pronoun == "they"


def title(word: str, document: Document) -> str:
    """The word with a capital when it opens a sentence."""
    opens = not document.words or document.words[-1] == "."
    return word[:1].upper() + word[1:] if opens else word


def mention(
    document: Document, draw: Chance, noun: Noun, pronoun: str, article: str = ""
) -> Mention:
    """Say a noun, with an article and sometimes an adjective before it."""
    many = pronoun == "they"
    if not noun.is_name:
        chosen = (
            article
            or draw.choices(
                ("the", "my", "our", "his", "her", "your", "their", "a", "this", "that", "every"),
                (16, 1, 0.4, 0.4, 0.4, 0.3, 0.3, *((0,) * 4 if many else (3, 0.4, 0.4, 0.3))),
            )[0]
        )
        if noun.is_person and draw.random() < 0.04:  # the king's doctor
            document.add(title(chosen, document), draw.choice(lexicon().people).word)
            chosen = "'s"
        adjective = adjective_for(draw, noun) if draw.random() < 0.15 else ""
        if chosen == "a" and adjective[:1] != PIECE:
            chosen = "an" if (adjective or noun.text)[0] in "aeiou" else "a"
        document.add(title(chosen, document), adjective)
        if not adjective and draw.random() < 0.03:
            document.add_unknown(invent_word(draw, "english"))
    place = document.add(noun.plural if many else noun.word)
    return Mention(noun, place, pronoun)


def pick(draw: Chance, *sections: str) -> Noun:
    """A noun of one of these sections."""
    return draw.noun("english", *sections)


def some_thing(draw: Chance, article: str) -> str:
    """A thing with its article, an where it is needed."""
    noun = pick(draw, "things")
    return f"{noun.article if article == 'a' else article} {noun.word}"


def adjective_for(draw: Chance, noun: Noun) -> str:
    """Something many nouns may be, of the longer lists now and then."""
    if draw.reaches():
        return draw.choice(long_words("english", "adjectives", general_kind(noun)))
    return draw.choice(lexicon().words("adjectives", "any"))


def general_kind(noun: Noun) -> str:
    """Which general adjectives fit: those of the living or those of things."""
    return "thing" if noun.is_thing else "animate"


def common_trait(draw: Chance, noun: Noun) -> str:
    """What any such noun may be after "it was": the commonest oftener, tired before ready."""
    kind = general_kind(noun)
    if draw.reaches():
        return draw.choice(long_words("english", "adjectives", kind))
    return draw.ranked(lexicon().words("adjectives", kind))


def pick_pronoun(draw: Chance, noun: Noun, many: float = 0.0) -> str:
    """The pronoun this noun takes here; they with probability `many` if it has a plural."""
    if noun.plural and draw.random() < many:
        return "they"
    return settle(noun, draw)


def pick_person(draw: Chance) -> Noun:
    """A person, as often by name as by noun."""
    return pick(draw, draw.choice(("people", "people", "names")))


def opening(document: Document, draw: Chance) -> None:
    """Sometimes a time before the sentence."""
    if draw.random() < 0.12:
        times = (
            "Yesterday",
            "Today",
            "Last night ,",
            "Last week ,",
            "Once",
            "Then",
            "In the morning ,",
            "In the evening ,",
            "At night ,",
            "Every day ,",
            "Last summer ,",
            "Last winter ,",
            "Last year ,",
        )
        document.add(draw.choice(times))


def adverbial(document: Document, draw: Chance, chance: float = 0.18) -> None:
    """Sometimes a place, a time or a manner."""
    if draw.random() >= chance:
        return
    words = lexicon()
    if draw.random() < 0.12:
        document.add_unknown(invent_word(draw, "english"))
        return
    place = draw.choice(words.words("places", "inside"))
    document.add(
        draw.choice(
            (
                f"in the {place}",
                f"in the {place}",
                f"at the {draw.choice(words.words('places', 'go'))}",
                f"near the {draw.choice(words.words('places', 'go'))}",
                draw.choice(words.words("adverbs", "manner")),
                "yesterday",
                "at home",
                "last night",
                "every " + draw.choice(("day", "night", "morning", "week", "summer", "year")),
                "after dinner",
                "for a long time",
                f"into the {place}",
                f"across the {place}",
                f"around the {place}",
                f"out of the {place}",
                f"from the {place}",
                draw.choice(
                    (
                        "up the hill",
                        "down the street",
                        "without a word",
                        "all day",
                        "with some friends",
                    )
                ),
                draw.choice(("here", "there", "now", "then", "once", "soon", "first", "as well")),
                "again",
            )
        )
    )


def past(draw: Chance, key: str) -> str:
    """The past of a verb of one line of the file, of the longer lists now and then."""
    if key in ("social", "handle") and draw.reaches():
        return draw.choice(long_words("english", "verbs", key))
    return draw.choice(lexicon().verbs(key)).past


def act_of(draw: Chance, noun: Noun) -> Verb:
    """Something this noun's family does."""
    return draw.choice(noun.family.acts)


def clause(
    document: Document, draw: Chance, first: tuple[Noun, str], second: tuple[Noun, str]
) -> tuple[Mention, Mention]:
    """A main clause in the past with a subject and another noun in it."""
    subject = mention(document, draw, *first)
    was = "were" if subject.is_many else "was"
    other, pronoun = second
    if draw.random() < 0.1:
        document.add(draw.choice(ADVERBS))
    place = draw.choice(lexicon().words("places", "go"))
    if other.is_thing:
        document.add(_toward_thing(draw, first[0]))
        return subject, mention(document, draw, other, pronoun)
    if first[0].is_thing:
        document.add(
            draw.choice(("hurt", "stopped near", "fell on", "fell near", "was near", "was behind"))
        )
        return subject, mention(document, draw, other, pronoun)
    form = draw.random()
    key = "chase" if other.is_animal or first[0].is_animal else "social"
    if form < 0.04:
        document.add_unknown(invent_word(draw, "english"))
    elif form < 0.55:
        document.add(past(draw, key))
    elif form < 0.7:
        document.add(past(draw, "give"), some_thing(draw, draw.choice(("a", "the"))), "to")
    elif form < 0.78:
        document.add(past(draw, "go"), f"to the {place} with")
    elif form < 0.86:
        passive = (
            "helped",
            "followed",
            "called",
            "invited",
            "saved",
            "caught",
            "loved",
            "hurt",
            "found",
        )
        document.add(was, draw.choice(passive), "by")
    elif form < 0.94:
        document.add(past(draw, "rest"), draw.choice(("near", "beside", "with", "behind")))
    else:
        document.add(was, draw.choice(("angry with", "afraid of", "sorry for")))
    return subject, mention(document, draw, other, pronoun)


def _toward_thing(draw: Chance, noun: Noun) -> str:
    """What a subject did to, or on, a thing."""
    chance = draw.random()
    if noun.is_thing:
        return draw.choice(
            ("was on", "was in", "fell on", "was near", "did not fit in", "was behind", "was under")
        )
    if noun.is_animal and chance < 0.7:
        return draw.choice(
            (
                "sat on",
                "slept on",
                "lay on",
                "jumped on",
                "ran to",
                "jumped over",
                "ate",
                "broke",
                "saw",
                "liked",
                "found",
                "lay under",
                "hid under",
                "slept in",
                "drank",
            )
        )
    if chance < 0.2:
        return past(draw, "rest") + draw.choice((" on", " near", " in", " beside", " by"))
    if chance < 0.27:
        return draw.choice(
            (
                "did n't like",
                "could not find",
                "wanted to buy",
                "had to sell",
                "tried to open",
                "did not want",
            )
        )
    return past(draw, "handle")


_THINGS_ARE = ("gone", "broken", "new", "old", "empty", "ready", "lost", "dirty")


def is_minimal(of: Mention, other: Mention) -> bool:
    """Whether only the antecedent, not the pronoun alone, tells what follows.

    Of a queen and a cup, "it" itself says that a thing's act follows, so a head need not look.
    """
    if of.noun.family == other.noun.family:
        return False
    return of.pronoun == other.pronoun or (of.noun.is_person and other.noun.is_person)


def continuation(
    document: Document,
    draw: Chance,
    of: Mention,
    other: Mention | None,
    task: str = "reference",
) -> None:
    """A pronoun for a mention, and what this noun, not the other, does or is."""
    candidates = (of.place,) if other is None else (of.place, other.place)
    if of.noun.family.owns and draw.random() < 0.1:
        query = document.add(title(OWNER[of.pronoun], document))
        document.relations.append(Relation("owner", query, of.place, candidates))
        document.add(draw.choice(of.noun.family.owns))
        document.add(draw.choice(("was", "was", "looked")), draw.choice(_THINGS_ARE))
        return
    query = document.add(title(of.pronoun, document))
    document.relations.append(Relation("pronoun", query, of.place, candidates))
    was = "were" if of.is_many else "was"
    form = draw.random()
    if form < 0.62:
        act = act_of(draw, of.noun)
        document.add(act.past)
        if other is not None and is_minimal(of, other):
            wrong = act_of(draw, other.noun).past
            document.choices.append(Choice(task, query, act.past, wrong, of.place, other.place))
    elif form < 0.75:
        before = draw.choice(
            (was, was, was, f"{was} very", f"{was} too", f"{was} so", "looked", "felt")
        )
        document.add(before, draw.choice(of.noun.family.traits or ("small",)))
    elif form < 0.90 or of.noun.is_thing:
        document.add(
            draw.choice((*(was,) * 7, f"{was} very", f"{was} not", f"{was} too", "felt")),
            common_trait(draw, of.noun),
        )
    elif form < 0.95:
        document.add(
            draw.choice(
                (
                    "wanted to",
                    "could not",
                    "had to",
                    "liked to",
                    "did n't want to",
                    "must",
                    "would",
                    "will",
                    "did not",
                    "could",
                    "should",
                    "can",
                    "tried to",
                )
            ),
            draw.choice(lexicon().words("verbs", "infinitive")),
        )
    else:
        document.add(
            "had",
            act_of(draw, of.noun).past if draw.random() < 0.5 else some_thing(draw, "a"),
        )
    adverbial(document, draw, 0.1)


def choose_pair(draw: Chance) -> tuple[tuple[Noun, str], tuple[Noun, str]]:
    """Two nouns with different pronouns; in a small share both take it."""
    kind = draw.random()
    if kind < 0.5:
        first, second = pick_person(draw), pick_person(draw)
        one = pick_pronoun(draw, first, 0.12)
        two = pick_pronoun(draw, second, 0.12)
        known = "they" in (one, two) or not (first.pronoun == second.pronoun == "either")
        if one != two and first.family != second.family and known:
            return (first, one), (second, two)
        return choose_pair(draw)
    if kind < 0.68:
        first, second = pick_person(draw), pick(draw, "things")
    elif kind < 0.82:
        first, second = pick_person(draw), pick(draw, "animals")
        if draw.random() < 0.5:
            first, second = second, first
    elif kind < 0.96:
        first, second = pick(draw, "animals"), pick(draw, "things")
    else:
        first, second = pick(draw, "things"), pick(draw, "things")
    one, two = pick_pronoun(draw, first, 0.08), pick_pronoun(draw, second, 0.08)
    if first.family == second.family or (one == two == "they"):
        return choose_pair(draw)
    return (first, one), (second, two)


def choose_antecedent(draw: Chance, subject: Mention, other: Mention) -> tuple[Mention, Mention]:
    """Which of the two is taken up: either when the pronouns tell, else mostly the subject."""
    chance = 0.5 if subject.pronoun != other.pronoun else 0.85
    return (subject, other) if draw.random() < chance else (other, subject)


def make_reference(draw: Chance) -> Document:
    """Two nouns, a link, and a pronoun that takes one of them up; often the other follows."""
    document = Document("en")
    first, second = choose_pair(draw)
    opening(document, draw)
    fronted = draw.random() < 0.15
    if fronted:
        document.add(
            title(
                draw.choice(("when", "after", "because", "while", "before", "although")), document
            )
        )
    subject, other = clause(document, draw, first, second)
    adverbial(document, draw)
    document.add("," if fronted else draw.choice(LINKS))
    chosen, rest = choose_antecedent(draw, subject, other)
    task = "reference" if chosen.pronoun != rest.pronoun else "reference_same"
    continuation(document, draw, chosen, rest, task)
    if chosen.pronoun != rest.pronoun and draw.random() < 0.4:
        document.add(draw.choice(("and", "but", "because", "so", ".", "while")))
        continuation(document, draw, rest, chosen)
    document.add(".")
    return document
