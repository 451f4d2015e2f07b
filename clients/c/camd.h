/* SPDX-FileCopyrightText: The camd authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * camd.h: read frames of a camd of this host, where they lie: in shared memory
 * of the host, or in memory of a GPU. Build it into a program with
 *
 *     cc program.c clients/c/camd.c -o program
 *
 * It needs libc only (Linux, 64 bits, C11; glibc before 2.34 wants -ldl) and
 * opens the NVIDIA driver's libcuda.so.1 when a program accepts CAMD_CUDA.
 *
 * Threads. A subscription and the frames that came by it belong to one thread
 * at a time: calls with the same camd_sub must not overlap. They may come from
 * different threads, one after the other. Different subscriptions have nothing
 * to do with each other. Nothing here starts a thread, catches a signal or
 * changes which CUDA context is current. The only state that is shared is the
 * table of the driver's functions, which the first subscription fills that
 * accepts CAMD_CUDA. After fork the child must not use the parent's
 * subscriptions.
 *
 * Waiting. Everything that waits for the daemon has a limit: timeout_ms of
 * camd_open, the timeout of camd_next, 1 s to send a message. So has what waits
 * for work of a GPU: 1.5 s for the proof in camd_open, 5 s in camd_close; work
 * that is not complete by then, or that was under way when the GPU was lost,
 * makes the process keep its frames, their memory and the context until it ends,
 * and take no more by CAMD_CUDA (gpu_timeout, gpu_lost). A call of the CUDA driver
 * itself that does not return cannot be interrupted in its process: with
 * CAMD_CUDA, camd_open, camd_next, camd_release, camd_release_on, camd_poll and
 * camd_close then hang, timeouts or not, and so does cuStreamSynchronize in
 * camd_release_on on the path shm. A program that must end then, calls _exit
 * from a signal handler, as reader.c does, and starts again with CAMD_SHM alone.
 */
#ifndef CAMD_H
#define CAMD_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* What the functions return. camd_strerror has a sentence for each. */
enum {
	CAMD_OK = 0,
	CAMD_TIMEOUT = -1,        /* no newer frame came in that time */
	CAMD_BUSY = -2,           /* as many frames are held as the credit allows: release one first */
	CAMD_GONE = -3,           /* the connection is over: close, and open again */
	CAMD_EVICTED = -4,        /* the daemon gave this program up: release, close, open again */
	CAMD_STALE = -5,          /* the frame was overwritten while it was held, which only follows an eviction */
	CAMD_RELEASED = -6,       /* the frame was given back before */
	CAMD_NO_DAEMON = -7,      /* no camd answers in any runtime directory */
	CAMD_UNKNOWN_STREAM = -8, /* a camd answers and has no such stream */
	CAMD_NOT_AVAILABLE = -9,  /* the stream is there, but not by a path that was accepted */
	CAMD_NOT_READY = -10,     /* the camera delivers nothing yet: try again */
	CAMD_PERMISSION = -11,    /* this user may not use the daemon or the path */
	CAMD_PROTOCOL = -12,      /* the daemon said or wrote what the protocol does not allow */
	CAMD_INVALID = -13,       /* the program asked for what makes no sense */
	CAMD_NO_MEMORY = -14,
	CAMD_SYSTEM = -15,        /* a system call failed, see camd_detail */
	CAMD_GPU = -16            /* a call of the CUDA driver failed, see camd_detail */
};

/* Paths, as bits for camd_options.accept. */
enum {
	CAMD_SHM = 1, /* shared memory of this host */
	CAMD_CUDA = 2 /* memory of a GPU */
};

/* How a program learns of frames. */
enum {
	CAMD_WAKE_FUTEX = 0, /* camd_next sleeps; one system call a frame at most */
	CAMD_WAKE_FD = 1     /* camd_fd can be polled beside other descriptors */
};

/* Flags of a frame. */
enum {
	CAMD_DISCONTINUITY = 1, /* the first after a break in continuity */
	CAMD_REPLAYED = 2,      /* of a recording */
	CAMD_PATTERN = 4        /* of the test pattern */
};

enum {
	CAMD_MAX_PLANES = 4,
	CAMD_MAX_CREDIT = 16,
	CAMD_DEFAULT_CREDIT = 2
};

/* A zeroed camd_options has every default, and so has a null pointer. */
typedef struct camd_options {
	const char *runtime_dir;  /* null: $CAMD_RUNTIME_DIR, /run/camd, $XDG_RUNTIME_DIR/camd, /tmp/camd-<uid> */
	unsigned accept;          /* paths that the program can use, the best one is taken: CUDA, then SHM; 0: SHM */
	unsigned require;         /* this path or CAMD_NOT_AVAILABLE; 0: any that is accepted. One of accept, if that is set */
	int credit;               /* frames held at a time, 1 to CAMD_MAX_CREDIT; 0: CAMD_DEFAULT_CREDIT */
	int wake;                 /* CAMD_WAKE_FUTEX or CAMD_WAKE_FD */
	int timeout_ms;           /* for all of the hand-shake, but for the start of the CUDA driver; 0: 5000 */
	const char *name;         /* of the program, for camd status; null: its file's */
	const char *cuda_library; /* file or its folder; null: $CAMD_CUDA_LIBRARY, else libcuda.so.1. The first that loads serves the process */
} camd_options;

typedef struct camd_plane {
	uint32_t offset;    /* bytes from the start of the frame */
	uint32_t step;      /* bytes from one row to the next (pitch) */
	uint32_t row_bytes; /* bytes of a row that carry samples */
	uint32_t rows;
} camd_plane;

/* A frame that is held. It is a plain value: copies of it are the same frame.
 * Times are nanoseconds, 0 = not known. */
typedef struct camd_frame {
	const void *host; /* the pixels, mapped for reading only; null on the path cuda */
	uint64_t device;  /* CUdeviceptr of the pixels in the primary context; 0 on the path shm */
	size_t bytes;     /* of the frame that are valid */

	uint32_t width, height; /* pixels */
	char encoding[16];      /* ROS 2 name: "bgra8", "nv12", "jpeg" ... */
	uint32_t bits;          /* low bits of a sample that are used; 0 where compressed */
	int big_endian;         /* byte order of 16-bit samples */
	uint32_t planes;
	camd_plane plane[CAMD_MAX_PLANES];

	uint64_t sequence;        /* the daemon's count; gaps are frames that this program did not get */
	uint64_t driver_sequence; /* the device's or file's own count */
	uint64_t epoch;           /* counts the formats of a stream */
	uint8_t session[16];      /* of the daemon's run: (session, epoch, sequence) names a frame */
	int64_t capture_ns;       /* CLOCK_MONOTONIC */
	int64_t wall_ns;          /* the same instant, CLOCK_REALTIME */
	int64_t ready_ns;         /* CLOCK_MONOTONIC, complete in host memory */
	int64_t publish_ns;       /* CLOCK_MONOTONIC, hand-over began */
	int64_t held_ns;          /* CLOCK_MONOTONIC, taken by this program */
	uint32_t clock;           /* of capture_ns: 0 unknown, 1 monotonic, 2 arrival, 3 replay, 4 device */
	uint32_t flags;           /* CAMD_DISCONTINUITY ... */

	uint64_t lease; /* of the library: no other frame of this process has it; 0 = none */
} camd_frame;

typedef struct camd_stats {
	uint64_t taken;     /* frames that camd_next handed out */
	uint64_t missed;    /* sequence numbers that were skipped between them */
	uint64_t stale;     /* frames that were overwritten before their GPU work was complete */
	uint64_t kicks;     /* messages about released frames */
	uint64_t sleeps;    /* waits for a frame that went to sleep */
	uint64_t reconfigs; /* changes of format */
	int held;           /* frames that the program has */
	int pending;        /* frames of camd_release_on whose GPU work is not complete */
	int credit;         /* frames that may be held, as granted */
} camd_stats;

typedef struct camd_sub camd_sub;

/* Subscribes to "camera/stream". *sub is set also when it fails, unless there is
 * no memory: camd_reason and camd_detail then say why, and camd_close frees it.
 * CAMD_NO_DAEMON, CAMD_UNKNOWN_STREAM, CAMD_NOT_AVAILABLE, CAMD_NOT_READY,
 * CAMD_PERMISSION, CAMD_PROTOCOL, CAMD_TIMEOUT, CAMD_INVALID, CAMD_SYSTEM. */
int camd_open(camd_sub **sub, const char *stream, const camd_options *options);

/* Takes the newest frame that the program has not had. Waits for it up to
 * timeout_ms, below 0 for ever; 0 does not wait. What the program was too slow
 * for is skipped, and the newest always comes before an older one is missed
 * twice. CAMD_TIMEOUT, CAMD_BUSY, CAMD_GONE, CAMD_EVICTED, CAMD_PROTOCOL,
 * CAMD_GPU. From CAMD_GONE on nothing comes any more; frames at hand stay
 * readable until they are released. */
int camd_next(camd_sub *sub, camd_frame *frame, int timeout_ms);

/* With CAMD_WAKE_FD, a descriptor for poll, select or epoll that is readable
 * when camd_next(sub, &frame, 0) has something to say; else -1. It is the
 * library's: do not read or close it. Poll only after camd_next said
 * CAMD_TIMEOUT, and while camd_stats tells pending frames, for a millisecond at
 * most. */
int camd_fd(const camd_sub *sub);

/* CAMD_OK while the pixels are this frame's, else CAMD_STALE or CAMD_RELEASED.
 * A program that may hold frames for seconds asks after it has read them; on
 * the path cuda, after its GPU work on them is complete. */
int camd_valid(const camd_sub *sub, const camd_frame *frame);

/* Gives a frame back. Nothing may read it any more: host code is done with it,
 * and GPU work on it is known to be complete. CAMD_RELEASED the second time, and
 * for frames of another subscription. */
int camd_release(camd_sub *sub, camd_frame *frame);

/* Gives a frame back once the work that is in the stream now is complete. cuda
 * is a CUstream of the primary context; the default stream (null, CU_STREAM_LEGACY,
 * CU_STREAM_PER_THREAD) is CAMD_INVALID, since it is another one for each thread
 * or context. The stream may be destroyed afterwards. The lease goes
 * back in the first call of camd_next, camd_poll, camd_release or
 * camd_release_on after the completion. On the path shm it waits for the stream.
 * When it fails with CAMD_GPU or CAMD_INVALID, the frame is still held. */
int camd_release_on(camd_sub *sub, camd_frame *frame, void *cuda);

/* Gives back the frames of camd_release_on whose work is complete, looks at the
 * daemon's messages, and returns how many frames are still pending, or what
 * camd_next would fail with. */
int camd_poll(camd_sub *sub);

/* How the frames come: "cuda", "shm", or "" without a connection. */
const char *camd_path(const camd_sub *sub);

/* A stable word: why a better path was not taken ("no_driver", "different_gpu",
 * "gpu_error" ...), why opening failed, or why the connection ended ("shutdown",
 * "ended", "held_too_long" ...). "" = there is none. They are listed in
 * docs/errors.md. */
const char *camd_reason(const camd_sub *sub);

/* The same for people: a sentence, or "". */
const char *camd_detail(const camd_sub *sub);

/* The runtime directory of the daemon, or "". */
const char *camd_dir(const camd_sub *sub);

/* On the path cuda the ordinal of the GPU in this process, and in *context its
 * primary context (CUcontext), if context is not null; else -1.
 *
 * Streams, events and memory that the program makes live in that context. So
 * that they outlast the subscription, also when it is closed and opened again
 * after CAMD_GONE, the program has a reference to the context from its first
 * camd_device with a context on, one for each GPU and process. It lasts until
 * the process ends, or the program calls cuDevicePrimaryCtxRelease once, when it
 * has freed what it made. A program that asks for no context, because it has its
 * own reference (the CUDA runtime does), is given none. */
int camd_device(const camd_sub *sub, void **context);

camd_stats camd_get_stats(const camd_sub *sub);

/* Ends the subscription and gives back all frames: host code and GPU work must
 * be done with those that were not released. It waits for the work of
 * camd_release_on, at most 5 s: frames whose work is not complete then are given
 * back when the process ends. Frames are unmapped, the program's own streams and
 * memory stay as they are (see camd_device). sub may be null. */
void camd_close(camd_sub *sub);

/* What a return value means. Never null. */
const char *camd_strerror(int status);

/* Where the members of the structures above lie, for bindings of other languages
 * that do not read this header: the name of the i-th member ("camd_frame.width"),
 * and its place and size in bytes, if the pointers are not null. They come in the
 * order of the header, from camd_options to camd_stats; behind those of each
 * structure is its own name with 0 and its size. Null: there is no such member. */
const char *camd_layout(int i, size_t *offset, size_t *bytes);

#ifdef __cplusplus
}
#endif

#endif
