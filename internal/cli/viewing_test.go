// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"bytes"
	"context"
	"strings"
	"testing"
	"time"

	"github.com/spf13/cobra"

	"github.com/seed-3c7e7623/camd/client"
)

// view is a program of one command that does with its Viewing what f does.
func view(s *fakeStream, f func(ctx context.Context, v *Viewing, stream string) error, args ...string) (code int, stderr string) {
	root := &cobra.Command{Use: "camview STREAM"}
	v := addViewing(s.world(), root)
	root.RunE = func(cmd *cobra.Command, args []string) error { return f(cmd.Context(), v, args[0]) }
	var errs bytes.Buffer
	code = Execute(context.Background(), root, args, &bytes.Buffer{}, &errs)
	return code, errs.String()
}

func TestViewing(t *testing.T) {
	s := newFake(t)
	s.topics = []client.Topic{cameraTopic}
	var names []string
	var duration time.Duration
	code, stderr := view(s, func(ctx context.Context, v *Viewing, _ string) (err error) {
		duration = v.Duration()
		names, err = v.Streams(ctx)
		return err
	}, "test/color", "--duration", "2")
	if code != ExitOK || stderr != "" || duration != 2*time.Second {
		t.Errorf("exit %d, duration %v, stderr %q", code, duration, stderr)
	}
	if got := strings.Join(names, " "); got != "clip/color test/color "+cameraTopic.Name {
		t.Errorf("streams %q", got)
	}
}

func TestViewingRefuses(t *testing.T) {
	subscribe := func(ctx context.Context, v *Viewing, stream string) error {
		_, err := v.Subscribe(ctx, stream, nil)
		return err
	}
	nowhere := t.TempDir()
	for _, tc := range []struct {
		args string
		code int
		says string
	}{
		{"", ExitUsage, "which stream?"},
		{"a/b c/d", ExitUsage, "takes one stream"},
		{"a/b --require shm --accept cpu", ExitUsage, "exclude each other"},
		{"a/b --requir shm", ExitUsage, "did you mean --require?"},
		{"a/b --runtime-dir " + nowhere, ExitNotFound, "no camd found: no socket in " + nowhere},
	} {
		code, stderr := view(newFake(t), subscribe, strings.Fields(tc.args)...)
		if code != tc.code || !strings.HasPrefix(stderr, "camview: ") || !strings.Contains(stderr, tc.says) {
			t.Errorf("%q: exit %d, got %q", tc.args, code, stderr)
		}
	}
}
