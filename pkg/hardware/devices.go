// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package hardware

import (
	vmv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/vm/v1alpha1"
)

func tpm(t *vmv1alpha1.VirtualMachineTPM) string {
	if t == nil || t.Enabled != nil && !*t.Enabled {
		return ""
	}
	return Present
}

// Present is how a device is printed of which there is one or none.
const Present = "present"

func videoType(s *Spec) string {
	if s.Devices.Video == nil {
		return ""
	}
	return s.Devices.Video.Type
}
