// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/seed-3c7e7623/camd/client"
	"github.com/seed-3c7e7623/camd/negotiate"
)

// foundStream is a stream and the daemon that has it.
type foundStream struct {
	negotiate.StreamInfo
	Dir    string            `json:"dir"`               // the daemon's runtime directory, "" if it was found on the network
	Path   negotiate.Backend `json:"path,omitempty"`    // by which it would be had here; "" = by none
	BootID string            `json:"boot_id,omitempty"` // of the host, if it was found on the network
	// Subscribers and Topics are what info tells, and list does not.
	Readers []reader                   `json:"subscribers_detail,omitempty"`
	Topics  []negotiate.AnnouncedTopic `json:"topics,omitempty"`
	// Incomplete is who did not answer info.
	Incomplete []string `json:"incomplete,omitempty"`
}

func streamsOf(daemons []client.Daemon) []foundStream {
	var out []foundStream
	for _, d := range daemons {
		for _, s := range d.Streams {
			out = append(out, foundStream{StreamInfo: s, Dir: d.Dir, Path: negotiate.BackendSHM})
		}
	}
	return out
}

// withAnnounced adds the streams of the network behind those of the daemons that
// answered here, which announce theirs as well.
func withAnnounced(daemons []client.Daemon, all []negotiate.Announcement) []foundStream {
	out := streamsOf(daemons)
	for i := range all {
		a := &all[i]
		if !slices.ContainsFunc(daemons, func(d client.Daemon) bool { return d.Session == a.Session }) {
			out = append(out, remoteStream(a))
		}
	}
	return out
}

// remoteStream is a stream of which the daemon cannot be reached here.
func remoteStream(a *negotiate.Announcement) foundStream {
	s := foundStream{StreamInfo: a.Stream, BootID: a.BootID}
	if s.Host == "" {
		s.Host = a.Host
	}
	if s.Topic != "" {
		s.Path = negotiate.BackendCPU
	}
	return s
}

// called is the name by which the stream is asked for here.
func (s foundStream) called() string {
	if s.BootID == "" || client.ThisHost(s.BootID) {
		return s.Name
	}
	return cmp.Or(s.Host, s.BootID) + ":" + s.Name
}

func namesOf(streams []foundStream) []string {
	names := make([]string, 0, len(streams))
	for _, s := range streams {
		names = append(names, s.called())
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// unknownStream says which streams there are. It wraps client.ErrUnknownStream.
func unknownStream(stream string, known []string) error {
	if len(known) == 0 {
		return fmt.Errorf("%w %q: camd runs, but has no streams", client.ErrUnknownStream, stream)
	}
	return fmt.Errorf("%w %q%s\nknown are: %s", client.ErrUnknownStream, stream, didYouMean(stream, known), some(known, maxListed, ", "))
}

// unknownTopic says which image topics there are, why the one is not among
// them, and that the name without its slash is a stream where it is one. It
// wraps client.ErrUnknownStream.
func unknownTopic(topic, why string, topics, streams []string) error {
	var b strings.Builder
	if why != "" {
		b.WriteString(": " + why)
	}
	if name := strings.TrimPrefix(topic, "/"); slices.Contains(streams, name) {
		b.WriteString(", did you mean the stream " + name + " of camd?")
	} else {
		b.WriteString(didYouMean(topic, topics))
	}
	if len(topics) > 0 {
		b.WriteString("\nknown image topics are: " + some(topics, maxListed, ", "))
	}
	return fmt.Errorf("%w %q%s", client.ErrUnknownStream, topic, b.String())
}

// explainUnknown adds the names of known streams to an error that says that a
// stream is unknown; other errors pass. found are the options of where to look.
func explainUnknown(ctx context.Context, w world, stream string, found []client.Option, err error) error {
	if errors.Is(err, client.ErrNoRouter) && client.IsTopic(stream) {
		return explainNoRouter(ctx, w, stream, found, err)
	}
	if !errors.Is(err, client.ErrUnknownStream) {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, time.Second)
	defer cancel()
	var known []string
	refused := new(client.RefusedError)
	if errors.As(err, &refused) {
		known = slices.Clone(refused.Refusal.Known)
		slices.Sort(known)
		known = slices.Compact(known)
	} else if client.IsTopic(stream) {
		return err // a name that no topic can have
	}
	daemons, listErr := w.list(ctx, found...)
	if client.IsTopic(stream) {
		return unknownTopic(stream, refused.Refusal.Text, known, namesOf(streamsOf(daemons)))
	}
	if listErr == nil && len(known) == 0 {
		known = namesOf(streamsOf(daemons))
	}
	return unknownStream(stream, known)
}

// explainNoRouter says that the name without its slash is a stream where it is
// one: for that no router is needed.
func explainNoRouter(ctx context.Context, w world, topic string, found []client.Option, err error) error {
	ctx, cancel := context.WithTimeout(ctx, time.Second)
	defer cancel()
	daemons, listErr := w.list(ctx, found...)
	if name := strings.TrimPrefix(topic, "/"); listErr == nil && slices.Contains(namesOf(streamsOf(daemons)), name) {
		return fmt.Errorf("%w; a name with a slash in front is a ROS 2 topic, the stream of camd is called %s", err, name)
	}
	return err
}

// completeStream offers the names of streams and image topics to the shell. p
// may be nil.
func completeStream(w world, p *placeFlags) cobra.CompletionFunc {
	return func(_ *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
		if len(args) > 0 {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		ctx, cancel := context.WithTimeout(context.Background(), time.Second)
		defer cancel()
		var found []client.Option
		if p != nil {
			found = p.found()
		}
		f := w.find(ctx, found)
		if f.noDaemon != nil && f.noRouter != nil {
			return nil, cobra.ShellCompDirectiveError
		}
		return append(namesOf(f.streams), namesOfTopics(published(f.topics))...), cobra.ShellCompDirectiveNoFileComp
	}
}
