// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

package client

import (
	"context"
	"errors"
	"testing"
)

// Who waits for a session that another call opens does so no longer than it
// wants, and the other call goes on.
func TestJoinWhileAnotherOpens(t *testing.T) {
	ls := links{all: map[string]*link{}}
	asked, refuse := make(chan struct{}), make(chan struct{})
	failed := errors.New("no router")
	o := &options{open: func(context.Context) (session, error) {
		close(asked)
		<-refuse
		return nil, failed
	}}
	first := make(chan error, 1)
	go func() {
		_, err := ls.join(context.Background(), o)
		first <- err
	}()
	<-asked
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := ls.join(ctx, o); !errors.Is(err, context.Canceled) {
		t.Errorf("%v", err)
	}
	close(refuse)
	if err := <-first; !errors.Is(err, failed) || len(ls.all) != 0 {
		t.Errorf("%v, %d links are left", err, len(ls.all))
	}
}
