// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package connections

import (
	"context"
	"errors"
	"fmt"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/klog/v2"

	vmv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/vm/v1alpha1"
	"github.com/slipway-dev/slipway/pkg/provider"
	"github.com/slipway-dev/slipway/pkg/provider/engine"
	"github.com/slipway-dev/slipway/pkg/provider/engine/driver"
	"github.com/slipway-dev/slipway/pkg/provider/vsphere"
	"github.com/slipway-dev/slipway/pkg/provider/vsphere/vimfault"
	"github.com/slipway-dev/slipway/pkg/registry/vm/virtualmachine/storage"
)

// ticketLife is how long an unused ticket is valid, according to VMware's documentation of WebMksTicket. vCenter does not report
// it.
const ticketLife = 30 * time.Minute

// Consoles gives access to the consoles of VMs in the vCenters of all replicas.
type Consoles struct {
	// Manager is nil in a server without controllers, which has no consoles.
	Manager *Manager
}

var _ storage.Screens = Consoles{}

// Console implements storage.Screens.
func (s Consoles) Console(ctx context.Context, vm *vmv1alpha1.VirtualMachine) (*vmv1alpha1.VirtualMachineConsoleStatus, error) {
	d, id, err := s.of(ctx, vm)
	if err != nil {
		return nil, refusal(vm, err)
	}
	issued := time.Now()
	ticket, err := d.Console(ctx, id)
	if err != nil {
		return nil, refusal(vm, err)
	}
	return &vmv1alpha1.VirtualMachineConsoleStatus{
		URL: ticket.URL, Host: ticket.Host, Port: ticket.Port, Ticket: ticket.Ticket,
		SSLThumbprint: ticket.Thumbprint, SSLThumbprintSHA256: ticket.ThumbprintSHA256,
		ExpirationTimestamp: metav1.NewTime(issued.Add(ticketLife).Truncate(time.Second)), RemoteConsoleURL: ticket.RemoteConsoleURL,
	}, nil
}

// Screenshot implements storage.Screens.
func (s Consoles) Screenshot(ctx context.Context, vm *vmv1alpha1.VirtualMachine) ([]byte, error) {
	d, id, err := s.of(ctx, vm)
	if err != nil {
		return nil, refusal(vm, err)
	}
	data, err := d.Screenshot(ctx, id)
	if err != nil {
		return nil, refusal(vm, err)
	}
	return data, nil
}

// of returns the driver and the identity of a VM.
func (s Consoles) of(ctx context.Context, vm *vmv1alpha1.VirtualMachine) (*vsphere.Driver, driver.Identity, error) {
	none := driver.Identity{}
	used := s.Manager
	if used == nil || !used.zones.known() {
		return nil, none, fmt.Errorf("%w yet", provider.ErrNotInUse)
	}
	name := used.zones.vcenterOf(vm)
	if name == "" {
		return nil, none, &provider.NotUsableError{Message: "it is not in a zone", Missing: true}
	}
	// The session may outlive the request.
	d, err := used.readOnlyDriver(klog.NewContext(context.Background(), klog.FromContext(ctx)), name)
	return d, engine.DesiredOf(&provider.Request{VM: vm}).Identity, err
}

// refusal converts err to an API error.
func refusal(vm *vmv1alpha1.VirtualMachine, err error) error {
	var unusable *provider.NotUsableError
	kind := vimfault.KindOf(err)
	switch {
	case errors.Is(err, provider.ErrNotPoweredOn), errors.As(err, &unusable), kind == vimfault.WrongState, kind == vimfault.NotFound:
		return apierrors.NewConflict(vmv1alpha1.Resource("virtualmachines"), vm.Name, fmt.Errorf("no console is available: %w", err))
	case errors.Is(err, provider.ErrNotInUse), errors.Is(err, provider.ErrUnknownState), kind == vimfault.Temporary, kind == vimfault.Cancelled:
		return apierrors.NewServiceUnavailable(fmt.Sprintf("the console of VirtualMachine %s/%s is not available at the moment: %v", vm.Namespace, vm.Name, err))
	}
	return apierrors.NewInternalError(fmt.Errorf("requesting the console of VirtualMachine %s/%s: %w", vm.Namespace, vm.Name, err))
}
