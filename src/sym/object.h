/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * object.h - the functions and source lines of one ELF file.
 *
 * The file comes from a trace, so from outside: everything read from it is
 * checked, and what does not fit is as if it were not there.
 */
#ifndef PLAYHEAD_SYM_OBJECT_H
#define PLAYHEAD_SYM_OBJECT_H

#include "base/base.h"

struct object;

/*
 * @path: the file itself; @name: its path in the recorded program, where its
 * debug link looks. -EBADMSG: not an x86-64 program or library.
 */
int object_load(struct object **out, const char *path, const char *name) __must_check;
void object_free(struct object *o);

/* The ELF address of the byte at file offset @off, if code or data is there. */
bool object_vaddr(const struct object *o, u64 off, u64 *vaddr);
/* The function that covers @vaddr: its name (borrowed) and start; or NULL. */
const char *object_func(struct object *o, u64 vaddr, u64 *start);
/* Source file (borrowed) and line of @vaddr; NULL: unknown. */
const char *object_line(struct object *o, u64 vaddr, int *line);

#endif
