// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"errors"
	"fmt"
	"log/slog"

	"github.com/spf13/cobra"

	"github.com/seed-3c7e7623/camd/capture"
	"github.com/seed-3c7e7623/camd/internal/daemon"
	"github.com/seed-3c7e7623/camd/negotiate"
)

const runExamples = `  camd run
  camd run -c deploy/camd.yaml --set log.level=debug
  camd run --camera test=pattern,1920x1080@60,encoding=bgra8
  camd run --camera clip=replay:walk.avi,loop=true --camera front=v4l2:/dev/video0,1280x720@30`

func newCamdRun() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "run",
		Short: "Run the daemon until a signal or the end of every camera",
		Long: `Run the daemon. Settings come from flags, else from CAMD_ variables of the
environment, else from the file of -c; camd explain shows which. A --camera
replaces the one of that name in the file.

Each --camera is NAME=KIND[:TARGET][,WxH@R][,key=value...]; kinds
are pattern, replay and v4l2. Without one, the first camera of the host is taken,
else the test pattern.

Keys of every camera: max_subscribers (8), credit (2, frames that a subscriber
holds at a time), slots (so many that no subscriber can starve the camera),
evict_after (5s, a frame held longer is taken away when memory runs out),
required (the daemon ends if the camera is missing; true for a single one).`,
		Example: runExamples,
		Args:    NoArgs,
	}
	c := addConfigFlags(cmd)
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		cfg, err := c.load(cmd.Context())
		if err != nil {
			return err
		}
		if err := cfg.CheckFiles(); err != nil {
			return err
		}
		c.logs.level.value, c.logs.format.value = string(cfg.LogLevel), string(cfg.LogFormat)
		log, flush := c.logs.Queued(cmd.ErrOrStderr())
		defer flush()
		slog.SetDefault(log) // for sources, which log for themselves
		warnings(log, cfg)
		specs := cfg.Cameras
		if len(specs) == 0 {
			specs = []capture.Spec{defaultCamera("/", log)}
		}
		path, err := negotiate.DaemonDir(string(cfg.RuntimeDir))
		if err != nil {
			return err
		}
		network, err := cfg.Network()
		if err != nil {
			return err
		}
		d := &daemon.Daemon{
			Network: network, GPU: cfg.CUDA.Daemon(),
			Dir: path, Cameras: specs, Version: ReadVersion("camd").Version, Log: log,
			Policy: negotiate.Policy{AllowUIDs: cfg.AllowUIDs, Group: negotiate.DefaultGroup},
		}
		return d.Run(cmd.Context())
	}
	return cmd
}

// defaultCamera is the first camera of the host, else the pattern.
func defaultCamera(root string, log *slog.Logger) capture.Spec {
	pattern := capture.Spec{Name: "test", Kind: "pattern"}
	path, card, err := capture.FirstVideoDevice(root)
	switch {
	case err == nil:
		log.Info("no --camera given, taking the first one found", "device", path, "card", card)
		return capture.Spec{Name: "camera", Kind: "v4l2", Target: path}
	case errors.Is(err, capture.ErrDeviceNotFound):
		log.Info("no --camera given and no camera found, showing the test pattern", "camera", pattern.Name)
	default:
		log.Warn("no --camera given and none can be opened, showing the test pattern", "camera", pattern.Name, "err", err)
	}
	return pattern
}

// plural is "1 frame", "2 frames".
func plural(n int, what string) string {
	if n == 1 {
		return fmt.Sprintf("%d %s", n, what)
	}
	return fmt.Sprintf("%d %ss", n, what)
}
