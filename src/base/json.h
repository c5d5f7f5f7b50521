/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * json.h - write JSON to a stream, one value after the other.
 *
 * Inside an object every call names its key; inside an array, and at the top,
 * the key is NULL. Strings from the recorded program may hold any bytes: what
 * is not UTF-8 is written as U+FFFD, so that the output is always valid.
 */
#ifndef PLAYHEAD_JSON_H
#define PLAYHEAD_JSON_H

#include <stdio.h>

#include "base/base.h"

#define JSON_MAX_DEPTH 16

struct json {
	FILE *f;
	unsigned depth;
	bool comma[JSON_MAX_DEPTH]; /* a value was written at this depth */
	bool array[JSON_MAX_DEPTH];
};

static inline struct json json_to(FILE *f)
{
	return (struct json){.f = f};
}

void json_object(struct json *j, const char *key);
void json_array(struct json *j, const char *key);
/* Ends the innermost object or array; a newline after the outermost. */
void json_end(struct json *j);

/* NULL is written as null. */
void json_str(struct json *j, const char *key, const char *v);
void json_u64(struct json *j, const char *key, u64 v);
void json_s64(struct json *j, const char *key, s64 v);
/* "0x1f" as a string: numbers above 2^53 do not survive most readers. */
void json_hex(struct json *j, const char *key, u64 v);
/* @digits after the point; not a number and infinities become null. */
void json_double(struct json *j, const char *key, double v, int digits);
void json_bool(struct json *j, const char *key, bool v);

#endif
