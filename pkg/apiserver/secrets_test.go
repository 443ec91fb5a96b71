// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package apiserver

import (
	"net/http"
	"net/http/httptest"
	"testing"

	auditapi "k8s.io/apiserver/pkg/apis/audit"
	"k8s.io/apiserver/pkg/audit"
	"k8s.io/apiserver/pkg/authorization/authorizer"
	genericapirequest "k8s.io/apiserver/pkg/endpoints/request"
)

// always is a policy with one level for all requests.
type always auditapi.Level

func (a always) EvaluatePolicyRule(authorizer.Attributes) audit.RequestAuditConfig {
	return audit.RequestAuditConfig{Level: auditapi.Level(a), OmitManagedFields: true}
}

func TestConsoleResponses_AreNotInTheAuditLog(t *testing.T) {
	for name, tc := range map[string]struct {
		group, resource, subresource string
		policy, want                 auditapi.Level
	}{
		"a ticket":                {"vm.slipway.dev", "virtualmachines", "console", auditapi.LevelRequestResponse, auditapi.LevelRequest},
		"a screenshot":            {"vm.slipway.dev", "virtualmachines", "screenshot", auditapi.LevelRequestResponse, auditapi.LevelRequest},
		"a ticket, metadata only": {"vm.slipway.dev", "virtualmachines", "console", auditapi.LevelMetadata, auditapi.LevelMetadata},
		"a ticket, not at all":    {"vm.slipway.dev", "virtualmachines", "console", auditapi.LevelNone, auditapi.LevelNone},
		"a power on":              {"vm.slipway.dev", "virtualmachines", "start", auditapi.LevelRequestResponse, auditapi.LevelRequestResponse},
		"another group":           {"example.com", "virtualmachines", "console", auditapi.LevelRequestResponse, auditapi.LevelRequestResponse},
	} {
		t.Run(name, func(t *testing.T) {
			a := authorizer.AttributesRecord{APIGroup: tc.group, Resource: tc.resource, Subresource: tc.subresource}
			got := WithoutTickets(always(tc.policy)).EvaluatePolicyRule(a)
			if got.Level != tc.want || !got.OmitManagedFields {
				t.Errorf("got %+v, want level %s and the rest of the policy", got, tc.want)
			}
		})
	}
}

func TestConsoleResponses_AreNotCached(t *testing.T) {
	for subresource, want := range map[string]string{"console": "no-store", "screenshot": "no-store", "start": "", "": ""} {
		r := httptest.NewRequestWithContext(genericapirequest.WithRequestInfo(t.Context(), &genericapirequest.RequestInfo{
			APIGroup: "vm.slipway.dev", Resource: "virtualmachines", Subresource: subresource,
		}), http.MethodGet, "/", nil)
		w := httptest.NewRecorder()
		withNoStore(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {})).ServeHTTP(w, r)
		if got := w.Header().Get("Cache-Control"); got != want {
			t.Errorf("subresource %q: Cache-Control is %q, want %q", subresource, got, want)
		}
	}
}
