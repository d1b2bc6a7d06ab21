/* SPDX-License-Identifier: MIT */
#include "core/renewal.h"

enum renewal renewal_next(const struct renewal_facts *f)
{
    if (f->has_session && (f->until_ms == 0 || f->now_ms < f->until_ms)) return RENEWAL_USE;
    if (f->locked) return RENEWAL_LOCKED;
    if (f->now_ms < f->not_before_ms) return RENEWAL_LATER;
    if (f->can_refresh && (f->repeatable || !f->refresh_begun)) return RENEWAL_REFRESH;
    return f->can_login ? RENEWAL_LOGIN : RENEWAL_PERSON;
}
