// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

package args

import (
	"strings"
	"testing"
)

func TestNumbers(t *testing.T) {
	for _, c := range []struct {
		args, want string // want: part of the error; "": none
	}{
		{"-p 7 -w 0.5 64", ""},
		{"-p 1 -w 0 0", ""},
		{"-p 9 64", "want a whole number from 1 to 7"},
		{"-p 0 64", "want a whole number from 1 to 7"},
		{"-p 1.5 64", "want a whole number"},
		{"-w -1 64", "want a number from 0 to 60"},
		{"-w NaN 64", "want a number from 0 to 60"},
		{"-- -1", `PAYLOAD_SIZE: "-1": want a whole number from 0 to 1073741824`},
		{"abc", `PAYLOAD_SIZE: "abc": want a whole number`},
		{"99999999999999999999", "PAYLOAD_SIZE: "},
		{"", "want one argument, PAYLOAD_SIZE"},
	} {
		e := New("example")
		p := Number(e, "priority", "p", 5, 1, 7, "priority")
		w := Number(e, "warmup", "w", 1.0, 0, 60, "seconds")
		err := e.Parse(strings.Fields(c.args))
		if err == nil {
			_, err = e.Size("PAYLOAD_SIZE")
		}
		if (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
			t.Errorf("%q: %v, want %q", c.args, err, c.want)
		}
		if err == nil && (*p < 1 || *w > 0.5) {
			t.Errorf("%q: priority %d, warm-up %v", c.args, *p, *w)
		}
	}
}
