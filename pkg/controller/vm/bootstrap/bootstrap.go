// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

// Package bootstrap reads the data that a virtual machine boots with: the values that its spec refers to, and the
// bootstrap data of its Machine. Secrets are read by name, and only until the virtual machine exists. They are neither
// cached nor logged.
package bootstrap

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/slipway-dev/slipway/pkg/apis/bounds"
	"github.com/slipway-dev/slipway/pkg/apis/conditions"
	"github.com/slipway-dev/slipway/pkg/apis/vm/fitting"
	vmv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/vm/v1alpha1"
	"github.com/slipway-dev/slipway/pkg/controller"
	"github.com/slipway-dev/slipway/pkg/controller/vm/owner"
	"github.com/slipway-dev/slipway/pkg/controller/vm/step"
	"github.com/slipway-dev/slipway/pkg/provider"
)

// Default keys of bootstrap Secrets.
const (
	defaultCloudConfigKey    = "user-data"
	defaultVendorDataKey     = "vendor-data"
	defaultNetworkConfigKey  = "network-config"
	defaultIgnitionKey       = "ignition"
	defaultSysprepKey        = "unattend"
	defaultProductKey        = "product-key"
	defaultPasswordKey       = "password"
	defaultDomainPasswordKey = "domain-password"
)

// Secrets reads a Secret of the management cluster. It returns a NotFound error if the Secret does not exist.
type Secrets func(ctx context.Context, namespace, name string) (*corev1.Secret, error)

// Reconciler reads the bootstrap data of virtual machines.
type Reconciler struct {
	Secrets Secrets
}

// State is the input of Reconcile.
type State struct {
	step.State
	// Owner is nil if the virtual machine does not belong to a Machine.
	Owner *owner.MachineState
	// Image is nil if it does not exist.
	Image *vmv1alpha1.VirtualMachineImage
}

// Report is the result of Reconcile.
type Report struct {
	step.Report
	// Data is the bootstrap data. It is nil if there is none or if the virtual machine no longer needs it.
	Data *provider.BootstrapData
	// Effective is the effective spec of the state with the data of the Machine.
	Effective *vmv1alpha1.VirtualMachineInstanceSpec
	// MachineNotReady is true while the Machine does not provide the location and the bootstrap data of the virtual machine.
	MachineNotReady bool
}

// Reconcile waits for the Machine of the virtual machine and reads the bootstrap data. A virtual machine that exists
// needs no data, unless cloud-init must repeat its first boot.
func (r *Reconciler) Reconcile(ctx context.Context, s State) (Report, error) {
	report := Report{Effective: s.Effective}
	err := r.reconcile(ctx, s, &report)
	return report, err
}

func (r *Reconciler) reconcile(ctx context.Context, s State, report *Report) error {
	if s.Owner.Owns(s.VM) {
		setMachine(s.VM, s.Owner)
	}
	values := reader{secrets: r.Secrets, namespace: s.VM.Namespace}
	spec := s.VM.Spec.Bootstrap
	switch {
	case s.Observed.Created:
		if spec = report.restoreBootstrap(s); !needsFirstBoot(s.VM) {
			return nil
		}
	case s.Owner == nil:
		report.Remove(vmv1alpha1.ConditionMachineReady)
	default:
		if c := s.Owner.WaitCondition(s.VM); c.Reason != "" {
			report.MachineNotReady, report.Wait = true, true
			report.Set(vmv1alpha1.ConditionMachineReady, c.Status, c.Reason, c.Message)
			report.Remove(vmv1alpha1.ConditionBootstrapReady)
			if c.Status == metav1.ConditionUnknown {
				report.RequeueAfter(step.UnreadDelay)
			}
			return nil
		}
		report.True(vmv1alpha1.ConditionMachineReady)
		var err error
		if spec, err = values.machine(ctx, s.VM, s.Owner.Machine); err != nil {
			return report.reportUnusable(fmt.Errorf("spec.bootstrap.dataSecretName of Machine %q: %w", s.Owner.Machine.Name, err))
		}
		report.setBootstrap(spec)
	}
	return report.read(ctx, values, s, spec)
}

// read reads the Secrets that spec refers to, and no others. It checks that the image supports their values. Secrets
// are not watched, so a missing Secret is read again after a delay.
func (r *Report) read(ctx context.Context, values reader, s State, spec *vmv1alpha1.VirtualMachineBootstrap) error {
	var data *provider.BootstrapData
	var properties []string
	if spec != nil {
		var err error
		if data, err = values.read(ctx, spec); err != nil {
			if values.known != nil {
				err = fmt.Errorf("with the bootstrap data of Machine %q: %w", s.Owner.Machine.Name, err)
			}
			return r.reportUnusable(err)
		}
		properties = slices.AppendSeq([]string{}, maps.Keys(data.VAppProperties))
	}
	if errs := fitting.ValidateProperties(s.Image, spec, properties); len(errs) > 0 {
		r.Wait = true
		r.False(vmv1alpha1.ConditionBootstrapReady, vmv1alpha1.ReasonInvalid, errs.ToAggregate().Error())
		r.RequeueAfter(controller.Recheck)
		return nil
	}
	if spec == nil {
		r.Remove(vmv1alpha1.ConditionBootstrapReady)
	} else {
		r.True(vmv1alpha1.ConditionBootstrapReady)
	}
	r.Data = data
	return nil
}

// reportUnusable reports why the bootstrap data cannot be used. It returns errors that a retry may fix.
func (r *Report) reportUnusable(err error) error {
	r.Wait = true
	var unusable *dataError
	if !errors.As(err, &unusable) {
		r.False(vmv1alpha1.ConditionBootstrapReady, vmv1alpha1.ReasonError, err.Error())
		return err
	}
	r.False(vmv1alpha1.ConditionBootstrapReady, unusable.reason, strings.ReplaceAll(err.Error(), "\n", "; "))
	r.RequeueAfter(controller.Recheck)
	return nil
}

// dataError is returned if a Secret or its key does not exist or its value cannot be used. It never contains the value.
type dataError struct{ reason, what string }

func (e *dataError) Error() string { return e.what }

// needsFirstBoot reports whether cloud-init must get a new instance ID. It also returns true while the data for that
// could not be read.
func needsFirstBoot(vm *vmv1alpha1.VirtualMachine) bool {
	if vm.Spec.Bootstrap == nil || vm.Spec.Bootstrap.CloudInit == nil {
		return false
	}
	reported, uid := string(vm.UID), string(vm.UID)
	if vm.Status.Bootstrap != nil {
		reported = vm.Status.Bootstrap.InstanceID
	}
	c := conditions.Find(vm.Status.Conditions, vmv1alpha1.ConditionBootstrapReady)
	return cmp.Or(vm.Spec.Bootstrap.CloudInit.InstanceID, uid) != reported || c != nil && c.Status == metav1.ConditionFalse
}

// reader reads the objects that a bootstrap refers to.
type reader struct {
	secrets   Secrets
	namespace string
	// known is a Secret that was already read.
	known *corev1.Secret
}

// read reads the values that spec refers to. Errors begin with the field.
func (r *reader) read(ctx context.Context, spec *vmv1alpha1.VirtualMachineBootstrap) (*provider.BootstrapData, error) {
	data := &provider.BootstrapData{}
	if err := r.cloudInit(ctx, data, spec.CloudInit); err != nil {
		return nil, err
	}
	if i := spec.Ignition; i != nil {
		if err := r.value(ctx, "ignition.rawConfig", i.RawConfig, defaultIgnitionKey, &data.Ignition, ignitionConfig); err != nil {
			return nil, err
		}
	}
	if err := r.sysprep(ctx, &data.Sysprep, spec.Sysprep); err != nil {
		return nil, err
	}
	if v := spec.VAppConfig; v != nil {
		data.VAppProperties = make(map[string]string, len(v.Properties))
		if v.RawProperties != "" {
			secret, err := r.secret(ctx, v.RawProperties)
			if err == nil {
				err = readProperties(data.VAppProperties, secret, v.Properties)
			}
			if err != nil {
				return nil, fmt.Errorf("spec.bootstrap.vAppConfig.rawProperties: %w", err)
			}
		}
		maps.Copy(data.VAppProperties, v.Properties)
	}
	return data, nil
}

func (r *reader) cloudInit(ctx context.Context, data *provider.BootstrapData, c *vmv1alpha1.CloudInitBootstrap) error {
	if c == nil {
		return nil
	}
	if c.CloudConfig != "" {
		data.CloudConfig = []byte(c.CloudConfig)
	}
	return errors.Join(
		r.value(ctx, "cloudInit.rawCloudConfig", c.RawCloudConfig, defaultCloudConfigKey, &data.CloudConfig, userData),
		r.value(ctx, "cloudInit.rawVendorData", c.RawVendorData, defaultVendorDataKey, &data.VendorData, userData),
		r.value(ctx, "cloudInit.rawNetworkConfig", c.RawNetworkConfig, defaultNetworkConfigKey, &data.NetworkConfig, networkConfig),
	)
}

func (r *reader) sysprep(ctx context.Context, data *provider.SysprepData, s *vmv1alpha1.SysprepBootstrap) error {
	if s == nil {
		return nil
	}
	var errs []error
	text := func(field string, from *vmv1alpha1.SecretKeySelector, defaultKey string, into *string, judge func([]byte) ([]byte, string)) {
		var value []byte
		errs = append(errs, r.value(ctx, "sysprep."+field, from, defaultKey, &value, judge))
		*into = string(value)
	}
	text("rawSysprep", s.RawSysprep, defaultSysprepKey, &data.Unattend, answerFile)
	if a := s.Answers; a != nil {
		text("answers.productKey", a.ProductKey, defaultProductKey, &data.ProductKey, oneLine)
		text("answers.administratorPassword", a.AdministratorPassword, defaultPasswordKey, &data.AdministratorPassword, oneLine)
		if a.Domain != nil {
			text("answers.domain.password", a.Domain.Password, defaultDomainPasswordKey, &data.DomainPassword, oneLine)
		}
	}
	return errors.Join(errs...)
}

// value reads one key if from is not nil. judge returns the value in the form in which it is used, or why it is
// invalid.
func (r *reader) value(ctx context.Context, field string, from *vmv1alpha1.SecretKeySelector, defaultKey string, into *[]byte, judge func([]byte) (value []byte, wrong string)) error {
	if from == nil {
		return nil
	}
	raw, err := r.key(ctx, from, defaultKey)
	if err != nil {
		return fmt.Errorf("spec.bootstrap.%s: %w", field, err)
	}
	used, wrong := judge(raw)
	if wrong != "" {
		return &dataError{vmv1alpha1.ReasonInvalid, fmt.Sprintf("spec.bootstrap.%s: the value of key %q of Secret %q in namespace %q %s",
			field, cmp.Or(from.Key, defaultKey), from.Name, r.namespace, wrong)}
	}
	*into = used
	return nil
}

// readProperties adds the properties of a Secret that the spec does not override. Values that vSphere would change are
// invalid. The same values are invalid in the spec.
func readProperties(into map[string]string, secret *corev1.Secret, override map[string]string) error {
	for _, key := range slices.Sorted(maps.Keys(secret.Data)) {
		value := string(secret.Data[key])
		if _, overridden := override[key]; overridden {
			continue
		}
		var wrong string
		switch {
		case len(value) > bounds.MaxProperty:
			wrong = fmt.Sprintf("is longer than %d bytes", bounds.MaxProperty)
		case bounds.Text(value, true) != "":
			wrong = "contains control characters other than tabs and line feeds, or is not UTF-8"
		default:
			into[key] = value
			continue
		}
		return &dataError{vmv1alpha1.ReasonInvalid, fmt.Sprintf("the value of key %q of Secret %q in namespace %q cannot be an OVF property: it %s", key, secret.Name, secret.Namespace, wrong)}
	}
	return nil
}

func (r *reader) key(ctx context.Context, from *vmv1alpha1.SecretKeySelector, defaultKey string) ([]byte, error) {
	secret, err := r.secret(ctx, from.Name)
	if err != nil {
		return nil, err
	}
	key := cmp.Or(from.Key, defaultKey)
	value, ok := secret.Data[key]
	if !ok {
		return nil, &dataError{vmv1alpha1.ReasonNotFound, fmt.Sprintf("Secret %q in namespace %q has no key %q", from.Name, r.namespace, key)}
	}
	return value, nil
}

func (r *reader) secret(ctx context.Context, name string) (*corev1.Secret, error) {
	if r.known != nil && r.known.Name == name {
		return r.known, nil
	}
	secret, err := r.secrets(ctx, r.namespace, name)
	if apierrors.IsNotFound(err) {
		return nil, &dataError{vmv1alpha1.ReasonNotFound, fmt.Sprintf("Secret %q does not exist in namespace %q", name, r.namespace)}
	}
	if apierrors.IsForbidden(err) {
		return nil, &dataError{vmv1alpha1.ReasonNotAllowed, fmt.Sprintf("Secret %q in namespace %q cannot be read: %v", name, r.namespace, err)}
	}
	if err != nil {
		return nil, fmt.Errorf("reading Secret %q in namespace %q: %w", name, r.namespace, err)
	}
	return secret, nil
}
