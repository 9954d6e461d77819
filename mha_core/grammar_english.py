"""English documents: who a pronoun stands for, which noun a verb agrees with, who got the book."""

from __future__ import annotations

import random
from dataclasses import dataclass

from mha_core.grammar import Choice, Document, Relation
from mha_core.lexicon import Lexicon, Noun, Verb, invent_word, load_lexicon, settle

OBJECT = {"he": "him", "she": "her", "it": "it", "they": "them"}
OWNER = {"he": "his", "she": "her", "it": "its", "they": "their"}
SELF = {"he": "himself", "she": "herself", "it": "itself", "they": "themselves"}
LINKS = ("because", "because", "because", "so", "but", "when", "while", "and", ", and", ", but",
         ", so", "until", "although", "before", "after", "and then", ".", ".")  # fmt: skip


ADVERBS = ("also", "just", "really", "still", "never", "always", "often", "only", "already",
           "quickly", "slowly", "quietly", "once")  # fmt: skip


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
    document: Document, draw: random.Random, noun: Noun, pronoun: str, article: str = ""
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
        adjective = (
            draw.choice(lexicon().words("adjectives", "any")) if draw.random() < 0.15 else ""
        )
        if chosen == "a" and (adjective or noun.word)[0] in "aeiou":
            chosen = "an"
        document.add(title(chosen, document), adjective)
        if not adjective and draw.random() < 0.03:
            document.add_unknown(invent_word(draw, "english"))
    place = document.add(noun.plural if many else noun.word)
    return Mention(noun, place, pronoun)


def pick(draw: random.Random, *sections: str) -> Noun:
    """A noun of one of these sections."""
    nouns: list[Noun] = [n for section in sections for n in getattr(lexicon(), section)]
    return draw.choice(nouns)


def pick_pronoun(draw: random.Random, noun: Noun, many: float = 0.0) -> str:
    """The pronoun this noun takes here; they with probability `many` if it has a plural."""
    if noun.plural and draw.random() < many:
        return "they"
    return settle(noun, draw)


def pick_person(draw: random.Random) -> Noun:
    """A person, as often by name as by noun."""
    return pick(draw, draw.choice(("people", "people", "names")))


def opening(document: Document, draw: random.Random) -> None:
    """Sometimes a time before the sentence."""
    if draw.random() < 0.12:
        times = ("Yesterday", "Today", "Last night ,", "Last week ,", "Once", "Then", "In the morning ,",
                 "In the evening ,", "At night ,", "Every day ,", "Last summer ,",
                 "Last winter ,", "Last year ,")  # fmt: skip
        document.add(draw.choice(times))


def adverbial(document: Document, draw: random.Random, chance: float = 0.18) -> None:
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


def past(draw: random.Random, key: str) -> str:
    """The past of a verb of one line of the file."""
    return draw.choice(lexicon().verbs(key)).past


def act_of(draw: random.Random, noun: Noun) -> Verb:
    """Something this noun's family does."""
    return draw.choice(noun.family.acts)


def clause(
    document: Document, draw: random.Random, first: tuple[Noun, str], second: tuple[Noun, str]
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
        document.add(draw.choice(("hurt", "stopped near", "fell on", "fell near", "was near", "was behind")))  # fmt: skip
        return subject, mention(document, draw, other, pronoun)
    form = draw.random()
    key = "chase" if other.is_animal or first[0].is_animal else "social"
    if form < 0.04:
        document.add_unknown(invent_word(draw, "english"))
    elif form < 0.55:
        document.add(past(draw, key))
    elif form < 0.7:
        document.add(past(draw, "give"), draw.choice(("a", "the")), pick(draw, "things").word, "to")
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


def _toward_thing(draw: random.Random, noun: Noun) -> str:
    """What a subject did to, or on, a thing."""
    chance = draw.random()
    if noun.is_thing:
        return draw.choice(("was on", "was in", "fell on", "was near", "did not fit in", "was behind", "was under"))  # fmt: skip
    if noun.is_animal and chance < 0.7:
        return draw.choice(
            (
                "sat on", "slept on", "lay on", "jumped on", "ran to", "jumped over", "ate",
                "broke", "saw", "liked", "found", "lay under", "hid under", "slept in", "drank",
            )
        )  # fmt: skip
    if chance < 0.2:
        return past(draw, "rest") + draw.choice((" on", " near", " in", " beside", " by"))
    if chance < 0.27:
        return draw.choice(("did n't like", "could not find", "wanted to buy", "had to sell",
                            "tried to open", "did not want"))  # fmt: skip
    return past(draw, "handle")


def continuation(document: Document, draw: random.Random, of: Mention, other: Mention | None,
                 task: str = "reference") -> None:  # fmt: skip
    """A pronoun for a mention, and what this noun, not the other, does or is."""
    query = document.add(title(of.pronoun, document))
    candidates = (of.place,) if other is None else (of.place, other.place)
    document.relations.append(Relation("pronoun", query, of.place, candidates))
    was = "were" if of.is_many else "was"
    form = draw.random()
    if form < 0.62:
        act = act_of(draw, of.noun)
        document.add(act.past)
        if other is not None and other.noun.family != of.noun.family:
            wrong = act_of(draw, other.noun).past
            document.choices.append(Choice(task, query, act.past, wrong, of.place, other.place))
    elif form < 0.80:
        before = draw.choice(
            (was, was, was, f"{was} very", f"{was} too", f"{was} so", "looked", "felt")
        )
        document.add(before, draw.choice(of.noun.family.traits or ("small",)))
    elif form < 0.90 or of.noun.is_thing:
        generic = "thing" if of.noun.is_thing else "animate"
        document.add(draw.choice((was, was, f"{was} very", f"{was} not", f"{was} too", "felt")),
                     draw.choice(lexicon().words("adjectives", generic)))  # fmt: skip
    elif form < 0.95:
        document.add(draw.choice(("wanted to", "could not", "had to", "liked to", "did n't want to", "must", "would",
                                  "will", "did not", "could", "should", "can", "tried to")),
                     draw.choice(lexicon().words("verbs", "infinitive")))  # fmt: skip
    else:
        document.add("had", act_of(draw, of.noun).past if draw.random() < 0.5 else "a "
                     + pick(draw, "things").word)  # fmt: skip
    adverbial(document, draw, 0.1)


def _pair(draw: random.Random) -> tuple[tuple[Noun, str], tuple[Noun, str]]:
    """Two nouns with different pronouns; in a small share both take it."""
    kind = draw.random()
    if kind < 0.5:
        first, second = pick_person(draw), pick_person(draw)
        one = pick_pronoun(draw, first, 0.12)
        two = pick_pronoun(draw, second, 0.12)
        if one != two and first.family != second.family:
            return (first, one), (second, two)
        return _pair(draw)
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
        return _pair(draw)
    return (first, one), (second, two)


def _antecedent(draw: random.Random, subject: Mention, other: Mention) -> tuple[Mention, Mention]:
    """Which of the two is taken up: either when the pronouns tell, else mostly the subject."""
    chance = 0.5 if subject.pronoun != other.pronoun else 0.85
    return (subject, other) if draw.random() < chance else (other, subject)


def make_reference(draw: random.Random) -> Document:
    """Two nouns, a link, and a pronoun that takes one of them up; often the other follows."""
    document = Document("en")
    first, second = _pair(draw)
    opening(document, draw)
    fronted = draw.random() < 0.15
    if fronted:
        document.add(title(draw.choice(("when", "after", "because", "while", "before", "although")), document))  # fmt: skip
    subject, other = clause(document, draw, first, second)
    adverbial(document, draw)
    document.add("," if fronted else draw.choice(LINKS))
    chosen, rest = _antecedent(draw, subject, other)
    task = "reference" if chosen.pronoun != rest.pronoun else "reference_same"
    continuation(document, draw, chosen, rest, task)
    if chosen.pronoun != rest.pronoun and draw.random() < 0.4:
        document.add(draw.choice(("and", "but", "because", "so", ".", "while")))
        continuation(document, draw, rest, chosen)
    document.add(".")
    return document


def make_everyday(draw: random.Random) -> Document:
    """A sentence or two of the kind people type."""
    document = Document("en")
    for _ in range(draw.choice((1, 1, 2))):
        draw.choice((_say_statement, _say_single, _say_helped, _say_fit, _say_single, _say_now))(
            document, draw
        )
        document.add(".")
    return document


def _say_single(document: Document, draw: random.Random) -> None:
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
        generic = draw.choice(lexicon().words("adjectives", "any" if noun.is_thing else "animate"))
        go = "went to the " + draw.choice(lexicon().words("places", "go"))
        sat = past(draw, "rest") + " on the " + draw.choice(lexicon().words("places", "on"))
        document.add(draw.choice((
            act_of(draw, noun).past, f"{was} {trait}", f"{was} {generic}",
            *(() if noun.is_thing else (go, go, sat, sat, past(draw, "go") + " home", "could n't sleep")),
        )))  # fmt: skip
    adverbial(document, draw)
    document.add(draw.choice(LINKS[:-2]))
    continuation(document, draw, of, None)


def _say_helped(document: Document, draw: random.Random) -> None:
    """The one who did it and the one it was done to: A thanked B because she helped him."""
    first, second = pick_person(draw), pick_person(draw)
    one, two = settle(first, draw), settle(second, draw)
    if one == two:
        return _say_helped(document, draw)
    subject = mention(document, draw, first, one)
    document.add(past(draw, "social"))
    other = mention(document, draw, second, two)
    document.add(draw.choice(("because", "because", "and", "so", "when", "but", "after")))
    chosen, rest = _antecedent(draw, subject, other)
    query = document.add(chosen.pronoun)
    document.relations.append(
        Relation("pronoun", query, chosen.place, (subject.place, other.place))
    )
    if draw.random() < 0.5:  # the act of its own, so that this row has to look
        document.add(
            act_of(draw, chosen.noun).past, draw.choice(("with", "for")), OBJECT[rest.pronoun]
        )
    else:
        document.add(draw.choice(("had", "did n't", "wanted to", "")), past(draw, "social"), OBJECT[rest.pronoun])  # fmt: skip
    return None


def _say_fit(document: Document, draw: random.Random) -> None:
    """Two things and a size: the trophy does not fit in the suitcase because it is too large."""
    first, second = pick(draw, "things"), draw.choice([n for n in lexicon().things if n.family.name in ("container", "vessel", "vehicle", "building")])  # fmt: skip
    subject = mention(document, draw, first, "it", "the")
    document.add(draw.choice(("does not fit", "did not fit", "does n't fit", "did n't fit", "could not fit")), "in")  # fmt: skip
    other = mention(document, draw, second, "it", "the")
    document.add("because")
    query = document.add("it")
    large = draw.random() < 0.6
    chosen = subject if large else other
    document.relations.append(
        Relation("pronoun", query, chosen.place, (subject.place, other.place))
    )
    document.add(draw.choice(("is", "was")), "too", draw.choice(("large", "big", "long") if large else ("small", "little", "narrow")))  # fmt: skip


def _say_statement(document: Document, draw: random.Random) -> None:
    """A sentence without a pronoun to resolve, over the everyday words."""
    words = lexicon()
    person = pick_person(draw)
    thing = pick(draw, "things").word
    adjective = draw.choice(words.words("adjectives", "any"))
    more = words.words("more", "words")[:28]
    forms = (
        f"There is a {adjective} {thing} in the {draw.choice(words.words('places', 'inside'))}",
        f"I have {draw.choice(('one', 'two', 'three', 'some', 'many'))} {pick(draw, 'things').plural or thing}",
        f"It is {draw.choice(('hot', 'cold', 'dark', 'late', 'good', 'wet', 'raining'))} today so we stayed home",
        f"My {draw.choice(('mother', 'father', 'brother', 'sister', 'friend'))} likes {draw.choice(words.words('verbs', 'ing'))}",
        f"We will {draw.choice(words.words('verbs', 'infinitive'))} {draw.choice(('tomorrow', 'soon', 'now', 'together'))}",
        f"You should not {draw.choice(words.words('verbs', 'infinitive'))} the {thing}",
        f"What is the {draw.choice(more)} of the {thing}",
        f"This is my {draw.choice(more)}",
        f"The {draw.choice(more)} was {adjective}",
        f"Tomorrow we can go to the {draw.choice(words.words('places', 'go'))} with our {draw.choice(('friends', 'parents', 'children'))}",
        f"The {thing} is {draw.choice(('better', 'more beautiful'))} than the {pick(draw, 'things').word}",
        f"The {adjective} {pick(draw, 'animals').word} {past(draw, 'move')} over the {adjective} {pick(draw, 'animals').word}",
    )
    if draw.random() < 0.3:
        mention(document, draw, person, settle(person, draw))
        document.add(past(draw, "say"), draw.choice(("that everything was good", "me about the party", "us a story")))  # fmt: skip
    else:
        document.add(draw.choice(forms))


def _say_now(document: Document, draw: random.Random) -> None:
    """In the present: the boy likes the girl because she sings."""
    (first, one), (second, two) = _pair(draw)
    if first.is_thing or "they" in (one, two) or one == two:
        return _say_statement(document, draw)
    subject = mention(document, draw, first, one)
    verb = draw.choice(
        [v for v in lexicon().verbs("handle" if second.is_thing else "social") if v.third]
    )
    document.add(draw.choice((verb.third, verb.third, "is looking at", "will see", "is waiting for", "can hear")))  # fmt: skip
    other = mention(document, draw, second, two)
    document.add(draw.choice(("because", "because", "so", "but", "when", "and")))
    chosen, rest = _antecedent(draw, subject, other)
    query = document.add(chosen.pronoun)
    document.relations.append(
        Relation("pronoun", query, chosen.place, (subject.place, other.place))
    )
    acts = [a for a in chosen.noun.family.acts if a.third]
    if acts and draw.random() < 0.6:
        document.add(draw.choice(acts).third, draw.choice(("", "every day", "often", "well")))
    else:
        document.add(draw.choice(("is", "is very", "is always", "is")), draw.choice(chosen.noun.family.traits or ("small",)))  # fmt: skip
    return None


def _numbered(draw: random.Random) -> list[Noun]:
    """Nouns with a plural and an act in all forms."""
    return [
        n for n in lexicon().nouns if n.plural and any(a.third and a.is_full for a in n.family.acts)
    ]


def make_agreement(draw: random.Random) -> Document:
    """A subject, a distractor of the other number and another family, then the verb."""
    document = Document("en")
    opening(document, draw)
    nouns = _numbered(draw)
    noun, other = draw.choice(nouns), draw.choice(nouns)
    while other.family == noun.family:
        other = draw.choice(nouns)
    many = draw.random() < 0.5
    other_many = many if draw.random() < 0.25 else not many
    subject = mention(document, draw, noun, "they" if many else "it", "the")
    relative = draw.random() < 0.4
    if relative:
        document.add(draw.choice(("that", "who") if not noun.is_animal else ("that",)))
        distractor = mention(document, draw, other, "they" if other_many else "it", "the")
        verb = draw.choice([v for v in lexicon().verbs("social") if v.third])
        document.add(draw.choice((verb.base if other_many else verb.third, verb.past)))
    else:
        document.add(draw.choice(("near", "with", "behind", "beside", "next to", "by", "of", "to")).strip())  # fmt: skip
        distractor = mention(document, draw, other, "they" if other_many else "it", "the")
    _finish_agreement(document, draw, subject, distractor, "agreement_clause" if relative else "agreement_phrase")  # fmt: skip
    document.add(".")
    return document


def _finish_agreement(
    document: Document, draw: random.Random, subject: Mention, other: Mention, task: str
) -> None:
    """The verb, and what it shows: number, or whose act it is."""
    query, many = document.last, subject.is_many
    document.relations.append(
        Relation("subject", query, subject.place, (subject.place, other.place))
    )

    def form(noun: Noun, plural: bool) -> str:
        verb = draw.choice([a for a in noun.family.acts if a.third])
        return verb.base if plural else verb.third

    if draw.random() < 0.45:
        pair = draw.choice((("are", "is"), ("were", "was"), ("have", "has"), ("do", "does")))
        right, wrong = pair if many else pair[::-1]
        document.add(right)
        rest = {"have": "a", "has": "a", "do": "not", "does": "not"}.get(right)
        if rest == "a":
            document.add("a", pick(draw, "things").word)
        elif rest == "not":
            document.add("not", draw.choice(lexicon().words("verbs", "infinitive")))
        else:
            traits = subject.noun.family.traits or ("small",)
            document.add(draw.choice((*traits, draw.choice(lexicon().words("adjectives", "any")))))
        if many != other.is_many:
            document.choices.append(Choice(task, query, right, wrong, subject.place, other.place))
        return
    verb = draw.choice([a for a in subject.noun.family.acts if a.third])
    right = verb.base if many else verb.third
    document.add(right)
    adverbial(document, draw, 0.2)
    number = verb.third if many else verb.base
    if many != other.is_many and draw.random() < 0.5:
        document.choices.append(Choice(task, query, right, number, subject.place, other.place))
    else:
        document.choices.append(
            Choice("predicate", query, right, form(other.noun, many), subject.place, other.place)
        )


def make_reflexive(draw: random.Random) -> Document:
    """A subject, in most cases a distractor, and herself or her; also whose it is."""
    document = Document("en")
    opening(document, draw)
    noun, other = pick_person(draw), pick_person(draw)
    one, two = pick_pronoun(draw, noun, 0.2), pick_pronoun(draw, other, 0.2)
    if one == two:
        return make_reflexive(draw)
    subject = mention(document, draw, noun, one)
    distractor = None
    if draw.random() < 0.75:
        if draw.random() < 0.6:
            document.add(draw.choice(("near", "with", "behind", "beside", "next to")))
            distractor = mention(document, draw, other, two)
        else:
            document.add("who")
            distractor = mention(document, draw, other, two)
            document.add(past(draw, "social"))
    themselves = draw.random() < 0.5
    verbs = ("hurt", "saw", "washed", "helped", "asked", "blamed", "taught", "cut", "loved", "hid",
             "hated", "found")  # fmt: skip
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


def make_receiver(draw: random.Random) -> Document:
    """Two people, one of whom gives something to the other."""
    document = Document("en")
    words = lexicon()
    names = [n.word for n in (words.names if draw.random() < 0.8 else words.people)]
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
    document.add(draw.choice((f"went to the {place}", f"were at the {place}", f"came to the {place}",
                              f"walked to the {place}", "had dinner", "played", "talked")))  # fmt: skip
    document.add("," if opening_word else draw.choice((".", "and then", ", and")))
    giver_first = draw.random() < 0.5
    giver, receiver = (one, two) if giver_first else (two, one)
    give_article = title(article, document) if article else ""
    again = document.add(give_article + giver)
    document.add(past(draw, "give"), draw.choice(("a", "the")), pick(draw, "things").word)
    query = document.add("to", article) if article else document.add("to")
    target, wrong_place = (second, first) if giver_first else (first, second)
    document.relations.append(Relation("receiver", query, target, (first, second, again)))
    document.choices.append(Choice("receiver", query, receiver, giver, target, wrong_place))
    document.add(receiver, ".")
    return document


def make_measure(draw: random.Random) -> Document:
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
