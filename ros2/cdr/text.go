// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

package cdr

// text reads a string and returns its bytes in the input, without the NUL.
func (r *Reader) text() []byte {
	n := r.Len(1)
	if r.err != nil {
		return nil
	}
	if n == 0 {
		r.fail(ErrString, "length 0, the empty string has 1")
		return nil
	}
	b := r.take(n, 1)
	if b[n-1] != 0 {
		r.fail(ErrString, "%d bytes, the last is %#02x", n, b[n-1])
		return nil
	}
	return b[:n-1]
}

// String reads a string.
func (r *Reader) String() string { return string(r.text()) }

// StringInto reads a string into s. Where s holds the same text already, or
// the text is one that cameras send all the time, nothing is allocated.
func (r *Reader) StringInto(s *string) {
	b := r.text()
	if string(b) == *s {
		return
	}
	if known, ok := common[string(b)]; ok {
		*s = known
		return
	}
	*s = string(b)
}

// common are texts of nearly every camera message.
var common = func() map[string]string {
	m := map[string]string{}
	for _, s := range []string{
		"", "rgb8", "bgr8", "rgba8", "bgra8", "mono8", "mono16", "rgb16", "bgr16", "rgba16", "bgra16",
		"8UC1", "8UC3", "16UC1", "32FC1",
		"yuyv", "uyvy", "yuv422", "yuv422_yuy2", "nv12", "nv21", "nv24",
		"bayer_rggb8", "bayer_bggr8", "bayer_gbrg8", "bayer_grbg8",
		"bayer_rggb16", "bayer_bggr16", "bayer_gbrg16", "bayer_grbg16",
		"jpeg", "png", "rgb8; jpeg compressed bgr8", "bgr8; jpeg compressed bgr8", "mono8; jpeg compressed mono8", "mono8; jpeg compressed ",
		"plumb_bob", "rational_polynomial", "equidistant",
		"x", "y", "z", "rgb", "rgba", "intensity", "map", "odom", "base_link", "camera_optical_frame",
	} {
		m[s] = s
	}
	return m
}()
