"""A way to a store that loses requests: some are answered with an error, some not at all, some only in part."""

import http.client
import random
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


class Flaky(ThreadingHTTPServer):
    daemon_threads = True

    def __init__(self, port, seed=7):
        super().__init__(("127.0.0.1", 0), Handler)
        self.to = port
        self.random = random.Random(seed)
        self.lock = threading.Lock()
        self.reset()

    def reset(self, failing=0.0, before=None):
        """`failing`: the part of requests that fails; `before(method, path)` is called before each."""
        self.failing, self.before = failing, before
        self.requests, self.failed, self.bytes = [], 0, 0

    def fails(self):
        with self.lock:
            if self.random.random() >= self.failing:
                return None
            self.failed += 1
            return self.random.choice(["error", "silence", "part"])

    @property
    def port(self):
        return self.server_address[1]

    def handle_error(self, request, client_address):
        pass


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def handle_one(self):
        server = self.server
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        server.requests.append((self.command, self.path, self.headers.get("Range")))
        if server.before:
            server.before(self.command, self.path)
        how = server.fails()
        if how == "part" and self.command != "GET":
            how = "silence"
        if how == "error":
            self.send_response(503)
            self.send_header("Content-Length", "0")
            self.end_headers()
            return
        if how == "silence":
            self.close_connection = True
            return
        onwards = http.client.HTTPConnection("127.0.0.1", server.to)
        headers = {name: value for name, value in self.headers.items() if name.lower() != "connection"}
        onwards.request(self.command, self.path, body, headers)
        answer = onwards.getresponse()
        content = answer.read()
        self.send_response(answer.status)
        for name, value in answer.getheaders():
            if name.lower() not in ("connection", "transfer-encoding", "content-length", "date", "server"):
                self.send_header(name, value)
        length = answer.getheader("Content-Length") if self.command == "HEAD" else len(content)
        self.send_header("Content-Length", str(length))
        self.end_headers()
        if how == "part" and len(content) > 1:
            self.wfile.write(content[: len(content) // 2])
            self.close_connection = True
            return
        if self.command != "HEAD":
            self.wfile.write(content)
            server.bytes += len(content)

    do_GET = do_PUT = do_POST = do_HEAD = do_DELETE = handle_one

    def log_message(self, *_):
        pass
