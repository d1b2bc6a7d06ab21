/* SPDX-License-Identifier: MIT */
/*
 * config_json: the configuration in force as a document, with where each setting came from. Never a secret.
 */
#ifndef LANDFALL_CLI_CONFIG_JSON_H
#define LANDFALL_CLI_CONFIG_JSON_H

#include <jansson.h>

#include "platforms/fleet.h"
#include "runtime/config.h"

/* The caller's. */
json_t *config_json(const struct config *config, const struct fleet *fleet);

#endif
