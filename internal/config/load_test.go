// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

package config

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/seed-3c7e7623/camd/capture"
)

func load(t *testing.T, in Input) *Config {
	t.Helper()
	c, err := Load(in)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func cameras(c *Config) string {
	texts := make([]string, 0, len(c.Cameras))
	for _, s := range c.Cameras {
		texts = append(texts, s.String())
	}
	return strings.Join(texts, " ")
}

func TestFileSaysWhatTheCommandLineSays(t *testing.T) {
	for _, c := range []struct{ name, yaml, spec string }{
		{"short form", "cameras: {a: \"pattern,64x48@5,seed=3\"}", "a=pattern,64x48@5,seed=3"},
		{"keys", "cameras:\n  a:\n    kind: pattern\n    size: 64x48\n    rate: 5\n    seed: 3", "a=pattern,64x48@5,seed=3"},
		{"nested options", "cameras:\n  a:\n    kind: pattern\n    fault:\n      drop: 5%\n      stall: 10s/2s", "a=pattern,fault.drop=5%,fault.stall=10s/2s"},
		{"dotted options", "cameras:\n  a: {kind: pattern, fault.drop: 5%}", "a=pattern,fault.drop=5%"},
		{"dots from the top", "cameras.a.kind: pattern\ncameras.a.rate: 7", "a=pattern,@7"},
		{"target and bool", "cameras: {a: {kind: replay, target: \"a,b.avi\", loop: true}}", `a=replay:a\,b.avi,loop=true`},
		{"options of the daemon", "cameras: {a: {kind: pattern, max_subscribers: 3, required: no, evict_after: 2s}}", "a=pattern,max_subscribers=3,evict_after=2s,required=no"},
		{"passed on", "cameras: {a: {kind: replay, target: 'rtsp://h/x', input: {rtsp_transport: tcp}}}", "a=replay:rtsp://h/x,input.rtsp_transport=tcp"},
		{"as fast as possible", "cameras: {a: {kind: pattern, rate: 0}}", "a=pattern,rate=0"},
		{"main stream", "cameras: {a: {kind: pattern, streams: {color: {encoding: mono8, size: 64x48, rate: 9}}}}", "a=pattern,64x48@9,encoding=mono8"},
		{"streams", "cameras:\n  a:\n    kind: replay\n    target: x\n    max_rate: 5\n    streams:\n      color: {downscale: 2, frame_id: lens}\n      color/jpeg: {max_rate: 1}", "a=replay:x,max_rate=5,streams.color.downscale=2,streams.color.frame_id=lens,streams.color/jpeg.max_rate=1"},
		{"backends", "cameras: {a: {kind: pattern, backends: [shm, cpu], streams: {color: {backends: shm}}}}", `a=pattern,backends=shm\,cpu,streams.color.backends=shm`},
		{"merged", "cameras:\n  a: &c {kind: pattern, size: 64x48, rate: 5}\n  b: {<<: *c, rate: 7}", "a=pattern,64x48@5 b=pattern,64x48@7"},
		{"merged twice", "cameras:\n  a: &a {kind: pattern, seed: 1}\n  b: &b {<<: *a, size: 8x8}\n  c: {<<: [*b, *a]}", "a=pattern,seed=1 b=pattern,8x8,seed=1 c=pattern,8x8,seed=1"},
		{"alias of a value", "cameras:\n  a: {kind: &k pattern}\n  b: {kind: *k}", "a=pattern b=pattern"},
		{"CRLF and BOM", "\xef\xbb\xbfcameras:\r\n  a:\r\n    kind: pattern\r\n    rate: 5\r\n", "a=pattern,@5"},
		{"version of YAML", "%YAML 1.2\n---\ncameras: {a: pattern}", "a=pattern"},
		{"order", "cameras: {z: pattern, a: pattern}", "z=pattern a=pattern"},
		{"nothing set", "cameras:\n  a:\n    kind: pattern\n    size:\n    fault:\n", "a=pattern"},
		{"no cameras", "cameras:\n", ""},
		{"empty", "# nothing\n---\n", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			fromFile := load(t, Input{Name: "x.yaml", Data: []byte(c.yaml)})
			fromFlags := load(t, Input{Cameras: fields(c.spec)})
			if got, want := cameras(fromFile), cameras(fromFlags); got != want {
				t.Errorf("the file gives %s, the flags give %s", got, want)
			}
			if got := cameras(fromFlags); len(c.spec) > 0 && len(got) == 0 {
				t.Error("no camera")
			}
		})
	}
}

func fields(s string) []string {
	if s == "" {
		return nil
	}
	return strings.Fields(s)
}

func TestWhoWins(t *testing.T) {
	file := "log: {level: warn}\ncameras:\n  a: {kind: pattern, size: 64x48, rate: 5, seed: 1}\n  a_b: pattern\nzenoh: {override: mode='peer'}\n"
	for _, c := range []struct {
		name    string
		env     string
		cameras []string
		set     []string
		key     string
		value   string
		set2    string // Origin
	}{
		{"built-in", "", nil, nil, "log.format", "text", "built-in"},
		{"file", "", nil, nil, "log.level", "warn", "x.yaml:1:14"},
		{"environment over file", "CAMD_LOG_LEVEL=error", nil, nil, "log.level", "error", "CAMD_LOG_LEVEL"},
		{"flag over environment", "CAMD_LOG_LEVEL=error", nil, []string{"log.level=debug"}, "log.level", "debug", "--set log.level"},
		{"the last --set", "", nil, []string{"log.level=debug", "log.level=info"}, "log.level", "info", "--set log.level"},
		{"empty variable is none", "CAMD_LOG_LEVEL=", nil, nil, "log.level", "warn", "x.yaml:1:14"},
		{"key of a camera: file", "", nil, nil, "cameras.a.rate", "5", "x.yaml:3:41"},
		{"key of a camera: environment", "CAMD_CAMERAS_A_RATE=6", nil, nil, "cameras.a.rate", "6", "CAMD_CAMERAS_A_RATE"},
		{"key of a camera: flag", "CAMD_CAMERAS_A_RATE=6", nil, []string{"cameras.a.rate=7"}, "cameras.a.rate", "7", "--set cameras.a.rate"},
		{"dotted key from the environment", "CAMD_CAMERAS_A_FAULT_DROP=5%", nil, nil, "cameras.a.fault.drop", "5%", "CAMD_CAMERAS_A_FAULT_DROP"},
		{"the longer name owns the variable", "CAMD_CAMERAS_A_B_SEED=6", nil, nil, "cameras.a_b.seed", "6", "CAMD_CAMERAS_A_B_SEED"},
		{"stream key", "CAMD_CAMERAS_A_STREAMS_COLOR_ENCODING=mono8", nil, nil, "cameras.a.encoding", "mono8", "CAMD_CAMERAS_A_STREAMS_COLOR_ENCODING"},
		{"key of one stream", "CAMD_CAMERAS_A_STREAMS_COLOR_MAX_RATE=3", nil, nil, "cameras.a.streams.color.max_rate", "3", "CAMD_CAMERAS_A_STREAMS_COLOR_MAX_RATE"},
		{"key of a stream with a second name", "CAMD_CAMERAS_N=replay:x CAMD_CAMERAS_N_STREAMS_COLOR_JPEG_MAX_RATE=3", nil, nil, "cameras.n.streams.color/jpeg.max_rate", "3", "CAMD_CAMERAS_N_STREAMS_COLOR_JPEG_MAX_RATE"},
		{"stream by --set", "", nil, []string{"cameras.a.streams.color.stamp=publish"}, "cameras.a.streams.color.stamp", "publish", "--set cameras.a.streams.color.stamp"},
		{"default by the camera's name", "", nil, nil, "cameras.a.frame_id", "a_optical_frame", "built-in"},
		{"group of one stream", "CAMD_CAMERAS_A_STREAMS_COLOR_JPEG_QUALITY=3", nil, nil, "cameras.a.streams.color.jpeg.quality", "3", "CAMD_CAMERAS_A_STREAMS_COLOR_JPEG_QUALITY"},
		{"variable of ROS", "ROS_DOMAIN_ID=7", nil, nil, "ros2.domain", "7", "ROS_DOMAIN_ID"},
		{"empty variable of ROS", "ROS_DOMAIN_ID=", nil, nil, "ros2.domain", "0", "built-in"},
		{"environment over a variable of ROS", "ROS_DOMAIN_ID=7 CAMD_ROS2_DOMAIN=8", nil, nil, "ros2.domain", "8", "CAMD_ROS2_DOMAIN"},
		{"flag over a variable of ROS", "ROS_NAMESPACE=a", nil, []string{"ros2.namespace=b/c"}, "ros2.namespace", "/b/c", "--set ros2.namespace"},
		{"file over a variable of Zenoh", "ZENOH_CONFIG_OVERRIDE=mode='client'", nil, nil, "zenoh.override", "mode='peer'", "x.yaml:5:19"},
		{"variable of ROS that does not count is not read", "ROS_DOMAIN_ID=x", nil, []string{"ros2.domain=1"}, "ros2.domain", "1", "--set ros2.domain"},
		{"variable of Zenoh", "ZENOH_SESSION_CONFIG_URI=file:///s.json5 ZENOH_CONFIG=/z.json5", nil, nil, "zenoh.config", "file:///s.json5", "ZENOH_SESSION_CONFIG_URI"},
		{"router where nothing is said", "", nil, []string{"zenoh.override="}, "zenoh.connect", "tcp/localhost:7447", "built-in"},
		{"router may be in Zenoh's file", "ZENOH_CONFIG=/z.json5", nil, nil, "zenoh.connect", "", "built-in"},
		{"second variable of Zenoh", "ZENOH_CONFIG=/z.json5", nil, nil, "zenoh.config", "/z.json5", "ZENOH_CONFIG"},
		{"router in the environment", "CAMD_ZENOH_CONNECT=tcp/a:1,tcp/b:2", nil, nil, "zenoh.connect", "tcp/a:1,tcp/b:2", "CAMD_ZENOH_CONNECT"},
		{"new camera in the environment", "CAMD_CAMERAS_NEW=pattern,8x8", nil, nil, "cameras.new.size", "8x8", "CAMD_CAMERAS_NEW"},
		{"new camera by its kind", "CAMD_CAMERAS_NEW_KIND=pattern CAMD_CAMERAS_NEW_RATE=3", nil, nil, "cameras.new.rate", "3", "CAMD_CAMERAS_NEW_RATE"},
		{"passed on from the environment", "CAMD_CAMERAS_N=replay:x CAMD_CAMERAS_N_INPUT_FFLAGS=nobuffer", nil, nil, "cameras.n.input.fflags", "nobuffer", "CAMD_CAMERAS_N_INPUT_FFLAGS"},
		{"--camera replaces the camera", "", []string{"a=pattern,@9"}, nil, "cameras.a.seed", "0", "built-in"},
		{"--camera and --set", "", []string{"a=pattern,@9"}, []string{"cameras.a.seed=4"}, "cameras.a.seed", "4", "--set cameras.a.seed"},
		{"--camera over the environment", "CAMD_CAMERAS_A_SEED=6", []string{"a=pattern,@9"}, nil, "cameras.a.seed", "0", "built-in"},
		{"short form in the environment", "CAMD_CAMERAS_A=pattern,@8", nil, nil, "cameras.a.seed", "0", "built-in"},
		{"short form in --set", "", nil, []string{"cameras.a=pattern,@8"}, "cameras.a.rate", "8", "--set cameras.a"},
	} {
		t.Run(c.name, func(t *testing.T) {
			cfg := load(t, Input{Name: "x.yaml", Data: []byte(file), Environ: strings.Fields(c.env), Cameras: c.cameras, Set: c.set})
			for _, s := range cfg.Settings {
				if s.Key == c.key {
					if s.Value != c.value || s.Set.String() != c.set2 {
						t.Errorf("%s is %q by %s, want %q by %s", c.key, s.Value, s.Set, c.value, c.set2)
					}
					if len(cfg.Warnings) > 0 {
						t.Errorf("warnings %v", cfg.Warnings)
					}
					return
				}
			}
			t.Errorf("no setting %s", c.key)
		})
	}
}

func TestFlagsOfTheDaemon(t *testing.T) {
	cfg := load(t, Input{
		Environ: []string{"CAMD_RUNTIME_DIR=/e", "CAMD_ALLOW_UIDS=1,2", "HOME=/root"},
		Flags:   []FlagValue{{"--runtime-dir", "runtime_dir", "/f"}, {"--log-format", "log.format", "json"}},
		Set:     []string{"allow_uids=7, 8"},
	})
	if cfg.RuntimeDir != "/f" || cfg.LogFormat != "json" || cfg.AllowUIDs.String() != "7,8" || cfg.LogLevel != "info" {
		t.Errorf("%+v", cfg)
	}
}

func TestProblems(t *testing.T) {
	for _, c := range []struct{ name, yaml, where, text string }{
		{"unknown key", "log:\n  levle: debug", "x.yaml:2:3: ", `unknown key "log.levle", did you mean level?`},
		{"unknown group", "log:\n  level: info\nlgo:\n  level: info\n  format: text", "x.yaml:3:1: ", `unknown key "lgo", did you mean log?`},
		{"unknown key of zenoh", "zenoh: {conect: tcp/a:1}", "x.yaml:1:9: ", `unknown key "zenoh.conect", did you mean connect?`},
		{"router", "zenoh:\n  connect: [tcp/a:1, quic/b:2]", "x.yaml:2:12: ", `zenoh.connect: unsupported protocol: "quic/b:2": built in are tcp, tls, unixsock-stream`},
		{"key of Zenoh's", "zenoh: {override: 'mode=\"client\";qeries_default_timeout=5'}", "x.yaml:1:19: ", "qeries_default_timeout is not known; did you mean queries_default_timeout?"},
		{"value of Zenoh's", "zenoh: {override: 'mode=\"router\"'}", "x.yaml:1:19: ", "want client, peer or auto"},
		{"no pair", "zenoh: {override: mode}", "x.yaml:1:19: ", "want key=value with ; between them"},
		{"switch", "zenoh: {enabled: atuo}", "x.yaml:1:18: ", "want one of auto, true, false, did you mean auto?"},
		{"domain", "ros2: {domain: -1}", "x.yaml:1:16: ", `ros2.domain: "-1": want a whole number from 0`},
		{"namespace", "ros2: {namespace: robot-1}", "x.yaml:1:19: ", `letters, digits and underscores without a digit in front, for example /robot1`},
		{"diagnostics", "ros2: {diagnostics: maybe}", "x.yaml:1:21: ", "want true or false"},
		{"QoS", "cameras:\n  a:\n    kind: pattern\n    qos: reliabel", "x.yaml:4:10: ", "did you mean reliable?"},
		{"JPEG of a stream", "cameras:\n  a:\n    kind: pattern\n    streams: {color: {jpeg: {quality: 101}}}", "x.yaml:4:39: ", "camera a: streams.color: option jpeg.quality=101: want a whole number from 1 to 100"},
		{"unknown key of a group of a stream", "cameras:\n  a:\n    kind: pattern\n    streams: {color: {jpeg: {qualty: 1}}}", "x.yaml:4:30: ", "did you mean jpeg.quality?"},
		{"backend misspelt", "cameras:\n  a:\n    kind: pattern\n    backends: [smh]", "x.yaml:4:15: ", "did you mean shm?"},
		{"unknown and far", "zebra: 1", "x.yaml:1:1: ", "known are allow_uids, cameras, cuda, log, ros2, runtime_dir, zenoh"},
		{"unknown key of a camera", "cameras:\n  a:\n    kind: pattern\n    siz: 1x1", "x.yaml:4:5: ", `unknown key "siz" of camera a, did you mean size?`},
		{"unknown option of the kind", "cameras:\n  a:\n    kind: pattern\n    loop: true", "x.yaml:4:5: ", `unknown key "loop" of camera a`},
		{"unknown nested option", "cameras:\n  a:\n    kind: pattern\n    fault:\n      dorp: 5%", "x.yaml:5:7: ", `unknown key "fault.dorp" of camera a, did you mean drop?`},
		{"unknown kind", "cameras:\n  a:\n    kind: patern", "x.yaml:3:11: ", `unknown kind "patern", did you mean pattern?`},
		{"no kind", "cameras:\n  a:\n    rate: 5", "x.yaml:2:3: ", "camera a has no kind"},
		{"nothing", "cameras:\n  a:", "x.yaml:2:3: ", "camera a has no kind"},
		{"bad name", "cameras:\n  Front: pattern", "x.yaml:2:3: ", `name "Front"`},
		{"wrong unit", "cameras:\n  a:\n    kind: pattern\n    fault: {jitter: 5 parsecs}", "x.yaml:4:21: ", "want a duration, for example 20ms"},
		{"rate with a unit", "cameras:\n  a:\n    kind: pattern\n    rate: 30fps", "x.yaml:4:11: ", `rate "30fps": want frames per second`},
		{"rate in the size", "cameras:\n  a: {kind: pattern, size: 64x48@5}", "x.yaml:2:28: ", "the rate has its own key, rate"},
		{"wrong type", "cameras:\n  a:\n    kind: pattern\n    required: maybe", "x.yaml:4:15: ", "want true or false"},
		{"list for a value", "cameras:\n  a:\n    kind: pattern\n    size: [64, 48]", "x.yaml:4:11: ", "size of camera a: a list, want one value"},
		{"mapping for a value", "log:\n  level:\n    very: high", "x.yaml:3:5: ", `log.level is a single value and has no key "very"`},
		{"value for a mapping", "log: debug", "x.yaml:1:6: ", "log is a group of keys: level, format"},
		{"value for a group of a camera", "cameras:\n  a:\n    kind: pattern\n    fault: 5%", "x.yaml:4:5: ", "fault of camera a is a group of keys: drop, duplicate, jitter, resize, stall"},
		{"value for cameras", "cameras: front", "x.yaml:1:10: ", "want the cameras by their names"},
		{"list of cameras", "cameras:\n  - front", "x.yaml:2:3: ", "want the cameras by their names"},
		{"list of mappings", "allow_uids:\n  - {id: 5}", "x.yaml:2:5: ", "a mapping is not used here"},
		{"no user", "allow_uids: [1000, bob]", "x.yaml:1:13: ", `"bob": no user has this name`},
		{"level", "log: {level: inf}", "x.yaml:1:14: ", "want one of debug, info, warn, error, did you mean info?"},
		{"two cameras of one name", "cameras:\n  a: pattern\n  b: pattern\n  a: pattern", "x.yaml:4:3: ", `key "a" is here a second time, the first is in line 2`},
		{"one key two ways", "cameras:\n  a:\n    kind: pattern\n    fault: {drop: 1%}\n    fault.drop: 2%", "x.yaml:5:5: ", "fault.drop of camera a is here a second time, the first is in line 4"},
		{"camera and its stream", "cameras:\n  a:\n    kind: pattern\n    rate: 5\n    streams: {color: {rate: 6}}", "x.yaml:5:23: ", "rate of camera a is here a second time"},
		{"value of a stream", "cameras:\n  a:\n    kind: pattern\n    streams:\n      color:\n        max_rate: often", "x.yaml:6:19: ", "camera a: streams.color: option max_rate=often: want a number"},
		{"value of every stream", "cameras:\n  a:\n    kind: pattern\n    stamp: now", "x.yaml:4:12: ", "want one of capture, publish"},
		{"stream that there is not", "cameras:\n  a:\n    kind: pattern\n    streams: {depth: {max_rate: 5}}", "x.yaml:4:33: ", `kind pattern has no stream "depth"`},
		{"stream whose source is not settable", "cameras:\n  a:\n    kind: replay\n    target: x\n    streams: {color/jpeg: {size: 5x5}}", "x.yaml:5:28: ", "size of stream a/color/jpeg cannot be chosen, only that of a/color"},
		{"backends", "cameras:\n  a:\n    kind: pattern\n    backends: [shm, rdma]", "x.yaml:4:15: ", `option backends: "rdma": want some of cuda, shm, cpu`},
		{"unknown key of a stream", "cameras:\n  a:\n    kind: pattern\n    streams: {color: {encodin: rgb8}}", "x.yaml:4:23: ", "did you mean encoding?"},
		{"two cameras on one device", "cameras:\n  a:\n    kind: v4l2\n    target: /dev/v\n  b:\n    kind: v4l2\n    target: /dev/v", "x.yaml:7:13: ", "camera b is on the device of a, /dev/v"},
		{"two cameras on one device, spelled differently", "cameras:\n  a:\n    kind: v4l2\n    target: /dev/v\n  b:\n    kind: v4l2\n    target: /dev//x/../v", "x.yaml:7:13: ", "camera b is on the device of a, /dev/v"},
		{"two cameras on the first device", "cameras:\n  a: v4l2\n  b: v4l2", "x.yaml:3:6: ", "both would take the first device"},
		{"refused by the source", "cameras:\n  a:\n    kind: replay\n    target: x\n    size: 5x5\n    encoding: nv12", "x.yaml:5:11: ", "must be even"},
		{"no file", "cameras:\n  a:\n    kind: replay", "x.yaml:3:11: ", "needs a file or URL"},
		{"bad short form", "cameras:\n  a: pattern,64x", "x.yaml:2:6: ", "neither a size"},
		{"syntax", "log:\n\tlevel: debug", "x.yaml:2:1: ", "found character '\t' that cannot start any token"},
		{"open quote", "log: {level: \"info", "x.yaml:1:14: ", "could not find end character"},
		{"tag", "runtime_dir: !!binary aGk=", "x.yaml:1:14: ", "tag is not used here"},
		{"value by an alias", "runtime_dir: &x /run\nlog:\n  level: *x", "x.yaml:3:10: ", `"/run": want one of debug`},
		{"list by an alias", "allow_uids: &x [1, 2]\nlog:\n  level: *x", "x.yaml:3:10: ", "log.level: a list, want one value"},
		{"unknown anchor", "runtime_dir: *x", "x.yaml:1:14: ", "no anchor &x"},
		{"two documents", "log: {level: info}\n---\nlog: {level: warn}", "x.yaml:3:1: ", "a second document"},
		{"no mapping", "hello", "x.yaml:1:1: ", "want keys with values"},
		{"list at the top", "- a", "x.yaml:1:1: ", "a list at the top"},
		{"not text", "a: \xff", "x.yaml: ", "not UTF-8"},
		{"deep", "a: " + strings.Repeat("[", 5000), "x.yaml:1:12: ", "nested deeper"},
		{"after umlauts", "# äöü\nlog: {levél: 5}", "x.yaml:2:7: ", "did you mean level?"},
		{"control character", "runtime_dir: \"a\\u0007b\"", "x.yaml:1:14: ", "control character"},
		{"line break", "runtime_dir: |\n  a\n  b", "x.yaml:1:14: ", "control character"},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := Load(Input{Name: "x.yaml", Data: []byte(c.yaml)})
			var all *Error
			if !errors.As(err, &all) || !errors.Is(err, ErrInvalid) || !errors.Is(err, capture.ErrConfig) {
				t.Fatalf("%v", err)
			}
			first, _, _ := strings.Cut(err.Error(), "\n")
			if !strings.HasPrefix(first, c.where) || !strings.Contains(first, c.text) || len(all.Problems) != 1 {
				t.Errorf("%d problems:\n%v\nwant %s... %s", len(all.Problems), err, c.where, c.text)
			}
		})
	}
}

func TestProblemsOutsideTheFile(t *testing.T) {
	for _, c := range []struct {
		name string
		in   Input
		want string
	}{
		{"environment", Input{Environ: []string{"CAMD_LOG_LEVEL=loud"}}, `CAMD_LOG_LEVEL: log.level: "loud": want one of`},
		{"option in the environment", Input{Cameras: nil, Environ: []string{"CAMD_CAMERAS_A=pattern", "CAMD_CAMERAS_A_SEED=x"}}, "CAMD_CAMERAS_A_SEED: camera a: option seed=x"},
		{"set of an unknown key", Input{Set: []string{"log.levl=info"}}, `--set log.levl: unknown key "log.levl", did you mean level?`},
		{"set of an option", Input{Cameras: []string{"a=pattern"}, Set: []string{"cameras.a.sed=1"}}, `--set cameras.a.sed: unknown key "sed" of camera a, did you mean seed?`},
		{"set without a value", Input{Set: []string{"log.level"}}, "--set: \"log.level\": want key=value"},
		{"set of no camera", Input{Set: []string{"cameras.x.rate=5"}}, "--set cameras.x.rate: camera x has no kind"},
		{"variable of ROS", Input{Environ: []string{"ROS_DOMAIN_ID=five"}}, `ROS_DOMAIN_ID: ros2.domain: "five": want a whole number`},
		{"variable of Zenoh", Input{Environ: []string{"ZENOH_CONFIG_OVERRIDE=nix=1"}}, "ZENOH_CONFIG_OVERRIDE: zenoh.override: invalid setting"},
		{"flag", Input{Flags: []FlagValue{{"--log-level", "log.level", "x"}}}, "--log-level: log.level: "},
		{"camera twice", Input{Cameras: []string{"a=pattern", "a=pattern"}}, "--camera: camera a is given twice"},
		{"camera", Input{Cameras: []string{"a=pattern,sed=3"}}, `--camera: unknown key "sed" of camera a, did you mean seed?`},
		{"bad camera", Input{Cameras: []string{"pattern"}}, "there is no ="},
	} {
		t.Run(c.name, func(t *testing.T) {
			if _, err := Load(c.in); !errors.Is(err, ErrInvalid) || !strings.Contains(err.Error(), c.want) {
				t.Errorf("%v, want %q", err, c.want)
			}
		})
	}
}

func TestEveryProblemIsReported(t *testing.T) {
	_, err := Load(Input{Name: "x.yaml", Data: []byte("cameras:\n  a:\n    kind: pattern\n    rat: 5\n    rate: x\n    seed: y\nlog: {level: z}\n"), Set: []string{"nix=1"}})
	var all *Error
	if !errors.As(err, &all) {
		t.Fatal(err)
	}
	var places []string
	for _, p := range all.Problems {
		places = append(places, p.Where.String())
	}
	if got, want := strings.Join(places, " "), "x.yaml:4:5 x.yaml:5:11 x.yaml:6:11 x.yaml:7:14 --set nix"; got != want {
		t.Errorf("places %s, want %s", got, want)
	}
	const excerpt = "x.yaml:4:5: unknown key \"rat\" of camera a, did you mean rate?\n     3 |     kind: pattern\n>    4 |     rat: 5\n       |     ^\n"
	if !strings.HasPrefix(err.Error(), excerpt) {
		t.Errorf("%v", err)
	}
}

func TestUnknownVariablesAreWarnedOf(t *testing.T) {
	c := load(t, Input{Environ: []string{"CAMD_LOG_LVEL=debug", "CAMD_TEST_CLIP=x", "OTHER=1", "CAMD_CAMERAS_A=pattern", "CAMD_CAMERAS_A_SED=1"}})
	var got []string
	for _, w := range c.Warnings {
		got = append(got, w.Error())
	}
	want := "CAMD_CAMERAS_A_SED: no key of this name, did you mean CAMD_CAMERAS_A_SEED?|CAMD_LOG_LVEL: no key of this name, did you mean CAMD_LOG_LEVEL?"
	if strings.Join(got, "|") != want {
		t.Errorf("%s", strings.Join(got, "|"))
	}
}

func TestLinksToOneDevice(t *testing.T) {
	dir := t.TempDir()
	device, link := filepath.Join(dir, "video0"), filepath.Join(dir, "by-id")
	if err := os.WriteFile(device, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(device, link); err != nil {
		t.Fatal(err)
	}
	_, err := Load(Input{Cameras: []string{"a=v4l2:" + device, "b=v4l2:" + link}})
	if !errors.Is(err, ErrInvalid) || !strings.Contains(err.Error(), "camera b is on the device of a") {
		t.Error(err)
	}
}

func TestReadFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "c.yaml")
	big := strings.Repeat("# padding\n", MaxFileBytes/10+1)
	if err := os.WriteFile(path, []byte(big), 0o600); err != nil {
		t.Fatal(err)
	}
	var in Input
	if err := in.ReadFile(t.Context(), path); err != nil {
		t.Fatal(err)
	}
	if _, err := Load(in); err == nil || !strings.Contains(err.Error(), fmt.Sprintf("at most %d are read", MaxFileBytes)) {
		t.Error(err)
	}
	for _, bad := range []string{path + ".none", filepath.Dir(path)} {
		if err := in.ReadFile(t.Context(), bad); !errors.Is(err, ErrInvalid) || !strings.Contains(err.Error(), bad) {
			t.Errorf("%s: %v", bad, err)
		}
	}
	if in = (Input{}); in.ReadFile(t.Context(), "") != nil || in.Name != "" {
		t.Errorf("no file: %+v", in)
	}
}
