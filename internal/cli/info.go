// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/seed-3c7e7623/camd/client"
	"github.com/seed-3c7e7623/camd/frame"
)

// infoText is one "key: value" a line; what is not known is left out.
func infoText(s foundStream) string {
	var b strings.Builder
	line := func(key, value string) {
		if value != "" {
			fmt.Fprintf(&b, "%-12s %s\n", key+":", value)
		}
	}
	line("stream", s.Name)
	line("camera", s.Camera)
	line("source", s.Source)
	state := s.State
	if s.StateSince > 0 {
		state += " since " + time.UnixMilli(s.StateSince).UTC().Format(time.RFC3339)
	}
	line("state", state)
	line("problem", s.Problem)
	line("size", s.size())
	line("encoding", string(s.Geometry.Encoding))
	if s.Color != (frame.Color{}) {
		line("color", s.Color.String())
	}
	if s.Geometry.Width > 0 {
		line("step", fmt.Sprintf("%d bytes", s.Geometry.Step))
		line("frame", fmt.Sprintf("%d bytes", s.Geometry.Size()))
	}
	if rate := s.rateText(); rate != "" {
		line("rate", rate+" Hz")
	}
	line("clock", s.Clock)
	line("stamp", string(s.Stamp))
	line("frame_id", s.FrameID)
	line("epoch", fmt.Sprint(s.Epoch))
	line("subscribers", fmt.Sprint(s.Subscribed))
	line("topic", s.Topic)
	if s.Topic != "" {
		line("domain", fmt.Sprint(s.Domain))
	}
	line("host", s.Host)
	line("dir", s.Dir)
	line("path", string(s.Path))
	readersText(&b, s.Readers, line)
	return strings.TrimSuffix(b.String(), "\n")
}

func newInfo(w world) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "info STREAM",
		Short: "Show what is known about a stream",
		Long: `Show what is known about a stream of camd, of this host or another one, with
each subscriber, its path and why it has no better one; or about a ROS 2 image
topic: its type and type hash, and node, QoS and GID of each publisher and
subscriber.`,
		Example: "  camsub info test/color\n  camsub info robot:front/color\n  camsub info /front/color/image_raw",
		Args:    OneArg("stream", streamExample),
	}
	format := formatFlag(cmd, "text", "json")
	place := addPlaceFlags(cmd.Flags())
	cmd.ValidArgsFunction = completeStream(w, place)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		opts, err := place.options()
		if err != nil {
			return err
		}
		if client.IsTopic(args[0]) {
			return topicInfo(cmd, w, opts, args[0], format.value)
		}
		n := notes{out: cmd.ErrOrStderr(), program: cmd.Root().Name()}
		var left []string
		s, err := w.describe(cmd.Context(), append(slices.Clip(opts), client.WithEvents(func(e client.Event) {
			n.say("%s", e.Text)
			left = append(left, e.Text)
		})), args[0])
		if err != nil {
			return err
		}
		s.Incomplete = left
		if format.value == "json" {
			return printJSON(cmd.OutOrStdout(), s)
		}
		_, err = fmt.Fprintln(cmd.OutOrStdout(), infoText(s))
		return err
	}
	return cmd
}
