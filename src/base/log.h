/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * log.h - messages to the user on stderr, one line each, "playhead: " in
 * front. Whoever sees a call fail logs it, once; callers pass -errno on.
 */
#ifndef PLAYHEAD_LOG_H
#define PLAYHEAD_LOG_H

#include "base/base.h"

enum log_level { LOG_SILENT, LOG_ERROR, LOG_WARN, LOG_INFO, LOG_DEBUG };

/* Messages above @level are dropped. The default is LOG_INFO. */
void log_set_level(enum log_level level);

void log_msg(enum log_level level, const char *fmt, ...) __printf_like(2, 3);

#define log_error(...) log_msg(LOG_ERROR, __VA_ARGS__)
#define log_warn(...)  log_msg(LOG_WARN, __VA_ARGS__)
#define log_info(...)  log_msg(LOG_INFO, __VA_ARGS__)
#define log_debug(...) log_msg(LOG_DEBUG, __VA_ARGS__)

#endif
