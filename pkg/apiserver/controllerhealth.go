// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package apiserver

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"time"

	"k8s.io/apiserver/pkg/server/healthz"
)

// vcenterTimeout limits the session check of a vCenter. A prober that waits some seconds then gets an answer even if
// a vCenter accepts connections and does not respond.
const vcenterTimeout = 2 * time.Second

// ControllerHealth provides the /readyz checks of this replica's controllers. A check passes if it does not apply:
// while the controllers wait for the release of a restored store, or for vCenters that other replicas manage.
type ControllerHealth struct {
	// Running reports whether the controllers run, and Synced whether their informers have synced.
	Running, Synced func() bool
	// Sessions returns a session check for each vCenter by its host name. It returns false while the vCenters are not
	// known.
	Sessions func() (ask map[string]func(context.Context) error, known bool)
}

// Checks returns the health checks. A server without controllers has no Sessions and thus no session check.
func (h *ControllerHealth) Checks() []healthz.HealthChecker {
	all := []healthz.HealthChecker{healthz.NamedCheck("informers", h.checkInformers)}
	if h.Sessions != nil {
		all = append(all, healthz.NamedCheck("vcenter-session", h.checkVCenter))
	}
	return all
}

func (h *ControllerHealth) checkInformers(*http.Request) error {
	if !h.Running() || h.Synced() {
		return nil
	}
	return errors.New("the controllers' informers have not synced yet")
}

func (h *ControllerHealth) checkVCenter(r *http.Request) error {
	if !h.Running() {
		return nil
	}
	ask, known := h.Sessions()
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
