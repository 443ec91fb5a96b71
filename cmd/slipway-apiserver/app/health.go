// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package app

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"sync"
	"time"

	"k8s.io/apiserver/pkg/server/healthz"

	"github.com/slipway-dev/slipway/pkg/store/maintenance"
)

// vcenterTimeout bounds the question to vCenter, so that a prober that waits some
// seconds gets an answer also from a vCenter that accepts connections and is silent.
const vcenterTimeout = 2 * time.Second

// health holds what /readyz asks beside the checks of the libraries, which are etcd
// and the informers of the host cluster. A check passes while it does not apply: the
// controllers wait for the release of a restored store, and there are no sessions with the
// vCenters that other replicas take care of.
type health struct {
	withControllers bool

	mu     sync.Mutex
	synced func() bool
	// vcenters are what to ask, each by the name of its host, as soon as it is known.
	vcenters func() (ask map[string]func(context.Context) error, known bool)
}

func newHealth(withControllers bool) *health { return &health{withControllers: withControllers} }

// set says how to ask whether the controllers' informers have synced and whether
// there is a session with each vCenter.
func (h *health) set(synced func() bool, vcenters func() (map[string]func(context.Context) error, bool)) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.synced, h.vcenters = synced, vcenters
}

func (h *health) checks() []healthz.HealthChecker {
	checks := []healthz.HealthChecker{healthz.NamedCheck("informers", h.checkInformers)}
	if h.withControllers {
		checks = append(checks, healthz.NamedCheck("vcenter-session", h.checkVCenter))
	}
	return checks
}

func (h *health) checkInformers(*http.Request) error {
	h.mu.Lock()
	synced := h.synced
	h.mu.Unlock()
	if synced == nil || synced() {
		return nil
	}
	return errors.New("the controllers' informers have not synced yet")
}

func (h *health) checkVCenter(r *http.Request) error {
	h.mu.Lock()
	vcenters := h.vcenters
	h.mu.Unlock()
	if vcenters == nil {
		return nil
	}
	ask, known := vcenters()
	if !known {
		return errors.New("there is no session with vCenter yet")
	}
	ctx, cancel := context.WithTimeout(r.Context(), vcenterTimeout)
	defer cancel()
	answers := make(chan error, len(ask))
	for host, ask := range ask {
		go func() {
			err := ask(ctx)
			switch {
			case errors.Is(ctx.Err(), context.DeadlineExceeded):
				err = fmt.Errorf("vCenter %s did not answer within %s", host, vcenterTimeout)
			case err != nil:
				err = fmt.Errorf("vCenter %s: %w", host, err)
			}
			answers <- err
		}()
	}
	var failures []error
	for range ask {
		failures = append(failures, <-answers)
	}
	return errors.Join(failures...)
}

// etcdSpace fails when etcd, or the disk of an embedded one, is nearly full.
func etcdSpace(etcd *maintenance.Store) func(*http.Request) error {
	return func(*http.Request) error {
		space, err := etcd.Space()
		if err != nil {
			return err
		}
		return space.Err()
	}
}
