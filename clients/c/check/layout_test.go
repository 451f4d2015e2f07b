// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

package check

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"go/ast"
	"go/constant"
	"go/parser"
	"go/token"
	"go/types"
	"os"
	"os/exec"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/seed-3c7e7623/camd/frame"
)

// noImports lets files be looked at without what they import.
type noImports struct{}

func (noImports) Import(string) (*types.Package, error) { return nil, errors.New("not needed") }

// ringConstants are the whole numbers that package ring lays memory out by.
func ringConstants(t testing.TB) map[string]int64 {
	t.Helper()
	set := token.NewFileSet()
	var files []*ast.File
	for _, name := range []string{"layout.go", "group.go"} {
		f, err := parser.ParseFile(set, "../../../ring/"+name, nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		files = append(files, f)
	}
	look := types.Config{Importer: noImports{}, Error: func(error) {}}
	pkg, _ := look.Check("ring", set, files, nil) // what is imported is missing, constants are not
	all := map[string]int64{}
	for _, name := range pkg.Scope().Names() {
		if c, ok := pkg.Scope().Lookup(name).(*types.Const); ok {
			if v, exact := constant.Int64Val(constant.ToInt(c.Val())); exact {
				all[name] = v
			}
		}
	}
	return all
}

func output(t testing.TB, stdin, program string, args ...string) string {
	t.Helper()
	cmd := exec.Command(program, args...)
	cmd.Stdin = strings.NewReader(stdin)
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%s %v: %v", program, args, err)
	}
	return string(out)
}

// goName is REC_DRIVER_SEQ as recDriverSeq.
func goName(c string) string {
	words := strings.Split(strings.ToLower(c), "_")
	for i := range words[1:] {
		words[i+1] = strings.ToUpper(words[i+1][:1]) + words[i+1][1:]
	}
	return strings.Join(words, "")
}

func TestLayoutIsThatOfTheRing(t *testing.T) {
	want := ringConstants(t)
	want["ringMagic"] = 0x474e4952444d4143
	if len(want) < 40 {
		t.Fatalf("only %d constants found in package ring", len(want))
	}
	other := map[string]string{"LAYOUT_VERSION": "Version", "MAX_SLOTS": "MaxSlots", "CAMD_MAX_CREDIT": "MaxCredit"}
	seen := map[string]bool{}
	for _, line := range strings.Split(strings.TrimSpace(output(t, "", programs(t).selftest, "layout")), "\n") {
		name, value, _ := strings.Cut(line, " ")
		in := goName(name)
		if o, ok := other[name]; ok {
			in = o
		}
		n, err := strconv.ParseInt(value, 10, 64)
		w, ok := want[in]
		if err != nil || !ok || n != w {
			t.Errorf("%s is %s, %s of package ring is %d (there: %v)", name, value, in, w, ok)
		}
		seen[in] = true
	}
	// The client has planes from the geometry, as package client does.
	for _, not := range []string{"recPlanes", "recPlane", "returnMask"} {
		seen[not] = true
	}
	for name := range want {
		if !seen[name] {
			t.Errorf("the client does not know %s of package ring", name)
		}
	}
}

func TestGeometryIsThatOfFrame(t *testing.T) {
	var want strings.Builder
	for _, e := range append(frame.Encodings(), frame.Float32, frame.RGB16, frame.BGR16, frame.RGBA16, frame.BGRA16, frame.NV21, frame.PNG) {
		g, err := frame.NewCompressed(e, 7, 5, 99)
		if !e.Compressed() {
			g, err = frame.NewGeometry(e, 7, 5)
			g.Step += 5
		}
		if err != nil {
			t.Fatal(err)
		}
		bits := g.SampleBits()
		if e == frame.Float32 {
			bits = 32 // of a float
		}
		fmt.Fprintf(&want, "%s %d %d", e, g.Size(), bits)
		for i := range g.PlaneCount() {
			p := g.Plane(i)
			fmt.Fprintf(&want, " %d/%d/%d/%d", p.Offset, p.Step, p.RowBytes, p.Rows)
		}
		want.WriteString("\n")
	}
	if got := output(t, "", programs(t).selftest, "geometry"); got != want.String() {
		t.Errorf("the client has\n%s\npackage frame\n%s", got, want.String())
	}
}

// Both clients look for the driver in the same places.
func TestPlacesAreThoseOfTheDriver(t *testing.T) {
	var texts [2]string
	for i, name := range []string{"../../../cudabuf/driver/places.go", "../camd.c"} {
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		texts[i] = string(text)
	}
	places := regexp.MustCompile(`"(/(?:usr|run|nvidia|tegra)[a-z0-9_/-]*)"`).FindAllStringSubmatch(texts[0], -1)
	if len(places) < 10 {
		t.Fatalf("only %d places in %q", len(places), places)
	}
	for _, p := range places {
		if !strings.Contains(texts[1], p[1]+`"`) && !strings.Contains(texts[1], p[1]+`/libcuda.so.1"`) {
			t.Errorf("the client in C does not look in %s", p[1])
		}
	}
}

func TestHash(t *testing.T) {
	for _, n := range []int{0, 1, 55, 56, 63, 64, 65, 119, 120, 1000, 100_000} {
		data := strings.Repeat("camd.", n/5+1)[:n]
		want := sha256.Sum256([]byte(data))
		if got := strings.TrimSpace(output(t, data, programs(t).selftest, "hash")); got != hex.EncodeToString(want[:]) {
			t.Errorf("of %d bytes: %s", n, got)
		}
	}
}
