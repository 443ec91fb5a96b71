// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package vm

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"

	clusterv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/cluster/v1alpha1"
	vmv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/vm/v1alpha1"
	"github.com/slipway-dev/slipway/pkg/controller"
)

// Formats of the bootstrap data of a Machine. Data of a Secret that names none is the first.
const (
	formatCloudConfig = "cloud-config"
	formatIgnition    = "ignition"
)

// gatherMachine says what a virtual machine of a Machine waits for, and hands the rest of the
// pass the bootstrap that it has with the data of the Machine. It is false when it has to wait.
func (r *reconciler) gatherMachine(ctx context.Context, p *pass) (bool, error) {
	f := p.machine
	p.bootstrap = p.VM.Spec.Bootstrap
	if f != nil && f.owns(p.VM) {
		p.joinMachine()
	}
	if isTrue(p.VM, vmv1alpha1.ConditionCreated) {
		p.recallData()
		return true, nil
	}
	if f == nil {
		meta.RemoveStatusCondition(&p.VM.Status.Conditions, vmv1alpha1.ConditionMachineReady)
		return true, nil
	}
	if v := f.waitsFor(p.VM); v.Reason != "" {
		setCondition(p.VM, p.Now, vmv1alpha1.ConditionMachineReady, v.Status, v.Reason, v.Message)
		meta.RemoveStatusCondition(&p.VM.Status.Conditions, vmv1alpha1.ConditionBootstrapReady)
		if v.Status == "Unknown" {
			p.Again(unknownDelay)
		}
		return false, nil
	}
	setTrue(p.VM, p.Now, vmv1alpha1.ConditionMachineReady)
	return r.readData(ctx, p)
}

// joinMachine records the Machine whose infrastructure the virtual machine is.
func (p *pass) joinMachine() {
	of, was := p.machine.of, p.VM.Status.Machine
	if was != nil && was.APIGroup == of.group && was.Name == of.name {
		return
	}
	next := vmv1alpha1.VirtualMachineOwner{APIGroup: of.group, Name: of.name}
	if was != nil {
		next.DataSecretName, next.DataFormat = was.DataSecretName, was.DataFormat
	}
	p.VM.Status.Machine = &next
}

// recallData gives a virtual machine that exists the bootstrap that it was made with. Its Secret
// is named again for cloud-init that is to run anew; by then the Machine may have another.
func (p *pass) recallData() {
	is := p.VM.Status.Machine
	if is == nil || is.DataFormat == "" {
		return
	}
	// What was added to the spec since, and excludes the data, counts for itself.
	if b, err := withData(p.VM.Spec.Bootstrap, is.DataSecretName, is.DataFormat); err == nil {
		p.useBootstrap(b)
	}
	if f := p.machine; p.bootstrap != nil && f != nil && f.owns(p.VM) && f.machine.DataSecret != "" {
		if b, err := withData(p.VM.Spec.Bootstrap, f.machine.DataSecret, is.DataFormat); err == nil {
			p.bootstrap = b
		}
	}
}

// useBootstrap lets the rest of the pass work with b as if spec.bootstrap were it.
func (p *pass) useBootstrap(b *vmv1alpha1.VirtualMachineBootstrap) {
	p.bootstrap = b
	if p.Effective != nil {
		effective := *p.Effective
		effective.Bootstrap = b
		p.Effective = &effective
	}
}

// readData reads in which format the Secret of the Machine has its data. The data are read with
// the other values of the bootstrap.
func (r *reconciler) readData(ctx context.Context, p *pass) (bool, error) {
	m := p.machine.machine
	secret, err := readSecret(ctx, r.secrets, p.VM.Namespace, m.DataSecret)
	var b *vmv1alpha1.VirtualMachineBootstrap
	var format string
	if err == nil {
		format, err = formatOf(secret)
	}
	if err == nil {
		b, err = withData(p.VM.Spec.Bootstrap, m.DataSecret, format)
	}
	if err != nil {
		return false, r.badBootstrap(p, fmt.Errorf("spec.bootstrap.dataSecretName of Machine %q: %w", m.Name, err))
	}
	p.secret = secret
	p.useBootstrap(b)
	p.VM.Status.Machine.DataSecretName, p.VM.Status.Machine.DataFormat = m.DataSecret, format
	return true, nil
}

// formatOf is the format of the data of a Secret, which has some.
func formatOf(secret *corev1.Secret) (string, error) {
	if _, ok := secret.Data[clusterv1alpha1.SecretDataKey]; !ok {
		return "", &dataError{vmv1alpha1.ReasonNotFound, fmt.Sprintf("Secret %q in namespace %q has no key %q", secret.Name, secret.Namespace, clusterv1alpha1.SecretDataKey)}
	}
	format := cmp.Or(string(secret.Data[clusterv1alpha1.SecretFormatKey]), formatCloudConfig)
	if !slices.Contains([]string{formatCloudConfig, formatIgnition}, format) {
		return "", &dataError{vmv1alpha1.ReasonInvalid, fmt.Sprintf("key %q of Secret %q in namespace %q names no known format; allowed are %s and %s",
			clusterv1alpha1.SecretFormatKey, secret.Name, secret.Namespace, formatCloudConfig, formatIgnition)}
	}
	return format, nil
}

// withData is a bootstrap that names the Secret of a Machine besides what spec has, which must
// leave room for it.
func withData(spec *vmv1alpha1.VirtualMachineBootstrap, secret, format string) (*vmv1alpha1.VirtualMachineBootstrap, error) {
	out := spec.DeepCopy()
	if out == nil {
		out = &vmv1alpha1.VirtualMachineBootstrap{}
	}
	data := &vmv1alpha1.SecretKeySelector{Name: secret, Key: clusterv1alpha1.SecretDataKey}
	excludes := func(field string) error {
		return &dataError{vmv1alpha1.ReasonInvalid, fmt.Sprintf("spec.bootstrap.%s of the virtual machine excludes data in the format %s", field, format)}
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

// machineSecrets reads Secrets, without another request for the one that the pass has read.
func (r *reconciler) machineSecrets(p *pass) secretReader {
	return func(ctx context.Context, namespace, name string) (*corev1.Secret, error) {
		if s := p.secret; s != nil && s.Namespace == namespace && s.Name == name {
			return s, nil
		}
		return r.secrets(ctx, namespace, name)
	}
}

// badBootstrap shows why the bootstrap cannot be used, and returns what a retry may cure.
func (r *reconciler) badBootstrap(p *pass, err error) error {
	var unusable *dataError
	if !errors.As(err, &unusable) {
		setFalse(p.VM, p.Now, vmv1alpha1.ConditionBootstrapReady, vmv1alpha1.ReasonError, err.Error())
		return err
	}
	setFalse(p.VM, p.Now, vmv1alpha1.ConditionBootstrapReady, unusable.reason, strings.ReplaceAll(err.Error(), "\n", "; "))
	p.Again(controller.Recheck)
	return nil
}
