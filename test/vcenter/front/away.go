// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package front

import (
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"

	"github.com/vmware/govmomi/cns"
	"github.com/vmware/govmomi/pbm"
)

// services are those of vCenter that can be away while the others answer, by the paths
// of their endpoints.
var services = map[string]string{"policies": pbm.Path, "volumes": cns.Path}

// Away lets one service not run, or run again: policies or volumes. vCenter's reverse
// proxy answers in its place.
func (f *Front) Away(service string, away bool) error {
	path, ok := services[service]
	if !ok {
		return fmt.Errorf("service: %q: must be policies or volumes", service)
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.away == nil {
		f.away = map[string]bool{}
	}
	f.away[path] = away
	return nil
}

func (f *Front) isAway(path string) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	for prefix, away := range f.away {
		if away && strings.HasPrefix(path, prefix) {
			return true
		}
	}
	return false
}

// unavailable is the answer of vCenter's reverse proxy for a service that does not run (the status is well known, the
// text is a judgement).
func unavailable(w http.ResponseWriter) {
	w.WriteHeader(http.StatusServiceUnavailable)
	_, _ = io.WriteString(w, "503 Service Unavailable (Failed to connect to endpoint)") // a failed write means that the client has disconnected
}

// serveAway serves the order of Away.
func (f *Front) serveAway(w http.ResponseWriter, r *http.Request) {
	away, err := strconv.ParseBool(r.URL.Query().Get("away"))
	if err == nil {
		err = f.Away(r.URL.Query().Get("name"), away)
	}
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	answer(w, away)
}
