/* SPDX-FileCopyrightText: The camd authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * The client of camd.h, in this order: constants of the shared memory, JSON,
 * SHA-256, the daemon's messages, the CUDA driver, memory, the socket, the
 * hand-shake, frames, and the functions of camd.h.
 *
 * What the daemon says and what lies in shared memory is checked before it is
 * used: a daemon that lies, or something that only looks like one, ends in an
 * error. The protocol is that of negotiate/message.go, the memory that of
 * ring/layout.go.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include "camd.h"

#include <dlfcn.h>
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/futex.h>
#include <poll.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

_Static_assert(sizeof(void *) == 8, "camd needs a 64-bit host");
_Static_assert(ATOMIC_LLONG_LOCK_FREE == 2 && ATOMIC_INT_LOCK_FREE == 2, "shared memory needs lock-free atomics");

/* ---- Shared memory: ring/layout.go and ring/group.go, version 1 ---- */

enum {
	LAYOUT_VERSION = 1,
	MAX_SLOTS = 254,

	HDR_MAGIC = 0,     /* u64 */
	HDR_VERSION = 8,   /* u32 */
	HDR_RECORDS = 12,  /* u32: offset of the slot records */
	HDR_SESSION = 16,  /* 16 bytes */
	HDR_EPOCH = 32,    /* u64 */
	HDR_SLOTS = 40,    /* u32 */
	HDR_RECORD = 44,   /* u32: bytes of a slot record */
	HDR_STRIDE = 48,   /* u64 */
	HDR_PIXELS = 56,   /* u64 */
	HDR_PROBE = 64,    /* 32 bytes */
	HDR_RETIRED = 192, /* u32 */
	RECORD_START = 256,
	PROBE_BYTES = 32,

	REC_GENERATION = 0, /* u64, atomic */
	REC_SEQUENCE = 8,
	REC_DRIVER_SEQ = 16,
	REC_CAPTURE = 24,
	REC_WALL = 32,
	REC_READY = 40,
	REC_PUBLISH = 48,
	REC_BYTES = 56,
	REC_FLAGS = 64, /* u32 */
	REC_CLOCK = 68, /* u32 */
	REC_EPOCH = 112,
	REC_BREAK = 120,
	RECORD_BYTES = 128,

	PAGE_MAILBOX = 0,   /* u64: the word on offer, 0 = none */
	PAGE_WAITING = 64,  /* u32: the reader is about to sleep */
	PAGE_KICK = 128,    /* u32: the writer wants a message after the next release */
	PAGE_EVICTED = 192, /* u32 */
	PAGE_HEAD = 256,    /* u32: returned words written */
	PAGE_TAIL = 320,    /* u32: returned words read, by the writer */
	PAGE_RETURNS = 512, /* RETURN_SLOTS x u64 */
	RETURN_SLOTS = 64,
	PAGE_MIN_BYTES = PAGE_RETURNS + RETURN_SLOTS * 8,

	WAKE_COUNT = 0, /* u32, the futex */
	WAKE_BYTES = 64
};

#define RING_MAGIC 0x474e4952444d4143ull /* "CAMDRING" */

#define MAX_SIDE (1 << 16)
#define MAX_FRAME_BYTES 0x7fffffffll
#define MAX_STEP (MAX_SIDE * 4ll + (1 << 16))
#define MAX_STRIDE 0x80000000ll /* MAX_FRAME_BYTES, rounded up to pages */
#define MAX_SMALL (1ll << 20)   /* bytes of a header or page */
#define MAX_MEMORY (1ll << 40)

#define MAX_PACKET (64 << 10)
#define MAX_FILES 4
#define MAX_GPUS 16
#define NAME_MAX_BYTES 128
#define PROTOCOL_MAJOR 1
#define PROTOCOL_MINOR 1

#define SLICE_MS 100    /* longest sleep between two looks at the socket */
#define REAP_SLICE_MS 1 /* the same while GPU work is pending */

#define PROBE_LIMIT_MS 1500 /* for the GPU to read the proof: less than the daemon waits */
#ifndef WORK_LIMIT_MS
#define WORK_LIMIT_MS 5000 /* for the GPU to finish what a subscription that ends has given it */
#endif
#define OPEN_LIMIT_MS 5000  /* for another thread to open the driver */

/* Typed access. Offsets are constants above, or checked. */
static _Atomic uint32_t *at32(void *base, size_t off) { return (_Atomic uint32_t *)(void *)((char *)base + off); }
static _Atomic uint64_t *at64(void *base, size_t off) { return (_Atomic uint64_t *)(void *)((char *)base + off); }
static uint32_t get32(void *base, size_t off) { return atomic_load_explicit(at32(base, off), memory_order_relaxed); }
static uint64_t get64(void *base, size_t off) { return atomic_load_explicit(at64(base, off), memory_order_relaxed); }

static int64_t now_ns(void)
{
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

static int64_t least(int64_t a, int64_t b) { return a < b ? a : b; }

static void nap(int64_t ns)
{
	struct timespec t = {.tv_sec = ns / 1000000000, .tv_nsec = ns % 1000000000};
	nanosleep(&t, NULL);
}

static void copy_text(char *to, size_t size, const char *from)
{
	size_t n = strlen(from);
	if (n >= size) {
		n = size - 1;
		while (n > 0 && ((unsigned char)from[n] & 0xc0) == 0x80) /* never half a character */
			n--;
	}
	memcpy(to, from, n);
	to[n] = 0;
}

/* ---- JSON: RFC 8259, checked as a whole before anything is looked up ---- */

#define JSON_DEPTH 32 /* lists and objects in each other */

struct span {
	const char *p, *end; /* one value, without space around it */
};

static const char *json_space(const char *p, const char *end)
{
	while (p < end && (*p == ' ' || *p == '\t' || *p == '\n' || *p == '\r'))
		p++;
	return p;
}

static int hex_digit(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	if (c >= 'a' && c <= 'f')
		return c - 'a' + 10;
	if (c >= 'A' && c <= 'F')
		return c - 'A' + 10;
	return -1;
}

/* The length of the UTF-8 character at p, 0 if it is none (RFC 3629). */
static size_t utf8_length(const char *text, const char *end)
{
	const unsigned char *p = (const unsigned char *)text;
	size_t have = (size_t)(end - text), n;
	if (p[0] < 0x80)
		return 1;
	if (p[0] >= 0xc2 && p[0] <= 0xdf)
		n = 2;
	else if (p[0] >= 0xe0 && p[0] <= 0xef)
		n = 3;
	else if (p[0] >= 0xf0 && p[0] <= 0xf4)
		n = 4;
	else
		return 0;
	if (have < n)
		return 0;
	for (size_t i = 1; i < n; i++)
		if ((p[i] & 0xc0) != 0x80)
			return 0;
	if ((p[0] == 0xe0 && p[1] < 0xa0) || (p[0] == 0xed && p[1] > 0x9f) || (p[0] == 0xf0 && p[1] < 0x90) || (p[0] == 0xf4 && p[1] > 0x8f))
		return 0;
	return n;
}

/* Each json_check_ function returns what follows its value, or null. */
static const char *json_check_string(const char *p, const char *end)
{
	if (p == end || *p != '"')
		return NULL;
	p++;
	while (p < end) {
		if (*p == '"')
			return p + 1;
		if ((unsigned char)*p < 0x20)
			return NULL;
		if (*p == '\\') {
			if (end - p < 2)
				return NULL;
			if (p[1] == 'u') {
				if (end - p < 6)
					return NULL;
				for (int i = 2; i < 6; i++)
					if (hex_digit(p[i]) < 0)
						return NULL;
				p += 6;
			} else if (p[1] != 0 && strchr("\"\\/bfnrt", p[1]) != NULL) {
				p += 2;
			} else {
				return NULL;
			}
			continue;
		}
		size_t n = utf8_length(p, end);
		if (n == 0)
			return NULL;
		p += n;
	}
	return NULL;
}

static const char *json_digits(const char *p, const char *end)
{
	const char *start = p;
	while (p < end && *p >= '0' && *p <= '9')
		p++;
	return p > start ? p : NULL;
}

static const char *json_check_number(const char *p, const char *end)
{
	if (p < end && *p == '-')
		p++;
	if (p < end && *p == '0')
		p++;
	else if ((p = json_digits(p, end)) == NULL)
		return NULL;
	if (p < end && *p == '.' && (p = json_digits(p + 1, end)) == NULL)
		return NULL;
	if (p < end && (*p == 'e' || *p == 'E')) {
		p++;
		if (p < end && (*p == '+' || *p == '-'))
			p++;
		p = json_digits(p, end);
	}
	return p;
}

static const char *json_check_word(const char *p, const char *end, const char *word)
{
	size_t n = strlen(word);
	return (size_t)(end - p) >= n && memcmp(p, word, n) == 0 ? p + n : NULL;
}

static const char *json_check_value(const char *p, const char *end, int depth)
{
	if (p == end)
		return NULL;
	switch (*p) {
	case '"':
		return json_check_string(p, end);
	case 't':
		return json_check_word(p, end, "true");
	case 'f':
		return json_check_word(p, end, "false");
	case 'n':
		return json_check_word(p, end, "null");
	case '{':
	case '[':
		break;
	default:
		return json_check_number(p, end);
	}
	if (depth > JSON_DEPTH)
		return NULL;
	bool object = *p == '{';
	char close = object ? '}' : ']';
	p = json_space(p + 1, end);
	if (p < end && *p == close)
		return p + 1;
	for (;;) {
		if (object) {
			if ((p = json_check_string(p, end)) == NULL)
				return NULL;
			p = json_space(p, end);
			if (p == end || *p != ':')
				return NULL;
			p = json_space(p + 1, end);
		}
		if ((p = json_check_value(p, end, depth + 1)) == NULL)
			return NULL;
		p = json_space(p, end);
		if (p == end)
			return NULL;
		if (*p == close)
			return p + 1;
		if (*p != ',')
			return NULL;
		p = json_space(p + 1, end);
	}
}

/* Checks a whole text and finds its value. */
static bool json_open(const char *text, size_t n, struct span *value)
{
	const char *end = text + n;
	value->p = json_space(text, end);
	value->end = json_check_value(value->p, end, 1);
	return value->end != NULL && json_space(value->end, end) == end;
}

/* The following walk over text that was checked. */
static const char *json_skip_string(const char *p)
{
	for (p++; *p != '"'; p++)
		if (*p == '\\')
			p++;
	return p + 1;
}

static const char *json_skip(const char *p, const char *end)
{
	int depth = 0;
	while (p < end) {
		if (*p == '"') {
			p = json_skip_string(p);
		} else if (*p == '{' || *p == '[') {
			depth++;
			p++;
			continue;
		} else if (*p == '}' || *p == ']') {
			if (depth == 0)
				return p; /* of a number or word in front of it */
			depth--;
			p++;
		} else if (depth == 0) {
			while (p < end && strchr(",]} \t\n\r", *p) == NULL)
				p++;
		} else {
			p++;
			continue;
		}
		if (depth == 0)
			return p;
	}
	return p;
}

static bool json_put(char *out, size_t size, size_t *n, const char *from, size_t count)
{
	if (size - *n <= count)
		return false;
	memcpy(out + *n, from, count);
	*n += count;
	return true;
}

static size_t utf8_encode(uint32_t c, char *out)
{
	if (c < 0x80) {
		out[0] = (char)c;
		return 1;
	}
	if (c < 0x800) {
		out[0] = (char)(0xc0 | c >> 6);
		out[1] = (char)(0x80 | (c & 0x3f));
		return 2;
	}
	if (c < 0x10000) {
		out[0] = (char)(0xe0 | c >> 12);
		out[1] = (char)(0x80 | (c >> 6 & 0x3f));
		out[2] = (char)(0x80 | (c & 0x3f));
		return 3;
	}
	out[0] = (char)(0xf0 | c >> 18);
	out[1] = (char)(0x80 | (c >> 12 & 0x3f));
	out[2] = (char)(0x80 | (c >> 6 & 0x3f));
	out[3] = (char)(0x80 | (c & 0x3f));
	return 4;
}

static uint32_t json_unit(const char *p) /* the four digits of an escape \uXXXX */
{
	uint32_t v = 0;
	for (int i = 0; i < 4; i++)
		v = v << 4 | (uint32_t)hex_digit(p[i]);
	return v;
}

/* Copies a string without its quotes and escapes. A half surrogate becomes
 * U+FFFD, and so does a zero, which no C string has. false: it does not fit, and
 * out has what does. */
static bool json_text(struct span v, char *out, size_t size)
{
	static const char plain[] = "\"\\/bfnrt", meant[] = "\"\\/\b\f\n\r\t";
	size_t n = 0;
	bool fits = true;
	for (const char *p = v.p + 1; fits && *p != '"';) {
		char c[4];
		if (*p != '\\') {
			size_t one = utf8_length(p, v.end);
			fits = json_put(out, size, &n, p, one);
			p += one;
		} else if (p[1] != 'u') {
			fits = json_put(out, size, &n, &meant[strchr(plain, p[1]) - plain], 1);
			p += 2;
		} else {
			uint32_t u = json_unit(p + 2);
			p += 6;
			if (u >= 0xd800 && u < 0xdc00 && p[0] == '\\' && p[1] == 'u') {
				uint32_t low = json_unit(p + 2);
				if (low >= 0xdc00 && low < 0xe000) {
					u = 0x10000 + ((u - 0xd800) << 10) + (low - 0xdc00);
					p += 6;
				}
			}
			if (u == 0 || (u >= 0xd800 && u < 0xe000))
				u = 0xfffd;
			fits = json_put(out, size, &n, c, utf8_encode(u, c));
		}
	}
	out[n] = 0;
	return fits;
}

/* Walks through the members of an object or the elements of a list. */
struct walk {
	const char *p, *end;
	bool object;
	struct span key, value;
};

static struct walk json_walk(struct span v)
{
	struct walk w = {.p = v.p + 1, .end = v.end - 1, .object = *v.p == '{'};
	return w;
}

static bool json_next(struct walk *w)
{
	w->p = json_space(w->p, w->end);
	if (w->p < w->end && *w->p == ',')
		w->p = json_space(w->p + 1, w->end);
	if (w->p >= w->end)
		return false;
	if (w->object) {
		w->key.p = w->p;
		w->key.end = w->p = json_skip_string(w->p);
		w->p = json_space(json_space(w->p, w->end) + 1, w->end); /* the colon */
	}
	w->value.p = w->p;
	w->value.end = w->p = json_skip(w->p, w->end);
	return true;
}

/* What is looked up in one message: the first complaint counts. */
struct reading {
	bool bad;
	char why[160];
};

static void complain(struct reading *r, const char *format, ...) __attribute__((format(printf, 2, 3)));
static void complain(struct reading *r, const char *format, ...)
{
	va_list args;
	if (r->bad)
		return;
	r->bad = true;
	va_start(args, format);
	vsnprintf(r->why, sizeof r->why, format, args);
	va_end(args);
}

/* Finds a member; one that is null counts as missing. Two of one name are a
 * complaint. */
static bool json_member(struct reading *r, struct span object, const char *name, struct span *value)
{
	bool found = false;
	struct walk w = json_walk(object);
	while (json_next(&w)) {
		char key[64];
		if (!json_text(w.key, key, sizeof key) || strcmp(key, name) != 0)
			continue;
		if (found)
			complain(r, "two members %s", name);
		found = true;
		*value = w.value;
	}
	return found && *value->p != 'n';
}

static bool json_object(struct reading *r, struct span object, const char *name, struct span *value)
{
	if (!json_member(r, object, name, value))
		return false;
	if (*value->p != '{') {
		complain(r, "%s is no object", name);
		return false;
	}
	return true;
}

enum { OPTIONAL = 0, REQUIRED = 1, CUT = 2 };

/* A string of printable characters that fits, or with CUT its beginning. */
static void json_string(struct reading *r, struct span object, const char *name, int how, char *out, size_t size)
{
	struct span v;
	out[0] = 0;
	if (!json_member(r, object, name, &v)) {
		if (how == REQUIRED)
			complain(r, "no %s", name);
		return;
	}
	if (*v.p != '"') {
		complain(r, "%s is no string", name);
		return;
	}
	bool fits = json_text(v, out, size);
	for (char *p = out; *p != 0; p++) {
		if ((unsigned char)*p >= 0x20 && *p != 0x7f)
			continue;
		if (how == CUT)
			*p = ' ';
		else
			complain(r, "%s has a character that cannot be printed", name);
	}
	if (how != CUT && !fits)
		complain(r, "%s is longer than %d bytes", name, (int)size - 1);
	if (how == REQUIRED && out[0] == 0)
		complain(r, "no %s", name);
}

/* A whole number without a fraction or exponent; false if there is none. */
static bool json_number(struct reading *r, struct span object, const char *name, bool *negative, uint64_t *out)
{
	struct span v;
	uint64_t n = 0;
	*out = 0;
	*negative = false;
	if (!json_member(r, object, name, &v))
		return false;
	const char *p = v.p;
	if (*p == '-') {
		*negative = true;
		p++;
	}
	if (p == v.end)
		complain(r, "%s is no number", name);
	for (; p < v.end; p++) {
		if (*p < '0' || *p > '9' || n > (UINT64_MAX - (uint64_t)(*p - '0')) / 10) {
			complain(r, "%s is no whole number of 64 bits", name);
			return false;
		}
		n = n * 10 + (uint64_t)(*p - '0');
	}
	*out = n;
	return true;
}

static uint64_t json_u64(struct reading *r, struct span object, const char *name)
{
	bool negative;
	uint64_t n;
	if (json_number(r, object, name, &negative, &n) && negative && n != 0) {
		complain(r, "%s is negative", name);
		return 0;
	}
	return n;
}

/* A missing number is 0, as Go's omitempty has it. */
static int64_t json_int(struct reading *r, struct span object, const char *name, int64_t low, int64_t high)
{
	bool negative;
	uint64_t n;
	json_number(r, object, name, &negative, &n);
	int64_t v = n > INT64_MAX ? INT64_MAX : (int64_t)n;
	if (negative)
		v = -v;
	if (v < low || v > high) {
		complain(r, "%s %lld, want %lld to %lld", name, (long long)v, (long long)low, (long long)high);
		return low;
	}
	return v;
}

static bool json_bool(struct reading *r, struct span object, const char *name)
{
	struct span v;
	if (!json_member(r, object, name, &v))
		return false;
	if (*v.p != 't' && *v.p != 'f')
		complain(r, "%s is neither true nor false", name);
	return *v.p == 't';
}

static void json_hex(struct reading *r, struct span object, const char *name, uint8_t *out, size_t bytes)
{
	char text[129];
	json_string(r, object, name, REQUIRED, text, sizeof text);
	if (strlen(text) != 2 * bytes) {
		complain(r, "%s has not %d hexadecimal digits", name, (int)(2 * bytes));
		return;
	}
	for (size_t i = 0; i < bytes; i++) {
		int high = hex_digit(text[2 * i]), low = hex_digit(text[2 * i + 1]);
		if (high < 0 || low < 0) {
			complain(r, "%s is not hexadecimal", name);
			return;
		}
		out[i] = (uint8_t)(high << 4 | low);
	}
}

/* Writing. A text that does not fit makes len exceed the size. */
struct writer {
	char *out;
	size_t size, len;
};

static void put_raw(struct writer *w, const char *text)
{
	size_t n = strlen(text);
	if (w->len <= w->size && n < w->size - w->len)
		memcpy(w->out + w->len, text, n + 1);
	else
		w->len = w->size; /* stays too long */
	w->len += n;
}

static void put_string(struct writer *w, const char *text)
{
	put_raw(w, "\"");
	for (const char *p = text, *end = text + strlen(text); p < end;) {
		char c[8];
		size_t n = utf8_length(p, end);
		if (n == 0) {
			put_raw(w, "\xef\xbf\xbd"); /* U+FFFD */
			p++;
			continue;
		}
		if ((unsigned char)*p < 0x20 || *p == '"' || *p == '\\') {
			snprintf(c, sizeof c, "\\u%04x", (unsigned)(unsigned char)*p);
		} else {
			memcpy(c, p, n);
			c[n] = 0;
		}
		put_raw(w, c);
		p += n;
	}
	put_raw(w, "\"");
}

static void put_member(struct writer *w, const char *name, const char *text)
{
	put_raw(w, ",\"");
	put_raw(w, name);
	put_raw(w, "\":");
	put_string(w, text);
}

static void put_number(struct writer *w, const char *name, uint64_t n)
{
	char text[64];
	snprintf(text, sizeof text, ",\"%s\":%llu", name, (unsigned long long)n);
	put_raw(w, text);
}

/* ---- SHA-256: FIPS 180-4 ---- */

struct sha256 {
	uint32_t h[8];
	uint64_t bytes;
	uint8_t block[64];
};

static const uint32_t sha256_k[64] = {
	0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5,
	0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174,
	0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa, 0x5cb0a9dc, 0x76f988da,
	0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967,
	0x27b70a85, 0x2e1b2138, 0x4d2c6dfc, 0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85,
	0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070,
	0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3,
	0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2,
};

static uint32_t rotate(uint32_t v, int by) { return v >> by | v << (32 - by); }

static void sha256_start(struct sha256 *s)
{
	static const uint32_t h[8] = {
		0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a, 0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19,
	};
	memcpy(s->h, h, sizeof h);
	s->bytes = 0;
}

static void sha256_block(struct sha256 *s)
{
	uint32_t w[64], v[8];
	for (int i = 0; i < 16; i++) {
		const uint8_t *b = s->block + 4 * i;
		w[i] = (uint32_t)b[0] << 24 | (uint32_t)b[1] << 16 | (uint32_t)b[2] << 8 | b[3];
	}
	for (int i = 16; i < 64; i++) {
		uint32_t a = rotate(w[i - 15], 7) ^ rotate(w[i - 15], 18) ^ w[i - 15] >> 3;
		uint32_t b = rotate(w[i - 2], 17) ^ rotate(w[i - 2], 19) ^ w[i - 2] >> 10;
		w[i] = w[i - 16] + a + w[i - 7] + b;
	}
	memcpy(v, s->h, sizeof v);
	for (int i = 0; i < 64; i++) {
		uint32_t e = rotate(v[4], 6) ^ rotate(v[4], 11) ^ rotate(v[4], 25);
		uint32_t t1 = v[7] + e + ((v[4] & v[5]) ^ (~v[4] & v[6])) + sha256_k[i] + w[i];
		uint32_t a = rotate(v[0], 2) ^ rotate(v[0], 13) ^ rotate(v[0], 22);
		uint32_t t2 = a + ((v[0] & v[1]) ^ (v[0] & v[2]) ^ (v[1] & v[2]));
		memmove(v + 1, v, 7 * sizeof v[0]);
		v[4] += t1;
		v[0] = t1 + t2;
	}
	for (int i = 0; i < 8; i++)
		s->h[i] += v[i];
}

static void sha256_add(struct sha256 *s, const void *data, size_t n)
{
	const uint8_t *p = data;
	for (; n > 0; n--) {
		s->block[s->bytes++ % 64] = *p++;
		if (s->bytes % 64 == 0)
			sha256_block(s);
	}
}

static void sha256_hex(struct sha256 *s, char out[65])
{
	uint64_t bits = s->bytes * 8;
	uint8_t length[8];
	for (int i = 0; i < 8; i++)
		length[i] = (uint8_t)(bits >> (56 - 8 * i));
	sha256_add(s, "\x80", 1);
	while (s->bytes % 64 != 56)
		sha256_add(s, "", 1);
	sha256_add(s, length, 8);
	for (int i = 0; i < 8; i++)
		snprintf(out + 8 * i, 9, "%08x", (unsigned)s->h[i]);
}

/* ---- Geometry: frame/geometry.go and frame/encoding.go ---- */

struct encoding {
	const char *name;
	int group, group_bytes; /* pixels that share bytes, and how many bytes */
	bool chroma;            /* a second plane of half the rows follows */
	bool wide;              /* samples of 16 bits */
	int sample_bits;        /* 0 where compressed */
};

static const struct encoding encodings[] = {
	{"rgb8", 1, 3, false, false, 8}, {"bgr8", 1, 3, false, false, 8}, {"rgba8", 1, 4, false, false, 8},
	{"bgra8", 1, 4, false, false, 8}, {"mono8", 1, 1, false, false, 8}, {"yuv422_yuy2", 2, 4, false, false, 8},
	{"yuv422", 2, 4, false, false, 8}, {"nv12", 1, 1, true, false, 8}, {"mono16", 1, 2, false, true, 16},
	{"16UC1", 1, 2, false, true, 16}, {"bayer_rggb8", 1, 1, false, false, 8}, {"bayer_bggr8", 1, 1, false, false, 8},
	{"bayer_gbrg8", 1, 1, false, false, 8}, {"bayer_grbg8", 1, 1, false, false, 8},
	{"bayer_rggb16", 1, 2, false, true, 16}, {"bayer_bggr16", 1, 2, false, true, 16},
	{"bayer_gbrg16", 1, 2, false, true, 16}, {"bayer_grbg16", 1, 2, false, true, 16},
	{"y8i", 1, 2, false, false, 8}, {"y12i", 1, 3, false, false, 12}, {"jpeg", 1, 0, false, false, 0},
	{"32FC1", 1, 4, false, false, 32}, {"rgb16", 1, 6, false, true, 16}, {"bgr16", 1, 6, false, true, 16},
	{"rgba16", 1, 8, false, true, 16}, {"bgra16", 1, 8, false, true, 16}, {"nv21", 1, 1, true, false, 8},
	{"png", 1, 0, false, false, 0},
};

struct geometry {
	int64_t width, height, step, bits, max;
	bool big_endian;
	const struct encoding *encoding; /* null: the message has no geometry */
};

static bool compressed(const struct geometry *g) { return g->encoding->group_bytes == 0; }

static int64_t row_bytes(const struct geometry *g)
{
	const struct encoding *e = g->encoding;
	int64_t n = (g->width + e->group - 1) / e->group * e->group_bytes;
	return e->chroma ? (n + 1) & ~1ll : n;
}

static int64_t frame_bytes(const struct geometry *g)
{
	if (compressed(g))
		return g->max;
	int64_t n = g->step * g->height;
	return g->encoding->chroma ? n + g->step * ((g->height + 1) / 2) : n;
}

static void read_geometry(struct reading *r, struct span stream, struct geometry *g)
{
	struct span v;
	char name[64];
	memset(g, 0, sizeof *g);
	if (!json_object(r, stream, "geometry", &v))
		return;
	json_string(r, v, "encoding", REQUIRED, name, sizeof name);
	g->width = json_int(r, v, "width", 1, MAX_SIDE);
	g->height = json_int(r, v, "height", 1, MAX_SIDE);
	g->step = json_int(r, v, "step", 0, MAX_STEP);
	g->bits = json_int(r, v, "bits", 0, 15);
	g->max = json_int(r, v, "max_bytes", 0, MAX_FRAME_BYTES);
	g->big_endian = json_bool(r, v, "is_bigendian");
	for (size_t i = 0; i < sizeof encodings / sizeof encodings[0]; i++)
		if (strcmp(encodings[i].name, name) == 0)
			g->encoding = &encodings[i];
	if (r->bad)
		return;
	if (g->encoding == NULL) {
		complain(r, "unknown encoding %s", name);
	} else if (!g->encoding->wide && (g->big_endian || g->bits != 0)) {
		complain(r, "byte order or bits of %s", name);
	} else if (g->bits != 0 && g->bits < 9) {
		complain(r, "%d bits of 16", (int)g->bits);
	} else if (compressed(g)) {
		if (g->step != 0 || g->max < 1)
			complain(r, "%s with step %lld and at most %lld bytes", name, (long long)g->step, (long long)g->max);
	} else if (g->max != 0 || g->step < row_bytes(g) || frame_bytes(g) > MAX_FRAME_BYTES) {
		complain(r, "geometry %lldx%lld %s with step %lld", (long long)g->width, (long long)g->height, name, (long long)g->step);
	}
}

/* ---- Messages: negotiate/message.go ---- */

enum message_type { M_UNKNOWN, M_OFFER, M_START, M_RECONFIG, M_EVICT, M_REJECT, M_BYE, M_OTHER };

/* The types of this version, by the names of their members. */
static const struct {
	const char *name;
	enum message_type type;
	bool member; /* must be there */
} message_types[] = {
	{"offer", M_OFFER, true}, {"start", M_START, true}, {"reconfig", M_RECONFIG, true}, {"evict", M_EVICT, true},
	{"reject", M_REJECT, true}, {"bye", M_BYE, false}, {"hello", M_OTHER, true}, {"probe", M_OTHER, true},
	{"ack", M_OTHER, true}, {"kick", M_OTHER, false}, {"list", M_OTHER, false}, {"streams", M_OTHER, true},
	{"status", M_OTHER, false},
};

struct layout {
	int64_t version, slots, header, stride, pixels, page;
	uint64_t epoch;
};

struct device {
	bool there;
	char uuid[65], handle[65];
	int64_t bytes, probe;
};

struct message {
	enum message_type type;
	int64_t major;
	uint8_t session[16];
	char backend[65], challenge[NAME_MAX_BYTES + 1];
	struct geometry geometry;
	struct layout layout;
	struct device device;
	int64_t reader, credit;
	char reason[65];  /* of a refusal; of an offer: why not the best path; of a goodbye: its text if that is a word */
	char detail[400]; /* the same for people */
};

static void read_layout(struct reading *r, struct span parent, struct layout *l)
{
	struct span v;
	memset(l, 0, sizeof *l);
	if (!json_object(r, parent, "layout", &v)) {
		complain(r, "no layout");
		return;
	}
	l->version = json_int(r, v, "version", 0, INT32_MAX);
	l->slots = json_int(r, v, "slots", 1, MAX_SLOTS);
	l->header = json_int(r, v, "header_bytes", RECORD_START + l->slots * RECORD_BYTES, MAX_SMALL);
	l->stride = json_int(r, v, "stride_bytes", 1, MAX_STRIDE);
	l->pixels = json_int(r, v, "pixel_bytes", 1, MAX_MEMORY);
	l->page = json_int(r, v, "page_bytes", PAGE_MIN_BYTES, MAX_SMALL);
	l->epoch = json_u64(r, v, "epoch");
	if (l->version != LAYOUT_VERSION)
		complain(r, "layout version %lld, this client reads %d", (long long)l->version, LAYOUT_VERSION);
	if (l->pixels != l->stride * l->slots)
		complain(r, "%lld pixel bytes for %lld slots of %lld bytes", (long long)l->pixels, (long long)l->slots, (long long)l->stride);
}

static void read_device(struct reading *r, struct span parent, const struct layout *l, struct device *d)
{
	struct span v;
	memset(d, 0, sizeof *d);
	if (!json_object(r, parent, "device", &v))
		return;
	d->there = true;
	json_string(r, v, "uuid", REQUIRED, d->uuid, sizeof d->uuid);
	json_string(r, v, "handle", REQUIRED, d->handle, sizeof d->handle);
	d->bytes = json_int(r, v, "bytes", PROBE_BYTES, MAX_MEMORY);
	d->probe = json_int(r, v, "probe_offset", 0, MAX_MEMORY);
	if (d->probe < l->pixels || d->probe > d->bytes - PROBE_BYTES)
		complain(r, "probe at %lld of %lld bytes of device memory", (long long)d->probe, (long long)d->bytes);
}

static void read_stream(struct reading *r, struct span parent, struct message *m)
{
	struct span stream;
	if (!json_object(r, parent, "stream", &stream)) {
		complain(r, "no stream");
		return;
	}
	read_geometry(r, stream, &m->geometry);
	if (m->geometry.encoding == NULL)
		complain(r, "no geometry");
	else if (!r->bad && frame_bytes(&m->geometry) > m->layout.stride)
		complain(r, "frames of %lld bytes in slots of %lld", (long long)frame_bytes(&m->geometry), (long long)m->layout.stride);
}

/* The path as a bit, larger = better; 0: none of this client's. */
static unsigned path_bit(const char *backend)
{
	if (strcmp(backend, "cuda") == 0)
		return CAMD_CUDA;
	return strcmp(backend, "shm") == 0 ? CAMD_SHM : 0;
}

/* Why paths better than that of the message were not taken: the first reason,
 * and a text of them all. What this program did not accept is no news to it. */
static void read_rejected(struct reading *r, struct span parent, struct message *m)
{
	struct span list;
	if (!json_member(r, parent, "rejected", &list))
		return;
	if (*list.p != '[') {
		complain(r, "rejected is no list");
		return;
	}
	struct walk w = json_walk(list);
	for (int n = 0; json_next(&w) && !r->bad; n++) {
		char backend[65], reason[65], detail[200], line[400];
		if (*w.value.p != '{' || n >= 16) {
			complain(r, "rejected is no list of at most 16 backends");
			return;
		}
		json_string(r, w.value, "backend", REQUIRED, backend, sizeof backend);
		json_string(r, w.value, "reason", REQUIRED, reason, sizeof reason);
		json_string(r, w.value, "detail", CUT, detail, sizeof detail);
		if (strcmp(reason, "not_accepted") == 0 || path_bit(backend) <= path_bit(m->backend))
			continue;
		if (m->reason[0] == 0)
			copy_text(m->reason, sizeof m->reason, reason);
		snprintf(line, sizeof line, "%s%s: %s%s%s%s", m->detail[0] != 0 ? "; " : "not ", backend, reason,
			detail[0] != 0 ? " (" : "", detail, detail[0] != 0 ? ")" : "");
		size_t used = strlen(m->detail);
		copy_text(m->detail + used, sizeof m->detail - used, line);
	}
}

static void read_refusal(struct reading *r, struct span v, struct message *m)
{
	char reason[65], text[400];
	json_string(r, v, "reason", REQUIRED, reason, sizeof reason);
	json_string(r, v, "text", CUT, text, sizeof text);
	read_rejected(r, v, m);
	bool specific = m->reason[0] != 0 && strcmp(reason, "not_offered") == 0;
	if (!specific)
		copy_text(m->reason, sizeof m->reason, reason);
	if (text[0] != 0)
		copy_text(m->detail, sizeof m->detail, text);
}

/* Whether a text is a stable word, as reasons are. */
static bool is_word(const char *text)
{
	size_t n = strspn(text, "abcdefghijklmnopqrstuvwxyz0123456789_");
	return n > 0 && n < 65 && text[n] == 0;
}

/* Turns a packet into a message. false: it is none, and why has the reason. A
 * type of a later version is M_UNKNOWN, to be skipped. */
static bool read_message(const char *packet, size_t n, struct message *m, char *why, size_t why_size)
{
	struct reading r = {.bad = false};
	struct span all, own = {NULL, NULL}, protocol;
	char type[65];
	memset(m, 0, sizeof *m);
	if (!json_open(packet, n, &all) || *all.p != '{') {
		copy_text(why, why_size, "not a JSON object");
		return false;
	}
	json_string(&r, all, "type", REQUIRED, type, sizeof type);
	int mine = -1;
	for (int i = 0; i < (int)(sizeof message_types / sizeof message_types[0]); i++)
		if (strcmp(message_types[i].name, type) == 0)
			mine = i;
	if (mine < 0)
		goto done; /* its members may have any shape */
	m->type = message_types[mine].type;
	if (m->type == M_BYE)
		copy_text(m->reason, sizeof m->reason, "ended"); /* unless it says better */
	for (int i = 0; i < (int)(sizeof message_types / sizeof message_types[0]); i++) {
		struct span v;
		bool there = json_member(&r, all, message_types[i].name, &v);
		if (there && i != mine)
			complain(&r, "type %s with member %s", type, message_types[i].name);
		if (!there && i == mine && message_types[i].member)
			complain(&r, "type %s without its member", type);
		if (there && i == mine && *v.p != '{' && m->type != M_OTHER)
			complain(&r, "member %s is no object", type);
		if (there && i == mine)
			own = v;
	}
	if (r.bad || own.p == NULL)
		goto done;
	switch (m->type) {
	case M_OFFER:
		if (json_object(&r, own, "protocol", &protocol))
			m->major = json_int(&r, protocol, "major", 0, INT32_MAX);
		if (m->major != PROTOCOL_MAJOR)
			break; /* the rest may mean something else */
		json_hex(&r, own, "session", m->session, sizeof m->session);
		json_string(&r, own, "backend", REQUIRED, m->backend, sizeof m->backend);
		json_string(&r, own, "challenge", REQUIRED, m->challenge, sizeof m->challenge);
		read_rejected(&r, own, m);
		read_layout(&r, own, &m->layout);
		read_stream(&r, own, m);
		read_device(&r, own, &m->layout, &m->device);
		break;
	case M_RECONFIG:
		read_layout(&r, own, &m->layout);
		read_stream(&r, own, m);
		read_device(&r, own, &m->layout, &m->device);
		m->reader = json_int(&r, own, "reader", 0, 1 << 16);
		break;
	case M_START:
		m->reader = json_int(&r, own, "reader", 0, 1 << 16);
		m->credit = json_int(&r, own, "credit", 1, CAMD_MAX_CREDIT);
		break;
	case M_EVICT:
	case M_REJECT:
		read_refusal(&r, own, m);
		break;
	case M_BYE:
		json_string(&r, own, "reason", CUT, m->detail, sizeof m->detail);
		if (is_word(m->detail))
			copy_text(m->reason, sizeof m->reason, m->detail);
		break;
	case M_UNKNOWN:
	case M_OTHER:
		break;
	}
done:
	if (r.bad)
		snprintf(why, why_size, "%.64s: %s", type, r.why);
	return !r.bad;
}

/* ---- The CUDA driver: CUDA Driver API, ABI of libcuda.so.1 ---- */

enum {
	CU_SUCCESS = 0,
	CU_OUT_OF_MEMORY = 2,
	CU_DEINITIALIZED = 4,
	CU_NOT_READY = 600,

	CU_ATTRIBUTE_VMM = 102,
	CU_ATTRIBUTE_POSIX_FD = 103,
	CU_HANDLE_POSIX_FD = 1,
	CU_ALLOCATION_PINNED = 1,
	CU_LOCATION_DEVICE = 1,
	CU_ACCESS_READ = 1,
	CU_ACCESS_READWRITE = 3,
	CU_EVENT_BLOCKING_SYNC = 1,
	CU_EVENT_DISABLE_TIMING = 2,
	CU_STREAM_NON_BLOCKING = 1,
	CU_STREAM_PER_THREAD = 2 /* 0 and 1 are the default stream too */
};

struct cu_location {
	int32_t type, id;
};

struct cu_allocation { /* CUmemAllocationProp */
	int32_t type, handle_types;
	struct cu_location location;
	void *win32;
	uint8_t compression, rdma;
	uint16_t usage;
	uint8_t reserved[4];
};

struct cu_access { /* CUmemAccessDesc */
	struct cu_location location;
	int32_t flags;
};

_Static_assert(sizeof(struct cu_allocation) == 32 && sizeof(struct cu_access) == 12, "ABI of the CUDA driver");

/* Driver functions: their names, and their arguments. */
#define CUDA_FUNCTIONS(F) \
	F(cuInit, (unsigned)) \
	F(cuDriverGetVersion, (int *)) \
	F(cuDeviceGetCount, (int *)) \
	F(cuDeviceGet, (int32_t *, int)) \
	F(cuDeviceGetUuid_v2, (uint8_t *, int32_t)) \
	F(cuDeviceGetAttribute, (int *, int, int32_t)) \
	F(cuDevicePrimaryCtxRetain, (void **, int32_t)) \
	F(cuDevicePrimaryCtxRelease_v2, (int32_t)) \
	F(cuCtxPushCurrent_v2, (void *)) \
	F(cuCtxPopCurrent_v2, (void **)) \
	F(cuMemGetAllocationGranularity, (size_t *, const struct cu_allocation *, int)) \
	F(cuMemAddressReserve, (uint64_t *, size_t, size_t, uint64_t, uint64_t)) \
	F(cuMemAddressFree, (uint64_t, size_t)) \
	F(cuMemMap, (uint64_t, size_t, size_t, uint64_t, uint64_t)) \
	F(cuMemUnmap, (uint64_t, size_t)) \
	F(cuMemSetAccess, (uint64_t, size_t, const struct cu_access *, size_t)) \
	F(cuMemImportFromShareableHandle, (uint64_t *, void *, int)) \
	F(cuMemRelease, (uint64_t)) \
	F(cuMemHostAlloc, (void **, size_t, unsigned)) \
	F(cuMemFreeHost, (void *)) \
	F(cuMemcpyDtoHAsync_v2, (void *, uint64_t, size_t, void *)) \
	F(cuStreamCreateWithPriority, (void **, unsigned, int)) \
	F(cuStreamDestroy_v2, (void *)) \
	F(cuStreamQuery, (void *)) \
	F(cuStreamSynchronize, (void *)) \
	F(cuEventCreate, (void **, unsigned)) \
	F(cuEventRecord, (void *, void *)) \
	F(cuEventQuery, (void *)) \
	F(cuEventDestroy_v2, (void *)) \
	F(cuGetErrorName, (int, const char **))

/* The table of the driver's functions: filled once, never emptied, since the
 * driver has threads of its own. */
static struct {
	atomic_int state; /* 0: not loaded, 1: somebody is loading it, 2: loaded */
#define F(name, arguments) int(*name) arguments;
	CUDA_FUNCTIONS(F)
#undef F
} cu;

static const char *cu_name(int code)
{
	const char *name = NULL;
	if (cu.cuGetErrorName != NULL && cu.cuGetErrorName(code, &name) == CU_SUCCESS && name != NULL)
		return name;
	return "an error without a name";
}

/* What libcuda is called, and where it is if the loader does not find it: the
 * places of cudabuf/driver/places.go. */
#if defined(__aarch64__)
#define MULTIARCH "/usr/lib/aarch64-linux-gnu"
#else
#define MULTIARCH "/usr/lib/x86_64-linux-gnu"
#endif

/* Whether a file can be loaded: the loader maps a library that was cut off as if
 * it were whole, and the process ends at the first look beyond the end. A name
 * without a folder is looked for by the loader itself. */
static bool check_library(const char *path, char *detail, size_t size)
{
	Elf64_Ehdr h;
	struct stat st;
	bool good = false;
	if (strchr(path, '/') == NULL)
		return true;
	if (stat(path, &st) == 0 && !S_ISREG(st.st_mode)) {
		snprintf(detail, size, "%.200s is no regular file", path);
		return false;
	}
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	if (fd < 0 || fstat(fd, &st) != 0 || !S_ISREG(st.st_mode)) {
		snprintf(detail, size, "%.200s: %s", path, fd < 0 ? strerror(errno) : "no regular file");
		goto done;
	}
	if (pread(fd, &h, sizeof h, 0) != (ssize_t)sizeof h || memcmp(h.e_ident, ELFMAG, SELFMAG) != 0) {
		snprintf(detail, size, "%.200s is no library", path);
		goto done;
	}
	bool mine = h.e_ident[EI_CLASS] == ELFCLASS64 && h.e_type == ET_DYN;
#if defined(__x86_64__)
	mine = mine && h.e_machine == EM_X86_64;
#elif defined(__aarch64__)
	mine = mine && h.e_machine == EM_AARCH64;
#endif
	if (!mine) {
		snprintf(detail, size, "%.200s is no library of this kind of processor", path);
		goto done;
	}
	uint64_t bytes = (uint64_t)st.st_size, end = h.e_phoff;
	good = h.e_phentsize == sizeof(Elf64_Phdr) && h.e_phoff < bytes;
	for (int i = 0; good && i < h.e_phnum; i++) {
		Elf64_Phdr p;
		if (pread(fd, &p, sizeof p, (off_t)(h.e_phoff + (uint64_t)i * sizeof p)) != (ssize_t)sizeof p || p.p_offset > UINT64_MAX - p.p_filesz) {
			good = false;
			break;
		}
		end = p.p_offset + p.p_filesz;
		good = p.p_filesz == 0 || end <= bytes;
	}
	if (!good)
		snprintf(detail, size, "%.200s is damaged: a part ends at byte %llu of %llu", path, (unsigned long long)end, (unsigned long long)bytes);
done:
	if (fd >= 0)
		close(fd);
	return good;
}

/* *name becomes what was opened. */
static void *open_library(const char *path, const char **name, char *detail, size_t size)
{
	static const char *const usual[] = {
		"/usr/lib/wsl/lib/libcuda.so.1", "libcuda.so.1", /* under WSL, Windows' own first */
		MULTIARCH "/libcuda.so.1", MULTIARCH "/nvidia/libcuda.so.1", MULTIARCH "/tegra/libcuda.so.1",
		MULTIARCH "/nvidia/current/libcuda.so.1", "/usr/lib64/libcuda.so.1", "/usr/lib64/nvidia/libcuda.so.1",
		"/usr/lib/nvidia/libcuda.so.1", "/usr/local/nvidia/lib64/libcuda.so.1", "/run/opengl-driver/lib/libcuda.so.1",
	};
	static _Thread_local char in_folder[4096];
	const char *const *names = &path;
	struct stat st;
	size_t n = 1;
	if (path != NULL && stat(path, &st) == 0 && S_ISDIR(st.st_mode) &&
		snprintf(in_folder, sizeof in_folder, "%s/libcuda.so.1", path) < (int)sizeof in_folder)
		path = in_folder;
	if (path == NULL) {
		names = usual;
		n = sizeof usual / sizeof usual[0];
	}
	for (size_t i = 0; i < n; i++) {
		char why[300];
		if (n > 1 && names[i][0] == '/' && access(names[i], F_OK) != 0)
			continue;
		if (check_library(names[i], why, sizeof why)) {
			void *library = dlopen(*name = names[i], RTLD_NOW | RTLD_LOCAL);
			if (library != NULL)
				return library;
			const char *said = dlerror();
			copy_text(why, sizeof why, said != NULL ? said : "the loader gives no reason");
		}
		/* Of the usual places, what the loader itself says, unless one has a file that is no driver. */
		if (detail[0] == 0 || names[i][0] == '/')
			copy_text(detail, size, why);
	}
	return NULL;
}

/* As load_driver. */
static const char *find_functions(void *library, const char *file, char *detail, size_t size)
{
	void *address;
	if (dlsym(library, "cuInit") == NULL) {
		snprintf(detail, size, "%.200s is no CUDA driver: it has no cuInit", file);
		return "no_driver";
	}
#define F(name, arguments) \
	if ((address = dlsym(library, #name)) == NULL) { \
		snprintf(detail, size, "%.200s is too old, it has no %s: update the driver", file, #name); \
		return "driver_mismatch"; \
	} \
	memcpy(&cu.name, &address, sizeof address);
	CUDA_FUNCTIONS(F)
#undef F
	return NULL;
}

/* What a failure of the driver means for the path. After a sticky error every
 * further call of the context fails. */
static const char *gpu_reason(const char *call, int code)
{
	static const int sticky[] = {214, 220, 226, 700, 702, 709, 710, 714, 715, 716, 717, 718, 719, 721, 805, 806, 810, 911, 916};
	for (size_t i = 0; i < sizeof sticky / sizeof sticky[0]; i++)
		if (sticky[i] == code)
			return "gpu_lost";
	switch (code) {
	case CU_OUT_OF_MEMORY:
	case 46:  /* CUDA_ERROR_DEVICE_UNAVAILABLE: an exclusive GPU in use */
	case 304: /* CUDA_ERROR_OPERATING_SYSTEM: descriptors, permissions */
	case 808: /* CUDA_ERROR_MPS_MAX_CLIENTS_REACHED */
	case 809: /* CUDA_ERROR_MPS_MAX_CONNECTIONS_REACHED */
		return "limit";
	case 34:  /* CUDA_ERROR_STUB_LIBRARY */
	case 100: /* CUDA_ERROR_NO_DEVICE */
	case 802: /* CUDA_ERROR_SYSTEM_NOT_READY */
		return "no_driver";
	case 36:  /* CUDA_ERROR_CALL_REQUIRES_NEWER_DRIVER */
	case 803: /* CUDA_ERROR_SYSTEM_DRIVER_MISMATCH */
	case 804: /* CUDA_ERROR_COMPAT_NOT_SUPPORTED_ON_DEVICE */
		return "driver_mismatch";
	case 801: /* CUDA_ERROR_NOT_SUPPORTED */
		return "vmm_unsupported";
	case 201: /* CUDA_ERROR_INVALID_CONTEXT: memory of a process that the driver does not reach from this one */
		if (strcmp(call, "cuMemImportFromShareableHandle") == 0)
			return "vmm_unsupported";
		break;
	}
	return "gpu_error";
}

/* A call that failed, for people. */
static const char *gpu_failure(const char *call, int code, char *detail, size_t size)
{
	snprintf(detail, size, "%s: %s (%d)", call, cu_name(code), code);
	return gpu_reason(call, code);
}

/* Loads the driver. null, or why this process cannot use memory of a GPU: a
 * reason of the protocol, with a text. */
static const char *load_driver(const char *path, char *detail, size_t size)
{
	detail[0] = 0;
	if (path == NULL || path[0] == 0)
		path = getenv("CAMD_CUDA_LIBRARY");
	if (path != NULL && path[0] == 0)
		path = NULL;
	int64_t end = now_ns() + OPEN_LIMIT_MS * 1000000ll;
	for (int none = 0; !atomic_compare_exchange_strong(&cu.state, &none, 1); none = 0) {
		if (atomic_load(&cu.state) == 2)
			return NULL;
		if (now_ns() > end) {
			copy_text(detail, size, "another thread has been opening the driver for 5 s");
			return "gpu_timeout";
		}
		nap(1000000);
	}
	const char *reason = "no_driver", *file = NULL;
	void *library = open_library(path, &file, detail, size);
	if (library != NULL && (reason = find_functions(library, file, detail, size)) == NULL) {
		int code = cu.cuInit(0);
		if (code != CU_SUCCESS)
			reason = gpu_failure("cuInit", code, detail, size);
	}
	atomic_store(&cu.state, reason == NULL ? 2 : 0);
	return reason;
}

static bool driver_loaded(void) { return atomic_load(&cu.state) == 2; }

static void uuid_text(const uint8_t u[16], char out[41])
{
	snprintf(out, 41, "GPU-%02x%02x%02x%02x-%02x%02x-%02x%02x-%02x%02x-%02x%02x%02x%02x%02x%02x", u[0], u[1], u[2], u[3],
		u[4], u[5], u[6], u[7], u[8], u[9], u[10], u[11], u[12], u[13], u[14], u[15]);
}

struct gpu {
	int32_t device;
	int ordinal;
	char uuid[41];
};

/* Lists the GPUs that can take memory by descriptor. As load_driver. */
static const char *list_gpus(struct gpu *gpus, int *count, char *detail, size_t size)
{
	int n = 0, seen = 0;
	const char *reason = NULL;
	*count = 0;
	int code = cu.cuDeviceGetCount(&n);
	if (code != CU_SUCCESS)
		return gpu_failure("cuDeviceGetCount", code, detail, size);
	for (int i = 0; i < n && *count < MAX_GPUS; i++) {
		struct gpu *g = &gpus[*count];
		uint8_t uuid[16];
		int vmm = 0, posix = 0;
		g->ordinal = i;
		const char *call = "cuDeviceGet";
		if ((code = cu.cuDeviceGet(&g->device, i)) == CU_SUCCESS) {
			call = "cuDeviceGetUuid";
			code = cu.cuDeviceGetUuid_v2(uuid, g->device);
		}
		if (code == CU_SUCCESS) {
			call = "cuDeviceGetAttribute";
			if ((code = cu.cuDeviceGetAttribute(&vmm, CU_ATTRIBUTE_VMM, g->device)) == CU_SUCCESS)
				code = cu.cuDeviceGetAttribute(&posix, CU_ATTRIBUTE_POSIX_FD, g->device);
		}
		if (code != CU_SUCCESS) {
			reason = gpu_failure(call, code, detail, size);
			continue;
		}
		seen++;
		if (vmm == 0 || posix == 0)
			continue;
		uuid_text(uuid, g->uuid);
		++*count;
	}
	if (*count > 0)
		return NULL;
	if (seen > 0) {
		copy_text(detail, size, "no GPU here can take memory by descriptor");
		return "vmm_unsupported";
	}
	return reason; /* null: there is none */
}

/* What only the process has, and not a subscription. */
static _Atomic uint64_t tickets;     /* frames that were taken: a frame of one subscription is none of another */
static atomic_uint contexts_lent;    /* GPUs by ordinal, whose context the program was given */
static atomic_int gave_up;           /* a GPU that did not finish in time (1) or was lost (2): nothing of it is freed */
enum { LATE = 1, LOST = 2 };

/* ---- Memory ---- */

struct mapping {
	void *p;
	size_t bytes;
};

/* One mapped ring. It lives as long as frames of it are held. */
struct epoch {
	struct epoch *next; /* of the subscription */
	int users;          /* frames held */
	struct layout layout;
	struct geometry geometry;
	struct mapping header, pixels, page, wake;
	uint64_t base; /* of device memory; 0: pixels are in host memory */
	size_t device_bytes;
};

enum { SLOT_FREE, SLOT_HELD, SLOT_PENDING };

/* A lease that this program has. */
struct lease {
	int state;
	uint64_t ticket; /* camd_frame.lease */
	uint64_t word;
	struct epoch *epoch;
	void *event; /* CUevent, made at the first use and kept */
};

struct camd_sub {
	int status; /* CAMD_OK while it runs, else what camd_next returns */
	int socket, pipe, poll;
	unsigned accept, require;
	int wake;
	char *packet; /* MAX_PACKET + 1 bytes */
	int64_t looked; /* CLOCK_MONOTONIC of the last look at the socket */

	char stream[NAME_MAX_BYTES + 1];
	char dir[108];
	char path[8];
	char reason[65];
	char detail[512];
	uint8_t session[16];

	struct epoch *epochs; /* all that are mapped */
	struct epoch *current;
	struct lease leases[CAMD_MAX_CREDIT];
	camd_stats stats;
	uint64_t last_sequence;
	bool broken; /* the next frame is the first of a new format */

	void *context; /* CUcontext: the primary one, retained */
	void *copies;  /* CUstream */
	int32_t gpu;
	int ordinal;
	void *saved; /* what cuCtxPopCurrent gives back */
	bool stuck;  /* of the GPU that gave_up tells of */
};

static int fail(camd_sub *s, int status, const char *reason, const char *format, ...) __attribute__((format(printf, 4, 5)));

/* Notes why, and returns status. A null reason leaves what there is. */
static int fail(camd_sub *s, int status, const char *reason, const char *format, ...)
{
	va_list args;
	if (reason != NULL)
		copy_text(s->reason, sizeof s->reason, reason);
	va_start(args, format);
	vsnprintf(s->detail, sizeof s->detail, format, args);
	va_end(args);
	return status;
}

static int fail_system(camd_sub *s, const char *call)
{
	int e = errno;
	int status = e == ENOMEM ? CAMD_NO_MEMORY : CAMD_SYSTEM;
	return fail(s, status, NULL, "%s: %s", call, strerror(e));
}

/* What work of the GPU may still touch stays as it is until the process ends:
 * freeing it would wait without a limit, or take memory from under the work. */
static void give_up_gpu(camd_sub *s, int why)
{
	s->stuck = true;
	atomic_store(&gave_up, why);
}

static int fail_gpu(camd_sub *s, const char *call, int code)
{
	if (strcmp(gpu_reason(call, code), "gpu_lost") == 0)
		give_up_gpu(s, LOST);
	return fail(s, CAMD_GPU, gpu_reason(call, code), "%s, or a call before it: %s (%d)", call, cu_name(code), code);
}

/* Maps a memory file of the daemon. One that is shorter than said, or that could
 * still shrink, would kill this process later. */
static int map_file(camd_sub *s, const char *what, int fd, int64_t bytes, bool writable, struct mapping *m)
{
	struct stat st;
	if (fstat(fd, &st) != 0)
		return fail_system(s, "fstat");
	if (!S_ISREG(st.st_mode) || bytes <= 0 || st.st_size < bytes)
		return fail(s, CAMD_PROTOCOL, NULL, "%s: memory file has %lld bytes, want %lld", what, (long long)st.st_size, (long long)bytes);
	int seals = fcntl(fd, F_GET_SEALS);
	if (seals < 0 || (seals & F_SEAL_SHRINK) == 0)
		return fail(s, CAMD_PROTOCOL, NULL, "%s: memory file is not sealed against shrinking", what);
	int flags = MAP_SHARED;
	if (st.st_blocks * 512 >= bytes)
		flags |= MAP_POPULATE; /* the pages are there: no faults later */
	void *p = mmap(NULL, (size_t)bytes, writable ? PROT_READ | PROT_WRITE : PROT_READ, flags, fd, 0);
	if (p == MAP_FAILED) {
		int e = errno;
		return fail(s, e == ENOMEM ? CAMD_NO_MEMORY : CAMD_PROTOCOL, NULL, "mapping %lld bytes of %s: %s", (long long)bytes, what, strerror(e));
	}
	m->p = p;
	m->bytes = (size_t)bytes;
	return CAMD_OK;
}

static void unmap(struct mapping *m)
{
	if (m->p != NULL)
		munmap(m->p, m->bytes);
	m->p = NULL;
}

/* The calls of this file run with the primary context current; the program's is
 * back afterwards. */
static int enter(camd_sub *s) { return cu.cuCtxPushCurrent_v2(s->context); }
static void leave(camd_sub *s) { cu.cuCtxPopCurrent_v2(&s->saved); }

static void unmap_device(struct epoch *e, uint64_t base, size_t reserved, bool mapped)
{
	if (mapped)
		cu.cuMemUnmap(base, reserved);
	cu.cuMemAddressFree(base, reserved);
	e->base = 0;
}

static void free_epoch(camd_sub *s, struct epoch *e)
{
	if (e->base != 0 && !s->stuck && enter(s) == CU_SUCCESS) {
		unmap_device(e, e->base, e->device_bytes, true);
		leave(s);
	}
	unmap(&e->header);
	unmap(&e->pixels);
	unmap(&e->page);
	unmap(&e->wake);
	free(e);
}

/* Frees the epochs that are neither current nor in use. */
static void reap_epochs(camd_sub *s)
{
	for (struct epoch **p = &s->epochs; *p != NULL;) {
		struct epoch *e = *p;
		if (e == s->current || e->users > 0) {
			p = &e->next;
			continue;
		}
		*p = e->next;
		free_epoch(s, e);
	}
}

/* Finds the GPU by its UUID and retains its primary context. */
static int open_gpu(camd_sub *s, const struct device *d)
{
	struct gpu gpus[MAX_GPUS];
	int count = 0, code;
	char detail[200] = "";
	if (s->context != NULL)
		return CAMD_OK;
	if (!driver_loaded())
		return fail(s, CAMD_GPU, "no_driver", "the CUDA driver is not loaded");
	const char *reason = list_gpus(gpus, &count, detail, sizeof detail);
	if (reason != NULL)
		return fail(s, CAMD_GPU, reason, "%s", detail);
	for (int i = 0; i < count; i++) {
		if (strcasecmp(gpus[i].uuid, d->uuid) != 0)
			continue;
		void *context = NULL;
		if ((code = cu.cuDevicePrimaryCtxRetain(&context, gpus[i].device)) != CU_SUCCESS)
			return fail_gpu(s, "cuDevicePrimaryCtxRetain", code);
		s->context = context;
		s->gpu = gpus[i].device;
		s->ordinal = gpus[i].ordinal;
		if ((code = enter(s)) != CU_SUCCESS)
			return fail_gpu(s, "cuCtxPushCurrent", code);
		code = cu.cuStreamCreateWithPriority(&s->copies, CU_STREAM_NON_BLOCKING, 0);
		leave(s);
		return code == CU_SUCCESS ? CAMD_OK : fail_gpu(s, "cuStreamCreateWithPriority", code);
	}
	return fail(s, CAMD_GPU, "different_gpu", "this process does not see %s", d->uuid);
}

/* Gives back what open_gpu took, once no memory is mapped any more. */
static void close_gpu(camd_sub *s)
{
	if (s->context == NULL)
		return;
	if (s->stuck) {
		s->context = s->copies = NULL;
		return;
	}
	if (enter(s) == CU_SUCCESS) {
		for (int i = 0; i < CAMD_MAX_CREDIT; i++)
			if (s->leases[i].event != NULL)
				cu.cuEventDestroy_v2(s->leases[i].event);
		if (s->copies != NULL)
			cu.cuStreamDestroy_v2(s->copies);
		leave(s);
	}
	cu.cuDevicePrimaryCtxRelease_v2(s->gpu);
	s->context = s->copies = NULL;
}

/* Imports device memory, for reading if the driver can map it so. */
static int import_device(camd_sub *s, struct epoch *e, const struct device *d, int fd)
{
	struct cu_allocation prop;
	struct cu_access access;
	uint64_t handle = 0, base = 0;
	size_t granularity = 0, bytes = (size_t)d->bytes;
	const char *call;
	int code;
	if (strcmp(d->handle, "vmm_fd") != 0)
		return fail(s, CAMD_GPU, "vmm_unsupported", "memory by %s, this client imports vmm_fd", d->handle);
	int status = open_gpu(s, d);
	if (status != CAMD_OK)
		return status;
	memset(&prop, 0, sizeof prop);
	prop.type = CU_ALLOCATION_PINNED;
	prop.handle_types = CU_HANDLE_POSIX_FD;
	prop.location.type = access.location.type = CU_LOCATION_DEVICE;
	prop.location.id = access.location.id = s->ordinal;
	if ((code = enter(s)) != CU_SUCCESS)
		return fail_gpu(s, "cuCtxPushCurrent", code);
	call = "cuMemGetAllocationGranularity";
	if ((code = cu.cuMemGetAllocationGranularity(&granularity, &prop, 0)) == CU_SUCCESS && (granularity == 0 || bytes % granularity != 0)) {
		leave(s);
		return fail(s, CAMD_GPU, "probe_mismatch", "%zu bytes of device memory, the driver maps multiples of %zu", bytes, granularity);
	}
	if (code == CU_SUCCESS) {
		call = "cuMemImportFromShareableHandle";
		code = cu.cuMemImportFromShareableHandle(&handle, (void *)(intptr_t)fd, CU_HANDLE_POSIX_FD);
	}
	if (code == CU_SUCCESS) {
		call = "cuMemAddressReserve";
		if ((code = cu.cuMemAddressReserve(&base, bytes, granularity, 0, 0)) == CU_SUCCESS) {
			call = "cuMemMap";
			code = cu.cuMemMap(base, bytes, 0, handle, 0);
			bool mapped = code == CU_SUCCESS;
			if (mapped) {
				call = "cuMemSetAccess";
				access.flags = CU_ACCESS_READ;
				if ((code = cu.cuMemSetAccess(base, bytes, &access, 1)) != CU_SUCCESS) {
					access.flags = CU_ACCESS_READWRITE;
					code = cu.cuMemSetAccess(base, bytes, &access, 1);
				}
			}
			if (code != CU_SUCCESS)
				unmap_device(e, base, bytes, mapped);
		}
		cu.cuMemRelease(handle); /* the mapping keeps the memory */
	}
	leave(s);
	if (code != CU_SUCCESS)
		return fail_gpu(s, call, code);
	e->base = base;
	e->device_bytes = bytes;
	return CAMD_OK;
}

/* Waits for the copies of this file, for so long. */
static int wait_copies(camd_sub *s, int ms)
{
	int code;
	for (int64_t end = now_ns() + ms * 1000000ll; (code = cu.cuStreamQuery(s->copies)) == CU_NOT_READY && now_ns() < end;)
		nap(100000);
	return code;
}

/* Reads device memory, and waits for it. */
static int read_device_memory(camd_sub *s, void *out, uint64_t from, size_t bytes)
{
	void *pinned = NULL; /* what a copy that does not wait may write to */
	const char *call = "cuMemHostAlloc";
	int code = enter(s);
	if (code != CU_SUCCESS)
		return fail_gpu(s, "cuCtxPushCurrent", code);
	if ((code = cu.cuMemHostAlloc(&pinned, bytes, 0)) == CU_SUCCESS) {
		call = "cuMemcpyDtoHAsync";
		code = cu.cuMemcpyDtoHAsync_v2(pinned, from, bytes, s->copies);
		if (code == CU_SUCCESS) {
			call = "cuStreamQuery";
			code = wait_copies(s, PROBE_LIMIT_MS);
		}
		if (code == CU_SUCCESS)
			memcpy(out, pinned, bytes);
		if (code != CU_NOT_READY)
			cu.cuMemFreeHost(pinned);
	}
	leave(s);
	if (code == CU_NOT_READY) {
		give_up_gpu(s, LATE);
		return fail(s, CAMD_GPU, "gpu_timeout", "the GPU did not finish a copy of 32 bytes within %d ms", PROBE_LIMIT_MS);
	}
	return code == CU_SUCCESS ? CAMD_OK : fail_gpu(s, call, code);
}

/* The header must say what was announced. */
static int check_header(camd_sub *s, const struct epoch *e, const uint8_t session[16])
{
	void *h = e->header.p;
	const struct layout *l = &e->layout;
	if (atomic_load(at64(h, HDR_MAGIC)) != RING_MAGIC)
		return fail(s, CAMD_PROTOCOL, NULL, "no magic number in the ring header");
	if (get32(h, HDR_VERSION) != LAYOUT_VERSION)
		return fail(s, CAMD_PROTOCOL, NULL, "layout version %u in the ring header", (unsigned)get32(h, HDR_VERSION));
	if (get32(h, HDR_RECORDS) != RECORD_START || get32(h, HDR_RECORD) != RECORD_BYTES || get32(h, HDR_SLOTS) != l->slots ||
		get64(h, HDR_STRIDE) != (uint64_t)l->stride || get64(h, HDR_PIXELS) != (uint64_t)l->pixels || get64(h, HDR_EPOCH) != l->epoch)
		return fail(s, CAMD_PROTOCOL, NULL, "the ring header does not say what was announced");
	if (memcmp((char *)h + HDR_SESSION, session, 16) != 0)
		return fail(s, CAMD_PROTOCOL, NULL, "ring of another session");
	return CAMD_OK;
}

/* Maps header and pixels, files 0 and 1 of a message. */
static int open_epoch(camd_sub *s, const struct message *m, const uint8_t session[16], const int *files, int n, struct epoch **out)
{
	*out = NULL;
	if (n < 2)
		return fail(s, CAMD_PROTOCOL, NULL, "ring with %d descriptors, want 2", n);
	struct epoch *e = calloc(1, sizeof *e);
	if (e == NULL)
		return fail(s, CAMD_NO_MEMORY, NULL, "no memory");
	e->layout = m->layout;
	e->geometry = m->geometry;
	int status = map_file(s, "the ring header", files[0], m->layout.header, false, &e->header);
	if (status == CAMD_OK)
		status = check_header(s, e, session);
	if (status == CAMD_OK)
		status = m->device.there ? import_device(s, e, &m->device, files[1]) : map_file(s, "the pixels", files[1], m->layout.pixels, false, &e->pixels);
	if (status != CAMD_OK) {
		free_epoch(s, e);
		return status;
	}
	*out = e;
	return CAMD_OK;
}

/* Maps the reader's page and the memory of its wake-ups. */
static int attach(camd_sub *s, struct epoch *e, int page, int wake)
{
	int status = map_file(s, "the reader's page", page, e->layout.page, true, &e->page);
	if (status == CAMD_OK)
		status = map_file(s, "the wake-up memory", wake, WAKE_BYTES, false, &e->wake);
	return status;
}

static void add_epoch(camd_sub *s, struct epoch *e)
{
	e->next = s->epochs;
	s->epochs = s->current = e;
}

/* ---- The socket: SOCK_SEQPACKET, one message a packet ---- */

static void close_files(int *files, int n)
{
	for (int i = 0; i < n; i++)
		if (files[i] >= 0)
			close(files[i]);
}

static void hang_up(camd_sub *s)
{
	if (s->socket >= 0)
		close(s->socket); /* leaves the epoll set by itself */
	if (s->pipe >= 0)
		close(s->pipe);
	s->socket = s->pipe = -1;
}

/* Ends the subscription. Frames at hand keep their memory. */
static int over(camd_sub *s, int status)
{
	if (s->status == CAMD_OK)
		s->status = status;
	hang_up(s);
	s->current = NULL;
	reap_epochs(s);
	return s->status;
}

static int wait_readable(int fd, int64_t deadline)
{
	for (;;) {
		int64_t left = (deadline - now_ns() + 999999) / 1000000;
		struct pollfd p = {.fd = fd, .events = POLLIN};
		int n = poll(&p, 1, left < 0 ? 0 : (int)least(left, 1000));
		if (n > 0)
			return 1;
		if (n < 0 && errno != EINTR)
			return -1;
		if (now_ns() >= deadline)
			return 0;
	}
}

static int send_packet(camd_sub *s, const char *packet)
{
	size_t n = strlen(packet);
	for (int64_t end = now_ns() + 1000000000;;) {
		if (send(s->socket, packet, n, MSG_NOSIGNAL | MSG_DONTWAIT) == (ssize_t)n)
			return CAMD_OK;
		if (errno == EINTR)
			continue;
		if (errno == EPIPE || errno == ECONNRESET)
			return CAMD_OK; /* what camd said last can still be received, and is the better reason */
		if (errno != EAGAIN)
			break;
		struct pollfd p = {.fd = s->socket, .events = POLLOUT};
		if (now_ns() >= end)
			return fail(s, CAMD_GONE, NULL, "camd does not read its socket");
		poll(&p, 1, 100);
	}
	return fail(s, CAMD_GONE, NULL, "sending: %s", strerror(errno));
}

/* Receives one message without waiting. CAMD_TIMEOUT: there is none. The caller
 * closes the files. */
static int receive(camd_sub *s, struct message *m, int files[MAX_FILES], int *count)
{
	union {
		struct cmsghdr align;
		char bytes[CMSG_SPACE(MAX_FILES * sizeof(int))];
	} control;
	struct iovec iov = {.iov_base = s->packet, .iov_len = MAX_PACKET};
	struct msghdr h;
	ssize_t n;
	int have = 0;
	*count = 0;
	for (int tries = 0;; tries++) {
		memset(&h, 0, sizeof h);
		h.msg_iov = &iov;
		h.msg_iovlen = 1;
		h.msg_control = control.bytes;
		h.msg_controllen = CMSG_LEN(MAX_FILES * sizeof(int));
		n = recvmsg(s->socket, &h, MSG_CMSG_CLOEXEC | MSG_DONTWAIT);
		if (n >= 0)
			break;
		/* The kernel says once that the peer closed with packets unread, in
		 * front of what it sent before. */
		if ((errno == EINTR || errno == ECONNRESET) && tries < 100)
			continue;
		if (errno == EAGAIN || errno == EWOULDBLOCK)
			return CAMD_TIMEOUT;
		return fail(s, CAMD_GONE, NULL, "receiving: %s", strerror(errno));
	}
	for (struct cmsghdr *c = CMSG_FIRSTHDR(&h); c != NULL; c = CMSG_NXTHDR(&h, c)) {
		if (c->cmsg_level != SOL_SOCKET || c->cmsg_type != SCM_RIGHTS)
			continue;
		for (size_t at = CMSG_LEN(0); at + sizeof(int) <= c->cmsg_len && have < MAX_FILES; at += sizeof(int))
			memcpy(&files[have++], (char *)c + at, sizeof(int));
	}
	int status = CAMD_OK;
	char why[256];
	if (n == 0)
		status = fail(s, CAMD_GONE, NULL, "camd closed the connection");
	else if ((h.msg_flags & (MSG_TRUNC | MSG_CTRUNC)) != 0)
		status = fail(s, CAMD_PROTOCOL, "protocol", "a packet that is too large, or more descriptors than this process may open");
	else if (!read_message(s->packet, (size_t)n, m, why, sizeof why))
		status = fail(s, CAMD_PROTOCOL, "protocol", "%s", why);
	if (status != CAMD_OK || (m->type != M_OFFER && m->type != M_START && m->type != M_RECONFIG)) {
		close_files(files, have);
		have = 0;
	}
	*count = have;
	return status;
}

/* ---- Finding the daemon: negotiate/dir.go ---- */

#define MAX_DIRS 4

static bool add_dir(char dirs[][108], int *n, const char *dir)
{
	if (dir[0] == 0 || strlen(dir) + strlen("/camd.sock") > 107)
		return false;
	for (int i = 0; i < *n; i++)
		if (strcmp(dirs[i], dir) == 0)
			return true;
	copy_text(dirs[(*n)++], 108, dir);
	return true;
}

/* The directories to look into. */
static int client_dirs(const char *wanted, char dirs[MAX_DIRS][108])
{
	int n = 0;
	char text[4096];
	if (wanted != NULL && wanted[0] != 0) {
		add_dir(dirs, &n, wanted);
		return n;
	}
	const char *env = getenv("CAMD_RUNTIME_DIR"), *xdg = getenv("XDG_RUNTIME_DIR");
	if (env != NULL)
		add_dir(dirs, &n, env);
	add_dir(dirs, &n, "/run/camd");
	if (xdg != NULL && xdg[0] == '/' && snprintf(text, sizeof text, "%s/camd", xdg) < (int)sizeof text)
		add_dir(dirs, &n, text);
	snprintf(text, sizeof text, "/tmp/camd-%u", (unsigned)geteuid());
	add_dir(dirs, &n, text);
	return n;
}

/* The fall-back in /tmp could have been made by anybody. */
static bool safe_dir(const char *dir)
{
	char fallback[64];
	struct stat st;
	snprintf(fallback, sizeof fallback, "/tmp/camd-%u", (unsigned)geteuid());
	if (strcmp(dir, fallback) != 0 || lstat(dir, &st) != 0)
		return true;
	return S_ISDIR(st.st_mode) && st.st_uid == geteuid();
}

static int dial(camd_sub *s, const char *dir, int64_t deadline)
{
	struct sockaddr_un address;
	if (!safe_dir(dir))
		return fail(s, CAMD_PERMISSION, "permission_denied", "unsafe runtime directory %s: it belongs to somebody else", dir);
	memset(&address, 0, sizeof address);
	address.sun_family = AF_UNIX;
	int n = snprintf(address.sun_path, sizeof address.sun_path, "%s/camd.sock", dir);
	if (n < 0 || (size_t)n >= sizeof address.sun_path)
		return fail(s, CAMD_NO_DAEMON, "socket_unreachable", "runtime directory %s: its path is too long for a socket", dir);
	s->socket = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (s->socket < 0)
		return fail_system(s, "socket");
	while (connect(s->socket, (struct sockaddr *)&address, sizeof address) != 0) {
		int e = errno;
		/* EAGAIN: its queue of connections is full; a daemon that is alive
		 * takes them soon. */
		if ((e == EAGAIN || e == EINTR) && now_ns() < deadline) {
			struct timespec pause = {.tv_nsec = 5000000};
			nanosleep(&pause, NULL);
			continue;
		}
		hang_up(s);
		if (e == EACCES || e == EPERM)
			return fail(s, CAMD_PERMISSION, "permission_denied", "%s: %s", address.sun_path, strerror(e));
		return fail(s, CAMD_NO_DAEMON, "socket_unreachable", "no camd answers at %s: %s", address.sun_path, strerror(e));
	}
	return CAMD_OK;
}

/* ---- The hand-shake: hello, offer, probe, start ---- */

static void read_line(const char *path, char *out, size_t size)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t n = fd < 0 ? -1 : read(fd, out, size - 1);
	if (fd >= 0)
		close(fd);
	out[n > 0 ? n : 0] = 0;
	out[strcspn(out, "\n")] = 0;
}

/* What a subscription asks for. */
struct request {
	const char *runtime_dir;
	char name[NAME_MAX_BYTES + 1];
	int credit;
	int64_t deadline;

	const char *gpu_reason; /* null: the following are of use */
	char gpu_detail[300];
	struct gpu gpus[MAX_GPUS];
	int gpu_count, driver;
};

static void put_gpus(struct writer *w, const struct request *q)
{
	if (q->gpu_reason != NULL) {
		put_member(w, "device_reason", q->gpu_reason);
		put_member(w, "device_detail", q->gpu_detail);
		return;
	}
	put_raw(w, ",\"gpus\":[");
	for (int i = 0; i < q->gpu_count; i++) {
		put_raw(w, i > 0 ? ",{\"uuid\":" : "{\"uuid\":");
		put_string(w, q->gpus[i].uuid);
		put_raw(w, "}");
	}
	put_raw(w, "],\"handles\":[\"vmm_fd\"]");
	if (q->driver > 0)
		put_number(w, "driver", (uint64_t)q->driver);
}

static int send_hello(camd_sub *s, const struct request *q)
{
	char boot[64], text[96];
	struct stat st;
	struct writer w = {.out = s->packet, .size = MAX_PACKET};
	snprintf(text, sizeof text, "{\"type\":\"hello\",\"hello\":{\"protocol\":{\"major\":%d,\"minor\":%d}", PROTOCOL_MAJOR, PROTOCOL_MINOR);
	put_raw(&w, text);
	put_member(&w, "stream", s->stream);
	put_raw(&w, ",\"accepts\":[");
	if ((s->accept & CAMD_CUDA) != 0)
		put_raw(&w, (s->accept & CAMD_SHM) != 0 ? "\"cuda\"," : "\"cuda\"");
	if ((s->accept & CAMD_SHM) != 0)
		put_raw(&w, "\"shm\"");
	put_raw(&w, "]");
	if (s->require != 0)
		put_member(&w, "require", s->require == CAMD_CUDA ? "cuda" : "shm");
	put_member(&w, "wake", s->wake == CAMD_WAKE_FD ? "pipe" : "futex");
	put_number(&w, "credit", (uint64_t)q->credit);
	if (q->name[0] != 0)
		put_member(&w, "client", q->name);
	read_line("/proc/sys/kernel/random/boot_id", boot, sizeof boot);
	if (boot[0] != 0)
		put_member(&w, "boot_id", boot);
	if (stat("/proc/self/ns/pid", &st) == 0)
		put_number(&w, "pid_namespace", (uint64_t)st.st_ino);
	if ((s->accept & CAMD_CUDA) != 0)
		put_gpus(&w, q);
	put_raw(&w, "}}");
	if (w.len >= w.size)
		return fail(s, CAMD_INVALID, NULL, "a stream or program name that is too long");
	return send_packet(s, s->packet);
}

/* Maps what was offered and reads the bytes that prove it. */
static int try_offer(camd_sub *s, const struct message *m, const int *files, int n, char proof[65])
{
	struct epoch *e;
	struct sha256 sum;
	uint8_t probe[PROBE_BYTES];
	if ((path_bit(m->backend) & s->accept) == 0)
		return fail(s, CAMD_NOT_AVAILABLE, "not_accepted", "%s was offered, which was not asked for", m->backend);
	if (m->device.there != (strcmp(m->backend, "cuda") == 0))
		return fail(s, CAMD_PROTOCOL, "probe_mismatch", "%s %s a device", m->backend, m->device.there ? "with" : "without");
	copy_text(s->reason, sizeof s->reason, "probe_mismatch"); /* unless something says better */
	int status = open_epoch(s, m, m->session, files, n, &e);
	if (status != CAMD_OK)
		return status;
	sha256_start(&sum);
	sha256_add(&sum, m->challenge, strlen(m->challenge));
	sha256_add(&sum, (char *)e->header.p + HDR_PROBE, PROBE_BYTES);
	if (e->base != 0) {
		status = read_device_memory(s, probe, e->base + (uint64_t)m->device.probe, sizeof probe);
		sha256_add(&sum, probe, sizeof probe);
	}
	if (status != CAMD_OK) {
		free_epoch(s, e);
		return status;
	}
	sha256_hex(&sum, proof);
	memcpy(s->session, m->session, sizeof s->session);
	copy_text(s->path, sizeof s->path, m->backend);
	copy_text(s->reason, sizeof s->reason, m->reason);
	copy_text(s->detail, sizeof s->detail, m->detail);
	add_epoch(s, e);
	return CAMD_OK;
}

static void drop_offer(camd_sub *s)
{
	s->current = NULL;
	s->path[0] = 0;
	reap_epochs(s);
	close_gpu(s);
	s->stuck = false; /* the next offer is of other memory */
}

static int answer_offer(camd_sub *s, const struct message *m, const int *files, int n)
{
	char proof[65];
	struct writer w = {.out = s->packet, .size = MAX_PACKET};
	drop_offer(s); /* one before, whose probe failed */
	if (m->major != PROTOCOL_MAJOR)
		return fail(s, CAMD_PROTOCOL, "protocol", "camd speaks version %lld of the protocol, this client %d", (long long)m->major, PROTOCOL_MAJOR);
	int status = try_offer(s, m, files, n, proof);
	put_raw(&w, "{\"type\":\"probe\",\"probe\":{\"ok\":");
	put_raw(&w, status == CAMD_OK ? "true" : "false");
	if (status == CAMD_OK) {
		put_member(&w, "proof", proof);
	} else {
		put_member(&w, "reason", s->reason);
		put_member(&w, "detail", s->detail);
	}
	put_raw(&w, "}}");
	return send_packet(s, s->packet);
}

static int add_poll(camd_sub *s, int fd)
{
	struct epoll_event e = {.events = EPOLLIN, .data.fd = fd};
	return epoll_ctl(s->poll, EPOLL_CTL_ADD, fd, &e);
}

static int begin(camd_sub *s, const struct message *m, int *files, int n)
{
	int want = s->wake == CAMD_WAKE_FD ? 3 : 2;
	if (s->current == NULL || n < want)
		return fail(s, CAMD_PROTOCOL, "protocol", "start without an offer, or with %d descriptors of %d", n, want);
	int status = attach(s, s->current, files[0], files[1]);
	if (status != CAMD_OK)
		return status;
	s->stats.credit = (int)m->credit;
	if (s->wake != CAMD_WAKE_FD)
		return CAMD_OK;
	struct stat st;
	if (fstat(files[2], &st) != 0 || (!S_ISSOCK(st.st_mode) && !S_ISFIFO(st.st_mode)))
		return fail(s, CAMD_PROTOCOL, "protocol", "the wake-up pipe is none");
	s->pipe = files[2];
	files[2] = -1;
	if (fcntl(s->pipe, F_SETFL, fcntl(s->pipe, F_GETFL) | O_NONBLOCK) != 0 || (s->poll = epoll_create1(EPOLL_CLOEXEC)) < 0 ||
		add_poll(s, s->pipe) != 0 || add_poll(s, s->socket) != 0)
		return fail_system(s, "waiting for the wake-up pipe");
	return CAMD_OK;
}

static int refused(camd_sub *s, const struct message *m)
{
	static const struct {
		const char *reason;
		int status;
	} table[] = {
		{"unknown_stream", CAMD_UNKNOWN_STREAM}, {"not_ready", CAMD_NOT_READY}, {"permission_denied", CAMD_PERMISSION},
		{"policy", CAMD_PERMISSION}, {"held_too_long", CAMD_EVICTED}, {"misbehaved", CAMD_EVICTED}, {"protocol", CAMD_PROTOCOL},
	};
	int status = CAMD_NOT_AVAILABLE;
	for (size_t i = 0; i < sizeof table / sizeof table[0]; i++)
		if (strcmp(table[i].reason, m->reason) == 0)
			status = table[i].status;
	return fail(s, status, m->reason, "%s", m->detail);
}

/* One daemon. */
static int subscribe(camd_sub *s, const struct request *q)
{
	int status = send_hello(s, q);
	bool started = false;
	while (status == CAMD_OK && !started) {
		struct message m;
		int files[MAX_FILES], n = 0;
		status = receive(s, &m, files, &n);
		if (status == CAMD_TIMEOUT) {
			int ready = wait_readable(s->socket, q->deadline);
			status = ready > 0 ? CAMD_OK : fail(s, CAMD_TIMEOUT, "socket_unreachable", "camd in %s does not answer", s->dir);
			continue;
		}
		if (status != CAMD_OK)
			break;
		switch (m.type) {
		case M_REJECT:
			status = refused(s, &m);
			break;
		case M_OFFER:
			status = answer_offer(s, &m, files, n);
			break;
		case M_START:
			status = begin(s, &m, files, n);
			started = status == CAMD_OK;
			break;
		case M_UNKNOWN:
			break;
		default:
			status = fail(s, CAMD_PROTOCOL, "protocol", "a message out of order during the hand-shake");
		}
		close_files(files, n);
		if (status == CAMD_OK && now_ns() >= q->deadline) /* one that only talks */
			status = fail(s, CAMD_TIMEOUT, "socket_unreachable", "camd in %s does not come to an end", s->dir);
	}
	if (status != CAMD_OK) {
		drop_offer(s);
		hang_up(s);
	}
	return status == CAMD_GONE ? CAMD_NO_DAEMON : status;
}

/* Of what the directories say, that of the highest rank is told. */
static int rank(int status) { return status == CAMD_NO_DAEMON ? 1 : status == CAMD_UNKNOWN_STREAM ? 2 : 3; }

/* Looks for the stream in every runtime directory. */
static int search(camd_sub *s, const struct request *q)
{
	char dirs[MAX_DIRS][108];
	int n = client_dirs(q->runtime_dir, dirs), told = CAMD_OK;
	char reason[sizeof s->reason] = "", detail[sizeof s->detail] = "";
	if (n == 0)
		return fail(s, CAMD_NO_DAEMON, "socket_unreachable", "the path of the runtime directory is too long for a socket");
	for (int i = 0; i < n; i++) {
		copy_text(s->dir, sizeof s->dir, dirs[i]);
		int status = dial(s, dirs[i], q->deadline);
		if (status == CAMD_OK)
			status = subscribe(s, q);
		if (status == CAMD_OK || status == CAMD_NOT_READY)
			return status;
		if (told == CAMD_OK || rank(status) > rank(told)) {
			told = status;
			copy_text(reason, sizeof reason, s->reason);
			copy_text(detail, sizeof detail, s->detail);
		}
	}
	s->dir[0] = 0;
	if (told == CAMD_NO_DAEMON && n > 1) {
		size_t used = (size_t)snprintf(detail, sizeof detail, "no camd answers in ");
		for (int i = 0; i < n; i++) /* each of at most 107 bytes: they fit */
			used += (size_t)snprintf(detail + used, sizeof detail - used, "%s%s", i > 0 ? ", " : "", dirs[i]);
	}
	return fail(s, told, reason, "%s", detail);
}

/* ---- A running subscription ---- */

static int reconfigure(camd_sub *s, const struct message *m, const int *files, int n)
{
	struct epoch *e;
	char ack[96];
	if (n < 4)
		return fail(s, CAMD_PROTOCOL, "protocol", "new epoch with %d descriptors, want 4", n);
	if (m->device.there != (strcmp(s->path, "cuda") == 0))
		return fail(s, CAMD_PROTOCOL, "protocol", "new epoch on another path");
	int status = open_epoch(s, m, s->session, files, n, &e);
	if (status != CAMD_OK)
		return status;
	if ((status = attach(s, e, files[2], files[3])) != CAMD_OK) {
		free_epoch(s, e);
		return status;
	}
	add_epoch(s, e);
	reap_epochs(s);
	s->broken = true;
	s->stats.reconfigs++;
	snprintf(ack, sizeof ack, "{\"type\":\"ack\",\"ack\":{\"epoch\":%llu}}", (unsigned long long)e->layout.epoch);
	return send_packet(s, ack);
}

static int handle(camd_sub *s, const struct message *m, const int *files, int n)
{
	switch (m->type) {
	case M_RECONFIG:
		return reconfigure(s, m, files, n);
	case M_EVICT:
		s->status = fail(s, CAMD_EVICTED, m->reason, "evicted by camd: %s", m->detail);
		if (s->stats.held + s->stats.pending == 0)
			over(s, CAMD_EVICTED); /* the end of the socket says that nothing is read any more */
		return s->status;
	case M_BYE:
		return fail(s, CAMD_GONE, m->reason, "camd says goodbye%s%s", m->detail[0] != 0 ? ": " : "", m->detail);
	case M_UNKNOWN:
		return CAMD_OK;
	default:
		return fail(s, CAMD_PROTOCOL, "protocol", "a message out of order in a running subscription");
	}
}

/* Handles the messages that are there, and returns the state of the
 * subscription. */
static int look(camd_sub *s)
{
	s->looked = now_ns();
	for (int i = 0; i < 64 && s->socket >= 0; i++) {
		struct message m;
		int files[MAX_FILES], n = 0;
		int status = receive(s, &m, files, &n);
		if (status == CAMD_TIMEOUT)
			break;
		if (status == CAMD_OK && s->status == CAMD_OK)
			status = handle(s, &m, files, n);
		else if (status == CAMD_GONE && s->status == CAMD_EVICTED)
			status = CAMD_EVICTED;
		close_files(files, n);
		if (status == CAMD_EVICTED && s->socket >= 0)
			break;
		if (status != CAMD_OK)
			return over(s, status);
	}
	return s->status;
}

static bool retired(const struct epoch *e) { return atomic_load(at32(e->header.p, HDR_RETIRED)) != 0; }

/* Something in shared memory says that there is a message, or it is time. */
static bool look_due(const camd_sub *s)
{
	const struct epoch *e = s->current;
	return e == NULL || retired(e) || atomic_load(at32(e->page.p, PAGE_EVICTED)) != 0 || now_ns() - s->looked >= SLICE_MS * 1000000ll;
}

static void *record_of(const struct epoch *e, uint64_t word)
{
	return (char *)e->header.p + RECORD_START + ((word & 0xff) - 1) * RECORD_BYTES;
}

/* Whether the slot is still that frame's. */
static bool fresh(const struct epoch *e, uint64_t word)
{
	/* Reads of the pixels come before the look at the generation, also on
	 * processors that reorder loads. */
	atomic_thread_fence(memory_order_seq_cst);
	return atomic_load(at64(record_of(e, word), REC_GENERATION)) == word >> 8;
}

static void give_back(camd_sub *s, struct epoch *e, uint64_t word)
{
	static const char kick[] = "{\"type\":\"kick\"}";
	void *page = e->page.p;
	uint32_t head = atomic_load(at32(page, PAGE_HEAD));
	atomic_store(at64(page, PAGE_RETURNS + head % RETURN_SLOTS * 8), word);
	atomic_store(at32(page, PAGE_HEAD), head + 1);
	if (atomic_load(at32(page, PAGE_KICK)) == 0 || atomic_exchange(at32(page, PAGE_KICK), 0) == 0 || s->socket < 0)
		return;
	/* If the queue is full, earlier kicks wait in it, which will do as well; a
	 * connection that is gone shows where it is received from. */
	s->stats.kicks++;
	(void)!send(s->socket, kick, sizeof kick - 1, MSG_NOSIGNAL | MSG_DONTWAIT);
}

static void end_lease(camd_sub *s, struct lease *l)
{
	struct epoch *e = l->epoch;
	if (l->state == SLOT_HELD)
		s->stats.held--;
	else
		s->stats.pending--;
	l->state = SLOT_FREE;
	l->epoch = NULL;
	e->users--;
	give_back(s, e, l->word);
	if (e != s->current)
		reap_epochs(s);
	if (s->status == CAMD_EVICTED && s->stats.held + s->stats.pending == 0)
		over(s, CAMD_EVICTED);
}

static void describe(camd_frame *f, const struct epoch *e)
{
	const struct geometry *g = &e->geometry;
	f->width = (uint32_t)g->width;
	f->height = (uint32_t)g->height;
	copy_text(f->encoding, sizeof f->encoding, g->encoding->name);
	f->bits = g->bits != 0 ? (uint32_t)g->bits : (uint32_t)g->encoding->sample_bits;
	f->big_endian = g->big_endian;
	f->planes = 1;
	if (compressed(g)) {
		f->plane[0].step = f->plane[0].row_bytes = (uint32_t)f->bytes;
		f->plane[0].rows = 1;
		return;
	}
	f->plane[0].step = (uint32_t)g->step;
	f->plane[0].row_bytes = (uint32_t)row_bytes(g);
	f->plane[0].rows = (uint32_t)g->height;
	if (!g->encoding->chroma)
		return;
	f->planes = 2;
	f->plane[1] = f->plane[0];
	f->plane[0].row_bytes = (uint32_t)g->width;
	f->plane[1].offset = (uint32_t)(g->step * g->height);
	f->plane[1].rows = (uint32_t)((g->height + 1) / 2);
}

/* The record that travels with the pixels. */
static void read_record(camd_frame *f, void *record)
{
	f->sequence = get64(record, REC_SEQUENCE);
	f->driver_sequence = get64(record, REC_DRIVER_SEQ);
	f->capture_ns = (int64_t)get64(record, REC_CAPTURE);
	f->wall_ns = (int64_t)get64(record, REC_WALL);
	f->ready_ns = (int64_t)get64(record, REC_READY);
	f->publish_ns = (int64_t)get64(record, REC_PUBLISH);
	f->clock = get32(record, REC_CLOCK);
	f->flags = get32(record, REC_FLAGS);
}

/* Takes what waits in the mailbox. What comes out is a lease that the daemon has
 * already booked. CAMD_TIMEOUT: it is empty. */
static int take(camd_sub *s, camd_frame *f)
{
	struct epoch *e = s->current;
	struct lease *l = s->leases;
	uint64_t word = atomic_exchange(at64(e->page.p, PAGE_MAILBOX), 0);
	if (word == 0)
		return CAMD_TIMEOUT;
	uint64_t slot = (word & 0xff) - 1; /* no slot becomes a very large one */
	if (slot >= (uint64_t)e->layout.slots)
		return over(s, fail(s, CAMD_PROTOCOL, "protocol", "mailbox names slot %d of %d", (int)(word & 0xff) - 1, (int)e->layout.slots));
	void *record = record_of(e, word);
	memset(f, 0, sizeof *f);
	read_record(f, record);
	uint64_t bytes = get64(record, REC_BYTES), broke = get64(record, REC_BREAK);
	if (!fresh(e, word)) /* the daemon gave this program up while it stood still: no fault */
		return over(s, fail(s, CAMD_GONE, "held_too_long", "camd gave this program up"));
	uint64_t want = compressed(&e->geometry) ? 1 : (uint64_t)frame_bytes(&e->geometry);
	if (bytes > (uint64_t)e->layout.stride || bytes < want)
		return over(s, fail(s, CAMD_PROTOCOL, "protocol", "frame of %llu bytes in a slot of %lld, want at least %llu",
				(unsigned long long)bytes, (long long)e->layout.stride, (unsigned long long)want));
	while (l->state != SLOT_FREE)
		l++; /* the caller has seen that one is free */
	f->bytes = (size_t)bytes;
	f->held_ns = now_ns();
	f->epoch = e->layout.epoch;
	memcpy(f->session, s->session, sizeof f->session);
	describe(f, e);
	if (e->base != 0)
		f->device = e->base + slot * (uint64_t)e->layout.stride;
	else
		f->host = (char *)e->pixels.p + slot * (uint64_t)e->layout.stride;
	/* The marked frame may have been replaced before this program took it. */
	if (s->broken || (s->stats.taken > 0 && s->last_sequence < broke))
		f->flags |= CAMD_DISCONTINUITY;
	if (s->stats.taken > 0 && f->sequence > s->last_sequence + 1)
		s->stats.missed += f->sequence - s->last_sequence - 1;
	s->broken = false;
	s->last_sequence = f->sequence;
	s->stats.taken++;
	s->stats.held++;
	l->state = SLOT_HELD;
	l->word = word;
	l->epoch = e;
	l->ticket = f->lease = atomic_fetch_add(&tickets, 1) + 1;
	e->users++;
	return CAMD_OK;
}

static struct lease *lease_of(camd_sub *s, const camd_frame *f)
{
	if (s == NULL || f == NULL || f->lease == 0)
		return NULL;
	for (int i = 0; i < CAMD_MAX_CREDIT; i++)
		if (s->leases[i].state == SLOT_HELD && s->leases[i].ticket == f->lease)
			return &s->leases[i];
	return NULL;
}

/* Gives back what the GPU is done with. */
static int reap_leases(camd_sub *s)
{
	if (s->stats.pending == 0)
		return CAMD_OK;
	int code = enter(s);
	if (code != CU_SUCCESS)
		return fail_gpu(s, "cuCtxPushCurrent", code);
	int lost = CU_SUCCESS;
	bool done[CAMD_MAX_CREDIT] = {false};
	for (int i = 0; i < CAMD_MAX_CREDIT; i++) {
		if (s->leases[i].state != SLOT_PENDING)
			continue;
		code = cu.cuEventQuery(s->leases[i].event);
		done[i] = code == CU_SUCCESS;
		if (code != CU_SUCCESS && code != CU_NOT_READY)
			lost = code;
	}
	leave(s);
	for (int i = 0; i < CAMD_MAX_CREDIT; i++) {
		if (!done[i])
			continue;
		if (!fresh(s->leases[i].epoch, s->leases[i].word))
			s->stats.stale++;
		end_lease(s, &s->leases[i]);
	}
	if (lost == CU_SUCCESS)
		return CAMD_OK;
	/* Nothing tells whether that work is over: the socket stays, so that the
	 * daemon does not write under it. */
	s->status = fail_gpu(s, "cuEventQuery", lost);
	s->stuck = true;
	s->current = NULL;
	return s->status;
}

/* Sleeps until the writer wakes its readers, unless it has done so since count
 * was read. */
static void wait_futex(const struct epoch *e, uint32_t count, int64_t ns)
{
	struct timespec t = {.tv_sec = ns / 1000000000, .tv_nsec = ns % 1000000000};
	syscall(SYS_futex, (char *)e->wake.p + WAKE_COUNT, FUTEX_WAIT, count, &t, NULL, 0);
}

/* Reads bytes of wake-ups; their number means nothing, and what is left wakes
 * once more. */
static void drain_pipe(camd_sub *s)
{
	char bytes[64];
	ssize_t n;
	if (s->pipe < 0)
		return;
	do
		n = read(s->pipe, bytes, sizeof bytes);
	while (n < 0 && errno == EINTR);
	if (n == 0) { /* the connection ends as well, and says so itself */
		close(s->pipe);
		s->pipe = -1;
	}
}

/* Waits for a wake-up or a message, and looks at what came. */
static void wait_poll(camd_sub *s, int64_t ns)
{
	struct epoll_event e[2];
	int n = epoll_wait(s->poll, e, 2, (int)((ns + 999999) / 1000000));
	for (int i = 0; i < n; i++) {
		if (e[i].data.fd == s->pipe)
			drain_pipe(s);
		else
			look(s);
	}
}

/* ---- camd.h ---- */

static int check_options(camd_sub *s, const camd_options *o, const char *stream, struct request *q)
{
	s->accept = o->accept != 0 ? o->accept : (unsigned)CAMD_SHM;
	s->require = o->require;
	s->wake = o->wake;
	q->credit = o->credit != 0 ? o->credit : CAMD_DEFAULT_CREDIT;
	if (stream == NULL || stream[0] == 0 || strlen(stream) > NAME_MAX_BYTES)
		return fail(s, CAMD_INVALID, NULL, "a stream is named CAMERA/STREAM, in at most %d bytes", NAME_MAX_BYTES);
	if ((s->accept & ~(unsigned)(CAMD_SHM | CAMD_CUDA)) != 0 || (s->require != 0 && s->require != CAMD_SHM && s->require != CAMD_CUDA))
		return fail(s, CAMD_INVALID, NULL, "accept takes CAMD_SHM and CAMD_CUDA, require one of them");
	if (s->require != 0 && o->accept != 0 && (s->accept & s->require) == 0)
		return fail(s, CAMD_INVALID, NULL, "%s is required and not among what is accepted", s->require == CAMD_CUDA ? "cuda" : "shm");
	if (s->require != 0)
		s->accept = s->require; /* nothing else will do */
	if (q->credit < 1 || q->credit > CAMD_MAX_CREDIT)
		return fail(s, CAMD_INVALID, NULL, "credit %d, want 1 to %d", q->credit, CAMD_MAX_CREDIT);
	if (s->wake != CAMD_WAKE_FUTEX && s->wake != CAMD_WAKE_FD)
		return fail(s, CAMD_INVALID, NULL, "wake %d is neither CAMD_WAKE_FUTEX nor CAMD_WAKE_FD", s->wake);
	copy_text(s->stream, sizeof s->stream, stream);
	q->runtime_dir = o->runtime_dir;
	if (o->name != NULL && o->name[0] != 0)
		copy_text(q->name, sizeof q->name, o->name);
	else
		read_line("/proc/self/comm", q->name, sizeof q->name);
	for (char *p = q->name; *p != 0; p++)
		if ((unsigned char)*p < 0x20 || *p == 0x7f)
			*p = ' '; /* the protocol has none of these */
	return CAMD_OK;
}

/* What this process sees of GPUs; before the daemon's patience is at stake,
 * since the driver takes its time to start. */
static void see_gpus(struct request *q, const char *library)
{
	int over = atomic_load(&gave_up);
	if (over != 0) {
		q->gpu_reason = over == LOST ? "gpu_lost" : "gpu_timeout";
		copy_text(q->gpu_detail, sizeof q->gpu_detail,
			over == LOST ? "the GPU failed under this program before" : "the GPU did not finish earlier work of this program in time");
		return;
	}
	q->gpu_reason = load_driver(library, q->gpu_detail, sizeof q->gpu_detail);
	if (q->gpu_reason == NULL)
		q->gpu_reason = list_gpus(q->gpus, &q->gpu_count, q->gpu_detail, sizeof q->gpu_detail);
	if (q->gpu_reason == NULL)
		cu.cuDriverGetVersion(&q->driver);
}

int camd_open(camd_sub **sub, const char *stream, const camd_options *options)
{
	static const camd_options defaults = {0};
	struct request q;
	if (sub == NULL)
		return CAMD_INVALID;
	camd_sub *s = *sub = calloc(1, sizeof *s);
	if (s == NULL)
		return CAMD_NO_MEMORY;
	s->socket = s->pipe = s->poll = s->ordinal = -1;
	if (options == NULL)
		options = &defaults;
	memset(&q, 0, sizeof q);
	int status = check_options(s, options, stream, &q);
	if (status == CAMD_OK && (s->packet = malloc(MAX_PACKET + 1)) == NULL)
		status = fail(s, CAMD_NO_MEMORY, NULL, "no memory");
	if (status == CAMD_OK && (s->accept & CAMD_CUDA) != 0)
		see_gpus(&q, options->cuda_library);
	q.deadline = now_ns() + (int64_t)(options->timeout_ms > 0 ? options->timeout_ms : 5000) * 1000000;
	if (status == CAMD_OK)
		status = search(s, &q);
	s->status = status == CAMD_OK ? CAMD_OK : CAMD_GONE;
	s->looked = now_ns();
	return status;
}

/* Waits for a frame of the current epoch, or for less than that: the caller
 * looks at everything again. */
static int wait_frame(camd_sub *s, camd_frame *f, int64_t left)
{
	struct epoch *e = s->current;
	int64_t slice = least(left, (s->stats.pending > 0 ? REAP_SLICE_MS : SLICE_MS) * 1000000ll);
	uint32_t count = atomic_load(at32(e->wake.p, WAKE_COUNT));
	atomic_store(at32(e->page.p, PAGE_WAITING), 1);
	/* The second look: a frame that came before the flag was up woke nobody. */
	int status = take(s, f);
	if (status == CAMD_TIMEOUT) {
		if (left == 0)
			return status; /* the flag stays up: the program polls camd_fd */
		s->stats.sleeps++;
		if (s->wake == CAMD_WAKE_FD)
			wait_poll(s, slice);
		else
			wait_futex(e, count, slice);
	}
	if (s->current == e) /* else it may be unmapped */
		atomic_store(at32(e->page.p, PAGE_WAITING), 0);
	return status;
}

/* Looks at the daemon's messages if there may be some. false: look at everything
 * again. */
static bool up_to_date(camd_sub *s, int64_t left)
{
	struct epoch *before = s->current;
	if (s->wake == CAMD_WAKE_FD && left == 0)
		wait_poll(s, 0); /* takes away what made camd_fd readable */
	else if (look_due(s))
		look(s);
	if (s->status != CAMD_OK || s->current != before)
		return false;
	if (left > 0 && retired(before)) { /* its futex never moves again */
		wait_readable(s->socket, now_ns() + least(left, SLICE_MS * 1000000ll));
		look(s);
		return false;
	}
	return true;
}

int camd_next(camd_sub *sub, camd_frame *frame, int timeout_ms)
{
	camd_sub *s = sub;
	if (s == NULL || frame == NULL)
		return CAMD_INVALID;
	int64_t deadline = timeout_ms < 0 ? INT64_MAX : timeout_ms == 0 ? 0 : now_ns() + (int64_t)timeout_ms * 1000000;
	frame->lease = 0;
	for (;;) {
		int status = reap_leases(s);
		if (status != CAMD_OK || s->status != CAMD_OK)
			return s->status != CAMD_OK ? s->status : status;
		int64_t left = timeout_ms == 0 ? 0 : deadline - now_ns();
		if (s->stats.held + s->stats.pending < s->stats.credit) {
			if ((status = take(s, frame)) != CAMD_TIMEOUT)
				return status;
			if (timeout_ms != 0 && left <= 0)
				return CAMD_TIMEOUT;
			if (!up_to_date(s, left))
				continue;
			if (left == 0 && s->wake == CAMD_WAKE_FUTEX)
				return CAMD_TIMEOUT;
			if ((status = wait_frame(s, frame, left)) != CAMD_TIMEOUT || left == 0)
				return status;
			continue;
		}
		if (look_due(s) && look(s) != CAMD_OK)
			return s->status;
		if (s->stats.pending == 0)
			return CAMD_BUSY;
		if (left <= 0)
			return CAMD_TIMEOUT;
		nap(least(left, 100000)); /* for the GPU */
	}
}

int camd_fd(const camd_sub *sub) { return sub != NULL ? sub->poll : -1; }

int camd_valid(const camd_sub *sub, const camd_frame *frame)
{
	const struct lease *l = lease_of((camd_sub *)sub, frame);
	if (l == NULL)
		return CAMD_RELEASED;
	return fresh(l->epoch, l->word) ? CAMD_OK : CAMD_STALE;
}

int camd_release(camd_sub *sub, camd_frame *frame)
{
	struct lease *l = lease_of(sub, frame);
	if (l == NULL)
		return CAMD_RELEASED;
	frame->lease = 0;
	end_lease(sub, l);
	reap_leases(sub); /* its failure is told by the next camd_next */
	return CAMD_OK;
}

int camd_release_on(camd_sub *sub, camd_frame *frame, void *cuda)
{
	struct lease *l = lease_of(sub, frame);
	int code;
	if (l == NULL)
		return CAMD_RELEASED;
	if ((uintptr_t)cuda <= CU_STREAM_PER_THREAD)
		return fail(sub, CAMD_INVALID, NULL, "the default stream orders work by the calling thread and context: create one");
	if (l->epoch->base == 0) {
		if (!driver_loaded())
			return fail(sub, CAMD_GPU, "no_driver", "the CUDA driver is not loaded");
		if ((code = cu.cuStreamSynchronize(cuda)) != CU_SUCCESS)
			return fail_gpu(sub, "cuStreamSynchronize", code);
		return camd_release(sub, frame);
	}
	const char *call = "cuCtxPushCurrent";
	if ((code = enter(sub)) == CU_SUCCESS) {
		if (l->event == NULL) {
			call = "cuEventCreate";
			code = cu.cuEventCreate(&l->event, CU_EVENT_BLOCKING_SYNC | CU_EVENT_DISABLE_TIMING);
		}
		if (code == CU_SUCCESS) {
			call = "cuEventRecord";
			code = cu.cuEventRecord(l->event, cuda);
		}
		leave(sub);
	}
	if (code != CU_SUCCESS) {
		code = fail_gpu(sub, call, code);
		if (sub->stuck) /* a lost GPU: nothing comes by it any more */
			sub->status = code;
		return code;
	}
	frame->lease = 0;
	l->state = SLOT_PENDING;
	sub->stats.held--;
	sub->stats.pending++;
	reap_leases(sub);
	return CAMD_OK;
}

int camd_poll(camd_sub *sub)
{
	if (sub == NULL)
		return CAMD_INVALID;
	int status = reap_leases(sub);
	if (sub->status == CAMD_OK && sub->socket >= 0)
		look(sub);
	if (sub->status != CAMD_OK)
		return sub->status;
	return status != CAMD_OK ? status : sub->stats.pending;
}

const char *camd_path(const camd_sub *sub) { return sub != NULL && sub->status == CAMD_OK ? sub->path : ""; }
const char *camd_reason(const camd_sub *sub) { return sub != NULL ? sub->reason : ""; }
const char *camd_detail(const camd_sub *sub) { return sub != NULL ? sub->detail : ""; }
const char *camd_dir(const camd_sub *sub) { return sub != NULL ? sub->dir : ""; }

/* The program's own streams live in the context: it has a reference from here
 * on, which the end of the subscription does not take away. */
int camd_device(const camd_sub *sub, void **context)
{
	bool there = sub != NULL && sub->context != NULL;
	if (context != NULL) {
		*context = there ? sub->context : NULL;
		unsigned bit = there ? 1u << sub->ordinal % 32 : 0;
		void *same;
		if (there && (atomic_fetch_or(&contexts_lent, bit) & bit) == 0 && cu.cuDevicePrimaryCtxRetain(&same, sub->gpu) != CU_SUCCESS)
			atomic_fetch_and(&contexts_lent, ~bit);
	}
	return there ? sub->ordinal : -1;
}

camd_stats camd_get_stats(const camd_sub *sub)
{
	static const camd_stats none = {0};
	return sub != NULL ? sub->stats : none;
}

/* Waits for the GPU work of frames that are pending, and looks whether the GPU
 * is lost: then nothing is known of work on any frame. */
static void wait_gpu(camd_sub *s)
{
	int code;
	bool late = false;
	if (s->context == NULL || s->stuck || s->stats.held + s->stats.pending == 0)
		return;
	if ((code = enter(s)) == CU_SUCCESS) {
		int64_t end = now_ns() + WORK_LIMIT_MS * 1000000ll;
		for (int i = 0; i < CAMD_MAX_CREDIT && !late; i++)
			while (s->leases[i].state == SLOT_PENDING && cu.cuEventQuery(s->leases[i].event) == CU_NOT_READY && !(late = now_ns() >= end))
				nap(100000);
		code = cu.cuStreamQuery(s->copies);
		leave(s);
	}
	if (code != CU_SUCCESS && code != CU_NOT_READY)
		fail_gpu(s, "cuStreamQuery", code);
	else if (late)
		give_up_gpu(s, LATE);
}

void camd_close(camd_sub *sub)
{
	static const char bye[] = "{\"type\":\"bye\",\"bye\":{\"reason\":\"done\"}}";
	camd_sub *s = sub;
	if (s == NULL)
		return;
	wait_gpu(s);
	s->current = NULL;
	for (struct epoch *e = s->epochs; e != NULL; e = e->next)
		e->users = 0;
	reap_epochs(s);
	close_gpu(s);
	if (s->stuck && s->stats.held + s->stats.pending > 0)
		s->socket = -1; /* stays open: until this process ends, nobody writes under the work */
	/* The end of the socket gives back every frame. */
	if (s->socket >= 0 && s->status == CAMD_OK)
		(void)!send(s->socket, bye, sizeof bye - 1, MSG_NOSIGNAL | MSG_DONTWAIT);
	hang_up(s);
	if (s->poll >= 0)
		close(s->poll);
	free(s->packet);
	free(s);
}

const char *camd_strerror(int status)
{
	switch (status) {
	case CAMD_OK:
		return "success";
	case CAMD_TIMEOUT:
		return "nothing came in time";
	case CAMD_BUSY:
		return "as many frames are held as the credit allows";
	case CAMD_GONE:
		return "the connection to camd is over";
	case CAMD_EVICTED:
		return "evicted by the daemon";
	case CAMD_STALE:
		return "frame overwritten while held";
	case CAMD_RELEASED:
		return "frame already released";
	case CAMD_NO_DAEMON:
		return "no camd found";
	case CAMD_UNKNOWN_STREAM:
		return "unknown stream";
	case CAMD_NOT_AVAILABLE:
		return "backend not available";
	case CAMD_NOT_READY:
		return "the camera delivers nothing yet";
	case CAMD_PERMISSION:
		return "not permitted";
	case CAMD_PROTOCOL:
		return "protocol violation by the daemon";
	case CAMD_INVALID:
		return "invalid argument";
	case CAMD_NO_MEMORY:
		return "out of memory";
	case CAMD_SYSTEM:
		return "a system call failed";
	case CAMD_GPU:
		return "a call of the CUDA driver failed";
	}
	return "unknown status";
}

/* ---- The structures of camd.h, for those who cannot read it ---- */

#define MEMBER(type, name) {#type "." #name, offsetof(type, name), sizeof(((type *)0)->name)}
#define WHOLE(type) {#type, 0, sizeof(type)}

static const struct {
	const char *name;
	size_t offset, bytes;
} members[] = {
	MEMBER(camd_options, runtime_dir),
	MEMBER(camd_options, accept),
	MEMBER(camd_options, require),
	MEMBER(camd_options, credit),
	MEMBER(camd_options, wake),
	MEMBER(camd_options, timeout_ms),
	MEMBER(camd_options, name),
	MEMBER(camd_options, cuda_library),
	WHOLE(camd_options),
	MEMBER(camd_plane, offset),
	MEMBER(camd_plane, step),
	MEMBER(camd_plane, row_bytes),
	MEMBER(camd_plane, rows),
	WHOLE(camd_plane),
	MEMBER(camd_frame, host),
	MEMBER(camd_frame, device),
	MEMBER(camd_frame, bytes),
	MEMBER(camd_frame, width),
	MEMBER(camd_frame, height),
	MEMBER(camd_frame, encoding),
	MEMBER(camd_frame, bits),
	MEMBER(camd_frame, big_endian),
	MEMBER(camd_frame, planes),
	MEMBER(camd_frame, plane),
	MEMBER(camd_frame, sequence),
	MEMBER(camd_frame, driver_sequence),
	MEMBER(camd_frame, epoch),
	MEMBER(camd_frame, session),
	MEMBER(camd_frame, capture_ns),
	MEMBER(camd_frame, wall_ns),
	MEMBER(camd_frame, ready_ns),
	MEMBER(camd_frame, publish_ns),
	MEMBER(camd_frame, held_ns),
	MEMBER(camd_frame, clock),
	MEMBER(camd_frame, flags),
	MEMBER(camd_frame, lease),
	WHOLE(camd_frame),
	MEMBER(camd_stats, taken),
	MEMBER(camd_stats, missed),
	MEMBER(camd_stats, stale),
	MEMBER(camd_stats, kicks),
	MEMBER(camd_stats, sleeps),
	MEMBER(camd_stats, reconfigs),
	MEMBER(camd_stats, held),
	MEMBER(camd_stats, pending),
	MEMBER(camd_stats, credit),
	WHOLE(camd_stats),
};

const char *camd_layout(int i, size_t *offset, size_t *bytes)
{
	if (i < 0 || (size_t)i >= sizeof members / sizeof members[0])
		return NULL;
	if (offset != NULL)
		*offset = members[i].offset;
	if (bytes != NULL)
		*bytes = members[i].bytes;
	return members[i].name;
}
