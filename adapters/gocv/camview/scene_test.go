// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"image"
	"image/color"
	"image/jpeg"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/seed-3c7e7623/camd/frame"
)

// The scene is four quadrants: no picture that is turned, mirrored or in other
// colours looks like it.
const sceneWidth, sceneHeight = 64, 48

var (
	sceneColors = [4]rgb{{255, 0, 0}, {0, 255, 0}, {0, 0, 255}, {255, 255, 0}} // top left, top right, bottom left, bottom right
	sceneGreys  = [4]int{40, 100, 160, 230}
	sceneDepths = [4]int{1000, 0, 3000, 2000} // mm, of the range that is shown: near, no data, far, middle
)

// near and far are what sceneDepths are shown with.
const sceneNear, sceneFar = "1", "3"

func quadrant(x, y int) int { return 2*(y/(sceneHeight/2)) + x/(sceneWidth/2) }

// scene draws it, in rows without padding.
func scene(e frame.Encoding) []byte {
	if e == frame.JPEG {
		return sceneJPEG()
	}
	var out, chroma []byte
	for y := range sceneHeight {
		for x := range sceneWidth {
			q := quadrant(x, y)
			c := sceneColors[q]
			Y, U, V := yuv(c)
			switch e {
			case frame.RGB8:
				out = append(out, byte(c[0]), byte(c[1]), byte(c[2]))
			case frame.BGR8:
				out = append(out, byte(c[2]), byte(c[1]), byte(c[0]))
			case frame.RGBA8:
				out = append(out, byte(c[0]), byte(c[1]), byte(c[2]), 0)
			case frame.BGRA8:
				out = append(out, byte(c[2]), byte(c[1]), byte(c[0]), 0)
			case frame.YUV422YUY2:
				out = append(out, Y, [2]byte{U, V}[x%2])
			case frame.YUV422UYVY:
				out = append(out, [2]byte{U, V}[x%2], Y)
			case frame.NV12:
				out = append(out, Y)
				if y%2 == 0 {
					chroma = append(chroma, [2]byte{U, V}[x%2])
				}
			case frame.Mono8:
				out = append(out, byte(sceneGreys[q]))
			case frame.Mono16:
				out = binary.LittleEndian.AppendUint16(out, uint16(sceneGreys[q]*257))
			case frame.Depth16:
				out = binary.LittleEndian.AppendUint16(out, uint16(sceneDepths[q]))
			case frame.Y8I:
				out = append(out, byte(sceneGreys[q]), 7)
			case frame.Y12I:
				left, right := sceneGreys[q]<<4, 77
				out = append(out, byte(left), byte(left>>8|right<<4), byte(right>>4))
			default: // bayer_rggb8 and the like
				order := strings.TrimRight(strings.TrimPrefix(string(e), "bayer_"), "0123456789")
				v := c[strings.IndexByte("rgb", order[2*(y%2)+x%2])]
				if e.Wide() {
					out = binary.LittleEndian.AppendUint16(out, uint16(v*257))
				} else {
					out = append(out, byte(v))
				}
			}
		}
	}
	return append(out, chroma...)
}

// yuv is BT.601 of limited range.
func yuv(c rgb) (y, u, v byte) {
	r, g, b := float64(c[0]), float64(c[1]), float64(c[2])
	return byte(16.5 + 0.257*r + 0.504*g + 0.098*b), byte(128.5 - 0.148*r - 0.291*g + 0.439*b), byte(128.5 + 0.439*r - 0.368*g - 0.071*b)
}

func sceneJPEG() []byte {
	m := image.NewRGBA(image.Rect(0, 0, sceneWidth, sceneHeight))
	for y := range sceneHeight {
		for x := range sceneWidth {
			c := sceneColors[quadrant(x, y)]
			m.Set(x, y, color.RGBA{uint8(c[0]), uint8(c[1]), uint8(c[2]), 255})
		}
	}
	var b bytes.Buffer
	if err := jpeg.Encode(&b, m, &jpeg.Options{Quality: 95}); err != nil {
		panic(err)
	}
	return b.Bytes()
}

// sceneCamera is a recording of the scene.
func sceneCamera(t testing.TB, name string, e frame.Encoding) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), string(e)+".raw")
	options := fmt.Sprintf(",%dx%d@20,encoding=%s,reader=native,loop=true", sceneWidth, sceneHeight, e)
	if e == frame.JPEG {
		file, options = strings.TrimSuffix(file, ".raw")+".mjpg", ",loop=true"
	}
	if err := os.WriteFile(file, bytes.Repeat(scene(e), 4), 0o600); err != nil {
		t.Fatal(err)
	}
	return name + "=replay:" + file + options
}

// isScene reports whether r of the shot shows the scene as e has it, with nothing
// beside it.
func (s shot) isScene(e frame.Encoding, r image.Rectangle) (bool, string) {
	for q := range 4 {
		x := r.Min.X + r.Dx()*(1+2*(q%2))/4
		y := r.Min.Y + r.Dy()*(1+2*(q/2))/4
		got := s.at(x, y)
		if want, ok := sceneColor(e, q, got); !ok {
			return false, fmt.Sprintf("quadrant %d is %v, want %s", q, got, want)
		}
	}
	for _, p := range []image.Point{
		{r.Min.X - 2, r.Min.Y}, {r.Max.X + 1, r.Max.Y - 1}, {r.Min.X, r.Min.Y - 2}, {r.Max.X - 1, r.Max.Y + 1},
	} {
		if p.In(image.Rect(0, 0, s.width, s.height)) && !s.at(p.X, p.Y).near(rgb{}, 2) {
			return false, fmt.Sprintf("beside the picture, at %v, is %v", p, s.at(p.X, p.Y))
		}
	}
	// Up to the edges, and to the middle.
	for _, p := range []struct{ x, y, q int }{
		{r.Min.X + 3, r.Min.Y + 3, 0}, {r.Max.X - 4, r.Min.Y + 3, 1}, {r.Min.X + 3, r.Max.Y - 4, 2}, {r.Max.X - 4, r.Max.Y - 4, 3},
	} {
		if e.Bayer() { // what is at the edge of a mosaic is a guess
			break
		}
		if want, ok := sceneColor(e, p.q, s.at(p.x, p.y)); !ok {
			return false, fmt.Sprintf("corner %d is %v, want %s", p.q, s.at(p.x, p.y), want)
		}
	}
	return true, ""
}

func sceneColor(e frame.Encoding, q int, got rgb) (want string, ok bool) {
	switch e {
	case frame.Mono8, frame.Mono16, frame.Y8I, frame.Y12I:
		grey := rgb{sceneGreys[q], sceneGreys[q], sceneGreys[q]}
		return fmt.Sprint(grey), got.near(grey, 2)
	case frame.Depth16:
		r, g, b := got[0], got[1], got[2]
		return [4]string{"red", "black", "blue", "green"}[q], [4]bool{
			r > 2*g+40 && r > 2*b+40, got == rgb{}, b > r && b > 2*g, g > r+40 && g > 2*b,
		}[q]
	case frame.JPEG:
		return fmt.Sprint(sceneColors[q]), got.near(sceneColors[q], 12)
	}
	return fmt.Sprint(sceneColors[q]), got.near(sceneColors[q], 4)
}
