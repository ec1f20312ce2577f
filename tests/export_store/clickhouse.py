"""ClickHouse servers of a test: two of them as one cluster, on loopback, with all that they write in a directory of the test's;
and a proxy that breaks the conversation with one of them at a byte that the test names."""
import pathlib
import shutil
import signal
import socket
import subprocess
import threading
import time
import urllib.error
import urllib.request

SERVER = shutil.which("clickhouse-server") or shutil.which("clickhouse-server", path="/usr/sbin:/usr/local/sbin")
READY_SECONDS = 60

USERS = """<yandex>
<profiles><default><max_memory_usage>2000000000</max_memory_usage><max_threads>2</max_threads></default>
<reader><readonly>1</readonly></reader></profiles>
<users>
<default><password></password><networks><ip>127.0.0.1</ip></networks><profile>default</profile><quota>default</quota></default>
<writer><password>se&amp;cret</password><networks><ip>127.0.0.1</ip></networks><profile>default</profile><quota>default</quota></writer>
<reader><password></password><networks><ip>127.0.0.1</ip></networks><profile>reader</profile><quota>default</quota></reader>
</users>
<quotas><default><interval><duration>3600</duration><queries>0</queries><errors>0</errors><result_rows>0</result_rows>
<read_rows>0</read_rows><execution_time>0</execution_time></interval></default></quotas></yandex>"""

CONFIG = """<yandex><logger><level>warning</level><log>{d}/log</log><errorlog>{d}/errors</errorlog><size>10M</size><count>1</count>
</logger><http_port>{http}</http_port><tcp_port>{tcp}</tcp_port><interserver_http_port>{inter}</interserver_http_port>
<interserver_http_host>127.0.0.1</interserver_http_host><listen_host>127.0.0.1</listen_host><max_connections>64</max_connections>
<max_concurrent_queries>20</max_concurrent_queries><uncompressed_cache_size>0</uncompressed_cache_size>
<mark_cache_size>33554432</mark_cache_size><keep_alive_timeout>10</keep_alive_timeout>
<path>{d}/data/</path><tmp_path>{d}/tmp/</tmp_path><user_files_path>{d}/files/</user_files_path>
<format_schema_path>{d}/schemas/</format_schema_path><users_config>{d}/users.xml</users_config>
<default_profile>default</default_profile><default_database>default</default_database>
<remote_servers><two>{shards}</two></remote_servers></yandex>"""


def free_ports(count):
    sockets = [socket.socket() for _ in range(count)]
    for one in sockets:
        one.bind(("127.0.0.1", 0))
    ports = [one.getsockname()[1] for one in sockets]
    for one in sockets:
        one.close()
    return ports


class Server:
    def __init__(self, directory, http, tcp, inter, shards):
        self.directory = pathlib.Path(directory)
        self.directory.mkdir()
        self.http, self.tcp = http, tcp
        self.url = f"http://127.0.0.1:{http}"
        (self.directory / "users.xml").write_text(USERS)
        (self.directory / "config.xml").write_text(CONFIG.format(d=self.directory, http=http, tcp=tcp, inter=inter, shards=shards))
        self.process = None

    def start(self, **options):
        """Started, and awaited until it answers."""
        with open(self.directory / "out", "ab") as out:
            self.process = subprocess.Popen([SERVER, f"--config-file={self.directory}/config.xml"], stdin=subprocess.DEVNULL,
                                            stdout=out, stderr=out, start_new_session=True, **options)
        end = time.monotonic() + READY_SECONDS
        while True:
            try:
                with urllib.request.urlopen(self.url + "/ping", timeout=5) as answer:
                    assert answer.read() == b"Ok.\n"
                return self
            except (OSError, urllib.error.URLError):
                assert self.process.poll() is None, "clickhouse-server ended: " + self.log()
                assert time.monotonic() < end, "clickhouse-server doesn't answer: " + self.log()
                time.sleep(0.05)

    def log(self):
        return "".join(path.read_text(errors="replace")[-2000:] for path in (self.directory / "out", self.directory / "errors")
                       if path.exists())

    def kill(self):
        self.process.kill()
        self.process.wait()

    def stop(self):
        if self.process and self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)
            try:
                self.process.wait(20)
            except subprocess.TimeoutExpired:
                self.kill()

    def ask(self, statement):
        """The answer's lines, cut at tabs."""
        try:
            with urllib.request.urlopen(self.url, statement.encode(), timeout=120) as answer:
                return [line.split("\t") for line in answer.read().decode().splitlines()]
        except urllib.error.HTTPError as error:
            raise AssertionError(statement + ": " + error.read().decode()) from None

    def number(self, statement):
        return int(self.ask(statement)[0][0])


def two_servers(directory):
    ports = free_ports(6)
    shards = "".join(f"<shard><replica><host>127.0.0.1</host><port>{port}</port></replica></shard>" for port in (ports[1], ports[4]))
    return [Server(directory / name, *ports[3 * i:3 * i + 3], shards) for i, name in enumerate(("one", "two"))]


class Proxy:
    """Passes `limit` bytes on to the server, of all connections together; then calls `action` once, and passes nothing more."""

    def __init__(self, server, limit=None, action=None):
        self.server, self.limit, self.action = server, limit, action
        self.passed = 0
        self.lock = threading.Lock()
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.url = "http://127.0.0.1:%d" % self.listener.getsockname()[1]
        self.sockets = []
        threading.Thread(target=self.accept, daemon=True).start()

    def accept(self):
        while True:
            try:
                client, _ = self.listener.accept()
            except OSError:
                return
            try:
                server = socket.create_connection(("127.0.0.1", self.server.http))
            except OSError:
                client.close()          # the server is gone
                continue
            self.sockets += [client, server]
            threading.Thread(target=self.pump, args=(client, server, True), daemon=True).start()
            threading.Thread(target=self.pump, args=(server, client, False), daemon=True).start()

    def allowed(self, count):
        """How many of `count` bytes may pass; the action is taken by who asks for the first too many."""
        with self.lock:
            room = count if self.limit is None else max(0, min(count, self.limit - self.passed))
            self.passed += room
            act = room < count and self.action
            if act:
                self.action = None
        return room, act

    def pump(self, source, sink, counted):
        try:
            while True:
                data = source.recv(1 << 16)
                room, act = self.allowed(len(data)) if counted else (len(data), None)
                if room:
                    sink.sendall(data[:room])
                if act:
                    act()
                if not data or room < len(data):
                    break
        except OSError:
            pass
        for one in (source, sink):
            try:
                one.shutdown(socket.SHUT_RDWR)
            except OSError:
                pass
            one.close()

    def close(self):
        for one in [self.listener] + self.sockets:
            try:
                one.shutdown(socket.SHUT_RDWR)  # close alone would leave it to who still waits in recv
            except OSError:
                pass
            one.close()
