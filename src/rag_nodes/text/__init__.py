"""The pure core: spans, tokens, sentences, Markdown blocks, graphemes and pages of one text.

Nothing here knows a framework, does I/O beyond a tokenizer's vocabulary, or changes a text: every
function takes a `str` and answers with offsets into it.
"""
