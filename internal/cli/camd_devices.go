// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"fmt"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/seed-3c7e7623/camd/capture/v4l2"
)

// videoDevice is an open device, as much of it as the commands show.
type videoDevice interface {
	Formats() ([]v4l2.PixelFormat, error)
	Controls() ([]v4l2.Control, error)
	Inputs() ([]v4l2.Input, error)
	Close() error
}

// devices is where the commands find the devices of a host; tests have their own.
type devices struct {
	root string
	open func(path string) (v4l2.Info, videoDevice, error)
}

func hostDevices() devices {
	return devices{root: "/", open: func(path string) (v4l2.Info, videoDevice, error) {
		d, err := v4l2.Open(path)
		if err != nil {
			return v4l2.Info{}, nil, err
		}
		return d.Info, d, nil
	}}
}

// deviceRow is a device node as camd devices shows it.
type deviceRow struct {
	v4l2.Node
	Card    string `json:"card,omitempty"`
	Driver  string `json:"driver,omitempty"`
	Bus     string `json:"bus,omitempty"`
	Kind    string `json:"kind"`
	ByID    string `json:"by_id,omitempty"`
	Problem string `json:"problem,omitempty"`
}

// Kinds of nodes.
const (
	kindPictures = "pictures"
	kindMetadata = "metadata"
	kindOther    = "other"
	kindUnknown  = "unknown" // it could not be opened
)

func (d devices) list() []deviceRow {
	rows := []deviceRow{}
	for _, n := range v4l2.Nodes(d.root) {
		r := deviceRow{Node: n, Kind: kindUnknown}
		if id := n.ByID(); id != "" {
			r.ByID = "/dev/v4l/by-id/" + id
		}
		info, dev, err := d.open(n.Path)
		if err != nil {
			r.Problem = err.Error()
			rows = append(rows, r)
			continue
		}
		// Nothing was changed that closing could fail to keep.
		_ = dev.Close()
		r.Card, r.Driver, r.Bus = info.Card, info.Driver, info.Bus
		switch {
		case info.Capture:
			r.Kind = kindPictures
		case info.Metadata:
			r.Kind = kindMetadata
		default:
			r.Kind = kindOther
		}
		rows = append(rows, r)
	}
	return rows
}

func newCamdDevices(d devices) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "devices",
		Short: "List the video devices of this host",
		Long: `List the video devices of this host. Those that deliver pictures can be cameras:
--camera NAME=v4l2:DEVICE. The path under /dev/v4l/by-id stays the same when a
camera is plugged in elsewhere; camd understands it where udev did not make it
too.`,
		Args: NoArgs,
	}
	format := formatFlag(cmd, "text", "json")
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		rows := d.list()
		if format.value == "json" {
			return printJSON(cmd.OutOrStdout(), struct {
				Devices []deviceRow `json:"devices"`
			}{rows})
		}
		if len(rows) == 0 {
			fmt.Fprintln(cmd.ErrOrStderr(), "there is no video device on this host")
			return nil
		}
		_, err := fmt.Fprintln(cmd.OutOrStdout(), deviceTable(rows))
		return err
	}
	return cmd
}

func deviceTable(rows []deviceRow) string {
	var b strings.Builder
	out := tabwriter.NewWriter(&b, 0, 0, 2, ' ', 0)
	fmt.Fprintln(out, "DEVICE\tKIND\tCARD\tDRIVER\tSTABLE PATH")
	for _, r := range rows {
		last := dash(r.ByID)
		if r.Problem != "" {
			last = r.Problem
		}
		card := r.Card
		if card == "" {
			card = r.Name
		}
		fmt.Fprintf(out, "%s\t%s\t%s\t%s\t%s\n", r.Path, r.Kind, dash(card), dash(r.Driver), last)
	}
	// Writing into a string cannot fail.
	_ = out.Flush()
	return strings.TrimSuffix(b.String(), "\n")
}
