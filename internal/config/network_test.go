// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

package config

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/seed-3c7e7623/camd/calib"
	"github.com/seed-3c7e7623/camd/internal/daemon"
)

func write(t *testing.T, name, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestSessionSettings(t *testing.T) {
	file := write(t, "s.json5", `{connect: {endpoints: ["tcp/file:1"]}, queries_default_timeout: 700, /* of all */ transport: {link: {tx: {lease: 7000}}}}`)
	for _, c := range []struct {
		name      string
		in        Input
		endpoints []string
		lease     string
	}{
		{"nothing said", Input{}, []string{DefaultRouter}, "10s"},
		{"file", Input{Set: []string{"zenoh.config=" + file}}, []string{"tcp/file:1"}, "7s"},
		{"file as ROS has it", Input{Environ: []string{"ZENOH_SESSION_CONFIG_URI=file://" + file}}, []string{"tcp/file:1"}, "7s"},
		{"override over the file", Input{
			Set: []string{"zenoh.config=" + file}, Environ: []string{`ZENOH_CONFIG_OVERRIDE=transport/link/tx/lease=5000;connect/endpoints=["tcp/over:1"]`},
		}, []string{"tcp/over:1"}, "5s"},
		{"routers over both", Input{
			Set: []string{"zenoh.config=" + file, "zenoh.connect=tcp/a:1,tcp/b:2"}, Environ: []string{`CAMD_ZENOH_OVERRIDE=connect/endpoints=["tcp/over:1"]`},
		}, []string{"tcp/a:1", "tcp/b:2"}, "7s"},
	} {
		t.Run(c.name, func(t *testing.T) {
			cfg := load(t, c.in)
			if err := cfg.CheckFiles(); err != nil {
				t.Fatal(err)
			}
			s, err := cfg.Zenoh.Session()
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(c.endpoints, s.Connect.Endpoints); diff != "" || s.Transport.Lease.String() != c.lease || s.Connect.ExitOnFailure {
				t.Errorf("endpoints (-want +got):\n%s lease %v, want %s; exit on failure %v", diff, s.Transport.Lease, c.lease, s.Connect.ExitOnFailure)
			}
		})
	}
}

// Who a session is, and where it listens: Zenoh's own file and variables replace
// what is built in, and the keys of camd those.
func TestSessionModes(t *testing.T) {
	ros := write(t, "ros.json5", `{mode: "peer", connect: {endpoints: ["tcp/localhost:7447"]}, listen: {endpoints: ["tcp/localhost:0"]}, scouting: {multicast: {enabled: false}}}`)
	plain := write(t, "plain.json5", `{transport: {link: {tx: {lease: 7000}}}}`)
	strict := write(t, "strict.json5", `{mode: "client", connect: {exit_on_failure: true}}`)
	anywhere := []string{"tcp/[::]:0"}
	for _, c := range []struct {
		name            string
		in              Input
		mode            string
		connect, listen []string
		multicast, must bool
	}{
		{"nothing said", Input{}, "auto", []string{DefaultRouter}, anywhere, true, false},
		{"client", Input{Set: []string{"zenoh.mode=client"}}, "client", []string{DefaultRouter}, nil, true, false},
		{"peer", Input{Set: []string{"zenoh.mode=peer"}}, "peer", nil, anywhere, true, false},
		{"peer of somebody", Input{Set: []string{"zenoh.mode=peer", "zenoh.connect=tcp/a:1", "zenoh.listen=tcp/127.0.0.1:0"}}, "peer", []string{"tcp/a:1"}, []string{"tcp/127.0.0.1:0"}, true, false},
		{"as ROS has it", Input{Environ: []string{"ZENOH_SESSION_CONFIG_URI=" + ros}}, "peer", []string{DefaultRouter}, []string{"tcp/localhost:0"}, false, false},
		{"mode over the file", Input{Environ: []string{"ZENOH_SESSION_CONFIG_URI=" + ros}, Set: []string{"zenoh.mode=client"}}, "client", []string{DefaultRouter}, []string{"tcp/localhost:0"}, false, false},
		{"file without a mode", Input{Set: []string{"zenoh.config=" + plain}}, "auto", []string{DefaultRouter}, anywhere, true, false},
		{"override", Input{Environ: []string{`ZENOH_CONFIG_OVERRIDE=mode="client"`}}, "client", []string{DefaultRouter}, nil, true, false},
		{"file that must connect", Input{Set: []string{"zenoh.config=" + strict}}, "client", []string{DefaultRouter}, nil, true, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			s, err := load(t, c.in).Session()
			if err != nil {
				t.Fatal(err)
			}
			if s.Mode != c.mode || s.Scout.Multicast != c.multicast || s.Connect.ExitOnFailure != c.must || s.ListenExitOnFailure {
				t.Errorf("mode %s, multicast %v, must connect %v, must listen %v", s.Mode, s.Scout.Multicast, s.Connect.ExitOnFailure, s.ListenExitOnFailure)
			}
			if diff := cmp.Diff(c.connect, s.Connect.Endpoints); diff != "" {
				t.Errorf("connect (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(c.listen, s.Listen); diff != "" {
				t.Errorf("listen (-want +got):\n%s", diff)
			}
		})
	}
}

func TestAccessSettings(t *testing.T) {
	c := load(t, Input{
		Name: "x.yaml", Data: []byte("zenoh:\n  access:\n    publish: [front/*, /diagnostics]\n    announce: []\n"),
		Environ: []string{"CAMD_ZENOH_ACCESS_ANSWER=a/*, b/**"},
	})
	want := daemon.Access{
		Publish: daemon.Rules{"front/*", "/diagnostics"}, Announce: daemon.Rules{}, Answer: daemon.Rules{"a/*", "b/**"}, Accept: daemon.Rules{"**"},
	}
	if diff := cmp.Diff(want, c.Zenoh.Access.Daemon()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	for in, text := range map[string]string{
		"zenoh: {access: {publish: [fr*nt]}}":       `x.yaml:1:27: zenoh.access.publish: "fr*nt": invalid key expression`,
		"zenoh: {access: {announce: /a/b}}":         `x.yaml:1:28: zenoh.access.announce: "/a/b": a topic of ROS 2; want a stream, for example front/*`,
		"zenoh: {access: {anounce: [a]}}":           `x.yaml:1:18: unknown key "zenoh.access.anounce", did you mean announce?`,
		"zenoh: {mode: router}":                     `x.yaml:1:15: zenoh.mode: "router": want one of auto, client, peer`,
		"zenoh: {mode: client, listen: tcp/a.b:70}": "x.yaml:1:31: zenoh.listen: has no effect with zenoh.mode: client",
		"zenoh: {listen: nonsense}":                 "x.yaml:1:17: zenoh.listen: ",
		"zenoh: {access: [a]}":                      "zenoh.access is a group of keys: publish, announce, answer, accept",
	} {
		_, err := Load(Input{Name: "x.yaml", Data: []byte(in)})
		if err == nil || !strings.Contains(err.Error(), text) {
			t.Errorf("%s:\n%v\nwant %s", in, err, text)
		}
	}
}

func TestROS2Settings(t *testing.T) {
	c := load(t, Input{Environ: []string{"ROS_DOMAIN_ID= 42 ", "ROS_NAMESPACE=robot1/front", "CAMD_ROS2_DIAGNOSTICS=off", "CAMD_ROS2_ANY_HASH=on"}})
	if diff := cmp.Diff(ROS2{Enabled: true, Domain: 42, Namespace: "/robot1/front", AnyHash: true, Enclave: "/"}, c.ROS2); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// What a camera cannot be together with ros2.* is told at the key of the camera.
func TestROS2AndCameras(t *testing.T) {
	long := strings.Repeat("n", 150)
	for _, c := range []struct{ yaml, where, text string }{
		{"ros2: {any_hash: true}\ncameras:\n  a: {kind: pattern, qos: reliable}", "", ""},
		{"ros2: {any_hash: true}\ncameras:\n  a: {kind: pattern, qos: transient_local}", "x.yaml:3:27: ", "camera a: option qos: transient_local does not go together with ros2.any_hash"},
		{"ros2: {any_hash: true, enabled: false}\ncameras:\n  a: {kind: pattern, qos: transient_local}", "", ""},
		{"ros2: {namespace: " + long + "}\ncameras:\n  a: {kind: pattern, topic: " + long + "}", "x.yaml:3:29: ", "at most 247"},
		{"cameras:\n  a: {kind: pattern, topic: /" + strings.Repeat("n", 240) + "}", "x.yaml:2:29: ", "at most 247"},
	} {
		_, err := Load(Input{Name: "x.yaml", Data: []byte(c.yaml)})
		if c.where == "" {
			if err != nil {
				t.Error(err)
			}
			continue
		}
		var all *Error
		if !errors.As(err, &all) || len(all.Problems) != 1 || !strings.HasPrefix(err.Error(), c.where) || !strings.Contains(err.Error(), c.text) {
			t.Errorf("%v, want %s%s", err, c.where, c.text)
		}
	}
}

func TestFilesThatAreNamed(t *testing.T) {
	calibration, err := calib.Calibration{
		Width: 1280, Height: 720, Model: calib.PlumbBob, D: make([]float64, 5),
		K: [9]float64{900, 0, 640, 0, 900, 360, 0, 0, 1},
		R: [9]float64{1, 0, 0, 0, 1, 0, 0, 0, 1},
		P: [12]float64{900, 0, 640, 0, 0, 900, 360, 0, 0, 0, 1, 0},
	}.YAML()
	if err != nil {
		t.Fatal(err)
	}
	good := write(t, "good.yaml", string(calibration))
	bad := write(t, "bad.yaml", strings.Replace(string(calibration), "900, 0, 640", "900, x, 640", 1))
	pattern := func(more string) string { return "cameras:\n  a:\n    kind: pattern\n" + more }
	for _, c := range []struct{ name, yaml, where, text string }{
		{"nothing named", "", "", ""},
		{"calibration", pattern("    size: 640x360\n    camera_info: " + good), "", ""},
		{"calibration of a stream", pattern("    streams: {color: {camera_info: " + good + "}}"), "", ""},
		{"calibration as ROS names it", pattern("    camera_info: file://" + good), "", ""},
		{"calibration is not there", pattern("    camera_info: /none.yaml"), "x.yaml:4:18: ", "camera a: camera_info: open /none.yaml: no such file or directory"},
		{"calibration is broken", pattern("    streams: {color: {camera_info: " + bad + "}}"), "x.yaml:4:36: ", "camera a: streams.color.camera_info: " + bad + `:7:15: camera_matrix.data: number 2 of 9 is "x"`},
		{"calibration of another shape", pattern("    size: 640x480\n    camera_info: " + good), "x.yaml:5:18: ", "calibration is of another picture: 1280x720, the pictures are 640x480"},
		{"no Zenoh file", "zenoh: {config: /none.json5}", "x.yaml:1:17: ", "zenoh.config: open /none.json5: no such file or directory"},
		{"no Zenoh file, but nobody wants it", "zenoh: {config: /none.json5, enabled: no}", "", ""},
		{"Zenoh file is broken", "zenoh: {config: " + write(t, "b.json5", "{\n  mode: 'client'\n  connect: {}}") + "}", "x.yaml:1:17: ", "b.json5:3:3: "},
		{"unknown key of Zenoh", "zenoh: {config: " + write(t, "k.json5", "{\n  transport: {link: {tx: {leese: 5}}}}") + "}", "x.yaml:1:17: ", "k.json5:2:27: transport/link/tx/leese is not known; did you mean transport/link/tx/lease?"},
		{"unknown protocol", "zenoh: {config: " + write(t, "p.json5", "{connect: {endpoints: ['udp/a:1']}}") + "}", "x.yaml:1:17: ", "unsupported protocol"},
		{"no certificate", "zenoh: {config: " + write(t, "t.json5", "{transport: {link: {tls: {\n root_ca_certificate: '/none.pem'}}}}") + "}", "x.yaml:1:17: ", "t.json5:2:2)"},
		{"half a certificate", "zenoh: {config: " + write(t, "m.json5", "{transport: {link: {tls: {enable_mtls: true}}}}") + "}", "x.yaml:1:17: ", "enable_mtls needs connect_certificate"},
	} {
		t.Run(c.name, func(t *testing.T) {
			cfg := load(t, Input{Name: "x.yaml", Data: []byte(c.yaml)})
			err := cfg.CheckFiles()
			if c.where == "" {
				if err != nil {
					t.Error(err)
				}
				return
			}
			var all *Error
			if !errors.As(err, &all) || !errors.Is(err, ErrInvalid) {
				t.Fatalf("%v", err)
			}
			first, rest, _ := strings.Cut(err.Error(), "\n")
			if len(all.Problems) != 1 || !strings.HasPrefix(first, c.where) || !strings.Contains(first, c.text) || !strings.Contains(rest, "^") {
				t.Errorf("%v\nwant %s... %s", err, c.where, c.text)
			}
		})
	}
}
