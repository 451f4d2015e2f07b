// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

package v4l2

import (
	"encoding/binary"
	"errors"
	"fmt"
	"strings"
	"unsafe"

	"golang.org/x/sys/unix"
)

// mostControls bounds walks through controls and menus.
const mostControls = 1024

// ControlKind is what sort of value a control takes.
type ControlKind string

// The kinds that can be set.
const (
	ControlInteger ControlKind = "integer"
	ControlBoolean ControlKind = "boolean"
	ControlMenu    ControlKind = "menu"
	ControlButton  ControlKind = "button" // any value presses it
	ControlBitmask ControlKind = "bitmask"
)

// Control is a setting of a device.
type Control struct {
	ID       uint32      `json:"id"`
	Name     string      `json:"name"`  // normalised: "power_line_frequency"
	Title    string      `json:"title"` // the driver's: "Power Line Frequency"
	Kind     ControlKind `json:"kind"`
	Min      int64       `json:"min"`
	Max      int64       `json:"max"`
	Step     int64       `json:"step"`
	Default  int64       `json:"default"`
	Value    int64       `json:"value"`
	Menu     []MenuItem  `json:"menu,omitempty"`
	ReadOnly bool        `json:"read_only,omitempty"`
	// Inactive: another control, mostly an automatic, rules this one now.
	Inactive bool `json:"inactive,omitempty"`
}

// MenuItem is a value of a menu.
type MenuItem struct {
	Value int64  `json:"value"`
	Name  string `json:"name"`
}

// Controls lists the settings of the device, in its order.
func (d *Device) Controls() ([]Control, error) {
	var out []Control
	id := uint32(ctrlNext)
	for range mostControls {
		q, err := d.queryControl(id)
		if err != nil {
			if absent(err) {
				break
			}
			return out, explain("VIDIOC_QUERYCTRL", d.Path, err)
		}
		if q.ID <= id&^ctrlNext && id != ctrlNext {
			break // a driver that goes in circles
		}
		id = q.ID | ctrlNext
		if c, ok := d.describe(q); ok {
			out = append(out, c)
		}
	}
	return out, nil
}

// queryControl asks for the control after id, by the newer request where the
// driver knows it.
func (d *Device) queryControl(id uint32) (queryExtCtrl, error) {
	ext := queryExtCtrl{ID: id}
	err := d.k.ioctl(reqQueryExtCtrl, unsafe.Pointer(&ext))
	if !errors.Is(err, unix.ENOTTY) {
		return ext, err
	}
	old := queryCtrl{ID: id}
	if err := d.k.ioctl(reqQueryCtrl, unsafe.Pointer(&old)); err != nil {
		return queryExtCtrl{}, err
	}
	return queryExtCtrl{
		ID: old.ID, Type: old.Type, Name: old.Name, Minimum: int64(old.Minimum), Maximum: int64(old.Maximum),
		Step: uint64(max(old.Step, 0)), Default: int64(old.Default), Flags: old.Flags, ElemSize: 4, Elems: 1,
	}, nil
}

// describe reports false for what is no setting of one number.
func (d *Device) describe(q queryExtCtrl) (Control, bool) {
	kinds := map[uint32]ControlKind{
		ctrlTypeInteger: ControlInteger, ctrlTypeBoolean: ControlBoolean, ctrlTypeMenu: ControlMenu,
		ctrlTypeIntegerMenu: ControlMenu, ctrlTypeButton: ControlButton, ctrlTypeBitmask: ControlBitmask,
	}
	kind, ok := kinds[q.Type]
	if !ok || q.Flags&ctrlFlagDisabled != 0 || q.Elems > 1 {
		return Control{}, false
	}
	c := Control{
		ID: q.ID, Title: text(q.Name[:]), Kind: kind, Min: q.Minimum, Max: q.Maximum,
		Step: int64(min(q.Step, 1<<62)), Default: q.Default,
		ReadOnly: q.Flags&ctrlFlagReadOnly != 0, Inactive: q.Flags&(ctrlFlagInactive|ctrlFlagGrabbed) != 0,
	}
	c.Name = normalise(c.Title)
	if kind == ControlMenu {
		c.Menu = d.menu(q)
	}
	if kind != ControlButton && q.Flags&ctrlFlagWriteOnly == 0 {
		v := control{ID: q.ID}
		// A camera that does not answer for one control can still stream.
		if d.k.ioctl(reqGetCtrl, unsafe.Pointer(&v)) == nil {
			c.Value = int64(v.Value)
			if kind == ControlBitmask {
				c.Value = int64(uint32(v.Value))
			}
		}
	}
	return c, true
}

func (d *Device) menu(q queryExtCtrl) []MenuItem {
	var out []MenuItem
	for i := max(q.Minimum, 0); i <= q.Maximum && i < mostControls; i++ {
		m := queryMenu{ID: q.ID, Index: uint32(i)}
		if d.k.ioctl(reqQueryMenu, unsafe.Pointer(&m)) != nil {
			continue // menus have holes
		}
		name := text(m.Name[:])
		if q.Type == ctrlTypeIntegerMenu {
			name = fmt.Sprint(int64(binary.NativeEndian.Uint64(m.Name[:8])))
		}
		out = append(out, MenuItem{Value: i, Name: name})
	}
	return out
}

// setControl sets a value of 32 bits.
func (d *Device) setControl(id uint32, value int64) error {
	c := control{ID: id, Value: int32(value)}
	return d.k.ioctl(reqSetCtrl, unsafe.Pointer(&c))
}

// normalise makes a name that can be typed of a driver's title, as v4l2-ctl
// does: "White Balance, Automatic" is white_balance_automatic.
func normalise(title string) string {
	var b strings.Builder
	gap := false
	for _, r := range strings.ToLower(title) {
		if (r < 'a' || r > 'z') && (r < '0' || r > '9') {
			gap = b.Len() > 0
			continue
		}
		if gap {
			b.WriteByte('_')
			gap = false
		}
		b.WriteRune(r)
	}
	return b.String()
}
