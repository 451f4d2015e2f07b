// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

package config

import (
	"errors"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"
)

func TestLoad(t *testing.T) {
	c := New()
	err := c.Load("session.json5", []byte(`{
  // as users write it
  mode: "client",
  connect: { timeout_ms: { router: -1, peer: -1, client: 500 }, endpoints: ["tcp/192.0.2.1:7447", {strategy: "allOf", locators: ["tls/h:1"]}], },
  'queries_default_timeout': 60000,
  timestamping: { enabled: { router: true, peer: true, client: true } },
  transport: { unicast: { qos: { enabled: "false" } },
    link: { tx: { sequence_number_resolution: 268435456, lease: 60000, keep_alive: 2, queue: { size: { data: 4 }, congestion_control: { block: { wait_before_close: 60000000 } } } }, tls: { connect_private_key_base64: 'c2VjcmV0' } },
    shared_memory: { enabled: true },
    auth: { usrpwd: { user: "alice", password: 'secret', dictionary_file: null } } },
  qos: { publication: [{ key_exprs: ["a/**"], config: { express: false, reliability: 'best_effort' } }] },
  scouting: { multicast: { enabled: true, autoconnect: { router: "true" } } },
  plugins_loading: { enabled: false },
}`))
	if err != nil {
		t.Fatal(err)
	}
	want := New()
	want.Connect.Timeout = 500 * time.Millisecond
	want.Connect.Endpoints = []string{"tcp/192.0.2.1:7447", "tls/h:1"}
	want.QueryTimeout = time.Minute
	want.Timestamping = true
	want.Overwrites = []Overwrite{{KeyExprs: []string{"a/**"}, Config: PublishQoS{Express: new(bool), Reliability: "best_effort"}}}
	want.Transport.QoS = false
	want.Transport.Lease, want.Transport.KeepAlive = time.Minute, 2
	want.Transport.Queue[5] = 4
	want.Transport.WaitBeforeClose = time.Minute
	want.User, want.Password = "alice", "secret"
	want.TLS.ConnectKey64 = "c2VjcmV0"
	want.notes, want.sources, want.modal = c.notes, c.sources, c.modal
	if !reflect.DeepEqual(c, want) {
		t.Errorf("loaded\n %+v, want\n %+v", c, want)
	}
	var noted []string
	for _, n := range c.Notes() {
		noted = append(noted, n.Key+" "+n.Source)
	}
	if got := strings.Join(noted, ", "); got != "scouting/multicast/autoconnect session.json5:12:43, transport/shared_memory session.json5:9:5, transport/unicast/qos/enabled session.json5:7:34" {
		t.Errorf("noted %s", got)
	}
	found := 0
	for _, s := range c.Explain() {
		switch s.Key {
		case "transport/link/tx/lease":
			found++
			if s.Value != "60000" || s.Source != "session.json5:8:58" {
				t.Errorf("explained %+v", s)
			}
		case "transport/auth/usrpwd/password", "transport/link/tls/connect_private_key_base64":
			found++
			if s.Value != `"(hidden)"` {
				t.Errorf("%s is shown as %s", s.Key, s.Value)
			}
		case "transport/link/tx/queue/size/data_low":
			found++
			if s.Value != "2" || s.Source != "built-in" {
				t.Errorf("explained %+v", s)
			}
		}
	}
	if found != 4 {
		t.Errorf("%d of 4 keys explained", found)
	}
}

func TestLoadErrors(t *testing.T) {
	for _, c := range []struct {
		name, text, want string
		is               error
	}{
		{"syntax", "{\n  mode: \"client\",\n  connect: [,]\n}", "f:3:13", ErrSyntax},
		{"ends early", "{\n  mode: ", "f:2:", ErrSyntax},
		{"twice", "{ mode: 'client',\n mode: 'client' }", "f:2:2: key \"mode\" a second time, the first is at 1:3", ErrSyntax},
		{"unknown", "{ connect: {\n endpoint: [] } }", "f:2:2: connect/endpoint is not known; did you mean connect/endpoints?", ErrSetting},
		{"wrong kind", "{ transport: { link: { tx: {\n lease: 'long' } } } }", "f:2:2: transport/link/tx/lease: long is not a number", ErrSetting},
		{"out of range", "{ transport: { link: { tx: { batch_size: 70000 } } } }", "70000 is not in 64 to 65535", ErrSetting},
		{"router", "{ mode: 'router' }", "want client, peer or auto", ErrSetting},
		{"nested", "{ connect: " + strings.Repeat("[", 20_000_000), "more than", ErrSyntax},
		{"nested in little", "{ connect: " + strings.Repeat("[", 100_000), "100001 objects and lists", ErrSyntax},
		{"overwrite of nothing", "{ qos: {\n publication: [{ config: { express: true } }] } }", "f:2:2: qos/publication: entry 1: no key_exprs", ErrSetting},
		{"overwrite with an unknown priority", "{ qos: { publication: [{ key_exprs: ['a'], config: { priority: 'urgent' } }] } }", "priority \"urgent\": want one of real_time,", ErrSetting},
		{"overwrite of an unknown key", "{ qos: { publication: [{ key_exprs: ['a'], config: { speed: 1 } }] } }", "unknown field \"speed\"", ErrSetting},
		{"overwrite of no key expression", "{ qos: { publication: [{ key_exprs: ['/a'] }] } }", "entry 1: ", ErrSetting},
		{"resolution", "{ transport: { link: { tx: { sequence_number_resolution: '9bit' } } } }", "9bit: want one of 8bit,", ErrSetting},
		{"no object", "[]", "want an object", ErrSetting},
		{"group with a value", "{ connect: 3 }", "f:1:3: connect holds other keys: want an object", ErrSetting},
		{"misspelt group", "{ conect: { endpoints: [] } }", "conect is not known; did you mean connect?", ErrSetting},
		{"misspelt and long", "{ transport: { link: { tx: { batchsize: 9 } } } }", "did you mean transport/link/tx/batch_size?", ErrSetting},
	} {
		t.Run(c.name, func(t *testing.T) {
			err := New().Load("f", []byte(c.text))
			if !errors.Is(err, c.is) || !strings.Contains(err.Error(), c.want) {
				t.Errorf("%v, want %q", err, c.want)
			}
		})
	}
	if err := New().Set("foo/bar", "1", "f"); !errors.Is(err, ErrSetting) || strings.Contains(err.Error(), "mean") {
		t.Errorf("a key like none: %v", err)
	}
	if err := New().LoadFile("x.yaml"); !errors.Is(err, ErrSetting) {
		t.Errorf("YAML: %v", err)
	}
	if err := New().LoadFile("missing.json5"); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("missing file: %v", err)
	}
}

// What a variable sets again is not noted any more.
func TestEnv(t *testing.T) {
	file := filepath.Join(t.TempDir(), "s.json5")
	if err := os.WriteFile(file, []byte("{ mode: 'peer', connect: { endpoints: ['tcp/a:1'] }, listeners: ['tcp/b:1'] }"), 0o600); err != nil {
		t.Fatal(err)
	}
	env := map[string]string{
		EnvFile:     file,
		EnvOverride: `mode="client";connect/endpoints=["tcp/192.0.2.1:7447"];nonsense;transport/link/tx/lease=oops;transport/link/tls/client_auth=false`,
	}
	c, err := FromEnv(func(k string) string { return env[k] })
	if err != nil {
		t.Fatal(err)
	}
	if c.Mode != "client" || !reflect.DeepEqual(c.Connect.Endpoints, []string{"tcp/192.0.2.1:7447"}) || c.Transport.Lease != 10*time.Second {
		t.Errorf("settings %+v", c)
	}
	skipped := c.Skipped()
	for _, want := range []string{`"nonsense": invalid setting: want key=value`, "transport/link/tx/lease: "} {
		if !errors.Is(skipped, ErrSetting) || !strings.Contains(skipped.Error(), want) || strings.Contains(skipped.Error(), "client_auth") {
			t.Errorf("skipped %v, want %q", skipped, want)
		}
	}
	var noted []string
	for _, n := range c.Notes() {
		noted = append(noted, n.Key)
	}
	if got := strings.Join(noted, " "); got != "listeners nonsense transport/link/tx/lease transport/link/tls/client_auth" {
		t.Errorf("noted %s", got)
	}
	env[EnvFile] = filepath.Join(t.TempDir(), "none")
	if _, err := FromEnv(func(k string) string { return env[k] }); !errors.Is(err, os.ErrNotExist) || !strings.Contains(err.Error(), EnvFile) {
		t.Errorf("missing file: %v", err)
	}
}

func TestEverySettingReadsWhatItShows(t *testing.T) {
	c := New()
	for _, s := range c.Explain() {
		if s.Doc == "" {
			t.Errorf("%s is not explained", s.Key)
		}
		if err := New().Set(s.Key, s.Value, "test"); err != nil {
			t.Errorf("%s does not take its own value: %v", s.Key, err)
		}
	}
	for old, now := range older {
		if _, gone := unsupportedReason(now); find(now) == nil && !gone {
			t.Errorf("%s stands for %s, which is not known", old, now)
		}
	}
}

func FuzzLoad(f *testing.F) {
	f.Add([]byte("{ mode: 'peer', connect: { endpoints: ['tcp/a:1', {locators: []}] }, /* x */ scouting: {multicast: {enabled: false}} } // end"))
	f.Add([]byte("{a: +.5e3, 'b\\'c': [1,,], \"d\": NaN}"))
	f.Fuzz(func(t *testing.T, b []byte) {
		c := New()
		if err := c.Load("f", b); err == nil && len(c.Explain()) == 0 {
			t.Error("nothing explained")
		}
	})
}
