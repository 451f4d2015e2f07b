// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"encoding/csv"
	"errors"
	"flag"
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"github.com/seed-3c7e7623/camd/cudabuf/driver"
)

// upload measures copies from the host to the GPU by the kind of host memory.
func upload(ctx context.Context, r *session) error {
	t, err := r.table("upload.csv", "memory", "bytes", "copies", "p50_ns", "bytes_per_second")
	if err != nil {
		return err
	}
	defer t.close()
	args := []string{"@upload", "--library", r.library}
	if r.quick {
		args = append(args, "--copies", "3")
	}
	out, err := r.run(ctx, "", args...)
	rows, bad := csv.NewReader(strings.NewReader(out)).ReadAll()
	for _, f := range rows {
		nanos, err := strconv.ParseInt(f[3], 10, 64)
		bytes, also := strconv.ParseInt(f[1], 10, 64)
		if err := errors.Join(err, also); err != nil {
			return err
		}
		perSecond := float64(bytes) / float64(max(nanos, 1)) * 1e9
		t.row(f[0], f[1], f[2], r.figure("%.0f", float64(nanos)), r.figure("%.0f", perSecond))
		rate := "-"
		if !r.simulated {
			rate = fmt.Sprintf("%.2f GB/s", perSecond/1e9)
		}
		r.check(fmt.Sprintf("%s, %.1f MB", f[0], float64(bytes)/1e6), rate, nil)
	}
	return errors.Join(err, bad)
}

// uploadRole prints memory,bytes,copies,nanoseconds of the median.
func uploadRole(args []string) error {
	fs := flag.NewFlagSet("upload", flag.ContinueOnError)
	library := fs.String("library", "", "")
	copies := fs.Int("copies", 100, "")
	if err := fs.Parse(args); err != nil {
		return err
	}
	d, err := driver.Open(*library)
	if err != nil {
		return err
	}
	devices, err := d.Devices()
	if err != nil {
		return err
	}
	t, err := d.Start(devices[0], "gpu-upload")
	if err != nil {
		return err
	}
	u := &uploads{thread: t, device: devices[0], copies: *copies}
	return errors.Join(t.Do(u.all), t.Close())
}

// uploads copies from memory of each kind.
type uploads struct {
	thread *driver.Thread
	device driver.Device
	copies int
	dst    driver.Ptr
	stream driver.Stream
}

// most is the largest copy: a frame of 4K with four bytes a pixel.
const most = 3840 * 2160 * 4

func (u *uploads) all() (err error) {
	t := u.thread
	if u.dst, err = t.Alloc(most); err != nil {
		return err
	}
	if u.stream, err = t.NewStream(0); err != nil {
		return err
	}
	pageable := make([]byte, most)
	pinned, err := t.HostAlloc(most)
	if err != nil {
		return err
	}
	ring, err := unix.MemfdCreate("upload", unix.MFD_CLOEXEC)
	if err != nil {
		return err
	}
	defer unix.Close(ring)
	if err := unix.Ftruncate(ring, most); err != nil {
		return err
	}
	registered, err := unix.Mmap(ring, 0, most, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED|unix.MAP_POPULATE)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, unix.Munmap(registered)) }()
	kinds := []struct {
		name   string
		memory []byte
	}{{"pageable", pageable}, {"pinned", pinned}}
	if u.device.HostRegister {
		if err := t.HostRegister(registered, false); err != nil {
			return err
		}
		defer func() { err = errors.Join(t.HostUnregister(registered), err) }()
		kinds = append(kinds, struct {
			name   string
			memory []byte
		}{"registered memfd", registered})
	}
	for _, k := range kinds {
		for i := range k.memory { // every page is there
			k.memory[i] = byte(i)
		}
		for _, n := range []int{64 << 10, 1 << 20, 1280 * 720 * 3, 1920 * 1080 * 3, 1920 * 1080 * 4, 3840 * 2160 * 3, most} {
			if err := u.measure(k.name, k.memory[:n]); err != nil {
				return fmt.Errorf("%s, %d bytes: %w", k.name, n, err)
			}
		}
	}
	return errors.Join(t.HostFree(pinned), t.DestroyStream(u.stream), t.Free(u.dst))
}

func (u *uploads) measure(name string, memory []byte) error {
	var took []int64
	for i := range u.copies + 3 {
		began := time.Now()
		if err := errors.Join(u.thread.HtoD(u.dst, memory, u.stream), u.thread.StreamSync(u.stream)); err != nil {
			return err
		}
		if i >= 3 { // the first ones warm up
			took = append(took, time.Since(began).Nanoseconds())
		}
	}
	_, err := fmt.Fprintf(os.Stdout, "%s,%d,%d,%d\n", name, len(memory), len(took), median(took))
	return err
}
