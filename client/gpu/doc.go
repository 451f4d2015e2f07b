// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

// Package gpu is for programs that work on frames with CUDA. A frame that the
// daemon has in memory of the GPU is read there, without a copy; one that comes
// by another path is uploaded once. The program is the same for both:
//
//	dev, err := gpu.Open()
//	sub, err := dev.Subscribe(ctx, "front/color")
//	for f, err := range sub.Frames(ctx) {
//		if stream == 0 {
//			stream, err = dev.NewStream() // on the GPU that the frames are on
//		}
//		view, err := f.OnDevice(stream) // a pointer, and when it may be read: in work of stream
//		launch(view.Ptr, view.Pitch, stream)
//	} // the frame goes back when stream is past that work
//
// CUDA is used through the driver's library, opened at run time; nothing of it is
// needed to build a program. All work is in the device's primary context, which
// the CUDA runtime, PyTorch, TensorRT and others of the same process use too:
// their streams (cudaStream_t and CUstream are one thing) go wherever a [Stream]
// is asked for, and pointers from here are good there.
//
// # Streams
//
// OnDevice names the stream whose work is going to read the frame, UseOn further
// ones. Release marks the end of what is queued on them at that moment and
// returns; the frame goes back to the daemon when the GPU is past the marks.
// Work that is queued after Release, or on a stream that was never named, is not
// waited for: it may read another frame. The default streams (0, 1 and 2) are
// not taken, because they make the streams of others wait.
package gpu
