// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package embedded

import (
	"errors"
	"testing"
	"testing/synctest"
	"time"
)

func TestAwaitLock_WaitsForAProcessThatEnds(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		timeout, held, waited time.Duration
		want                  error
	}{
		"free":                       {2 * time.Second, 0, 0, nil},
		"the other process ends":     {2 * time.Second, time.Second, time.Second, nil},
		"the other process runs":     {2 * time.Second, time.Minute, 2 * time.Second, errInUse},
		"the caller does not wait":   {0, time.Minute, 0, errInUse},
		"free, and without patience": {0, 0, 0, nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			synctest.Test(t, func(t *testing.T) {
				if tc.held > 0 {
					other, err := lockDir(dir)
					if err != nil {
						t.Fatal(err)
					}
					defer time.AfterFunc(tc.held, func() { _ = other.Close() }).Stop()
					defer func() { _ = other.Close() }()
				}
				began := time.Now()
				f, err := awaitLock(t.Context(), dir, tc.timeout)
				if waited := time.Since(began); !errors.Is(err, tc.want) || waited < tc.waited || waited > tc.waited+lockRetry {
					t.Errorf("after %s the error is %v; want %v after %s", waited, err, tc.want, tc.waited)
				}
				if f != nil {
					_ = f.Close()
				}
			})
		})
	}
}
