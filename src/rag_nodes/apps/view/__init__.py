"""Documents with the chunks of parsers drawn into them, as plain geometry and text: no Gradio.

`page` knows where a text stands on a printed page, `rendered` on what Markdown shows; `rails` puts
chunks beside both, `cut_map` draws all of a document in a strip.
"""
