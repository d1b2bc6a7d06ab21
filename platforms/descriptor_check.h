/* SPDX-License-Identifier: MIT */
/*
 * descriptor_check: the rules between a descriptor's members.
 */
#ifndef LANDFALL_PLATFORMS_DESCRIPTOR_CHECK_H
#define LANDFALL_PLATFORMS_DESCRIPTOR_CHECK_H

#include "platforms/descriptor.h"
#include "platforms/shape.h"

MUSTCHECK bool descriptor_check(struct shape_reader *reader, const struct descriptor *descriptor);

#endif
