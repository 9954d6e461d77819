"""Errors that a reader can act on.

An error carries a *key* and *values*. `str(error)` is its English text; a page shows the
same key in the reader's language (`mha_view/locales/zh` holds `error.<key>` for every key here).
Every text says what was given, what was expected, and what to do.
"""

from __future__ import annotations

from mha_core.own_code_messages import OWN_CODE_MESSAGES
from mha_core.real_messages import REAL_MESSAGES
from mha_core.sizes_messages import SIZES_MESSAGES

MESSAGES: dict[str, str] = {
    "heads.divide": (
        "d_model = {d_model} cannot be shared equally by {n_heads} heads: d must be divisible "
        "by h. Choose an h that divides {d_model}, or set d_head yourself."
    ),
    "weights.file": (
        "{path} cannot be read as safetensors: {reason}. Give the path of a weights file that "
        "training wrote."
    ),
    "weights.format": (
        "{path} names the format {format}; expected “{expected}”. Give a weights file that this "
        "project's training wrote."
    ),
    "weights.hash": (
        "The numbers in {path} do not match the checksum written with them: the file was changed "
        "or damaged. Restore it or train again."
    ),
    "weights.sizes": (
        "{path} says that its model has the sizes {sizes}; expected those of ModelConfig. Restore "
        "the file or train again."
    ),
    "weights.vocabulary": (
        "{path} was trained with another vocabulary than this one. Train again, or restore the "
        "vocabulary it was trained with."
    ),
    "weights.tensor": (
        "In {path} the tensor {name} has shape {found}; the sizes ask for {expected}. Restore the "
        "file or train again."
    ),
    "report.file": (
        "{path} holds no measured figures that can be read ({reason}). Write them with "
        "`python -m mha_core.evaluate --write`."
    ),
    "report.weights": (
        "{path} was measured on the weights {found}, these are {expected}. Measure these with "
        "`python -m mha_core.evaluate --write`."
    ),
    "report.model": (
        "The model was not read from a weights file, so its figures cannot be kept with its hash. "
        "Save it and load it first."
    ),
    "report.card": (
        "The model card has places for {found}; expected one for each of {expected}. Put "
        "`<!-- measured: NAME -->` and `<!-- end -->` round each."
    ),
    "ablation.documents": "A mean needs at least one document. Give some token sequences.",
    "ablation.means": (
        "Mean ablation needs each head's mean output. Pass means=mean_heads(model, documents), or "
        "choose mode='zero'."
    ),
    "ablation.other": (
        "Exact ablation needs what the heads give in another run. Pass other=model.run(ids), or "
        "choose mode='zero' or mode='mean'."
    ),
    "pattern.open": (
        "Line {line}: a “<” or “>” stands alone in “{text}”. A slot is written <she> or "
        "<red|blue>; write \\< for the sign itself."
    ),
    "pattern.slot": (
        "Line {line}: {slot} names no kind of word. Choose one of {kinds}, or give words with bars "
        "between them, as in <red|blue>."
    ),
    "pattern.out": (
        "Line {line}: {slot} has no word left: its kind has {n}, and no kind gives one twice in a "
        "sentence. Use fewer such slots, or give words with bars between them."
    ),
    "marks.query": (
        "Line {line} has no query. Put square brackets round the word that looks, as in “because "
        "[she] ran”."
    ),
    "marks.queries": (
        "Line {line} has {n} queries in square brackets; expected one. Leave the brackets round "
        "one word; write \\[ and \\] for the signs themselves."
    ),
    "marks.target": (
        "Line {line} has no target. Put braces {{ }} round the word that should be looked at, "
        "before the query."
    ),
    "marks.nested": (
        "Line {line}: “{second}” stands inside “{first}”. Close the first mark before the next; a "
        "word cannot be query and target at once. Write \\{second} for the sign itself."
    ),
    "marks.unopened": (
        "Line {line}: “{sign}” closes no mark. Put its opening sign before the word, or write "
        "\\{sign} for the sign itself."
    ),
    "marks.unclosed": (
        "Line {line}: “{sign}” is not closed. Put “{end}” behind the word, or write \\{sign} for "
        "the sign itself."
    ),
    "marks.empty": "Line {line}: {sign} stands round nothing. Put it round a word.",
    "marks.cut": (
        "Line {line}: a mark cuts through “{token}”, which is one token. Put the mark round all of "
        "it."
    ),
    "marks.after": (
        "Line {line}: the target “{target}” does not stand before the query, and no head looks "
        "ahead. Mark a target that stands before the query."
    ),
    "marks.long": ("Line {line} has {n} tokens; at most {most} are read. Shorten the sentence."),
    "marks.many": ("There are {n} sentences; at most {most} are read at a time. Leave some out."),
    "marks.text": ("The sentences have {n} characters; at most {most} are read. Leave some out."),
    "claim.few": (
        "There are {n} different sentences; at least {least} are needed, so that one half can "
        "choose and the other report. Add sentences, or write a pattern."
    ),
    "claim.heads": "No head is chosen. Choose at least one, or all of them.",
    "everyday.word": (
        "“{word}” stands {count} times in “{text}”; expected once. Write the sentence so that the "
        "word is whole and stands once."
    ),
    "train.recipe": (
        "{path} was written by a run with {found}; asked for was {asked}. Resume with the same "
        "recipe, or train into another folder."
    ),
    "model.layers": (
        "d_mlp = {d_mlp} names no model: expected one number per layer, 0 or more, at least one. "
        "Use 0 for a layer without an MLP."
    ),
    "notebook.labels": (
        "{given} labels were given for {n_tokens} tokens. Give one label a token, or leave labels "
        "out."
    ),
    "model.head": (
        "Layer {layer}, head {head} does not exist: the model has {n_layers} layers of {n_heads} "
        "heads, counted from 0. Choose one of those."
    ),
    "model.path": (
        "No path leads from layer {layer}, head {head} to “{part}” of layer {receiver}: what it "
        "adds is read there only from layer {first} to layer {last}. Choose a receiver that comes "
        "after it (“out” comes after the last layer)."
    ),
    "circuit.lengths": (
        "The first sentence has {first} tokens, the second {second}, `<bos>` counted. A head's "
        "output is put in place by place: change words, not their number."
    ),
    "circuit.same": (
        "Both sentences are the same or ask for the same word, so nothing can move from one to "
        "the other. Change a word that the next word depends on."
    ),
    "circuit.nothing": (
        "After the second sentence the model prefers the first one's word no less than after the "
        "first. Choose sentences or words that it tells apart."
    ),
    "model.edit": (
        "A value among the edits has the shape {shape}; expected one that spreads to {expected}. "
        "Give one vector, or one a token."
    ),
    "vocabulary.file": (
        "{file} cannot be read as TOML: {reason}. Expected tables of words; correct the line "
        "named or restore the file."
    ),
    "vocabulary.word": (
        "“{word}” is not a word of the toy vocabulary. Choose a word it holds, or encode the "
        "text to get its pieces."
    ),
    "vocabulary.number": (
        "Token {number} is outside the vocabulary of {size} tokens. Choose a number from 0 to "
        "{size} - 1."
    ),
    "heads.groups": (
        "{n_kv_heads} KV heads cannot serve {n_heads} query heads equally: h must be "
        "divisible by the number of KV heads. Choose a number that divides {n_heads}."
    ),
    "heads.shapes": (
        "q {q}, k {k} and v {v} do not fit together: expected q [..., head, query, d_head], k"
        " [..., kv_head, key, d_head], v [..., kv_head, key, d_value], none of them empty. Check"
        " the order of the axes."
    ),
    "heads.dtype": (
        "q is {q}, k {k} and v {v}: all three must have one float type. Convert what differs."
    ),
    "heads.sinks": (
        "The sinks have shape {shape}, but there are {n_heads} query heads: expected one number "
        "per head. Give [head]."
    ),
    "size.positive": (
        "{name} = {size} is not a size: expected a whole number of at least 1. Choose another"
        " {name}."
    ),
    "setting.finite": (
        "{name} = {value} cannot be computed with: expected a finite number. Choose another {name}."
    ),
    "setting.positive": (
        "{name} = {value} is out of range: expected a finite number above 0. Choose another {name}."
    ),
    "setting.negative": (
        "{name} = {value} is out of range: expected a number of at least 0. Choose another {name}."
    ),
    "setting.count": (
        "{name} = {value} is out of range: expected a whole number of at least {least}. Choose "
        "another {name}."
    ),
    "setting.sampling": (
        "temperature = {temperature}, top_p = {top_p} is out of range: expected a temperature of "
        "at least 0, and a top_p above 0 and up to 1. Choose others."
    ),
    "setting.choice": (
        "{name} = {value!r} is not known: expected one of {choices}. Choose one of these."
    ),
    "limit.value": (
        "{name} = {value} is no bound: expected a whole number of at least {least}. Set another "
        "one, or leave the variable out."
    ),
    "limit.features": (
        "{asked} features are more than this server computes with: expected at most {most}, "
        "for d and for h · d_head. Choose smaller sizes, or run the app on a machine of your own."
    ),
    "limit.live": (
        "A model of {asked} features is more than this server trains: expected at most {most}. "
        "Choose a smaller one, or run the app on a machine of your own."
    ),
    "limit.sessions": (
        "{n} readers are here already, as many as this server takes. Try again in a minute; your "
        "link keeps everything."
    ),
    "jobs.full": (
        "{n} long computations are waiting already, and more are not taken on. Try again in a "
        "minute, or choose something smaller."
    ),
    "jobs.too_long": (
        "This took longer than {seconds} seconds and was stopped: expected less on this server. "
        "Choose something smaller, or run the app on a machine of your own."
    ),
    "window.negative": (
        "A window cannot reach {reach} tokens to the {side}: expected a whole number of 0 or "
        "more, or None for no limit. The query itself is not counted."
    ),
    "window.pair": (
        "window = {window} is no pair: expected (left, right), how many tokens before and after "
        "the query. Use None for a side without limit."
    ),
    "window.left": "left",
    "window.right": "right",
    "rope.odd": (
        "RoPE cannot turn {width} features: it turns them in pairs, so their number must be "
        "even and at least 2. Choose an even d_head or an even rotary width."
    ),
    "rope.wide": (
        "RoPE cannot turn {width} features of a head that has {d_head}: choose a rotary width"
        " of at most {d_head}."
    ),
    "rope.frequencies": (
        "{count} frequencies do not fit {width} rotated features: expected one for every "
        "pair. Give {width} / 2 of them, or change the rotary width."
    ),
    "rope.table": (
        "The table of cosines and sines is {shape}, but {n_tokens} tokens with {n_pairs} "
        "pairs each are to be turned: expected [position, pair], with a row for every "
        "position."
    ),
    "weights.shape": (
        "{name} has shape {shape}, but these sizes need {expected}, [out, in]. Transpose it "
        "if it came as [in, out], or change the sizes."
    ),
    "weights.norm": (
        "The layer norms queries and keys (qk_norm = {qk_norm!r}), but q_norm or k_norm is "
        "missing. Give both gains, or set qk_norm to None."
    ),
    "weights.norm_bias": (
        "{name} is given, but the norm of queries and keys is {kind!r}, which has no bias. Leave "
        "it out, or set qk_norm_kind to 'layer'."
    ),
    "after.beside": (
        "beside has shape {shape}, but the stream needs {expected}, one vector per token. Give "
        "what was computed for these tokens."
    ),
    "whatif.beside": (
        "An MLP beside attention has read this stream and adds to it, so another stream cannot be "
        "walked with its numbers. Change something else, or walk the new stream anew."
    ),
    "weights.unused": (
        "{name} is given, but the layer does not norm queries and keys. Set qk_norm in the "
        "config, or leave {name} out."
    ),
    "weights.numpy": (
        "The weights are NumPy arrays, but attention computes with tensors. Call "
        "weights.to_torch() first."
    ),
    "weights.extra_keys": (
        "This module appends keys of its own (add_bias_kv or add_zero_attn), which the "
        "article's attention does not have. Build it without them."
    ),
    "input.width": (
        "The tokens have shape {shape}, but this layer reads [..., token, feature] with "
        "{d_model} features. Check d_model and the order of the axes."
    ),
    "input.dtype": (
        "The tokens are {given} and the weights {expected}: x, x_kv and the weights must have one "
        "float type. Convert what differs."
    ),
    "input.tensor": (
        "{name} is of the type {kind}, but attention computes with tensors. Call "
        "torch.as_tensor({name}) first."
    ),
    "input.empty": (
        "{name} has shape {shape}, no token at all: expected [..., token, feature] with at least "
        "one. Give a sentence."
    ),
    "input.batch": (
        "x has shape {x} and x_kv {x_kv}: both must be [..., token, feature] with the same batch "
        "axes in front. Repeat the one that lacks them."
    ),
    "input.device": (
        "{name} is on {given}, but what it meets is on {expected}: everything must be in one "
        "place. Move it there."
    ),
    "cache.shape": (
        "The cache's {name} has shape {shape} in {dtype}, but {new} in {expected} is to follow: "
        "only the number of tokens may differ. Give the cache of the same layer and batch."
    ),
    "norm.bias": (
        "RMSNorm has no bias, but norm_bias is given. Leave it out, or choose norm = 'layer'."
    ),
    "norm.part": (
        "{name} is given, but norm = {norm!r} has no place for it: expected 'rms' or 'layer', "
        "named. Name the norm, or leave {name} out."
    ),
    "norm.shape": (
        "{name} has shape {shape}, but the stream needs {expected}, one number per feature. Check "
        "d_model."
    ),
    "mask.bool": (
        "keep is {dtype}, but a mask here is boolean, True where a query may look. Use keep "
        "== 1 for ones and zeros, or pass numbers to be added as bias."
    ),
    "mask.bias": (
        "bias is {dtype}, but a bias is made of numbers that are added to the scores. Pass a mask "
        "as keep, or convert it to a float type."
    ),
    "mask.offset": (
        "The offset is {given}, but it counts tokens: expected a whole number, or one per "
        "sentence. Convert it."
    ),
    "mask.shape": (
        "{name} has shape {shape}, but the scores are {expected}, [..., head, query, key]. "
        "Give one size per axis that is equal or 1; a mask per sentence needs a head axis of "
        "1."
    ),
    "device.unknown": (
        "{device!r} is not the name of a device. Found here: {found}. Choose one of these."
    ),
    "device.absent": (
        "The device {device!r} was asked for and is not there. Found here: {found}. Choose "
        "one of these, or leave the choice to the program."
    ),
    "device.float64": (
        "The device {device!r} has no float64. Choose float32, or the device 'cpu'."
    ),
    "trace.rank": (
        "The step {name} has shape {shape}, but is declared with the axes {axes}. Give one "
        "length per axis."
    ),
    "trace.axis": (
        "The axis {axis} is {length} long in {name}, but {known} in {other}: one axis has one"
        " length. Check where the two come from."
    ),
    "trace.absent": (
        "This layer makes its queries, keys and values in a way of its own, so the record begins "
        "after them and holds no {symbol} ({name}). Look at the scores, the pattern and what "
        "follows."
    ),
    "trace.cross": (
        "A trace records tokens that look at one another, but keys and values came from x_kv. "
        "Leave x_kv out, or read the steps themselves."
    ),
    "trace.one": (
        "A trace records one sentence, but the batch has shape {shape}. Pick one sentence first."
    ),
    "digits.file": (
        "{name} is not the bundled set of digits: expected images of 8 × 8 with 0 to 16 and labels "
        "0 to 9. Restore the file."
    ),
    "digits.canvas.shape": (
        "The drawing has the shape {shape}; expected {side} × {side} pixels. Draw on a canvas of "
        "that size."
    ),
    "whatif.mask": (
        "The walk's {name} has shape {shape}, but the changed layer needs {expected}: it cannot be "
        "taken over. Give another {name}."
    ),
    "whatif.sinks": (
        "The layer has a sink for each of its {n_heads} heads, and one wide head has one: expected "
        "a layer without sinks. Leave them out first."
    ),
    "decode.ahead": (
        "Token {query} may look at token {later}, which comes later and is not there yet when "
        "decoding; expected a mask that looks back only. Choose the causal mask."
    ),
    "digits.canvas.empty": "The canvas has no ink; expected a digit. Draw one.",
    "vit.patch": (
        "patch = {patch}: expected a number of pixels that divides {side}. Choose 1, 2, 4 or 8."
    ),
    "vit.image": (
        "The image has the shape {shape}; expected {side} × {side}. Bring it to that size first."
    ),
    "vit.weights": (
        "{name} does not hold the weights of the small vision transformer ({reason}). Restore the "
        "file, or train it anew: python -m mha_core.train_vit."
    ),
    **OWN_CODE_MESSAGES,
    **REAL_MESSAGES,
    **SIZES_MESSAGES,
}


class TwelveHeadsError(ValueError):
    """The root of every error this project raises on purpose.

    Args:
        key: which message, a key of `MESSAGES`.
        values: what the message names, by placeholder.

    >>> str(ShapeError("heads.divide", d_model=10, n_heads=4))
    'd_model = 10 cannot be shared equally by 4 heads: d must be divisible by h. Choose an h that divides 10, or set d_head yourself.'
    """  # noqa: E501

    def __init__(self, key: str, **values: object) -> None:
        self.key = key
        self.values = values
        super().__init__(MESSAGES[key].format(**values))

    def __reduce__(self) -> tuple[object, ...]:
        """Say how to make it again: an error of Python's is otherwise made from its text."""
        return _make_error, (type(self), self.key, self.values), self.__dict__


def _make_error(
    kind: type[TwelveHeadsError], key: str, values: dict[str, object]
) -> TwelveHeadsError:
    """Make an error again in another process, or as a copy."""
    return kind(key, **values)


class Note:
    """A remark beside a result, by key and values, like an error that did not stop anything.

    A value that is words, not a name or a number, is a note itself, so that it is told in the
    reader's language too.

    Args:
        key: which remark, a key of `MESSAGES`.
        values: what it names, by placeholder.

    >>> str(Note("sizes.note.no_cache", reason=Note("sizes.reason.heads")))
    'kv_cache is null: the KV heads could not be read.'
    """

    def __init__(self, key: str, **values: object) -> None:
        self.key = key
        self.values = values
        self.text = MESSAGES[key].format(**values)

    def __str__(self) -> str:
        return self.text

    def __repr__(self) -> str:
        return f"Note({self.key!r})"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Note) and str(self) == str(other)

    def __hash__(self) -> int:
        return hash(self.text)


class ShapeError(TwelveHeadsError):
    """Sizes that do not fit together."""


class ConfigError(TwelveHeadsError):
    """A setting outside what it can be."""


class DataError(TwelveHeadsError):
    """A file or a text that cannot be used as it is."""


class DeviceError(TwelveHeadsError):
    """A device that is not there, or lacks a float type."""
