// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"log/slog"
	"os"
	"sync"
	"syscall"

	"github.com/spf13/pflag"
)

// LogFlags are --log-level and --log-format of both programs.
type LogFlags struct {
	level  *oneOf
	format *oneOf
}

// AddLogFlags adds the two flags; level is the default level: debug, info,
// warn or error.
func AddLogFlags(fs *pflag.FlagSet, level string) *LogFlags {
	f := &LogFlags{
		level:  newOneOf(level, "debug", "info", "warn", "error"),
		format: newOneOf("text", "text", "json"),
	}
	fs.Var(f.level, "log-level", "log what is at least this important")
	fs.Var(f.format, "log-format", "format of the log on stderr")
	return f
}

// Logger builds the logger that the flags ask for. Under systemd, when out is
// connected to the journal, lines carry the journal's priority and no time.
func (f *LogFlags) Logger(out io.Writer) *slog.Logger {
	return f.logger(out, UnderJournal(out, os.Getenv("JOURNAL_STREAM")))
}

// Queued is Logger for a program that must not stop because nobody reads its
// log. flush writes what waits, for a second at most, and ends the log.
func (f *LogFlags) Queued(out io.Writer) (log *slog.Logger, flush func()) {
	direct := f.Logger(out)
	w := newLogWriter(out, logQueue, func(lines int) {
		direct.Warn("lines of the log were dropped: it was not read in time", "lines", lines)
	})
	return f.logger(w, UnderJournal(out, os.Getenv("JOURNAL_STREAM"))), func() { w.Close(logFlush) }
}

func (f *LogFlags) logger(out io.Writer, journal bool) *slog.Logger {
	var level slog.Level
	if err := level.UnmarshalText([]byte(f.level.value)); err != nil {
		level = slog.LevelInfo // not reached: oneOf admits names of levels only
	}
	return NewLogger(out, level, f.format.value, journal)
}

// NewLogger builds a logger with format "text" or "json". With journal every
// line begins with the priority "<N>" of sd-daemon(3) and lacks the time, which
// the journal adds itself.
func NewLogger(out io.Writer, level slog.Leveler, format string, journal bool) *slog.Logger {
	opts := &slog.HandlerOptions{Level: level}
	if !journal {
		return slog.New(newHandler(out, format, opts))
	}
	opts.ReplaceAttr = func(groups []string, a slog.Attr) slog.Attr {
		if a.Key == slog.TimeKey && len(groups) == 0 {
			return slog.Attr{}
		}
		return a
	}
	sink := &journalSink{out: out}
	return slog.New(&journalHandler{sink: sink, line: newHandler(&sink.buf, format, opts)})
}

func newHandler(out io.Writer, format string, opts *slog.HandlerOptions) slog.Handler {
	if format == "json" {
		return slog.NewJSONHandler(out, opts)
	}
	return slog.NewTextHandler(out, opts)
}

// UnderJournal reports whether out is the stream that systemd connected to the
// journal: journalStream is the value of JOURNAL_STREAM, "device:inode", see
// systemd.exec(5).
func UnderJournal(out io.Writer, journalStream string) bool {
	f, ok := out.(*os.File)
	if !ok || journalStream == "" {
		return false
	}
	info, err := f.Stat()
	if err != nil {
		return false
	}
	st, ok := info.Sys().(*syscall.Stat_t)
	return ok && journalStream == fmt.Sprintf("%d:%d", st.Dev, st.Ino)
}

// journalSink collects one line, so that it leaves in one write.
type journalSink struct {
	mu  sync.Mutex
	buf bytes.Buffer
	out io.Writer
}

type journalHandler struct {
	sink *journalSink
	line slog.Handler // writes into sink.buf
}

// Enabled is that of the wrapped handler.
func (h *journalHandler) Enabled(ctx context.Context, l slog.Level) bool {
	return h.line.Enabled(ctx, l)
}

// Handle writes the priority and the line.
func (h *journalHandler) Handle(ctx context.Context, r slog.Record) error {
	h.sink.mu.Lock()
	defer h.sink.mu.Unlock()
	h.sink.buf.Reset()
	fmt.Fprintf(&h.sink.buf, "<%d>", priority(r.Level))
	if err := h.line.Handle(ctx, r); err != nil {
		return err
	}
	_, err := h.sink.out.Write(h.sink.buf.Bytes())
	return err
}

// WithAttrs returns a handler that shares the output.
func (h *journalHandler) WithAttrs(attrs []slog.Attr) slog.Handler {
	return &journalHandler{sink: h.sink, line: h.line.WithAttrs(attrs)}
}

// WithGroup returns a handler that shares the output.
func (h *journalHandler) WithGroup(name string) slog.Handler {
	return &journalHandler{sink: h.sink, line: h.line.WithGroup(name)}
}

// priority maps levels to those of syslog(3): err, warning, info, debug.
func priority(l slog.Level) int {
	switch {
	case l >= slog.LevelError:
		return 3
	case l >= slog.LevelWarn:
		return 4
	case l >= slog.LevelInfo:
		return 6
	}
	return 7
}
