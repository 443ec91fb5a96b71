// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package session

import (
	"fmt"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/vmware/govmomi/vim25"
	"github.com/vmware/govmomi/vim25/methods"
)

func TestOlderVersion_ReturnsTheOlderOne(t *testing.T) {
	for _, tc := range []struct{ server, client, want string }{
		{"8.0.3.0", "9.1.0.0", "8.0.3.0"},
		{"9.2.0.0", "9.1.0.0", "9.1.0.0"},
		{"10.0.0.0", "9.1.0.0", "9.1.0.0"},
		{"8.0", "8.0.2.0", "8.0"},
		{"9.1.0.0", "9.1.0.0", "9.1.0.0"},
		{"", "9.1.0.0", "9.1.0.0"},
		{"dev", "9.1.0.0", "9.1.0.0"},
	} {
		if got := olderVersion(tc.server, tc.client); got != tc.want {
			t.Errorf("older(%q, %q) = %q, want %q", tc.server, tc.client, got, tc.want)
		}
	}
}

// versions simulates a vCenter that supports only one API version.
type versions struct {
	speaks atomic.Value

	mu   sync.Mutex
	used map[string]struct{} // SOAPActions
}

func (v *versions) before(w http.ResponseWriter, r *http.Request) bool {
	if strings.HasSuffix(r.URL.Path, "/vimServiceVersions.xml") {
		_, _ = fmt.Fprintf(w, `<namespaces version="1.0"><namespace><name>urn:vim25</name><version>%s</version></namespace></namespaces>`, v.speaks.Load())
		return true
	}
	action := r.Header.Get("SOAPAction")
	if action == "" {
		return false
	}
	v.mu.Lock()
	v.used[action] = struct{}{}
	v.mu.Unlock()
	if action == "urn:vim25/"+v.speaks.Load().(string) {
		return false
	}
	w.WriteHeader(http.StatusInternalServerError)
	_, _ = fmt.Fprintf(w, `<?xml version="1.0" encoding="UTF-8"?>
<soapenv:Envelope xmlns:soapenv="http://schemas.xmlsoap.org/soap/envelope/"><soapenv:Body><soapenv:Fault>
<faultcode>ns1:VersionMismatchFaultCode</faultcode><faultstring>Unsupported version URI %q</faultstring>
</soapenv:Fault></soapenv:Body></soapenv:Envelope>`, action)
	return true
}

func TestVersion_IsNegotiatedAtEveryLogin(t *testing.T) {
	srv := startServer(t)
	v := &versions{used: map[string]struct{}{}}
	v.speaks.Store("8.0.2.0")
	srv.intercept(v.before)
	s := srv.open(t, nil)
	c, err := s.Vim(t.Context())
	if err != nil {
		t.Fatalf("login to a vCenter with an older API: %v", err)
	}
	if _, ok := v.used["urn:vim25/"+vim25.Version]; ok || len(v.used) != 1 {
		t.Errorf("SOAPActions %v, want 8.0.2.0 only", v.used)
	}
	for _, next := range []string{"8.0.3.0", "8.0.1.0"} { // an upgrade, and a restore of an older version
		srv.terminate(t)
		v.speaks.Store(next)
		if _, err := methods.GetCurrentTime(t.Context(), c); err != nil {
			t.Errorf("a call after vCenter changed to %s: %v", next, err)
		}
	}
}
