"""Certificates for tests, made by the openssl command."""

import pathlib
import subprocess


def openssl(*args):
    subprocess.run(["openssl", *map(str, args)], check=True, capture_output=True)


class Authority:
    def __init__(self, folder, name="ca"):
        self.folder = pathlib.Path(folder)
        self.path, self.key = self.folder / f"{name}.pem", self.folder / f"{name}.key"
        openssl(
            "req",
            "-x509",
            "-newkey",
            "ec",
            "-pkeyopt",
            "ec_paramgen_curve:P-256",
            "-nodes",
            "-days",
            30,
            "-subj",
            f"/CN=test {name}",
            "-keyout",
            self.key,
            "-out",
            self.path,
            "-addext",
            "keyUsage=critical,keyCertSign",
        )

    def issue(self, name, alternatives, days=30):
        """The paths of a certificate for the names, such as "DNS:a.example,IP:127.0.0.1", and its key."""
        cert, key, request = (self.folder / f"{name}.{end}" for end in ("crt", "key.pem", "csr"))
        extensions = self.folder / f"{name}.ext"
        extensions.write_text(f"subjectAltName={alternatives}\n")
        openssl(
            "req",
            "-new",
            "-newkey",
            "ec",
            "-pkeyopt",
            "ec_paramgen_curve:P-256",
            "-nodes",
            "-subj",
            "/CN=test",
            "-keyout",
            key,
            "-out",
            request,
        )
        openssl(
            "x509",
            "-req",
            "-in",
            request,
            "-CA",
            self.path,
            "-CAkey",
            self.key,
            "-CAcreateserial",
            "-days",
            days,
            "-extfile",
            extensions,
            "-out",
            cert,
        )
        return cert, key
