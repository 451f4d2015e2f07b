// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

// GStreamer as a peer: appsrc ! shmsink, shmsrc ! appsink, or the same with
// unixfd where the version has it. program.go says what the programs of cells
// do and write.

#define _GNU_SOURCE
#include <gst/app/gstappsink.h>
#include <gst/app/gstappsrc.h>
#include <gst/gst.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static const char *role, *variant, *address, *out, *stop_file;
static size_t size;
static long spacing_us, warmup, count;
static int64_t *noted;
static long rows;
static int64_t cpu_begin, begin;

static int64_t nanos(clockid_t id) {
  struct timespec t;
  clock_gettime(id, &t);
  return t.tv_sec * 1000000000LL + t.tv_nsec;
}

static int64_t now(void) { return nanos(CLOCK_MONOTONIC); }

static void begin_now(void) {
  cpu_begin = nanos(CLOCK_PROCESS_CPUTIME_ID);
  begin = now();
}

static void fail(const char *what) {
  fprintf(stderr, "%s\n", what);
  exit(1);
}

static void *allocate(size_t n) {
  void *p = malloc(n);
  if (!p) fail("out of memory");
  memset(p, 1, n); // no page of it is missing later
  return p;
}

static void sleep_us(long us) {
  struct timespec t = {us / 1000000, us % 1000000 * 1000};
  clock_nanosleep(CLOCK_MONOTONIC, 0, &t, NULL);
}

// finish writes the file, which is whole as soon as it is there.
static void finish(int columns) {
  int64_t cpu = nanos(CLOCK_PROCESS_CPUTIME_ID) - cpu_begin, span = now() - begin;
  char part[4096];
  snprintf(part, sizeof part, "%s.part", out);
  FILE *f = fopen(part, "w");
  if (!f) fail("cannot write the times");
  fprintf(f, "cpu %lld %lld\n", (long long)cpu, (long long)span);
  for (long i = 0; i < rows; i++)
    for (int k = 0; k < columns; k++)
      fprintf(f, "%lld%c", (long long)noted[i * columns + k], k == columns - 1 ? '\n' : ' ');
  if (fclose(f) || rename(part, out)) fail("cannot write the times");
}

static GstElement *pipeline(const char *text) {
  GError *error = NULL;
  GstElement *p = gst_parse_launch(text, &error);
  if (!p || error) fail(error ? error->message : "no pipeline");
  return p;
}

// ask returns the allocator that the sink offers, so that payloads are made where
// they are to be.
static GstAllocator *ask(GstElement *source, GstAllocationParams *params) {
  GstAllocator *allocator = NULL;
  GstPad *pad = gst_element_get_static_pad(source, "src");
  GstCaps *caps = gst_caps_new_empty_simple("application/octet-stream");
  GstQuery *query = gst_query_new_allocation(caps, TRUE);
  if (gst_pad_peer_query(pad, query) && gst_query_get_n_allocation_params(query) > 0)
    gst_query_parse_nth_allocation_param(query, 0, &allocator, params);
  gst_query_unref(query);
  gst_caps_unref(caps);
  gst_object_unref(pad);
  return allocator;
}

static void publish(void) {
  char text[8192];
  int n = snprintf(text, sizeof text, "appsrc name=in caps=application/octet-stream max-bytes=0 ! %ssink name=out socket-path=\"%s\" sync=false async=false",
                   variant, address);
  if (!strcmp(variant, "shm")) // room for four
    snprintf(text + n, sizeof text - n, " wait-for-connection=true shm-size=%zu", 4 * (size + 4096) + 65536);
  GstElement *p = pipeline(text), *in = gst_bin_get_by_name(GST_BIN(p), "in");
  if (gst_element_set_state(p, GST_STATE_PLAYING) == GST_STATE_CHANGE_FAILURE) fail("the pipeline does not start");
  for (int i = 0; access(address, F_OK); i++) {
    if (i > 10000) fail("there is no socket");
    sleep_us(1000);
  }
  uint8_t *source = allocate(64 << 10);
  for (size_t i = 0; i < 64 << 10; i++) source[i] = i * 7 + 1;
  noted = allocate(2 * count * sizeof *noted);
  GstAllocationParams params;
  gst_allocation_params_init(&params);
  GstAllocator *allocator = ask(in, &params);
  printf("ready\n");
  fflush(stdout);
  begin_now();
  while (rows < count && access(stop_file, F_OK)) {
    GstBuffer *buffer = gst_buffer_new_allocate(allocator, size, &params);
    GstMapInfo map;
    if (!buffer || !gst_buffer_map(buffer, &map, GST_MAP_WRITE)) fail("no buffer");
    for (size_t at = 0; at < size; at += 64 << 10) memcpy(map.data + at, source, MIN(64 << 10, size - at));
    int64_t stamp = now();
    memcpy(map.data, &stamp, sizeof stamp);
    gst_buffer_unmap(buffer, &map);
    GstFlowReturn flow = gst_app_src_push_buffer(GST_APP_SRC(in), buffer);
    noted[2 * rows] = stamp;
    noted[2 * rows + 1] = now();
    rows++;
    if (flow != GST_FLOW_OK) break; // nobody is there any more
    // appsrc queues: without this a slow subscriber would see old payloads.
    while (gst_app_src_get_current_level_bytes(GST_APP_SRC(in)) > 0 && access(stop_file, F_OK)) sleep_us(200);
    sleep_us(spacing_us);
  }
  finish(2);
  alarm(5); // the sink may wait for subscribers
  gst_element_set_state(p, GST_STATE_NULL); // takes the shared memory away
}

static void subscribe(void) {
  char text[8192];
  snprintf(text, sizeof text, "%ssrc socket-path=\"%s\" do-timestamp=false ! appsink name=out sync=false max-buffers=2 drop=true", variant, address);
  GstElement *p = pipeline(text), *sink = gst_bin_get_by_name(GST_BIN(p), "out");
  noted = allocate(3 * count * sizeof *noted);
  if (gst_element_set_state(p, GST_STATE_PLAYING) == GST_STATE_CHANGE_FAILURE) fail("the pipeline does not start");
  begin_now();
  uint64_t sum = 0;
  for (long warm = 0; rows < count;) {
    GstSample *sample = gst_app_sink_pull_sample(GST_APP_SINK(sink));
    if (!sample) fail("the publisher has ended");
    GstMapInfo map;
    if (!gst_buffer_map(gst_sample_get_buffer(sample), &map, GST_MAP_READ)) fail("cannot map a buffer");
    int64_t usable = now(), stamp;
    if (map.size != size) fail("payload of another size");
    const uint64_t *words = (const uint64_t *)map.data;
    for (size_t i = 0; i < size / 8; i++) sum += words[i];
    for (size_t i = size / 8 * 8; i < size; i++) sum += map.data[i];
    int64_t read = now();
    memcpy(&stamp, map.data, sizeof stamp);
    gst_buffer_unmap(gst_sample_get_buffer(sample), &map);
    gst_sample_unref(sample);
    if (warm < warmup) {
      if (++warm == warmup) begin_now();
      continue;
    }
    noted[3 * rows] = stamp;
    noted[3 * rows + 1] = usable;
    noted[3 * rows + 2] = read;
    rows++;
  }
  if (sum == 1) printf("\n"); // so that the sum is needed
  finish(3);
  gst_element_set_state(p, GST_STATE_NULL);
}

int main(int argc, char **argv) {
  if (argc != 10) fail("nine arguments are needed: this program belongs to benchmarks/peers");
  role = argv[1], variant = argv[2], address = argv[3];
  size = strtoull(argv[4], NULL, 10);
  spacing_us = atol(argv[5]), warmup = atol(argv[6]), count = atol(argv[7]);
  out = argv[8], stop_file = argv[9];
  gst_init(NULL, NULL);
  if (!strcmp(role, "publish"))
    publish();
  else
    subscribe();
}
