// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
)

// sides are what is compared, in the order of tables.
var sides = []struct{ Name, How string }{
	{sideCamd, "camd, a router, package client"},
	{"camd_peer", "camd and package client as peers: the router only tells one of the other"},
	{"zenoh_router", "a publisher and a subscriber of eclipse-zenoh in Python, through the same router"},
	{"zenoh_peer", "the same, connected to each other"},
	{"socket_relay", "a plain socket, a relay, a plain socket"},
	{"socket", "a plain socket"},
}

const sideCamd = "camd"

//go:embed peer.py
var peerProgram []byte

// rig is what all sides of a run use.
type rig struct {
	o      Options
	dir    string
	self   string
	peer   string // file of peer.py
	router *process
	at     string // endpoint of the router
	all    []*process
}

func newRig(o Options) (_ *rig, err error) {
	r := &rig{o: o}
	if r.self, err = os.Executable(); err != nil {
		return nil, err
	}
	if r.dir, err = os.MkdirTemp("", "cpupath-"); err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, r.close())
		}
	}()
	r.peer = filepath.Join(r.dir, "peer.py")
	if err = os.WriteFile(r.peer, peerProgram, 0o600); err != nil {
		return nil, err
	}
	address, err := freePort()
	if err != nil {
		return nil, err
	}
	r.at = "tcp/" + address
	argv := []string{o.Python, filepath.Join(o.Deploy, "router.py"), filepath.Join(o.Deploy, "router.json5"), fmt.Sprintf("listen/endpoints=[%q]", r.at)}
	if r.router, err = start("the router", append(argv, o.Router...)); err != nil {
		return nil, fmt.Errorf("%w (does -python name an interpreter that has eclipse-zenoh?)", err)
	}
	r.all = append(r.all, r.router)
	return r, nil
}

func (r *rig) close() error {
	for i := len(r.all) - 1; i >= 0; i-- {
		r.all[i].end()
	}
	return os.RemoveAll(r.dir)
}

// child starts this program once more.
func (r *rig) child(what string, j job, files ...*os.File) (*process, error) {
	b, err := json.Marshal(j)
	if err != nil {
		return nil, err
	}
	return r.run(what, []string{r.self, childWord, string(b)}, files...)
}

func (r *rig) python(what string, j job, files ...*os.File) (*process, error) {
	b, err := json.Marshal(j)
	if err != nil {
		return nil, err
	}
	return r.run(what, []string{r.o.Python, r.peer, string(b)}, files...)
}

func (r *rig) run(what string, argv []string, files ...*os.File) (*process, error) {
	p, err := start(what, argv, files...)
	if err == nil {
		r.all = append(r.all, p)
	}
	return p, err
}

// side is one that runs: processes that wait for orders.
type side struct {
	name                     string
	publisher, hop, receiver *process // hop is nil without one
}

// open starts the processes of a side.
func (r *rig) open(name string) (*side, error) {
	s := &side{name: name}
	read, write, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	address, err := freePort()
	if err != nil {
		return nil, errors.Join(err, read.Close(), write.Close())
	}
	j := job{Size: r.o.Size}
	launch := r.child
	var pub, recv job
	switch name {
	case sideCamd, "camd_peer":
		j.Router, j.Dir, j.Camera, j.Peer = r.at, filepath.Join(r.dir, name), name, name != sideCamd
		pub, recv = j, j
		pub.Role, pub.Readers = roleCamd, []int{1}
		recv.Role, recv.Stream, recv.Backend = roleClient, j.stream(0), "cpu"
		if !j.Peer {
			s.hop = r.router
		}
	case "socket", "socket_relay":
		j.Address = address
		pub, recv = j, j
		pub.Role, recv.Role = roleSocketPublish, roleSocketReceive
	default:
		launch = r.python
		if name == "zenoh_router" {
			j.Router, s.hop = r.at, r.router
		} else {
			j.Address = "tcp/" + address
		}
		pub, recv = j, j
		pub.Role, recv.Role = rolePythonPublish, rolePythonReceive
	}
	if s.publisher, err = launch(name+", the publisher", pub, read); err != nil {
		return nil, errors.Join(err, write.Close())
	}
	if name == "socket_relay" {
		if recv.Address, err = freePort(); err != nil {
			return nil, errors.Join(err, write.Close())
		}
		if s.hop, err = r.child("the relay", job{Role: roleRelay, Address: recv.Address, Next: address}); err != nil {
			return nil, errors.Join(err, write.Close())
		}
	}
	if s.receiver, err = launch(name+", the subscriber", recv, write); err != nil {
		return nil, err
	}
	return s, s.warm()
}

var errNothing = errors.New("no frame arrives")

// warm sends frames until they arrive. All memory has been written then.
func (s *side) warm() error {
	for range 20 {
		r, err := s.publisher.order(order{Rate: 30, Least: 30, Fill: true})
		if err != nil {
			return err
		}
		if r[0].Readers[0].Received >= r[0].Sent-1 {
			return nil
		}
	}
	return fmt.Errorf("%s: %w", s.name, errNothing)
}

// freePort is an address of the loopback device that nobody has at the moment.
func freePort() (string, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	defer l.Close()
	return l.Addr().String(), nil
}
