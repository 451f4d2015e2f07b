// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

package convert_test

import (
	"context"
	"os/exec"
	"strconv"
	"strings"
	"testing"
	"time"
)

// peers times OpenCV on one thread and libswscale, as FFmpeg uses it by default
// and with the flags of the comparison, on the picture of natural: the best of
// many frames of 1920x1080.
const peers = `
import ctypes, ctypes.util, sys, time, numpy, cv2
cv2.setNumThreads(1)
W, H = 1920, 1080

def best(f):
    f()
    least = 1e9
    for _ in range(40):
        t = time.perf_counter()
        f()
        least = min(least, time.perf_counter() - t)
    return least * 1e3

def natural(n, step):
    i = numpy.arange(n)
    return (60 + i % step // 32 % 120 + i // step // 16 % 60).astype(numpy.uint8)

def opencv(name, code, src, dst):
    out = numpy.empty(dst, numpy.uint8)
    print("opencv", name, best(lambda: cv2.cvtColor(src, code, dst=out)))

yuyv = natural(W * H * 2, W * 2).reshape(H, W, 2)
nv12 = natural(W * H * 3 // 2, W).reshape(H * 3 // 2, W)
rgb = natural(W * H * 3, W * 3).reshape(H, W, 3)
grey = natural(W * H, W).reshape(H, W)
deep = natural(W * H * 2, W * 2).view(numpy.uint16).reshape(H, W)
opencv("yuv422_yuy2-rgb8", cv2.COLOR_YUV2RGB_YUY2, yuyv, (H, W, 3))
opencv("yuv422_yuy2-bgra8", cv2.COLOR_YUV2BGRA_YUY2, yuyv, (H, W, 4))
opencv("nv12-rgb8", cv2.COLOR_YUV2RGB_NV12, nv12, (H, W, 3))
opencv("rgb8-bgr8", cv2.COLOR_RGB2BGR, rgb, (H, W, 3))
opencv("bgr8-mono8", cv2.COLOR_BGR2GRAY, rgb, (H, W))
opencv("bayer_rggb8-bgr8", cv2.COLOR_BayerRGGB2BGR, grey, (H, W, 3))

util = ctypes.CDLL("libavutil.so." + sys.argv[1])
sws = ctypes.CDLL("libswscale.so." + sys.argv[2])
sws.sws_getContext.restype = ctypes.c_void_p
sws.sws_getContext.argtypes = [ctypes.c_int] * 7 + [ctypes.c_void_p] * 3
sws.sws_scale.argtypes = [ctypes.c_void_p, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_int, ctypes.c_int, ctypes.c_void_p, ctypes.c_void_p]
NEIGHBOR, BICUBIC, FULL_INT, FULL_INP, ACCURATE, BITEXACT = 0x10, 4, 0x2000, 0x4000, 0x40000, 0x80000

def pointers(a, planes):
    base = a.ctypes.data
    return (ctypes.c_void_p * 4)(*[base + off for off, _ in planes]), (ctypes.c_int * 4)(*[step for _, step in planes])

def swscale(label, name, a, b, src, sp, dst, dp, flags):
    c = sws.sws_getContext(W, H, util.av_get_pix_fmt(a), W, H, util.av_get_pix_fmt(b), flags, None, None, None)
    s, ss = pointers(src, sp)
    d, ds = pointers(dst, dp)
    print(label, name, best(lambda: sws.sws_scale(c, s, ss, 0, H, d, ds)))
    sws.sws_freeContext(ctypes.c_void_p(c))

out = numpy.empty(W * H * 4, numpy.uint8)
for label, flags in (("swscale", BICUBIC), ("swscale-accurate", NEIGHBOR | FULL_INT | FULL_INP | ACCURATE | BITEXACT)):
    swscale(label, "yuv422_yuy2-rgb8", b"yuyv422", b"rgb24", yuyv, [(0, 2 * W)], out, [(0, 3 * W)], flags)
    swscale(label, "yuv422_yuy2-bgra8", b"yuyv422", b"bgra", yuyv, [(0, 2 * W)], out, [(0, 4 * W)], flags)
    swscale(label, "nv12-rgb8", b"nv12", b"rgb24", nv12, [(0, W), (W * H, W)], out, [(0, 3 * W)], flags)
    swscale(label, "rgb8-bgr8", b"rgb24", b"bgr24", rgb, [(0, 3 * W)], out, [(0, 3 * W)], flags)
    swscale(label, "bgr8-mono8", b"bgr24", b"gray", rgb, [(0, 3 * W)], out, [(0, W)], flags)
`

// BenchmarkPeers1080p has the peers measure themselves; run it beside
// BenchmarkConvert1080p on the same machine.
func BenchmarkPeers1080p(b *testing.B) {
	program := python(b)
	util, sws := soname(b, "libavutil.so."), soname(b, "libswscale.so.")
	ctx, cancel := context.WithTimeout(context.Background(), 3*time.Minute)
	defer cancel()
	out, err := exec.CommandContext(ctx, program, "-c", peers, util, sws).CombinedOutput()
	if err != nil {
		b.Fatalf("python: %v: %s", err, out)
	}
	for line := range strings.Lines(string(out)) {
		f := strings.Fields(line)
		if len(f) != 3 {
			b.Fatalf("unexpected %q", line)
		}
		ms, err := strconv.ParseFloat(f[2], 64)
		if err != nil {
			b.Fatal(err)
		}
		b.Run(f[1]+"/"+f[0], func(b *testing.B) {
			for b.Loop() { // the work has been done
				continue
			}
			b.ReportMetric(ms, "best-ms/frame")
		})
	}
}

// soname is the version of an installed library.
func soname(b *testing.B, prefix string) string {
	b.Helper()
	out, err := exec.CommandContext(b.Context(), "/sbin/ldconfig", "-p").Output()
	if err != nil {
		b.Skipf("ldconfig: %v", err)
	}
	_, rest, ok := strings.Cut(string(out), prefix)
	if !ok {
		b.Skipf("no %s*", prefix)
	}
	version, _, _ := strings.Cut(rest, " ")
	return version
}
