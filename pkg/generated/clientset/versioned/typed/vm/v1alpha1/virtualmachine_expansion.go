// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import (
	"context"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	vmv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/vm/v1alpha1"
	"github.com/slipway-dev/slipway/pkg/generated/clientset/versioned/scheme"
)

// VirtualMachineExpansion are the subresources of virtual machines. This file
// is written by hand, because the generators turn a hyphen in the name of a
// subresource into an invalid identifier. A nil body is the same as an empty one.
type VirtualMachineExpansion interface {
	// RefreshInstancetype moves the virtual machine to the newest revision of
	// its instance type and returns the changes.
	RefreshInstancetype(ctx context.Context, name string, body *vmv1alpha1.RefreshOptions, opts metav1.CreateOptions) (*vmv1alpha1.RefreshResult, error)
	// RefreshPreference moves the virtual machine to the newest revision of its
	// preference and returns the changes.
	RefreshPreference(ctx context.Context, name string, body *vmv1alpha1.RefreshOptions, opts metav1.CreateOptions) (*vmv1alpha1.RefreshResult, error)
	// ExpandSpec returns the virtual machine with instance type and preference
	// written into its spec. Nothing is stored.
	ExpandSpec(ctx context.Context, name string, opts vmv1alpha1.ExpandOptions) (*vmv1alpha1.VirtualMachine, error)
	// Start asks for the virtual machine to be powered on.
	Start(ctx context.Context, name string, body *vmv1alpha1.PowerOptions, opts metav1.CreateOptions) (*vmv1alpha1.VirtualMachine, error)
	// Stop asks for the virtual machine to be powered off.
	Stop(ctx context.Context, name string, body *vmv1alpha1.PowerOptions, opts metav1.CreateOptions) (*vmv1alpha1.VirtualMachine, error)
	// Restart asks for one restart of the virtual machine.
	Restart(ctx context.Context, name string, body *vmv1alpha1.PowerOptions, opts metav1.CreateOptions) (*vmv1alpha1.VirtualMachine, error)
	// Suspend asks for the virtual machine to be suspended.
	Suspend(ctx context.Context, name string, body *vmv1alpha1.PowerOptions, opts metav1.CreateOptions) (*vmv1alpha1.VirtualMachine, error)
	// Console returns a ticket for one connection to the console of the virtual machine.
	Console(ctx context.Context, name string, opts metav1.CreateOptions) (*vmv1alpha1.VirtualMachineConsole, error)
	// Screenshot returns a picture of the console of the virtual machine, a PNG.
	Screenshot(ctx context.Context, name string) ([]byte, error)
}

func (c *virtualMachines) RefreshInstancetype(ctx context.Context, name string, body *vmv1alpha1.RefreshOptions, opts metav1.CreateOptions) (*vmv1alpha1.RefreshResult, error) {
	return c.refresh(ctx, name, "refresh-instancetype", body, opts)
}

func (c *virtualMachines) RefreshPreference(ctx context.Context, name string, body *vmv1alpha1.RefreshOptions, opts metav1.CreateOptions) (*vmv1alpha1.RefreshResult, error) {
	return c.refresh(ctx, name, "refresh-preference", body, opts)
}

func (c *virtualMachines) ExpandSpec(ctx context.Context, name string, opts vmv1alpha1.ExpandOptions) (*vmv1alpha1.VirtualMachine, error) {
	result := &vmv1alpha1.VirtualMachine{}
	err := c.GetClient().Get().
		UseProtobufAsDefault().
		Namespace(c.GetNamespace()).
		Resource("virtualmachines").
		Name(name).
		SubResource("expand-spec").
		VersionedParams(&opts, scheme.ParameterCodec).
		Do(ctx).
		Into(result)
	return result, err
}

func (c *virtualMachines) Start(ctx context.Context, name string, body *vmv1alpha1.PowerOptions, opts metav1.CreateOptions) (*vmv1alpha1.VirtualMachine, error) {
	return c.power(ctx, name, "start", body, opts)
}

func (c *virtualMachines) Stop(ctx context.Context, name string, body *vmv1alpha1.PowerOptions, opts metav1.CreateOptions) (*vmv1alpha1.VirtualMachine, error) {
	return c.power(ctx, name, "stop", body, opts)
}

func (c *virtualMachines) Restart(ctx context.Context, name string, body *vmv1alpha1.PowerOptions, opts metav1.CreateOptions) (*vmv1alpha1.VirtualMachine, error) {
	return c.power(ctx, name, "restart", body, opts)
}

func (c *virtualMachines) Suspend(ctx context.Context, name string, body *vmv1alpha1.PowerOptions, opts metav1.CreateOptions) (*vmv1alpha1.VirtualMachine, error) {
	return c.power(ctx, name, "suspend", body, opts)
}

func (c *virtualMachines) Console(ctx context.Context, name string, opts metav1.CreateOptions) (*vmv1alpha1.VirtualMachineConsole, error) {
	result := &vmv1alpha1.VirtualMachineConsole{}
	return result, c.post(ctx, name, "console", &vmv1alpha1.VirtualMachineConsole{}, opts, result)
}

func (c *virtualMachines) Screenshot(ctx context.Context, name string) ([]byte, error) {
	result := c.GetClient().Get().
		Namespace(c.GetNamespace()).
		Resource("virtualmachines").
		Name(name).
		SubResource("screenshot").
		Do(ctx)
	if err := result.Error(); err != nil { // which reads what the server says, as Raw does not
		return nil, err
	}
	return result.Raw()
}

// refresh posts body to one of the refresh subresources.
func (c *virtualMachines) refresh(ctx context.Context, name, subresource string, body *vmv1alpha1.RefreshOptions, opts metav1.CreateOptions) (*vmv1alpha1.RefreshResult, error) {
	if body == nil {
		body = &vmv1alpha1.RefreshOptions{}
	}
	result := &vmv1alpha1.RefreshResult{}
	return result, c.post(ctx, name, subresource, body, opts, result)
}

// power posts body to one of the power subresources.
func (c *virtualMachines) power(ctx context.Context, name, subresource string, body *vmv1alpha1.PowerOptions, opts metav1.CreateOptions) (*vmv1alpha1.VirtualMachine, error) {
	if body == nil {
		body = &vmv1alpha1.PowerOptions{}
	}
	result := &vmv1alpha1.VirtualMachine{}
	return result, c.post(ctx, name, subresource, body, opts, result)
}

// post sends body to a subresource and reads the answer into result.
func (c *virtualMachines) post(ctx context.Context, name, subresource string, body runtime.Object, opts metav1.CreateOptions, result runtime.Object) error {
	return c.GetClient().Post().
		UseProtobufAsDefault().
		Namespace(c.GetNamespace()).
		Resource("virtualmachines").
		Name(name).
		SubResource(subresource).
		VersionedParams(&opts, scheme.ParameterCodec).
		Body(body).
		Do(ctx).
		Into(result)
}
