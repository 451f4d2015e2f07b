// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

package vm

import (
	"bytes"
	"debug/elf"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
)

// module is a kernel module, ready to be loaded.
type module struct {
	name string
	data []byte
}

// closure finds modules by name below dir, and all that they depend on, in the
// order in which they can be loaded. What the kernel has built in is left out.
func closure(dir string, names ...string) ([]module, error) {
	paths, err := modulePaths(dir)
	if err != nil {
		return nil, err
	}
	var out []module
	var add func(name string, asked bool) error
	add = func(name string, asked bool) error {
		name = strings.ReplaceAll(name, "-", "_")
		if slices.ContainsFunc(out, func(m module) bool { return m.name == name }) {
			return nil
		}
		path := paths[name]
		if path == "" {
			if asked {
				return fmt.Errorf("kernel module %s is not in %s", name, dir)
			}
			return nil
		}
		data, err := readModule(path)
		if err != nil {
			return err
		}
		needs, err := depends(data)
		if err != nil {
			return fmt.Errorf("%s: %w", path, err)
		}
		for _, n := range needs {
			if err := add(n, false); err != nil {
				return err
			}
		}
		out = append(out, module{name, data})
		return nil
	}
	for _, n := range names {
		if err := add(n, true); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// modulePaths maps the names of modules, written with underscores, to files.
func modulePaths(dir string) (map[string]string, error) {
	paths := make(map[string]string)
	err := filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if name, rest, ok := strings.Cut(e.Name(), ".ko"); ok && !e.IsDir() && (rest == "" || rest == ".xz") {
			paths[strings.ReplaceAll(name, "-", "_")] = path
		}
		return nil
	})
	return paths, err
}

func readModule(path string) ([]byte, error) {
	if strings.HasSuffix(path, ".xz") {
		data, err := exec.Command("xz", "-dc", path).Output()
		if err != nil {
			return nil, fmt.Errorf("unpacking %s: %w", path, err)
		}
		return data, nil
	}
	return os.ReadFile(path)
}

// depends reads the names in the section .modinfo, which holds "key=value"
// strings.
func depends(data []byte) ([]string, error) {
	f, err := elf.NewFile(bytes.NewReader(data))
	if err != nil {
		return nil, err
	}
	s := f.Section(".modinfo")
	if s == nil {
		return nil, fmt.Errorf("no section .modinfo")
	}
	info, err := s.Data()
	if err != nil {
		return nil, err
	}
	for _, line := range strings.Split(string(info), "\x00") {
		if list, ok := strings.CutPrefix(line, "depends="); ok && list != "" {
			return strings.Split(list, ","), nil
		}
	}
	return nil, nil
}
