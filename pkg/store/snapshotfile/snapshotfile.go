// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package snapshotfile

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"hash"
	"io"
)

// page is what the size of a database is a multiple of.
const page = 512

// Errors of files that are none.
var (
	// ErrNoChecksum is that of a file that is a database alone, or was cut.
	ErrNoChecksum = errors.New("it has no checksum: it is truncated, or it is a copy of a database file")
	// ErrChanged is that of a file whose content has changed since.
	ErrChanged = errors.New("its content does not match its checksum")
)

// Copy copies a file and returns its size. What was written is not to be used after an error.
func Copy(w io.Writer, r io.Reader) (int64, error) {
	c := &check{hash: sha256.New()}
	n, err := io.Copy(io.MultiWriter(w, c), r)
	if err != nil {
		return n, err
	}
	return n, c.err(n)
}

// check compares what comes last with the hash of all before.
type check struct {
	hash hash.Hash
	last []byte
}

// Write implements io.Writer.
func (c *check) Write(p []byte) (int, error) {
	c.last = append(c.last, p...)
	if more := len(c.last) - sha256.Size; more > 0 {
		c.hash.Write(c.last[:more])
		c.last = append(c.last[:0], c.last[more:]...)
	}
	return len(p), nil
}

func (c *check) err(size int64) error {
	switch database := size - sha256.Size; {
	case database <= 0 || database%page != 0:
		return ErrNoChecksum
	case !bytes.Equal(c.last, c.hash.Sum(nil)):
		return ErrChanged
	}
	return nil
}
