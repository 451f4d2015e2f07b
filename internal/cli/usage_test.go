// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"strings"
	"testing"

	"github.com/seed-3c7e7623/camd/client"
	"github.com/seed-3c7e7623/camd/negotiate"
)

func TestWrongCommandLines(t *testing.T) {
	for name, tc := range map[string]struct {
		args []string
		want string
	}{
		"unknown command":        {[]string{"hzz", "test/color"}, `unknown command "hzz", did you mean hz?`},
		"help of none":           {[]string{"help", "hzz"}, `unknown command "hzz", did you mean hz?`},
		"beginning of a command": {[]string{"lat", "test/color"}, `unknown command "lat", did you mean latency?`},
		"nothing near":           {[]string{"frobnicate"}, `unknown command "frobnicate"; "camsub --help" lists the commands`},
		"unknown flag":           {[]string{"hz", "test/color", "--cuont", "3"}, `unknown flag --cuont, did you mean --count?; "camsub hz --help" lists the flags`},
		"unknown short flag":     {[]string{"hz", "-Z"}, `unknown shorthand flag: 'Z' in -Z`},
		"flag without value":     {[]string{"hz", "test/color", "--count"}, "flag needs an argument: --count"},
		"not a number":           {[]string{"hz", "test/color", "--count", "x"}, `invalid argument "x" for "--count"`},
		"not a time":             {[]string{"hz", "test/color", "--duration", "-1s"}, "must be a positive time such as 10s, 250ms or 2m"},
		"unknown format":         {[]string{"hz", "test/color", "--format", "xml"}, "must be one of text, json, csv"},
		"unknown wake":           {[]string{"hz", "test/color", "--wake", "phone"}, "must be one of futex, pipe"},
		"unknown accept":         {[]string{"hz", "test/color", "--accept", "shm,gpu"}, `invalid argument "shm,gpu" for "--accept" flag: must be of cuda, shm, cpu`},
		"nothing to accept":      {[]string{"hz", "test/color", "--accept", ""}, "must be of cuda, shm, cpu"},
		"require against accept": {[]string{"hz", "test/color", "--require", "shm", "--accept", "cuda"}, "--require shm and --accept cuda exclude each other"},
		"unknown require":        {[]string{"hz", "test/color", "--require", "gpu"}, "must be one of cuda, shm, cpu"},
		"negative credit":        {[]string{"hz", "test/color", "--credit", "-1"}, "must be a whole number from 1 to 16"},
		"no credit":              {[]string{"hz", "test/color", "--credit", "0"}, "must be a whole number from 1 to 16"},
		"too much credit":        {[]string{"hz", "test/color", "--credit", "17"}, `invalid argument "17" for "--credit" flag: must be a whole number from 1 to 16`},
		"no window":              {[]string{"bw", "test/color", "--window", "0"}, "--window 0: must be positive"},
		"bad hold":               {[]string{"hz", "test/color", "--hold", "long"}, "--hold long: must be a positive time"},
		"bad rate limit":         {[]string{"hz", "test/color", "--rate-limit", "-1"}, "must be a positive number"},
		"no rate":                {[]string{"hz", "test/color", "--rate-limit", "0"}, "must be a positive number"},
		"endless rate":           {[]string{"hz", "test/color", "--rate-limit", "inf"}, "must be a positive number"},
		"empty directory":        {[]string{"list", "--runtime-dir", ""}, "must be the path of a directory"},
		"empty file":             {[]string{"cat", "test/color", "-o", ""}, "-o: which file?"},
		"no stream":              {[]string{"hz"}, "camsub: which stream? For example: camsub hz test/color"},
		"two streams":            {[]string{"hz", "a/color", "b/color"}, "camsub hz takes one stream, not 2: a/color b/color"},
		"argument too many":      {[]string{"list", "x"}, `camsub list takes no argument, there was "x"`},
		"log level":              {[]string{"hz", "test/color", "--log-level", "loud"}, "must be one of debug, info, warn, error"},
	} {
		t.Run(name, func(t *testing.T) {
			code, stdout, stderr := newFake(t).run(t, tc.args...)
			if code != ExitUsage || stdout != "" || strings.Count(stderr, "\n") != 1 {
				t.Errorf("exit %d, stdout %q, stderr %q", code, stdout, stderr)
			}
			mustContain(t, "stderr", stderr, "camsub: ", tc.want)
		})
	}
}

func TestHelpGoesToStdout(t *testing.T) {
	for name, args := range map[string][]string{
		"nothing": {}, "flag": {"--help"}, "command": {"help"}, "of a command": {"hz", "--help"}, "help of": {"help", "cat"},
	} {
		t.Run(name, func(t *testing.T) {
			code, stdout, stderr := newFake(t).run(t, args...)
			if code != 0 || stderr != "" {
				t.Errorf("exit %d, stderr %q", code, stderr)
			}
			mustContain(t, "help", stdout, "Usage:")
		})
	}
}

func TestCompletion(t *testing.T) {
	code, stdout, stderr := newFake(t).run(t, "__complete", "hz", "")
	if code != 0 {
		t.Errorf("exit %d, stderr %q", code, stderr)
	}
	mustContain(t, "completion", stdout, "clip/color\n", "test/color\n")
	code, stdout, _ = newFake(t).run(t, "completion", "bash")
	if code != 0 || !strings.Contains(stdout, "camsub") {
		t.Errorf("exit %d, no script for bash", code)
	}
}

func TestCompletionOfWords(t *testing.T) {
	for name, tc := range map[string]struct {
		args []string
		want string
	}{
		"format":  {[]string{"hz", "test/color", "--format", ""}, "text\njson\ncsv\n:4\n"},
		"backend": {[]string{"hz", "test/color", "--require", ""}, "cuda\nshm\ncpu\n:4\n"},
		"list":    {[]string{"hz", "test/color", "--accept", ""}, "cuda\nshm\ncpu\n:4\n"},
		"wake":    {[]string{"cat", "test/color", "--wake", ""}, "futex\npipe\n:4\n"},
		"picture": {[]string{"snapshot", "test/color", "--format", ""}, "png\nppm\nraw\njpeg\n:4\n"},
	} {
		t.Run(name, func(t *testing.T) {
			code, stdout, _ := newFake(t).run(t, append([]string{"__complete"}, tc.args...)...)
			if code != 0 || stdout != tc.want {
				t.Errorf("exit %d, got %q, want %q", code, stdout, tc.want)
			}
		})
	}
	code, stdout, stderr := newFake(t).run(t, "completion", "basch")
	if want := "camsub: unknown shell \"basch\", did you mean bash?; known are bash, fish, powershell, zsh\n"; code != ExitUsage || stdout != "" || stderr != want {
		t.Errorf("exit %d, stdout %q, stderr %q", code, stdout, stderr)
	}
	if code, stdout, _ := newFake(t).run(t, "completion"); code != 0 || !strings.Contains(stdout, "Usage:") {
		t.Errorf("exit %d, stdout %q", code, stdout)
	}
}

func TestRefusals(t *testing.T) {
	for name, tc := range map[string]struct {
		err  error
		code int
		want string
	}{
		"unknown stream": {
			client.ErrUnknownStream, ExitNotFound,
			"camsub: unknown stream \"test/colour\", did you mean test/color?\nknown are: clip/color, test/color\n",
		},
		"no daemon":     {client.ErrNoDaemon, ExitNotFound, "camsub: no camd found\n"},
		"not available": {client.ErrNotAvailable, ExitUnavailable, "camsub: backend not available\n"},
		"not permitted": {client.ErrPermission, ExitUnavailable, "camsub: not permitted\n"},
		"known are named by the refusal": {
			refusal{&client.RefusedError{Refusal: negotiate.Refusal{Known: []string{"x/color"}}}},
			ExitNotFound,
			"camsub: unknown stream \"test/colour\"\nknown are: x/color\n",
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := newFake(t)
			s.refused = tc.err
			code, stdout, stderr := s.run(t, "hz", "test/colour")
			if code != tc.code || stdout != "" || stderr != tc.want {
				t.Errorf("exit %d, stdout %q, stderr %q, want %q", code, stdout, stderr, tc.want)
			}
		})
	}
}

// refusal stands for a RefusedError whose condition only the client can set.
type refusal struct{ *client.RefusedError }

func (r refusal) Error() string { return "unknown stream" }
func (r refusal) Unwrap() error { return client.ErrUnknownStream }
func (r refusal) As(target any) bool {
	t, ok := target.(**client.RefusedError)
	if ok {
		*t = r.RefusedError
	}
	return ok
}
