// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

package config

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/seed-3c7e7623/camd/capture"
)

// ErrInvalid: the configuration makes no sense.
var ErrInvalid = errors.New("invalid configuration")

// Problem is one thing that is wrong, and where.
type Problem struct {
	Where Origin
	Text  string
	// Excerpt is the lines of the file around it with a mark below the place;
	// "" if it is not in a file.
	Excerpt string
}

// Error is "camd.yaml:12:7: TEXT" and the excerpt on the lines below.
func (p *Problem) Error() string {
	text := p.Text
	if where := p.Where.String(); p.Where.Name != "" {
		text = where + ": " + text
	}
	if p.Excerpt != "" {
		text += "\n" + p.Excerpt
	}
	return text
}

// Error is every problem of a configuration, in the order of the file. It wraps
// [ErrInvalid] and [capture.ErrConfig].
type Error struct {
	Problems []*Problem
}

// Error is the problems, each beginning a line.
func (e *Error) Error() string {
	texts := make([]string, 0, len(e.Problems))
	for _, p := range e.Problems {
		texts = append(texts, p.Error())
	}
	return strings.Join(texts, "\n")
}

// Unwrap names the conditions.
func (e *Error) Unwrap() []error { return []error{ErrInvalid, capture.ErrConfig} }

// maxProblems bounds what is collected; a file that is wrong from end to end
// need not be listed.
const maxProblems = 50

// report collects problems.
type report struct {
	lines    []string // of the file
	problems []*Problem
	warnings []*Problem
}

func (r *report) add(where Origin, format string, args ...any) {
	if len(r.problems) >= maxProblems {
		return
	}
	r.problems = append(r.problems, r.problem(where, fmt.Sprintf(format, args...)))
}

func (r *report) warn(where Origin, format string, args ...any) {
	if len(r.warnings) < maxProblems {
		r.warnings = append(r.warnings, r.problem(where, fmt.Sprintf(format, args...)))
	}
}

func (r *report) problem(where Origin, text string) *Problem {
	return &Problem{Where: where, Text: text, Excerpt: r.excerpt(where.Line, where.Column)}
}

// err is nil if all is well. A place is reported once: what follows from the
// first problem there helps nobody.
func (r *report) err() error {
	if len(r.problems) == 0 {
		return nil
	}
	var out []*Problem
	for _, p := range r.problems {
		same := func(q *Problem) bool { return q.Where == p.Where && (p.Where.Line > 0 || p.Text == q.Text) }
		if !slices.ContainsFunc(out, same) {
			out = append(out, p)
		}
	}
	slices.SortStableFunc(out, func(a, b *Problem) int {
		if a.Where.Layer != b.Where.Layer {
			return int(a.Where.Layer) - int(b.Where.Layer)
		}
		if a.Where.Line != b.Where.Line {
			return a.Where.Line - b.Where.Line
		}
		return a.Where.Column - b.Where.Column
	})
	return &Error{Problems: out}
}

// maxExcerptLine bounds a line of the excerpt, in characters.
const maxExcerptLine = 160

// excerpt shows a line and the one before it.
func (r *report) excerpt(line, column int) string {
	if line < 1 || line > len(r.lines) {
		return ""
	}
	var b strings.Builder
	if line > 1 {
		fmt.Fprintf(&b, "  %4d | %s\n", line-1, shorten(r.lines[line-2]))
	}
	fmt.Fprintf(&b, "> %4d | %s", line, shorten(r.lines[line-1]))
	if column >= 1 && column <= maxExcerptLine {
		fmt.Fprintf(&b, "\n       | %s^", strings.Repeat(" ", column-1))
	}
	return b.String()
}

// shorten makes a line of a file fit for a terminal.
func shorten(line string) string {
	out := make([]rune, 0, len(line))
	for _, c := range line {
		if len(out) == maxExcerptLine {
			return string(out) + "..."
		}
		if c < ' ' || c == 0x7f {
			c = ' ' // a tab takes one column, as the parser counts
		}
		out = append(out, c)
	}
	return string(out)
}

// didYouMean returns ", did you mean X?" or "".
func didYouMean(word string, known []string) string {
	if n := capture.Nearest(word, known); n != "" {
		return ", did you mean " + n + "?"
	}
	return ""
}
