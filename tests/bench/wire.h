/* SPDX-License-Identifier: MIT */
/*
 * wire: what sink and bare loop share: the Standard Webhooks signature of a message.
 *
 * The scheme is that of https://github.com/standard-webhooks/standard-webhooks/blob/main/spec/standard-webhooks.md:
 * HMAC-SHA256 over "<id>.<timestamp>.<body>", in base64, behind "v1,".
 */
#ifndef TESTS_BENCH_WIRE_H
#define TESTS_BENCH_WIRE_H

#include <stdbool.h>
#include <stddef.h>

#define WIRE_SIGNATURE_BYTES 64 /* "v1,", 44 characters of base64, NUL */

struct wire_signer {
    void *mac; /* EVP_MAC_CTX, keyed; it is started again for each message */
};

/* secret: "whsec_" and base64. Ends the process where it is none: the harness made it. */
void wire_signer_init(struct wire_signer *signer, const char *secret);
void wire_signer_fini(struct wire_signer *signer);

void wire_sign(struct wire_signer *signer, const char *id, size_t id_len, const char *timestamp, size_t timestamp_len,
               const char *body, size_t body_len, char signature[WIRE_SIGNATURE_BYTES]);

/* Prints the words and ends the process with 1. */
_Noreturn void wire_die(const char *words);

#endif
