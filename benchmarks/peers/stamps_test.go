// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"errors"
	"reflect"
	"strings"
	"testing"
)

func TestParseStamps(t *testing.T) {
	s, err := parseStamps([]byte("cpu 50 200\n1 2 3\n4 4 9\n"), 3)
	if err != nil || !reflect.DeepEqual(s, &stamps{CPU: 50, Span: 200, Rows: [][3]int64{{1, 2, 3}, {4, 4, 9}}}) {
		t.Fatalf("%+v, %v", s, err)
	}
	if load := s.load(); len(load) != 1 || load[0] != 2500 {
		t.Errorf("load %v, want 25 %%", load)
	}
	for _, text := range []string{
		"", "\n", "cpu 1", "cpu 1 2 3\n", "cpu -1 2\n", "CPU 1 2\n", "cpu 1 2\n1 2\n", "cpu 1 2\n1 2 3 4\n", "cpu 1 2\n3 2 4\n",
		"cpu 1 2\n1 2 x\n", "cpu 1 2\n1  2 3\n", "cpu 1 2\n\n", "cpu 1 2\n1 2 99999999999999999999\n",
	} {
		if s, err := parseStamps([]byte(text), 3); !errors.Is(err, errStamps) {
			t.Errorf("%q: %+v, %v", text, s, err)
		}
	}
}

func FuzzParseStamps(f *testing.F) {
	f.Add([]byte("cpu 50 200\n1 2 3\n"), true)
	f.Add([]byte("cpu 50 200\n1 2\n3 4"), false)
	f.Add([]byte("cpu 1 2"), false)
	f.Fuzz(func(t *testing.T, text []byte, subscriber bool) {
		columns := 2
		if subscriber {
			columns = 3
		}
		s, err := parseStamps(text, columns)
		if err != nil {
			if !errors.Is(err, errStamps) {
				t.Errorf("error %v", err)
			}
			return
		}
		for _, r := range s.Rows {
			if r[0] < 0 || r[1] < r[0] || subscriber && r[2] < r[1] {
				t.Errorf("row %v", r)
			}
		}
	})
}

func TestResult(t *testing.T) {
	c := cell{"x", 8, 1}
	published := &stamps{Rows: [][3]int64{{10, 11}, {20, 21}, {30, 31}, {40, 41}, {50, 51}}}
	r, err := result(c, 1, published, &stamps{Rows: [][3]int64{{20, 22, 23}, {50, 57, 59}}})
	if err != nil || r.Received() != 2 || r.Dropped() != 2 || r.Published() != 4 || len(r.Problems) != 0 {
		t.Errorf("%+v, %v", r, err)
	}
	if s := r.Samples[1]; s.ReadyNanos != 50 || s.UsableNanos != 57 || s.ReadNanos != 59 || s.Sequence != 5 {
		t.Errorf("sample %+v", s)
	}
	if r, err := result(c, 1, published, &stamps{Rows: [][3]int64{{50, 57, 59}, {20, 60, 61}}}); err != nil || len(r.Problems) != 1 {
		t.Errorf("went back: %+v, %v", r, err)
	}
	for _, rows := range [][][3]int64{{{21, 22, 23}}} {
		if _, err := result(c, 1, published, &stamps{Rows: rows}); !errors.Is(err, errStamps) {
			t.Errorf("%v: %v", rows, err)
		}
	}
	published.Rows = append(published.Rows, [3]int64{50, 60})
	if _, err := result(c, 1, published, &stamps{}); !errors.Is(err, errStamps) {
		t.Errorf("a stamp twice: %v", err)
	}
}

func TestOrderIsReadAsItIsWritten(t *testing.T) {
	want := order{rolePublish, "x", "a b", 8, 5_000_000, 10, 1000, "/out", "/stop"}
	got, err := parseOrder(want.args())
	if err != nil || got != want {
		t.Errorf("%+v, %v", got, err)
	}
	for _, text := range []string{"", "publish x a 8 1 1 1 o", "publish x a 7 1 1 1 o s", "publish x a 8 1 -1 1 o s", "publish x a 8 1 x 1 o s"} {
		if _, err := parseOrder(strings.Fields(text)); !errors.Is(err, errOrder) {
			t.Errorf("%q: %v", text, err)
		}
	}
}

func TestTouchReadsEveryByte(t *testing.T) {
	for n := range 100 {
		data := make([]byte, n)
		for i := range data {
			data[i] = 1
			if touch(data) == 0 {
				t.Fatalf("byte %d of %d is not read", i, n)
			}
			data[i] = 0
		}
	}
}
