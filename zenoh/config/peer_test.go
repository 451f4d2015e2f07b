// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

package config

import (
	"errors"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"
)

// What depends on the mode follows it, wherever in the text the mode stands.
func TestModes(t *testing.T) {
	const text = `{
  mode: "peer",
  connect: { endpoints: { router: [], peer: ["tcp/a:1"], client: ["tcp/b:1"] }, timeout_ms: { client: 500 } },
  timestamping: { enabled: { router: true, peer: true, client: false } },
  scouting: { delay: 100, multicast: { ttl: 3, autoconnect: { router: [], peer: ["router"] }, autoconnect_strategy: { peer: { to_router: "always", to_peer: "greater-zid" } } },
    gossip: { target: { router: ["router", "peer"], peer: ["router"] }, autoconnect: "router|peer", autoconnect_strategy: "greater-zid" } },
}`
	c := New()
	if err := c.Load("f", []byte(text)); err != nil {
		t.Fatal(err)
	}
	want := Peer("tcp/a:1")
	want.Timestamping = true
	want.Scout.Delay, want.Scout.TTL = 100*time.Millisecond, 3
	want.Scout.Autoconnect = Autoconnect{[]string{"router"}, Strategy{"always", "greater-zid", "always"}}
	want.Scout.Gossip.Target = []string{"router"}
	want.Scout.Gossip.Autoconnect.Strategy = Strategy{"greater-zid", "greater-zid", "greater-zid"}
	want.sources, want.modal = c.sources, c.modal
	if !reflect.DeepEqual(c, want) {
		t.Errorf("a peer has\n %+v, want\n %+v", c, want)
	}
	if a := c.Scout.Autoconnect; !a.Allows("router") || a.Allows("peer") || a.Greater("router") || !a.Greater("peer") {
		t.Errorf("connects with %+v", a)
	}
	if err := c.Set("mode", `"client"`, "test"); err != nil {
		t.Fatal(err)
	}
	if c.Connect.Timeout != 500*time.Millisecond || !c.Connect.ExitOnFailure || len(c.Listen) != 0 || c.Timestamping ||
		!slices.Equal(c.Connect.Endpoints, []string{"tcp/b:1"}) || !slices.Equal(c.Scout.Autoconnect.Roles, []string{"router"}) || c.Scout.TTL != 3 {
		t.Errorf("a client has %+v", c)
	}
	if err := c.Set("mode", `"auto"`, "test"); err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(c.Listen, []string{"tcp/[::]:0"}) || c.Connect.ExitOnFailure || !slices.Equal(c.Connect.Endpoints, []string{"tcp/a:1"}) {
		t.Errorf("in mode auto it has %+v", c)
	}
	// What the program has set stays.
	c = New()
	c.Connect.ExitOnFailure, c.Connect.RetryMax, c.Listen = false, time.Minute, []string{"tcp/localhost:0"}
	if err := c.Set("mode", `"peer"`, "test"); err != nil {
		t.Fatal(err)
	}
	if c.Connect.ExitOnFailure || c.Connect.RetryMax != time.Minute || !slices.Equal(c.Listen, []string{"tcp/localhost:0"}) {
		t.Errorf("the mode changed what was set: %+v", c)
	}
	for key, v := range map[string]string{
		"scouting/gossip/target": `["client"]`, "scouting/multicast/autoconnect": `["robot"]`,
		"scouting/gossip/autoconnect_strategy": `"never"`, "scouting/multicast/autoconnect_strategy": `{to_robot: "always"}`,
		"transport/unicast/max_sessions": "0", "mode": `"robot"`,
	} {
		if err := c.Set(key, v, "test"); !errors.Is(err, ErrSetting) {
			t.Errorf("%s = %s: %v, want ErrSetting", key, v, err)
		}
	}
}

func TestUsers(t *testing.T) {
	c := New()
	if u, err := c.Users(); u != nil || err != nil {
		t.Errorf("without a file: %v, %v", u, err)
	}
	c.UsersFile = filepath.Join(t.TempDir(), "users")
	write := func(text string) {
		if err := os.WriteFile(c.UsersFile, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write("alice:secret\n\nbob:a:b\n")
	if u, err := c.Users(); err != nil || !reflect.DeepEqual(u, map[string]string{"alice": "secret", "bob": "a:b"}) {
		t.Errorf("%v, %v", u, err)
	}
	write("alice:secret\nbob\n")
	if _, err := c.Users(); err == nil || !strings.Contains(err.Error(), ":2: want user:password") {
		t.Errorf("a line without password: %v", err)
	}
}
