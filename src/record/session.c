/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * session.c - record: the next stop, what it leads to, until the last task
 * has ended.
 */
#include <errno.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/log.h"
#include "record/internal.h"

static volatile sig_atomic_t asked_to_end;

static void on_alarm(int sig)
{
	(void)sig; /* only to get waitpid() out of its sleep */
}

static void on_end(int sig)
{
	struct itimerval often = {
		{0, 5000},
		   {0, 5000}
	    };

	asked_to_end = sig;
	/* It may come just before waitpid() sleeps: keep waking it. */
	setitimer(ITIMER_REAL, &often, NULL);
}

void session_end(struct session *s, const char *fmt, ...)
{
	va_list ap;

	if (s->over)
		return;
	s->over = true;
	va_start(ap, fmt);
	vsnprintf(s->why, sizeof(s->why), fmt, ap);
	va_end(ap);
}

int session_wait(struct session *s, bool block, struct tracee_stop *stop)
{
	if (asked_to_end)
		session_end(s, "ended by signal %d (%s)", asked_to_end,
			    strsignal(asked_to_end));
	if (s->over)
		return -ECANCELED;
	return tracee_wait(-1, block ? 0 : WNOHANG, stop);
}

static void event_stop(struct session *s, struct task *t)
{
	t->interrupted = t->late_stop = false;
	if (t->state == TASK_STOPPED && !t->call.active) {
		t->state = TASK_READY;
		return;
	}
	if (t->call.active) {
		t->state = TASK_CALL;
		tracee_ignore(tracee_resume(t->tid, PTRACE_CONT, 0));
		return;
	}
	if (t == s->cur && t->state == TASK_RUNNING)
		signal_point(s, t);
	else
		tracee_ignore(tracee_resume(t->tid, PTRACE_CONT, 0));
}

static void group_stop(struct session *s, struct task *t)
{
	if (t->call.active && !t->call.split)
		emit_enter(s, t);
	else if (t->state == TASK_RUNNING)
		signal_here(s, t);
	t->state = TASK_STOPPED;
	if (s->cur == t)
		s->cur = NULL;
	tracee_ignore(tracee_resume(t->tid, PTRACE_LISTEN, 0));
	for (t = s->tasks; t; t = t->next)
		if (t->state != TASK_STOPPED)
			return;
	/* Ctrl-Z: the shell that waits for us is to see its job stopped. Its fg
	 * continues us and the program, which are one process group. */
	raise(SIGSTOP);
}

static void trace_event(struct session *s, struct task *t, const struct tracee_stop *stop)
{
	switch (stop->event) {
	case PTRACE_EVENT_SECCOMP:
		call_entered(s, t);
		break;
	case PTRACE_EVENT_FORK:
	case PTRACE_EVENT_VFORK:
	case PTRACE_EVENT_CLONE:
		process_forked(s, t, stop->event);
		break;
	case PTRACE_EVENT_EXEC:
		process_exec_event(s, t);
		break;
	case PTRACE_EVENT_EXIT:
		process_exiting(s, t);
		break;
	case PTRACE_EVENT_STOP:
		event_stop(s, t);
		break;
	default:
		tracee_ignore(tracee_resume(t->tid, PTRACE_CONT, 0));
	}
}

void session_stop(struct session *s, const struct tracee_stop *stop)
{
	struct task *t = task_find(s, stop->tid);

	/* A thread's exec is reported with the leader's number. */
	if (stop->kind == TRACEE_EVENT && stop->event == PTRACE_EVENT_EXEC)
		t = process_execed(s, stop->tid);
	if (!t) {
		if (stop->kind == TRACEE_EXITED || stop->kind == TRACEE_KILLED)
			process_unknown_ended(s, stop);
		else if (s->n_orphans < (int)ARRAY_SIZE(s->orphans))
			s->orphans[s->n_orphans++] = *stop;
		return;
	}
	switch (stop->kind) {
	case TRACEE_SYSCALL:
		if (t->execing)
			process_exec_done(s, t);
		else
			call_exited(s, t);
		break;
	case TRACEE_EVENT:
		trace_event(s, t, stop);
		break;
	case TRACEE_GROUP:
		group_stop(s, t);
		break;
	case TRACEE_SIGNAL:
		/* Every stop takes the place of an interrupt sent before it. */
		t->late_stop |= t->interrupted;
		t->interrupted = false;
		signal_stopped(s, t, stop->sig);
		break;
	case TRACEE_EXITED:
	case TRACEE_KILLED:
		process_ended(s, t, stop);
		break;
	}
}

static int loop(struct session *s)
{
	struct tracee_stop stop;
	int err;

	while (s->n_tasks || !s->root_ended) {
		sched_next(s);
		err = session_wait(s, true, &stop);
		if (err == -EINTR)
			sched_tick(s);
		else if (err == -ECANCELED || err == -ECHILD)
			break;
		else if (err)
			return err;
		else
			session_stop(s, &stop);
	}
	return 0;
}

/* ---- begin and end ---- */

#define N_SIGNALS 5

static void set_signals(struct sigaction old[N_SIGNALS])
{
	static const int sigs[] = {SIGINT, SIGQUIT, SIGTSTP, SIGTERM, SIGHUP};
	struct sigaction sa = {.sa_handler = on_alarm};

	/* No SA_RESTART: they are to interrupt waitpid(). */
	sigaction(SIGALRM, &sa, NULL);
	for (int i = 0; i < N_SIGNALS; i++) {
		/* Ctrl-C, Ctrl-\ and Ctrl-Z go to the whole foreground group:
		 * they are the program's business. */
		sa.sa_handler = i < 3 ? SIG_IGN : on_end;
		sigaction(sigs[i], &sa, &old[i]);
	}
}

static void kill_all(struct session *s)
{
	struct tracee_stop stop;

	for (struct task *t = s->tasks; t; t = t->next)
		kill(t->pid, SIGKILL);
	while (s->n_tasks) {
		struct task *t;

		if (tracee_wait(-1, 0, &stop) == -ECHILD)
			break;
		t = task_find(s, stop.tid);
		if (stop.kind == TRACEE_EVENT)
			tracee_ignore(tracee_resume(stop.tid, PTRACE_CONT, 0));
		else if (t && (stop.kind == TRACEE_EXITED || stop.kind == TRACEE_KILLED))
			task_free(s, t);
	}
	while (s->tasks)
		task_free(s, s->tasks);
}

static int begin(struct session *s, const char *path)
{
	struct mm *mm;
	pid_t pid;
	int err;

	err = launch_child(s, path, &pid);
	if (err)
		return err;
	s->root = pid;
	mm = mm_new(NULL);
	s->cur = mm ? task_new(s, pid, pid, mm) : NULL;
	if (!s->cur)
		return -ENOMEM;
	s->cur->state = TASK_RUNNING;
	s->cur->cpus = s->cpus;
	s->cur->segv = segv_new(NULL);
	if (!s->cur->segv)
		return -ENOMEM;
	return 0;
}

/* The first exec failed: the child wrote why into the pipe. */
static int exec_failed(struct session *s)
{
	int err = 0;

	if (read(s->told, &err, sizeof(err)) != sizeof(err))
		err = ECHILD;
	log_error("%s: cannot be started: %s", s->opts->argv[0], strerror(err));
	return -err;
}

static int finish(struct session *s, int err, int *status)
{
	struct trace_end end = {.status = s->root_status};
	int got;

	end.clean = true;
	end.time_ns = now_ns() - s->start_ns;
	end.why = s->why;
	samples_close(s);
	end.lost = s->lost_samples;
	got = trace_writer_close(s->w, &end);
	if (got && !s->over)
		log_error("cannot close the trace: %s", strerror(-got));
	if (!err && !s->execed)
		err = exec_failed(s);
	if (s->over) {
		log_error("recording ended early: %s", s->why);
		*status = asked_to_end ? 128 + asked_to_end : 1;
	} else if (!s->execed) {
		*status = WIFEXITED(s->root_status) ? WEXITSTATUS(s->root_status) : 126;
	} else if (WIFSIGNALED(s->root_status)) {
		*status = 128 + WTERMSIG(s->root_status);
	} else {
		*status = WEXITSTATUS(s->root_status);
	}
	return err ? err : got;
}

int record_run(const struct record_opts *o, int *status)
{
	struct session *s;
	struct sigaction old[N_SIGNALS];
	char path[4096];
	int err;

	*status = 1;
	err = launch_check(o->argv[0], path, sizeof(path), status);
	if (err)
		return err;
	s = calloc(1, sizeof(*s));
	if (!s)
		return -ENOMEM;
	s->opts = o;
	s->told = -1;
	s->start_ns = now_ns();
	err = record_open(s);
	if (err)
		goto out;
	err = begin(s, path);
	set_signals(old);
	if (!err)
		err = loop(s);
	kill_all(s);
	err = finish(s, err, status);
	if (!o->quiet && s->execed && isatty(STDERR_FILENO))
		log_info("trace in %s", s->dir);
	setitimer(ITIMER_REAL, &(struct itimerval){0}, NULL);
	sigaction(SIGINT, &old[0], NULL);
	sigaction(SIGQUIT, &old[1], NULL);
out:
	if (s->told >= 0)
		close(s->told);
	effects_fini(&s->fx);
	free(s->shared);
	free(s->held);
	free(s->kernel);
	free(s);
	return err;
}
