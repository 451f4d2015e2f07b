// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bufio"
	"fmt"
	"image"
	"image/color"
	"image/png"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/jezek/xgb"
	"github.com/jezek/xgb/xproto"
	"github.com/jezek/xgb/xtest"
)

// screen is an X server of its own and a connection to it.
type screen struct {
	t       testing.TB
	display string
	server  *os.Process
	c       *xgb.Conn
	root    xproto.Window
	keys    map[xproto.Keysym]xproto.Keycode
}

// startScreen runs Xvfb, which chooses a number that is free, until the end of
// the test.
func startScreen(t testing.TB) *screen {
	t.Helper()
	server, err := exec.LookPath("Xvfb")
	if err != nil {
		if os.Getenv("CI") == "true" {
			t.Fatal(err)
		}
		t.Skip("Xvfb (Debian package xvfb) is missing")
	}
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	var said text
	cmd := exec.Command(server, "-displayfd", "3", "-screen", "0", "1280x1024x24", "-nolisten", "tcp")
	cmd.ExtraFiles, cmd.Stderr = []*os.File{w}, &said
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	_ = w.Close() // the child has it
	t.Cleanup(func() {
		_ = cmd.Process.Kill() // it may have ended
		_ = cmd.Wait()         // killed
	})
	number, err := bufio.NewReader(r).ReadString('\n')
	if err != nil {
		t.Fatalf("Xvfb: %v: %s", err, said.String())
	}
	s := &screen{t: t, server: cmd.Process, display: ":" + strings.TrimSpace(number), keys: map[xproto.Keysym]xproto.Keycode{}}
	xgb.Logger.SetOutput(io.Discard)
	if s.c, err = xgb.NewConnDisplay(s.display); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.c.Close)
	if err := xtest.Init(s.c); err != nil {
		t.Fatal(err)
	}
	setup := xproto.Setup(s.c)
	s.root = setup.DefaultScreen(s.c).Root
	count := byte(setup.MaxKeycode - setup.MinKeycode + 1)
	m, err := xproto.GetKeyboardMapping(s.c, setup.MinKeycode, count).Reply()
	if err != nil {
		t.Fatal(err)
	}
	for i := range int(count) {
		s.keys[m.Keysyms[i*int(m.KeysymsPerKeycode)]] = setup.MinKeycode + xproto.Keycode(i)
	}
	return s
}

// view starts a camview on the screen and waits for its window.
func (s *screen) view(dir string, args ...string) *window {
	s.t.Helper()
	p := start(s.t, "camview", []string{"DISPLAY=" + s.display}, append(args, "--runtime-dir", dir)...)
	w := &window{process: p, s: s}
	eventually(s.t, "a window", func() (bool, string) {
		if p.ended() {
			s.t.Fatalf("camview ended: %s", p.err.String())
		}
		for _, id := range s.windows() {
			if strings.HasPrefix(s.title(id), "camview: ") {
				w.id = id
				return true, ""
			}
		}
		return false, p.err.String()
	})
	return w
}

func (s *screen) windows() []xproto.Window {
	tree, err := xproto.QueryTree(s.c, s.root).Reply()
	if err != nil {
		s.t.Fatal(err)
	}
	var seen []xproto.Window
	for _, id := range tree.Children {
		if a, err := xproto.GetWindowAttributes(s.c, id).Reply(); err == nil && a.MapState == xproto.MapStateViewable {
			seen = append(seen, id)
		}
	}
	return seen
}

func (s *screen) title(id xproto.Window) string {
	p, err := xproto.GetProperty(s.c, false, id, xproto.AtomWmName, xproto.GetPropertyTypeAny, 0, 256).Reply()
	if err != nil {
		return ""
	}
	return string(p.Value)
}

// window is a camview and its window.
type window struct {
	*process
	s  *screen
	id xproto.Window
}

// The keys without a character.
const (
	keyEscape xproto.Keysym = 0xff1b
	keyLeft   xproto.Keysym = 0xff51
)

// press presses a key and lets it go.
func (w *window) press(key xproto.Keysym) {
	w.t.Helper()
	code, ok := w.s.keys[key]
	if !ok {
		w.t.Fatalf("the screen has no key %#x", key)
	}
	err := xproto.SetInputFocusChecked(w.s.c, xproto.InputFocusPointerRoot, w.id, xproto.TimeCurrentTime).Check()
	for _, kind := range []byte{xproto.KeyPress, xproto.KeyRelease} {
		if err == nil {
			err = xtest.FakeInputChecked(w.s.c, kind, byte(code), 0, w.s.root, 0, 0, 0).Check()
		}
	}
	if err != nil {
		w.t.Fatal(err)
	}
}

func (w *window) resize(width, height int) {
	w.t.Helper()
	if err := xproto.ConfigureWindowChecked(w.s.c, w.id, xproto.ConfigWindowWidth|xproto.ConfigWindowHeight, []uint32{uint32(width), uint32(height)}).Check(); err != nil {
		w.t.Fatal(err)
	}
}

// closeButton does what a window manager does when its button is pressed.
func (w *window) closeButton() {
	w.t.Helper()
	atom := func(name string) uint32 {
		r, err := xproto.InternAtom(w.s.c, false, uint16(len(name)), name).Reply()
		if err != nil {
			w.t.Fatal(err)
		}
		return uint32(r.Atom)
	}
	e := xproto.ClientMessageEvent{
		Format: 32, Window: w.id, Type: xproto.Atom(atom("WM_PROTOCOLS")),
		Data: xproto.ClientMessageDataUnionData32New([]uint32{atom("WM_DELETE_WINDOW"), 0, 0, 0, 0}),
	}
	if err := xproto.SendEventChecked(w.s.c, false, w.id, 0, string(e.Bytes())).Check(); err != nil {
		w.t.Fatal(err)
	}
}

// shot is what is seen of the window: B G R x, row by row.
type shot struct {
	width, height int
	bgrx          []byte
}

func (w *window) shot() shot {
	w.t.Helper()
	if w.ended() {
		w.t.Fatalf("camview ended: %s", w.err.String())
	}
	g, err := xproto.GetGeometry(w.s.c, xproto.Drawable(w.id)).Reply()
	if err != nil {
		w.t.Fatal(err)
	}
	i, err := xproto.GetImage(w.s.c, xproto.ImageFormatZPixmap, xproto.Drawable(w.id), 0, 0, g.Width, g.Height, 1<<32-1).Reply()
	if err != nil {
		w.t.Fatal(err)
	}
	return shot{int(g.Width), int(g.Height), i.Data}
}

func (s shot) at(x, y int) rgb {
	i := (y*s.width + x) * 4
	return rgb{int(s.bgrx[i+2]), int(s.bgrx[i+1]), int(s.bgrx[i])}
}

// rgb is a colour on the screen.
type rgb [3]int

// near reports whether two colours differ by no more than a few levels.
func (c rgb) near(o rgb, levels int) bool {
	for i := range c {
		if c[i] < o[i]-levels || c[i] > o[i]+levels {
			return false
		}
	}
	return true
}

// keep writes the shot to the folder of artefacts, if there is one.
func (s shot) keep(t testing.TB, name string) {
	t.Helper()
	dir := os.Getenv("CAMD_ARTIFACTS")
	if dir == "" {
		return
	}
	dir = filepath.Join(dir, "camview")
	m := image.NewRGBA(image.Rect(0, 0, s.width, s.height))
	for y := range s.height {
		for x := range s.width {
			c := s.at(x, y)
			m.Set(x, y, color.RGBA{uint8(c[0]), uint8(c[1]), uint8(c[2]), 255})
		}
	}
	err := os.MkdirAll(dir, 0o755)
	if err == nil {
		var f *os.File
		if f, err = os.Create(filepath.Join(dir, strings.NewReplacer("/", "_").Replace(name)+".png")); err == nil {
			err = png.Encode(f, m)
			_ = f.Close() // PNG without its end is seen
		}
	}
	if err != nil {
		t.Error(fmt.Errorf("artefact: %w", err))
	}
}
