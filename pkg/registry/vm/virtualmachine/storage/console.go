// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package storage

import (
	"context"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/apiserver/pkg/registry/rest"
	"k8s.io/apiserver/pkg/util/dryrun"

	vmv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/vm/v1alpha1"
	"github.com/slipway-dev/slipway/pkg/apis/vm/validation"
)

// ConsoleREST creates console tickets, which are not stored.
type ConsoleREST struct{ screens *screens }

var (
	_ rest.NamedCreater    = &ConsoleREST{}
	_ rest.StorageMetadata = &ConsoleREST{}
)

// New returns an empty request body.
func (*ConsoleREST) New() runtime.Object { return &vmv1alpha1.VirtualMachineConsole{} }

// Destroy does nothing, because the main endpoint owns the store.
func (*ConsoleREST) Destroy() {}

// ProducesMIMETypes returns nil, which means the encodings of the server.
func (*ConsoleREST) ProducesMIMETypes(string) []string { return nil }

// ProducesObject returns the type of the response for the API documentation.
func (*ConsoleREST) ProducesObject(string) any { return &vmv1alpha1.VirtualMachineConsole{} }

// Create returns a ticket for the console of a virtual machine. A dry run does not acquire a ticket.
func (r *ConsoleREST) Create(ctx context.Context, name string, body runtime.Object, validate rest.ValidateObjectFunc, options *metav1.CreateOptions) (runtime.Object, error) {
	_, err := checkBody(ctx, "console", name, body, validate, func(c *vmv1alpha1.VirtualMachineConsole) field.ErrorList {
		return validation.ValidateConsole(c, name)
	})
	if err != nil {
		return nil, err
	}
	vm, err := r.screens.machine(ctx, name)
	if err != nil {
		return nil, err
	}
	answer := &vmv1alpha1.VirtualMachineConsole{ObjectMeta: metav1.ObjectMeta{Namespace: vm.Namespace, Name: vm.Name}}
	if dryrun.IsDryRun(options.DryRun) {
		return answer, nil
	}
	status, err := r.screens.screens.Console(ctx, vm)
	if err != nil {
		return nil, err
	}
	answer.Status = *status
	return answer, nil
}
