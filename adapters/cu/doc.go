// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

// Package cuframe hands frames on the GPU to programs that compute with
// gorgonia.org/cu. Frames come from package client/gpu, whichever way they came
// to the GPU; here they are a cu.DevicePtr, in a cu.CUContext, for a cu.Stream:
//
//	dev, err := gpu.Open()
//	sub, err := dev.Subscribe(ctx, "front/color")
//	for f, err := range sub.Frames(ctx) {
//		if c == nil {
//			c, err = cuframe.Open(dev) // the primary context of the GPU that the frames are on
//			…                          // and in it streams, modules, memory
//		}
//		m, err := c.OnDevice(f, stream)
//		ptr, err := m.Ptr()
//		err = c.Do(func() error { return kernel.Launch(…, stream, …) })
//	} // the frame goes back when stream is past that work
//
// Nothing is copied, and nothing is waited for. What holds for streams, Release
// and Close is said by client/gpu.
//
// A program that imports cu, and so this package, is linked with the CUDA driver,
// and cu ends it at its start, before main, where the driver or a GPU is missing.
// That is why camd does not import it.
package cuframe
