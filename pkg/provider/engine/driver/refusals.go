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

// Refusals are the requested settings that cannot be applied. Each entry starts with the path of its field.
type Refusals struct {
	// Invalid lists settings that the hypervisor or this version does not support.
	Invalid []string
	// NotAllowed lists settings that an administrator does not allow.
	NotAllowed []string
	// Volumes are the names of the volumes that cannot be attached. Invalid has the reasons.
	Volumes []string
}

// Err returns nil if nothing is refused.
func (r Refusals) Err() error {
	if len(r.Invalid)+len(r.NotAllowed) == 0 {
		return nil
	}
	return errors.New(conditions.JoinLimited(slices.Concat(r.Invalid, r.NotAllowed), "; "))
}

// Reason returns the reason of the condition that reports Err.
func (r Refusals) Reason() string {
	if len(r.Invalid) == 0 {
		return vmv1alpha1.ReasonNotAllowed
	}
	return vmv1alpha1.ReasonInvalid
}

// Any is the entry of a list of allowed names that allows every name.
const Any = "*"

// shownAllowed is the maximum number of names in a message.
const shownAllowed = 10

// NotAllowedMessage returns the message for a value that is not in the list of allowed names. by is the server flag or
// the zone that has the list.
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
