"""What cuts marked sentences into a real model's tokens, and what stands before them."""

from __future__ import annotations

from mha_core.errors import DataError
from mha_core.language.tokenizer import Encoding, Token
from mha_core.real.load import RealModel


class Cutter:
    """Cuts text into a model's tokens; see `mha_core.heads.marks.read_marked`.

    Args:
        model: see `load_model`. One token stands before every text: the one that its tokenizer puts
            there, else the one it has for the beginning or for the end, by which texts were set
            apart in its training.

    Attributes:
        bos: that token.
        is_added: whether the tokenizer does not put it there by itself.

    Raises:
        DataError: there is no such token, or the tokenizer puts several before a text.
    """

    def __init__(self, model: RealModel) -> None:
        tokenizer, read = model.tokenizer, model.encode("a")
        before = next((n for n, special in enumerate(read.special) if not special), 0)
        own = [tokenizer.bos_token_id, tokenizer.eos_token_id]
        numbers = list(read.ids[:before]) or [int(each) for each in own if each is not None][:1]
        if len(numbers) != 1:
            raise DataError("real.start", name=model.name, n=len(numbers))
        self.model = model
        self.is_added = before == 0
        name = str(tokenizer.convert_ids_to_tokens(numbers[0]))
        self.bos = Token(numbers[0], "", 0, 0, "special", name)

    def encode(self, text: str) -> Encoding:
        """A text's tokens, without what stands before it.

        A token that begins with a blank covers its letters only, so that a word can be marked
        without the blank before it.

        Raises:
            DataError: the text has no token, more than the model reads, or half a character.
        """
        read = self.model.encode(text, special=False)
        tokens = []
        for number, label, (start, end) in zip(read.ids, read.labels, read.spans, strict=True):
            piece = text[start:end]
            start = end - len(piece.lstrip()) if piece.strip() else start
            tokens.append(Token(number, piece, start, end, "piece", label))
        return Encoding(text, tuple(tokens))
