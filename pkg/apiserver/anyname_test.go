// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package apiserver

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/selection"
	"k8s.io/apiserver/pkg/authentication/user"
	"k8s.io/apiserver/pkg/authorization/authorizer"
)

// judge allows the names in allowed, where "" means all names, and records the names of requests.
type judge struct {
	authorizer.Authorizer
	allowed map[string]bool
	err     error
	asked   []string
}

func (j *judge) Authorize(_ context.Context, a authorizer.Attributes) (authorizer.Decision, string, error) {
	selectors, _ := a.GetFieldSelector()
	j.asked = append(j.asked, fmt.Sprintf("%s %s/%s/%s %q by %s, %d selectors", a.GetVerb(), a.GetNamespace(), a.GetResource(), a.GetSubresource(), a.GetName(), a.GetUser().GetName(), len(selectors)))
	if j.err != nil {
		return authorizer.DecisionNoOpinion, "", j.err
	}
	if j.allowed[a.GetName()] {
		return authorizer.DecisionAllow, "bound", nil
	}
	return authorizer.DecisionNoOpinion, "not bound", nil
}

func (j *judge) ConditionsAwareAuthorize(ctx context.Context, a authorizer.Attributes) authorizer.ConditionsAwareDecision {
	return authorizer.ConditionsAwareDecisionFromParts(j.Authorize(ctx, a))
}

func TestAnyNameFirst_ChecksAllObjectsBeforeOne(t *testing.T) {
	const allNames, web = `get ns/vms/status "" by alice, 0 selectors`, `get ns/vms/status "web" by alice, 1 selectors`
	request := authorizer.AttributesRecord{
		User: &user.DefaultInfo{Name: "alice"}, Verb: "get", Namespace: "ns", Resource: "vms", Subresource: "status", Name: "web", ResourceRequest: true,
		FieldSelectorRequirements: fields.Requirements{{Operator: selection.Equals, Field: "metadata.name", Value: "web"}},
	}
	list := request
	list.Name, list.FieldSelectorRequirements = "", nil
	page := request
	page.ResourceRequest = false
	for name, test := range map[string]struct {
		judge   judge
		request authorizer.Attributes
		want    authorizer.Decision
		asked   []string
	}{
		"all objects":              {judge{allowed: map[string]bool{"": true}}, request, authorizer.DecisionAllow, []string{allNames}},
		"only this object":         {judge{allowed: map[string]bool{"web": true}}, request, authorizer.DecisionAllow, []string{allNames, web}},
		"only another object":      {judge{allowed: map[string]bool{"db": true}}, request, authorizer.DecisionNoOpinion, []string{allNames, web}},
		"authorizer fails":         {judge{err: errors.New("away")}, request, authorizer.DecisionNoOpinion, []string{allNames, web}},
		"a request without a name": {judge{}, list, authorizer.DecisionNoOpinion, []string{allNames}},
		"not a resource request":   {judge{}, page, authorizer.DecisionNoOpinion, []string{web}},
	} {
		t.Run(name, func(t *testing.T) {
			j := test.judge
			got, _, err := AnyNameFirst(&j).Authorize(t.Context(), test.request)
			if got != test.want || (err != nil) != (j.err != nil) {
				t.Errorf("decision %v, error %v; want %v", got, err, test.want)
			}
			if diff := cmp.Diff(test.asked, j.asked); diff != "" {
				t.Errorf("requested names (-want +got):\n%s", diff)
			}
			j.asked = nil
			if d := AnyNameFirst(&j).ConditionsAwareAuthorize(t.Context(), test.request); d.IsAllow() != (test.want == authorizer.DecisionAllow) {
				t.Errorf("with conditions the decision is %v, want %v", d, test.want)
			}
		})
	}
}
