// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package apiserver

import (
	"context"

	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apiserver/pkg/authorization/authorizer"
)

// AnyNameFirst asks delegate whether the user may do to every object of the kind, in the
// namespace, what is asked for one, and lets that yes count. Whatever else the answer is,
// the request is judged as it is. A delegate that remembers its answers is then asked once
// about any number of objects.
//
// It is wrong over an authorizer that refuses single objects to who has the right on all.
// None of Kubernetes' own does.
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

// unnamed is a request without what narrows it to single objects.
type unnamed struct{ authorizer.Attributes }

// GetName implements authorizer.Attributes.
func (unnamed) GetName() string { return "" }

// GetFieldSelector implements authorizer.Attributes.
func (unnamed) GetFieldSelector() (fields.Requirements, error) { return nil, nil }

// GetLabelSelector implements authorizer.Attributes.
func (unnamed) GetLabelSelector() (labels.Requirements, error) { return nil, nil }
