// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

package zenoh

import (
	"context"
	"fmt"
	"io"
	"sync"
	"testing"

	"github.com/seed-3c7e7623/camd/zenoh/config"
	"github.com/seed-3c7e7623/camd/zenoh/internal/fakenode"
)

// A put out of the caller's memory allocates nothing once things are warm.
func TestPutAllocatesNothing(t *testing.T) {
	l, err := fakenode.Listen()
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	var reading sync.WaitGroup
	reading.Add(1)
	go func() {
		defer reading.Done()
		n, err := l.Accept()
		if err != nil {
			t.Error(err)
			return
		}
		_, _ = io.Copy(io.Discard, n)
		_ = n.Close()
	}()
	s, err := Open(bounded(t), config.Client(l.Endpoint()), silent())
	if err != nil {
		t.Fatal(err)
	}
	defer reading.Wait()
	defer s.Close(bounded(t))
	p, err := s.Publisher("a/b", nil)
	if err != nil {
		t.Fatal(err)
	}
	bg := context.Background()
	for _, size := range []int{8, 1 << 10, 64 << 10, 1 << 20} {
		t.Run(fmt.Sprint(size), func(t *testing.T) {
			payload := make([]byte, size)
			sent := make(chan struct{}, 1)
			o := &PutOptions{Attachment: []byte("stamp"), Encoding: ParseEncoding("text/plain"), Release: func() { sent <- struct{}{} }}
			n := testing.AllocsPerRun(300, func() {
				if err := p.Put(bg, payload, o); err != nil {
					t.Error(err)
				}
				<-sent
			})
			if n > 0 {
				t.Errorf("%v allocations a put", n)
			}
		})
	}
}
