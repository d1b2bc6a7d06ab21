# SPDX-License-Identifier: MIT
"""Redis as people run it, for tests: a master with a replica and a sentinel, a cluster of three masters, TLS.

Real servers on 127.0.0.1, each a RedisServer. What waits here is Redis's own election and gossip.
"""
import os
import subprocess

from lib.procs import wait_for
from lib.redis_server import RedisServer

SLOTS = 16384
DOWN_AFTER_MS = 1000


def redis_cli(server, *words):
    """By redis-cli: client libraries follow a cluster by themselves, and shape answers by their version."""
    done = subprocess.run(["redis-cli", "-s", server.socket_path, *map(str, words)], capture_output=True, text=True, timeout=20,
                          check=True)
    assert not done.stdout.startswith("ERR"), (words, done.stdout)
    return done.stdout.strip()


class Watched:
    """A replica of a master and one sentinel that watches both. The master is the caller's."""

    def __init__(self, master, service="main", password=None):
        self.master, self.service = master, service
        auth = {"requirepass": password, "masterauth": password} if password else {}
        self.replica = RedisServer(replicaof=f"127.0.0.1 {master.port}", **auth)
        self.sentinel = Sentinel(master, service, password)
        self.password = password

    def __enter__(self):
        self.replica.__enter__()
        wait_for(lambda: self.replica.client(password=self.password).info("replication")["master_link_status"] == "up",
                 what="the replica to have its first copy")
        self.sentinel.__enter__()
        wait_for(lambda: self._known()["num-slaves"] == "1", what="the sentinel to see the replica")
        return self

    def __exit__(self, *exc):
        self.sentinel.__exit__(*exc)
        self.replica.__exit__(*exc)

    @property
    def url(self):
        return f"redis+sentinel://127.0.0.1:1,127.0.0.1:{self.sentinel.port}/{self.service}"

    def _known(self):
        """What the sentinel says of the master."""
        said = redis_cli(self.sentinel, "SENTINEL", "MASTER", self.service).split("\n")
        return dict(zip(said[::2], said[1::2]))


class Sentinel(RedisServer):
    """It rewrites its configuration file, so the options go through a file and not through the command line."""

    def __init__(self, master, service, password):
        super().__init__()
        self.watched, self.service, self.password = master, service, password

    def _argv(self, port):
        path = os.path.join(self.dir, "sentinel.conf")
        lines = [f"port {port}", "bind 127.0.0.1", f"unixsocket {self.socket_path}", f"dir {self.dir}",
                 f"sentinel monitor {self.service} 127.0.0.1 {self.watched.port} 1",
                 f"sentinel down-after-milliseconds {self.service} {DOWN_AFTER_MS}",
                 f"sentinel failover-timeout {self.service} 5000"]
        if self.password:
            lines.append(f"sentinel auth-pass {self.service} {self.password}")
        with open(path, "w", encoding="utf-8") as out:
            out.write("\n".join(lines) + "\n")
        return [self.program, path, "--sentinel"]


class Cluster:
    """Three masters that share the slots. node_of(key) is the server that holds a key now."""

    def __enter__(self):
        self.nodes = [RedisServer(cluster_enabled="yes", appendonly="yes", appendfsync="always", cluster_node_timeout="2000", cluster_require_full_coverage="no")
                      for _ in range(3)]
        for node in self.nodes:
            node.__enter__()
        edges = [SLOTS * n // 3 for n in range(4)]
        for n, node in enumerate(self.nodes):
            redis_cli(node, "CLUSTER", "SET-CONFIG-EPOCH", n + 1)
            redis_cli(node, "CLUSTER", "ADDSLOTSRANGE", edges[n], edges[n + 1] - 1)
            if n:
                redis_cli(node, "CLUSTER", "MEET", "127.0.0.1", self.nodes[0].port)
        wait_for(lambda: all(self.whole(node) for node in self.nodes), what="the cluster to know itself")
        return self

    def __exit__(self, *exc):
        for node in self.nodes:
            node.__exit__(*exc)

    def whole(self, node):
        info = redis_cli(node, "CLUSTER", "INFO")
        return f"cluster_slots_ok:{SLOTS}" in info and "cluster_known_nodes:3" in info and "cluster_state:ok" in info

    def slot(self, key):
        return int(redis_cli(self.nodes[0], "CLUSTER", "KEYSLOT", key))

    def node_of(self, key):
        """The node that serves the key's slot, asked for until one does."""
        slot = self.slot(key)
        return wait_for(lambda: next((node for node in self.nodes if node.running and self._serves(node, slot)), None),
                        what=f"a node that serves slot {slot}")

    def _serves(self, node, slot):
        mine = next(line for line in redis_cli(node, "CLUSTER", "NODES").splitlines() if "myself" in line)
        ranges = [part.split("-") for part in mine.split()[8:] if not part.startswith("[")]
        return any(int(part[0]) <= slot <= int(part[-1]) for part in ranges)

    def move_slot(self, key, to, pause=None):
        """Moves the key's slot with all its keys, as redis-cli --cluster reshard does; pause() is called in the middle."""
        slot, source = self.slot(key), self.node_of(key)
        to_id, source_id = redis_cli(to, "CLUSTER", "MYID"), redis_cli(source, "CLUSTER", "MYID")
        redis_cli(to, "CLUSTER", "SETSLOT", slot, "IMPORTING", source_id)
        redis_cli(source, "CLUSTER", "SETSLOT", slot, "MIGRATING", to_id)
        keys = redis_cli(source, "CLUSTER", "GETKEYSINSLOT", slot, 100000).split("\n")
        for n, name in enumerate(keys):
            if n == len(keys) // 2 and pause:
                pause()
            if name:
                redis_cli(source, "MIGRATE", "127.0.0.1", to.port, name, 0, 5000)
        while True:  # what was made in the meantime
            left = redis_cli(source, "CLUSTER", "GETKEYSINSLOT", slot, 1000).split()
            if not left:
                break
            for name in left:
                redis_cli(source, "MIGRATE", "127.0.0.1", to.port, name, 0, 5000)
        for node in (to, source, *self.nodes):
            redis_cli(node, "CLUSTER", "SETSLOT", slot, "NODE", to_id)


class Certificates:
    """An authority of our own, and what it signed: server.crt (for localhost and 127.0.0.1), client.crt, and other.crt, which
    is made out to another name. Made with the openssl command."""

    def __init__(self, folder):
        self.folder = folder
        self._run("req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", "/CN=landfall test authority",
                  "-keyout", self.path("ca.key"), "-out", self.path("ca.crt"))
        self._sign("server", "DNS:localhost,IP:127.0.0.1")
        self._sign("other", "DNS:elsewhere.example")
        self._sign("client", "DNS:landfall")

    def path(self, name):
        return os.path.join(self.folder, name)

    def _sign(self, name, alternatives):
        extensions = self.path(f"{name}.ext")
        with open(extensions, "w", encoding="utf-8") as out:
            out.write(f"subjectAltName={alternatives}\n")
        self._run("req", "-newkey", "rsa:2048", "-nodes", "-subj", f"/CN={name}", "-keyout", self.path(f"{name}.key"),
                  "-out", self.path(f"{name}.csr"))
        self._run("x509", "-req", "-in", self.path(f"{name}.csr"), "-CA", self.path("ca.crt"), "-CAkey", self.path("ca.key"),
                  "-CAcreateserial", "-days", "2", "-extfile", extensions, "-out", self.path(f"{name}.crt"))

    @staticmethod
    def _run(*words):
        subprocess.run(["openssl", *words], check=True, capture_output=True, timeout=60)


def tls_options(certificates, name="server", clients="no"):
    """Options of a RedisServer that speaks TLS on a second port, which the caller chooses as tls_port."""
    return {"tls_cert_file": certificates.path(f"{name}.crt"), "tls_key_file": certificates.path(f"{name}.key"),
            "tls_ca_cert_file": certificates.path("ca.crt"), "tls_auth_clients": clients}
