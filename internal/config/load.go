// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

package config

import (
	"slices"
	"strings"

	"github.com/seed-3c7e7623/camd/capture"
	zenoh "github.com/seed-3c7e7623/camd/zenoh/config"
)

// Input is where settings come from.
type Input struct {
	Name    string   // of the file, for messages; "" = there is none
	Data    []byte   // of the file
	Environ []string // "KEY=VALUE", as [os.Environ]
	Cameras []string // values of --camera: NAME=KIND[:TARGET][,WxH@R][,key=value...]
	Set     []string // values of --set: key=value
	Flags   []FlagValue
}

// FlagValue is the value of a flag that stands for a key.
type FlagValue struct {
	Flag  string // "--log-level"
	Key   string // "log.level"
	Value string
}

// Config is what the daemon is told.
type Config struct {
	RuntimeDir Directory // "" = the usual one
	LogLevel   LogLevel
	LogFormat  LogFormat
	AllowUIDs  UIDs
	CUDA       CUDA
	Zenoh      Zenoh
	ROS2       ROS2
	Cameras    []capture.Spec // in the order of the file, then of the flags

	// Settings lists every value with what set it, in the order of
	// documentation.
	Settings []Setting
	// Warnings are variables named CAMD_ that mean nothing, and cameras of which
	// something cannot be published.
	Warnings []*Problem

	lines   []string // of the file
	session *zenoh.Config
}

// Setting is one value and what set it.
type Setting struct {
	Key   string `json:"key"`
	Value string `json:"value"`
	Set   Origin `json:"set"`
	Env   string `json:"env"` // the variable that can set it
}

// Load puts the settings together. It fails with [*Error], which names every
// problem with its place. Nothing but names of devices is looked up on the
// host; files that are named are [Config.CheckFiles]'s.
func Load(in Input) (*Config, error) {
	l := &loader{env: newEnvironment(in.Environ), cfg: &Config{}}
	if in.Name != "" {
		l.file(parseYAML(&l.report, in.Name, in.Data))
	}
	l.flags(in)
	l.daemon()
	l.cameras()
	if err := l.err(); err != nil {
		return nil, err
	}
	l.cfg.Warnings, l.cfg.lines = l.warnings, l.lines
	return l.cfg, nil
}

// loader is one Load.
type loader struct {
	report
	env  *environment
	cfg  *Config
	own  []assignment // of the daemon's keys
	cams []*camera    // in order
}

// file sorts what stands in the file.
func (l *loader) file(as []assignment) {
	for _, a := range as {
		l.sort(a)
	}
}

// flags sorts what the command line says: first cameras, then single keys.
func (l *loader) flags(in Input) {
	seen := make(map[string]bool)
	for _, text := range in.Cameras {
		at := Origin{Layer: Flag, Name: "--camera"}
		spec, err := capture.ParseSpec(text)
		if err != nil {
			l.add(at, "%s", err)
			continue
		}
		if seen[spec.Name] {
			l.add(at, "camera %s is given twice", spec.Name)
			continue
		}
		seen[spec.Name] = true
		l.camera(spec.Name, at).replace(spec, at)
	}
	for _, f := range in.Flags {
		at := Origin{Layer: Flag, Name: f.Flag}
		l.sort(assignment{path: f.Key, value: f.Value, list: isList(f.Key), from: at, segments: parsePath(f.Key, at)})
	}
	for _, text := range in.Set {
		a, err := parseSet(text)
		if err != nil {
			l.add(Origin{Layer: Flag, Name: "--set"}, "%s", err)
			continue
		}
		l.sort(a)
	}
}

// sort hands an assignment of file or flag to whom it belongs.
func (l *loader) sort(a assignment) {
	if a.path == keyCameras && a.empty {
		return
	}
	name, key, ok := splitCamera(a.path)
	if !ok {
		l.sortOwn(a)
		return
	}
	if err := capture.CheckName(name); err != nil {
		l.add(a.segments[1].at, "%s", err)
		return
	}
	c := l.camera(name, a.segments[1].at)
	switch {
	case key != "":
		a.path = key
		l.cameraKey(c, a)
	case a.empty:
	case a.list:
		l.add(a.from, "camera %s: a list, want keys or KIND[:TARGET][,WxH@R][,key=value...]", name)
	default:
		spec, err := capture.ParseSpec(name + "=" + a.value)
		if err != nil {
			l.add(a.from, "%s", err)
			c.broken = true
			return
		}
		c.replace(spec, a.from)
	}
}

// sortOwn takes a key of the daemon, or says why there is none such.
func (l *loader) sortOwn(a assignment) {
	known := daemonKeys()
	switch {
	case a.path == keyCameras:
		l.add(a.from, "cameras: want the cameras by their names, for example cameras: {test: pattern}")
	case slices.Contains(known, a.path):
		if a.empty {
			return // the value is left to what is weaker
		}
		if a.list && !isList(a.path) {
			l.add(a.from, "%s: a list, want one value", a.path)
			return
		}
		l.own = append(l.own, a)
	case slices.ContainsFunc(known, func(k string) bool { return strings.HasPrefix(k, a.path+".") }):
		if !a.empty {
			l.add(a.from, "%s is a group of keys: %s", a.path, strings.Join(groupKeys(known, a.path), ", "))
		}
	default:
		l.unknown(a, "", append(slices.Clone(known), keyCameras+"."))
	}
}

func groupKeys(known []string, group string) []string {
	var out []string
	for _, k := range known {
		if rest, ok := strings.CutPrefix(k, group+"."); ok {
			out = append(out, rest)
		}
	}
	return out
}

// unknown reports a key that is not among known, at the first part of it that
// leads nowhere. segs of a camera's key begin behind its name.
func (l *loader) unknown(a assignment, of string, known []string) {
	segs := a.segments
	if of != "" {
		segs = segs[2:]
	}
	prefix := ""
	for i, s := range segs {
		level := nextParts(known, prefix)
		if !slices.Contains(level, s.text) {
			if i > 0 && slices.Contains(known, strings.TrimSuffix(prefix, ".")) {
				l.add(s.at, "%s%s is a single value and has no key %q", strings.TrimSuffix(prefix, "."), of, s.text)
				return
			}
			hint := didYouMean(s.text, level)
			if hint == "" {
				hint = didYouMean(a.path, known)
			}
			if hint == "" {
				hint = "; known are " + strings.Join(level, ", ")
			}
			l.add(s.at, "unknown key %q%s%s", prefix+s.text, of, hint)
			return
		}
		prefix += s.text + "."
	}
	l.add(a.keyAt(), "%s%s is a group of keys: %s", a.path, of, strings.Join(nextParts(known, prefix), ", "))
}

// nextParts are the parts that may follow prefix, sorted.
func nextParts(known []string, prefix string) []string {
	var out []string
	for _, k := range known {
		if rest, ok := strings.CutPrefix(k, prefix); ok && rest != "" {
			part, _, _ := strings.Cut(rest, ".")
			if !slices.Contains(out, part) {
				out = append(out, part)
			}
		}
	}
	slices.Sort(out)
	return out
}

// daemon settles the daemon's own keys.
func (l *loader) daemon() {
	level, format := LogLevel("info"), LogFormat("text")
	l.cfg.LogLevel, l.cfg.LogFormat = level, format
	l.cfg.CUDA, l.cfg.Zenoh, l.cfg.ROS2 = usualCUDA(), usualZenoh(), usualROS2()
	g, z, r := &l.cfg.CUDA, &l.cfg.Zenoh, &l.cfg.ROS2
	values := map[string]value{
		keyRuntimeDir: &l.cfg.RuntimeDir, keyAllowUIDs: &l.cfg.AllowUIDs,
		keyLogLevel: &l.cfg.LogLevel, keyLogFormat: &l.cfg.LogFormat,
		keyCUDAEnabled: &g.Enabled, keyCUDALibrary: &g.Library, keyCUDADevice: &g.Device, keyCUDAUsers: &g.Users, keyCUDARingMiB: &g.RingMiB,
		keyZenohEnabled: &z.Enabled, keyZenohMode: &z.Mode, keyZenohConnect: &z.Connect, keyZenohListen: &z.Listen,
		keyZenohConfig: &z.Config, keyZenohOverride: &z.Override,
		keyAccessPublish: &z.Access.Publish, keyAccessAnnounce: &z.Access.Announce, keyAccessAnswer: &z.Access.Answer, keyAccessAccept: &z.Access.Accept,
		keyROSEnabled: &r.Enabled, keyROSDomain: &r.Domain, keyROSNamespace: &r.Namespace,
		keyROSDiagnostics: &r.Diagnostics, keyROSAnyHash: &r.AnyHash, keyROSEnclave: &r.Enclave,
	}
	for _, key := range daemonKeys() {
		v := values[key]
		if a, ok := l.strongest(key); ok {
			if err := v.Set(a.value); err != nil {
				l.add(a.from, "%s: %s", key, err)
				continue
			}
			l.setting(key, v.String(), a.from)
			continue
		}
		text := v.String()
		if usual := z.usual(key); usual != "" {
			text = usual
		}
		l.setting(key, text, Origin{})
	}
	if a, ok := l.strongest(keyZenohListen); ok && z.Mode == ModeClient && len(z.Listen) > 0 {
		l.add(a.from, "%s: has no effect with %s: client, which listens nowhere", keyZenohListen, keyZenohMode)
	}
}

// strongest is the assignment of a daemon's key that counts: the last of the
// file and the flags, with the environment between.
func (l *loader) strongest(key string) (assignment, bool) {
	best, ok := l.env.take(key)
	if !ok {
		best, ok = l.env.takeShared(key)
	}
	for _, a := range l.own {
		if a.path == key && (!ok || a.from.Layer >= best.from.Layer) {
			best, ok = a, true
		}
	}
	return best, ok
}

func (l *loader) setting(key, value string, from Origin) {
	l.cfg.Settings = append(l.cfg.Settings, Setting{Key: key, Value: value, Set: from, Env: EnvName(key)})
}
