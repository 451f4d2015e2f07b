// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

package jpeg

import (
	"fmt"

	"github.com/seed-3c7e7623/camd/frame"
	"github.com/seed-3c7e7623/camd/internal/dl"
)

// Values of turbojpeg.h, version 2.
const (
	tjSamp420, tjSampGray = 2, 3

	tjFlagNoRealloc = 1024
)

// turboEncoder encodes with the TurboJPEG 2 API of libjpeg-turbo.
type turboEncoder struct {
	turbo
	initCompress, compress2 dl.Func

	// C reads and writes these while it runs, see turbo.
	arguments [11]uintptr
	out       uintptr // unsigned char *
	size      uint    // unsigned long
}

func openTurboEncoder() (*turboEncoder, error) {
	library, err := dl.Open("libturbojpeg.so.0")
	if err != nil {
		return nil, err
	}
	t := &turboEncoder{turbo: turbo{library: library}}
	err = library.Symbols(map[string]*dl.Func{
		"tjInitCompress": &t.initCompress,
		"tjCompress2":    &t.compress2,
		"tjGetErrorStr2": &t.getErrorStr2,
		"tjDestroy":      &t.destroy,
	})
	if err == nil {
		if t.handle = t.initCompress.Call(nil); t.handle == 0 {
			err = fmt.Errorf("%w: tjInitCompress: %s", dl.ErrNoLibrary, t.message())
		}
	}
	if err != nil {
		_ = library.Close() // the reason is that it is of no use
		return nil, err
	}
	return t, nil
}

func (t *turboEncoder) encode(dst []byte, g frame.Geometry, data []byte, quality int) ([]byte, error) {
	// The library checks nothing against size: the memory must hold the worst.
	need := MaxEncoded(g.Width, g.Height)
	if cap(dst) < need {
		dst = make([]byte, 0, need)
	}
	dst = dst[:need]
	sampling := uintptr(tjSamp420)
	if g.Encoding == frame.Mono8 {
		sampling = tjSampGray
	}
	t.src, t.dst = data, dst
	t.out, t.size = dl.Address(&dst[0]), uint(need)
	t.arguments = [11]uintptr{
		t.handle, dl.Address(&t.src[0]), uintptr(g.Width), uintptr(g.Step), uintptr(g.Height), pixelFormat(g.Encoding),
		dl.Address(&t.out), dl.Address(&t.size), sampling, uintptr(quality), tjFlagNoRealloc,
	}
	result := int32(t.compress2.Call(t.arguments[:]))
	t.src, t.dst = nil, nil
	if result != 0 {
		return nil, fmt.Errorf("%w: tjCompress2: %s", ErrUnsupported, t.message())
	}
	return dst[:t.size], nil
}
