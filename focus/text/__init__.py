"""Turns bytes into text, text into words, and anything into safe lines for a terminal.

    charset        the character encoding of a page, and its text
    codecs         the decoders of the WHATWG Encoding Standard, where Python's differ
    tokenisation   folding, Chinese segmentation, tokens
    inflection     the singular and the plural of an English word
    formatting     printable text, times, sizes and tables for people
    templates      a package's HTML templates, in the reader's language

A page's bytes become text by `charset.decode` and words by `Segmenter.tokens`; whatever of it is
shown to a person goes through `formatting.printable` first, since a title off the web may hold
terminal commands. `charset` chooses the encoding and `codecs` decodes by it.

Nothing here knows a page's markup, a topic or a score. All of it is pure but the dictionary of the
segmenter, which is loaded once.

What surprised us: labels lie, the bytes of UTF-8 do not. A page that is valid UTF-8 with a few
characters beyond ASCII is UTF-8 whatever its header says, and the cheapest test comes first. And
Python's codecs and the standard's differ in nearly every East Asian encoding: the tables in
`codecs` were found by decoding every one- and two-byte sequence.
"""
