// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"fmt"
	"strconv"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/seed-3c7e7623/camd/client"
)

// rate is the nominal rate of a stream in frames per second; 0 = not known.
func (s foundStream) rate() float64 {
	if s.IntervalNS <= 0 {
		return 0
	}
	return 1e9 / float64(s.IntervalNS)
}

// size is "1280x720", or "" before the camera delivered a format.
func (s foundStream) size() string {
	if s.Geometry.Width == 0 {
		return ""
	}
	return fmt.Sprintf("%dx%d", s.Geometry.Width, s.Geometry.Height)
}

// rateText is at most two decimals: "60", "29.97", or "".
func (s foundStream) rateText() string {
	if s.rate() == 0 {
		return ""
	}
	text := strconv.FormatFloat(s.rate(), 'f', 2, 64)
	return strings.TrimSuffix(strings.TrimRight(text, "0"), ".")
}

func (s foundStream) columns() []string {
	return []string{
		s.Name, s.State, s.size(), string(s.Geometry.Encoding), s.rateText(), strconv.Itoa(s.Subscribed), s.Dir, s.Host, string(s.Path),
	}
}

var listColumns = []string{"stream", "state", "size", "encoding", "rate", "subscribers", "dir", "host", "path"}

func listTable(streams []foundStream) string {
	var b strings.Builder
	out := tabwriter.NewWriter(&b, 0, 0, 2, ' ', 0)
	fmt.Fprintln(out, strings.ToUpper(strings.Join(listColumns, "\t")))
	for _, s := range streams[:min(len(streams), maxRows)] {
		cells := s.columns()
		for i, c := range cells {
			if c == "" {
				cells[i] = "-"
			}
		}
		fmt.Fprintln(out, strings.Join(cells, "\t"))
	}
	// Writing into a string cannot fail.
	_ = out.Flush()
	if more := len(streams) - maxRows; more > 0 {
		fmt.Fprintf(&b, "and %s more; --format csv and json list all\n", plural(more, "stream"))
	}
	return strings.TrimSuffix(b.String(), "\n")
}

func newList(w world) *cobra.Command {
	cmd := &cobra.Command{
		Use:     "list",
		Aliases: []string{"ls"},
		Short:   "List the streams of every camd on this host and on the network, and the ROS 2 image topics",
		Long: `List the streams of every camd on this host and, by a Zenoh router or peers that
are found, on the network, each with the path by which it would be had here; and
the ROS 2 image topics that somebody publishes: those of the domain of --domain
or $ROS_DOMAIN_ID, else of every one.`,
		Args: NoArgs,
	}
	format := formatFlag(cmd, "text", "json", "csv")
	place := addPlaceFlags(cmd.Flags())
	verbose := cmd.Flags().BoolP("verbose", "v", false, "say on standard error why there are no streams or no topics")
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		opts, err := place.options()
		if err != nil {
			return err
		}
		streams, topics, left, err := findAll(cmd, w, opts, *verbose)
		if err != nil {
			return err
		}
		var text string
		switch format.value {
		case "json":
			text, err = jsonText(struct {
				Streams []foundStream  `json:"streams"`
				Topics  []client.Topic `json:"topics,omitempty"`
				// Incomplete is what is left out, and why, for people.
				Incomplete []string `json:"incomplete,omitempty"`
			}{append([]foundStream{}, streams...), topics, left})
		case "csv":
			rows := [][]string{listColumns}
			for _, s := range streams {
				rows = append(rows, s.columns())
			}
			if len(topics) > 0 {
				rows = csvWithTopics(rows, topics)
			}
			text = csvText(rows)
		default:
			text = listTables(streams, topics)
		}
		if err != nil {
			return err
		}
		_, err = fmt.Fprintln(cmd.OutOrStdout(), text)
		return err
	}
	return cmd
}
