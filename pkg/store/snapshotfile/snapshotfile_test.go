// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package snapshotfile

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"io"
	"testing"
	"testing/iotest"
)

// written returns a database and its checksum.
func written() []byte {
	database := bytes.Repeat([]byte("page"), 4*page/4)
	sum := sha256.Sum256(database)
	return append(database, sum[:]...)
}

func TestReader_ReturnsTheFileForReadsOfAnySize(t *testing.T) {
	file := written()
	for name, r := range map[string]io.Reader{
		"in one piece": bytes.NewReader(file), "byte by byte": iotest.OneByteReader(bytes.NewReader(file)), "by halves": iotest.HalfReader(bytes.NewReader(file)),
	} {
		var got bytes.Buffer
		if n, err := Copy(&got, r); err != nil || n != int64(len(file)) || !bytes.Equal(got.Bytes(), file) {
			t.Errorf("%s: %d bytes of %d, %v", name, n, len(file), err)
		}
	}
}

func TestReader_ReportsATruncatedOrChangedFile(t *testing.T) {
	file := written()
	flipped := bytes.Clone(file)
	flipped[page] ^= 1
	last := bytes.Clone(file)
	last[len(last)-1] ^= 1
	for name, tc := range map[string]struct {
		content []byte
		want    error
	}{
		"nothing":                  {nil, ErrNoChecksum},
		"a database only":          {file[:4*page], ErrNoChecksum},
		"without its last byte":    {file[:len(file)-1], ErrNoChecksum},
		"cut by a page":            {file[:len(file)-page], ErrChanged},
		"one bit of it changed":    {flipped, ErrChanged},
		"a bit of the sum changed": {last, ErrChanged},
	} {
		if _, err := Copy(io.Discard, bytes.NewReader(tc.content)); !errors.Is(err, tc.want) {
			t.Errorf("%s: %v, want %v", name, err, tc.want)
		}
	}
	broken := errors.New("broken")
	if _, err := Copy(io.Discard, io.MultiReader(bytes.NewReader(file), iotest.ErrReader(broken))); !errors.Is(err, broken) {
		t.Errorf("a connection that ends with an error: %v", err)
	}
}
