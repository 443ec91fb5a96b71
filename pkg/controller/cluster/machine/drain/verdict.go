// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package drain

import (
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
)

// verdict is yes, no (the zero value), or unknown with the reason err.
type verdict struct {
	yes bool
	err error
}

var yes = verdict{yes: true}

func (v verdict) isNo() bool { return !v.yes && v.err == nil }

// and returns the conjunction: no if either is no, even if the other is unknown.
func (v verdict) and(w verdict) verdict {
	switch {
	case v.isNo() || w.isNo():
		return verdict{}
	case v.err != nil:
		return v
	default:
		return w
	}
}

// or returns the disjunction: yes if either is yes, even if the other is unknown.
func (v verdict) or(w verdict) verdict {
	if v.yes || (v.err != nil && !w.yes) {
		return v
	}
	return w
}

// matches returns whether selector selects an object with labels set. A nil or empty selector selects everything. path
// is the field path of selector for errors.
func matches(selector *metav1.LabelSelector, path string, set labels.Set) verdict {
	if selector == nil {
		return yes
	}
	s, err := metav1.LabelSelectorAsSelector(selector)
	if err != nil {
		return verdict{err: fmt.Errorf("%s is invalid: %w", path, err)}
	}
	return verdict{yes: s.Matches(set)}
}
