// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"github.com/seed-3c7e7623/camd/client"
	"github.com/seed-3c7e7623/camd/negotiate"
)

// networkWait bounds how long list waits for the network: until a session is
// open, and then for those who do not answer.
const networkWait = 5 * time.Second

// findings are what there is: the streams of this host and of the network, and
// the topics.
type findings struct {
	streams  []foundStream
	topics   []client.Topic
	noDaemon error // why there is none on this host
	noRouter error // why nothing is known of the network
	// late is why nothing is known of others' streams, where time ran out.
	late error
}

// find asks the daemons of this host, those of the network, and ROS at the same
// time.
func (w world) find(ctx context.Context, opts []client.Option) findings {
	var f findings
	var daemons []client.Daemon
	var all []negotiate.Announcement
	var noNetwork error
	var both sync.WaitGroup
	both.Go(func() { daemons, f.noDaemon = w.list(ctx, opts...) })
	network, cancel := context.WithTimeout(ctx, networkWait)
	defer cancel()
	both.Go(func() { f.topics, f.noRouter = w.topics(network, opts...) })
	both.Go(func() { all, noNetwork = w.announced(network, opts...) })
	both.Wait()
	f.streams = withAnnounced(daemons, all)
	if errors.Is(noNetwork, context.DeadlineExceeded) {
		f.late = noNetwork
	}
	if noNetwork == nil && f.noRouter != nil && !errors.Is(f.noRouter, client.ErrConfig) && len(all) > 0 {
		f.noRouter = nil // it does answer
	}
	return f
}

// findAll finds what there is for people. Only when nobody answers it is an
// error.
// left is what the lists leave out, and why.
func findAll(cmd *cobra.Command, w world, opts []client.Option, verbose bool) (_ []foundStream, _ []client.Topic, left []string, _ error) {
	var mu sync.Mutex
	opts = append(slices.Clip(opts), client.WithEvents(func(e client.Event) {
		mu.Lock()
		defer mu.Unlock()
		left = append(left, e.Text)
	}))
	f := w.find(cmd.Context(), opts)
	if errors.Is(f.noRouter, client.ErrConfig) {
		return nil, nil, nil, f.noRouter
	}
	if f.noDaemon != nil && f.noRouter != nil {
		return nil, nil, nil, fmt.Errorf("%w; %w", f.noDaemon, f.noRouter)
	}
	if f.late != nil {
		left = append(left, "the list of streams is incomplete: "+f.late.Error())
	}
	n := notes{out: cmd.ErrOrStderr(), program: cmd.Root().Name()}
	for _, text := range left {
		n.say("%s", text)
	}
	for _, err := range []error{f.noDaemon, f.noRouter} {
		if verbose && err != nil {
			n.say("%v", err)
		}
	}
	return f.streams, published(f.topics), left, nil
}

// published leaves out topics that are only subscribed to.
func published(topics []client.Topic) []client.Topic {
	return slices.DeleteFunc(slices.Clone(topics), func(t client.Topic) bool { return len(t.Publishers) == 0 })
}

func namesOfTopics(topics []client.Topic) []string {
	var names []string
	for _, t := range topics {
		names = append(names, t.Name)
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// Bounds of what is shown of a topic that somebody fills.
const (
	maxNodes  = 4   // of a row
	maxRows   = 200 // of a table
	maxEnds   = 32  // publishers, and subscribers, that info tells of
	maxListed = 30  // names in an error
)

// some joins the first names, and says how many more there are.
func some(names []string, most int, between string) string {
	if len(names) <= most {
		return strings.Join(names, between)
	}
	return fmt.Sprintf("%s%sand %d more", strings.Join(names[:most], between), between, len(names)-most)
}

// nodes are the publishers' names, each once.
func nodes(t client.Topic) string {
	var names []string
	for _, p := range t.Publishers {
		names = append(names, p.Node)
	}
	slices.Sort(names)
	return some(slices.Compact(names), maxNodes, " ")
}

var topicColumns = []string{"domain", "type", "publishers", "node"}

func topicCells(t client.Topic) []string {
	return []string{strconv.Itoa(t.Domain), t.Type, strconv.Itoa(len(t.Publishers)), nodes(t)}
}

// listTables shows streams and topics one below the other; what there is none of
// is left out, except that there is always one table.
func listTables(streams []foundStream, topics []client.Topic) string {
	if len(topics) == 0 {
		return listTable(streams)
	}
	var b strings.Builder
	if len(streams) > 0 {
		b.WriteString(listTable(streams) + "\n\n")
	}
	out := tabwriter.NewWriter(&b, 0, 0, 2, ' ', 0)
	fmt.Fprintln(out, strings.ToUpper("topic\t"+strings.Join(topicColumns, "\t")+"\tsubscribers"))
	for _, t := range topics[:min(len(topics), maxRows)] {
		fmt.Fprintln(out, t.Name+"\t"+strings.Join(topicCells(t), "\t")+"\t"+strconv.Itoa(len(t.Subscribers)))
	}
	// Writing into a string cannot fail.
	_ = out.Flush()
	if more := len(topics) - maxRows; more > 0 {
		fmt.Fprintf(&b, "and %s more; --format csv and json list all\n", plural(more, "topic"))
	}
	return strings.TrimSuffix(b.String(), "\n")
}

// csvWithTopics adds rows for topics below those of streams, and their columns
// behind those of streams.
func csvWithTopics(rows [][]string, topics []client.Topic) [][]string {
	rows[0] = append(slices.Clone(rows[0]), topicColumns...)
	for i := range rows[1:] {
		rows[i+1] = append(rows[i+1], make([]string, len(topicColumns))...)
	}
	for _, t := range topics {
		row := make([]string, len(listColumns))
		row[0] = t.Name
		row[slices.Index(listColumns, "subscribers")] = strconv.Itoa(len(t.Subscribers))
		rows = append(rows, append(row, topicCells(t)...))
	}
	return rows
}

// topicInfo prints a topic; it has several documents if it is there in several
// domains or with two types.
func topicInfo(cmd *cobra.Command, w world, opts []client.Option, name, format string) error {
	n := notes{out: cmd.ErrOrStderr(), program: cmd.Root().Name()}
	topics, err := w.topics(cmd.Context(), append(slices.Clip(opts), client.WithEvents(func(e client.Event) { n.say("%s", e.Text) }))...)
	if err != nil {
		return explainNoRouter(cmd.Context(), w, name, opts, err)
	}
	var found []client.Topic
	for _, t := range topics {
		if t.Name == name {
			found = append(found, t)
		}
	}
	if len(found) == 0 {
		// Without a daemon there are no streams to be meant.
		daemons, _ := w.list(cmd.Context(), opts...)
		return unknownTopic(name, "", namesOfTopics(topics), namesOf(streamsOf(daemons)))
	}
	for i, t := range found {
		if format == "json" {
			if err := printJSON(cmd.OutOrStdout(), t); err != nil {
				return err
			}
			continue
		}
		if i > 0 {
			fmt.Fprintln(cmd.OutOrStdout())
		}
		if _, err := fmt.Fprintln(cmd.OutOrStdout(), topicText(t)); err != nil {
			return err
		}
	}
	return nil
}

// topicText is one "key: value" a line, and a block for each publisher and
// subscriber.
func topicText(t client.Topic) string {
	var b strings.Builder
	line := func(key, value string) { fmt.Fprintf(&b, "%-12s %s\n", key+":", value) }
	line("topic", t.Name)
	line("domain", strconv.Itoa(t.Domain))
	line("type", t.Type)
	line("publishers", strconv.Itoa(len(t.Publishers)))
	line("subscribers", strconv.Itoa(len(t.Subscribers)))
	ends := func(kind string, list []client.Endpoint) {
		for i, e := range list {
			fmt.Fprintln(&b)
			if i == maxEnds {
				fmt.Fprintf(&b, "and %s more; --format json lists all\n", plural(len(list)-i, kind))
				break
			}
			line(kind, e.Node)
			line("  qos", e.QoS)
			line("  type hash", e.Hash)
			line("  gid", e.GID)
			if e.Backends != "" {
				line("  backends", e.Backends)
			}
			line("  zenoh id", e.Session)
		}
	}
	ends("publisher", t.Publishers)
	ends("subscriber", t.Subscribers)
	return strings.TrimSuffix(b.String(), "\n")
}
