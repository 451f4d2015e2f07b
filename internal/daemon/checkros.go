// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

package daemon

import (
	"fmt"
	"maps"
	"slices"

	"github.com/seed-3c7e7623/camd/backend/cpu"
	"github.com/seed-3c7e7623/camd/capture"
	"github.com/seed-3c7e7623/camd/negotiate"
)

// CheckCamera judges the options of a camera together with how the daemon is on
// the network, as a start of the daemon would. The error is a
// [*capture.OptionsError].
func (n *Network) CheckCamera(spec capture.Spec) error {
	out, err := takeOutputs(&spec)
	if err != nil {
		return nil // which CheckCamera of the options alone tells
	}
	return n.check(spec.Name, out)
}

// check is that for options that are read already. Without a network everything
// goes.
func (n *Network) check(camera string, out outputs) error {
	if n == nil {
		return nil
	}
	account := &capture.OptionsError{}
	refuse := func(key string, err error) {
		account.Errs = append(account.Errs, &capture.OptionError{Key: key, Err: fmt.Errorf("option %s: %w", key, err)})
	}
	check := func(prefix, stream string, o output) {
		if len(o.backends) > 0 && !slices.Contains(o.backends, negotiate.BackendCPU) {
			return
		}
		if n.AnyHash && o.ros.qos == qosTransientLocal {
			refuse(prefix+"qos", fmt.Errorf("%s does not go together with ros2.any_hash: %w", o.ros.qos, cpu.ErrAnyHash))
		}
		if _, err := imageTopic(n.Namespace, camera, stream, o.ros); err != nil {
			refuse(prefix+"topic", err)
		}
	}
	check("", mainStreams[0], out.camera)
	for _, stream := range slices.Sorted(maps.Keys(out.streams)) {
		own := out.streams[stream]
		if whole := out.camera.ros.of(stream); own.ros.qos == whole.qos && own.ros.topic == whole.topic {
			continue // told already
		}
		check(streamsPrefix+stream+".", stream, own)
	}
	if len(account.Errs) == 0 {
		return nil
	}
	return account
}
