"""Receives events of Odograph over a webhook, and verifies that they are genuine.

python webhook-receiver.py whsec_SECRET 8787
"""
import base64
import hashlib
import hmac
import json
import sys
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

secret, port = sys.argv[1:3]
key = base64.b64decode(secret.removeprefix("whsec_"))
handled = set()  # in a database, so that it outlives this process


def is_genuine(headers, body):
    id, timestamp = headers.get("webhook-id", ""), headers.get("webhook-timestamp", "")
    if not timestamp.isdigit() or abs(time.time() - int(timestamp)) > 300:
        return False  # recorded by someone and sent again
    digest = hmac.new(key, f"{id}.{timestamp}.".encode() + body, hashlib.sha256).digest()
    expected = "v1," + base64.b64encode(digest).decode()
    # two signatures while the secret is rotated
    return any(hmac.compare_digest(one, expected) for one in headers.get("webhook-signature", "").split(" "))


class Receiver(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"  # keeps connections open

    def do_POST(self):
        # the bytes as they came: other JSON of the same event has another signature
        body = self.rfile.read(int(self.headers["content-length"]))
        genuine = is_genuine(self.headers, body)
        if genuine:
            event = json.loads(body)
            if event["id"] not in handled:  # an event may come twice
                print("event", event["type"], event["id"], flush=True)
            handled.add(event["id"])
        self.send_response(204 if genuine else 400)  # without a 2xx it is sent again
        self.send_header("content-length", "0")
        self.end_headers()

    def log_message(self, *_):
        pass


server = ThreadingHTTPServer(("", int(port)), Receiver)
print("listening", port, flush=True)
server.serve_forever()
