// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

package config

import (
	"strings"

	"github.com/seed-3c7e7623/camd/capture"
)

// The keys of the daemon.
const (
	keyRuntimeDir = "runtime_dir"
	keyLogLevel   = "log.level"
	keyLogFormat  = "log.format"
	keyAllowUIDs  = "allow_uids"
	keyCameras    = "cameras"
)

// The keys of a camera that are parts of [capture.Spec]; every other one is an
// option.
const (
	keyKind   = "kind"
	keyTarget = "target"
	keySize   = "size"
	keyRate   = "rate"
)

// streamsGroup begins the keys of single streams: streams.NAME.KEY.
const streamsGroup = "streams"

// mainStream is the stream whose settings are the camera's own.
const mainStream = "color"

// daemonKeys lists the keys outside of cameras, in the order of documentation.
func daemonKeys() []string {
	return []string{keyRuntimeDir, keyAllowUIDs, keyLogLevel, keyLogFormat}
}

// isList says which keys take a YAML list.
func isList(path string) bool { return path == keyAllowUIDs }

// specKeys are the keys of every camera beside its options.
func specKeys() []capture.Option {
	return []capture.Option{
		{Key: keyKind},
		{Key: keyTarget},
		{Key: keySize, Want: "WxH in pixels"},
		{Key: keyRate, Want: "frames per second, 0 for as fast as possible"},
	}
}

// streamKeys are the keys of one stream: true where this version can do it.
func streamKeys() map[string]bool {
	return map[string]bool{
		"encoding": true, keySize: true, keyRate: true,
		"downscale": false, "max_rate": false, "stamp": false, "frame_id": false, "backends": false,
	}
}

// splitCamera cuts cameras.NAME.KEY; key is "" for the camera as a whole.
func splitCamera(path string) (name, key string, ok bool) {
	rest, ok := strings.CutPrefix(path, keyCameras+".")
	if !ok {
		return "", "", false
	}
	name, key, _ = strings.Cut(rest, ".")
	return name, key, true
}

// cameraPath is the full path of a camera's key.
func cameraPath(name, key string) string { return keyCameras + "." + name + "." + key }
