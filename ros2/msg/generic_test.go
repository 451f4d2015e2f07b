// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

package msg

import (
	"bytes"
	"encoding/binary"
	"errors"
	"math"
	"math/rand"
	"reflect"
	"testing"
	"testing/quick"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/seed-3c7e7623/camd/ros2/cdr"
)

// all has one of each message.
var all = []message{
	&Time{}, &Header{}, &String{}, &Image{}, &CompressedImage{}, &CameraInfo{}, &RegionOfInterest{}, &PointCloud2{},
	&PointField{}, &Imu{}, &TFMessage{}, &TransformStamped{}, &DiagnosticArray{}, &DiagnosticStatus{},
}

func name(m message) string { return reflect.TypeOf(m).Elem().Name() }

// fresh is an empty message of the same type.
func fresh(m message) message { return reflect.New(reflect.TypeOf(m).Elem()).Interface().(message) }

// encoder is CDR once more, from what the type of a value says: slow, of
// either byte order, and with any byte in the gaps.
type encoder struct {
	b     []byte
	order binary.AppendByteOrder
	gap   byte
}

func encode(m message, order binary.AppendByteOrder, gap byte) []byte {
	e := encoder{order: order, gap: gap}
	e.value(reflect.ValueOf(m).Elem())
	header := []byte{0, 1, 0, 0}
	if order == binary.AppendByteOrder(binary.BigEndian) {
		header[1] = 0
	}
	return append(header, e.b...)
}

func (e *encoder) align(n int) {
	for len(e.b)%n != 0 {
		e.b = append(e.b, e.gap)
	}
}

func (e *encoder) word(v uint32) {
	e.align(4)
	e.b = e.order.AppendUint32(e.b, v)
}

func (e *encoder) value(v reflect.Value) {
	switch v.Kind() {
	case reflect.Struct:
		for i := range v.NumField() {
			e.value(v.Field(i))
		}
	case reflect.Slice:
		e.word(uint32(v.Len()))
		fallthrough
	case reflect.Array:
		for i := range v.Len() {
			e.value(v.Index(i))
		}
	case reflect.String:
		e.word(uint32(v.Len() + 1))
		e.b = append(append(e.b, v.String()...), 0)
	case reflect.Bool:
		if v.Bool() {
			e.b = append(e.b, 1)
		} else {
			e.b = append(e.b, 0)
		}
	case reflect.Uint8:
		e.b = append(e.b, byte(v.Uint()))
	case reflect.Uint32:
		e.word(uint32(v.Uint()))
	case reflect.Int32:
		e.word(uint32(v.Int()))
	case reflect.Float64:
		e.align(8)
		e.b = e.order.AppendUint64(e.b, math.Float64bits(v.Float()))
	default:
		panic(v.Kind())
	}
}

func TestEveryMessageInBothOrders(t *testing.T) {
	t.Parallel()
	random := rand.New(rand.NewSource(1))
	for _, kind := range all {
		for range 50 {
			v, ok := quick.Value(reflect.TypeOf(kind).Elem(), random)
			if !ok {
				t.Fatalf("%T has no random value", kind)
			}
			m := fresh(kind)
			reflect.ValueOf(m).Elem().Set(v)
			little := encode(m, binary.LittleEndian, 0)
			if got := m.AppendCDR(nil); !bytes.Equal(got, little) {
				t.Fatalf("%s %+v:\n got %x\nwant %x", name(m), m, got, little)
			}
			for _, b := range [][]byte{
				little, encode(m, binary.LittleEndian, 0xaa), encode(m, binary.BigEndian, 0), encode(m, binary.BigEndian, 0x55),
			} {
				got := fresh(m)
				if err := got.DecodeCDR(b); err != nil {
					t.Fatalf("%s: %v", name(m), err)
				}
				if diff := cmp.Diff(m, got, cmpopts.EquateEmpty()); diff != "" {
					t.Fatalf("%s: %s", name(m), diff)
				}
			}
		}
	}
}

// TestEveryMessageCutAndGrown cuts the message of each kind at every place.
func TestEveryMessageCutAndGrown(t *testing.T) {
	t.Parallel()
	known := []error{cdr.ErrEncapsulation, cdr.ErrTruncated, cdr.ErrCount}
	for _, g := range samples() {
		b := g.AppendCDR(nil)
		for n := range b {
			err := fresh(g).DecodeCDR(b[:n:n])
			found := false
			for _, k := range known {
				found = found || errors.Is(err, k)
			}
			if !found {
				t.Errorf("%s, %d of %d bytes: %v", name(g), n, len(b), err)
			}
		}
		for more := range 6 {
			err := fresh(g).DecodeCDR(append(bytes.Clone(b), make([]byte, more)...))
			if more <= 3 && err != nil || more > 3 && !errors.Is(err, cdr.ErrTrailing) {
				t.Errorf("%s and %d bytes: %v", name(g), more, err)
			}
		}
	}
}

// samples are messages with something in each sequence.
func samples() []message {
	return []message{
		&stamp, &sampleImage.Header, &String{"hi"}, &sampleImage, &sampleCompressed, &sampleInfo, &sampleInfo.ROI,
		&sampleCloud, &sampleCloud.Fields[0], &sampleImu, &sampleTF, &sampleTF.Transforms[0], &sampleDiagnostics,
		&sampleDiagnostics.Status[0],
	}
}

func TestEveryMessageAllocatesNothing(t *testing.T) {
	for _, m := range samples() {
		b := m.AppendCDR(nil)
		buf := make([]byte, 0, 2*len(b))
		if n := testing.AllocsPerRun(50, func() { m.AppendCDR(buf) }); n != 0 {
			t.Errorf("%s: %v allocations to write", name(m), n)
		}
		got := fresh(m)
		if n := testing.AllocsPerRun(50, func() { _ = got.DecodeCDR(b) }); n != 0 {
			t.Errorf("%s: %v allocations to read again", name(m), n)
		}
	}
	buf := make([]byte, 0, 200)
	if n := testing.AllocsPerRun(50, func() {
		sampleImage.AppendPrefix(buf, 6<<20)
		sampleCompressed.AppendPrefix(buf, 6<<20)
	}); n != 0 {
		t.Errorf("%v allocations for a prefix", n)
	}
}

// TestReadingDoesNotCopyPixels shows that the bytes of data are the input's.
func TestReadingDoesNotCopyPixels(t *testing.T) {
	t.Parallel()
	b := sampleImage.AppendCDR(nil)
	var m Image
	if err := m.DecodeCDR(b); err != nil {
		t.Fatal(err)
	}
	if &m.Data[0] != &b[52] || cap(m.Data) != 6 {
		t.Error("data is not the input's, or has room behind it")
	}
}
