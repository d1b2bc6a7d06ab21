/* SPDX-License-Identifier: MIT */
/*
 * secret_mask: the index of everything that must not be seen, behind secret_match() and secret_mask().
 *
 * secret.c alone calls these two, when a secret comes to life and before it is wiped.
 */
#ifndef RUNTIME_SECRET_MASK_H
#define RUNTIME_SECRET_MASK_H

#include "runtime/secret.h"

void secret_mask_add(const struct secret *secret);
void secret_mask_remove(const struct secret *secret);

#endif
