// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"fmt"
	"strconv"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"
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
		s.Name, s.State, s.size(), string(s.Geometry.Encoding), s.rateText(), strconv.Itoa(s.Subscribed), s.Dir,
	}
}

var listColumns = []string{"stream", "state", "size", "encoding", "rate", "subscribers", "dir"}

func listTable(streams []foundStream) string {
	var b strings.Builder
	out := tabwriter.NewWriter(&b, 0, 0, 2, ' ', 0)
	fmt.Fprintln(out, strings.ToUpper(strings.Join(listColumns, "\t")))
	for _, s := range streams {
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
	return strings.TrimSuffix(b.String(), "\n")
}

func newList(w world) *cobra.Command {
	cmd := &cobra.Command{
		Use:     "list",
		Aliases: []string{"ls"},
		Short:   "List the streams of every camd on this host",
		Args:    NoArgs,
	}
	format := formatFlag(cmd, "text", "json", "csv")
	dir := dirFlag(cmd.Flags())
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		daemons, err := w.list(cmd.Context(), dirOption(*dir)...)
		if err != nil {
			return err
		}
		streams := streamsOf(daemons)
		var text string
		switch format.value {
		case "json":
			text, err = jsonText(struct {
				Streams []foundStream `json:"streams"`
			}{append([]foundStream{}, streams...)})
		case "csv":
			rows := [][]string{listColumns}
			for _, s := range streams {
				rows = append(rows, s.columns())
			}
			text = csvText(rows)
		default:
			text = listTable(streams)
		}
		if err != nil {
			return err
		}
		_, err = fmt.Fprintln(cmd.OutOrStdout(), text)
		return err
	}
	return cmd
}
