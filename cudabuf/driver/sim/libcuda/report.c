// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

// Broken rules, told as lines of JSON in the file reports.jsonl of the run
// directory: one write for each line, so that processes do not mix theirs.
#include "sim.h"

#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

// A loop must not fill the disk, nor one mistake hide the others: a process
// tells of a rule broken in a call so many times, and so many times in all.
enum { MAX_REPORTS = 256, MAX_ALIKE = 8, KINDS = 64 };

static pthread_mutex_t reports_lock = PTHREAD_MUTEX_INITIALIZER;
static int reports;
static struct {
	const char *rule, *call;
	int n;
} kinds[KINDS];

// enough counts a report and is whether there have been enough like it.
static bool enough(const char *rule, const char *call, bool *last) {
	bool too_many = true;
	pthread_mutex_lock(&reports_lock);
	for (int i = 0; i < KINDS; i++) {
		if (!kinds[i].rule) {
			kinds[i].rule = rule;
			kinds[i].call = call;
		}
		if (strcmp(kinds[i].rule, rule) || strcmp(kinds[i].call, call))
			continue;
		*last = ++kinds[i].n == MAX_ALIKE;
		too_many = kinds[i].n > MAX_ALIKE || ++reports > MAX_REPORTS;
		break;
	}
	pthread_mutex_unlock(&reports_lock);
	return too_many;
}

// report_in_child makes the lock usable in a child of fork, where its holder may
// be missing.
void report_in_child(void) { pthread_mutex_init(&reports_lock, NULL); }

static size_t escape(char *to, size_t room, const char *from) {
	size_t n = 0;
	for (; *from && n + 7 < room; from++) {
		unsigned char c = (unsigned char)*from;
		if (c == '"' || c == '\\')
			to[n++] = '\\';
		if (c < 0x20)
			n += (size_t)snprintf(to + n, 7, "\\u%04x", c);
		else
			to[n++] = (char)c;
	}
	to[n] = 0;
	return n;
}

void report(const char *rule, const char *call, const char *format, ...) {
	bool last = false;
	if (enough(rule, call, &last))
		return;
	char text[512], quoted[1100], line[1400], path[2100];
	va_list args;
	va_start(args, format);
	vsnprintf(text, sizeof text, format, args);
	va_end(args);
	if (last) {
		size_t n = strlen(text);
		snprintf(text + n, sizeof text - n, " (no more of these are told)");
	}
	escape(quoted, sizeof quoted, text);
	int n = snprintf(line, sizeof line, "{\"rule\":\"%s\",\"call\":\"%s\",\"pid\":%d,\"tid\":%d,\"text\":\"%s\"}\n",
		rule, call, (int)getpid(), thread_id(), quoted);
	if (n < 0 || (size_t)n >= sizeof line)
		return;
	snprintf(path, sizeof path, "%s/reports.jsonl", conf.dir);
	int fd = open(path, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0666);
	if (fd < 0 || conf.echo) {
		if (write(2, line, (size_t)n) < 0)
			n = 0;
	}
	if (fd < 0)
		return;
	fchmod(fd, 0666); // for processes of other users; fails unless it is ours
	if (write(fd, line, (size_t)n) != n)
		fprintf(stderr, "cudasim: %s is full\n", path);
	close(fd);
}
