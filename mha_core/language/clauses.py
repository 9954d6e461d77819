"""English: which noun a verb agrees with, who hurt whom, who got the book, a cup of what."""

from __future__ import annotations

from functools import cache

from mha_core.language.documents import Choice, Document, Relation
from mha_core.language.english import (
    OWNER,
    Mention,
    adverbial,
    lexicon,
    mention,
    opening,
    past,
    pick,
    pick_person,
    pick_pronoun,
    some_thing,
    title,
)
from mha_core.language.lexicon import (
    SECTIONS,
    Chance,
    Noun,
    Tier,
    Verb,
    invent_word,
    nouns_of,
    settle,
)

SELF = {"he": "himself", "she": "herself", "it": "itself", "they": "themselves"}

BETWEEN = (
    *("near", "with", "behind", "beside", "next to", "by", "of", "to"),
    *("on", "in", "under", "from", "of", "on", "in"),
)


def present_acts(noun: Noun) -> list[Verb]:
    """The acts of a noun's family that have a present."""
    return [act for act in noun.family.acts if act.third]


def _count_noun(draw: Chance) -> Noun:
    """A noun whose plural can be told from its singular; one with a present act twice as often."""
    if draw.reaches():
        return draw.choice(_countable("long"))
    return draw.choice(_countable("core"))


@cache
def _countable(tier: Tier) -> tuple[Noun, ...]:
    """The nouns of a tier that have a plural; those with a present act twice."""
    every = nouns_of("english", tier, SECTIONS)
    nouns = [noun for noun in every if noun.plural not in ("", noun.word)]
    return (*nouns, *(noun for noun in nouns if present_acts(noun)))


def make_agreement(draw: Chance) -> Document:
    """A subject, a distractor of the other number and another family, then the verb."""
    kind = draw.random()
    if kind < 0.25:
        return _make_quantity(draw)
    if kind < 0.5:
        return _make_empty_subject(draw)
    document = Document("en")
    opening(document, draw)
    noun, other = _count_noun(draw), _count_noun(draw)
    while other.family == noun.family:
        other = _count_noun(draw)
    many = draw.random() < 0.5
    other_many = many if draw.random() < 0.25 else not many
    subject = mention(document, draw, noun, "they" if many else "it", "the")
    second = (other, "they" if other_many else "it")
    relative = draw.random() < 0.4
    distractor = _insert(document, draw, noun, second, relative)
    task = "agreement_clause" if relative else "agreement_phrase"
    if draw.random() < 0.3:
        third = _count_noun(draw)
        _insert(document, draw, other, (third, draw.choice(("they", "it"))), False)
        task = ""
    _finish_agreement(document, draw, subject, distractor, task)
    document.add(".")
    return document


def _insert(
    document: Document, draw: Chance, noun: Noun, other: tuple[Noun, str], relative: bool
) -> Mention:
    """Another noun between a subject and its verb: near the wolves, or in a relative clause."""
    if not relative:
        document.add(draw.choice(BETWEEN))
        return mention(document, draw, *other, "the")
    document.add(draw.choice(("that", "who") if not noun.is_animal else ("that",)))
    verb = draw.choice([v for v in lexicon().verbs("social") if v.third])
    if draw.random() < 0.7:
        document.add(verb.past)
        return mention(document, draw, *other, "the")
    distractor = mention(document, draw, *other, "the")
    document.add(draw.choice((verb.base if distractor.is_many else verb.third, verb.past)))
    return distractor


# Before "the kings": how many, and whether the verb is plural.
QUANTITIES = (
    *(("some of", True), ("many of", True), ("all of", True), ("both of", True)),
    *(("two of", True), ("three of", True), ("one of", False), ("each of", False)),
    ("no one but", False),
)


def _make_quantity(draw: Chance) -> Document:
    """Some of the kings near the wolves rule: the noun in the phrase says what they do.

    No noun stands where a subject mostly stands, so a head has to make do with the next best one.
    """
    document = Document("en")
    opening(document, draw)
    quantity, many = draw.choice(QUANTITIES)
    document.add(title(quantity, document))
    noun, other = _count_noun(draw), _count_noun(draw)
    mention(document, draw, noun, "they", "the")
    if draw.random() < 0.5 and other.family != noun.family:
        second = (other, draw.choice(("they", "it")))
        _insert(document, draw, noun, second, draw.random() < 0.4)
    _delay(document, draw)
    _add_verb(document, draw, noun, many)
    document.add(".")
    return document


# Subjects that say nothing about what they do, and whether the verb is plural.
EMPTY = (("the one", False), ("this one", False), ("all", True), ("those", True))


def _make_empty_subject(draw: Chance) -> Document:
    """Those near the wolves hunt: the subject says nothing, the noun beside it what they do.

    A head that looks for the subject finds an unknown or an empty word, and needs the next noun.
    """
    document = Document("en")
    opening(document, draw)
    noun = _count_noun(draw)
    subject, many = draw.choice(EMPTY)
    if draw.random() < 0.5:
        document.add(title("the", document))
        document.add_unknown(invent_word(draw, "english"))
    else:
        document.add(title(subject, document))
    _insert(document, draw, noun, (noun, draw.choice(("they", "it"))), draw.random() < 0.4)
    _delay(document, draw)
    _add_verb(document, draw, noun, many)
    document.add(".")
    return document


def _delay(document: Document, draw: Chance) -> None:
    """Sometimes an adverb before the verb, so that the noun before it is not at hand."""
    if draw.random() < 0.25:
        document.add(draw.choice(("always", "often", "never", "still", "also", "really", "only")))


def _add_verb(document: Document, draw: Chance, noun: Noun, many: bool) -> tuple[str, str, bool]:
    """Say what a subject does or is, in the present or the past.

    Returns:
        The verb, its form for the other number, and whether it is an act of the noun's family.
    """
    acts = present_acts(noun)
    if acts and draw.random() >= 0.4:
        verb = draw.choice(acts)
        right, number = (verb.base, verb.third) if many else (verb.third, verb.base)
        document.add(right)
        adverbial(document, draw, 0.2)
        return right, number, True
    pair = draw.choice((("are", "is"), ("were", "was"), ("have", "has"), ("do", "does")))
    right, number = pair if many else pair[::-1]
    document.add(right)
    if right in ("have", "has"):
        document.add(some_thing(draw, "a"))
    elif right in ("do", "does"):
        document.add("not", draw.choice(lexicon().words("verbs", "infinitive")))
    else:
        traits = noun.family.traits or ("small",)
        document.add(draw.choice((*traits, draw.choice(lexicon().words("adjectives", "any")))))
    return right, number, False


def _finish_agreement(
    document: Document, draw: Chance, subject: Mention, other: Mention, task: str
) -> None:
    """The verb, and what it shows: number, or whose act it is; nothing to tell without a task."""
    _delay(document, draw)
    query, many = document.last, subject.is_many
    document.relations.append(
        Relation("subject", query, subject.place, (subject.place, other.place))
    )
    right, number, is_act = _add_verb(document, draw, subject.noun, many)
    others = present_acts(other.noun)
    if not task:
        return
    if is_act and others and (many == other.is_many or draw.random() < 0.5):
        theirs = draw.choice(others)
        wrong = theirs.base if many else theirs.third
        document.choices.append(
            Choice("predicate", query, right, wrong, subject.place, other.place)
        )
    elif many != other.is_many:
        document.choices.append(Choice(task, query, right, number, subject.place, other.place))


def make_reflexive(draw: Chance) -> Document:
    """A subject, in most cases a distractor, and herself or her; also whose it is."""
    document = Document("en")
    opening(document, draw)
    noun, other = pick_person(draw), pick_person(draw)
    one, two = pick_pronoun(draw, noun, 0.2), pick_pronoun(draw, other, 0.2)
    if one == two:
        return make_reflexive(draw)
    subject = mention(document, draw, noun, one)
    distractor = None
    # A doctor may be he or she: with another person beside, nothing would tell.
    if (noun.pronoun != "either" or one == "they") and draw.random() < 0.8:
        if draw.random() < 0.6:
            document.add(draw.choice(("near", "with", "behind", "beside", "next to")))
            distractor = mention(document, draw, other, two)
        else:
            document.add("who")
            distractor = mention(document, draw, other, two)
            document.add(past(draw, "social"))
    themselves = draw.random() < 0.5
    verbs = (
        "hurt",
        "saw",
        "washed",
        "helped",
        "asked",
        "blamed",
        "taught",
        "cut",
        "loved",
        "hid",
        "hated",
        "found",
    )
    query = document.add(draw.choice(verbs) if themselves else past(draw, "handle"))
    right = (SELF if themselves else OWNER)[one]
    candidates = (subject.place,) if distractor is None else (subject.place, distractor.place)
    document.relations.append(Relation("reflexive", query, subject.place, candidates))
    document.add(right)
    if distractor is not None:
        wrong = (SELF if themselves else OWNER)[two]
        task = "reflexive" if themselves else "possessive"
        document.choices.append(Choice(task, query, right, wrong, subject.place, distractor.place))
    if not themselves:
        document.add(pick(draw, "things").word)
    adverbial(document, draw)
    document.add(".")
    return document


def make_receiver(draw: Chance) -> Document:
    """Two people, one of whom gives something to the other."""
    document = Document("en")
    words = lexicon()
    people = words.names if draw.random() < 0.8 else words.people
    if draw.reaches():
        people = nouns_of("english", "long", ("names",))
    names = [n.word for n in people]
    one, two = draw.sample(names, 2)
    article = "" if one[0].isupper() else "the "
    opening_word = draw.choice(("When", "After", "While", ""))
    if opening_word:
        document.add(opening_word)
    first = document.add(
        article.capitalize() + one if article and not opening_word else article + one
    )
    document.add("and")
    second = document.add(article + two)
    place = draw.choice(words.words("places", "go"))
    document.add(
        draw.choice(
            (
                f"went to the {place}",
                f"were at the {place}",
                f"came to the {place}",
                f"walked to the {place}",
                "had dinner",
                "played",
                "talked",
            )
        )
    )
    document.add("," if opening_word else draw.choice((".", "and then", ", and")))
    giver_first = draw.random() < 0.5
    giver, receiver = (one, two) if giver_first else (two, one)
    give_article = title(article, document) if article else ""
    again = document.add(give_article + giver)
    document.add(past(draw, "give"), some_thing(draw, draw.choice(("a", "the"))))
    query = document.add("to", article) if article else document.add("to")
    target, wrong_place = (second, first) if giver_first else (first, second)
    document.relations.append(Relation("receiver", query, target, (first, second, again)))
    document.choices.append(Choice("receiver", query, receiver, giver, target, wrong_place))
    document.add(receiver, ".")
    return document


def make_measure(draw: Chance) -> Document:
    """A cup of tea: what comes after "of" hangs on the measure."""
    document = Document("en")
    pairs = lexicon().pairs("measures")
    (measure, contents), (_, wrong) = draw.sample(pairs, 2)
    person = pick_person(draw)
    mention(document, draw, person, settle(person, draw))
    document.add(
        draw.choice(("bought", "wanted", "brought", "needed", "took", "had", "found")), "a"
    )
    place = document.add(measure)
    query = document.add("of")
    if draw.random() < 0.5:
        query = document.add(draw.choice(("good", "nice", "fresh", "cheap", "very good")))
    right = draw.choice(contents)
    document.relations.append(Relation("measure", query, place, (place,)))
    others = [word for word in wrong if word not in contents]
    if others:
        document.choices.append(Choice("measure", query, right, draw.choice(others), place, None))
    document.add(right)
    adverbial(document, draw)
    document.add(".")
    return document
