// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package bootstrap

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"

	clusterv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/cluster/v1alpha1"
	vmv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/vm/v1alpha1"
	"github.com/slipway-dev/slipway/pkg/controller/cluster/clusterapi"
	"github.com/slipway-dev/slipway/pkg/controller/vm/owner"
)

// Formats of a Machine's bootstrap data. formatCloudConfig is the default.
const (
	formatCloudConfig = "cloud-config"
	formatIgnition    = "ignition"
)

// setMachine writes the Machine of vm to its status.
func setMachine(vm *vmv1alpha1.VirtualMachine, of *owner.MachineState) {
	was := vm.Status.Machine
	if was != nil && was.APIGroup == of.Group && was.Name == of.Name {
		return
	}
	next := vmv1alpha1.VirtualMachineOwner{APIGroup: of.Group, Name: of.Name}
	if was != nil {
		next.DataSecretName, next.DataFormat = was.DataSecretName, was.DataFormat
	}
	vm.Status.Machine = &next
}

// restoreBootstrap adds the bootstrap data that an existing virtual machine was created with to the effective spec. It
// returns the bootstrap for a repeated first boot of cloud-init, which may refer to a newer Secret of the Machine.
func (r *Report) restoreBootstrap(s State) *vmv1alpha1.VirtualMachineBootstrap {
	spec, is := s.VM.Spec.Bootstrap, s.VM.Status.Machine
	if is == nil || is.DataFormat == "" {
		return spec
	}
	// If the spec was changed so that it excludes the data, the spec alone is used.
	if b, err := withData(s.VM.Spec.Bootstrap, is.DataSecretName, is.DataFormat); err == nil {
		r.setBootstrap(b)
		spec = b
	}
	if spec != nil && s.Owner.Owns(s.VM) && s.Owner.Machine.DataSecret != "" {
		if b, err := withData(s.VM.Spec.Bootstrap, s.Owner.Machine.DataSecret, is.DataFormat); err == nil {
			spec = b
		}
	}
	return spec
}

// setBootstrap sets the bootstrap of the effective spec to b.
func (r *Report) setBootstrap(b *vmv1alpha1.VirtualMachineBootstrap) {
	if r.Effective != nil {
		effective := *r.Effective
		effective.Bootstrap = b
		r.Effective = &effective
	}
}

// machine returns the bootstrap of vm with its Machine's data, and writes the Secret and the format to the status.
func (r *reader) machine(ctx context.Context, vm *vmv1alpha1.VirtualMachine, m *clusterapi.Machine) (*vmv1alpha1.VirtualMachineBootstrap, error) {
	secret, err := r.secret(ctx, m.DataSecret)
	if err != nil {
		return nil, err
	}
	format, err := formatOf(secret)
	if err != nil {
		return nil, err
	}
	spec, err := withData(vm.Spec.Bootstrap, m.DataSecret, format)
	if err != nil {
		return nil, err
	}
	r.known = secret
	vm.Status.Machine.DataSecretName, vm.Status.Machine.DataFormat = m.DataSecret, format
	return spec, nil
}

// formatOf returns the format of the data in a Secret. It returns an error if the Secret has no data.
func formatOf(secret *corev1.Secret) (string, error) {
	if _, ok := secret.Data[clusterv1alpha1.SecretDataKey]; !ok {
		return "", &dataError{vmv1alpha1.ReasonNotFound, fmt.Sprintf("Secret %q in namespace %q has no key %q", secret.Name, secret.Namespace, clusterv1alpha1.SecretDataKey)}
	}
	format := cmp.Or(string(secret.Data[clusterv1alpha1.SecretFormatKey]), formatCloudConfig)
	if !slices.Contains([]string{formatCloudConfig, formatIgnition}, format) {
		return "", &dataError{vmv1alpha1.ReasonInvalid, fmt.Sprintf("key %q of Secret %q in namespace %q has an unknown format; allowed: %s, %s",
			clusterv1alpha1.SecretFormatKey, secret.Name, secret.Namespace, formatCloudConfig, formatIgnition)}
	}
	return format, nil
}

// withData returns a bootstrap that refers to the Secret of a Machine in addition to the settings of spec. It returns
// an error if spec excludes the data.
func withData(spec *vmv1alpha1.VirtualMachineBootstrap, secret, format string) (*vmv1alpha1.VirtualMachineBootstrap, error) {
	out := spec.DeepCopy()
	if out == nil {
		out = &vmv1alpha1.VirtualMachineBootstrap{}
	}
	data := &vmv1alpha1.SecretKeySelector{Name: secret, Key: clusterv1alpha1.SecretDataKey}
	excludes := func(field string) error {
		return &dataError{vmv1alpha1.ReasonInvalid, fmt.Sprintf("spec.bootstrap.%s of the virtual machine cannot be combined with bootstrap data in format %s", field, format)}
	}
	switch {
	case out.LinuxPrep != nil:
		return nil, excludes("linuxPrep")
	case out.Sysprep != nil:
		return nil, excludes("sysprep")
	case out.VAppConfig != nil:
		return nil, excludes("vAppConfig")
	case out.Ignition != nil:
		return nil, excludes("ignition")
	case out.CloudInit != nil && format == formatIgnition:
		return nil, excludes("cloudInit")
	case out.CloudInit != nil && out.CloudInit.RawCloudConfig != nil:
		return nil, excludes("cloudInit.rawCloudConfig")
	case out.CloudInit != nil && out.CloudInit.CloudConfig != "":
		return nil, excludes("cloudInit.cloudConfig")
	case format == formatIgnition:
		out.Ignition = &vmv1alpha1.IgnitionBootstrap{RawConfig: data}
	default:
		if out.CloudInit == nil {
			out.CloudInit = &vmv1alpha1.CloudInitBootstrap{}
		}
		out.CloudInit.RawCloudConfig = data
	}
	return out, nil
}
