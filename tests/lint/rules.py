# SPDX-License-Identifier: MIT
"""The tables of the rules. A rule is changed here, with its reason, and nowhere else."""

# Dependencies point one way. A folder may include what stands in its row; everything not named is forbidden.
MAY_INCLUDE = {
    "runtime": {"runtime"},
    "keys": {"keys"},
    "core": {"core", "keys"},
    "ledger": {"ledger", "core", "keys", "runtime"},
    "platforms": {"platforms", "core", "keys", "runtime"},
    "session": {"session", "ledger", "platforms", "core", "keys", "runtime"},
    "worker": {"worker", "session", "ledger", "platforms", "core", "keys", "runtime"},
    "reconciler": {"reconciler", "session", "ledger", "platforms", "core", "keys", "runtime"},
    "cli": {"cli", "session", "ledger", "platforms", "core", "keys", "runtime"},
}

# Headers that only some files may include: (pattern of the header, pattern of the files that may, why).
ONLY_IN = [
    (r"hiredis/.*|hiredis\.h|async\.h", r"ledger/.*", "everything Redis is behind ledger/"),
    (r"curl/.*", r"platforms/transfer(_setup|_drive|_inner)?\.[ch]", "one place knows how a transfer fails"),
    (r"jq\.h|jv\.h", r"platforms/program(_value\.h|_input\.c|\.c)", "libjq has a cage"),
    (r"microhttpd\.h", r"runtime/.*", "the metrics endpoint is the only server"),
    (r"platforms/request\.h", r"(worker|platforms|cli)/.*", "the write half of a platform is not for who only reads"),
    (r"platforms/limits\.h", r"(worker|platforms)/.*", "only who sends a write request judges its answer"),
    (r"platforms/verdict\.h", r"(worker|platforms)/.*|cli/check_(answers|case)\.c",
     "only who sends a write request judges its answer, and who explains what would be judged"),
]

# C that only some files may hold: (pattern in the text without comments and strings, the files that may, why).
ONLY_SAID_IN = [
    (r"(?:\.|->)\s*write\s*=(?!=|\s*false\b)", r"worker/send\.c|(?!worker|reconciler|cli)\w+/.*",
     "a write request is sent in one place"),
    (r"\b(?:f|v|vf)?printf\s*\(|\bf?puts\s*\(|\bfwrite\s*\(",
     r"(worker|reconciler)/main\.c|worker/tally\.c|reconciler/drain_(bar|say)\.c|"
     r"cli/(archive_file|main|out|report|verb_(completion|export|help|man))\.c|(?!worker|reconciler|cli)\w+/.*",
     "what came from outside is printed by runtime/plain.h, escaped"),
    (r"\bcurl_\w+\s*\(", r"platforms/transfer(_setup|_drive|_inner)?\.[ch]", "one place knows how a transfer fails"),
]

# keys/ and core/ decide and compute: no network, no clock, no process, no other library than what computes.
PURE_FOLDERS = ("keys", "core")
PURE_MAY_NOT_INCLUDE = (r"sys/.*|netinet/.*|arpa/.*|netdb\.h|poll\.h|time\.h|signal\.h|unistd\.h|fcntl\.h|"
                        r"pthread\.h|threads\.h")
PURE_MAY_NOT_CALL = (r"curl_.*|redis.*|socket|connect|accept4?|bind|listen|send|sendto|sendmsg|recv|recvfrom|recvmsg|"
                     r"poll|epoll_.*|select|time|clock|clock_gettime|gettimeofday|timespec_get|nanosleep|usleep|sleep|"
                     r"fork|execv.*|open|open64|read|write|getenv|random|rand|getrandom|randombytes.*|MHD_.*|jq_.*")

# (library, as `lib<name>.a` in the build, program that must not carry its symbols, pattern of those that it may, why).
NOT_LINKED = [
    ("landfall_platforms_write", "landfall-reconciler", r"", "who reads the past cannot write"),
    ("landfall_platforms_write", "landfall", r"request_\w+|verdict(_prelude)?|rehearse_\w+",
     "it makes a request and judges an answer to show them, and sends nothing"),
]

# (folder whose objects may not call it, function, object that may, why).
CALLED_ONLY_BY = [
    ("worker", "transfer_start", "send.c.o", "a write request is sent in one place"),
    ("cli", "transfer_start", "probe.c.o", "the command sends reads, in one place"),
]
PURE_LIBRARIES = ("landfall_keys", "landfall_core")

# Removing this object from this library must break the link of this program.
NEEDED = [
    ("landfall_core", "delivery.c.o", "landfall-worker", "what may happen to a delivery is decided there alone"),
]

FILE_LINES_MAX = 500
FUNCTION_LINES_MAX = 70
LINE_COLUMNS_MAX = 120  # tables of cases in tests may be wider
COMPLEXITY_MAX = 15  # not of tests: a long list of checks is easy to read
SIZED = (".c", ".h", ".py", ".lua")

# function -> what is used in its place
BANNED = {
    "sprintf": "snprintf", "vsprintf": "vsnprintf", "strcpy": "memcpy or a bounded buffer",
    "stpcpy": "a bounded buffer", "strcat": "a bounded buffer", "strncat": "a bounded buffer",
    "strncpy": "memcpy or a bounded buffer",
    "strtok": "strcspn or strsep", "atoi": "strtol with its checks", "atol": "strtol with its checks",
    "atoll": "strtoll with its checks", "atof": "strtod with its checks", "gets": "fgets", "localtime": "gmtime_r",
    "localtime_r": "gmtime_r", "system": "posix_spawn", "popen": "posix_spawn",
}

SPDX_FILES = (".c", ".h", ".py", ".lua", ".sh", ".cmake", "CMakeLists.txt")

# Platforms whose name is also a word of the trade, so that C code may use it.
PLATFORM_NAMES_ALLOWED = {
    "webhook": "Standard Webhooks signatures are a kind of authentication",
    "x": "a letter: macros, hexadecimal numbers, shell traces",
    "slack": "what is left over, as in the order of times",
    "resend": "to send again",
}

# Text that no file may hold: (pattern, what is wrong). The files of this folder hold the patterns and are passed over.
FORBIDDEN_TEXT = [
    (r"(?<![\w.])/(?:home|root|work|Users)/\w[\w.-]*", "a path of one machine"),
    (r"\bhttps?://(?:deb|ftp|archive|security|pypi|registry[\w-]*|index|proxy|mirrors?)\.[\w.-]+",
     "the address of a package registry; the system's own settings name it"),
    (r"-----BEGIN [A-Z ]*PRIVATE KEY-----", "a private key"),
    (r"\bAKIA[0-9A-Z]{16}\b|\bghp_[A-Za-z0-9]{36}\b|\bgithub_pat_\w{40,}|\bxox[abprs]-[0-9A-Za-z-]{20,}|"
     r"\bsk_live_[0-9A-Za-z]{20,}", "what looks like a real credential"),
    (r"(?i)\bissue #?\d+\b", "the number of an issue; say what it is about"),
    (r"\b(?:TODO|FIXME)\b", "work left undone; do it, or say in the docs that it is not there"),
]
