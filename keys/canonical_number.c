/* SPDX-License-Identifier: MIT */
/*
 * Doubles as shortest decimals, and decimals as doubles.
 *
 * A decimal is held as digits and the place of the point, so neither way meets the locale's decimal separator: strtod()
 * gets digits and an exponent, and what printf() puts between the first and the second digit is skipped.
 */
#include "keys/canonical.h"
#include "keys/canonical_number.h"

#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Every double is the nearest one to some decimal of 17 digits. */
#define DIGITS_MAX 17

/* Above it a double skips whole numbers: 2^53. */
#define WHOLE_MAX 9007199254740992.0

/* No literal of an accepted text can shift its point farther; beyond, the value is 0 or infinite whatever follows. */
#define EXPONENT_CAP 100000000L

/* 0.<digits> times ten to the power of point; the first and the last digit are not 0; count 0 is zero. */
struct decimal {
    char digits[DIGITS_MAX + 1];
    int count;
    long point;
};

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

static double decimal_value(const struct decimal *decimal)
{
    char text[DIGITS_MAX + 24];

    if (decimal->count == 0) return 0;
    snprintf(text, sizeof(text), "%.*se%ld", decimal->count, decimal->digits, decimal->point - decimal->count);
    return strtod(text, NULL);
}

static void trim_zeros(struct decimal *decimal)
{
    while (decimal->count > 0 && decimal->digits[decimal->count - 1] == '0')
        decimal->count--;
}

/* The nearest decimal of this many digits to a positive number. */
static void round_to(double number, int digit_count, struct decimal *out)
{
    char text[DIGITS_MAX + 16];
    const char *c = text;

    snprintf(text, sizeof(text), "%.*e", digit_count - 1, number);
    for (out->count = 0; *c != 'e'; c++)
        if (is_digit(*c)) out->digits[out->count++] = *c;
    out->point = strtol(c + 1, NULL, 10) + 1;
}

/* One unit more in the last place. A carry over all digits is left out: it is a shorter decimal, tried before. */
static void round_up(struct decimal *decimal)
{
    int i = decimal->count - 1;

    while (i >= 0 && decimal->digits[i] == '9')
        decimal->digits[i--] = '0';
    if (i >= 0) decimal->digits[i]++;
}

/*
 * The fewest digits that lead back to the number, and of these the nearest. The nearest decimal of a length is the
 * only one to try, except at powers of two: the next double above is twice as far as the next below, so the decimal
 * below can be nearer and yet lead elsewhere while the one above leads back.
 */
static void shortest(double number, struct decimal *out)
{
    int exponent;
    bool power_of_two = frexp(number, &exponent) == 0.5;

    for (int count = 1; count <= DIGITS_MAX; count++) {
        round_to(number, count, out);
        if (decimal_value(out) == number) break;
        if (!power_of_two) continue;
        round_up(out);
        if (decimal_value(out) == number) break;
    }
    trim_zeros(out);
}

/* Number::toString of ECMAScript, steps 6 to 10. */
static int write_decimal(const struct decimal *d, char *out, size_t size)
{
    int point = (int)d->point;

    if (d->count <= point && point <= 21)
        return snprintf(out, size, "%.*s%.*s", d->count, d->digits, point - d->count, "00000000000000000000");
    if (point > 0 && point <= 21)
        return snprintf(out, size, "%.*s.%.*s", point, d->digits, d->count - point, d->digits + point);
    if (point > -6 && point <= 0) return snprintf(out, size, "0.%.*s%.*s", -point, "00000", d->count, d->digits);
    return snprintf(out, size, "%c%s%.*se%+d", d->digits[0], d->count > 1 ? "." : "", d->count - 1, d->digits + 1,
                    point - 1);
}

/* Up to 2^53 a whole number is next to other whole numbers, so all of its digits are needed. */
static size_t write_whole(uint64_t number, char *out)
{
    char digits[24];
    size_t at = sizeof(digits);

    digits[--at] = '\0';
    do
        digits[--at] = (char)('0' + number % 10);
    while ((number /= 10) > 0);
    memcpy(out, digits + at, sizeof(digits) - at);
    return sizeof(digits) - at - 1;
}

size_t canonical_number(double number, char out[CANONICAL_NUMBER_BYTES])
{
    struct decimal decimal;
    size_t sign = 0;

    KEYS_REQUIRE(isfinite(number));
    if (number < 0) out[sign++] = '-'; /* -0 is 0 */
    if (fabs(number) <= WHOLE_MAX && floor(number) == number)
        return sign + write_whole((uint64_t)fabs(number), out + sign);
    shortest(fabs(number), &decimal);
    return sign + (size_t)write_decimal(&decimal, out + sign, CANONICAL_NUMBER_BYTES - sign);
}

/* The exponent of a literal, from its e or E on; 0 where it has none. */
static long read_exponent(const char *text, size_t len)
{
    bool negative = len > 1 && text[1] == '-';
    long exponent = 0;

    for (size_t i = 0; i < len; i++)
        if (is_digit(text[i]) && exponent < EXPONENT_CAP) exponent = exponent * 10 + (text[i] - '0');
    return negative ? -exponent : exponent;
}

/* Reads a literal without rounding it. False if it has more digits than a shortest decimal can have. */
static bool read_literal(const char *literal, size_t len, struct decimal *out)
{
    size_t end = 0;      /* of what stands before the exponent */
    size_t digits = 0;   /* so many in it */
    size_t integers = 0; /* so many of these before the point */
    size_t first = 0;    /* the first digit that is not 0, counted from 1; 0 for none */
    size_t last = 0;     /* the last one */

    for (; end < len && literal[end] != 'e' && literal[end] != 'E'; end++) {
        if (literal[end] == '.') integers = digits;
        if (!is_digit(literal[end])) continue;
        digits++;
        if (literal[end] == '0') continue;
        if (first == 0) first = digits;
        last = digits;
    }
    if (!memchr(literal, '.', end)) integers = digits;

    *out = (struct decimal){.count = 0};
    if (first == 0) return true;
    if (last - first >= DIGITS_MAX) return false;
    out->point = (long)integers - (long)first + 1 + read_exponent(literal + end, len - end);
    for (size_t i = 0, nth = 0; i < end; i++)
        if (is_digit(literal[i]) && ++nth >= first && nth <= last) out->digits[out->count++] = literal[i];
    return true;
}

bool canonical_number_exact(const char *literal, size_t len)
{
    struct decimal given;
    struct decimal written;

    if (!read_literal(literal, len, &given)) return false;
    if (given.count == 0) return true;
    double number = decimal_value(&given);
    if (number == 0 || !isfinite(number)) return false;
    shortest(number, &written);
    return written.count == given.count && written.point == given.point &&
           memcmp(written.digits, given.digits, (size_t)given.count) == 0;
}
