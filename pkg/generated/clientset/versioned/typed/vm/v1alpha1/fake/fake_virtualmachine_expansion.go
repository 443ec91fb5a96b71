// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package fake

import (
	"context"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/testing"

	"github.com/slipway-dev/slipway/pkg/apis/vm/v1alpha1"
)

// SubresourceAction is a call of one of the subresources of a virtual machine.
// It is a type of its own, because the object tracker would take a create
// action with a subresource for a new version of the virtual machine.
type SubresourceAction struct {
	testing.ActionImpl
	// Name of the virtual machine.
	Name string
	// Options are the body or the query parameters of the call.
	Options runtime.Object
}

// GetName returns the name of the virtual machine.
func (a SubresourceAction) GetName() string { return a.Name }

// DeepCopy returns a copy that shares nothing with the action.
func (a SubresourceAction) DeepCopy() testing.Action {
	copied := SubresourceAction{ActionImpl: a.ActionImpl.DeepCopy().(testing.ActionImpl), Name: a.Name}
	if a.Options != nil {
		copied.Options = a.Options.DeepCopyObject()
	}
	return copied
}

// RefreshInstancetype records the call; reactors give the answer.
func (c *fakeVirtualMachines) RefreshInstancetype(_ context.Context, name string, body *v1alpha1.RefreshOptions, _ metav1.CreateOptions) (*v1alpha1.RefreshResult, error) {
	return invoke(c, "create", "refresh-instancetype", name, orEmpty(body), &v1alpha1.RefreshResult{})
}

// RefreshPreference records the call; reactors give the answer.
func (c *fakeVirtualMachines) RefreshPreference(_ context.Context, name string, body *v1alpha1.RefreshOptions, _ metav1.CreateOptions) (*v1alpha1.RefreshResult, error) {
	return invoke(c, "create", "refresh-preference", name, orEmpty(body), &v1alpha1.RefreshResult{})
}

// ExpandSpec records the call; reactors give the answer.
func (c *fakeVirtualMachines) ExpandSpec(_ context.Context, name string, opts v1alpha1.ExpandOptions) (*v1alpha1.VirtualMachine, error) {
	return invoke(c, "get", "expand-spec", name, &opts, &v1alpha1.VirtualMachine{})
}

// Start records the call; reactors give the answer.
func (c *fakeVirtualMachines) Start(_ context.Context, name string, body *v1alpha1.PowerOptions, _ metav1.CreateOptions) (*v1alpha1.VirtualMachine, error) {
	return invoke(c, "create", "start", name, orEmpty(body), &v1alpha1.VirtualMachine{})
}

// Stop records the call; reactors give the answer.
func (c *fakeVirtualMachines) Stop(_ context.Context, name string, body *v1alpha1.PowerOptions, _ metav1.CreateOptions) (*v1alpha1.VirtualMachine, error) {
	return invoke(c, "create", "stop", name, orEmpty(body), &v1alpha1.VirtualMachine{})
}

// Restart records the call; reactors give the answer.
func (c *fakeVirtualMachines) Restart(_ context.Context, name string, body *v1alpha1.PowerOptions, _ metav1.CreateOptions) (*v1alpha1.VirtualMachine, error) {
	return invoke(c, "create", "restart", name, orEmpty(body), &v1alpha1.VirtualMachine{})
}

// Suspend records the call; reactors give the answer.
func (c *fakeVirtualMachines) Suspend(_ context.Context, name string, body *v1alpha1.PowerOptions, _ metav1.CreateOptions) (*v1alpha1.VirtualMachine, error) {
	return invoke(c, "create", "suspend", name, orEmpty(body), &v1alpha1.VirtualMachine{})
}

// Console records the call; reactors give the answer.
func (c *fakeVirtualMachines) Console(_ context.Context, name string, _ metav1.CreateOptions) (*v1alpha1.VirtualMachineConsole, error) {
	return invoke(c, "create", "console", name, &v1alpha1.VirtualMachineConsole{}, &v1alpha1.VirtualMachineConsole{})
}

// Screenshot records the call; a reactor may refuse it, and there is no picture.
func (c *fakeVirtualMachines) Screenshot(_ context.Context, name string) ([]byte, error) {
	_, err := invoke(c, "get", "screenshot", name, nil, &v1alpha1.VirtualMachine{})
	return nil, err
}

// invoke runs the reactors on one action. Without a reactor the answer is
// empty.
func invoke[T runtime.Object](c *fakeVirtualMachines, verb, subresource, name string, options runtime.Object, empty T) (T, error) {
	action := SubresourceAction{Name: name, Options: options}
	action.Verb = verb
	action.Namespace = c.Namespace()
	action.Resource = c.Resource()
	action.Subresource = subresource

	answer, err := c.Fake.Invokes(action, empty)
	if result, ok := answer.(T); ok {
		return result, err
	}
	return empty, err
}

// orEmpty stands in for a nil body.
func orEmpty[T any](body *T) *T {
	if body == nil {
		return new(T)
	}
	return body
}
