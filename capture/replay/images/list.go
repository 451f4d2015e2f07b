// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

// Package images reads single pictures of a folder, PNG and JPEG, as frames of
// a recording, in the order in which people number files.
package images

import (
	"cmp"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// List returns the paths of the pictures in a folder, img2.png before
// img10.png. Hidden files and folders are left out. It may be empty.
func List(dir string) ([]string, error) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, err
	}
	var names []string
	for _, e := range entries {
		if !e.IsDir() && IsPicture(e.Name()) {
			names = append(names, e.Name())
		}
	}
	slices.SortFunc(names, Compare)
	for i, n := range names {
		names[i] = filepath.Join(dir, n)
	}
	return names, nil
}

// IsPicture reports whether a file of this name is one of those that are read.
func IsPicture(name string) bool {
	switch strings.ToLower(filepath.Ext(name)) {
	case ".png", ".jpg", ".jpeg":
		return !strings.HasPrefix(name, ".")
	}
	return false
}

// Compare orders names so that numbers in them count as numbers. It is a total
// order: names that differ only in leading zeros or in case follow each other
// by bytes.
func Compare(a, b string) int {
	x, y := a, b
	for x != "" && y != "" {
		nx, ny := digits(x), digits(y)
		if nx > 0 && ny > 0 {
			if c := compareNumbers(x[:nx], y[:ny]); c != 0 {
				return c
			}
			x, y = x[nx:], y[ny:]
			continue
		}
		if c := cmp.Compare(x[0], y[0]); c != 0 {
			return c
		}
		x, y = x[1:], y[1:]
	}
	if c := cmp.Compare(len(x), len(y)); c != 0 {
		return c
	}
	return strings.Compare(a, b)
}

func digits(s string) int {
	n := 0
	for n < len(s) && s[n] >= '0' && s[n] <= '9' {
		n++
	}
	return n
}

// compareNumbers compares numbers of any length.
func compareNumbers(a, b string) int {
	a, b = strings.TrimLeft(a, "0"), strings.TrimLeft(b, "0")
	if c := cmp.Compare(len(a), len(b)); c != 0 {
		return c
	}
	return strings.Compare(a, b)
}

// ErrorAt names the file.
func ErrorAt(path string, err error) error {
	return fmt.Errorf("%s: %w", filepath.Base(path), err)
}
