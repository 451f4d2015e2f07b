// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

package measure

// NoNewMessages is what ros2 topic delay prints when nothing came since its
// last report.
const NoNewMessages = "no new messages"

// Delay is what ros2 topic delay computes.
//
// Facts of the reference (ros2cli, ros2topic/verb/delay.py, class
// ROSTopicDelay, callback_delay, get_delay and print_delay): the first message
// only starts the measurement, its delay is not counted; a timer of one second
// prints nothing until there is a delay, then either a report or
// [NoNewMessages]; the number printed as "window" is the number of delays.
type Delay struct {
	delays      window // nanoseconds
	first, last int64  // arrivals; 0 = none yet
	reported    int64  // arrival at the last report
}

// NewDelay keeps the newest window delays; [DefaultDelayWindow] is usual.
func NewDelay(window int) *Delay { return &Delay{delays: newWindow(window)} }

// Add counts a message that arrived delayNanos after its stamp.
func (d *Delay) Add(arrivalNanos, delayNanos int64) {
	if d.first == 0 || d.first > arrivalNanos {
		d.first, d.last = arrivalNanos, arrivalNanos
		d.delays.clear()
		return
	}
	d.delays.add(delayNanos)
	d.last = arrivalNanos
}

// Text is what is to be printed now, without a newline at its end; call it
// once a second. "" stands for nothing.
func (d *Delay) Text() string {
	if d.delays.len() == 0 {
		return ""
	}
	if s := d.Final(); s != "" {
		return s
	}
	return NoNewMessages
}

// Final is the report at the end of a measurement; "" if nothing came since
// the last one.
func (d *Delay) Final() string {
	if d.delays.len() == 0 || d.last == d.reported {
		return ""
	}
	d.reported = d.last
	s := d.delays.spread()
	return averageText("delay", s.Mean*1e-9, s)
}
