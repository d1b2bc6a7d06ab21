/* SPDX-License-Identifier: MIT */
/*
 * row_json: a row and a frozen request as JSON, for show. What is 0 or empty is left out. Pure.
 */
#ifndef LANDFALL_CLI_ROW_JSON_H
#define LANDFALL_CLI_ROW_JSON_H

#include <jansson.h>

#include "ledger/row.h"

struct form; /* platforms/form.h */

/* The row's fields by their names in Redis, times with the ending _ms. */
json_t *row_json(const struct row *row);

/* {method, url, headers: [[name, value]], body}, with {{name}} where a secret is filled in. NULL: these bytes are no
 * frozen request; err says why. */
json_t *row_json_request(const char *frozen, size_t len, struct errbuf *err);
/* The same of a form that was not frozen. */
json_t *row_json_form(const struct form *form);

#endif
