// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

package bench

import (
	"context"
	"fmt"
	"io"
	"strings"
	"time"
)

// linesEvery is how often samples that came in the meantime are printed.
const linesEvery = 100 * time.Millisecond

// Lines prints a line for each sample of a phase, beside it: the loop that
// measures knows nothing of it, and a slow terminal does not hold it up. The
// returned function prints what is left and ends that.
func Lines(out io.Writer, phase string, live *Live) (stop func() error) {
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() {
		ticker := time.NewTicker(linesEvery)
		defer ticker.Stop()
		said, err := 0, error(nil)
		for err == nil {
			select {
			case <-ticker.C:
				said, err = printLines(out, phase, live, said)
			case <-ctx.Done():
				_, err = printLines(out, phase, live, said)
				done <- err
				return
			}
		}
		done <- err
	}()
	return func() error {
		cancel()
		return <-done
	}
}

func printLines(out io.Writer, phase string, live *Live, from int) (int, error) {
	samples := live.Samples()
	var b strings.Builder
	for i := from; i < len(samples); i++ {
		b.WriteString(samples[i].line(phase))
	}
	if b.Len() == 0 {
		return from, nil
	}
	_, err := io.WriteString(out, b.String())
	return len(samples), err
}

// line is for example
// "shm 17: ready 41.2 µs, publish 30.1 µs, capture 5003.2 µs, pixel 00 00 ff ff".
func (s *Sample) line(phase string) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s %d:", phase, s.Sequence)
	sep := " "
	for _, x := range []struct {
		name   string
		metric Metric
	}{{"ready", ReadyToUsable}, {"publish", PublishToUsable}, {"capture", CaptureToUsable}, {"read", ReadyToRead}} {
		if v, ok := s.latency(x.metric); ok {
			fmt.Fprintf(&b, "%s%s %.1f µs", sep, x.name, float64(v)/1000)
			sep = ", "
		}
	}
	if s.PixelLen > 0 {
		fmt.Fprintf(&b, "%spixel % x", sep, s.Pixel[:s.PixelLen])
	}
	b.WriteByte('\n')
	return b.String()
}
