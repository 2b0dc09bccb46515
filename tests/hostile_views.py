"""What a browser would make of a rendered view, for tests with hostile text in it."""

from html.parser import HTMLParser

PAYLOADS = (
    "<script>alert(1)</script>",
    "<img src=x onerror=alert(1)>",
    "<img src='https://evil.example/p.png'>",
    "<svg onload=alert(1)>",
    "<svg><script>alert(1)</script></svg>",
    "<iframe src=javascript:alert(1)></iframe>",
    "<a href='javascript:alert(1)'>click</a>",
    "<body onload=alert(1)>",
    "<details open ontoggle=alert(1)>",
    "<input autofocus onfocus=alert(1)>",
    "<style>@import 'https://evil.example/x.css';</style>",
    "<link rel=stylesheet href=https://evil.example/x.css>",
    "<meta http-equiv=refresh content='0;url=https://evil.example'>",
    "<base href=https://evil.example/>",
    "<form action=https://evil.example><input name=a></form>",
    "<object data=https://evil.example></object>",
    "<video src=x onerror=alert(1)></video>",
    "<math><mtext></style><img src onerror=alert(1)></math>",
    "</div></article><script>alert(1)</script>",
    "</textarea><img src=x onerror=alert(1)>",
    '" onmouseover="alert(1)',
    "' onmouseover='alert(1)",
    "`onmouseover=alert(1)`",
    "--><script>alert(1)</script><!--",
    "<![CDATA[<script>alert(1)</script>]]>",
    "![pixel](https://evil.example/p.png)",
    "[click](javascript:alert(1))",
    "**<b onclick=alert(1)>bold</b>**",
    "[Source <img src=x onerror=alert(1)>]",
    "${alert(1)}",
    "{{constructor.constructor('alert(1)')()}}",
    "&lt;img src=x onerror=alert(1)&gt;",
    "<scr\x00ipt>alert(1)</scr\x00ipt>",
    "\u202egpj.exe\u2066<img src=x onerror=alert(1)>",
    "\ud800<img src=x onerror=alert(1)>",
)


class Seen(HTMLParser):
    """Tags, attributes and everything else of a piece of HTML that is no text."""

    def __init__(self, html: str) -> None:
        super().__init__(convert_charrefs=True)
        self.tags: set[str] = set()
        self.attributes: set[tuple[str, str | None]] = set()
        self.other: list[str] = []
        self.feed(str(html))
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.add(tag)
        self.attributes.update(attrs)

    def handle_comment(self, data: str) -> None:
        self.other.append(data)

    def handle_decl(self, decl: str) -> None:
        self.other.append(decl)

    def unknown_decl(self, data: str) -> None:
        self.other.append(data)
