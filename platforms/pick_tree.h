/* SPDX-License-Identifier: MIT */
/* Inside pick only: the tree that pick_parse.c makes of a program's text and pick_run.c walks over. */
#ifndef LANDFALL_PLATFORMS_PICK_TREE_H
#define LANDFALL_PLATFORMS_PICK_TREE_H

#include "platforms/pick.h"

enum pick_kind { PICK_CONSTANT, PICK_PATH, PICK_OBJECT, PICK_LIST, PICK_SUM, PICK_ALTERNATIVE };

struct pick {
    enum pick_kind kind;
    char *name;         /* of an object's member; a step of a path */
    json_t *constant;   /* of PICK_CONSTANT */
    struct pick *inner; /* first of the parts: members in order of their names, terms, steps of the path */
    struct pick *next;
};

#endif
