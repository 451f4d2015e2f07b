// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

package jpeg

import "bytes"

// Second bytes of markers (ITU-T T.81, table B.1). The first one is 0xff.
const (
	markerTEM   = 0x01
	markerSOF0  = 0xc0 // baseline
	markerSOF1  = 0xc1 // extended sequential
	markerSOF2  = 0xc2 // progressive
	markerDHT   = 0xc4
	markerJPG   = 0xc8
	markerDAC   = 0xcc
	markerSOF15 = 0xcf
	markerRST0  = 0xd0
	markerRST7  = 0xd7
	markerSOI   = 0xd8
	markerEOI   = 0xd9
	markerSOS   = 0xda
	markerDQT   = 0xdb
	markerDNL   = 0xdc
	markerDRI   = 0xdd
)

// start is how every frame begins: SOI and the first byte of the next marker.
func start() []byte { return []byte{0xff, markerSOI, 0xff} }

func isSOF(m byte) bool {
	return m >= markerSOF0 && m <= markerSOF15 && m != markerDHT && m != markerJPG && m != markerDAC
}

func isRST(m byte) bool { return m >= markerRST0 && m <= markerRST7 }

// hasLength reports whether a length and that many bytes follow the marker.
func hasLength(m byte) bool {
	return m != markerTEM && m != markerSOI && m != markerEOI && !isRST(m) && m != 0
}

// scanEnd returns the place of the first marker in data, from byte from on, that
// ends a scan: stuffed zeros, fill bytes and restart markers belong to it.
// Without one ok is false and the place is where more data must be looked at.
func scanEnd(data []byte, from int) (place int, ok bool) {
	p := from
	for {
		i := bytes.IndexByte(data[p:], 0xff)
		if i < 0 {
			return len(data), false
		}
		p += i
		if p+1 >= len(data) {
			return p, false
		}
		switch m := data[p+1]; {
		case m == 0 || isRST(m):
			p += 2
		case m == 0xff:
			p++
		default:
			return p, true
		}
	}
}
