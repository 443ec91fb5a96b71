// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package apiserver

import (
	"net/http"

	auditapi "k8s.io/apiserver/pkg/apis/audit"
	"k8s.io/apiserver/pkg/audit"
	"k8s.io/apiserver/pkg/authorization/authorizer"
	genericapirequest "k8s.io/apiserver/pkg/endpoints/request"

	vmv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/vm/v1alpha1"
)

// consoleSubresources are the subresources whose responses contain the screen of a virtual machine or a ticket for
// its console.
var consoleSubresources = map[string]bool{"console": true, "screenshot": true}

// withNoStore forbids caches between client and server to store responses about consoles.
func withNoStore(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		info, ok := genericapirequest.RequestInfoFrom(r.Context())
		if ok && info.APIGroup == vmv1alpha1.GroupName && info.Resource == "virtualmachines" && consoleSubresources[info.Subresource] {
			w.Header().Set("Cache-Control", "no-store")
		}
		next.ServeHTTP(w, r)
	})
}

// WithoutTickets omits responses about consoles from the audit log at every level of policy, because a console ticket
// in the log would give access to the console. The request is still logged.
func WithoutTickets(policy audit.PolicyRuleEvaluator) audit.PolicyRuleEvaluator {
	return withoutTickets{policy}
}

type withoutTickets struct{ policy audit.PolicyRuleEvaluator }

// EvaluatePolicyRule implements audit.PolicyRuleEvaluator.
func (w withoutTickets) EvaluatePolicyRule(a authorizer.Attributes) audit.RequestAuditConfig {
	c := w.policy.EvaluatePolicyRule(a)
	if a.GetAPIGroup() == vmv1alpha1.GroupName && a.GetResource() == "virtualmachines" && consoleSubresources[a.GetSubresource()] &&
		auditapi.LevelRequest.Less(c.Level) {
		c.Level = auditapi.LevelRequest
	}
	return c
}
