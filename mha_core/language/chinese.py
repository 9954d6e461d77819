"""Chinese documents: whom 他, 她 and 它 stand for, and which noun a classifier waits for."""

from __future__ import annotations

from functools import cache

from mha_core.language.documents import Choice, Document, Relation
from mha_core.language.english import Mention, is_minimal
from mha_core.language.lexicon import (
    Chance,
    Lexicon,
    Noun,
    invent_word,
    load_lexicon,
    long_words,
    nouns_of,
    read_pairs,
    settle,
)
from mha_core.language.vocabulary import load_list

PRONOUN = {"he": "他", "she": "她", "it": "它"}
LINKS = ("，因为", "，因为", "，因为", "，所以", "，但是", "，于是", "，可是", "，不过", "，", "。")


ADVERBS = ("也", "都", "就", "才", "又", "再", "已经", "总是", "没", "要", "能", "可以", "在")


def lexicon() -> Lexicon:
    """The Chinese words."""
    return load_lexicon("chinese")


def say(document: Document, *parts: str) -> int:
    """Append words and signs; a sign need not be parted from the word after it."""
    for part in parts:
        for sign in "，。":
            part = part.replace(sign, f" {sign} ")
        document.add(part)
    return document.last


def mention(document: Document, draw: Chance, noun: Noun, pronoun: str) -> Mention:
    """Say a noun, sometimes with a word before it."""
    if not noun.is_name and draw.random() < 0.2:
        classifiers = classifiers_of().get(noun.word, ())
        if noun.is_person and draw.random() < 0.2:
            document.add(draw.choice(lexicon().people).word, "的")
            return Mention(noun, document.add(noun.word), pronoun)
        before = ["我 的", "这 个", "我们 的"]
        if classifiers:
            before += [f"一 {classifiers[0]}", f"那 {classifiers[0]}"]
        document.add(draw.choice(before))
    return Mention(noun, document.add(noun.word), pronoun)


@cache
def classifiers_of() -> dict[str, tuple[str, ...]]:
    """The classifiers of each noun that has one of its own."""
    found: dict[str, tuple[str, ...]] = {}
    for classifier, nouns in (*lexicon().pairs("classifiers"), *_long_pairs()):
        for noun in nouns:
            found[noun] = (*found.get(noun, ()), classifier)
    return found


@cache
def _long_pairs() -> tuple[tuple[str, tuple[str, ...]], ...]:
    """Classifiers of the longer lists with the nouns training says."""
    said = {noun.word for noun in nouns_of("chinese", "long", ("people", "animals", "things"))}
    pairs = read_pairs(load_list("chinese_words")["classifiers"]["pairs"])
    kept = [(c, tuple(word for word in nouns if word in said)) for c, nouns in pairs]
    return tuple((classifier, nouns) for classifier, nouns in kept if nouns)


def pick(draw: Chance, *sections: str) -> Noun:
    """A noun of one of these sections."""
    return draw.noun("chinese", *sections)


def verb_for(draw: Chance, key: str) -> str:
    """A verb of one line of the file, of the longer lists now and then."""
    if key in ("social", "handle") and draw.reaches():
        return draw.choice(long_words("chinese", "verbs", key))
    return draw.choice(lexicon().words("verbs", key))


def common_trait(draw: Chance, noun: Noun) -> str:
    """What any such noun may be after 很: the commonest oftener, 累 before 渴."""
    if draw.reaches():
        return draw.choice(
            long_words("chinese", "adjectives", "thing" if noun.is_thing else "animate")
        )
    return draw.ranked(lexicon().words("adjectives", "any" if noun.is_thing else "animate"))


def pick_person(draw: Chance) -> Noun:
    """A person, as often by name as by noun."""
    return pick(draw, draw.choice(("people", "names")))


def opening(document: Document, draw: Chance) -> None:
    """Sometimes a time before the sentence."""
    if draw.random() < 0.2:
        document.add(
            draw.choice(
                ("昨天", "今天", "早上", "有 一 天 ，", "昨天 早上", "之后", "今天 天气 很 好 ，")
            )
        )


def done(verb: str) -> str:
    """A verb with 了, unless it ends in a result or takes no 了."""
    return (
        verb
        if verb in ("看见", "认识", "爱", "讨厌", "相信", "怕", "给", "喜欢", "等")
        else f"{verb} 了"
    )


def clause(
    document: Document, draw: Chance, first: tuple[Noun, str], second: tuple[Noun, str]
) -> tuple[Mention, Mention]:
    """A main clause with a subject and another noun."""
    words = lexicon()
    subject = mention(document, draw, *first)
    if draw.random() < 0.12:
        document.add(draw.choice(ADVERBS))
    other = second[0]
    place = draw.choice(words.words("places", "all"))
    form = draw.random()
    if other.is_thing:
        if first[0].is_thing:
            document.add(draw.choice(("在", "掉 在", "放 在")))
            object_ = mention(document, draw, *second)
            document.add(draw.choice(("里", "上", "下", "旁边")))
            return subject, object_
        if first[0].is_animal and form < 0.6:
            document.add(draw.choice(("坐 在", "睡 在", "躺 在", "跳 到", "跑 到", "站 在")))
            object_ = mention(document, draw, *second)
            document.add(draw.choice(("上", "上", "里", "下", "旁边")))
            return subject, object_
        if form < 0.4 and not first[0].is_animal:
            document.add("把")
            object_ = mention(document, draw, *second)
            tail = draw.random()
            if tail < 0.5:
                say(
                    document,
                    draw.choice(("放 在", "放 在", "丢 在")),
                    place,
                    "了" if draw.random() < 0.3 else "",
                )
            else:
                say(
                    document,
                    draw.choice(
                        (
                            "打破 了",
                            "卖 了",
                            "丢 了",
                            "洗 了",
                            "修 好 了",
                            "打开 了",
                            "吃 了",
                            "带 回家 了",
                            "拿 走 了",
                        )
                    ),
                )
            return subject, object_
        document.add(done(verb_for(draw, "handle")))
        return subject, mention(document, draw, *second)
    key = "chase" if other.is_animal or first[0].is_animal or first[0].is_thing else "social"
    verb = verb_for(draw, key)
    if draw.random() < 0.08:
        document.add_unknown(invent_word(draw, "chinese"))
        document.add(draw.choice(("了", "着", "过", "")))
        return subject, mention(document, draw, *second)
    if form < 0.42:
        document.add(
            draw.choice(
                (
                    done(verb),
                    done(verb),
                    f"很 {verb}"
                    if verb in ("爱", "讨厌", "相信", "怕")
                    else f"在 {place} {done(verb)}",
                    "喜欢",
                )
            )
        )
        return subject, mention(document, draw, *second)
    if form < 0.57 and key == "social":
        document.add(
            "把",
            pick(draw, "things").word,
            draw.choice(words.words("verbs", "give")),
            "了" if draw.random() < 0.8 else "",
        )
        return subject, mention(document, draw, *second)
    if form < 0.72:
        document.add("被")
        object_ = mention(document, draw, *second)
        passive = [
            v
            for v in words.words("verbs", key)
            if v
            in (
                "批评",
                "表扬",
                "追",
                "骂",
                "救",
                "打",
                "安慰",
                "照顾",
                "邀请",
                "咬",
                "抓",
                "吓",
                "找",
                "看见",
                "喂",
                "原谅",
            )
        ]
        document.add(draw.choice(passive), "了")
        return subject, object_
    if form < 0.87:
        document.add(draw.choice(("和", "跟", "和")))
        object_ = mention(document, draw, *second)
        say(document, draw.choice(("去 了", "在", "来 到")), place)
        return subject, object_
    document.add(draw.choice(("对", "给", "让")))
    object_ = mention(document, draw, *second)
    document.add(
        draw.choice(
            ("很 好", "做饭", "送 了 礼物", "看书", "说 了 一 个 故事", "写 了 信", "买 了 礼物")
        )
    )
    return subject, object_


def continuation(
    document: Document, draw: Chance, of: Mention, other: Mention | None, task: str
) -> None:
    """A pronoun for a mention, and what this noun, not the other, does or is."""
    query = document.add(PRONOUN[of.pronoun])
    candidates = (of.place,) if other is None else (of.place, other.place)
    document.relations.append(Relation("pronoun_zh", query, of.place, candidates))
    form = draw.random()
    if of.noun.family.owns and draw.random() < 0.08:
        document.add("的", draw.choice(of.noun.family.owns))
        document.add(draw.choice(("很 新", "坏 了", "丢 了", "很 旧", "不 见 了", "很 漂亮")))
        return
    if draw.random() < 0.08:
        document.add(draw.choice(ADVERBS))
    if form < 0.6:
        act = draw.choice(of.noun.family.acts).past
        at_once = document.last == query  # no adverb stands between the pronoun and its act
        document.add(act)
        if draw.random() < 0.6:
            document.add("了")
        if other is not None and is_minimal(of, other):
            wrong = draw.choice(other.noun.family.acts).past
            if wrong != act and at_once:
                document.choices.append(Choice(task, query, act, wrong, of.place, other.place))
        return
    if form < 0.77:
        trait = draw.choice(of.noun.family.traits or ("好",))
        document.add(
            draw.choice(
                ("很", "很", "太", "非常", "不", "总是 很", "更", "觉得 很", "看 起来 很", "得 很")
            ),
            trait,
        )
    elif form < 0.92 or of.noun.is_thing:
        document.add(
            draw.choice(("很", "很", "太", "非常", "不", "已经")), common_trait(draw, of.noun)
        )
        if draw.random() < 0.3:
            document.add("了")
    else:
        act = draw.choice(of.noun.family.acts).past
        document.add(draw.choice(("喜欢", "喜欢", "想", "要", "会", "不 想", "需要")), act)


def _pair(draw: Chance) -> tuple[tuple[Noun, str], tuple[Noun, str]]:
    """Two nouns with different pronouns; in a small share both take 它."""
    kind = draw.random()
    if kind < 0.55:
        first, second = pick_person(draw), pick_person(draw)
    elif kind < 0.75:
        first, second = pick_person(draw), pick(draw, "things")
    elif kind < 0.87:
        first, second = pick_person(draw), pick(draw, "animals")
        if draw.random() < 0.5:
            first, second = second, first
    elif kind < 0.97:
        first, second = pick(draw, "animals"), pick(draw, "things")
    else:
        first, second = pick(draw, "things"), pick(draw, "things")
    one, two = settle(first, draw), settle(second, draw)
    if first.family == second.family or (one == two != "it"):
        return _pair(draw)
    if first.pronoun == second.pronoun == "either":  # nothing would tell which is 他
        return _pair(draw)
    return (first, one), (second, two)


def make_reference(draw: Chance) -> Document:
    """One or two nouns, a link, and a pronoun; often the other one follows."""
    document = Document("zh")
    opening(document, draw)
    if draw.random() < 0.15:
        _single(document, draw)
        say(document, "。")
        return document
    first, second = _pair(draw)
    fronted = draw.choice(("因为", "虽然", "如果"))
    document.add(fronted)
    subject, other = clause(document, draw, first, second)
    if draw.random() < 0.08:
        document.add_unknown(invent_word(draw, "chinese"))
    say(
        document,
        "的 时候 ，"
        if not fronted and draw.random() < 0.08
        else "，"
        if fronted
        else draw.choice(LINKS),
    )
    chance = 0.5 if subject.pronoun != other.pronoun else 0.85
    chosen, rest = (subject, other) if draw.random() < chance else (other, subject)
    differ = chosen.pronoun != rest.pronoun
    continuation(document, draw, chosen, rest, "reference_zh" if differ else "reference_zh_same")
    if differ and draw.random() < 0.4:
        say(document, draw.choice(("，", "，但是", "，因为", "，所以", "。", "，可是")))
        continuation(document, draw, rest, chosen, "reference_zh")
    say(document, "。")
    return document


def _single(document: Document, draw: Chance) -> None:
    """One noun and its pronoun: 老师没有来，因为他病了."""
    noun = pick(draw, "people", "names", "animals", "things")
    pronoun = settle(noun, draw)
    if draw.random() < 0.35:
        say(
            document,
            draw.choice(("我", "我们", "你", "他们")),
            done(verb_for(draw, "handle" if noun.is_thing else "social")),
        )
        of = mention(document, draw, noun, pronoun)
    else:
        of = mention(document, draw, noun, pronoun)
        go = draw.choice(lexicon().words("verbs", "go"))
        place = draw.choice(lexicon().words("places", "all"))
        plain = f"很 {common_trait(draw, noun)}"
        say(
            document,
            plain
            if noun.is_thing
            else draw.choice(
                (
                    plain,
                    f"没有 {go}",
                    f"在 {place} {go}",
                    f"每 天 都 去 {place}",
                    f"{go} 了",
                    "没有 去 学校",
                    "今天 没有 工作",
                    "不 想 吃 饭",
                )
            ),
        )
    say(document, draw.choice(LINKS[:-1]))
    continuation(document, draw, of, None, "reference_zh")


def _animate_classifiers() -> list[tuple[str, list[str]]]:
    """Classifiers with the people and animals they count."""
    nouns = {noun.word for noun in lexicon().nouns if not noun.is_thing}
    pairs = [
        (c, [n for n in counted if n in nouns]) for c, counted in lexicon().pairs("classifiers")
    ]
    return [(classifier, counted) for classifier, counted in pairs if len(counted) > 1]


def make_classifier(draw: Chance) -> Document:
    """A classifier, a relative clause with another noun in it, then the noun it waits for.

    In many the other noun has a classifier too: 那把那只猫喜欢的椅子.
    """
    document = Document("zh")
    opening(document, draw)
    pairs = _long_pairs() if draw.reaches() else lexicon().pairs("classifiers")
    classifier, nouns = draw.choice(pairs)
    owned = draw.random() < 0.4
    if owned:
        document.add(draw.choice(("我", "他", "她", "我们", pick_person(draw).word)))
        document.add(draw.choice(("喜欢", "想 要", "看见 了", "有", "需要", "找到 了")))
    document.add(draw.choice(("那", "这", "一", "两", "那")))
    target = document.add(classifier)
    candidates, wrong, distractor = [target], "", None
    chance = draw.random()
    if chance < 0.75:
        inner, counted = draw.choice(_animate_classifiers())
        if chance < 0.5 and inner != classifier:
            said, wrong = draw.sample(counted, 2)
            distractor = document.add(draw.choice(("那", "这", "一")), inner)
            candidates.append(distractor)
            document.add(said)
        else:
            candidates.append(document.add(pick_person(draw).word))
        for words in (ADVERBS, ("昨天", "今天"), ("在 公园", "在 家", "在 学校", "在 商店")):
            if draw.random() < 0.3:
                document.add(draw.choice(words))
        document.add(draw.choice(("喜欢", "看见", "需要", "讨厌", "认识", "找到", "想 要")))
        query = document.add("的")
    else:
        degree = draw.choice(("", "很", "非常"))
        query = document.add(degree, draw.choice(lexicon().words("adjectives", "any")), "的")
    right = draw.choice(nouns)
    document.relations.append(Relation("classifier_zh", query, target, tuple(candidates)))
    if distractor is not None and wrong not in nouns:
        document.choices.append(Choice("classifier_zh", query, right, wrong, target, distractor))
    document.add(right)
    if not owned:
        document.add(
            draw.choice(("很", "不", "太", "非常")),
            draw.choice(lexicon().words("adjectives", "any")),
        )
    say(document, "。")
    return document
