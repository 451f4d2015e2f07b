// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

// Package client is for programs that subscribe to camd's cameras. A
// [Subscription] hands out frames that lie in the daemon's memory: nothing is
// copied, and a frame stays as it is until it is released.
//
//	sub, err := client.Subscribe(ctx, "front/color")
//	if err != nil { ... }
//	defer sub.Close()
//	for f, err := range sub.Frames(ctx) {
//		if err != nil { ... }
//		use(f.Data(), f.Meta()) // valid until the next turn of the loop
//	}
package client
