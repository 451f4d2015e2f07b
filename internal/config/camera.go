// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

package config

import (
	"errors"
	"maps"
	"slices"
	"strings"

	"github.com/seed-3c7e7623/camd/capture"
	"github.com/seed-3c7e7623/camd/capture/kinds"
	"github.com/seed-3c7e7623/camd/internal/daemon"
)

// camera is what all layers say about one camera.
type camera struct {
	name   string
	at     Origin // where it is first named
	keys   map[string]assignment
	whole  Layer // that gave the whole camera by a short form: weaker ones do not count
	broken bool  // something was reported that would only lead to more
}

// camera finds the camera or adds it.
func (l *loader) camera(name string, at Origin) *camera {
	for _, c := range l.cams {
		if c.name == name {
			return c
		}
	}
	c := &camera{name: name, at: at, keys: make(map[string]assignment)}
	l.cams = append(l.cams, c)
	return c
}

// replace forgets what was said so far: a short form is the whole camera.
func (c *camera) replace(spec capture.Spec, from Origin) {
	c.keys, c.whole, c.broken = make(map[string]assignment), from.Layer, false
	set := func(key, value string) {
		c.keys[key] = assignment{path: key, value: value, from: from, segments: parsePath(cameraPath(c.name, key), from)}
	}
	set(keyKind, spec.Kind)
	if spec.Target != "" {
		set(keyTarget, spec.Target)
	}
	if spec.Width != 0 {
		set(keySize, (&Size{spec.Width, spec.Height}).String())
	}
	if spec.Rate != 0 {
		r := Rate(spec.Rate)
		set(keyRate, r.String())
	}
	for k, v := range spec.Options {
		set(k, v)
	}
}

// cameraKey takes one key of a camera, if nothing stronger or equal has it. Two
// places of one file exclude each other.
func (l *loader) cameraKey(c *camera, a assignment) {
	if rest, ok := strings.CutPrefix(a.path, streamsGroup+"."); ok {
		if a.path, ok = l.streamKey(c, rest, a); !ok {
			return
		}
	}
	if a.list && !isCameraList(a.path) {
		l.add(a.from, "%s of camera %s: a list, want one value", a.path, c.name)
		return
	}
	before, ok := c.keys[a.path]
	switch {
	case a.from.Layer < c.whole:
	case ok && before.from.Layer == a.from.Layer && a.from.Layer == File && !before.empty:
		l.add(a.keyAt(), "%s of camera %s is here a second time, the first is in line %d", a.path, c.name, before.from.Line)
	case ok && before.from.Layer > a.from.Layer:
	default:
		c.keys[a.path] = a
	}
}

// streamKey finds the camera's key that NAME.KEY of a stream stands for: for what
// the source of the main stream gives it is the camera's own.
func (l *loader) streamKey(c *camera, rest string, a assignment) (string, bool) {
	stream, key, _ := strings.Cut(rest, ".")
	names := streamKeys()
	slices.Sort(names)
	switch {
	case a.empty && (key == "" || len(groupKeys(names, key)) > 0):
	case !slices.Contains(names, key):
		hint := didYouMean(key, names)
		if hint == "" {
			hint = "; known are " + strings.Join(names, ", ")
		}
		l.add(a.keyAt(), "unknown key %q of stream %s/%s%s", key, c.name, stream, hint)
	case !slices.Contains(sourceKeys(), key):
		return streamPath(stream, key), true
	case stream != mainStream:
		l.add(a.keyAt(), "%s of stream %s/%s cannot be chosen, only that of %s/%s", key, c.name, stream, c.name, mainStream)
	default:
		return key, true
	}
	return "", false
}

// cameras settles every camera.
func (l *loader) cameras() {
	names := make([]string, 0, len(l.cams))
	for _, c := range l.cams {
		names = append(names, c.name)
	}
	for _, n := range l.env.newCameras(names) {
		at := Origin{Layer: Environment, Name: EnvName(keyCameras + "." + n)}
		if err := capture.CheckName(n); err != nil {
			l.add(at, "%s", err)
			continue
		}
		l.camera(n, at)
		names = append(names, n)
	}
	var paths []string
	for _, c := range l.cams {
		paths = append(paths, l.settle(c, names)...)
	}
	l.devices()
	l.clashes()
	l.alone()
	l.env.unused(&l.report, append(daemonKeys(), paths...))
}

// settle makes the spec of one camera and returns the paths that it could have.
func (l *loader) settle(c *camera, names []string) []string {
	l.shortFromEnv(c)
	if a, ok := l.env.take(cameraPath(c.name, keyKind)); ok {
		l.cameraKey(c, a.below(keyKind))
	}
	kind, ok := c.keys[keyKind]
	if !ok || kind.empty {
		if !c.broken {
			l.add(c.at, "camera %s has no kind", c.name)
		}
		return nil
	}
	if !slices.Contains(kinds.Names(), kind.value) {
		l.add(kind.from, "camera %s: unknown kind %q%s; known are %s", c.name, kind.value, didYouMean(kind.value, kinds.Names()), strings.Join(kinds.Names(), ", "))
		return nil
	}
	known, _ := daemon.CheckCamera(capture.Spec{Name: c.name, Kind: kind.value})
	known = append(specKeys(), known...)
	l.fromEnv(c, kind.value, known, names)

	spec, ok := l.spec(c, known)
	if _, err := daemon.CheckCamera(spec); err != nil {
		l.blame(c, err)
		ok = false
	}
	if n := l.cfg.network(); ok && n != nil {
		if err := n.CheckCamera(spec); err != nil {
			l.blame(c, err)
			ok = false
		}
	}
	if !ok || c.broken {
		return paths(c, known)
	}
	l.cfg.Cameras = append(l.cfg.Cameras, spec)
	l.explain(c, known)
	return paths(c, known)
}

func paths(c *camera, known []capture.Option) []string {
	out := make([]string, 0, len(known))
	for _, k := range known {
		out = append(out, cameraPath(c.name, k.Key))
	}
	return out
}

// below is the assignment with its path from the camera on.
func (a assignment) below(key string) assignment {
	a.path = key
	return a
}

// shortFromEnv takes CAMD_CAMERAS_NAME. What flags say stays.
func (l *loader) shortFromEnv(c *camera) {
	a, ok := l.env.take(keyCameras + "." + c.name)
	if !ok {
		return
	}
	spec, err := capture.ParseSpec(c.name + "=" + a.value)
	if err != nil {
		l.add(a.from, "%s", err)
		return
	}
	if c.whole == Flag {
		return
	}
	old := c.keys
	c.replace(spec, a.from)
	for key, a := range old {
		if a.from.Layer == Flag {
			c.keys[key] = a
		}
	}
}

// fromEnv takes the variables of single keys.
func (l *loader) fromEnv(c *camera, kind string, known []capture.Option, names []string) {
	all := slices.Clone(known)
	streams := slices.Clone(kinds.Streams(kind))
	// Of streams too the longer name owns the variable.
	slices.SortStableFunc(streams, func(a, b string) int { return len(b) - len(a) })
	for _, stream := range streams {
		for _, k := range streamKeys() {
			all = append(all, capture.Option{Key: streamPath(stream, k)})
		}
	}
	for word, v := range l.env.ofCamera(c.name, names) {
		key, ok := matchKey(word, all)
		if !ok {
			continue
		}
		v.used = true
		l.cameraKey(c, v.assign(cameraPath(c.name, key)).below(key))
	}
}

// spec builds the spec; false if a key is not known or makes no sense.
func (l *loader) spec(c *camera, known []capture.Option) (capture.Spec, bool) {
	s := capture.Spec{Name: c.name}
	fine := true
	keys := make([]string, 0, len(c.keys))
	for k := range c.keys {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	for _, key := range keys {
		a := c.keys[key]
		switch {
		case a.empty && isGroup(known, key):
			delete(c.keys, key)
			continue
		case !isKnown(known, key):
			l.unknown(a, " of camera "+c.name, optionKeys(known))
			fine = false
			continue
		case a.empty:
			delete(c.keys, key) // the value is left to what is weaker
			continue
		}
		if err := setSpec(&s, key, a.value); err != nil {
			l.add(a.from, "camera %s: %s", c.name, err)
			fine = false
		}
	}
	return s, fine
}

func setSpec(s *capture.Spec, key, text string) error {
	switch key {
	case keyKind:
		s.Kind = text
	case keyTarget:
		s.Target = text
	case keySize:
		var size Size
		if err := size.Set(text); err != nil {
			return err
		}
		s.Width, s.Height = size.Width, size.Height
	case keyRate:
		var r Rate
		if err := r.Set(text); err != nil {
			return err
		}
		s.SetRate(float64(r))
	default:
		if s.Options == nil {
			s.Options = make(map[string]string)
		}
		s.Options[key] = text
	}
	return nil
}

func optionKeys(known []capture.Option) []string {
	out := make([]string, 0, len(known))
	for _, k := range known {
		out = append(out, k.Key)
	}
	return out
}

func isKnown(known []capture.Option, key string) bool {
	return slices.ContainsFunc(known, func(k capture.Option) bool {
		rest, below := strings.CutPrefix(key, k.Key)
		return below && (rest == "" && !strings.HasSuffix(k.Key, ".") || rest != "" && strings.HasSuffix(k.Key, "."))
	})
}

func isGroup(known []capture.Option, key string) bool {
	return slices.ContainsFunc(known, func(k capture.Option) bool { return strings.HasPrefix(k.Key, key+".") })
}

// blame puts what the daemon or the source refused to where it was said.
func (l *loader) blame(c *camera, err error) {
	where := c.at
	if k, ok := c.keys[keyKind]; ok {
		where = k.from
	}
	for _, e := range collect(err) {
		var one *capture.OptionError
		if !errors.As(e, &one) {
			text := strings.TrimPrefix(e.Error(), "camera "+c.name+": ")
			l.add(where, "camera %s: %s", c.name, strings.TrimPrefix(text, capture.ErrConfig.Error()+": "))
			continue
		}
		at := where
		if a, ok := c.keys[one.Key]; ok {
			at = a.from
		}
		l.add(at, "camera %s: %s", c.name, one)
	}
}

// collect finds the single refusals in an error of [daemon.CheckCamera].
func collect(err error) []error {
	var options *capture.OptionsError
	if !errors.As(err, &options) {
		return []error{err}
	}
	switch e := err.(type) {
	case *capture.OptionsError:
		return e.Errs
	case interface{ Unwrap() error }:
		return collect(e.Unwrap())
	case interface{ Unwrap() []error }:
		var all []error
		for _, sub := range e.Unwrap() {
			all = append(all, collect(sub)...)
		}
		return all
	}
	return []error{err}
}

// explain lists the values of a camera: what was set, and the defaults.
func (l *loader) explain(c *camera, known []capture.Option) {
	done := make(map[string]bool)
	for _, k := range known {
		if done[k.Key] {
			continue
		}
		done[k.Key] = true
		if group := strings.HasSuffix(k.Key, "."); group {
			for _, key := range slices.Sorted(maps.Keys(c.keys)) {
				if strings.HasPrefix(key, k.Key) && !done[key] {
					done[key] = true
					l.setting(cameraPath(c.name, key), c.keys[key].value, c.keys[key].from)
				}
			}
			continue
		}
		if a, ok := c.keys[k.Key]; ok {
			l.setting(cameraPath(c.name, k.Key), a.value, a.from)
			continue
		}
		l.setting(cameraPath(c.name, k.Key), k.Default, Origin{})
	}
}

// alone says what the daemon does with a single camera: it is required.
func (l *loader) alone() {
	if len(l.cfg.Cameras) != 1 {
		return
	}
	key := cameraPath(l.cfg.Cameras[0].Name, "required")
	for i, s := range l.cfg.Settings {
		if s.Key == key && s.Set.Layer == BuiltIn {
			l.cfg.Settings[i].Value = "true"
		}
	}
}
