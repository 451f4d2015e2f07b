// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"encoding/binary"
	"errors"
	"io"

	"github.com/seed-3c7e7623/camd/internal/linux"
	"github.com/seed-3c7e7623/camd/zenoh/config"
)

// job is what a child process is started with, as JSON in its second argument.
type job struct {
	Role    role   `json:"role"`
	Size    int    `json:"size"`              // bytes of a frame
	Address string `json:"address,omitempty"` // of a socket to listen on or to dial
	Next    string `json:"next,omitempty"`    // where a relay sends to
	Router  string `json:"router,omitempty"`  // endpoint; of a peer: that of the other side
	Camera  string `json:"camera,omitempty"`  // what cameras are called, before a number: topics of two daemons must differ
	Peer    bool   `json:"peer,omitempty"`    // data does not go through the router, which only tells of the other side
	Dir     string `json:"dir,omitempty"`     // of camd
	Stream  string `json:"stream,omitempty"`
	Backend string `json:"backend,omitempty"`
	Readers []int  `json:"readers,omitempty"` // descriptors a camera has, for each camera
	Profile string `json:"profile,omitempty"` // file for a CPU profile
}

type role string

const (
	roleCamd          role = "camd"
	roleClient        role = "client"
	roleSocketPublish role = "socket-publish"
	roleSocketReceive role = "socket-receive"
	roleRelay         role = "relay"
	rolePythonPublish role = "publish" // in peer.py, as what follows
	rolePythonReceive role = "receive"
)

// order is a block that a publisher shall send.
type order struct {
	Rate   float64 `json:"rate"`   // frames per second, 0 = back to back
	Window int     `json:"window"` // back to back: so many frames may be on their way
	Nanos  int64   `json:"nanos"`  // for so long
	Least  int     `json:"least"`  // frames, however long they take
	Fill   bool    `json:"fill"`   // write every byte of each frame
}

// network is the Zenoh configuration of camd and of package client.
func (j job) network() *config.Config {
	c := config.Client(j.Router)
	if j.Peer {
		c.Mode, c.Listen = "peer", []string{"tcp/127.0.0.1:0"}
		c.Scout.Multicast = false
	}
	return c
}

// report is what became of a block, for each camera.
type report struct {
	Sent    uint64   `json:"sent"`
	Late    uint64   `json:"late"`    // ticks that were missed
	NoSlot  uint64   `json:"no_slot"` // frames for which the ring had no slot
	Closest int64    `json:"closest"` // least time between the hand-over of two frames, ns
	Readers []reader `json:"readers"`
	Topic   topic    `json:"topic"`
}

// reader is what one subscriber got.
type reader struct {
	Received uint64  `json:"received"`
	First    int64   `json:"first"` // usable, CLOCK_MONOTONIC, ns
	Last     int64   `json:"last"`
	Times    []int64 `json:"times"` // from ready to usable, ns
}

// topic is what camd counted.
type topic struct {
	Frames      uint64 `json:"frames"` // given to the network
	Replaced    uint64 `json:"replaced"`
	Copies      uint64 `json:"copies"`
	Conversions uint64 `json:"conversions"`
}

func (t topic) since(before topic) topic {
	return topic{t.Frames - before.Frames, t.Replaced - before.Replaced, t.Copies - before.Copies, t.Conversions - before.Conversions}
}

// record is what a subscriber says of a frame: three little-endian words of 8
// bytes. The first two are those of the pixels.
type record struct {
	number uint64
	ready  int64 // CLOCK_MONOTONIC, ns
	usable int64
}

const (
	stampBytes  = 16
	recordBytes = 24
)

// stamp numbers a frame and says that it is ready now.
func stamp(pixels []byte, number uint64) int64 {
	now := linux.Monotonic()
	binary.LittleEndian.PutUint64(pixels, number)
	binary.LittleEndian.PutUint64(pixels[8:], uint64(now))
	return now
}

var errShort = errors.New("frame is too short for its stamp")

// tell writes the record of a frame. scratch has room for it.
func tell(to io.Writer, scratch, pixels []byte, usable int64) error {
	if len(pixels) < stampBytes {
		return errShort
	}
	copy(scratch, pixels[:stampBytes])
	binary.LittleEndian.PutUint64(scratch[stampBytes:], uint64(usable))
	_, err := to.Write(scratch[:recordBytes])
	return err
}

func parseRecord(b []byte) record {
	return record{
		binary.LittleEndian.Uint64(b), int64(binary.LittleEndian.Uint64(b[8:])), int64(binary.LittleEndian.Uint64(b[16:])),
	}
}
