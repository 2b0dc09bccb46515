"""Places the documents of `fresh_questions.json`: free manuals that Debian packages, unchanged.

    python benchmarks/fresh_documents.py FOLDER

Each comes from a package of Debian 12, downloaded by `apt-get`, of the version named here, and is
what it was when the questions were written, or this stops. The questions quote sentences of them;
the documents themselves are not part of this project. Their terms: Debian Reference, the New
Maintainers' Guide, the Developer's Reference and the manual of aptitude under the GPL 2 (all but
the third or later), Getting Started in KiCad under the GPL 3 or later or CC BY 3.0 or later, the
manual of FreedomBox under CC BY-SA 4.0, the FAQ of Debian under the terms of its own notice, which
allow copies and changes.
"""

from __future__ import annotations

import argparse
import gzip
import hashlib
import subprocess
import tempfile
from pathlib import Path
from typing import NamedTuple


class Packaged(NamedTuple):
    """A document in a package.

    Attributes:
        package: name and version, as `apt-get download` takes them.
        path: in the package.
        checksum: SHA-256 of the document, hex, unpacked where it is compressed.
    """

    package: str
    path: str
    checksum: str


_FAQ = "usr/share/doc/debian/FAQ"
_APTITUDE = "usr/share/doc/aptitude/html/ru"
DOCUMENTS = {
    "debian-reference.en.txt": Packaged(
        "debian-reference-en=2.100",
        "usr/share/debian-reference/debian-reference.en.txt.gz",
        "fc8dce7f9d076f78432b74cc91555017c855d19d5bbc5b8e7e3ad472f00ec6cf",
    ),
    "kicad-getting-started.en.html": Packaged(
        "kicad-doc-en=6.0.11+dfsg-1",
        "usr/share/doc/kicad/help/en/getting_started_in_kicad.html",
        "8ff66f64bd49d7cdf4dc99b2ed33afaae29ceae0e6c7e111fdbb5dead2790837",
    ),
    "debian-faq-pkg-basics.de.html": Packaged(
        "debian-faq-de=11.1",
        f"{_FAQ}/de/pkg-basics.de.html",
        "2fa8e1d1dc6beded878098a50f0f9f514926a4949b56bd1155c35b36b8e2889c",
    ),
    "maint-guide.fr.txt": Packaged(
        "maint-guide-fr=1.2.53",
        "usr/share/doc/maint-guide-fr/maint-guide.fr.txt.gz",
        "7216298ae910a20a9ab30f05cbb81c7baac66c9cc912f972a05d09c46a116620",
    ),
    "freedombox.es.html": Packaged(
        "freedombox-doc-es=23.6.2+deb12u2",
        "usr/share/freedombox/manual/es/Manual.part.html",
        "05bcd8f5d217957dd09abca078b0d13e47e0b457d9836e3f0f456df23fd05ec5",
    ),
    "debian-faq-customizing.ru.html": Packaged(
        "debian-faq-ru=11.1",
        f"{_FAQ}/ru/customizing.ru.html",
        "08ed11453a0e19598c17dc068c8089929ace9e308f6d79afd099261fa6a34f9e",
    ),
    "aptitude-resolver.ru.html": Packaged(
        "aptitude-doc-ru=0.8.13-5",
        f"{_APTITUDE}/ch02s03s02.html",
        "2521bc02ac9c5be55d7e74d0565b28096e8a0a2f699bc4d40da0b19ff2c9725e",
    ),
    "aptitude-trust.ru.html": Packaged(
        "aptitude-doc-ru=0.8.13-5",
        f"{_APTITUDE}/ch02s02s05.html",
        "8cf97f0be7ab70813789582dde9853b4a9bc9320d53678595048f1b4deb6db31",
    ),
    "aptitude-search-patterns.ru.html": Packaged(
        "aptitude-doc-ru=0.8.13-5",
        f"{_APTITUDE}/ch02s04s05.html",
        "a733f2ce820c1c4758b97d3e0d8a8bb7e70f979da094e8743a2f3ce27059b832",
    ),
    "debian-faq.zh-cn.txt": Packaged(
        "debian-faq-zh-cn=11.1",
        f"{_FAQ}/debian-faq.zh-cn.txt.gz",
        "4a0b20e0c644c37a94e7fdb385bd834dff12ea70cb0cfd928a05435219f07341",
    ),
    "developers-reference-resources.ja.html": Packaged(
        "developers-reference-ja=12.18",
        "usr/share/developers-reference/ja/resources.html",
        "68ed5c9b754c0c8ace3bcfac85334fb8f73e3ead603c70945dff82c8f3787edb",
    ),
}
"""The documents by the names that the questions know them by."""


def place(folder: Path) -> None:
    """Put those that are missing or changed into a folder.

    Raises:
        SystemExit: a package cannot be had, or its document is another than it was.
    """
    folder.mkdir(parents=True, exist_ok=True)
    for name, document in DOCUMENTS.items():
        target = folder / name
        if target.is_file() and _checksum(target.read_bytes()) == document.checksum:
            continue
        content = _unpacked(document)
        if _checksum(content) != document.checksum:
            raise SystemExit(f"{document.package}: {document.path} is not what it was")
        target.write_bytes(content)


def _unpacked(document: Packaged) -> bytes:
    with tempfile.TemporaryDirectory() as where:
        try:
            _run("apt-get", "download", document.package, folder=where)
            (package,) = Path(where).glob("*.deb")
            _run("dpkg-deb", "--extract", str(package), where, folder=where)
        except (OSError, subprocess.CalledProcessError) as error:
            raise SystemExit(f"{document.package} cannot be had here: {error}") from error
        path = Path(where) / document.path
        content = path.read_bytes()
        return gzip.decompress(content) if path.suffix == ".gz" else content


def _run(*command: str, folder: str) -> None:
    subprocess.run(command, cwd=folder, check=True, stdout=subprocess.DEVNULL)  # noqa: S603


def _checksum(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


def main() -> None:
    """Place them where the command line says."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("folder", type=Path)
    place(parser.parse_args().folder)


if __name__ == "__main__":
    main()
