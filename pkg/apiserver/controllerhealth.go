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

// vcenterTimeout bounds the question to vCenter, so that a prober that waits some
// seconds gets an answer also from a vCenter that accepts connections and is silent.
const vcenterTimeout = 2 * time.Second

// ControllerHealth is what /readyz checks of the controllers of this replica. A check passes while it
// does not apply: the controllers wait for the release of a restored store, and there are no sessions
// with the vCenters of other replicas.
type ControllerHealth struct {
	// Running reports whether the controllers run, and Synced whether their informers have synced.
	Running, Synced func() bool
	// Sessions returns what checks the session with each vCenter, by the name of its host, as soon as
	// they are known.
	Sessions func() (ask map[string]func(context.Context) error, known bool)
}

// Checks returns the checks: without Sessions, which a server without controllers has not, one less.
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
