// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package vcenter

import (
	"context"
	"errors"
	"fmt"

	"github.com/vmware/govmomi/object"
	"github.com/vmware/govmomi/simulator"
	"github.com/vmware/govmomi/vim25"
	"github.com/vmware/govmomi/vim25/types"

	"github.com/slipway-dev/slipway/test/vcenter/contentlibrary"
	"github.com/slipway-dev/slipway/test/vcenter/inventory"
)

// ForeignFolder is the folder of ForeignVMs below that of Slipway's virtual machines.
const ForeignFolder = "legacy"

// ForeignVMs are the names of the virtual machines of Options.ForeignVMs.
var ForeignVMs = []string{"Mail 1", "wiki"}

// makeForeignVMs adds powered-on virtual machines that Slipway has not created.
func (s *Server) makeForeignVMs(ctx context.Context) error {
	registry := s.inv.Model.Map()
	datastore, ok := registry.Get(s.inv.Datastores[0]).(*simulator.Datastore)
	if !ok {
		return errors.New("the simulated inventory has no datastore")
	}
	client, err := vim25.NewClient(ctx, s.inv.Model.Service)
	if err != nil {
		return fmt.Errorf("connect to the simulated inventory: %w", err)
	}
	folder, err := object.NewFolder(client, s.inv.VMFolder).CreateFolder(ctx, ForeignFolder)
	if err != nil {
		return fmt.Errorf("create folder %s/%s: %w", inventory.VMFolder, ForeignFolder, err)
	}
	for _, name := range ForeignVMs {
		spec := contentlibrary.Template(name, datastore.Name)
		spec.MemoryMB = 1024
		ref, err := s.gate.NewVM(ctx, registry, &types.CreateVM_Task{This: folder.Reference(), Pool: s.inv.Pool, Config: spec})
		if err != nil {
			return err
		}
		task, err := object.NewVirtualMachine(client, ref).PowerOn(ctx)
		if err == nil {
			err = task.Wait(ctx)
		}
		if err != nil {
			return fmt.Errorf("power on virtual machine %q: %w", name, err)
		}
	}
	return nil
}
