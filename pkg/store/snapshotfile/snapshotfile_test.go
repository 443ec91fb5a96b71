// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package snapshotfile

import (
	"bytes"
	"errors"
	"io"
	"testing"
	"testing/iotest"
)

// database is one that is written in pieces.
type database []byte

func (d database) WriteTo(w io.Writer) (int64, error) {
	n, err := w.Write(d[:100])
	if err != nil {
		return int64(n), err
	}
	m, err := w.Write(d[100:])
	return int64(n + m), err
}

func written(t *testing.T) []byte {
	t.Helper()
	var file bytes.Buffer
	if err := Write(&file, database(bytes.Repeat([]byte("page"), 4*page/4))); err != nil {
		t.Fatal(err)
	}
	return file.Bytes()
}

func TestFileComesBackWholeInWhateverPieces(t *testing.T) {
	file := written(t)
	for name, r := range map[string]io.Reader{
		"at once": bytes.NewReader(file), "byte by byte": iotest.OneByteReader(bytes.NewReader(file)), "by halves": iotest.HalfReader(bytes.NewReader(file)),
	} {
		var got bytes.Buffer
		if n, err := Copy(&got, r); err != nil || n != int64(len(file)) || !bytes.Equal(got.Bytes(), file) {
			t.Errorf("%s: %d bytes of %d, %v", name, n, len(file), err)
		}
	}
}

func TestFileThatWasCutOrChangedIsAnError(t *testing.T) {
	file := written(t)
	flipped := bytes.Clone(file)
	flipped[page] ^= 1
	last := bytes.Clone(file)
	last[len(last)-1] ^= 1
	for name, tc := range map[string]struct {
		content []byte
		want    error
	}{
		"nothing":                  {nil, ErrNoChecksum},
		"a database alone":         {file[:4*page], ErrNoChecksum},
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
