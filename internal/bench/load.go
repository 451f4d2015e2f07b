// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

package bench

// Bounds of how loads are sampled.
const (
	MinLoadPeriodMillis     = 10
	MaxLoadPeriodMillis     = 1000
	DefaultLoadPeriodMillis = 100
	MaxLoadWindow           = 100
	DefaultLoadWindow       = 5
)

// Loads are the averages that were taken while a phase measured, in hundredths
// of per cent: of one core for processes, of all cores for the system.
type Loads struct {
	Subscriber, Publisher, System []int64
	// GPU is the load, GPUMemory what is in use in KiB; empty where not told.
	GPU, GPUMemory []int64
}

// loadMeter turns usage into averages over the newest window samples.
type loadMeter struct {
	window int
	seen   []Usage // the newest window+1
	loads  Loads
}

func newLoadMeter(window int) *loadMeter {
	return &loadMeter{window: window, seen: make([]Usage, 0, window+2)}
}

// add takes a reading. The first one only begins.
func (m *loadMeter) add(u Usage) {
	m.seen = append(m.seen, u)
	if len(m.seen) > m.window+1 {
		m.seen = append(m.seen[:0], m.seen[1:]...)
	}
	first := m.seen[0]
	elapsed := u.AtNanos - first.AtNanos
	if elapsed <= 0 {
		return
	}
	m.loads.Subscriber = append(m.loads.Subscriber, share(u.SubscriberNanos-first.SubscriberNanos, elapsed))
	if u.PublisherNanos >= 0 && first.PublisherNanos >= 0 {
		m.loads.Publisher = append(m.loads.Publisher, share(u.PublisherNanos-first.PublisherNanos, elapsed))
	}
	if total := int64(u.SystemTotal - first.SystemTotal); total > 0 && u.SystemTotal > 0 {
		m.loads.System = append(m.loads.System, share(int64(u.SystemBusy-first.SystemBusy), total))
	}
	m.addGPU()
}

// addGPU averages over the newest readings, which are of moments.
func (m *loadMeter) addGPU() {
	var load, memory, n int64
	for _, u := range m.seen[1:] {
		if u.GPU.Told {
			load, memory, n = load+u.GPU.Load, memory+u.GPU.Memory, n+1
		}
	}
	if n > 0 {
		m.loads.GPU = append(m.loads.GPU, load/n)
		m.loads.GPUMemory = append(m.loads.GPUMemory, memory/n)
	}
}

// share is part of whole in hundredths of per cent.
func share(part, whole int64) int64 {
	return int64(float64(max(part, 0))/float64(whole)*10_000 + 0.5)
}
