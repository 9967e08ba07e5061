#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Clients of `e4replay watch --listen 127.0.0.1:PORT`.

  clients.py PORT polite     makes requests as Prometheus does, and requests for missing paths
  clients.py PORT hostile    sends slow and incomplete requests and huge headers, opens many connections, and does not
                             read answers; meanwhile, a client with a proper request must get its answer
"""
import socket
import sys
import urllib.error
import urllib.request

OPENMETRICS = "application/openmetrics-text;version=1.0.0,text/plain;q=0.5"


def connect(port):
    return socket.create_connection(("127.0.0.1", port), timeout=60)


def get(port, path="/metrics", method="GET", accept="text/plain"):
    request = urllib.request.Request(f"http://127.0.0.1:{port}{path}", method=method,
                                     headers={"Accept": accept})
    try:
        with urllib.request.urlopen(request, timeout=60) as answer:
            return answer.status, answer.headers["Content-Type"], answer.read().decode()
    except urllib.error.HTTPError as refusal:
        return refusal.code, "", ""


def polite(port):
    status, kind, text = get(port)
    assert status == 200 and kind.startswith("text/plain; version=0.0.4"), (status, kind)
    assert "# TYPE e4replay_requests_total counter\n" in text and "# EOF" not in text, text
    status, kind, text = get(port, accept=OPENMETRICS)
    assert status == 200 and kind.startswith("application/openmetrics-text; version=1.0.0"), kind
    assert "# TYPE e4replay_requests counter\n" in text and text.endswith("\n# EOF\n"), text
    assert get(port, "/")[0] == 404
    assert get(port, "/metrics/../etc/passwd")[0] == 404
    assert get(port, method="POST")[0] == 405
    assert get(port, method="DELETE")[0] == 405


def refused(client):
    """Returns the server's answer, or nothing if it has closed the connection."""
    try:
        return client.recv(4096)
    except ConnectionError:
        return b""


def hostile(port):
    def still_answers():
        status, _, text = get(port)
        assert status == 200 and text.endswith("\n"), status

    silent = [connect(port) for _ in range(300)]
    still_answers()
    halves = []
    for i in range(300):
        client = connect(port)
        client.sendall(b"GET /metrics HTTP/1.1\r\nHost: x\r\n"[: i % 30 + 1])
        halves.append(client)
    still_answers()
    for client in silent + halves:
        client.close()
    for _ in range(50):
        client = connect(port)
        try:
            for _ in range(64):
                client.sendall(b"X-Header: " + b"y" * 65536)
        except ConnectionError:
            pass
        client.close()
    still_answers()
    client = connect(port)
    client.sendall(b"GET /metrics HTTP/1.1\r\nX: " + b"y" * 20000)
    said = refused(client)
    assert said == b"" or said.startswith(b"HTTP/1.1 431 "), said
    for garbage in (b"\x16\x03\x01\x02\x00\x01\x00\x01\r\n\r\n", b"\0" * 4000 + b"\n\n", b"\n\n",
                    b"GET  HTTP/1.1\r\n\r\n", b"\xff" * 100 + b" /metrics HTTP/1.1\r\n\r\n"):
        client = connect(port)
        client.sendall(garbage)
        said = refused(client)
        assert said.startswith(b"HTTP/1.1 40"), (garbage[:20], said)
    # Clients that do not read their answers.
    unread = [connect(port) for _ in range(200)]
    for client in unread:
        try:
            client.sendall(b"GET /metrics HTTP/1.1\r\n\r\n")
        except ConnectionError:
            pass
    still_answers()
    # Connect as often as one process can.
    for _ in range(5000):
        connect(port).close()
    still_answers()


if __name__ == "__main__":
    {"polite": polite, "hostile": hostile}[sys.argv[2]](int(sys.argv[1]))
