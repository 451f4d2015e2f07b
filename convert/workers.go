// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

package convert

// start begins the workers, if there are any.
func (c *Converter) start() {
	n := len(c.scratch)
	c.bandRows = (c.dst.Height + n - 1) / n
	// Chroma rows of 4:2:0 serve two rows: bands of even height share none.
	c.bandRows += c.bandRows & 1
	if n == 1 {
		return
	}
	c.bands = make(chan int, n)
	for range n - 1 {
		go c.work()
	}
}

// work converts bands until Close.
func (c *Converter) work() {
	for i := range c.bands {
		c.band(i)
		c.wait.Done()
	}
}

// run converts a frame: band 0 here, the others where a worker is free.
func (c *Converter) run(dst, src []byte) {
	c.to, c.from = dst, src
	workers := len(c.scratch) > 1 && !c.closed
	c.wait.Add(len(c.scratch) - 1)
	for i := 1; i < len(c.scratch); i++ {
		if workers {
			c.bands <- i
		} else {
			c.band(i)
			c.wait.Done()
		}
	}
	c.band(0)
	c.wait.Wait()
	c.to, c.from = nil, nil
}

// band converts the rows of band i with scratch i, which nobody else uses then.
func (c *Converter) band(i int) {
	s := c.scratch[i]
	s.loaded = [3]int{-1, -1, -1}
	for y := i * c.bandRows; y < min((i+1)*c.bandRows, c.dst.Height); y++ {
		c.row(s, c.to, c.from, y)
	}
}

// Close ends the workers. The converter can still be used, without them.
func (c *Converter) Close() {
	if !c.closed && c.bands != nil {
		close(c.bands)
	}
	c.closed = true
}
