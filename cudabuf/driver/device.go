// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

package driver

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/seed-3c7e7623/camd/internal/dl"
)

// Device is a GPU that the process sees.
type Device struct {
	Ordinal int // its number in this process
	UUID    UUID
	Name    string
	PCI     string // bus address, "0000:65:00.0"
	Memory  int64  // bytes

	Major, Minor    int // compute capability
	MultiProcessors int
	AsyncEngines    int // copy engines
	Integrated      bool
	ComputeMode     int // ComputeDefault, ComputeProhibited or ComputeExclusiveProcess

	VMM              bool // memory by MemCreate
	PosixFD          bool // which can be exported as a file descriptor
	HostRegister     bool // host memory of the program's own can be pinned
	ReadOnlyRegister bool // also such that is mapped read-only
}

// ErrNoSuchDevice reports a GPU that is asked for and not there.
var ErrNoSuchDevice = errors.New("no such CUDA device")

// Devices lists the GPUs that the process sees. It fails with ErrNoDevice if
// there is none. No context is made.
func (d *Driver) Devices() ([]Device, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	c := d.caller
	if err := c.call(fnDeviceGetCount, dl.Address(&c.out.number)); err != nil {
		return nil, err
	}
	n := int(c.out.number)
	if n <= 0 {
		return nil, fmt.Errorf("%s: %w", d.library, ErrNoDevice)
	}
	devices := make([]Device, 0, n)
	for i := range n {
		dev, err := d.device(i)
		if err != nil {
			return nil, fmt.Errorf("device %d: %w", i, err)
		}
		devices = append(devices, dev)
	}
	return devices, nil
}

func (d *Driver) device(ordinal int) (Device, error) {
	c, dev := d.caller, Device{Ordinal: ordinal}
	if err := c.call(fnDeviceGet, dl.Address(&c.out.number), uintptr(ordinal)); err != nil {
		return dev, err
	}
	h := uintptr(c.out.number)
	c.out.text = [len(c.out.text)]byte{}
	if err := c.call(fnDeviceGetName, dl.Address(&c.out.text[0]), uintptr(len(c.out.text)), h); err != nil {
		return dev, err
	}
	dev.Name = text(c.out.text[:])
	uuid := fnDeviceGetUUID2
	if c.table[uuid] == 0 {
		uuid = fnDeviceGetUUID
	}
	if err := c.call(uuid, dl.Address(&c.out.text[0]), h); err != nil {
		return dev, err
	}
	copy(dev.UUID[:], c.out.text[:])
	c.out.text = [len(c.out.text)]byte{}
	if err := c.call(fnDeviceGetPCIBusID, dl.Address(&c.out.text[0]), uintptr(len(c.out.text)), h); err != nil {
		return dev, err
	}
	dev.PCI = strings.ToLower(text(c.out.text[:]))
	if err := c.call(fnDeviceTotalMem2, dl.Address(&c.out.size), h); err != nil {
		return dev, err
	}
	dev.Memory = int64(c.out.size)
	return dev, d.attributes(&dev, h)
}

// attributes fills in what attributes tell. A driver that does not know one
// calls it an invalid value: then the GPU cannot do that.
func (d *Driver) attributes(dev *Device, h uintptr) error {
	c := d.caller
	var failure error
	get := func(attribute uintptr) int {
		c.out.number = 0
		r := c.result(fnDeviceGetAttribute, dl.Address(&c.out.number), attribute, h)
		if r != Success && r != InvalidValue && failure == nil {
			failure = failed(fnDeviceGetAttribute, r)
		}
		if r != Success {
			return 0
		}
		return int(c.out.number)
	}
	dev.Major, dev.Minor = get(attributeMajor), get(attributeMinor)
	dev.MultiProcessors = get(attributeMultiProcessors)
	dev.AsyncEngines = get(attributeAsyncEngines)
	dev.Integrated = get(attributeIntegrated) != 0
	dev.ComputeMode = get(attributeComputeMode)
	dev.VMM = get(attributeVMM) != 0 && d.VMM()
	dev.PosixFD = dev.VMM && get(attributePosixFD) != 0
	dev.HostRegister = get(attributeHostRegister) != 0
	dev.ReadOnlyRegister = get(attributeReadOnlyHostRegister) != 0
	return failure
}

// text is the C string in b.
func text(b []byte) string {
	if i := slices.Index(b, 0); i >= 0 {
		b = b[:i]
	}
	return string(b)
}

// Find is the device that want means: a UUID, a number, or "" for the first. It
// fails with ErrNoSuchDevice, naming those that are there.
func Find(devices []Device, want string) (Device, error) {
	if len(devices) == 0 {
		return Device{}, ErrNoDevice
	}
	if want == "" {
		return devices[0], nil
	}
	ordinal, notNumber := strconv.Atoi(want)
	uuid, notUUID := ParseUUID(want)
	if notNumber != nil && notUUID != nil {
		return Device{}, fmt.Errorf("%w: %w, or a number", ErrNoSuchDevice, notUUID)
	}
	var there []string
	for _, dev := range devices {
		if notNumber == nil && dev.Ordinal == ordinal || notUUID == nil && dev.UUID == uuid {
			return dev, nil
		}
		there = append(there, fmt.Sprintf("%d is %s (%s)", dev.Ordinal, dev.UUID, dev.Name))
	}
	return Device{}, fmt.Errorf("%w: %s; %s", ErrNoSuchDevice, want, strings.Join(there, ", "))
}
