"""The English words of `mha_core.sizes`: refusals and notes, by key."""

from __future__ import annotations

SIZES_MESSAGES: dict[str, str] = {
    "sizes.file.missing": (
        "{path}: no such file, or it cannot be read. Give the path of a config.json."
    ),
    "sizes.file.large": (
        "The file has {size} bytes; a config.json has a few thousand, and {limit} are read at "
        "most. Give the model's config.json, not its weights."
    ),
    "sizes.file.empty": "The file is empty. A config.json is a JSON object: {{…}}.",
    "sizes.file.encoding": (
        "Byte {place} is not {encoding}. Save the file as UTF-8, or with a byte order mark."
    ),
    "sizes.file.html": (
        "This is a web page (it begins with <), not JSON. Download the raw file instead."
    ),
    "sizes.file.lfs": (
        "This is a Git LFS pointer, not the file it stands for. Fetch the file itself with "
        "git lfs pull."
    ),
    "sizes.file.binary": (
        "The file holds zero bytes, so it is no text. Give the model's config.json."
    ),
    "sizes.gguf.library": (
        "Reading a GGUF file needs the package gguf, which is not installed here. Install it, or "
        "give the model's config.json."
    ),
    "sizes.gguf.broken": (
        "{path} begins as a GGUF file, but its header is cut short or damaged. Give the whole "
        "file, or as much of its front as holds the header."
    ),
    "sizes.json.syntax": (
        "Not JSON: line {line}, column {column} has {found!r} where a value, a comma or a closing "
        "bracket was expected. Correct it there."
    ),
    "sizes.json.comma": (
        "Not JSON: a comma before the closing bracket at line {line}, column {column}. Remove it."
    ),
    "sizes.json.comment": (
        "Not JSON: a comment at line {line}, column {column}. JSON has no comments; remove it."
    ),
    "sizes.json.truncated": (
        "Not JSON: the text ends at line {line}, column {column} before its last bracket or "
        "quotation mark is closed. Copy the whole file."
    ),
    "sizes.json.twice": (
        "The key {name} is there twice with two values. Keep the one that is meant."
    ),
    "sizes.json.deep": "The objects are nested too deeply for a config. Give a config.json.",
    "sizes.json.object": (
        "The file holds a JSON {kind}; a config is an object with keys: {{…}}. Give the model's "
        "config.json."
    ),
    "sizes.keys.none": (
        "The object has no keys; expected hidden_size, num_attention_heads and "
        "num_hidden_layers. Give the model's config.json."
    ),
    "sizes.keys.missing": (
        "{name} is missing (looked for {names}); expected a positive whole number. Add it, or "
        "give the model's whole config.json."
    ),
    "sizes.value.kind": "{name} = {value}: expected a positive whole number. Correct it.",
    "sizes.value.name": (
        "{name} = {value}: expected the name of an architecture, as text. Correct it."
    ),
    "sizes.value.nan": "{name} is NaN: expected a positive whole number. Correct it.",
    "sizes.value.whole": "{name} = {value}: expected a whole number. Correct it.",
    "sizes.value.positive": "{name} = {value}: expected a whole number above zero. Correct it.",
    "sizes.value.absurd": (
        "{name} = {value}: expected a whole number of at most {limit}. Correct it."
    ),
    "sizes.value.long": (
        "{name} is a list of {length} entries; expected at most {limit}. Correct it."
    ),
    "sizes.divide": (
        "{d_name} = {d_model} is not divisible by {h_name} = {n_heads}, and no head_dim is "
        "given; expected a head count that divides {d_model}, or head_dim. Correct one of them."
    ),
    "sizes.share": (
        "{h_name} = {n_heads} is not divisible by {kv_name} = {n_kv_heads}; expected KV heads "
        "that the query heads can share equally. Correct one of them."
    ),
    "sizes.tokens": "n_tokens = {n_tokens}: expected at least 1 token. Choose 1 or more.",
    "sizes.dtype": "dtype = {dtype}: expected one of {known}. Choose one of them.",
    "sizes.fits.unknown": (
        "What fits beside the weights is not known: their bytes or the cache are null. Build the "
        "model, or choose a precision."
    ),
    # What was odd but readable.
    "sizes.note.gguf": (
        "{name} is a GGUF file: shapes and parameters are those of the {count} tensors its header "
        "names."
    ),
    "sizes.note.gguf_bytes": "Its tensors take {size} bytes, {bits} bits a number on average.",
    "sizes.note.encoding": (
        "The file is {encoding} with a byte order mark; JSON is usually UTF-8 without one."
    ),
    "sizes.note.shortened": (
        "{count} names in the quantisation block were left out of the box; no size depends on them."
    ),
    "sizes.note.surrogate": (
        "The file holds a broken character (a lone surrogate); a replacement mark stands for it."
    ),
    "sizes.note.number": "{name} was given as {value}; read as {number}.",
    "sizes.note.infinite": "{name} is {value}, which is no JSON number; no size depends on it.",
    "sizes.note.null_head": "{name} is null: d_head is derived, {d_head}.",
    "sizes.note.null_kv": "{name} is null: {n_kv_heads} KV heads, {source}.",
    "sizes.note.rope": "RoPE is set in {name} (kind: {kind}); it turns angles and changes no size.",
    "sizes.note.no_vocabulary": (
        "{name} = -1 means that the tokenizer has it: the vocabulary is not known, and totals are "
        "null."
    ),
    "sizes.note.spelling": (
        "The keys are those of {kind}; they are read as {model_type}, which computes the same."
    ),
    "sizes.note.renamed": "{old} is an older name; read as {new}.",
    "sizes.note.inferred": (
        "No model_type; the keys are those of {model_type}, so it is read as {model_type}."
    ),
    "sizes.note.by_class": (
        "model_type {model_type} is not among the architectures of transformers {version}; the "
        "class named in architectures, {name}, is, and was used."
    ),
    "sizes.note.storage_unknown": (
        "How {name} stores its weights is not known here, so their bytes are null."
    ),
    "sizes.note.storage_mixed": (
        "The file stores its weights in several ways ({name}; {other}), so their bytes are null. "
        "Choose one precision for all of them."
    ),
    "sizes.note.quantized": (
        "The weights are stored quantised; parameters are counted, not their bytes on disk."
    ),
    # What was assumed or derived, and from where.
    "sizes.note.defaults": ("Not in the file, filled in by transformers' {model_type}: {listed}."),
    "sizes.note.all_heads": (
        "The file states no KV heads; this family then has as many as query heads, {n_kv_heads}."
    ),
    "sizes.note.activation": (
        "{name} = {value} is not an activation of transformers; no shape depends on it."
    ),
    "sizes.note.gated": (
        "{name} = {value} gates the MLP by one more matrix, which this class does not have: base "
        "and total are null."
    ),
    "sizes.note.absent_part": (
        "{name} is not in the file: the part under that name is made up by transformers, so total "
        "is null; base, where it is given, counts what is made up."
    ),
    "sizes.note.main": "The sizes at the top are those of {name}; every part is under entries.",
    "sizes.note.shapes_win": (
        "{name} from the file is {stated}, from the built model {built}; the model's is reported."
    ),
    "sizes.note.gate": (
        "w_q has twice the rows of the queries: it also makes a gate for the output."
    ),
    "sizes.note.fused": "q, k and v are one stored matrix {shape} ({name}); shown cut in three.",
    "sizes.note.latent": (
        "Low rank: w_q and w_k are chains of two matrices, the first applied first; keys and "
        "values come from the same chain, so w_v is null. Cached are the latent and the rotary "
        "key, {elements} numbers a layer."
    ),
    "sizes.note.shared": (
        "One projection makes keys and values; it is shown twice and counted once."
    ),
    "sizes.note.keys_are_values": (
        "{count} layers have no w_v, which is null there: their keys serve as values."
    ),
    "sizes.note.kinds": "The attention layers differ: {kinds}. At the top: the first kind.",
    "sizes.note.stages": (
        "Staged: {depths} layers in {count} stages with their own sizes; n_layers counts the "
        "stages, and the shapes at the top are the first stage's."
    ),
    "sizes.note.other_width": (
        "The projections read {reads} features, not the {width} of the residual stream."
    ),
    "sizes.note.cross_layers": (
        "{count} of {n_layers} layers are cross-attention; they keep keys and values of the other "
        "input, not of these tokens."
    ),
    "sizes.note.repeated": (
        "{n_layers} layers share the parameters of {n_built}; parameters are counted once."
    ),
    "sizes.note.two_sides": (
        "Encoder and decoder: the sizes at the top are the encoder's. Cached for each token are "
        "the decoder's self-attention layers; its cross-attention keeps {elements} numbers more "
        "for each source token."
    ),
    "sizes.note.tied_anyway": (
        "The file says tie_word_embeddings is false, but transformers' {model_type} ties them: "
        "total counts the shared matrix once, and a head stored apart would add to it."
    ),
    "sizes.note.extra_bias": (
        "Beside the projections the layer learns {names}, added to their results; bias says "
        "whether the projection itself has one."
    ),
    "sizes.note.window": "{count} of {n_layers} cached layers keep at most {window} tokens.",
    "sizes.note.no_window": "{name} = {value} means no window here: {reason}.",
    "sizes.note.indexer": (
        "Each layer also keeps the keys of its token selector ({elements} numbers a token), not "
        "counted in the cache."
    ),
    "sizes.note.constant_state": (
        "{count} of {n_layers} layers mix tokens without attention; they keep a state of fixed "
        "size, not counted in the cache."
    ),
    "sizes.note.mlp_layers": (
        "{count} of {n_layers} layers are an MLP and nothing else: they mix no tokens and keep "
        "nothing."
    ),
    "sizes.note.shared_cache": (
        "{count} layers reuse the cache of an earlier layer and keep nothing of their own."
    ),
    # What cannot be known.
    "sizes.note.not_asked": (
        "Totals were not asked for; what only transformers knows of {model_type} is null ({names})."
    ),
    "sizes.note.stands_back": (
        "The quick formula does not hold with {keys} as in this file, so what it would tell is "
        "null ({names})."
    ),
    "sizes.note.plain": (
        "Read as plain attention in every layer, from the width, heads, KV heads and layers that "
        "the file states; what else the model has is not known."
    ),
    "sizes.note.not_plain": (
        "{names}: keys of this kind change what the heads, the projections or the cache are, so "
        "these are null."
    ),
    "sizes.note.unread_attention": (
        "{names} may change the heads, the projections or the cache, and transformers' "
        "{model_type} does not read it: these sizes and the totals are null."
    ),
    "sizes.note.ahead": (
        "{names} asks for layers beside the model that guess further tokens; the class does not "
        "hold them, and they are not counted."
    ),
    "sizes.note.unread_total": (
        "{names} may add or take away parameters, and {model_type} as it is known here does not "
        "read it: base and total are null."
    ),
    "sizes.note.unknown": (
        "model_type {model_type} is not among the architectures of transformers {version} and "
        "is none whose closed form is written here: what the file does not state is null "
        "({names})."
    ),
    "sizes.note.closed": (
        "Totals in closed form for {model_type}: V·d + layers·(attention + 3·d·d_mlp + 2·d) + d, "
        "+ V·d for an untied head."
    ),
    "sizes.note.no_total": "total is null: {reason}.",
    "sizes.note.no_base": "base is null: {reason}.",
    "sizes.note.no_build": (
        "transformers could not build {part}, and what depends on it is null: {reason}"
    ),
    "sizes.note.no_config": (
        "transformers could not build config, and what depends on it is null: {reason}"
    ),
    "sizes.note.contradiction": (
        "The file states {name} = {stated}, but transformers' {model_type} reads {built}: its "
        "totals would be another model's, so shapes and totals are null."
    ),
    "sizes.note.no_architecture": (
        "total is null: the file names no class in architectures, so its head is not known."
    ),
    "sizes.note.foreign_class": (
        "transformers {version} has no class {name}, which the file names; another model of the "
        "same model_type is not put in its place, so shapes, totals and cache are null unless the "
        "file states what they follow from."
    ),
    "sizes.note.foreign_code": (
        "auto_map names code beside the weights ({names}) that transformers {version} does not "
        "have and that is not run: shapes, totals and cache are null unless the file states what "
        "they follow from."
    ),
    "sizes.note.code_beside": (
        "auto_map names code beside the weights ({names}), which is not run; described is "
        "transformers' own {name}, the class that architectures names."
    ),
    "sizes.note.read_as_class": "{name} is read as {own}, the name it has in transformers.",
    "sizes.note.class_wins": (
        "The file says model_type {model_type} and names the class {name}: the class is "
        "described, which reads the file as {own}."
    ),
    "sizes.note.one_part": (
        "{name} is built from {part} alone, so only that part is described and counted."
    ),
    "sizes.note.no_attention": (
        "No softmax attention was found in {model_type}: heads, shapes and cache are null."
    ),
    "sizes.note.unread": (
        "The projections of {path} are laid out in a way not known here: shapes are null."
    ),
    "sizes.note.no_output": "The output projection of {path} was not found: w_o is null.",
    "sizes.note.two_way": (
        "The model reads all its tokens at once and keeps no KV cache: kv_cache is null."
    ),
    "sizes.note.no_cache": "kv_cache is null: {reason}.",
    "sizes.note.not_mla": (
        "use_mla is false: this is plain attention, which transformers' {model_type} does not "
        "build; shapes and totals are null."
    ),
    # Words that the messages above name.
    "sizes.json.kind.list": "list",
    "sizes.json.kind.string": "string",
    "sizes.json.kind.boolean": "boolean",
    "sizes.json.kind.number": "number",
    "sizes.json.kind.null": "null",
    "sizes.source.built": "transformers {version}, meta device",
    "sizes.source.gguf": "the tensors in the file's header",
    "sizes.source.closed": "closed form after {name}",
    "sizes.list": "{listed}; {next}",
    "sizes.word.kind": (
        "{count} × (h {n_heads}, KV heads {n_kv_heads}, d_head {d_head}, window {window})"
    ),
    "sizes.word.no_window": "none",
    "sizes.word.none": "(none)",
    "sizes.spelling.meta": "Meta's params.json",
    "sizes.spelling.mistral": "Mistral's params.json",
    "sizes.spelling.deepseek": "DeepSeek's inference code",
    "sizes.spelling.falcon": "the first Falcon files",
    "sizes.word.it": "it",
    "sizes.word.this_part": "this part",
    "sizes.word.text_part": "the text part",
    "sizes.word.as_queries": "as many as query heads",
    "sizes.word.built": "as in the built model",
    "sizes.word.closed": "by its closed form",
    "sizes.word.by_layer_type": "by layer type",
    "sizes.reason.window_off": "use_sliding_window is false",
    "sizes.reason.window_empty": "a window keeps at least one token",
    "sizes.reason.no_sizes": "vocab_size or intermediate_size is missing",
    "sizes.reason.tie_unstated": "tie_word_embeddings is not stated",
    "sizes.reason.parts_only": "the whole is not known, only its parts",
    "sizes.reason.part_headless": "a part has no head of its own",
    "sizes.reason.part_unbuilt": (
        "transformers builds this part neither alone nor inside the model"
    ),
    "sizes.reason.no_headless": "transformers has no headless class for it",
    "sizes.reason.no_argument": "the model is causal, but its forward takes no cache",
    "sizes.reason.compressed": (
        "keys and values are compressed over several tokens in some layers"
    ),
    "sizes.reason.unread": "{path} could not be read",
    "sizes.reason.unknown_kinds": "layer_types holds a kind not known here ({names})",
    "sizes.reason.heads": "the KV heads could not be read",
    "sizes.reason.tensors": "more than {most} tensors to build",
    "sizes.reason.seconds": "more than {most} seconds to build",
    "sizes.reason.library": "it needs the package {name}, which is not installed here",
    "sizes.reason.key": "it does not take {name} = {value}",
    "sizes.reason.refused": "it does not take the values of this file together",
    "sizes.reason.windows": "which layers keep how much by {names} is not known",
    "sizes.reason.maybe_encoder": "the class may be an encoder",
}
