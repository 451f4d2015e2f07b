// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

package bench

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"time"
)

// The files of a run. meta.json is written last: a folder without it is not
// whole.
const (
	RowsFile    = "latency.csv"
	SamplesFile = "samples.csv"
	MetaFile    = "meta.json"
)

// Folder is the new folder of one run.
type Folder struct {
	Path string
	made []string
}

// NewFolder makes a folder for a run below out, which is made too. No folder
// that is there is ever used again.
func NewFolder(out, command string, now time.Time) (*Folder, error) {
	if err := os.MkdirAll(out, 0o777); err != nil {
		return nil, err
	}
	base := filepath.Join(out, command+"-"+now.Format("20060102-150405"))
	for n := 1; n < 1000; n++ {
		p := base
		if n > 1 {
			p = fmt.Sprintf("%s-%d", base, n)
		}
		err := os.Mkdir(p, 0o777)
		if err == nil {
			return &Folder{Path: p}, nil
		}
		if !errors.Is(err, fs.ErrExist) {
			return nil, err
		}
	}
	return nil, fmt.Errorf("%s: %w", base, fs.ErrExist)
}

// RunID is the folder's name.
func (f *Folder) RunID() string { return filepath.Base(f.Path) }

// Write puts all files of a run into the folder. If one of them cannot be
// written whole, nothing is left.
func (f *Folder) Write(run *Run) error {
	run.Meta.RunID = f.RunID()
	err := f.file(RowsFile, func(w io.Writer) error { return WriteRows(w, f.RunID(), run.Rows()) })
	if err == nil {
		err = f.file(SamplesFile, func(w io.Writer) error { return writeSamples(w, f.RunID(), run.Results) })
	}
	if err == nil {
		err = f.file(MetaFile, func(w io.Writer) error { return writeJSON(w, run.Meta) })
	}
	if err != nil {
		return errors.Join(fmt.Errorf("results were not kept: %w", err), f.Remove())
	}
	return nil
}

// file writes one file to the disk, not only to the cache before it.
func (f *Folder) file(name string, write func(io.Writer) error) error {
	path := filepath.Join(f.Path, name)
	file, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o666)
	if err != nil {
		return err
	}
	f.made = append(f.made, path)
	err = write(file)
	if err == nil {
		err = file.Sync()
	}
	if err = errors.Join(err, file.Close()); err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	return nil
}

// Remove takes back what this run has put there.
func (f *Folder) Remove() error {
	var errs []error
	for _, path := range f.made {
		errs = append(errs, os.Remove(path))
	}
	f.made = nil
	return errors.Join(append(errs, os.Remove(f.Path))...)
}

func writeJSON(w io.Writer, v any) error {
	out := json.NewEncoder(w)
	out.SetEscapeHTML(false)
	out.SetIndent("", "  ")
	return out.Encode(v)
}
