/* SPDX-FileCopyrightText: The camd authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * reader.c: a program that reads frames with camd.h, as an example and for
 * tests. It prints the rate, and checks with --verify every frame when it is
 * taken and again when it is released: the test pattern has the frame's number
 * at the start of each row, and no byte may change in between. Frames in memory
 * of a GPU come back through a stream of this program.
 *
 *     cc reader.c camd.c -o reader && ./reader front/color --verify
 *
 * By cuda where camd has the frames on a GPU that this process sees, else by shm.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
/* The header may lie beside this file, or this file in the root of a clone. */
#if defined(__has_include)
#if !__has_include("camd.h")
#include "clients/c/camd.h"
#endif
#endif
#ifndef CAMD_H
#include "camd.h"
#endif

#include <dlfcn.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

/* Exit codes, those of camsub. */
enum { EXIT_BAD = 1, EXIT_USAGE = 2, EXIT_NOT_FOUND = 4, EXIT_NO_PATH = 5, EXIT_NOTHING = 6 };

static volatile sig_atomic_t stopped;

enum { STOP_MS = 1500 }; /* from a signal to the end, whatever hangs */

static void end_in(long ms)
{
	struct itimerval t = {.it_value = {.tv_sec = ms / 1000, .tv_usec = ms % 1000 * 1000}};
	setitimer(ITIMER_REAL, &t, NULL);
}

/* A call of the CUDA driver that hangs cannot be interrupted: then the process
 * ends from here. */
static void stop(int signal)
{
	static const char late[] = "reader: nothing within --timeout-ms: a call of the CUDA driver does not return\n";
	if (signal == SIGALRM) {
		if (!stopped)
			(void)!write(STDERR_FILENO, late, sizeof late - 1);
		_exit(stopped ? 0 : EXIT_NOTHING);
	}
	if (stopped)
		return; /* timeout(1) signals a process and its group, which is one order to end */
	stopped = 1;
	end_in(STOP_MS);
}

static int64_t now_ns(void)
{
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

static void sleep_ns(int64_t ns)
{
	struct timespec t = {.tv_sec = ns / 1000000000, .tv_nsec = ns % 1000000000};
	if (ns > 0)
		nanosleep(&t, NULL);
}

struct settings {
	camd_options options;
	const char *stream;
	long count;    /* frames; 0: no end */
	long hold_ms;  /* keep every frame so long */
	long timeout_ms;
	bool verify, async, reconnect, print;
};

/* Ends the process if nothing comes back within --timeout-ms and what a step may
 * take besides. */
static void watch(const struct settings *s)
{
	if (s->timeout_ms > 0 && !stopped)
		end_in(s->timeout_ms + s->hold_ms + 2000);
}

/* ---- This program's own use of the GPU ---- */

#define FUNCTIONS(F) \
	F(cuCtxSetCurrent, (void *)) \
	F(cuDeviceGet, (int *, int)) \
	F(cuDevicePrimaryCtxRelease_v2, (int)) \
	F(cuStreamCreateWithPriority, (void **, unsigned, int)) \
	F(cuStreamDestroy_v2, (void *)) \
	F(cuStreamSynchronize, (void *)) \
	F(cuMemHostAlloc, (void **, size_t, unsigned)) \
	F(cuMemFreeHost, (void *)) \
	F(cuMemcpyDtoHAsync_v2, (void *, uint64_t, size_t, void *))

static struct {
	bool loaded;
#define F(name, arguments) int(*name) arguments;
	FUNCTIONS(F)
#undef F
} cu;

/* camd.c has opened the driver, wherever it is; its name finds it again. */
static bool load_driver(void)
{
	void *address;
	if (cu.loaded)
		return true;
	void *library = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
	if (library == NULL)
		return false;
#define F(name, arguments) \
	if ((address = dlsym(library, #name)) == NULL) \
		return false; \
	memcpy(&cu.name, &address, sizeof address);
	FUNCTIONS(F)
#undef F
	return cu.loaded = true;
}

enum { COPIES = 2 };

/* Pinned memory for frames that come back, and the stream for that. */
struct gpu {
	void *context, *stream;
	struct {
		uint8_t *host;
		size_t size;
		camd_frame frame; /* what it has, with --async */
		bool full;
	} copy[COPIES];
};

static bool gpu_ok(int code, const char *call)
{
	if (code != 0)
		fprintf(stderr, "reader: %s: error %d\n", call, code);
	return code == 0;
}

static int lent = -1; /* the GPU whose context camd_device gave to this program */

static bool gpu_open(struct gpu *g, const camd_sub *sub)
{
	memset(g, 0, sizeof *g);
	int ordinal = camd_device(sub, &g->context);
	if (ordinal < 0)
		return true; /* frames are in host memory */
	lent = ordinal;
	return load_driver() && gpu_ok(cu.cuCtxSetCurrent(g->context), "cuCtxSetCurrent") &&
		gpu_ok(cu.cuStreamCreateWithPriority(&g->stream, 1, 0), "cuStreamCreateWithPriority");
}

static void gpu_close(struct gpu *g)
{
	if (g->stream != NULL) {
		cu.cuStreamSynchronize(g->stream); /* copies go to what is freed below */
		cu.cuStreamDestroy_v2(g->stream);
	}
	for (int i = 0; i < COPIES; i++)
		if (g->copy[i].host != NULL)
			cu.cuMemFreeHost(g->copy[i].host);
	if (g->context != NULL)
		cu.cuCtxSetCurrent(NULL);
	memset(g, 0, sizeof *g);
}

/* Gives the context back, when no memory or stream of it is needed any more. */
static void gpu_done(void)
{
	int device;
	if (cu.loaded && lent >= 0 && cu.cuDeviceGet(&device, lent) == 0)
		cu.cuDevicePrimaryCtxRelease_v2(device);
}

/* Enqueues the copy of a frame into the i-th memory. */
static bool gpu_copy(struct gpu *g, int i, const camd_frame *f)
{
	if (g->copy[i].size < f->bytes) {
		void *p = NULL;
		if (g->copy[i].host != NULL && cu.cuStreamSynchronize(g->stream) == 0)
			cu.cuMemFreeHost(g->copy[i].host);
		g->copy[i].host = NULL;
		if (!gpu_ok(cu.cuMemHostAlloc(&p, f->bytes, 0), "cuMemHostAlloc"))
			return false;
		g->copy[i].host = p;
		g->copy[i].size = f->bytes;
	}
	return gpu_ok(cu.cuMemcpyDtoHAsync_v2(g->copy[i].host, f->device, f->bytes, g->stream), "cuMemcpyDtoHAsync");
}

static bool gpu_wait(struct gpu *g) { return gpu_ok(cu.cuStreamSynchronize(g->stream), "cuStreamSynchronize"); }

/* The pixels of a frame, for reading here; null: the GPU failed. */
static const uint8_t *pixels(struct gpu *g, const camd_frame *f)
{
	if (f->device == 0)
		return f->host;
	return gpu_copy(g, 0, f) && gpu_wait(g) ? g->copy[0].host : NULL;
}

/* ---- Checks ---- */

/* Every row of the test pattern begins with the frame's number, 8 bytes, least
 * significant first, where it is wide enough. */
static bool whole(const camd_frame *f, const uint8_t *data)
{
	if ((f->flags & CAMD_PATTERN) == 0)
		return true;
	for (uint32_t p = 0; p < f->planes; p++) {
		const camd_plane *plane = &f->plane[p];
		if (plane->row_bytes < 8)
			continue;
		for (uint32_t y = 0; y < plane->rows; y++) {
			const uint8_t *row = data + plane->offset + (size_t)y * plane->step;
			uint64_t number = 0;
			for (int i = 7; i >= 0; i--)
				number = number << 8 | row[i];
			if (number != f->driver_sequence)
				return false;
		}
	}
	return true;
}

/* A sum of all bytes, to be compared with that of another look. */
static uint64_t sum(const uint8_t *data, size_t n)
{
	uint64_t h = n, word;
	for (; n >= 8; n -= 8, data += 8) {
		memcpy(&word, data, 8);
		h = (h ^ word) * 0x9e3779b97f4a7c15u;
		h ^= h >> 29;
	}
	for (; n > 0; n--)
		h = (h ^ *data++) * 0x9e3779b97f4a7c15u;
	return h;
}

struct result {
	uint64_t frames, missed, torn, stale, reconnects;
	int64_t last; /* arrival */
	int64_t reported;
	double sum, squares, min, max; /* of intervals in seconds, since the last report */
	int intervals;
};

/* Newton's method: sqrt would take a library of its own. */
static double square_root(double v)
{
	double x = v > 1 ? v : 1;
	for (int i = 0; i < 60; i++)
		x = (x + v / x) / 2;
	return v > 0 ? x : 0;
}

static void report(struct result *r, int64_t now)
{
	if (r->intervals == 0)
		return;
	double mean = r->sum / r->intervals, variance = r->squares / r->intervals - mean * mean;
	printf("average rate: %.3f\n\tmin: %.3fs max: %.3fs std dev: %.5fs window: %d\n", mean > 0 ? 1 / mean : 0, r->min, r->max,
		square_root(variance), r->intervals);
	fflush(stdout);
	r->reported = now;
	r->intervals = 0;
	r->sum = r->squares = 0;
}

static void arrived(struct result *r, const camd_frame *f)
{
	if (r->last != 0) {
		double d = (double)(f->held_ns - r->last) * 1e-9;
		if (r->intervals == 0 || d < r->min)
			r->min = d;
		if (r->intervals == 0 || d > r->max)
			r->max = d;
		r->sum += d;
		r->squares += d * d;
		r->intervals++;
	} else {
		r->reported = f->held_ns;
	}
	r->last = f->held_ns;
	if (f->held_ns - r->reported >= 1000000000)
		report(r, f->held_ns);
}

/* ---- Frames ---- */

/* Looks at what an earlier turn had copied, and whose lease may be back. */
static bool check_copies(struct gpu *g, struct result *r)
{
	bool any = false;
	for (int i = 0; i < COPIES; i++)
		any |= g->copy[i].full;
	if (!any)
		return true;
	if (!gpu_wait(g))
		return false;
	for (int i = 0; i < COPIES; i++) {
		if (g->copy[i].full && !whole(&g->copy[i].frame, g->copy[i].host))
			r->torn++;
		g->copy[i].full = false;
	}
	return true;
}

/* Reads a frame by work of the GPU and gives it back without waiting. */
static int use_async(const struct settings *s, camd_sub *sub, camd_frame *f, struct gpu *g, struct result *r)
{
	int i = (int)(r->frames % COPIES);
	if (g->copy[i].full && !check_copies(g, r))
		return CAMD_GPU;
	if (!gpu_copy(g, i, f))
		return CAMD_GPU;
	g->copy[i].frame = *f;
	g->copy[i].full = s->verify;
	sleep_ns(s->hold_ms * 1000000);
	return camd_release_on(sub, f, g->stream);
}

/* Reads a frame when it was taken and before it is released. */
static int use(const struct settings *s, camd_sub *sub, camd_frame *f, struct gpu *g, struct result *r)
{
	uint64_t before = 0;
	bool good = true;
	if (s->verify) {
		const uint8_t *data = pixels(g, f);
		if (data == NULL)
			return CAMD_GPU;
		before = sum(data, f->bytes);
		good = whole(f, data);
	}
	for (int64_t end = now_ns() + s->hold_ms * 1000000; !stopped && now_ns() < end;)
		sleep_ns(end - now_ns());
	if (s->verify) {
		const uint8_t *data = pixels(g, f);
		if (data == NULL)
			return CAMD_GPU;
		good = good && whole(f, data) && sum(data, f->bytes) == before;
		/* The look at the contents comes first: the ring then knows of every
		 * overwrite that it can have met. */
		if (camd_valid(sub, f) == CAMD_STALE)
			r->stale++;
		else if (!good)
			r->torn++;
	}
	return camd_release(sub, f);
}

static int next(const struct settings *s, camd_sub *sub, camd_frame *f, int timeout_ms)
{
	if (s->options.wake != CAMD_WAKE_FD)
		return camd_next(sub, f, timeout_ms);
	int status = camd_next(sub, f, 0);
	if (status != CAMD_TIMEOUT)
		return status;
	struct pollfd p = {.fd = camd_fd(sub), .events = POLLIN};
	poll(&p, 1, camd_get_stats(sub).pending > 0 ? 1 : timeout_ms);
	return camd_next(sub, f, 0);
}

/* Takes frames until there is an end. CAMD_OK: as many as were wanted, or a
 * signal. */
static int run(const struct settings *s, camd_sub *sub, struct result *r)
{
	struct gpu g;
	int status = gpu_open(&g, sub) ? CAMD_OK : CAMD_GPU;
	int64_t heard = now_ns(), watched = 0;
	while (status == CAMD_OK && !stopped && (s->count == 0 || r->frames < (uint64_t)s->count)) {
		camd_frame f;
		if (now_ns() - watched > 500000000) { /* a system call for each frame would be many */
			watch(s);
			watched = now_ns();
		}
		status = next(s, sub, &f, 100);
		if (status == CAMD_TIMEOUT) {
			status = s->timeout_ms > 0 && now_ns() - heard > s->timeout_ms * 1000000 ? CAMD_TIMEOUT : CAMD_OK;
			continue;
		}
		if (status != CAMD_OK)
			break;
		heard = f.held_ns;
		arrived(r, &f);
		if (s->print) {
			printf("frame %llu %02x%02x%02x%02x %llu %ux%u %s\n", (unsigned long long)f.sequence, f.session[0], f.session[1],
				f.session[2], f.session[3], (unsigned long long)f.epoch, (unsigned)f.width, (unsigned)f.height,
				(f.flags & CAMD_DISCONTINUITY) != 0 ? "discontinuity" : "goes-on");
			fflush(stdout);
		}
		status = s->async && f.device != 0 ? use_async(s, sub, &f, &g, r) : use(s, sub, &f, &g, r);
		r->frames++;
	}
	if (g.context != NULL && !check_copies(&g, r))
		status = CAMD_GPU;
	gpu_close(&g);
	r->missed += camd_get_stats(sub).missed;
	r->stale += camd_get_stats(sub).stale;
	return status;
}

static int exit_code(int status)
{
	switch (status) {
	case CAMD_OK:
		return 0;
	case CAMD_NO_DAEMON:
	case CAMD_UNKNOWN_STREAM:
	case CAMD_NOT_READY:
	case CAMD_GONE:
		return EXIT_NOT_FOUND;
	case CAMD_NOT_AVAILABLE:
	case CAMD_PERMISSION:
		return EXIT_NO_PATH;
	case CAMD_TIMEOUT:
		return EXIT_NOTHING;
	case CAMD_INVALID:
		return EXIT_USAGE;
	default:
		return EXIT_BAD;
	}
}

/* Whether a subscription that ended so can be had again. */
static bool again(const struct settings *s, int status, bool was_there)
{
	switch (status) {
	case CAMD_NOT_READY:
		return true;
	case CAMD_GONE:
	case CAMD_EVICTED:
	case CAMD_GPU:
	case CAMD_NO_DAEMON:
	case CAMD_NOT_AVAILABLE:
	case CAMD_UNKNOWN_STREAM:
	case CAMD_TIMEOUT:
		return s->reconnect && was_there;
	}
	return false;
}

/* Says what ended a subscription, once while it stays the same. */
static void tell(const struct settings *s, const camd_sub *sub, int status, char *last, size_t size)
{
	char line[700];
	const char *detail = camd_detail(sub), *reason = camd_reason(sub);
	bool said = reason[0] == 0 || strstr(detail, reason) != NULL;
	snprintf(line, sizeof line, "%s%s%s%s%s%s", camd_strerror(status), detail[0] != 0 ? ": " : "", detail, said ? "" : " (", said ? "" : reason,
		said ? "" : ")");
	if (strcmp(line, last) == 0)
		return;
	fprintf(stderr, "reader: %s: %s\n", s->stream, line);
	snprintf(last, size, "%s", line);
}

static int read_stream(const struct settings *s)
{
	struct result r = {0};
	int status;
	bool was_there = false;
	char said[700] = "";
	int64_t since = now_ns();
	for (;;) {
		camd_sub *sub;
		watch(s);
		status = camd_open(&sub, s->stream, &s->options);
		if (status == CAMD_OK) {
			r.reconnects += was_there;
			was_there = true;
			said[0] = 0;
			fprintf(stderr, "reader: %s by %s%s%s\n", s->stream, camd_path(sub), camd_detail(sub)[0] != 0 ? "; " : "", camd_detail(sub));
			printf("path %s %s\n", camd_path(sub), camd_reason(sub)[0] != 0 ? camd_reason(sub) : "-");
			fflush(stdout);
			status = run(s, sub, &r);
			since = now_ns();
		}
		if (status != CAMD_OK)
			tell(s, sub, status, said, sizeof said);
		camd_close(sub);
		bool late = s->timeout_ms > 0 && now_ns() - since > s->timeout_ms * 1000000;
		if (status == CAMD_OK || stopped || late || !again(s, status, was_there))
			break;
		sleep_ns(100000000);
	}
	gpu_done();
	if (stopped)
		status = CAMD_OK;
	report(&r, 0);
	printf("frames %llu missed %llu torn %llu stale %llu reconnects %llu\n", (unsigned long long)r.frames, (unsigned long long)r.missed,
		(unsigned long long)r.torn, (unsigned long long)r.stale, (unsigned long long)r.reconnects);
	if (status == CAMD_OK && r.torn + r.stale > 0)
		return EXIT_BAD;
	return exit_code(status);
}

/* ---- The command line ---- */

static const char usage[] =
	"usage: reader STREAM [--accept cuda,shm] [--require cuda|shm] [--verify] [--count N]\n"
	"       [--hold-ms N] [--timeout-ms N] [--credit N] [--wake futex|fd] [--async] [--reconnect]\n"
	"       [--print] [--runtime-dir DIR] [--cuda-library FILE] [--name NAME]\n"
	"\n"
	"  --accept      paths that may be taken, the best of them is (cuda,shm)\n"
	"  --verify      check every frame when it is taken and when it is released\n"
	"  --async       path cuda: release with camd_release_on, before the work is complete\n"
	"  --reconnect   when camd goes away, wait for it until --timeout-ms\n"
	"  --print       a line for each frame\n";

static bool number(const char *text, long *out)
{
	char *end;
	*out = strtol(text, &end, 10);
	return text[0] != 0 && *end == 0 && *out >= 0;
}

/* "cuda,shm" as bits; 0: something else. */
static unsigned paths(const char *text)
{
	unsigned bits = 0;
	while (*text != 0) {
		size_t n = strcspn(text, ",");
		if (n == 4 && memcmp(text, "cuda", 4) == 0)
			bits |= CAMD_CUDA;
		else if (n == 3 && memcmp(text, "shm", 3) == 0)
			bits |= CAMD_SHM;
		else
			return 0;
		text += n + (text[n] == ',');
	}
	return bits;
}

static bool flag(struct settings *s, const char *arg)
{
	if (strcmp(arg, "--verify") == 0)
		return s->verify = true;
	if (strcmp(arg, "--async") == 0)
		return s->async = true;
	if (strcmp(arg, "--reconnect") == 0)
		return s->reconnect = true;
	if (strcmp(arg, "--print") == 0)
		return s->print = true;
	return false;
}

static bool option(struct settings *s, const char *name, const char *value)
{
	long n;
	if (strcmp(name, "--accept") == 0)
		return (s->options.accept = paths(value)) != 0;
	if (strcmp(name, "--require") == 0)
		return (s->options.require = paths(value)) != 0;
	if (strcmp(name, "--count") == 0)
		return number(value, &s->count);
	if (strcmp(name, "--hold-ms") == 0)
		return number(value, &s->hold_ms);
	if (strcmp(name, "--timeout-ms") == 0)
		return number(value, &s->timeout_ms);
	if (strcmp(name, "--credit") == 0 && number(value, &n) && n <= CAMD_MAX_CREDIT) {
		s->options.credit = (int)n;
		return true;
	}
	if (strcmp(name, "--wake") == 0) {
		s->options.wake = strcmp(value, "fd") == 0 ? CAMD_WAKE_FD : CAMD_WAKE_FUTEX;
		return strcmp(value, "fd") == 0 || strcmp(value, "futex") == 0;
	}
	if (strcmp(name, "--runtime-dir") == 0)
		return (s->options.runtime_dir = value) != NULL;
	if (strcmp(name, "--cuda-library") == 0)
		return (s->options.cuda_library = value) != NULL;
	if (strcmp(name, "--name") == 0)
		return (s->options.name = value) != NULL;
	return false;
}

int main(int argc, char **argv)
{
	struct settings s;
	memset(&s, 0, sizeof s);
	for (int i = 1; i < argc; i++) {
		if (strcmp(argv[i], "--help") == 0) {
			fputs(usage, stdout);
			return 0;
		}
		if (argv[i][0] != '-' && s.stream == NULL) {
			s.stream = argv[i];
		} else if (!flag(&s, argv[i])) {
			if (i + 1 >= argc || !option(&s, argv[i], argv[i + 1])) {
				fprintf(stderr, "reader: %s: unknown, or without a value that it can have\n%s", argv[i], usage);
				return EXIT_USAGE;
			}
			i++;
		}
	}
	if (s.stream == NULL) {
		fputs(usage, stderr);
		return EXIT_USAGE;
	}
	if (s.options.accept == 0 && s.options.require == 0)
		s.options.accept = CAMD_CUDA | CAMD_SHM; /* the best that can be had; camd.h's default is shm alone */
	if (s.timeout_ms > 0 && s.timeout_ms < 5000)
		s.options.timeout_ms = (int)s.timeout_ms;
	struct sigaction a;
	memset(&a, 0, sizeof a);
	a.sa_handler = stop;
	sigaction(SIGINT, &a, NULL);
	sigaction(SIGTERM, &a, NULL);
	sigaction(SIGALRM, &a, NULL);
	return read_stream(&s);
}
