// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

package config

import (
	"slices"
	"strings"

	"github.com/seed-3c7e7623/camd/capture"
	"github.com/seed-3c7e7623/camd/internal/daemon"
	zenoh "github.com/seed-3c7e7623/camd/zenoh/config"
)

// The keys of the daemon.
const (
	keyRuntimeDir = "runtime_dir"
	keyLogLevel   = "log.level"
	keyLogFormat  = "log.format"
	keyAllowUIDs  = "allow_uids"
	keyCameras    = "cameras"

	keyCUDAEnabled = "cuda.enabled"
	keyCUDALibrary = "cuda.library"
	keyCUDADevice  = "cuda.device"
	keyCUDAUsers   = "cuda.users"
	keyCUDARingMiB = "cuda.ring_mib"

	keyZenohEnabled  = "zenoh.enabled"
	keyZenohConfig   = "zenoh.config"
	keyZenohOverride = "zenoh.override"
	keyZenohConnect  = "zenoh.connect"
	keyZenohMode     = "zenoh.mode"
	keyZenohListen   = "zenoh.listen"

	keyAccessPublish  = "zenoh.access.publish"
	keyAccessAnnounce = "zenoh.access.announce"
	keyAccessAnswer   = "zenoh.access.answer"
	keyAccessAccept   = "zenoh.access.accept"

	keyROSEnabled     = "ros2.enabled"
	keyROSDomain      = "ros2.domain"
	keyROSNamespace   = "ros2.namespace"
	keyROSDiagnostics = "ros2.diagnostics"
	keyROSAnyHash     = "ros2.any_hash"
	keyROSEnclave     = "ros2.enclave"
)

// The keys of a camera that are parts of [capture.Spec]; every other one is an
// option.
const (
	keyKind   = "kind"
	keyTarget = "target"
	keySize   = "size"
	keyRate   = "rate"
)

// keyBackends is an option that can be a list.
const keyBackends = "backends"

// streamsGroup begins the keys of single streams: streams.NAME.KEY.
const streamsGroup = "streams"

// mainStream is the stream whose encoding, size and rate are the camera's own.
const mainStream = "color"

// daemonKeys lists the keys outside of cameras, in the order of documentation.
func daemonKeys() []string {
	return []string{
		keyRuntimeDir, keyAllowUIDs, keyLogLevel, keyLogFormat,
		keyCUDAEnabled, keyCUDALibrary, keyCUDADevice, keyCUDAUsers, keyCUDARingMiB,
		keyZenohEnabled, keyZenohConfig, keyZenohOverride, keyZenohMode, keyZenohConnect, keyZenohListen,
		keyAccessPublish, keyAccessAnnounce, keyAccessAnswer, keyAccessAccept,
		keyROSEnabled, keyROSDomain, keyROSNamespace, keyROSDiagnostics, keyROSAnyHash, keyROSEnclave,
	}
}

// sharedVariables are those of ROS 2 and Zenoh that give a key its value where
// nothing of camd's own does; of several the first that says something.
func sharedVariables(key string) []string {
	switch key {
	case keyZenohConfig:
		return []string{zenoh.EnvFile, zenoh.EnvFileAny}
	case keyZenohOverride:
		return []string{zenoh.EnvOverride}
	case keyROSDomain:
		return []string{"ROS_DOMAIN_ID"}
	case keyROSNamespace:
		return []string{"ROS_NAMESPACE"}
	}
	return nil
}

// isList says which keys of the daemon take a YAML list, isCameraList which of a
// camera.
func isList(path string) bool {
	return slices.Contains([]string{
		keyAllowUIDs, keyCUDAUsers, keyZenohConnect, keyZenohListen,
		keyAccessPublish, keyAccessAnnounce, keyAccessAnswer, keyAccessAccept,
	}, path)
}

func isCameraList(path string) bool { return path[strings.LastIndexByte(path, '.')+1:] == keyBackends }

// specKeys are the keys of every camera beside its options.
func specKeys() []capture.Option {
	return []capture.Option{
		{Key: keyKind},
		{Key: keyTarget},
		{Key: keySize, Want: "WxH in pixels"},
		{Key: keyRate, Want: "frames per second, 0 for as fast as possible"},
	}
}

// sourceKeys are the keys of the main stream that say what its source gives:
// the same as the camera's.
func sourceKeys() []string { return []string{"encoding", keySize, keyRate} }

// streamKeys are all keys that a stream can have.
func streamKeys() []string { return append(sourceKeys(), daemon.StreamKeys()...) }

// streamPath is the path from the camera on of a stream's key.
func streamPath(stream, key string) string { return streamsGroup + "." + stream + "." + key }

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
