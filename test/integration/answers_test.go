// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package integration

import (
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"

	"github.com/slipway-dev/slipway/test/integration/framework"
)

// Clients decide by code and reason. The message is for users.
func TestErrors_HaveTheCodeOfTheirCause(t *testing.T) {
	s := framework.StartStandalone(t)
	createVM(t, s.Client(t), inlineVM("vm"))
	const (
		asJSON  = "application/json"
		merge   = "application/merge-patch+json"
		options = `{"kind":"PowerOptions","apiVersion":"vm.slipway.dev/v1alpha1"}`
		taken   = `{"kind":"VirtualMachine","apiVersion":"vm.slipway.dev/v1alpha1","metadata":{"name":"vm"},"spec":{"cpu":{"sockets":1},"memory":{"guest":"1Gi"}}}`
	)
	for name, tc := range map[string]struct {
		method, path, contentType, body string
		code                            int
		says                            string
	}{
		"missing object":               {"GET", "/gone", "", "", 404, `"gone" not found`},
		"missing object to start":      {"POST", "/gone/start", asJSON, options, 404, `"gone" not found`},
		"unknown subresource":          {"GET", "/vm/scale", "", "", 404, "could not find"},
		"reading an action":            {"GET", "/vm/start", "", "", 405, "does not allow this method"},
		"writing the expanded spec":    {"POST", "/vm/expand-spec", asJSON, options, 405, "does not allow this method"},
		"a format that is not spoken":  {"POST", "/vm/start", "text/plain", options, 415, "application/json"},
		"a patch that is none":         {"PATCH", "/vm", asJSON, "{}", 415, "Unsupported"},
		"a body that is cut off":       {"POST", "/vm/start", asJSON, `{"kind":`, 400, "PowerOptions"},
		"options of another action":    {"POST", "/vm/start", asJSON, `{"kind":"RefreshOptions","apiVersion":"vm.slipway.dev/v1alpha1"}`, 400, "cannot be handled as a PowerOptions"},
		"an unknown field, strictly":   {"POST", "/vm/start?fieldValidation=Strict", asJSON, `{"colour":"blue"}`, 400, `unknown field "colour"`},
		"an unknown mode":              {"POST", "/vm/stop", asJSON, `{"mode":"Gently"}`, 422, "TrySoft"},
		"an unknown dry run":           {"POST", "/vm/stop", asJSON, `{"dryRun":["Some"]}`, 422, "dryRun"},
		"an unknown generation":        {"GET", "/vm/expand-spec?generation=next", "", "", 422, "stored"},
		"an unknown power state":       {"PATCH", "/vm", merge, `{"spec":{"powerState":"Sleeping"}}`, 422, "spec.powerState"},
		"a name that is taken":         {"POST", "", asJSON, taken, 409, "already exists"},
		"a version that has passed":    {"PATCH", "/vm", merge, `{"metadata":{"resourceVersion":"1"},"spec":{"powerState":"PoweredOff"}}`, 409, "modified"},
		"the name of another object":   {"PUT", "/other", asJSON, taken, 400, "does not match the name on the URL"},
		"a selector of no known field": {"GET", "?fieldSelector=spec.colour%3Dblue", "", "", 400, "spec.powerState"},
	} {
		t.Run(name, func(t *testing.T) {
			status := ask(t, s.Config(), tc.method, "/apis/vm.slipway.dev/v1alpha1/namespaces/"+namespace+"/virtualmachines"+tc.path, tc.contentType, tc.body)
			if int(status.Code) != tc.code || !strings.Contains(status.Message, tc.says) {
				t.Errorf("answer %d %s: %s; want %d with %q", status.Code, status.Reason, status.Message, tc.code, tc.says)
			}
		})
	}
	t.Run("a format that is not supported", func(t *testing.T) {
		request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, s.Config().Host+"/apis/vm.slipway.dev/v1alpha1/namespaces/"+namespace+"/virtualmachines/vm", nil)
		if err != nil {
			t.Fatal(err)
		}
		request.Header.Set("Accept", "image/png")
		if status := send(t, s.Config(), request); status.Code != http.StatusNotAcceptable {
			t.Errorf("answer %d %s, want 406", status.Code, status.Message)
		}
	})
}

// ask sends a request and returns the Status of the response.
func ask(t *testing.T, config *rest.Config, method, path, contentType, body string) metav1.Status {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), method, config.Host+path, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	if contentType != "" {
		request.Header.Set("Content-Type", contentType)
	}
	return send(t, config, request)
}

func send(t *testing.T, config *rest.Config, request *http.Request) metav1.Status {
	t.Helper()
	client, err := rest.HTTPClientFor(config)
	if err != nil {
		t.Fatal(err)
	}
	response, err := client.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = response.Body.Close() }()
	data, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	var status metav1.Status
	if err := json.Unmarshal(data, &status); err != nil || status.Kind != "Status" {
		t.Fatalf("%s %s is answered %d %.300s, want a Status", request.Method, request.URL, response.StatusCode, data)
	}
	return status
}
