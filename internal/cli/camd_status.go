// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"text/tabwriter"
	"time"
	"unicode"

	"github.com/spf13/cobra"

	"github.com/seed-3c7e7623/camd/backend"
	"github.com/seed-3c7e7623/camd/client"
	"github.com/seed-3c7e7623/camd/internal/daemon"
	"github.com/seed-3c7e7623/camd/negotiate"
)

func newCamdStatus() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "status",
		Short: "Show cameras, streams and subscribers of every camd on this host",
		Args:  NoArgs,
	}
	format := formatFlag(cmd, "text", "json")
	dir := dirFlag(cmd.Flags())
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		docs, err := client.Status(cmd.Context(), dirOption(*dir)...)
		if err != nil {
			return err
		}
		if format.value == "json" {
			return printJSON(cmd.OutOrStdout(), docs)
		}
		for i, doc := range docs {
			var st daemon.Status
			if err := json.Unmarshal(doc, &st); err != nil {
				return fmt.Errorf("status of a camd of another version: %w", err)
			}
			if i > 0 {
				fmt.Fprintln(cmd.OutOrStdout())
			}
			if err := writeStatus(cmd.OutOrStdout(), &st, time.Now()); err != nil {
				return err
			}
		}
		return nil
	}
	return cmd
}

func writeStatus(w io.Writer, st *daemon.Status, now time.Time) error {
	fmt.Fprintf(w, "camd %s, process %d on %s, up %v, %s\n", st.Version, st.PID, st.Host, now.Sub(st.Started).Round(time.Second), st.Dir)
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(t, "\nCAMERA\tSOURCE\tSTATE\tFOR\tRESTARTS\tPROBLEM")
	for _, c := range st.Cameras {
		fmt.Fprintf(t, "%s\t%s\t%s\t%v\t%d\t%s\n", c.Name, plain(c.Source), c.State, now.Sub(c.Since).Round(time.Second), c.Restarts, dash(plain(c.Problem)))
	}
	fmt.Fprintln(t, "\nSTREAM\tSIZE\tENCODING\tRATE\tPUBLISHED\tDROPPED\tHOST_COPIES\tSLOTS FREE\tMEMORY")
	for _, s := range st.Streams {
		slots, memory := "-", "-"
		if s.Ring != nil {
			slots = fmt.Sprintf("%d of %d", s.Ring.Free, s.Ring.Slots)
			memory = fmt.Sprintf("%.1f MB", float64(s.Ring.Bytes)/1e6)
		}
		fmt.Fprintf(t, "%s\t%dx%d\t%s\t%.2f\t%s\t%s\t%.2f\t%s\t%s\n", s.Name, s.Geometry.Width, s.Geometry.Height,
			s.Geometry.Encoding, s.RateHz, publishedText(s), dropText(s), s.HostCopies, slots, memory)
	}
	total := 0
	for _, s := range st.Streams {
		total += len(s.Subscribers)
	}
	if total > 0 {
		fmt.Fprintln(t, "\nSUBSCRIBER\tSTREAM\tBACKEND\tWAKE\tHELD\tRELEASED\tOVERWRITTEN\tSKIPPED\tNOTE")
	}
	for _, s := range st.Streams {
		for _, b := range s.Subscribers {
			note := dash(plain(negotiate.Summary(missed(b))))
			switch {
			case b.Evicted != "":
				note = "evicted: " + plain(b.Evicted)
			case b.Hoarding:
				note = fmt.Sprintf("HOLDS %s for %v", plural(b.Held, "frame"), (time.Duration(b.OldestMS) * time.Millisecond).Round(100*time.Millisecond))
			}
			if b.Backend == negotiate.BackendCPU { // of one on the network is known what it says
				fmt.Fprintf(t, "%s@%s\t%s\t%s\t-\t-\t-\t-\t-\t%s\n", plain(dash(b.Client)), plain(dash(b.Host)), b.Stream, b.Backend, note)
				continue
			}
			fmt.Fprintf(t, "%s[%d]\t%s\t%s\t%s\t%d of %d\t%d\t%d\t%d\t%s\n", plain(b.Command), b.PID, b.Stream, b.Backend, b.Wake,
				b.Held, b.Credit, b.Released, b.Overwritten, b.Skipped, note)
		}
	}
	writeGPU(t, st)
	writeTopics(t, st)
	for _, s := range st.Streams {
		if len(s.Withheld) > 0 {
			fmt.Fprintf(t, "\nzenoh.access of %s: no %s\n", s.Name, strings.Join(s.Withheld, ", no "))
		}
	}
	if st.Truncated {
		fmt.Fprintln(t, "\n(too much to list: something is left out)")
	}
	for _, reason := range slices.Sorted(maps.Keys(st.Refused)) {
		fmt.Fprintf(t, "\nrefused: %s %d times", reason, st.Refused[reason])
	}
	if len(st.Refused) > 0 {
		fmt.Fprintln(t)
	}
	return t.Flush()
}

// writeTopics shows the Zenoh session, and what is published over it.
func writeTopics(w io.Writer, st *daemon.Status) {
	z := st.Zenoh
	if z == nil {
		return
	}
	fmt.Fprintf(w, "\nZENOH\tROLE\tCONNECTED\tLISTENS\tSESSION\tDOMAIN\tLOST\tPROBLEM\n%s\t%s\t%s\t%s\t%s\t%d\t%d\t%s\n",
		z.State, zenohRole(z), plain(dash(zenohAt(z))), plain(dash(some(z.Listening, maxEndpoints, ", "))), dash(z.ZID), z.Domain, z.Losses, dash(plain(z.Problem)))
	head := "\nTOPIC\tSTREAM\tENCODING\tSUBSCRIBED\tSENT\tBYTES\tREPLACED\tCONVERTED\tENCODED\tCOPIES\tPROBLEM\n"
	for _, s := range st.Streams {
		for _, t := range s.Topics {
			matched := "no"
			if t.Matched {
				matched = "yes"
			}
			fmt.Fprintf(w, "%s%s\t%s\t%s\t%s\t%d\t%.1f MB\t%d\t%d\t%d\t%d\t%s\n", head, t.Topic, s.Name, dash(plain(t.Encoding)), matched,
				t.Frames, float64(t.Bytes)/1e6, t.Replaced, t.Conversions, t.Encoded, t.Copies, dash(plain(t.Problem)))
			head = ""
		}
	}
}

// missed are the better paths that a subscriber wanted and did not get.
func missed(s backend.Subscriber) []negotiate.Rejected {
	return slices.DeleteFunc(negotiate.Better(s.Rejected, s.Backend), func(r negotiate.Rejected) bool {
		return r.Reason == negotiate.ReasonNotAccepted
	})
}

// maxEndpoints is how many a line shows.
const maxEndpoints = 3

// zenohRole is what the session is to others.
func zenohRole(z *daemon.ZenohStatus) string {
	switch {
	case z.As == "peer" && z.Connections > 0:
		return "peer with " + plural(z.Connections, "link")
	case z.Role != "":
		return z.As + " of " + z.Role
	}
	return dash(z.As)
}

// zenohAt is whom the session is connected with, or where it looks for a router.
func zenohAt(z *daemon.ZenohStatus) string {
	switch {
	case z.As == "peer" && z.Connections == 0:
		return ""
	case len(z.Links) > 0:
		var ends []string
		for _, l := range z.Links {
			end := l.Endpoint
			if l.Incoming {
				end = "from " + l.Remote
			}
			ends = append(ends, end)
		}
		return some(ends, maxEndpoints, ", ")
	case z.Endpoint != "":
		return z.Endpoint
	}
	return strings.Join(z.Endpoints, ", ")
}

// publishedText adds the frames that max_rate left out, which are not lost.
func publishedText(s daemon.StreamStatus) string {
	if s.Decimated == 0 {
		return fmt.Sprint(s.Published)
	}
	return fmt.Sprintf("%d (%d decimated)", s.Published, s.Decimated)
}

func dropText(s daemon.StreamStatus) string {
	var words []string
	for _, r := range slices.Sorted(maps.Keys(s.Dropped)) {
		words = append(words, fmt.Sprintf("%d %s", s.Dropped[r], r))
	}
	if len(words) == 0 {
		return "0"
	}
	return strings.Join(words, ", ")
}

// plain keeps what others chose, such as the name of a process or the last words
// of a child, to one line that no terminal obeys.
func plain(s string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsPrint(r) {
			return r
		}
		return ' '
	}, s)
}

func dash(s string) string {
	if s == "" {
		return "-"
	}
	return s
}
