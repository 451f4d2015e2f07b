// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"context"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"github.com/seed-3c7e7623/camd/client"
)

// Viewing is what a program of one command that shows streams has in common with
// camsub's commands: the flags, what is said on stderr, and the errors.
type Viewing struct {
	w        world
	cmd      *cobra.Command
	path     *pathFlags
	duration seconds
	timeout  seconds
}

// AddViewing adds the flags to a command that takes one stream.
func AddViewing(cmd *cobra.Command) *Viewing { return addViewing(realWorld(), cmd) }

func addViewing(w world, cmd *cobra.Command) *Viewing {
	fs := cmd.Flags()
	fs.SortFlags = false
	v := &Viewing{w: w, cmd: cmd}
	fs.Var(&v.duration, "duration", "end after this time")
	fs.Var(&v.timeout, "timeout", "fail with exit code 6 when no frame comes for this time")
	v.path = addPathFlags(fs)
	// Nothing of it applies to who reads frames with the processor.
	_ = fs.MarkHidden("cuda-library") // fails only for a flag that is not there
	cmd.Args = OneArg("stream", streamExample)
	cmd.ValidArgsFunction = completeStream(w, v.path.placeFlags)
	return v
}

// Duration is how long to show frames, 0 = without end.
func (v *Viewing) Duration() time.Duration { return time.Duration(v.duration) }

// Timeout is how long to wait for a frame, 0 = without end.
func (v *Viewing) Timeout() time.Duration { return time.Duration(v.timeout) }

// Subscribe subscribes as the flags say and says on stderr what happens. An error
// tells which streams there are. event may be nil; it runs on a goroutine of the
// subscription.
func (v *Viewing) Subscribe(ctx context.Context, stream string, event func(client.Event)) (*Viewed, error) {
	opts, err := v.path.options(v.cmd.CommandPath(), v.cmd.ErrOrStderr())
	if err != nil {
		return nil, err
	}
	n := &notes{out: v.cmd.ErrOrStderr(), program: v.cmd.Root().Name()}
	opts = append(opts, client.WithEvents(func(e client.Event) {
		n.event(stream, e)
		if event != nil {
			event(e)
		}
	}))
	s, err := client.Subscribe(ctx, stream, opts...)
	if err != nil {
		return nil, explainUnknown(ctx, v.w, stream, v.path.found(), err)
	}
	out := &Viewed{Subscription: s, stream: stream, notes: n}
	n.subscribed(stream, out.asked())
	return out, nil
}

// Streams are the names of what camsub list lists, streams before topics.
func (v *Viewing) Streams(ctx context.Context) ([]string, error) {
	opts, err := v.path.placeFlags.options()
	if err != nil {
		return nil, err
	}
	streams, topics, _, err := findAll(v.cmd, v.w, slices.Clip(opts), false)
	if err != nil {
		return nil, err
	}
	return append(namesOf(streams), namesOfTopics(topics)...), nil
}

// WriteFile writes a file as camsub snapshot does: one of that name is replaced
// only once everything is written.
func (v *Viewing) WriteFile(name string, data []byte) error {
	return (&output{name: name}).write(data)
}

// Viewed is a subscription of [Viewing].
type Viewed struct {
	*client.Subscription
	stream string
	notes  *notes
}

func (v *Viewed) asked() subscription { return &clientSubscription{Subscription: v.Subscription} }

// FirstFrame says by which path frames come, unless that was said. It is called
// when the first one is there.
func (v *Viewed) FirstFrame() { v.notes.firstFrame(v.stream, v.asked()) }

// Say writes a line to stderr, with the program's name before it.
func (v *Viewed) Say(format string, args ...any) { v.notes.say(format, args...) }

// Ended says what is to be said when the subscription ends.
func (v *Viewed) Ended() { v.notes.ignored(v.stream, v.Stats()) }
