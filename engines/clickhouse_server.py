"""ClickHouse's own engine (chDB) behind the part of its HTTP interface that a writer uses: query, settings, gzip, users, errors.

Prints "port N" and "users {...}". Statements run as on the server; errors are returned with ClickHouse's code.
A misspelled setting in a statement of the program under test is reported by the engine itself.
"""

import base64
import gzip
import json
import re
import secrets
import sys
import tempfile
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import parse_qsl, urlsplit

from chdb.session import Session

folder = tempfile.TemporaryDirectory()
session = Session(folder.name)
lock = threading.Lock()
users = {"gpulse": secrets.token_hex(8), "reader": secrets.token_hex(8)}
# Parameters of the server's HTTP handler, which are not settings of a statement.
OF_THE_HANDLER = {"query", "database", "wait_end_of_query"}
# The real server's HTTP status of each error code.
STATUS = {516: 403, 497: 403, 60: 404, 81: 404, 159: 408, 202: 503, 241: 500, 252: 500}
state = {"fail": 0, "lose": 0, "statements": 0}


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *_):
        pass

    def do_POST(self):
        url = urlsplit(self.path)
        body = self.rfile.read(int(self.headers.get("content-length", 0)))
        if url.path == "/control":
            state.update(json.loads(body))
            return self.answer(200, json.dumps(state))
        if self.headers.get("content-encoding") == "gzip":
            body = gzip.decompress(body)
        user = self.user()
        if user is None:
            return self.fail(516, "Authentication failed: password is incorrect, or there is no user with such name. (AUTHENTICATION_FAILED)")
        given = dict(parse_qsl(url.query, keep_blank_values=True))
        settings = {name: value for name, value in given.items() if name not in OF_THE_HANDLER}
        text = body.decode()
        statement = given.get("query", text)
        if user == "reader" and not statement.lstrip().lower().startswith("select"):
            return self.fail(497, f"reader: Not enough privileges. (ACCESS_DENIED)")
        if state["fail"] > 0:
            state["fail"] -= 1
            return self.fail(252, "Too many parts (300). Merges are processing significantly slower than inserts. (TOO_MANY_PARTS)")
        try:
            result = self.run(statement, settings, text if "query" in given else "")
        except Exception as error:  # ChdbError or RuntimeError, depending on the version
            found = re.search(r"Code: (\d+)\. DB::Exception: (.*)", str(error), re.S)
            code, words = (int(found[1]), found[2]) if found else (1002, str(error))
            return self.fail(code, words.strip())
        if state["lose"] > 0 and "query" in given:
            state["lose"] -= 1
            self.close_connection = True
            self.connection.close()
            return None
        return self.answer(200, result)

    def run(self, statement, settings, data):
        if settings:
            pairs = ", ".join(f"{name} = {literal(value)}" for name, value in settings.items())
            statement = re.sub(r"\s+FORMAT\s+(\w+)\s*$", rf" SETTINGS {pairs} FORMAT \1", statement)
        with lock:
            state["statements"] += 1
            return str(session.query(f"{statement}\n{data}", "JSONEachRow"))

    def user(self):
        kind, _, value = self.headers.get("authorization", "").partition(" ")
        if kind != "Basic":
            return None
        name, _, password = base64.b64decode(value).decode().partition(":")
        return name if users.get(name) == password else None

    def fail(self, code, words):
        text = f"Code: {code}. DB::Exception: {words} (version 26.9.2.1)\n"
        self.answer(STATUS.get(code, 400 if code < 200 else 500), text, {"X-ClickHouse-Exception-Code": str(code)})

    def answer(self, status, text, headers=None):
        body = text.encode()
        self.send_response(status)
        for name, value in (headers or {}).items():
            self.send_header(name, value)
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)


def literal(value):
    return value if re.fullmatch(r"\d+", value) else "'" + value.replace("\\", "\\\\").replace("'", "\\'") + "'"


server = ThreadingHTTPServer(("127.0.0.1", int(sys.argv[1])), Handler)
print(f"users {json.dumps(users)}", flush=True)
server.serve_forever()
