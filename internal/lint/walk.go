// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

package lint

import (
	"fmt"
	"io/fs"
	"path"
	"strings"
)

// Walk reads the source files of the module whose root is fsys: Go, C, Python
// and shell. It leaves out hidden folders but .ci, what builds make, test data
// and nested modules.
func Walk(fsys fs.FS) ([]File, error) {
	var files []File
	err := fs.WalkDir(fsys, ".", func(p string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() {
			if p != "." && skipped(fsys, p) {
				return fs.SkipDir
			}
			return nil
		}
		if !d.Type().IsRegular() || !isSource(p) {
			return nil
		}
		text, err := fs.ReadFile(fsys, p)
		if err != nil {
			return err
		}
		files = append(files, File{Path: p, Text: text})
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("reading the module: %w", err)
	}
	return files, nil
}

func skipped(fsys fs.FS, dir string) bool {
	base := path.Base(dir)
	switch {
	case dir == ".ci":
		return false
	case strings.HasPrefix(base, ".") || base == "testdata" || dir == "bin" || dir == "results":
		return true
	}
	_, err := fs.Stat(fsys, dir+"/go.mod")
	return err == nil
}

func isSource(p string) bool {
	switch path.Ext(p) {
	case ".go", ".c", ".h", ".py", ".sh":
		return true
	}
	return p == "Makefile" || p == ".ci/run"
}
