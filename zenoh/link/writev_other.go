// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

//go:build !linux

package link

import "net"

type rawWriter struct{ bufs net.Buffers }

type rawReader struct{}

func (s *socket) open(c net.Conn) error {
	s.Conn = c
	return nil
}

// canTry says that a write can stop where the kernel refuses.
const canTry = false

// canReadVec says that a read can go to several places.
const canReadVec = false

func (s *socket) readVec(bufs [][]byte) (int, error) { return s.Conn.Read(bufs[0]) }

func (s *socket) resume(bool) (int, bool, error) { return 0, true, nil }

// writeVec writes unit by unit: where the kernel refuses is not seen here.
func (s *socket) writeVec(v *Vec, urgent func() bool, _ bool) (int, bool, error) {
	from := 0
	for i, end := range v.ends {
		if i > 0 && urgent != nil && urgent() {
			return i, true, nil
		}
		s.raw.bufs = append(s.raw.bufs[:0], v.bufs[from:end]...)
		t := now()
		s.progress.Store(t)
		s.congested.Store(t)
		bufs := s.raw.bufs
		_, err := bufs.WriteTo(s.Conn)
		s.congested.Store(0)
		if err != nil {
			return i, true, err
		}
		from = end
	}
	return len(v.ends), true, nil
}

func (s *socket) rebase(_, _ []byte) {}

func setLowat(*net.TCPConn, int) error { return nil }

func mss(*net.TCPConn) int { return 0 }
