// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"
)

// output is a file, which is made when there is something to write, or stdout.
type output struct {
	name   string // "-" is stdout
	stdout io.Writer
	file   *os.File
}

// check refuses to write pictures to a terminal, or nowhere.
func (o *output) check() error {
	if o.name == "" {
		return Usagef("-o: which file?")
	}
	if o.name == "-" && isTerminal(o.stdout) {
		return Usagef("stdout is a terminal: give -o FILE, or a pipe such as | ffplay -")
	}
	return nil
}

func (o *output) open() (io.Writer, error) {
	if o.name == "-" {
		return o.stdout, nil
	}
	f, err := os.Create(o.name)
	o.file = f
	return f, err
}

// close ends a file that was written bit by bit. err is what the command ends
// with: the file that it leaves behind lacks something then.
func (o *output) close(err error) error {
	if o.file == nil {
		return err
	}
	err = errors.Join(err, o.file.Close())
	if err != nil {
		err = fmt.Errorf("%w; %s is incomplete", err, o.name)
	}
	return err
}

// write puts all of it into the output. A file of that name is replaced only
// once everything is written: no part of a picture is ever there.
func (o *output) write(data []byte) error {
	if o.name == "-" {
		_, err := o.stdout.Write(data)
		return err
	}
	path, mode, ok := replaceable(o.name)
	if ok {
		err := replace(path, mode, data)
		if !errors.Is(err, fs.ErrPermission) || mode == 0 {
			return err
		}
		// The file may be written, but nothing beside it.
	}
	f, err := os.OpenFile(o.name, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o666)
	if err != nil {
		return err
	}
	_, err = f.Write(data)
	return errors.Join(err, f.Close())
}

// replaceable is false for what only takes bytes, such as devices, pipes and
// links to nothing. mode is 0 if the file is not there yet.
func replaceable(name string) (path string, mode fs.FileMode, ok bool) {
	info, err := os.Stat(name)
	if err != nil {
		_, err = os.Lstat(name)
		return name, 0, errors.Is(err, fs.ErrNotExist)
	}
	path, err = filepath.EvalSymlinks(name)
	return path, info.Mode().Perm(), err == nil && info.Mode().IsRegular()
}

func replace(path string, mode fs.FileMode, data []byte) error {
	name := filepath.Join(filepath.Dir(path), fmt.Sprintf(".camsub-%016x.tmp", rand.Uint64()))
	f, err := os.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o666)
	if err != nil {
		return named(err, path)
	}
	_, err = f.Write(data)
	if err == nil && mode != 0 {
		err = f.Chmod(mode)
	}
	if err = errors.Join(err, f.Close()); err == nil {
		err = os.Rename(name, path)
	}
	if err != nil {
		return errors.Join(named(err, path), os.Remove(name))
	}
	return nil
}

// named gives an error the name that the user knows.
func named(err error, path string) error {
	if pe, ok := errors.AsType[*fs.PathError](err); ok {
		return &fs.PathError{Op: pe.Op, Path: path, Err: pe.Err}
	}
	return err
}

func isTerminal(w io.Writer) bool {
	f, ok := w.(*os.File)
	if !ok {
		return false
	}
	_, err := unix.IoctlGetTermios(int(f.Fd()), unix.TCGETS)
	return err == nil
}
