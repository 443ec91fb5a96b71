// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package vsphere

import (
	"encoding/json"
	"errors"
	"fmt"
	"hash/fnv"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/slipway-dev/slipway/pkg/provider/operation"
	"github.com/slipway-dev/slipway/pkg/provider/vsphere/placement"
	"github.com/slipway-dev/slipway/pkg/provider/vsphere/vimfault"
)

// attempt is an operation that was started, and how often it failed.
type attempt struct {
	fingerprint string
	info        operation.Info
	failures    int
	err         error
	next        time.Time
}

// attempts remembers failed operations, so that they are not repeated at once.
type attempts struct {
	now func() time.Time

	mu sync.Mutex
	m  map[types.NamespacedName]*attempt
}

func newAttempts(now func() time.Time) *attempts {
	return &attempts{now: now, m: map[types.NamespacedName]*attempt{}}
}

// pause returns how long to wait before what has the fingerprint is tried
// again, and why. It is zero for what was not tried or is due.
func (a *attempts) pause(key types.NamespacedName, fingerprint string) (time.Duration, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	t := a.m[key]
	if t == nil || t.fingerprint != fingerprint || t.err == nil {
		return 0, nil
	}
	return max(t.next.Sub(a.now()), 0), t.err
}

// started remembers what is tried.
func (a *attempts) started(key types.NamespacedName, fingerprint string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if t := a.m[key]; t == nil || t.fingerprint != fingerprint {
		a.m[key] = &attempt{fingerprint: fingerprint}
	}
}

// ended remembers the outcome. A check is none: what it finds is a condition.
func (a *attempts) ended(key types.NamespacedName, info operation.Info, err error) {
	if info.Kind == operation.Check {
		return
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	t := a.m[key]
	if err == nil || t == nil {
		delete(a.m, key)
		return
	}
	t.info, t.err = info, err
	pause := backoff(vimfault.KindOf(err), t.failures)
	if missing := new(placement.NotUsableError); errors.As(err, &missing) && missing.Missing {
		pause = min(pause, recheck) // As for a VM that exists.
	}
	t.next = a.now().Add(pause)
	t.failures++
}

// forget drops key.
func (a *attempts) forget(key types.NamespacedName) {
	a.mu.Lock()
	defer a.mu.Unlock()
	delete(a.m, key)
}

// backoff is the pause after a number of failures of a kind: short for what
// passes by itself, long for what somebody must repair.
func backoff(kind vimfault.Kind, failures int) time.Duration {
	first, most := 5*time.Second, 2*time.Minute
	switch kind {
	case vimfault.WrongState, vimfault.NotFound, vimfault.AlreadyExists:
		first, most = 200*time.Millisecond, 30*time.Second
	case vimfault.Temporary:
		first, most = time.Second, 30*time.Second
	}
	return min(first<<min(failures, 10), most)
}

// fingerprint identifies what an operation would do.
func fingerprint(parts ...any) string {
	h := fnv.New64a()
	for _, p := range parts {
		b, err := json.Marshal(p)
		if err != nil {
			b = fmt.Appendf(nil, "%+v", p)
		}
		_, _ = h.Write(b)
		_, _ = h.Write([]byte{0})
	}
	return fmt.Sprintf("%016x", h.Sum64())
}
