"""Text: bytes to text, text to words, and output that is safe on a terminal.

    charset — the character encoding of a page, and its text
    codecs — decoders of the WHATWG Encoding Standard where those of Python differ
    visible — characters without a shape, white space, line breaks in Chinese
    tokenisation — folding, Chinese segmentation, tokens
    inflection — singular and plural of an English word
    site_texts — hashes of repeated texts, and the site's name in titles
    formatting — printable text, times, sizes and tables
    reason_labels — plain meanings of the codes of failures and ends
    templates — HTML templates of a package in the language of the reader

The bytes of a page become text by `charset.decode` and words by `Segmenter.tokens`. Text from the
web passes `formatting.printable` before it is shown, because it may contain terminal commands.

It must not know markup, topics or scores. Everything is pure except the dictionary of the
segmenter, which is loaded once.

A page that is valid UTF-8 with a few characters beyond ASCII is UTF-8, whatever its header says.
The tables in `codecs` were found by decoding every one- and two-byte sequence in every encoding.
"""
