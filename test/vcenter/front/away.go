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

// services are the services of vCenter that can be unavailable separately, by the paths of their endpoints.
var services = map[string]string{"policies": pbm.Path, "volumes": cns.Path}

// Away stops or starts one service: policies or volumes. While it is stopped, vCenter's reverse proxy answers.
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

// unavailable is the response of vCenter's reverse proxy for a stopped service (the status is well known, the text is a
// judgement).
func unavailable(w http.ResponseWriter) {
	w.WriteHeader(http.StatusServiceUnavailable)
	_, _ = io.WriteString(w, "503 Service Unavailable (Failed to connect to endpoint)") // a failed write means that the client has disconnected
}

// serveAway serves the control request for Away.
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
