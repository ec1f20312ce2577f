"""An `ada mcp` that is spoken to line by line, every message of it held against schema.json."""
import json
import pathlib
import select
import signal
import subprocess
import time

import jsonschema

SCHEMA = json.loads((pathlib.Path(__file__).parent / "schema.json").read_text())
VERSIONS = ["2025-06-18", "2025-03-26", "2024-11-05"]
SECONDS = 30
# Arguments of a query that does not end by itself.
ENDLESS = {"session": "stuck", "timeout": 3600,
           "sql": "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT count(*) FROM n"}


def check(value, name=None):
    """Holds a message, or the part of one that has a name, against the schema."""
    schema = {"$ref": f"#/$defs/{name}", "$defs": SCHEMA["$defs"]} if name else SCHEMA
    jsonschema.Draft202012Validator(schema).validate(value)


class Server:
    def __init__(self, ada, *arguments, **options):
        self.process = subprocess.Popen([ada.path, "mcp", *map(str, arguments)], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                        stderr=subprocess.PIPE, bufsize=0, **options)
        self.buffer = b""
        self.number = 0
        self.early = {}

    def send(self, value):
        """A message; bytes are sent as they are, with a newline."""
        line = value if isinstance(value, bytes) else json.dumps(value).encode()
        self.process.stdin.write(line + b"\n")

    def read(self, seconds=SECONDS):
        """The next message, None at the end."""
        end = time.monotonic() + seconds
        while b"\n" not in self.buffer:
            left = end - time.monotonic()
            assert left > 0 and select.select([self.process.stdout], [], [], left)[0], "no message came"
            more = self.process.stdout.read(1 << 20)
            if not more:
                assert not self.buffer, f"half a message: {self.buffer[:200]}"
                return None
            self.buffer += more
        line, _, self.buffer = self.buffer.partition(b"\n")
        message = json.loads(line.decode("utf-8", "strict"))
        check(message)
        return message

    def begin(self, method, params=None):
        self.number += 1
        self.send({"jsonrpc": "2.0", "id": self.number, "method": method, **({} if params is None else {"params": params})})
        return self.number

    def tell(self, method, params=None):
        self.send({"jsonrpc": "2.0", "method": method, **({} if params is None else {"params": params})})

    def await_(self, number):
        """The response of that id; others that come before it are kept for whoever awaits them."""
        while number not in self.early:
            message = self.read()
            assert message is not None, "the server has ended"
            self.early[message["id"]] = message
        return self.early.pop(number)

    def ask(self, method, params=None):
        return self.await_(self.begin(method, params))

    def initialize(self, version=VERSIONS[0]):
        answer = self.ask("initialize", {"protocolVersion": version, "capabilities": {},
                                         "clientInfo": {"name": "test", "version": "1"}})
        check(answer["result"], "initialize")
        self.tell("notifications/initialized")
        return answer["result"]

    def begin_call(self, name, **arguments):
        return self.begin("tools/call", {"name": name, "arguments": arguments})

    def call(self, name, **arguments):
        """The result of a tool."""
        answer = self.await_(self.begin_call(name, **arguments))
        assert "result" in answer, answer
        check(answer["result"], "call")
        return answer["result"]

    def refused(self, method, params=None):
        """The error that a request gets: code and message."""
        error = self.ask(method, params)["error"]
        return error["code"], error["message"]

    def children(self):
        pid = self.process.pid
        return [int(p) for p in pathlib.Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]

    def await_children(self, count):
        end = time.monotonic() + SECONDS
        while len(self.children()) != count:
            assert time.monotonic() < end, f"{len(self.children())} children, not {count}"
            time.sleep(0.01)
        return self.children()

    def end(self):
        """Ends the input; the exit status."""
        self.process.stdin.close()
        return self.process.wait(SECONDS)

    def terminate(self, number=signal.SIGTERM):
        self.process.send_signal(number)
        return self.process.wait(SECONDS)

    def close(self):
        if self.process.poll() is None:
            self.process.kill()
        for stream in (self.process.stdin, self.process.stdout, self.process.stderr):
            stream.close()
        self.process.wait()
