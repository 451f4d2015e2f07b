// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/seed-3c7e7623/camd/internal/bench"
)

// The files of a run. cells.jsonl is what the others are made of: a line for
// each cell, in the order in which they ran.
const (
	cellsFile   = "cells.jsonl"
	metaFile    = "meta.json"
	mediansFile = "medians.csv"
)

// meta is meta.json: where, when and how a run was done. Fields are only added.
type meta struct {
	RunID   string     `json:"run_id"`
	Machine string     `json:"machine"`
	Host    bench.Host `json:"host"`
	Clock   string     `json:"clock"`          // of all stamps
	Note    string     `json:"note,omitempty"` // of the one who measured
	Options Options    `json:"options"`
	Peers   []peerMeta `json:"peers"`
	Calls   []callMeta `json:"calls"` // of the command: more than one if the run was resumed
	Cells   int        `json:"cells"`
	Done    int        `json:"cells_done"`
	Failed  []failure  `json:"failed,omitempty"`
	Unsound []failure  `json:"problems,omitempty"` // of cells with figures
}

// peerMeta is a peer in meta.json.
type peerMeta struct {
	Name     string `json:"peer"`
	Language string `json:"language"`
	How      string `json:"how"`
	Version  string `json:"version,omitempty"`
	LeftOut  string `json:"left_out,omitempty"` // why
}

// callMeta is one call of the command.
type callMeta struct {
	Commit     string    `json:"commit,omitempty"`
	Started    time.Time `json:"started"`
	Ended      time.Time `json:"ended"`
	LoadBefore string    `json:"load_before,omitempty"`
	LoadAfter  string    `json:"load_after,omitempty"`
	Cells      int       `json:"cells"`
}

type failure struct {
	Cell   string `json:"cell"`
	Reason string `json:"reason"`
}

// store is the folder of a run.
type store struct {
	dir   string
	meta  meta
	cells []*measured
}

// createStore makes a new folder below out. None that is there is used.
func createStore(out, machine string, o Options, now time.Time) (*store, error) {
	host := bench.ReadHost()
	if machine == "" {
		machine = fmt.Sprintf("%s-%d-cores", slug(host.CPU), host.Cores)
	}
	if err := os.MkdirAll(out, 0o777); err != nil {
		return nil, err
	}
	base := filepath.Join(out, now.Format("2006-01-02")+"-"+machine)
	dir := base
	for n := 2; ; n++ {
		err := os.Mkdir(dir, 0o777)
		if err == nil {
			break
		}
		if !errors.Is(err, fs.ErrExist) || n > 1000 {
			return nil, err
		}
		dir = fmt.Sprintf("%s-%d", base, n)
	}
	return &store{dir: dir, meta: meta{
		RunID: filepath.Base(dir), Machine: machine, Host: host, Clock: bench.StampClock, Options: o, Cells: len(o.plan()),
	}}, nil
}

// slug is a text as part of a file name.
func slug(text string) string {
	words := strings.FieldsFunc(strings.ToLower(text), func(r rune) bool { return (r < 'a' || r > 'z') && (r < '0' || r > '9') })
	if len(words) == 0 {
		return "machine"
	}
	return strings.Join(words, "-")
}

// maxStoreBytes bounds what is read of a file of a run.
const maxStoreBytes = 1 << 30

// openStore reads a run that is to go on.
func openStore(dir string) (*store, error) {
	s := &store{dir: dir}
	text, err := os.ReadFile(filepath.Join(dir, metaFile))
	if err != nil {
		return nil, err
	}
	if err := json.Unmarshal(text, &s.meta); err != nil {
		return nil, fmt.Errorf("%s: %w", metaFile, err)
	}
	f, err := os.Open(filepath.Join(dir, cellsFile))
	if errors.Is(err, fs.ErrNotExist) {
		return s, nil
	}
	if err != nil {
		return nil, err
	}
	defer f.Close()
	if s.cells, err = readCells(io.LimitReader(f, maxStoreBytes)); err != nil {
		return nil, fmt.Errorf("%s: %w", cellsFile, err)
	}
	return s, nil
}

func readCells(r io.Reader) ([]*measured, error) {
	var out []*measured
	in := bufio.NewScanner(r)
	in.Buffer(nil, 1<<20)
	for in.Scan() {
		m := new(measured)
		if err := json.Unmarshal(in.Bytes(), m); err != nil {
			return nil, fmt.Errorf("line %d: %w", len(out)+1, err)
		}
		out = append(out, m)
	}
	return out, in.Err()
}

// missing are the cells that have not been run, in their order.
func (s *store) missing() []cell {
	done := make(map[cell]bool, len(s.cells))
	for _, m := range s.cells {
		done[m.cell] = true
	}
	var out []cell
	for _, c := range s.meta.Options.plan() {
		if !done[c] {
			out = append(out, c)
		}
	}
	return out
}

// add keeps a cell, on disk at once.
func (s *store) add(m *measured) error {
	line, err := json.Marshal(m)
	if err != nil {
		return err
	}
	f, err := os.OpenFile(filepath.Join(s.dir, cellsFile), os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o666)
	if err != nil {
		return err
	}
	_, err = f.Write(append(line, '\n'))
	s.cells = append(s.cells, m)
	return errors.Join(err, f.Close())
}

// write makes the other files anew.
func (s *store) write() error {
	m := &s.meta
	m.Done, m.Failed, m.Unsound = 0, nil, nil
	var rows []bench.Row
	for _, c := range s.cells {
		m.Done++
		rows = append(rows, c.Rows...)
		if c.Failed != "" {
			m.Failed = append(m.Failed, failure{c.name(), c.Failed})
		}
		for _, p := range c.Problems {
			m.Unsound = append(m.Unsound, failure{c.name(), p})
		}
	}
	var latency, medians, about bytes.Buffer
	if err := bench.WriteRows(&latency, m.RunID, rows); err != nil {
		return err
	}
	if err := writeMedians(&medians, m.RunID, s.medians()); err != nil {
		return err
	}
	enc := json.NewEncoder(&about)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	if err := enc.Encode(m); err != nil {
		return err
	}
	return errors.Join(
		replace(filepath.Join(s.dir, bench.RowsFile), latency.Bytes()),
		replace(filepath.Join(s.dir, mediansFile), medians.Bytes()),
		replace(filepath.Join(s.dir, metaFile), about.Bytes()),
	)
}

// replace puts a whole file in the place of another.
func replace(path string, text []byte) error {
	part := path + ".part"
	f, err := os.OpenFile(part, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o666)
	if err != nil {
		return err
	}
	_, err = f.Write(text)
	if err == nil {
		err = f.Sync()
	}
	if err = errors.Join(err, f.Close()); err != nil {
		return errors.Join(err, os.Remove(part))
	}
	return os.Rename(part, path)
}
