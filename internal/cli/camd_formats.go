// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"fmt"
	"io"
	"strconv"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/seed-3c7e7623/camd/capture/v4l2"
	"github.com/seed-3c7e7623/camd/frame"
)

// formatRow is a pixel format as camd formats shows it.
type formatRow struct {
	FourCC      string         `json:"fourcc"`
	Description string         `json:"description"`
	Encoding    frame.Encoding `json:"encoding,omitempty"`
	Compressed  bool           `json:"compressed"`
	Emulated    bool           `json:"emulated"`
	Sizes       []v4l2.Sizes   `json:"sizes"`
}

// deviceFormats is all that a device offers.
type deviceFormats struct {
	Device   string         `json:"device"`
	Card     string         `json:"card"`
	Driver   string         `json:"driver"`
	Bus      string         `json:"bus"`
	Formats  []formatRow    `json:"formats"`
	Controls []v4l2.Control `json:"controls"`
	Inputs   []v4l2.Input   `json:"inputs"`
}

func (d devices) formats(target string) (deviceFormats, error) {
	node, err := v4l2.Find(d.root, target)
	if err != nil {
		return deviceFormats{}, err
	}
	info, dev, err := d.open(node.Path)
	if err != nil {
		return deviceFormats{}, err
	}
	defer dev.Close()
	out := deviceFormats{
		Device: node.Path, Card: info.Card, Driver: info.Driver, Bus: info.Bus,
		Formats: []formatRow{}, Controls: []v4l2.Control{}, Inputs: []v4l2.Input{},
	}
	formats, err := dev.Formats()
	if err != nil {
		return out, err
	}
	for _, f := range formats {
		out.Formats = append(out.Formats, formatRow{
			FourCC: f.FourCC.String(), Description: f.Description, Encoding: f.Encoding,
			Compressed: f.Compressed, Emulated: f.Emulated, Sizes: append([]v4l2.Sizes{}, f.Sizes...),
		})
	}
	controls, err := dev.Controls()
	if err != nil {
		return out, err
	}
	out.Controls = append(out.Controls, controls...)
	inputs, err := dev.Inputs()
	out.Inputs = append(out.Inputs, inputs...)
	return out, err
}

func newCamdFormats(d devices) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "formats DEVICE",
		Short: "Show the formats, sizes, rates and controls of a device",
		Long: `Show what a device offers: pixel formats with the encoding under which camd
carries them, sizes, rates, and the controls that control.NAME=VALUE sets.`,
		Example: "  camd formats /dev/video0",
		Args:    OneArg("device", "/dev/video0"),
	}
	format := formatFlag(cmd, "text", "json")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		f, err := d.formats(args[0])
		if err != nil {
			return err
		}
		if format.value == "json" {
			return printJSON(cmd.OutOrStdout(), f)
		}
		return writeFormats(cmd.OutOrStdout(), f)
	}
	return cmd
}

func writeFormats(w io.Writer, f deviceFormats) error {
	fmt.Fprintf(w, "%s: %s (%s, %s)\n\n", f.Device, f.Card, f.Driver, f.Bus)
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(t, "FORMAT\tENCODING\tSIZE\tRATES")
	for _, r := range f.Formats {
		name, encoding := r.FourCC, dash(string(r.Encoding))
		if r.Emulated {
			encoding += " (converted by the driver)"
		}
		if len(r.Sizes) == 0 {
			fmt.Fprintf(t, "%s\t%s\tnot told\t-\n", name, encoding)
		}
		for _, s := range r.Sizes {
			fmt.Fprintf(t, "%s\t%s\t%s\t%s\n", name, encoding, s, ratesText(s.Rates))
			name, encoding = "", ""
		}
	}
	if len(f.Inputs) > 1 {
		fmt.Fprintln(t, "\nINPUT\tNAME")
		for _, in := range f.Inputs {
			fmt.Fprintf(t, "%d\t%s\n", in.Index, in.Name)
		}
	}
	if len(f.Controls) > 0 {
		fmt.Fprintln(t, "\nCONTROL\tVALUE\tDEFAULT\tTAKES")
		for _, c := range f.Controls {
			fmt.Fprintf(t, "%s\t%s\t%s\t%s\n", c.Name, controlText(c, c.Value), controlText(c, c.Default), takesText(c))
		}
	}
	return t.Flush()
}

func ratesText(rates []v4l2.Rates) string {
	if len(rates) == 0 {
		return "not told"
	}
	number := func(r float64) string {
		text := strconv.FormatFloat(r, 'f', 2, 64)
		return strings.TrimSuffix(strings.TrimRight(text, "0"), ".")
	}
	parts := make([]string, 0, len(rates))
	for _, r := range rates {
		if r.Min == r.Max {
			parts = append(parts, number(r.Max))
		} else {
			parts = append(parts, number(r.Min)+" to "+number(r.Max))
		}
	}
	return strings.Join(parts, ", ")
}

func controlText(c v4l2.Control, value int64) string {
	if c.Kind == v4l2.ControlButton {
		return "-"
	}
	if c.Kind == v4l2.ControlBitmask {
		return fmt.Sprintf("%#x", value)
	}
	return strconv.FormatInt(value, 10)
}

func takesText(c v4l2.Control) string {
	text := ""
	switch c.Kind {
	case v4l2.ControlButton:
		text = "any value presses it"
	case v4l2.ControlBoolean:
		text = "true or false"
	case v4l2.ControlBitmask:
		text = fmt.Sprintf("bits %#x", c.Max)
	case v4l2.ControlMenu:
		parts := make([]string, 0, len(c.Menu))
		for _, m := range c.Menu {
			parts = append(parts, fmt.Sprintf("%d %s", m.Value, m.Name))
		}
		text = strings.Join(parts, ", ")
	default:
		text = fmt.Sprintf("%d to %d", c.Min, c.Max)
		if c.Step > 1 {
			text += fmt.Sprintf(" in steps of %d", c.Step)
		}
	}
	switch {
	case c.ReadOnly:
		text += "; can only be read"
	case c.Inactive:
		text += "; inactive, an automatic rules it"
	}
	return text
}
