// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package vm

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/slipway-dev/slipway/pkg/apis/bounds"
	"github.com/slipway-dev/slipway/pkg/apis/vm/fitting"
	vmv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/vm/v1alpha1"
	"github.com/slipway-dev/slipway/pkg/controller"
	"github.com/slipway-dev/slipway/pkg/provider"
)

// Keys that are read from a bootstrap Secret when the virtual machine names none.
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

// gatherBootstrap reads the Secrets that the bootstrap of the pass names, and no
// others, and compares what they have with what the image understands. Secrets are not
// watched: a missing one is looked for again after a time.
func (r *reconciler) gatherBootstrap(ctx context.Context, p *pass, image *vmv1alpha1.VirtualMachineImage) (*provider.BootstrapData, error) {
	misfit := func(secret []string) bool {
		errs := fitting.Properties(image, p.bootstrap, secret)
		if len(errs) == 0 {
			return false
		}
		setFalse(p.VM, p.Now, vmv1alpha1.ConditionBootstrapReady, vmv1alpha1.ReasonInvalid, errs.ToAggregate().Error())
		p.Again(controller.Recheck)
		return true
	}
	if p.bootstrap == nil {
		if misfit(nil) {
			return nil, nil
		}
		meta.RemoveStatusCondition(&p.VM.Status.Conditions, vmv1alpha1.ConditionBootstrapReady)
		return nil, nil
	}
	data, err := readBootstrap(ctx, r.machineSecrets(p), p.VM.Namespace, p.bootstrap)
	if err != nil {
		if p.secret != nil {
			err = fmt.Errorf("with the bootstrap data of Machine %q: %w", p.machine.machine.Name, err)
		}
		return nil, r.badBootstrap(p, err)
	}
	if misfit(slices.AppendSeq([]string{}, maps.Keys(data.VAppProperties))) {
		return nil, nil
	}
	setTrue(p.VM, p.Now, vmv1alpha1.ConditionBootstrapReady)
	return data, nil
}

// dataError says that a Secret, or a key in it, is not there, or that the value of a key
// cannot be used. It never has the value.
type dataError struct{ reason, what string }

func (e *dataError) Error() string { return e.what }

// secretReader reads one Secret of the host cluster by name; the error is NotFound
// when it does not exist.
type secretReader func(ctx context.Context, namespace, name string) (*corev1.Secret, error)

// bootsAnew is true when cloud-init is to have another instance ID than it was told, and
// while what that needs could not be read.
func bootsAnew(vm *vmv1alpha1.VirtualMachine) bool {
	if vm.Spec.Bootstrap == nil || vm.Spec.Bootstrap.CloudInit == nil {
		return false
	}
	told, uid := string(vm.UID), string(vm.UID)
	if vm.Status.Bootstrap != nil {
		told = vm.Status.Bootstrap.InstanceID
	}
	c := findCondition(vm, vmv1alpha1.ConditionBootstrapReady)
	return cmp.Or(vm.Spec.Bootstrap.CloudInit.InstanceID, uid) != told || c != nil && c.Status == metav1.ConditionFalse
}

// bootstrapReader reads what a bootstrap refers to.
type bootstrapReader struct {
	secrets   secretReader
	namespace string
}

// readBootstrap reads the values that spec refers to. An error begins with the field.
func readBootstrap(ctx context.Context, secrets secretReader, namespace string, spec *vmv1alpha1.VirtualMachineBootstrap) (*provider.BootstrapData, error) {
	r := bootstrapReader{secrets: secrets, namespace: namespace}
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
			secret, err := readSecret(ctx, secrets, namespace, v.RawProperties)
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

func (r bootstrapReader) cloudInit(ctx context.Context, data *provider.BootstrapData, c *vmv1alpha1.CloudInitBootstrap) error {
	if c == nil {
		return nil
	}
	if c.CloudConfig != "" {
		data.CloudConfig = []byte(c.CloudConfig)
	}
	return errors.Join(
		r.value(ctx, "cloudInit.rawCloudConfig", c.RawCloudConfig, defaultCloudConfigKey, &data.CloudConfig, guestInfoValue),
		r.value(ctx, "cloudInit.rawVendorData", c.RawVendorData, defaultVendorDataKey, &data.VendorData, guestInfoValue),
		r.value(ctx, "cloudInit.rawNetworkConfig", c.RawNetworkConfig, defaultNetworkConfigKey, &data.NetworkConfig, networkConfig),
	)
}

func (r bootstrapReader) sysprep(ctx context.Context, data *provider.SysprepData, s *vmv1alpha1.SysprepBootstrap) error {
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

// value reads one key, if one is selected. judge returns the value as it is used, or why it
// cannot be.
func (r bootstrapReader) value(ctx context.Context, field string, from *vmv1alpha1.SecretKeySelector, defaultKey string, into *[]byte, judge func([]byte) (value []byte, wrong string)) error {
	if from == nil {
		return nil
	}
	raw, err := readKey(ctx, r.secrets, r.namespace, from, defaultKey)
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

// readProperties adds what a Secret has and the spec does not override. What vSphere
// would keep as another value than it was given is refused, as it is in the spec.
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
			wrong = "has control characters other than tabulators and line feeds, or is no UTF-8"
		default:
			into[key] = value
			continue
		}
		return &dataError{vmv1alpha1.ReasonInvalid, fmt.Sprintf("the value of key %q of Secret %q in namespace %q cannot be an OVF property: it %s", key, secret.Name, secret.Namespace, wrong)}
	}
	return nil
}

func readKey(ctx context.Context, secrets secretReader, namespace string, from *vmv1alpha1.SecretKeySelector, defaultKey string) ([]byte, error) {
	secret, err := readSecret(ctx, secrets, namespace, from.Name)
	if err != nil {
		return nil, err
	}
	key := cmp.Or(from.Key, defaultKey)
	value, ok := secret.Data[key]
	if !ok {
		return nil, &dataError{vmv1alpha1.ReasonNotFound, fmt.Sprintf("Secret %q in namespace %q has no key %q", from.Name, namespace, key)}
	}
	return value, nil
}

func readSecret(ctx context.Context, secrets secretReader, namespace, name string) (*corev1.Secret, error) {
	secret, err := secrets(ctx, namespace, name)
	if apierrors.IsNotFound(err) {
		return nil, &dataError{vmv1alpha1.ReasonNotFound, fmt.Sprintf("Secret %q does not exist in namespace %q", name, namespace)}
	}
	if apierrors.IsForbidden(err) {
		return nil, &dataError{vmv1alpha1.ReasonNotAllowed, fmt.Sprintf("Secret %q in namespace %q cannot be read: %v", name, namespace, err)}
	}
	if err != nil {
		return nil, fmt.Errorf("reading Secret %q in namespace %q: %w", name, namespace, err)
	}
	return secret, nil
}
