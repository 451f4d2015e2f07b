// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

package bench

import (
	"errors"
	"fmt"
	"os"

	"golang.org/x/sys/unix"
)

// appendRows adds rows to a file that collects runs, and writes its header
// first if it is new. All rows are added or none.
func appendRows(path, header, rows string) error {
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o666)
	if err != nil {
		return err
	}
	err = appendTo(f, header, rows)
	if err = errors.Join(err, f.Close()); err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	return nil
}

func appendTo(f *os.File, header, rows string) error {
	// Two runs may end at the same time.
	if err := unix.Flock(int(f.Fd()), unix.LOCK_EX); err != nil {
		return fmt.Errorf("lock: %w", err)
	}
	info, err := f.Stat()
	if err != nil {
		return err
	}
	text := rows
	if info.Size() == 0 {
		text = header + rows
	}
	_, err = f.WriteString(text)
	if err == nil {
		err = f.Sync()
	}
	if err != nil {
		return errors.Join(err, f.Truncate(info.Size()))
	}
	return nil
}
