"""Certificates for servers of tests."""

import datetime as dt
import ipaddress
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID


def certificate_in(file: Path, name: str = "localhost") -> Path:
    """A key and a certificate for this machine by a name, signed by itself, in one file."""
    key = ec.generate_private_key(ec.SECP256R1())
    issuer = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])
    places = [x509.IPAddress(ipaddress.ip_address("127.0.0.1")), x509.DNSName(name)]
    now = dt.datetime.now(dt.UTC)
    signed = (
        x509.CertificateBuilder(issuer, issuer, key.public_key(), 1)
        .not_valid_before(now - dt.timedelta(days=1))
        .not_valid_after(now + dt.timedelta(days=1))
        .add_extension(x509.SubjectAlternativeName(places), critical=False)
        .sign(key, hashes.SHA256())
    )
    file.write_bytes(
        key.private_bytes(
            serialization.Encoding.PEM,
            serialization.PrivateFormat.PKCS8,
            serialization.NoEncryption(),
        )
        + signed.public_bytes(serialization.Encoding.PEM)
    )
    return file
