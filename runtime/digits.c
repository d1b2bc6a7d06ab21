/* SPDX-License-Identifier: MIT */
#include "runtime/digits.h"

char *digits_before(char *end, int64_t number)
{
    uint64_t left = number < 0 ? 0 - (uint64_t)number : (uint64_t)number;
    do
        *--end = (char)('0' + left % 10);
    while ((left /= 10) > 0);
    if (number < 0) *--end = '-';
    return end;
}
