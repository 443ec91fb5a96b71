// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package virtualmachine

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"

	"github.com/slipway-dev/slipway/pkg/apis/bounds"
	"github.com/slipway-dev/slipway/pkg/apis/vm/fitting"
	vmv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/vm/v1alpha1"
	"github.com/slipway-dev/slipway/pkg/provider"
)

// Keys that are read from a bootstrap Secret when the virtual machine names none.
const (
	defaultCloudConfigKey = "user-data"
	defaultSysprepKey     = "unattend"
)

// prerequisites is what a virtual machine needs before it can be created.
type prerequisites struct {
	// ready is true when everything is there.
	ready bool
	// rest is the same without the image, of which a virtual machine that is there needs
	// nothing any more.
	rest      bool
	image     *vmv1alpha1.VirtualMachineImage
	cloneOf   *provider.CloneSource
	bootstrap *provider.BootstrapData
}

// gather looks at everything that creating the virtual machine needs, all of it in
// one pass, so that every condition shows at once. A virtual machine that exists
// needs none of it: then nothing is read and conditions stay as they are.
func (r *reconciler) gather(ctx context.Context, p *pass) (prerequisites, error) {
	if isTrue(p.vm, vmv1alpha1.ConditionCreated) {
		return prerequisites{}, nil
	}
	var got prerequisites
	var imageErr, bootstrapErr error
	if ref := p.vm.Spec.Image; ref != nil && ref.Kind == vmv1alpha1.MachineImageKind {
		got.image, got.cloneOf = r.gatherOrigin(p, ref)
	} else {
		got.image, imageErr = r.gatherImage(ctx, p)
	}
	got.bootstrap, bootstrapErr = r.gatherBootstrap(ctx, p, got.image)
	got.rest = p.effective != nil &&
		holds(p.vm, vmv1alpha1.ConditionSynchronized) &&
		holds(p.vm, vmv1alpha1.ConditionVolumesReady) &&
		holds(p.vm, vmv1alpha1.ConditionBootstrapReady) &&
		holds(p.vm, vmv1alpha1.ConditionAddressesReady) && p.addressesRecorded()
	got.ready = got.rest && holds(p.vm, vmv1alpha1.ConditionImageReady)
	return got, errors.Join(imageErr, bootstrapErr)
}

// gatherImage finds the image. A virtual machine that adopts one of vSphere by
// providerID needs none.
func (r *reconciler) gatherImage(ctx context.Context, p *pass) (*vmv1alpha1.VirtualMachineImage, error) {
	ref := p.vm.Spec.Image
	if ref == nil {
		if p.vm.Spec.ProviderID != "" {
			meta.RemoveStatusCondition(&p.vm.Status.Conditions, vmv1alpha1.ConditionImageReady)
			return nil, nil
		}
		setFalse(p.vm, p.now, vmv1alpha1.ConditionImageReady, vmv1alpha1.ReasonInvalid,
			"spec.image is required to create a virtual machine")
		return nil, nil
	}
	image, err := r.reader.Image(ctx, p.vm.Namespace, *ref)
	switch {
	case apierrors.IsNotFound(err):
		setFalse(p.vm, p.now, vmv1alpha1.ConditionImageReady, vmv1alpha1.ReasonNotFound,
			absentImage(ref, p.vm.Namespace))
		return nil, nil
	case err != nil:
		setFalse(p.vm, p.now, vmv1alpha1.ConditionImageReady, vmv1alpha1.ReasonError, err.Error())
		return nil, fmt.Errorf("reading image %q: %w", ref.Name, err)
	}
	errs := fitting.Disk(image, p.vm.Spec.BootDisk)
	if p.effective != nil {
		errs = append(errs, fitting.Firmware(image, p.effective.Firmware)...)
	}
	if len(errs) > 0 {
		setFalse(p.vm, p.now, vmv1alpha1.ConditionImageReady, vmv1alpha1.ReasonInvalid, errs.ToAggregate().Error())
		return image, nil
	}
	setTrue(p.vm, p.now, vmv1alpha1.ConditionImageReady)
	return image, nil
}

func absentImage(ref *vmv1alpha1.VirtualMachineImageRef, namespace string) string {
	if ref.Kind == vmv1alpha1.ClusterImageKind {
		return fmt.Sprintf("%s %q does not exist", ref.Kind, ref.Name)
	}
	return fmt.Sprintf("%s %q does not exist in namespace %q", vmv1alpha1.ImageKind, ref.Name, namespace)
}

// gatherBootstrap reads the Secrets that the bootstrap section names, and no
// others, and compares what they have with what the image understands. Secrets are not
// watched: a missing one is looked for again after a time.
func (r *reconciler) gatherBootstrap(ctx context.Context, p *pass, image *vmv1alpha1.VirtualMachineImage) (*provider.BootstrapData, error) {
	misfit := func(secret []string) bool {
		errs := fitting.Properties(image, p.vm.Spec.Bootstrap, secret)
		if len(errs) == 0 {
			return false
		}
		setFalse(p.vm, p.now, vmv1alpha1.ConditionBootstrapReady, vmv1alpha1.ReasonInvalid, errs.ToAggregate().Error())
		p.again(lookAgainDelay)
		return true
	}
	if p.vm.Spec.Bootstrap == nil {
		if misfit(nil) {
			return nil, nil
		}
		meta.RemoveStatusCondition(&p.vm.Status.Conditions, vmv1alpha1.ConditionBootstrapReady)
		return nil, nil
	}
	data, err := readBootstrap(ctx, r.secrets, p.vm.Namespace, p.vm.Spec.Bootstrap)
	var unusable *dataError
	switch {
	case errors.As(err, &unusable):
		setFalse(p.vm, p.now, vmv1alpha1.ConditionBootstrapReady, unusable.reason, err.Error())
		p.again(lookAgainDelay)
		return nil, nil
	case err != nil:
		setFalse(p.vm, p.now, vmv1alpha1.ConditionBootstrapReady, vmv1alpha1.ReasonError, err.Error())
		return nil, err
	}
	if misfit(slices.AppendSeq([]string{}, maps.Keys(data.VAppProperties))) {
		return nil, nil
	}
	setTrue(p.vm, p.now, vmv1alpha1.ConditionBootstrapReady)
	return data, nil
}

// dataError says that a Secret, or a key in it, is not there, or that the value of a key
// cannot be used. It never has the value.
type dataError struct{ reason, what string }

func (e *dataError) Error() string { return e.what }

// secretReader reads one Secret of the host cluster by name; the error is NotFound
// when it does not exist.
type secretReader func(ctx context.Context, namespace, name string) (*corev1.Secret, error)

// readBootstrap reads the values that spec refers to. An error begins with the field.
func readBootstrap(ctx context.Context, secrets secretReader, namespace string, spec *vmv1alpha1.VirtualMachineBootstrap) (*provider.BootstrapData, error) {
	data := &provider.BootstrapData{}
	var err error
	if c := spec.CloudInit; c != nil && c.RawCloudConfig != nil {
		if data.CloudConfig, err = readKey(ctx, secrets, namespace, c.RawCloudConfig, defaultCloudConfigKey); err != nil {
			return nil, fmt.Errorf("spec.bootstrap.cloudInit.rawCloudConfig: %w", err)
		}
	}
	if s := spec.Sysprep; s != nil && s.RawSysprep != nil {
		if data.Sysprep, err = readKey(ctx, secrets, namespace, s.RawSysprep, defaultSysprepKey); err != nil {
			return nil, fmt.Errorf("spec.bootstrap.sysprep.rawSysprep: %w", err)
		}
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
	key := from.Key
	if key == "" {
		key = defaultKey
	}
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
	if err != nil {
		return nil, fmt.Errorf("reading Secret %q in namespace %q: %w", name, namespace, err)
	}
	return secret, nil
}
