"""A server of names and a gateway behind TLS, both on loopback, for `.ci/static`.

Usage: far-gateway.py CERTIFICATE KEY. Prints the port of the gateway, then a line for each request that came through TLS, and ends after a
minute. Every name is 127.0.0.1; it is asked at 127.0.0.53.
"""

import http.server
import socket
import ssl
import sys
import threading


def names(server: socket.socket) -> None:
    while True:
        query, asker = server.recvfrom(512)
        end = query.index(0, 12) + 5
        kind = int.from_bytes(query[end - 4 : end - 2], "big")
        answers = 1 if kind == 1 else 0
        reply = query[:2] + b"\x81\x80" + query[4:6] + bytes([0, answers]) + bytes(4) + query[12:end]
        if answers:
            reply += b"\xc0\x0c\x00\x01\x00\x01\x00\x00\x00\x3c\x00\x04\x7f\x00\x00\x01"
        server.sendto(reply, asker)


class Gateway(http.server.BaseHTTPRequestHandler):
    def do_POST(self) -> None:
        print(f"asked {self.headers['Host']} for {self.path.partition('?')[0]}", flush=True)
        self.send_error(503)

    do_GET = do_POST

    def log_message(self, *_: object) -> None:
        pass


def main() -> None:
    asked = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    asked.bind(("127.0.0.53", 53))
    threading.Thread(target=names, args=[asked], daemon=True).start()
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(sys.argv[1], sys.argv[2])
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Gateway)
    server.socket = context.wrap_socket(server.socket, server_side=True, do_handshake_on_connect=False)
    print(server.server_address[1], flush=True)
    threading.Timer(60, server.shutdown).start()
    server.serve_forever()


main()
