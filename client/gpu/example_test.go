// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

package gpu_test

import (
	"context"
	"fmt"

	"github.com/seed-3c7e7623/camd/client"
	"github.com/seed-3c7e7623/camd/client/gpu"
	"github.com/seed-3c7e7623/camd/negotiate"
)

// A program that works on frames on the GPU, by whichever path they come.
func Example() {
	ctx := context.Background()
	dev, err := gpu.Open() // which GPU, the daemon's frames decide
	if err != nil {
		fmt.Println("no GPU:", err)
		return
	}
	defer dev.Close()
	sub, err := dev.Subscribe(ctx, "front/color")
	if err != nil {
		fmt.Println("no frames:", err)
		return
	}
	defer sub.Close()

	var stream gpu.Stream
	for f, err := range sub.Frames(ctx) {
		if err != nil {
			fmt.Println(err)
			return
		}
		if stream == 0 { // now it is known which GPU has the frames
			if stream, err = dev.NewStream(); err != nil { // or one of another CUDA library in the process
				fmt.Println(err)
				return
			}
			fmt.Println("frames by", sub.Path().Backend)
		}
		view, err := f.OnDevice(stream)
		if err != nil {
			fmt.Println(err)
			return
		}
		infer(view.Ptr, view.Pitch, stream) // queues work on stream and returns
	} // the frame goes back when stream is past that work
}

func infer(_ gpu.Ptr, _ int, _ gpu.Stream) {}

// A program that can do without a GPU, and wants to say why it does.
func ExampleUnavailable() {
	ctx := context.Background()
	dev, err := gpu.Open()
	if err == nil {
		defer dev.Close()
		return // as above
	}
	sub, err := client.Subscribe(ctx, "front/color", client.WithDevice(gpu.Unavailable(err)))
	if err != nil {
		fmt.Println("no frames:", err)
		return
	}
	defer sub.Close()
	fmt.Println("frames by", sub.Path().Backend, "as", negotiate.Summary(sub.Path().Rejected)) // as cuda: no_driver
}
