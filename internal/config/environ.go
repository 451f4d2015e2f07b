// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

package config

import (
	"slices"
	"strings"

	"github.com/seed-3c7e7623/camd/capture"
	"github.com/seed-3c7e7623/camd/capture/kinds"
)

// envPrefix begins every variable; camerasPrefix those of cameras.
const (
	envPrefix     = "CAMD_"
	camerasPrefix = envPrefix + "CAMERAS_"
	testPrefix    = envPrefix + "TEST_" // of this project's tests
)

// EnvName is the variable of a key: CAMD_ and the path in upper case, with _
// for everything that is neither letter nor digit.
func EnvName(path string) string { return envPrefix + envWord(path) }

func envWord(path string) string {
	return strings.Map(func(r rune) rune {
		if r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' {
			return r
		}
		return '_'
	}, strings.ToUpper(path))
}

// variable is one CAMD_ variable.
type variable struct {
	name, value string
	used        bool
}

func (v *variable) origin() Origin { return Origin{Layer: Environment, Name: v.name} }

// environment is the variables that may be settings.
type environment struct {
	vars   []*variable
	shared map[string]string // those of other programs, by name
}

// newEnvironment picks the variables of camd from "KEY=VALUE" texts. An empty
// value is as good as none.
func newEnvironment(texts []string) *environment {
	e := &environment{shared: make(map[string]string)}
	for _, text := range texts {
		name, value, _ := strings.Cut(text, "=")
		if !strings.HasPrefix(name, envPrefix) && value != "" {
			e.shared[name] = value
		}
		if strings.HasPrefix(name, envPrefix) && !strings.HasPrefix(name, testPrefix) && value != "" {
			e.vars = append(e.vars, &variable{name: name, value: value})
		}
	}
	slices.SortFunc(e.vars, func(a, b *variable) int { return strings.Compare(a.name, b.name) })
	return e
}

// take returns the assignment of path from its variable.
func (e *environment) take(path string) (assignment, bool) {
	name := EnvName(path)
	for _, v := range e.vars {
		if v.name == name && !v.used {
			v.used = true
			return v.assign(path), true
		}
	}
	return assignment{}, false
}

// takeShared returns the assignment of path from a variable that other programs
// read as well.
func (e *environment) takeShared(path string) (assignment, bool) {
	for _, name := range sharedVariables(path) {
		if value, ok := e.shared[name]; ok {
			at := Origin{Layer: Shared, Name: name}
			return assignment{path: path, value: value, from: at, segments: parsePath(path, at)}, true
		}
	}
	return assignment{}, false
}

func (v *variable) assign(path string) assignment {
	return assignment{path: path, value: v.value, from: v.origin(), segments: parsePath(path, v.origin())}
}

// newCameras are the names of cameras that only the environment has: those
// whose kind or short form it gives.
func (e *environment) newCameras(known []string) []string {
	var names []string
	for _, v := range e.vars {
		rest, ok := strings.CutPrefix(v.name, camerasPrefix)
		if !ok {
			continue
		}
		word, isKind := strings.CutSuffix(rest, "_KIND")
		if !isKind {
			kind, _, _ := strings.Cut(v.value, ",")
			kind, _, _ = strings.Cut(kind, ":")
			if !slices.Contains(kinds.Names(), kind) {
				continue
			}
			word = rest
		}
		taken := func(n string) bool { return envWord(n) == word || !isKind && strings.HasPrefix(word, envWord(n)+"_") }
		if word != "" && !slices.ContainsFunc(known, taken) && !slices.ContainsFunc(names, taken) {
			names = append(names, strings.ToLower(word))
		}
	}
	return names
}

// ofCamera returns the unused variables of a camera, without the part that
// names it. A name that begins with another one and _ owns its variables.
func (e *environment) ofCamera(name string, all []string) map[string]*variable {
	out := make(map[string]*variable)
	for _, v := range e.vars {
		rest, ok := strings.CutPrefix(v.name, camerasPrefix+envWord(name)+"_")
		if !ok || v.used || rest == "" {
			continue
		}
		longer := func(n string) bool {
			return len(n) > len(name) && (v.name == EnvName(keyCameras+"."+n) || strings.HasPrefix(v.name, camerasPrefix+envWord(n)+"_"))
		}
		if !slices.ContainsFunc(all, longer) {
			out[rest] = v
		}
	}
	return out
}

// matchKey finds the camera's key that the rest of a variable's name means.
func matchKey(word string, known []capture.Option) (string, bool) {
	for _, k := range known {
		if envWord(k.Key) == word {
			return k.Key, true
		}
	}
	for _, k := range known {
		if rest, ok := strings.CutPrefix(word, envWord(k.Key)); ok && strings.HasSuffix(k.Key, ".") && rest != "" {
			return k.Key + strings.ToLower(rest), true
		}
	}
	return "", false
}

// unused warns of variables that mean nothing: they may be another program's,
// but more likely are misspelt.
func (e *environment) unused(r *report, known []string) {
	names := make([]string, 0, len(known))
	for _, k := range known {
		names = append(names, EnvName(k))
	}
	for _, v := range e.vars {
		if !v.used {
			r.warn(v.origin(), "no key of this name%s", didYouMean(v.name, names))
		}
	}
}
