"""Tests of the generated client against a running platform: ODOGRAPH_URL, APP_ID and APP_KEY name it.

The application needs at least three vehicles.
"""

import os
import threading
import time
import unittest
import urllib.error
import urllib.request
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from odograph import Odograph, OdographError

URL, APP_ID, APP_KEY = os.environ["ODOGRAPH_URL"], os.environ["APP_ID"], os.environ["APP_KEY"]


class Network(ThreadingHTTPServer):
    """A proxy in front of the platform that refuses the next requests with these statuses."""

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Forwarder)
        self.refusals: list[tuple[int, dict[str, str]]] = []
        self.seen: list[str] = []
        threading.Thread(target=self.serve_forever, daemon=True).start()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_address[1]}"


class Forwarder(BaseHTTPRequestHandler):
    server: Network

    def forward(self) -> None:
        self.server.seen.append(f"{self.command} {self.path.split('?')[0]}")
        content = self.rfile.read(int(self.headers.get("content-length", 0)))
        if self.server.refusals and not self.path.startswith("/v1/login"):
            status, headers = self.server.refusals.pop(0)
            return self.answer(status, headers, b'{"error":"OVERLOADED","message":"refused on the way"}')
        request = urllib.request.Request(URL + self.path, method=self.command, data=content or None)
        for name in ("x-service-token", "content-type", "idempotency-key"):
            if self.headers.get(name):
                request.add_header(name, self.headers[name])
        try:
            with urllib.request.urlopen(request) as answer:
                self.answer(answer.status, dict(answer.headers.items()), answer.read())
        except urllib.error.HTTPError as error:
            self.answer(error.code, dict(error.headers.items()), error.read())

    do_GET = do_POST = do_PUT = do_DELETE = forward

    def answer(self, status: int, headers: dict[str, str], content: bytes) -> None:
        self.send_response(status)
        for name, value in headers.items():
            if name.lower() in ("content-type", "link", "retry-after"):
                self.send_header(name, value)
        self.send_header("content-length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    def log_message(self, *_: object) -> None:
        pass


class ClientTest(unittest.TestCase):
    def setUp(self) -> None:
        self.network = Network()
        self.addCleanup(self.network.server_close)
        self.addCleanup(self.network.shutdown)

    def client(self, **options: object) -> Odograph:
        return Odograph(self.network.url, app_id=APP_ID, app_key=APP_KEY, **options)

    def test_reads_a_list_to_its_end_each_item_once(self) -> None:
        fleet = self.client()
        whole = [vehicle["id"] for vehicle in fleet.get_vehicle_table_items()]
        self.assertGreaterEqual(len(whole), 3)
        self.assertEqual([vehicle["id"] for vehicle in fleet.get_vehicle_table_items(limit=1)], whole)
        pages = list(fleet.get_vehicle_table_pages(limit=2))
        self.assertEqual([len(page["vehicles"]) for page in pages][:-1], [2] * (len(pages) - 1))

    def test_reads_each_booking_and_each_vehicle_request_once(self) -> None:
        fleet = self.client()
        vehicle = next(fleet.get_vehicle_table_items())["id"]
        now = int(time.time())
        for start in (now + 3600, now + 7200):
            fleet.post_vehicle_by_id_booking(vehicle, from_=start, until=start + 3600, type="BOOKING")
        fleet.post_vehicle(plate="RQ-100-AA", request="OBD device")
        items = list(fleet.get_calendar_items(from_=now, until=now + 86_400, limit=1))
        self.assertEqual(sum("bookingId" in item for item in items), 2)
        self.assertEqual(sum("requestId" in item for item in items), 1)

    def test_signs_in_once_and_refreshes_a_refused_token_once_for_all_threads(self) -> None:
        saved: list[dict[str, str]] = []
        fleet = self.client(save_tokens=saved.append)
        fleet.get_vehicle_table(limit=1)
        later = self.client(tokens={**saved[0], "token": "refused"}, save_tokens=saved.append)
        threads = [threading.Thread(target=later.get_vehicle_table, kwargs={"limit": 1}) for _ in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(self.network.seen.count("POST /v1/login"), 1)
        self.assertEqual(self.network.seen.count("POST /v1/refreshToken"), 1)
        self.assertEqual(len(saved), 2)

    def test_signs_in_again_when_the_session_has_ended(self) -> None:
        fleet = self.client(tokens={"token": "refused", "refresh_token": "spent"})
        fleet.get_vehicle_table(limit=1)
        self.assertEqual(self.network.seen.count("POST /v1/login"), 1)

    def test_reopens_an_event_stream_with_a_new_access_token(self) -> None:
        fleet = self.client(tokens={"token": "refused", "refresh_token": "spent"})
        self.assertGreater(len(list(fleet.get_events(types="vehicles", once=True))), 0)
        self.assertEqual(self.network.seen.count("POST /v1/login"), 1)

    def test_sends_again_after_429_and_503_not_before_retry_after(self) -> None:
        fleet = self.client()
        fleet.get_vehicle_table(limit=1)
        self.network.refusals = [(429, {"retry-after": "2"}), (503, {})]
        start = time.monotonic()
        fleet.get_vehicle_table(limit=1)
        self.assertGreater(time.monotonic() - start, 2)

    def test_sends_what_creates_again_with_the_same_key(self) -> None:
        fleet = self.client()
        place = {"name": "Station", "address": "1 Square", "zipcode": "75012", "city": "Paris", "country": "France"}
        before = len(fleet.get_parkings()["parkings"])
        for status in (503, 429):
            self.network.refusals = [(status, {})]
            fleet.post_parkings(**place)
        self.assertEqual(len(fleet.get_parkings()["parkings"]), before + 2)

    def test_does_not_send_again_what_takes_no_key_and_may_have_been_executed(self) -> None:
        fleet = self.client()
        fleet.get_parkings()
        self.network.refusals = [(503, {})]
        with self.assertRaises(OdographError) as refused:
            fleet.post_admin_quarantine_dismiss(ids=["1"], reason="test")
        self.assertEqual((refused.exception.code, refused.exception.status), ("OVERLOADED", 503))

    def test_sends_a_command_again_with_the_same_key(self) -> None:
        fleet = self.client()
        vehicle = next(fleet.get_vehicle_table_items())["id"]
        self.network.refusals = [(503, {})]
        with self.assertRaises(OdographError) as refused:
            fleet.post_vehicle_lock(vehicle_id=vehicle)
        # The device is offline. Without a key, the first refusal would have ended the call.
        self.assertEqual((refused.exception.code, refused.exception.reason), ("COMMUNICATION_FAILED", "DEVICE_OFFLINE"))

    def test_raises_the_failure_with_its_code_and_field(self) -> None:
        fleet = self.client()
        with self.assertRaises(OdographError) as unknown:
            fleet.get_vehicle_by_id("2100000000")
        self.assertEqual((unknown.exception.code, unknown.exception.status), ("UNKNOWN_VEHICLE", 404))
        nobody = Odograph("http://127.0.0.1:9", max_attempts=1)
        with self.assertRaises(OdographError) as unreachable:
            nobody.get_vehicle_table()
        with self.assertRaisesRegex(OdographError, "UNREACHABLE"):
            next(nobody.get_events())
        self.assertEqual((unreachable.exception.code, unreachable.exception.status), ("UNREACHABLE", None))


if __name__ == "__main__":
    unittest.main()
