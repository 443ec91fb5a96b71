// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package drain

import (
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
)

// verdict tells whether something applies: yes, no (the zero value), or unknown for the
// reason in err.
type verdict struct {
	yes bool
	err error
}

var yes = verdict{yes: true}

func (v verdict) no() bool { return !v.yes && v.err == nil }

// both is v and w: what is no stays no, whatever is unknown of the other.
func (v verdict) both(w verdict) verdict {
	switch {
	case v.no() || w.no():
		return verdict{}
	case v.err != nil:
		return v
	default:
		return w
	}
}

// either is v or w: what is yes stays yes, whatever is unknown of the other.
func (v verdict) either(w verdict) verdict {
	if v.yes || (v.err != nil && !w.yes) {
		return v
	}
	return w
}

// matches tells whether selector, which is at path, selects what has labels set. None and
// an empty one select everything.
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
