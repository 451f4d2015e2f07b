// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

package jpeg

import (
	"fmt"
	"strings"

	"github.com/seed-3c7e7623/camd/frame"
	"github.com/seed-3c7e7623/camd/internal/dl"
)

// Values of turbojpeg.h, version 2.
const (
	tjpfRGB, tjpfBGR, tjpfGray, tjpfRGBA, tjpfBGRA = 0, 1, 6, 7, 8

	tjFlagStopOnWarning = 8192
)

// turbo decodes with the TurboJPEG 2 API of libjpeg-turbo. By default that is
// the accurate integer DCT ("islow") and smooth ("fancy") chroma, as djpeg does.
type turbo struct {
	library *dl.Library
	handle  uintptr

	initDecompress, decompress2, getErrorStr2, destroy dl.Func

	// C reads these while it runs. Being reached from here, the memory is on the
	// heap and stays where it is.
	args     [9]uintptr
	src, dst []byte
}

// openTurbo opens the library and makes a handle.
func openTurbo() (*turbo, string, error) {
	library, err := dl.Open("libturbojpeg.so.0")
	if err != nil {
		return nil, "", err
	}
	t := &turbo{library: library}
	err = library.Symbols(map[string]*dl.Func{
		"tjInitDecompress": &t.initDecompress,
		"tjDecompress2":    &t.decompress2,
		"tjGetErrorStr2":   &t.getErrorStr2,
		"tjDestroy":        &t.destroy,
	})
	if err == nil {
		if t.handle = t.initDecompress.Call(nil); t.handle == 0 {
			err = fmt.Errorf("%w: tjInitDecompress: %s", dl.ErrNoLibrary, t.message())
		}
	}
	if err != nil {
		_ = library.Close() // the reason is that it is of no use
		return nil, "", err
	}
	return t, library.Name(), nil
}

func pixelFormat(e frame.Encoding) uintptr {
	switch e {
	case frame.BGR8:
		return tjpfBGR
	case frame.RGBA8:
		return tjpfRGBA
	case frame.BGRA8:
		return tjpfBGRA
	case frame.Mono8:
		return tjpfGray
	}
	return tjpfRGB
}

// decode stops at the first warning: what libjpeg recovers from is damage all
// the same. Missing Huffman tables it knows by itself.
func (t *turbo) decode(dst []byte, g frame.Geometry, data []byte, info Info) error {
	t.src, t.dst = data, dst
	t.args = [9]uintptr{
		t.handle, dl.Address(&t.src[0]), uintptr(len(data)), dl.Address(&t.dst[0]),
		uintptr(g.Width), uintptr(g.Step), uintptr(g.Height), pixelFormat(g.Encoding), tjFlagStopOnWarning,
	}
	result := int32(t.decompress2.Call(t.args[:]))
	t.src, t.dst = nil, nil
	if result == 0 {
		return nil
	}
	text := t.message()
	switch {
	case info.Scans == 1 && strayBytes(text) <= mostStray:
		return nil
	case strings.Contains(text, "remature end"):
		return fmt.Errorf("%w: %s", ErrTruncated, text)
	}
	return fmt.Errorf("%w: %s", ErrCorrupt, text)
}

// mostStray is how many bytes may stand between a complete picture and EOI.
// Some cameras always send one to four. More mean that the decoder lost its way
// in damaged data and was done early.
const mostStray = 8

// strayBytes is the number in libjpeg's warning about such bytes (JWRN_EXTRANEOUS_DATA);
// more than mostStray if the text is another. When it stops at this warning the
// picture has been drawn, unless there were several scans.
func strayBytes(text string) int {
	var n, marker int
	if i := strings.Index(text, "Corrupt JPEG data: "); i >= 0 {
		if got, _ := fmt.Sscanf(text[i:], "Corrupt JPEG data: %d extraneous bytes before marker 0x%x", &n, &marker); got == 2 && marker == markerEOI {
			return n
		}
	}
	return mostStray + 1
}

// message is the library's last error.
func (t *turbo) message() string {
	t.args[0] = t.handle
	return dl.String(t.getErrorStr2.Call(t.args[:1]))
}

func (t *turbo) close() {
	if t.handle == 0 {
		return
	}
	t.args[0] = t.handle
	t.destroy.Call(t.args[:1])
	t.handle = 0
	_ = t.library.Close() // nothing can be done about it
}
