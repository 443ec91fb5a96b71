// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package vsphere

import (
	"errors"

	vmv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/vm/v1alpha1"
	"github.com/slipway-dev/slipway/pkg/provider/vsphere/session"
	"github.com/slipway-dev/slipway/pkg/provider/vsphere/vimfault"
)

// ConnectionReason returns the condition reason for a connection error. It is empty for nil.
func ConnectionReason(err error) string {
	switch {
	case err == nil:
		return ""
	case errors.Is(err, session.ErrInstanceUUIDMismatch):
		return vmv1alpha1.ReasonOtherVCenter
	case errors.Is(err, session.ErrThumbprintMismatch), vimfault.IsUntrusted(err):
		return vmv1alpha1.ReasonUntrusted
	case errors.Is(err, session.ErrNoCredentials), vimfault.KindOf(err) == vimfault.Denied:
		return vmv1alpha1.ReasonLoginRefused
	}
	return vmv1alpha1.ReasonUnreachable
}
