// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package driver

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/slipway-dev/slipway/pkg/apis/conditions"
	vmv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/vm/v1alpha1"
)

// Refusals are what is asked for and cannot be had, each with the path of its field.
type Refusals struct {
	// Invalid is what the hypervisor or this version cannot do.
	Invalid []string
	// NotAllowed is what an administrator does not allow.
	NotAllowed []string
	// Volumes are the names of the volumes that cannot be attached. Invalid has the causes.
	Volumes []string
}

// Err is nil when nothing is refused.
func (r Refusals) Err() error {
	if len(r.Invalid)+len(r.NotAllowed) == 0 {
		return nil
	}
	return errors.New(conditions.List(slices.Concat(r.Invalid, r.NotAllowed), "; "))
}

// Reason is the reason of the condition that tells of Err.
func (r Refusals) Reason() string {
	if len(r.Invalid) == 0 {
		return vmv1alpha1.ReasonNotAllowed
	}
	return vmv1alpha1.ReasonInvalid
}

// Any in a list of what is allowed stands for everything.
const Any = "*"

// shownAllowed bounds the names in a message.
const shownAllowed = 10

// NotAllowedMessage says that what is not among those that somebody allows, a flag of the
// server or a zone.
func NotAllowedMessage(what, by string, allowed []string) string {
	quoted := make([]string, 0, shownAllowed)
	for _, name := range allowed[:min(len(allowed), shownAllowed)] {
		quoted = append(quoted, fmt.Sprintf("%q", name))
	}
	list := strings.Join(quoted, ", ")
	switch more := len(allowed) - len(quoted); {
	case len(allowed) == 0:
		list = "none"
	case more > 0:
		list += fmt.Sprintf(" and %d more", more)
	}
	return fmt.Sprintf("%s is not allowed by %s; allowed: %s", what, by, list)
}
