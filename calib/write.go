// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

package calib

import (
	"fmt"
	"strconv"
	"strings"
)

// YAML is the file of the calibration, as ROS reads it. It fails with
// [ErrInvalid].
func (c Calibration) YAML() ([]byte, error) {
	if err := c.Validate(); err != nil {
		return nil, err
	}
	var b strings.Builder
	fmt.Fprintf(&b, "%s: %d\n%s: %d\n%s: %s\n", keyWidth, c.Width, keyHeight, c.Height, keyName, strconv.Quote(c.Name))
	writeMatrix(&b, keyK, 3, 3, c.K[:])
	fmt.Fprintf(&b, "%s: %s\n", keyModel, strconv.Quote(c.Model))
	writeMatrix(&b, keyD, 1, len(c.D), c.D)
	writeMatrix(&b, keyR, 3, 3, c.R[:])
	writeMatrix(&b, keyP, 3, 4, c.P[:])
	return []byte(b.String()), nil
}

func writeMatrix(b *strings.Builder, key string, rows, cols int, data []float64) {
	texts := make([]string, 0, len(data))
	for _, f := range data {
		texts = append(texts, strconv.FormatFloat(f, 'g', -1, 64))
	}
	fmt.Fprintf(b, "%s:\n  %s: %d\n  %s: %d\n  %s: [%s]\n", key, keyRows, rows, keyCols, cols, keyData, strings.Join(texts, ", "))
}
