// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package maintenance

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// stopping is a writer that cancels the context at its first write.
type stopping struct {
	stop    context.CancelFunc
	written int
}

func (w *stopping) Write(p []byte) (int, error) {
	w.stop()
	w.written += len(p)
	return len(p), nil
}

func TestSave_CopyEndsWithItsContext(t *testing.T) {
	s, c := embeddedStore(t, 0)
	for _, key := range []string{"/a", "/b", "/c", "/d"} {
		if _, err := c.Put(t.Context(), key, strings.Repeat("v", 1<<20)); err != nil {
			t.Fatal(err)
		}
	}
	ctx, stop := context.WithCancel(t.Context())
	w := &stopping{stop: stop}
	if err := s.Save(ctx, w); !errors.Is(err, context.Canceled) || w.written >= 1<<20 {
		t.Errorf("Save = %v after %d bytes, want that it ends with the first", err, w.written)
	}
}

func TestSave_CheckEndsWithItsContextAndLeavesNoFiles(t *testing.T) {
	s, _ := embeddedStore(t, 0)
	ctx, stop := context.WithCancel(t.Context())
	dir, ended := t.TempDir(), make(chan struct{})
	defer close(ended)
	_, err := s.saveFile(ctx, filepath.Join(dir, "snapshot"), func(string) (Content, error) {
		stop()
		<-ended
		return Content{}, nil
	})
	if !errors.Is(err, context.Canceled) {
		t.Errorf("saveFile = %v, want %v", err, context.Canceled)
	}
	if left, err := os.ReadDir(dir); err != nil || len(left) > 0 {
		t.Errorf("left: %v (error %v)", left, err)
	}
}
