"""The certificate by which the server of a home proves itself to the clients of that home.

A port of this machine belongs to whoever takes it first. While the server is down, another user's program can take it,
and clients that reconnect would send their password there. So Bolt has TLS, each home has a certificate of its own, and
the clients of a home trust this one and no other: what cannot prove that it has the home's private key fails the
handshake, before a login is sent.

It costs, in pairs on one server with both cores busy: 39 ms for a new connection (69 ms instead of 26), half a
millisecond for a small read (5.3 instead of 4.7), and nothing that could be measured for a load of 10,000 statements.

What else was considered:

- A Unix socket in the home. Neo4j has one, but the Python driver connects only to TCP, and Windows is left out.
- A secret in the home that the server repeats. Neo4j has no such question, and whoever stands between hears the answer.
- Asking the system whose process listens. Between the answer and the connection the process can be another one.

Neo4j's other clients need no certificate: TLS is optional, because Neo4j Browser is a page without it. That gives
nothing away, since it is the client that decides: this package never connects to the server of a home without.
"""

from __future__ import annotations

from datetime import UTC, datetime
from ipaddress import ip_address

from memorygraph.server.settings import HOST

# A clock that is wrong must not lock anybody out, and a pinned certificate is replaced by removing its file.
VALID_FROM = datetime(2000, 1, 1, tzinfo=UTC)
VALID_UNTIL = datetime(9999, 12, 31, 23, 59, 59, tzinfo=UTC)  # "no expiry" in RFC 5280


def make_certificate() -> tuple[str, str]:
    """Make a private key, and its certificate for this machine's loopback address, both as PEM."""
    from cryptography import x509
    from cryptography.hazmat.primitives import hashes, serialization
    from cryptography.hazmat.primitives.asymmetric import ec

    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "memorygraph, the embedded Neo4j of one home")])
    names = x509.SubjectAlternativeName([x509.IPAddress(ip_address(HOST)), x509.DNSName("localhost")])
    identifier = x509.SubjectKeyIdentifier.from_public_key(key.public_key())
    certificate = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(VALID_FROM)
        .not_valid_after(VALID_UNTIL)
        .add_extension(names, critical=False)
        # It vouches for itself and for no other certificate.
        .add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
        .add_extension(identifier, critical=False)
        .add_extension(x509.AuthorityKeyIdentifier.from_issuer_subject_key_identifier(identifier), critical=False)
        .sign(key, hashes.SHA256())
    )
    private = key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )
    return private.decode(), certificate.public_bytes(serialization.Encoding.PEM).decode()
