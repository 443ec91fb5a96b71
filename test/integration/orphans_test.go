// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package integration

import (
	"io"
	"net/http"
	"strings"
	"testing"

	"k8s.io/client-go/rest"

	"github.com/slipway-dev/slipway/pkg/apis/vm/orphans"
	"github.com/slipway-dev/slipway/pkg/apis/vm/queues"
	"github.com/slipway-dev/slipway/test/integration/framework"
)

// An unknown state is not reported as an empty one.
func TestOrphans_AreUnknownWithoutControllers(t *testing.T) {
	s := framework.StartStandalone(t)
	for resource, path := range map[string]string{orphans.Resource: orphans.Path, queues.Resource: queues.Path} {
		t.Run(resource, func(t *testing.T) { checkUnknown(t, s, resource, path) })
	}
}

// checkUnknown checks that a report is rejected, and that users without the permission get Forbidden.
func checkUnknown(t *testing.T, s *framework.Server, resource, path string) {
	stranger := s.Config()
	stranger.Impersonate = rest.ImpersonationConfig{UserName: "mallory"}
	for name, tc := range map[string]struct {
		config *rest.Config
		code   int
		says   string
	}{
		"permitted": {s.ConfigFor("alice"), http.StatusServiceUnavailable, "the controllers have not started in this replica"},
		"forbidden": {stranger, http.StatusForbidden, `cannot list resource \"` + resource + `\" in API group \"vm.slipway.dev\" at the cluster scope`},
	} {
		client, err := rest.HTTPClientFor(tc.config)
		if err != nil {
			t.Fatal(err)
		}
		r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, tc.config.Host+path, nil)
		if err != nil {
			t.Fatal(err)
		}
		answer, err := client.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		body, err := io.ReadAll(answer.Body)
		_ = answer.Body.Close()
		if err != nil || answer.StatusCode != tc.code || !strings.Contains(string(body), tc.says) {
			t.Errorf("%s: %d %s (%v), want %d with message %s", name, answer.StatusCode, body, err, tc.code, tc.says)
		}
		if later := answer.Header.Get("Retry-After"); (later != "") != (tc.code == http.StatusServiceUnavailable) {
			t.Errorf("%s: Retry-After %q", name, later)
		}
	}
}
