// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

package msg

import (
	"bytes"
	"encoding/binary"
	"reflect"
	"testing"
)

func FuzzTime(f *testing.F)             { fuzz(f, &stamp) }
func FuzzHeader(f *testing.F)           { fuzz(f, &sampleImage.Header) }
func FuzzString(f *testing.F)           { fuzz(f, &String{"hi"}) }
func FuzzImage(f *testing.F)            { fuzz(f, &sampleImage) }
func FuzzCompressedImage(f *testing.F)  { fuzz(f, &sampleCompressed) }
func FuzzCameraInfo(f *testing.F)       { fuzz(f, &sampleInfo) }
func FuzzRegionOfInterest(f *testing.F) { fuzz(f, &sampleInfo.ROI) }
func FuzzPointCloud2(f *testing.F)      { fuzz(f, &sampleCloud) }
func FuzzPointField(f *testing.F)       { fuzz(f, &sampleCloud.Fields[0]) }
func FuzzImu(f *testing.F)              { fuzz(f, &sampleImu) }
func FuzzTFMessage(f *testing.F)        { fuzz(f, &sampleTF) }
func FuzzTransformStamped(f *testing.F) { fuzz(f, &sampleTF.Transforms[0]) }
func FuzzDiagnosticArray(f *testing.F)  { fuzz(f, &sampleDiagnostics) }
func FuzzDiagnosticStatus(f *testing.F) { fuzz(f, &sampleDiagnostics.Status[0]) }

// fuzz reads any bytes as the sample's type. What can be read can be written,
// and reads the same again; what is allocated stays within a small multiple
// of the bytes, in a good message and in a bad one.
func fuzz(f *testing.F, sample message) {
	f.Add(sample.AppendCDR(nil))
	f.Add(encode(sample, binary.BigEndian, 0x55))
	f.Add(fresh(sample).AppendCDR(nil))
	for _, at := range []int{4, 12, 16} { // a count or a length, somewhere
		b := append(sample.AppendCDR(nil), make([]byte, 16)...)
		copy(b[at:], "\xff\xff\xff\xff")
		f.Add(b)
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		m := fresh(sample)
		err := m.DecodeCDR(b)
		if n := footprint(t, reflect.ValueOf(m).Elem(), b); n > 4*len(b) {
			t.Fatalf("%d bytes became %d of memory", len(b), n)
		}
		if err != nil {
			return
		}
		once := m.AppendCDR(nil)
		// Reading into a message that holds another one changes nothing.
		again := fresh(sample)
		_ = again.DecodeCDR(sample.AppendCDR(nil))
		if err := again.DecodeCDR(once); err != nil {
			t.Fatalf("what was written cannot be read: %v", err)
		}
		if twice := again.AppendCDR(nil); !bytes.Equal(once, twice) {
			t.Fatalf("%x became %x", once, twice)
		}
	})
}

// footprint counts the bytes that v holds beside itself. Byte slices must be
// the input's own.
func footprint(t *testing.T, v reflect.Value, input []byte) int {
	n := 0
	switch v.Kind() {
	case reflect.Struct:
		for i := range v.NumField() {
			n += footprint(t, v.Field(i), input)
		}
	case reflect.String:
		n = v.Len()
	case reflect.Slice:
		if b, ok := v.Interface().([]byte); ok {
			if len(b) > 0 && !within(b, input) {
				t.Fatal("bytes of data are not the input's")
			}
			return 0
		}
		n = v.Cap() * int(v.Type().Elem().Size())
		for i := range v.Len() {
			n += footprint(t, v.Index(i), input)
		}
	}
	return n
}

func within(b, input []byte) bool {
	for i := range input {
		if &input[i] == &b[0] {
			return len(b) <= len(input)-i
		}
	}
	return false
}
