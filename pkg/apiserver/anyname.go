// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package apiserver

import (
	"context"

	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apiserver/pkg/authorization/authorizer"
)

// AnyNameFirst returns an authorizer that first asks delegate whether the user may perform the action on every object
// of the kind in the namespace. If so, the request is allowed. Otherwise delegate authorizes the request unchanged. A
// delegate that caches decisions is therefore asked once for any number of objects.
//
// Do not use it with an authorizer that denies single objects to users with permission for all objects. No authorizer
// of Kubernetes does that.
func AnyNameFirst(delegate authorizer.Authorizer) authorizer.Authorizer {
	return anyNameFirst{delegate}
}

type anyNameFirst struct{ authorizer.Authorizer }

// Authorize implements authorizer.Authorizer.
func (a anyNameFirst) Authorize(ctx context.Context, request authorizer.Attributes) (authorizer.Decision, string, error) {
	if reason, allowed := a.allowsAny(ctx, request); allowed {
		return authorizer.DecisionAllow, reason, nil
	}
	return a.Authorizer.Authorize(ctx, request)
}

// ConditionsAwareAuthorize implements authorizer.Authorizer.
func (a anyNameFirst) ConditionsAwareAuthorize(ctx context.Context, request authorizer.Attributes) authorizer.ConditionsAwareDecision {
	if reason, allowed := a.allowsAny(ctx, request); allowed {
		return authorizer.ConditionsAwareDecisionFromParts(authorizer.DecisionAllow, reason, nil)
	}
	return a.Authorizer.ConditionsAwareAuthorize(ctx, request)
}

func (a anyNameFirst) allowsAny(ctx context.Context, request authorizer.Attributes) (reason string, allowed bool) {
	if !request.IsResourceRequest() || request.GetName() == "" {
		return "", false
	}
	decision, reason, err := a.Authorizer.Authorize(ctx, unnamed{request})
	return reason, err == nil && decision == authorizer.DecisionAllow
}

// unnamed is a request without the attributes that narrow it to single objects.
type unnamed struct{ authorizer.Attributes }

// GetName implements authorizer.Attributes.
func (unnamed) GetName() string { return "" }

// GetFieldSelector implements authorizer.Attributes.
func (unnamed) GetFieldSelector() (fields.Requirements, error) { return nil, nil }

// GetLabelSelector implements authorizer.Attributes.
func (unnamed) GetLabelSelector() (labels.Requirements, error) { return nil, nil }
