"""What is said of a function that a learner has written; merged into `errors.MESSAGES`."""

OWN_CODE_MESSAGES: dict[str, str] = {
    "own.right": (
        "{name} agrees with the library in all {n_cases} cases, each of other sizes and numbers."
    ),
    "own.nothing": (
        "{name} gives back nothing yet; expected an array of shape {expected}. Write its body, "
        "with a return at the end, and run the cell again."
    ),
    "own.raised": (
        "{name} stopped with {error} for {given}; expected an array of shape {expected}. Follow "
        "the shapes line by line with these sizes."
    ),
    "own.no_array": (
        "{name} gives back something that is no array of numbers ({kind}); expected an array of "
        "shape {expected}. Return the array itself."
    ),
    "own.changed": (
        "{name} writes into {given}, which others still need; expected it to be left alone. Make "
        "a new array, or copy before you write."
    ),
    "own.shape": (
        "{name} gives shape {shape} for {given}; expected {expected}, {axes}. Follow the axes line "
        "by line with these sizes."
    ),
    "own.not_finite": (
        "{name} gives numbers that are none (NaN or infinite) for {given}; expected finite ones. "
        "Look for a division by zero or an overflow."
    ),
    "own.differs": (
        "{name} has the right shape, but for {given} the number at {place} is {found}; "
        "expected {right}. Work that one number out by hand."
    ),
    "own.split.no_transpose": (
        "{name} gives the heads one after another in memory, {given}: view(h, S, d_head) hands a "
        "head all features of a few tokens. Expected a few features of all tokens: cut the "
        "features first, [token, head, d_head], then bring the head axis to the front."
    ),
    "own.split.interleaved": (
        "{name} deals the features out in turn, one to each head, for {given}; expected bands: "
        "head 0 has the first d_head features. Cut the last axis into [head, d_head], not "
        "[d_head, head]."
    ),
    "own.split.token_first": (
        "{name} gives [token, head, d_head], {shape}; expected [head, token, d_head], {expected}. "
        "The cut is right: now swap the first two axes."
    ),
    "own.split.turned": (
        "{name} gives [head, d_head, token], {shape}; expected [head, token, d_head], {expected}. "
        "In code tokens are rows: swap the last two axes."
    ),
    "own.split.whole": (
        "{name} gives the array as it came, {shape}; expected {expected}. Cut its last axis into "
        "heads."
    ),
    "own.rotate.not_turned": (
        "{name} turns nothing for {given}; expected every pair turned by position · angle. Use "
        "cosine and sine of the angles."
    ),
    "own.rotate.other_way": (
        "{name} turns the other way for {given}: the signs of the two sines are swapped. Expected "
        "first · cos − second · sin, and second · cos + first · sin."
    ),
    "own.rotate.interleaved": (
        "{name} pairs neighbours, 2p with 2p + 1, for {given}; expected halves: p with "
        "p + d_head / 2. Cut the last axis into two halves."
    ),
    "own.rotate.no_minus": (
        "{name} adds where it must take away, for {given}; expected first · cos − second · sin. "
        "Give the second half a minus sign as it moves to the front."
    ),
    "own.rotate.from_one": (
        "{name} counts positions from 1 for {given}; expected them as they are given, where "
        "position 0 is not turned. Leave the positions alone."
    ),
    "own.rotate.own_positions": (
        "{name} turns as if the positions were 0, 1, 2, …, for {given}; expected the positions "
        "that it is given. Use the argument."
    ),
    "own.rotate.fixed_base": (
        "{name} turns with the base 10000 for {given}; expected the base that it is given. Use the "
        "argument."
    ),
    "own.rotate.exponent": (
        "{name} turns pair p by base^(−p / d_head) a token for {given}; expected "
        "base^(−2p / d_head). There are only d_head / 2 pairs, so the exponent goes in steps of 2."
    ),
    "own.rotate.faster": (
        "{name} lets later pairs turn faster for {given}; expected slower: the exponent is "
        "negative, base^(−2p / d_head). Turn its sign."
    ),
    "own.softmax.mask_after": (
        "{name} masks after the softmax for {given}: rows no longer sum to 1. Expected the mask "
        "first: set what is forbidden to −∞, then take the softmax."
    ),
    "own.softmax.zero_scores": (
        "{name} sets forbidden scores to 0 for {given}, and e^0 = 1 is a weight like any other. "
        "Expected −∞ there, whose exponential is 0."
    ),
    "own.softmax.over_queries": (
        "{name} takes the softmax over the queries for {given}: its columns sum to 1. Expected "
        "rows: use the last axis, the keys."
    ),
    "own.softmax.over_all": (
        "{name} divides by the sum of everything for {given}; expected each row to sum to 1. Sum "
        "over the last axis, and keep it (keepdims) so that the division fits."
    ),
    "own.softmax.reversed": (
        "{name} hides what may be seen for {given}; expected keep = True to mean “may look”. Turn "
        "the mask round."
    ),
    "own.softmax.no_mask": (
        "{name} leaves the mask out for {given}; expected weight 0 where keep is False. Set those "
        "scores to −∞ before the softmax."
    ),
    "own.softmax.not_shared": (
        "{name} gives the exponentials themselves for {given}; expected them divided by the sum of "
        "their row. Divide, so that each row sums to 1."
    ),
    "own.softmax.overflow": (
        "{name} gives NaN or infinity where scores are as large as {largest}, as exp cannot "
        "hold that; expected finite weights. Take each row's largest visible score away first: "
        "the weights stay the same."
    ),
    "own.softmax.hidden_score": (
        "{name} lets a score that must not be seen drown all others, {given}; expected it to count "
        "for nothing. Mask before you look for the largest score and before exp."
    ),
    "own.join.no_transpose": (
        "{name} strings several tokens of one head together for {given}; expected the features of "
        "all heads for one token. Bring the head axis behind the token axis first, then reshape."
    ),
    "own.join.interleaved": (
        "{name} takes a feature from each head in turn for {given}; expected each head's features "
        "together. Reshape [token, head, d_value], not [token, d_value, head]."
    ),
    "own.join.reversed": (
        "{name} puts the last head first for {given}; expected head 0 first. Keep the order of "
        "the heads."
    ),
    "own.join.added": (
        "{name} gives shape {shape}: it adds the heads up, or takes their mean. Expected them side "
        "by side along the features, {expected}: nothing is lost."
    ),
    "own.join.turned": (
        "{name} gives [feature, token], {shape}; expected [token, feature], {expected}. In code "
        "tokens are rows: transpose it."
    ),
    "own.join.more_tokens": (
        "{name} gives shape {shape}, a row for each head and token: that makes new tokens. "
        "Expected {expected}: join along the features."
    ),
    "own.join.not_joined": (
        "{name} gives three axes, {shape}; expected two, {expected}. The axes are in order: now "
        "make one of the last two."
    ),
}
