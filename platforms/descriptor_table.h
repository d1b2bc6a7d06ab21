/* SPDX-License-Identifier: MIT */
/*
 * descriptor_table: the members of a descriptor, as tables.
 *
 * docs/descriptor.schema.json says the same to people and editors; a test compares the two member by member.
 */
#ifndef LANDFALL_PLATFORMS_DESCRIPTOR_TABLE_H
#define LANDFALL_PLATFORMS_DESCRIPTOR_TABLE_H

#include "platforms/shape.h"

#define HALF_READ  1u
#define HALF_WRITE 2u
#define HALF_BOTH  (HALF_READ | HALF_WRITE)

const struct shape *descriptor_shape(void);

#endif
