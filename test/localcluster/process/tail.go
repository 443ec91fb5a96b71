// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package process

import (
	"bytes"
	"fmt"
	"io"
	"os"
)

const (
	// tailBytes is the maximum that is read from a log, tailLines the maximum that is printed.
	tailBytes = 16 << 10
	tailLines = 15
)

// tail returns the last lines of a file after from bytes, for an error message.
func tail(path string, from int64) string {
	data, err := lastBytes(path, from)
	if err != nil {
		return fmt.Sprintf("(cannot be read: %v)", err)
	}
	lines := bytes.Split(bytes.TrimRight(data, "\n"), []byte("\n"))
	if len(lines) > tailLines {
		lines = lines[len(lines)-tailLines:]
	}
	if len(bytes.TrimSpace(bytes.Join(lines, nil))) == 0 {
		return "(it is empty)"
	}
	return string(bytes.Join(lines, []byte("\n")))
}

func lastBytes(path string, from int64) ([]byte, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	return io.ReadAll(io.NewSectionReader(f, max(from, info.Size()-tailBytes), tailBytes))
}
