/* SPDX-FileCopyrightText: The camd authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * selftest.c: shows the inside of camd.c to the tests in clients/c/check. It
 * contains camd.c, so that functions and constants of that file are at hand.
 */
#define WORK_LIMIT_MS 500
#include "camd.c"

#include <dirent.h>

#define SHOW(name) printf("%s %lld\n", #name, (long long)(name))

static int layout(void)
{
	SHOW(LAYOUT_VERSION);
	SHOW(MAX_SLOTS);
	SHOW(CAMD_MAX_CREDIT);
	SHOW(HDR_MAGIC);
	SHOW(HDR_VERSION);
	SHOW(HDR_RECORDS);
	SHOW(HDR_SESSION);
	SHOW(HDR_EPOCH);
	SHOW(HDR_SLOTS);
	SHOW(HDR_RECORD);
	SHOW(HDR_STRIDE);
	SHOW(HDR_PIXELS);
	SHOW(HDR_PROBE);
	SHOW(HDR_RETIRED);
	SHOW(RECORD_START);
	SHOW(PROBE_BYTES);
	SHOW(REC_GENERATION);
	SHOW(REC_SEQUENCE);
	SHOW(REC_DRIVER_SEQ);
	SHOW(REC_CAPTURE);
	SHOW(REC_WALL);
	SHOW(REC_READY);
	SHOW(REC_PUBLISH);
	SHOW(REC_BYTES);
	SHOW(REC_FLAGS);
	SHOW(REC_CLOCK);
	SHOW(REC_EPOCH);
	SHOW(REC_BREAK);
	SHOW(RECORD_BYTES);
	SHOW(PAGE_MAILBOX);
	SHOW(PAGE_WAITING);
	SHOW(PAGE_KICK);
	SHOW(PAGE_EVICTED);
	SHOW(PAGE_HEAD);
	SHOW(PAGE_TAIL);
	SHOW(PAGE_RETURNS);
	SHOW(RETURN_SLOTS);
	SHOW(PAGE_MIN_BYTES);
	SHOW(WAKE_COUNT);
	SHOW(WAKE_BYTES);
	SHOW(RING_MAGIC);
	return 0;
}

/* What camd_layout says, a member a line. */
static int members_table(void)
{
	size_t offset, bytes;
	const char *name;
	for (int i = 0; (name = camd_layout(i, &offset, &bytes)) != NULL; i++)
		printf("%s %zu %zu\n", name, offset, bytes);
	return camd_layout(-1, NULL, NULL) != NULL || camd_layout(0, NULL, NULL) == NULL;
}

/* For each encoding: name, size, bits, and the planes of odd pictures. */
static int geometry_table(void)
{
	for (size_t i = 0; i < sizeof encodings / sizeof encodings[0]; i++) {
		struct epoch e = {.geometry = {.width = 7, .height = 5, .encoding = &encodings[i]}};
		camd_frame f = {.bytes = 99};
		e.geometry.max = compressed(&e.geometry) ? 99 : 0;
		e.geometry.step = compressed(&e.geometry) ? 0 : row_bytes(&e.geometry) + 5;
		describe(&f, &e);
		printf("%s %lld %u", f.encoding, (long long)frame_bytes(&e.geometry), (unsigned)f.bits);
		for (uint32_t p = 0; p < f.planes; p++)
			printf(" %u/%u/%u/%u", (unsigned)f.plane[p].offset, (unsigned)f.plane[p].step, (unsigned)f.plane[p].row_bytes, (unsigned)f.plane[p].rows);
		printf("\n");
	}
	return 0;
}

static void show_ring(const struct message *m)
{
	const struct geometry *g = &m->geometry;
	const struct layout *l = &m->layout;
	printf(" %lldx%lld %s step %lld | %lld slots header %lld stride %lld pixels %lld page %lld epoch %llu", (long long)g->width,
		(long long)g->height, g->encoding->name, (long long)g->step, (long long)l->slots, (long long)l->header, (long long)l->stride,
		(long long)l->pixels, (long long)l->page, (unsigned long long)l->epoch);
	if (m->device.there)
		printf(" | %s %s %lld %lld", m->device.uuid, m->device.handle, (long long)m->device.bytes, (long long)m->device.probe);
}

static void show(const struct message *m)
{
	switch (m->type) {
	case M_OFFER:
		if (m->major != PROTOCOL_MAJOR) {
			printf("offer of version %lld", (long long)m->major);
			return;
		}
		printf("offer ");
		for (int i = 0; i < 16; i++)
			printf("%02x", m->session[i]);
		printf(" %s %s", m->backend, m->challenge);
		show_ring(m);
		printf(" | %s %s", m->reason, m->detail);
		break;
	case M_RECONFIG:
		printf("reconfig %lld", (long long)m->reader);
		show_ring(m);
		break;
	case M_START:
		printf("start %lld %lld", (long long)m->reader, (long long)m->credit);
		break;
	case M_EVICT:
	case M_REJECT:
		printf("%s %s | %s", m->type == M_EVICT ? "evict" : "reject", m->reason, m->detail);
		break;
	case M_BYE:
		printf("bye %s%s%s", m->detail, strcmp(m->detail, m->reason) == 0 ? "" : " | ", strcmp(m->detail, m->reason) == 0 ? "" : m->reason);
		break;
	case M_OTHER:
		printf("other");
		break;
	case M_UNKNOWN:
		printf("unknown");
		break;
	}
}

/* Reads packets, each behind its length of 4 bytes, most significant first, and
 * answers each with a line: whether it is JSON (0 or 1), then the message or what
 * is wrong with it. A packet lies in memory of just its size. */
static int parse(void)
{
	unsigned char head[4];
	while (fread(head, 1, 4, stdin) == 4) {
		size_t n = (size_t)head[0] << 24 | (size_t)head[1] << 16 | (size_t)head[2] << 8 | head[3];
		char *packet = malloc(n + (n == 0)), why[256];
		struct message m;
		struct span v;
		if (packet == NULL || fread(packet, 1, n, stdin) != n)
			return 1;
		printf("%d ", json_open(packet, n, &v));
		if (read_message(packet, n, &m, why, sizeof why))
			show(&m);
		else
			printf("bad %s", why);
		printf("\n");
		fflush(stdout);
		free(packet);
	}
	return 0;
}

/* Hashes stdin. */
static int hash(void)
{
	struct sha256 s;
	char data[97], hex[65];
	size_t n;
	sha256_start(&s);
	while ((n = fread(data, 1, sizeof data, stdin)) > 0)
		sha256_add(&s, data, n);
	sha256_hex(&s, hex);
	printf("%s\n", hex);
	return 0;
}

/* The reason for each code of the driver, of any call and of an import. */
static int reasons(void)
{
	for (int code = 1; code < 1000; code++)
		printf("%s %s\n", gpu_reason("cuMemMap", code), gpu_reason("cuMemImportFromShareableHandle", code));
	return 0;
}

static int count_files(void)
{
	int n = 0;
	DIR *d = opendir("/proc/self/fd");
	while (d != NULL && readdir(d) != NULL)
		n++;
	if (d != NULL)
		closedir(d);
	return n;
}

static int count_maps(void)
{
	int n = 0;
	char line[4096];
	FILE *f = fopen("/proc/self/maps", "re");
	while (f != NULL && fgets(line, sizeof line, f) != NULL)
		n += strstr(line, "memfd:") != NULL;
	if (f != NULL)
		fclose(f);
	return n;
}

#define MUST(condition) \
	do { \
		if (!(condition)) { \
			printf("line %d: not so: %s\n", __LINE__, #condition); \
			return 1; \
		} \
	} while (0)

/* Uses a subscription in every way, right and wrong, and looks for what is left
 * of it. */
static int misuse(const char *dir, const char *stream)
{
	camd_options o = {.runtime_dir = dir, .credit = 2};
	int files = 0, maps = 0;
	for (int round = 0; round < 20; round++) {
		camd_sub *sub = NULL;
		camd_frame a, b, c;
		o.wake = round % 2;
		MUST(camd_open(&sub, stream, &o) == CAMD_OK);
		MUST((camd_fd(sub) >= 0) == (o.wake == CAMD_WAKE_FD));
		MUST(strcmp(camd_path(sub), "shm") == 0 && strcmp(camd_dir(sub), dir) == 0);
		MUST(camd_next(sub, &a, 5000) == CAMD_OK && camd_valid(sub, &a) == CAMD_OK);
		camd_frame copy = a;
		MUST(camd_next(sub, &b, -1) == CAMD_OK && b.sequence > a.sequence);
		MUST(camd_next(sub, &c, 5000) == CAMD_BUSY && camd_release(sub, &c) == CAMD_RELEASED);
		MUST(camd_get_stats(sub).held == 2 && camd_poll(sub) == 0);
		MUST(camd_release(sub, &a) == CAMD_OK && camd_release(sub, &a) == CAMD_RELEASED);
		MUST(camd_release(sub, &copy) == CAMD_RELEASED && camd_valid(sub, &copy) == CAMD_RELEASED);
		MUST(camd_next(sub, &c, 5000) == CAMD_OK && c.sequence > b.sequence);
		MUST(camd_device(sub, NULL) == -1 && camd_release_on(sub, &c, NULL) == CAMD_INVALID);
		for (uintptr_t queue = 1; queue < 3; queue++) /* the default stream by its other names */
			MUST(camd_release_on(sub, &c, (void *)queue) == CAMD_INVALID);
		MUST(camd_release_on(sub, &c, &o) == CAMD_GPU && strcmp(camd_reason(sub), "no_driver") == 0);
		MUST(camd_valid(sub, &c) == CAMD_OK);
		while (camd_next(sub, &a, 0) == CAMD_OK)
			camd_release(sub, &a);
		camd_close(sub); /* with two frames at hand */
		if (round == 1) {
			files = count_files();
			maps = count_maps();
		}
	}
	MUST(count_files() == files && count_maps() == maps && maps == 0);

	camd_sub *sub = NULL;
	camd_frame f;
	o.credit = 17;
	MUST(camd_open(&sub, stream, &o) == CAMD_INVALID && camd_next(sub, &f, 100) == CAMD_GONE);
	MUST(camd_path(sub)[0] == 0 && camd_detail(sub)[0] != 0 && camd_poll(sub) == CAMD_GONE && camd_fd(sub) == -1);
	camd_close(sub);
	o.credit = 0;
	o.accept = 4;
	MUST(camd_open(&sub, stream, &o) == CAMD_INVALID);
	camd_close(sub);
	o.accept = CAMD_SHM;
	o.require = CAMD_CUDA;
	MUST(camd_open(&sub, stream, &o) == CAMD_INVALID && strstr(camd_detail(sub), "cuda is required") != NULL);
	camd_close(sub);
	o.require = 0;

	/* A frame of a subscription that was closed is none of the next one. */
	camd_frame old, own;
	MUST(camd_open(&sub, stream, &o) == CAMD_OK && camd_next(sub, &old, 5000) == CAMD_OK);
	camd_close(sub);
	MUST(camd_open(&sub, stream, &o) == CAMD_OK && camd_next(sub, &own, 5000) == CAMD_OK);
	MUST(camd_release(sub, &old) == CAMD_RELEASED && camd_valid(sub, &old) == CAMD_RELEASED);
	MUST(camd_valid(sub, &own) == CAMD_OK && camd_get_stats(sub).held == 1 && camd_release(sub, &own) == CAMD_OK);
	camd_close(sub);

	MUST(camd_open(&sub, "", NULL) == CAMD_INVALID);
	camd_close(sub);
	MUST(camd_open(&sub, NULL, NULL) == CAMD_INVALID);
	camd_close(sub);
	MUST(camd_open(NULL, stream, NULL) == CAMD_INVALID && camd_next(NULL, &f, 0) == CAMD_INVALID && camd_poll(NULL) == CAMD_INVALID);
	camd_close(NULL);
	MUST(camd_fd(NULL) == -1 && camd_path(NULL)[0] == 0 && camd_get_stats(NULL).taken == 0 && camd_release(NULL, &f) == CAMD_RELEASED);
	for (int i = 0; i >= CAMD_GPU - 1; i--)
		MUST(camd_strerror(i)[0] != 0);
	MUST(count_files() == files && count_maps() == 0);
	return 0;
}

/* What a daemon says in front of hanging up is heard, also when the hello cannot
 * be sent any more. */
static int last_words(void)
{
	static const char reject[] = "{\"type\":\"reject\",\"reject\":{\"reason\":\"permission_denied\",\"text\":\"user 7 is not served\"}}";
	struct request q = {.credit = 1, .deadline = now_ns() + 5000000000};
	camd_sub *s = calloc(1, sizeof *s);
	int ends[2];
	MUST(s != NULL && (s->packet = malloc(MAX_PACKET + 1)) != NULL);
	MUST(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) == 0);
	s->socket = ends[0];
	s->pipe = s->poll = -1;
	s->accept = CAMD_SHM;
	MUST(send(ends[1], reject, sizeof reject - 1, 0) > 0 && close(ends[1]) == 0);
	MUST(subscribe(s, &q) == CAMD_PERMISSION && strcmp(camd_reason(s), "permission_denied") == 0);
	MUST(strcmp(camd_detail(s), "user 7 is not served") == 0 && s->socket == -1);
	camd_close(s);
	return 0;
}

/* Holds a frame until a line comes, and is evicted meanwhile. */
static int evicted(const char *dir, const char *stream)
{
	camd_options o = {.runtime_dir = dir};
	camd_sub *sub = NULL;
	camd_frame f, g;
	char line[16];
	MUST(camd_open(&sub, stream, &o) == CAMD_OK && camd_next(sub, &f, -1) == CAMD_OK);
	printf("taken\n");
	fflush(stdout);
	MUST(fgets(line, sizeof line, stdin) != NULL);
	MUST(camd_valid(sub, &f) == CAMD_STALE);
	MUST(camd_next(sub, &g, -1) == CAMD_EVICTED && camd_next(sub, &g, 0) == CAMD_EVICTED && camd_poll(sub) == CAMD_EVICTED);
	MUST(sub->socket >= 0 && strcmp(camd_reason(sub), "held_too_long") == 0 && camd_path(sub)[0] == 0);
	MUST(((const char *)f.host)[0] == 5); /* still mapped */
	MUST(camd_release(sub, &f) == CAMD_OK && sub->socket < 0 && sub->epochs == NULL);
	MUST(camd_next(sub, &g, -1) == CAMD_EVICTED && camd_release(sub, &f) == CAMD_RELEASED);
	camd_close(sub);
	MUST(count_maps() == 0);
	return 0;
}

/* Uses frames in memory of a GPU, and closes while work on them is under way.
 * No other subscription holds the context: the program has it from camd_device. */
static int device(const char *dir, const char *stream, const char *library)
{
	camd_options o = {.runtime_dir = dir, .require = CAMD_CUDA, .cuda_library = library, .credit = 1};
	camd_sub *sub;
	camd_frame f, copy;
	void *context, *same, *queue = NULL, *host = NULL, *current = NULL;
	MUST(camd_open(&sub, stream, &o) == CAMD_OK && camd_device(sub, &context) == 0 && camd_device(sub, NULL) == 0);
	int32_t gpu = sub->gpu;
	MUST(cu.cuCtxPushCurrent_v2(context) == 0 && cu.cuStreamCreateWithPriority(&queue, CU_STREAM_NON_BLOCKING, 0) == 0);
	MUST(camd_next(sub, &f, -1) == CAMD_OK && f.host == NULL && f.device != 0 && camd_valid(sub, &f) == CAMD_OK);
	MUST(cu.cuMemHostAlloc(&host, f.bytes, 0) == 0);
	camd_release(sub, &f);
	camd_close(sub);
	for (int i = 0; i < 10; i++) {
		MUST(camd_open(&sub, stream, &o) == CAMD_OK && camd_next(sub, &f, -1) == CAMD_OK);
		MUST(camd_device(sub, &same) == 0 && same == context);
		MUST(cu.cuMemcpyDtoHAsync_v2(host, f.device, f.bytes, queue) == 0);
		copy = f;
		MUST(camd_release_on(sub, &f, NULL) == CAMD_INVALID && camd_valid(sub, &f) == CAMD_OK);
		MUST(camd_release_on(sub, &f, queue) == CAMD_OK && camd_release_on(sub, &f, queue) == CAMD_RELEASED);
		MUST(camd_release(sub, &copy) == CAMD_RELEASED && camd_valid(sub, &copy) == CAMD_RELEASED);
		camd_stats st = camd_get_stats(sub);
		MUST(st.held == 0 && st.pending <= 1);
		if (i % 2 == 0) { /* there is no credit until the work is complete */
			MUST(camd_next(sub, &f, -1) == CAMD_OK && camd_get_stats(sub).pending == 0);
			MUST(cu.cuMemcpyDtoHAsync_v2(host, f.device, f.bytes, queue) == 0);
			MUST(camd_release_on(sub, &f, queue) == CAMD_OK);
		}
		camd_close(sub);
	}
	MUST(cu.cuStreamSynchronize(queue) == 0 && cu.cuStreamDestroy_v2(queue) == 0 && cu.cuMemFreeHost(host) == 0);
	MUST(cu.cuCtxPopCurrent_v2(&current) == 0 && current == context); /* nobody changed what is current */
	MUST(cu.cuDevicePrimaryCtxRelease_v2(gpu) == 0 && count_maps() == 0);
	return 0;
}

/* Ends a subscription, and has the next one, where the GPU finishes nothing any
 * more, or is lost: which it is told by a line when the frame is at hand. */
static int broken(const char *dir, const char *stream, const char *library, bool lost)
{
	camd_options o = {.runtime_dir = dir, .require = CAMD_CUDA, .cuda_library = library};
	camd_sub *sub;
	camd_frame f;
	void *context, *queue = NULL, *host = NULL;
	char line[16];
	MUST(camd_open(&sub, stream, &o) == CAMD_OK && camd_device(sub, &context) == 0 && camd_next(sub, &f, -1) == CAMD_OK);
	MUST(cu.cuCtxPushCurrent_v2(context) == 0 && cu.cuStreamCreateWithPriority(&queue, CU_STREAM_NON_BLOCKING, 0) == 0);
	MUST(cu.cuMemHostAlloc(&host, f.bytes, 0) == 0);
	printf("taken\n");
	fflush(stdout);
	MUST(fgets(line, sizeof line, stdin) != NULL);
	MUST(cu.cuMemcpyDtoHAsync_v2(host, f.device, f.bytes, queue) == 0);
	camd_frame own = f;
	int status = camd_release_on(sub, &f, queue);
	MUST(status == CAMD_OK || (lost && status == CAMD_GPU));
	if (status == CAMD_GPU) /* nothing comes by a lost GPU, whichever call met the loss */
		MUST(camd_next(sub, &own, 0) == CAMD_GPU);
	for (int i = 0; lost && (status = camd_next(sub, &f, 100)) != CAMD_GPU; i++) {
		MUST(i < 100 && (status == CAMD_OK || status == CAMD_TIMEOUT || status == CAMD_BUSY));
		if (status == CAMD_OK)
			camd_release(sub, &f);
		else if (status == CAMD_BUSY)
			(void)camd_release_on(sub, &own, queue);
	}
	MUST(!lost || strcmp(camd_reason(sub), "gpu_lost") == 0);
	camd_sub *other;
	o.require = 0;
	o.accept = CAMD_CUDA | CAMD_SHM;
	MUST(camd_open(&other, stream, &o) == CAMD_OK && strcmp(camd_path(other), "shm") == 0);
	MUST(strcmp(camd_reason(other), lost ? "gpu_lost" : "gpu_timeout") == 0);
	int held = sub->socket;
	camd_close(sub); /* with work that is not complete */
	struct stat st;
	MUST(fstat(held, &st) == 0 && S_ISSOCK(st.st_mode)); /* the daemon writes nothing under it */
	MUST(camd_next(other, &f, 5000) == CAMD_OK && camd_release(other, &f) == CAMD_OK);
	camd_close(other);
	return 0;
}

int main(int argc, char **argv)
{
	const char *what = argc > 1 ? argv[1] : "";
	if (strcmp(what, "layout") == 0)
		return layout();
	if (strcmp(what, "members") == 0)
		return members_table();
	if (strcmp(what, "geometry") == 0)
		return geometry_table();
	if (strcmp(what, "parse") == 0)
		return parse();
	if (strcmp(what, "last-words") == 0)
		return last_words();
	if (strcmp(what, "hash") == 0)
		return hash();
	if (strcmp(what, "reasons") == 0)
		return reasons();
	if (strcmp(what, "misuse") == 0 && argc == 4)
		return misuse(argv[2], argv[3]);
	if (strcmp(what, "evicted") == 0 && argc == 4)
		return evicted(argv[2], argv[3]);
	if (strcmp(what, "device") == 0 && argc == 5)
		return device(argv[2], argv[3], argv[4]);
	if (strcmp(what, "hung") == 0 && argc == 5)
		return broken(argv[2], argv[3], argv[4], false);
	if (strcmp(what, "lost") == 0 && argc == 5)
		return broken(argv[2], argv[3], argv[4], true);
	fprintf(stderr, "usage: selftest layout|members|geometry|parse|hash|reasons|last-words|(misuse|evicted) DIR STREAM|(device|hung|lost) DIR STREAM LIBRARY\n");
	return 2;
}
