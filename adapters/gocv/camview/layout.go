// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"image"
	"strings"
)

// fit is where a picture lies in an area: as large as it can be with its aspect,
// in the middle. It has at least one pixel.
func fit(picture, area image.Point) image.Rectangle {
	if picture.X < 1 || picture.Y < 1 || area.X < 1 || area.Y < 1 {
		return image.Rectangle{}
	}
	size := area
	if picture.X*area.Y > area.X*picture.Y {
		size.Y = max((area.X*picture.Y+picture.X/2)/picture.X, 1)
	} else {
		size.X = max((area.Y*picture.X+picture.Y/2)/picture.Y, 1)
	}
	at := area.Sub(size).Div(2)
	return image.Rectangle{Min: at, Max: at.Add(size)}
}

// The window of a picture that is not resized by hand.
var (
	leastWindow = image.Pt(320, 240) // that a small picture is enlarged to
	leastSides  = image.Pt(240, 180) // that can be used, and written in
	mostWindow  = image.Pt(1280, 960)
)

// mostCanvas is as many pixels as are drawn; a larger window stretches them.
const mostCanvas = 1 << 26

// windowFor is the size of the window in which a picture is shown first: its own
// where that is on the screen and to be seen, with black beside a strip.
func windowFor(picture image.Point) image.Point {
	size := picture
	switch {
	case picture.X < 1 || picture.Y < 1:
		return image.Pt(640, 480)
	case picture.X > mostWindow.X || picture.Y > mostWindow.Y:
		size = fit(picture, mostWindow).Size()
	case picture.X < leastWindow.X && picture.Y < leastWindow.Y:
		size = fit(picture, leastWindow).Size()
	}
	return image.Pt(max(size.X, leastSides.X), max(size.Y, leastSides.Y))
}

// canvasFor is the size in which the picture of a window is drawn.
func canvasFor(window image.Point) image.Point {
	for window.X > 0 && window.Y > mostCanvas/window.X {
		window = image.Pt((window.X+1)/2, (window.Y+1)/2)
	}
	return window
}

// wrap breaks a text into lines that are not wider than width, between words where
// that is possible. measure is the width of a text.
func wrap(text string, width int, measure func(string) int) []string {
	var lines []string
	line := ""
	for _, word := range strings.Fields(text) {
		with := word
		if line != "" {
			with = line + " " + word
		}
		if measure(with) <= width {
			line = with
			continue
		}
		if line != "" {
			lines = append(lines, line)
		}
		for measure(word) > width && len(word) > 1 {
			n := len(word) - 1
			for n > 1 && measure(word[:n]) > width {
				n--
			}
			lines, word = append(lines, word[:n]), word[n:]
		}
		line = word
	}
	if line != "" {
		lines = append(lines, line)
	}
	return lines
}

// printable is a text in what the fonts of OpenCV have: ASCII.
func printable(text string) string {
	return strings.Map(func(r rune) rune {
		if r < ' ' || r > '~' {
			return '?'
		}
		return r
	}, text)
}
