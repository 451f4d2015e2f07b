// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

package config

import (
	"bytes"
	"errors"
	"fmt"
	"strings"

	"github.com/titanous/json5"
)

// ErrSyntax reports text that is not JSON5.
var ErrSyntax = errors.New("not JSON5")

// position is a place in a text, counted from 1. Columns are bytes.
type position struct{ line, column int }

func (p position) String() string { return fmt.Sprintf("%d:%d", p.line, p.column) }

func at(text []byte, offset int) position {
	before := string(text[:min(max(offset, 0), len(text))])
	return position{1 + strings.Count(before, "\n"), len(before) - strings.LastIndexByte(before, '\n')}
}

// What a text may have: more is no configuration, and the readers below take
// memory and time for each level of what is nested.
const (
	maxText = 1 << 20 // bytes
	maxOpen = 10_000  // objects and lists
)

// decode reads JSON5. name is for messages.
func decode(name string, text []byte) (v any, places map[string]position, err error) {
	if len(text) > maxText {
		return nil, nil, fmt.Errorf("%w: %s: more than %d bytes", ErrSyntax, name, maxText)
	}
	if n := bytes.Count(text, []byte("[")) + bytes.Count(text, []byte("{")); n > maxOpen {
		return nil, nil, fmt.Errorf("%w: %s: %d objects and lists, at most are %d", ErrSyntax, name, n, maxOpen)
	}
	defer func() {
		// The library is not ours; what it makes of hostile text must not end
		// the program.
		if r := recover(); r != nil {
			err = fmt.Errorf("%w: %s: %v", ErrSyntax, name, r)
		}
	}()
	if err := json5.Unmarshal(text, &v); err != nil {
		where := at(text, len(text))
		var syntax *json5.SyntaxError
		if errors.As(err, &syntax) {
			where = at(text, int(syntax.Offset)-1)
		}
		return nil, nil, fmt.Errorf("%w: %s:%v: %w", ErrSyntax, name, where, err)
	}
	w := walker{text: text, places: map[string]position{}}
	w.value("")
	if w.again != "" {
		return nil, nil, fmt.Errorf("%w: %s:%v: key %q a second time, the first is at %v", ErrSyntax, name, w.at, w.again, w.places[w.again])
	}
	return v, w.places, nil
}

// walker finds where the keys are in a text that is known to be JSON5, and
// keys that are there twice, of which the library silently takes the last.
type walker struct {
	text   []byte
	pos    int
	places map[string]position
	again  string
	at     position
}

func (w *walker) peek() byte {
	if w.pos < len(w.text) {
		return w.text[w.pos]
	}
	return 0
}

// space skips what means nothing.
func (w *walker) space() {
	for w.pos < len(w.text) {
		rest := string(w.text[w.pos:min(w.pos+2, len(w.text))])
		switch {
		case rest == "//":
			for w.pos < len(w.text) && w.text[w.pos] != '\n' {
				w.pos++
			}
		case rest == "/*":
			end := strings.Index(string(w.text[w.pos+2:]), "*/")
			if end < 0 {
				w.pos = len(w.text)
				return
			}
			w.pos += end + 4
		case strings.ContainsRune(" \t\r\n\v\f", rune(w.text[w.pos])):
			w.pos++
		default:
			return
		}
	}
}

func (w *walker) value(path string) {
	w.space()
	switch w.peek() {
	case '{':
		w.object(path)
	case '[':
		w.pos++
		for {
			w.space()
			if c := w.peek(); c == ']' || c == 0 {
				w.pos++
				return
			}
			w.value(path + "[]")
			w.comma()
		}
	case '"', '\'':
		w.quoted()
	default:
		w.bare()
	}
}

func (w *walker) comma() {
	w.space()
	if w.peek() == ',' {
		w.pos++
	}
}

func (w *walker) object(path string) {
	w.pos++
	seen := map[string]bool{}
	for {
		w.space()
		c := w.peek()
		if c == '}' || c == 0 {
			w.pos++
			return
		}
		here := w.pos
		var key string
		if c == '"' || c == '\'' {
			key = w.quoted()
		} else {
			key = w.bare()
		}
		full := key
		if path != "" {
			full = path + "/" + key
		}
		if seen[key] && w.again == "" {
			w.again, w.at = full, at(w.text, here)
		}
		seen[key] = true
		if _, known := w.places[full]; !known {
			w.places[full] = at(w.text, here)
		}
		w.space()
		if w.peek() == ':' {
			w.pos++
		}
		before := w.pos
		w.value(full)
		w.comma()
		if w.pos == before {
			w.pos++ // cannot happen in valid text
		}
	}
}

func (w *walker) quoted() string {
	q := w.peek()
	w.pos++
	from := w.pos
	for w.pos < len(w.text) && w.text[w.pos] != q {
		if w.text[w.pos] == '\\' {
			w.pos++
		}
		w.pos++
	}
	s := string(w.text[from:min(w.pos, len(w.text))])
	w.pos++
	return s
}

func (w *walker) bare() string {
	from := w.pos
	for w.pos < len(w.text) && !strings.ContainsRune(" \t\r\n\v\f,:{}[]/", rune(w.text[w.pos])) {
		w.pos++
	}
	if w.pos == from && w.pos < len(w.text) {
		w.pos++
	}
	return string(w.text[from:w.pos])
}
