// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/seed-3c7e7623/camd/client"
	"github.com/seed-3c7e7623/camd/internal/daemon"
	"github.com/seed-3c7e7623/camd/negotiate"
)

// reader is a subscriber of a stream as info shows it. Of one on another host is
// known what it says of itself.
type reader struct {
	Backend  negotiate.Backend    `json:"backend"`
	Host     string               `json:"host,omitempty"` // "" = that of the camera
	Client   string               `json:"client,omitempty"`
	Command  string               `json:"command,omitempty"`
	PID      int                  `json:"pid,omitempty"`
	Wake     string               `json:"wake,omitempty"`
	Since    time.Time            `json:"since,omitzero"`
	Rejected []negotiate.Rejected `json:"rejected,omitempty"`
}

// describe finds a stream, on this host first and then on the network, and who
// reads it.
func (w world) describe(ctx context.Context, opts []client.Option, asked string) (foundStream, error) {
	host, name := client.SplitHost(asked)
	var daemons []client.Daemon
	noDaemon := fmt.Errorf("%w on %s", client.ErrNoDaemon, host)
	if host == "" || client.ThisHost(host) {
		daemons, noDaemon = w.list(ctx, opts...)
		for _, s := range streamsOf(daemons) {
			if s.Name == name {
				s.Readers = w.readers(ctx, opts, s)
				return s, nil
			}
		}
	}
	all, noNetwork := w.look(ctx, asked, opts...)
	if errors.Is(noNetwork, client.ErrConfig) {
		return foundStream{}, noNetwork
	}
	a, err := client.PickAnnounced(all, asked)
	switch {
	case err != nil:
		return foundStream{}, err
	case a != nil:
		s := remoteStream(a)
		s.Topics = a.Topics
		for _, x := range a.Subscribers {
			s.Readers = append(s.Readers, reader{Backend: x.Backend, Host: x.Host, Client: x.Client, Since: x.Since, Rejected: x.Rejected})
		}
		return s, nil
	case noDaemon == nil || len(all) > 0:
		return foundStream{}, unknownStream(asked, namesOf(withAnnounced(daemons, all)))
	case noNetwork != nil:
		return foundStream{}, fmt.Errorf("%w; %w", noDaemon, noNetwork)
	}
	return foundStream{}, fmt.Errorf("%w; nor does anybody on the network announce a stream", noDaemon)
}

// readers are those of which the daemon knows. A status that does not come is
// none: what list said stands.
func (w world) readers(ctx context.Context, opts []client.Option, s foundStream) []reader {
	documents, err := w.status(ctx, opts...)
	if err != nil {
		return nil
	}
	var out []reader
	for _, document := range documents {
		var st daemon.Status
		if json.Unmarshal(document, &st) != nil || st.Dir != s.Dir {
			continue
		}
		for _, t := range st.Streams {
			if t.Name != s.Name {
				continue
			}
			for _, x := range t.Subscribers {
				out = append(out, reader{
					Backend: x.Backend, Host: x.Host, Client: x.Client, Command: x.Command, PID: x.PID, Wake: x.Wake, Since: x.Since, Rejected: x.Rejected,
				})
			}
		}
	}
	return out
}

// who names a subscriber: "camsub hz[1234]" of this host, "camsub hz@laptop".
func (r reader) who() string {
	name := r.Client
	if name == "" {
		name = dash(r.Command)
	}
	switch {
	case r.PID > 0:
		name = fmt.Sprintf("%s[%d]", name, r.PID)
	case r.Host != "":
		name += "@" + r.Host
	}
	return plain(name)
}

// readersText is a block for each subscriber.
func readersText(b io.Writer, readers []reader, line func(key, value string)) {
	for i, r := range readers {
		fmt.Fprintln(b)
		if i == maxEnds {
			fmt.Fprintf(b, "and %s more; --format json lists all\n", plural(len(readers)-i, "subscriber"))
			return
		}
		line("subscriber", r.who())
		path := string(r.Backend)
		if r.Wake != "" {
			path += " (" + r.Wake + ")"
		}
		line("  path", path)
		if better := negotiate.Better(r.Rejected, r.Backend); len(better) > 0 {
			line("  not", plain(negotiate.Summary(better)))
		}
		if !r.Since.IsZero() {
			line("  since", r.Since.UTC().Format(time.RFC3339))
		}
	}
}
