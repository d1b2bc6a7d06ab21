# SPDX-License-Identifier: MIT
"""A clock that leaps when a test says so: that of a redis-server, and with it everything that it measures (TIME, scripts,
expiry), or that of any program.

    clock = LeapingClock(tmp_path)
    monkeypatch.setenv("LANDFALL_REDIS_SERVER", clock.program)
    with Fleet(...): clock.leap(3600)
    fleet.start_worker(env=clock.environment)

The program runs with a small library before libc that adds an offset to the time of day; monotonic clocks stay as they are.
"""
import os
import shlex
import shutil
import struct
import subprocess

SOURCE = r"""
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/time.h>
#include <time.h>

static const volatile int64_t *offset_s;

__attribute__((constructor)) static void open_offset(void)
{
    const int fd = open(getenv("LEAP_FILE"), O_RDONLY | O_CLOEXEC);
    void *page = mmap(NULL, 4096, PROT_READ, MAP_SHARED, fd, 0);
    if (fd < 0 || page == MAP_FAILED) abort();
    offset_s = page;
}

int clock_gettime(clockid_t id, struct timespec *out)
{
    static int (*real)(clockid_t, struct timespec *);
    if (!real) real = (int (*)(clockid_t, struct timespec *))dlsym(RTLD_NEXT, "clock_gettime");
    const int result = real(id, out);
    if (result == 0 && id == CLOCK_REALTIME && offset_s) out->tv_sec += *offset_s;
    return result;
}

int gettimeofday(struct timeval *restrict out, void *restrict zone)
{
    struct timespec now;
    (void)zone;
    if (clock_gettime(CLOCK_REALTIME, &now) != 0) return -1;
    *out = (struct timeval){now.tv_sec, now.tv_nsec / 1000};
    return 0;
}
"""


class LeapingClock:
    def __init__(self, folder):
        self.file = os.path.join(folder, "offset")
        self.program = os.path.join(folder, "redis-server-that-leaps")
        source, library = os.path.join(folder, "leap.c"), os.path.join(folder, "leap.so")
        with open(self.file, "wb") as out:
            out.write(bytes(4096))
        with open(source, "w", encoding="ascii") as out:
            out.write(SOURCE)
        subprocess.run(["cc", "-O1", "-shared", "-fPIC", "-o", library, source, "-ldl"], check=True, timeout=60)
        # A program that is built with the address sanitizer wants its own library to be the first.
        self.environment = {"LEAP_FILE": self.file, "LD_PRELOAD": library, "ASAN_OPTIONS": "detect_leaks=0:verify_asan_link_order=0"}
        server = shutil.which(os.environ.get("LANDFALL_REDIS_SERVER", "redis-server"))
        with open(self.program, "w", encoding="ascii") as out:
            out.write(f"#!/bin/sh\nLEAP_FILE={shlex.quote(self.file)} LD_PRELOAD={shlex.quote(library)} exec {server} \"$@\"\n")
        os.chmod(self.program, 0o755)

    def leap(self, seconds):
        """From now on the clock is so far from the machine's."""
        with open(self.file, "r+b") as out:
            out.write(struct.pack("q", seconds))
