// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package integration

import (
	"net/http"
	"strings"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"

	"github.com/slipway-dev/slipway/test/integration/framework"
)

// The server has no vCenter, so only requests that need none are tested.
func TestConsole_RequestsAreNotStored(t *testing.T) {
	s := framework.StartStandalone(t)
	c := s.Client(t)
	createVM(t, c, inlineVM("vm"))
	vms := c.VmV1alpha1().VirtualMachines(namespace)

	if _, err := vms.Console(t.Context(), "vm", metav1.CreateOptions{}); !apierrors.IsServiceUnavailable(err) {
		t.Errorf("a console without a vCenter: %v, want 503", err)
	}
	if _, err := vms.Screenshot(t.Context(), "vm"); !apierrors.IsServiceUnavailable(err) {
		t.Errorf("a picture without a vCenter: %v, want 503", err)
	}
	dry, err := vms.Console(t.Context(), "vm", metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}})
	if err != nil || dry.Name != "vm" || dry.Status.Ticket != "" {
		t.Errorf("a dry run: %+v, %v; want the name and no ticket", dry, err)
	}
	for name, tc := range map[string]struct {
		method, path, body string
		code               int
		says               string
	}{
		"a console of a missing VM":         {"POST", "/gone/console", `{}`, 404, `"gone" not found`},
		"a screenshot of a missing VM":      {"GET", "/gone/screenshot", "", 404, `"gone" not found`},
		"a console by GET":                  {"GET", "/vm/console", "", 405, "does not allow this method"},
		"a picture by POST":                 {"POST", "/vm/screenshot", `{}`, 405, "does not allow this method"},
		"the body speaks of another":        {"POST", "/vm/console", `{"metadata":{"name":"other"}}`, 422, "metadata.name"},
		"the body is that of another thing": {"POST", "/vm/console", `{"kind":"PowerOptions","apiVersion":"vm.slipway.dev/v1alpha1"}`, 400, "VirtualMachineConsole"},
	} {
		t.Run(name, func(t *testing.T) {
			contentType := ""
			if tc.method == http.MethodPost {
				contentType = "application/json"
			}
			status := ask(t, s.Config(), tc.method, machinesPath+tc.path, contentType, tc.body)
			if int(status.Code) != tc.code || !strings.Contains(status.Message, tc.says) {
				t.Errorf("answer %d %s, want %d with %q", status.Code, status.Message, tc.code, tc.says)
			}
		})
	}
}

func TestConsole_RequestsOfAUserAreLimited(t *testing.T) {
	s := framework.StartStandalone(t)
	createVM(t, s.Client(t), inlineVM("vm"))
	client, err := rest.HTTPClientFor(s.Config())
	if err != nil {
		t.Fatal(err)
	}
	const bound, most = 20, 10_000 // the limiter refills every second
	for i := range most {
		request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, s.Config().Host+machinesPath+"/vm/screenshot", nil)
		if err != nil {
			t.Fatal(err)
		}
		response, err := client.Do(request)
		if err != nil {
			t.Fatal(err)
		}
		_ = response.Body.Close()
		if got := response.Header.Get("Cache-Control"); got != "no-store" {
			t.Fatalf("Cache-Control is %q, want no-store", got)
		}
		switch {
		case response.StatusCode == http.StatusServiceUnavailable: // there is no vCenter
		case response.StatusCode != http.StatusTooManyRequests:
			t.Fatalf("answer %d", response.StatusCode)
		case i < bound || response.Header.Get("Retry-After") == "":
			t.Fatalf("request %d was refused, to be tried again after %q; want none of the first %d refused, and a time", i, response.Header.Get("Retry-After"), bound)
		default:
			return
		}
	}
	t.Errorf("none of %d requests was refused", most)
}
