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
	leastWindow = image.Pt(320, 240)
	mostWindow  = image.Pt(1280, 960)
)

// windowFor is the size of the window in which a picture is shown first: its own
// where that is on the screen and to be seen.
func windowFor(picture image.Point) image.Point {
	switch {
	case picture.X < 1 || picture.Y < 1:
		return image.Pt(640, 480)
	case picture.X > mostWindow.X || picture.Y > mostWindow.Y:
		return fit(picture, mostWindow).Size()
	case picture.X < leastWindow.X && picture.Y < leastWindow.Y:
		return fit(picture, leastWindow).Size()
	}
	return picture
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
