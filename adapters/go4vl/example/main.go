// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

// Command example serves a go4vl device as camd's camera "front", for every
// program that subscribes to "front/color":
//
//	example -device /dev/video0 -size 1280x720 -fps 30 -format YUYV
package main

import (
	"context"
	"flag"
	"fmt"
	"log/slog"
	"os"
	"os/signal"
	"syscall"

	"github.com/vladimirvivien/go4vl/device"
	"github.com/vladimirvivien/go4vl/v4l2"

	"github.com/seed-3c7e7623/camd/adapters/go4vl"
	"github.com/seed-3c7e7623/camd/adapters/go4vl/serve"
	"github.com/seed-3c7e7623/camd/capture"
	"github.com/seed-3c7e7623/camd/frame"
)

func main() {
	path := flag.String("device", "/dev/video0", "device node")
	size := flag.String("size", "", "WxH in pixels; default as the device is set")
	code := flag.String("format", "", "pixel format, for example YUYV or MJPG; default as the device is set")
	fps := flag.Uint("fps", 0, "frames per second; default as the device is set")
	brightness := flag.Int("brightness", -1, "a control that go4vl sets; default as the device is set")
	flag.Parse()

	o := go4vl.Options{FPS: uint32(*fps)}
	if err := ask(&o.Format, *size, *code); err != nil {
		fmt.Fprintln(os.Stderr, "example:", err)
		os.Exit(2)
	}
	// Called each time that the device was opened, also after it was unplugged.
	o.Setup = func(d *device.Device) error {
		slog.Info("opened", "card", d.Capability().Card, "driver", d.Capability().Driver)
		if *brightness < 0 {
			return nil
		}
		return d.SetControlBrightness(v4l2.CtrlValue(*brightness))
	}
	if err := run(*path, o); err != nil {
		fmt.Fprintln(os.Stderr, "example:", err)
		os.Exit(1)
	}
}

// ask turns what the flags say into a format of go4vl.
func ask(f *v4l2.PixFormat, size, code string) error {
	if size != "" {
		w, h, err := capture.ParseSize(size)
		if err != nil {
			return err
		}
		f.Width, f.Height = uint32(w), uint32(h)
	}
	if code != "" {
		c, err := frame.ParseFourCC(code)
		if err != nil {
			return err
		}
		f.PixelFormat = v4l2.FourCCType(c)
	}
	return nil
}

func run(path string, o go4vl.Options) error {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	camera, err := go4vl.New(path, o)
	if err != nil {
		return err
	}
	return serve.Run(ctx, serve.Settings{}, serve.Camera{
		Name: "front", Source: camera,
		Options: map[string]string{"frame_id": "front_optical_frame"},
	})
}
