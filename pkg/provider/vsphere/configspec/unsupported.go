// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package configspec

import vmv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/vm/v1alpha1"

// Unsupported lists the paths of an effective spec that this provider does not
// apply. A VM that asks for one is refused rather than created without it.
func Unsupported(e *vmv1alpha1.VirtualMachineInstanceSpec) []string {
	if e == nil {
		return nil
	}
	var out []string
	add := func(asked bool, path string) {
		if asked {
			out = append(out, path)
		}
	}
	add(len(e.Volumes) > 0, "volumes")
	if b := e.Bootstrap; b != nil {
		add(b.LinuxPrep != nil, "bootstrap.linuxPrep")
		add(b.Sysprep != nil, "bootstrap.sysprep")
		add(b.VAppConfig != nil, "bootstrap.vAppConfig")
	}
	if d := e.Devices; d != nil {
		add(len(d.GPUs) > 0, "devices.gpus")
		add(len(d.HostDevices) > 0, "devices.hostDevices")
		add(d.TPM != nil && (d.TPM.Enabled == nil || *d.TPM.Enabled), "devices.tpm")
	}
	return out
}
