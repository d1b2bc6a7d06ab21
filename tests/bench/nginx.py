# SPDX-License-Identifier: MIT
"""nginx in front of what the bench's own servers cannot do: TLS with HTTP/1.1 and HTTP/2, and pages that cost next to nothing.

One process, on a port of its own of 127.0.0.1, with all its files in the caller's folder.
"""
import os
import shutil
import socket

from lib.procs import Process, free_port, wait_for
from lib.tree import TOP

PROGRAM = shutil.which("nginx", path=os.environ.get("PATH", "") + ":/usr/sbin")
MISSING = None if PROGRAM else f"nginx is not installed: {os.path.join(TOP, 'deploy', 'install-packages')} --for bench"
COMMON = """
daemon off;
master_process off;
pid {dir}/nginx.pid;
error_log {dir}/nginx.log warn;
worker_rlimit_nofile 16384;
events {{ worker_connections 8192; }}
http {{
    client_body_temp_path {dir}/body;
    proxy_temp_path {dir}/proxy;
    fastcgi_temp_path {dir}/fastcgi;
    uwsgi_temp_path {dir}/uwsgi;
    scgi_temp_path {dir}/scgi;
    client_body_buffer_size 128k;
    client_max_body_size 1m;
    keepalive_requests 1000000000;
    keepalive_timeout 1h;
    upstream behind {{
        server 127.0.0.1:{behind};
        keepalive 1100;
        keepalive_requests 1000000000;
        keepalive_timeout 1h;
    }}
    proxy_http_version 1.1;
    proxy_set_header Connection "";
{server}}}
"""
TLS = """
    access_log off;
    server {{
        listen 127.0.0.1:{port} ssl{http2};
        ssl_certificate {certificate};
        ssl_certificate_key {key};
        http2_max_concurrent_streams 1024;
        location / {{ proxy_pass http://behind; }}
    }}
"""
# The account's credential is part of the key: one path shows different things to different accounts.
PAGES = """
    map $http_x_unbounded $bounded {{ default ""; "" $http_authorization; }}
    limit_req_zone $bounded zone=accounts:8m rate={per_second}r/s;
    proxy_cache_path {dir}/cache keys_zone=pages:16m inactive=1h use_temp_path=off;
    log_format target "$request_uri";
    access_log {dir}/requests target;
    server {{
        listen 127.0.0.1:{port};
        location / {{
            {limit}
            proxy_pass http://behind;
            proxy_cache pages;
            proxy_cache_key "$request_uri $http_authorization";
            proxy_cache_valid 200 1h;
        }}
    }}
"""


class Nginx:
    def __init__(self, folder, server, behind, **values):
        """behind: the port that it is in front of."""
        self.dir = os.path.join(folder, "nginx")
        os.makedirs(self.dir, exist_ok=True)
        self.port = free_port()
        values.update(dir=self.dir, port=self.port, behind=behind)
        path = os.path.join(self.dir, "nginx.conf")
        with open(path, "w", encoding="utf-8") as out:
            out.write(COMMON.format(server=server.format(**values), **values))
        self.process = Process([PROGRAM, "-p", self.dir, "-e", os.path.join(self.dir, "nginx.log"), "-c", path], self.dir)
        wait_for(self._listens, 20, what=self.process.tail)

    def _listens(self):
        assert self.process.running, f"nginx ended: {self.process.tail()}"
        with socket.socket() as probe:
            return probe.connect_ex(("127.0.0.1", self.port)) == 0

    def requests(self):
        """The targets of the requests that PAGES has answered since it was asked last."""
        with open(os.path.join(self.dir, "requests"), "r+", encoding="utf-8") as lines:
            targets = lines.read().splitlines()
            lines.truncate(0)  # it is written to at its end, wherever that is
        return targets

    def close(self):
        self.process.kill()


def tls(folder, certificates, behind, http2):
    return Nginx(folder, TLS, behind, http2=" http2" if http2 else "", certificate=certificates.path("server.crt"),
                 key=certificates.path("server.key"))


def pages(folder, behind, per_second=None):
    """A cache. per_second: no account is answered more often; who asks sooner waits."""
    limit = "limit_req zone=accounts burst=100;" if per_second else ""
    return Nginx(folder, PAGES, behind, limit=limit, per_second=per_second or 1)
