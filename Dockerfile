# SPDX-License-Identifier: MIT
#
# One image for the three programs, and two helpers that docker-compose.yml uses: a Redis with the settings of deploy/redis, and
# the fake platforms of the demo. Nothing in here needs BuildKit.
#
#   docker build -t landfall .                      the programs (the last stage)
#   docker build -t landfall-redis --target redis .
#   docker build -t landfall-platforms --target platforms .

FROM debian:trixie-slim AS build
RUN apt-get update && apt-get install --yes --no-install-recommends gcc libc6-dev cmake ninja-build pkg-config \
        libhiredis-dev libssl-dev libcurl4-openssl-dev libjansson-dev libsodium-dev libjq-dev libmicrohttpd-dev \
        libutf8proc-dev libidn2-dev \
    && rm -rf /var/lib/apt/lists/* /var/cache/apt/*.bin
WORKDIR /src
COPY . .
RUN cmake --preset package && cmake --build --preset package \
    && DESTDIR=/out cmake --install build/package --strip

# One user id for all stages: volumes that they share belong to it.
FROM debian:trixie-slim AS base
RUN useradd --uid 10001 --user-group --home-dir /var/lib/landfall --shell /usr/sbin/nologin landfall \
    && install -d -o landfall -g landfall -m 750 /var/lib/landfall /var/lib/landfall/spool /run/landfall/secrets /data

FROM base AS redis
RUN apt-get update && apt-get install --yes --no-install-recommends redis-server redis-tools \
    && rm -rf /var/lib/apt/lists/* /var/cache/apt/*.bin
COPY deploy/acl /usr/local/share/landfall/acl
COPY deploy/redis/redis.conf /usr/local/share/landfall/redis.conf
COPY deploy/redis/entrypoint deploy/redis/health /usr/local/bin/
USER landfall
WORKDIR /data
HEALTHCHECK --interval=5s --timeout=3s --start-period=60s CMD ["/usr/local/bin/health"]
CMD ["/usr/local/bin/entrypoint"]

FROM base AS platforms
RUN apt-get update && apt-get install --yes --no-install-recommends python3-minimal libpython3-stdlib \
    && rm -rf /var/lib/apt/lists/* /var/cache/apt/*.bin
COPY tests/platform_sim /opt/landfall/platform_sim
USER landfall
WORKDIR /opt/landfall
ENV PYTHONDONTWRITEBYTECODE=1 PYTHONUNBUFFERED=1
CMD ["python3", "-m", "platform_sim", "--host", "platforms", "--port", "8080", "--instances", "/demo/instances.json"]

FROM base
RUN apt-get update && apt-get install --yes --no-install-recommends ca-certificates libhiredis1.1.0 libcurl4t64 libjansson4 \
        libsodium23 libssl3t64 libjq1 libmicrohttpd12t64 libutf8proc3 libidn2-0 \
    && rm -rf /var/lib/apt/lists/* /var/cache/apt/*.bin
COPY --from=build /out/ /
LABEL org.opencontainers.image.title="landfall" \
      org.opencontainers.image.description="Publishes each content item to each channel once" \
      org.opencontainers.image.licenses="MIT"
# `docker stop` gives ten seconds by default; what is under way gets eight of them. Loopback would hide the metrics' page from
# everybody outside the container.
ENV LANDFALL_WORKER_SPOOL_DIR=/var/lib/landfall/spool LANDFALL_WORKER_GRACE_MS=8000 LANDFALL_METRICS_LISTEN=0.0.0.0:9464
USER landfall
WORKDIR /var/lib/landfall
EXPOSE 9464
STOPSIGNAL SIGTERM
HEALTHCHECK --interval=10s --timeout=5s --start-period=10s CMD ["landfall-worker", "--check=ready"]
# No shell and no init in between: the program is process 1, handles its signals itself and starts no children.
CMD ["landfall-worker"]
