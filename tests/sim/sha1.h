/* SPDX-License-Identifier: MIT */
/* sha1: the name of a script (FIPS 180-4). For nothing that has to be secure. */
#ifndef SIM_SHA1_H
#define SIM_SHA1_H

#include <stddef.h>

#define SHA1_HEX_BYTES 41

void sha1_hex(const void *bytes, size_t len, char out[SHA1_HEX_BYTES]);

#endif
