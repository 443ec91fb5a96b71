// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package volumes

import (
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/vmware/govmomi/cns"
	"github.com/vmware/govmomi/cns/methods"
	cnssim "github.com/vmware/govmomi/cns/simulator"
	cnstypes "github.com/vmware/govmomi/cns/types"
	"github.com/vmware/govmomi/simulator"
	"github.com/vmware/govmomi/vim25"
	"github.com/vmware/govmomi/vim25/soap"
	"github.com/vmware/govmomi/vim25/types"
)

// Disks attaches, detaches and extends first class disks.
type Disks interface {
	// AttachFirstClass attaches the disk. Shared specifies whether other VMs may attach it.
	AttachFirstClass(ctx *simulator.Context, vm types.ManagedObjectReference, spec Attachment) types.BaseMethodFault
	DetachFirstClass(ctx *simulator.Context, vm types.ManagedObjectReference, id types.ID) types.BaseMethodFault
	ExtendFirstClass(ctx *simulator.Context, id types.ID, mib int64) types.BaseMethodFault
}

// Attachment specifies how a disk is attached.
type Attachment struct {
	ID types.ID
	// ControllerKey and UnitNumber of the place, nil for any at a paravirtual controller.
	ControllerKey, UnitNumber *int32
	// Mode and Sharing, empty for persistent and none.
	Mode, Sharing string
}

// Service is the volume service.
type Service struct {
	*cnssim.CnsVolumeManager

	disks   Disks
	version func() string
	allowed func(account, privilege string) bool

	mu sync.Mutex
	// faults are those ordered.
	faults map[order]types.BaseMethodFault
	// unregistered are first class disks that the service does not know.
	unregistered map[string]bool
}

// order is an injected failure of a call, for one volume or for all volumes without an order of their own.
type order struct{ method, id string }

// Install registers the service. version is that of the API, and allowed reports whether an account has a privilege
// on the root folder.
func Install(service *simulator.Service, disks Disks, version func() string, allowed func(account, privilege string) bool) *Service {
	registry := cnssim.New()
	manager, ok := registry.Get(cns.CnsVolumeManagerInstance).(*cnssim.CnsVolumeManager)
	if !ok {
		return nil
	}
	s := &Service{CnsVolumeManager: manager, disks: disks, version: version, allowed: allowed,
		faults: map[order]types.BaseMethodFault{}, unregistered: map[string]bool{}}
	registry.Put(s)
	registry.Handler = s.permitted
	service.RegisterSDK(registry)
	return s
}

// Fail lets all later calls of a method fail with the fault, for one volume or, without
// id, for all; nil ends that.
func (s *Service) Fail(method, id string, fault types.BaseMethodFault) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if fault == nil {
		delete(s.faults, order{method, id})
		return
	}
	s.faults[order{method, id}] = fault
}

func (s *Service) ordered(method, id string) types.BaseMethodFault {
	s.mu.Lock()
	defer s.mu.Unlock()
	if fault := s.faults[order{method, id}]; fault != nil {
		return fault
	}
	return s.faults[order{method: method}]
}

// choosesPlace is true for vCenter 9.1 and later, whose attachments specify controller and mode (vmware/govmomi#3804;
// vsphere-csi-driver#3783 names the version).
func (s *Service) choosesPlace() bool {
	major, rest, _ := strings.Cut(s.version(), ".")
	minor, _, _ := strings.Cut(rest, ".")
	n, _ := strconv.Atoi(major)
	m, _ := strconv.Atoi(minor)
	return n > 9 || n == 9 && m >= 1
}

// each runs a task that processes each volume. The error of one volume is in its result, and the task succeeds
// (vsphere-csi-driver, AttachVolume and DetachVolume).
func (s *Service) each(ctx *simulator.Context, method string, ids []cnstypes.CnsVolumeId,
	do func(vctx *simulator.Context, n int) (cnstypes.BaseCnsVolumeOperationResult, types.BaseMethodFault),
) types.ManagedObjectReference {
	// The tasks are those of the inventory, where clients wait for them.
	vctx := ctx.For(vim25.Path)
	work := &simulator.Context{Context: vctx.Context, Map: vctx.Map, Session: vctx.Session}
	return simulator.CreateTask(types.ManagedObjectReference{Type: "SlipwayVolumes", Value: method + strings.Join(names(ids), ",")}, method,
		func(*simulator.Task) (types.AnyType, types.BaseMethodFault) {
			if len(ids) == 0 {
				return nil, &types.InvalidArgument{InvalidProperty: "InputSpec"}
			}
			batch := &cnstypes.CnsVolumeOperationBatchResult{}
			for n, id := range ids {
				fault := s.ordered(method, id.Id)
				var result cnstypes.BaseCnsVolumeOperationResult
				if fault == nil && !s.registered(vctx, id) {
					fault = &cnstypes.CnsNotRegisteredFault{VolumeId: id}
				}
				if fault == nil {
					result, fault = do(work, n)
				}
				if fault != nil {
					result = &cnstypes.CnsVolumeOperationResult{VolumeId: id, Fault: &types.LocalizedMethodFault{Fault: fault, LocalizedMessage: message(fault)}}
				}
				batch.VolumeResults = append(batch.VolumeResults, result)
			}
			return batch, nil
		}).Run(vctx)
}

func names(ids []cnstypes.CnsVolumeId) []string {
	var out []string
	for _, id := range ids {
		out = append(out, id.Id)
	}
	return out
}

// message is the text of vCenter's message, which is not a stable API.
func message(fault types.BaseMethodFault) string {
	switch f := fault.(type) {
	case *cnstypes.CnsFault:
		return f.Reason
	case *types.ResourceInUse:
		return "The resource is in use."
	case *cnstypes.CnsNotRegisteredFault:
		return "The input volume is not registered as a CNS volume."
	}
	return ""
}

// registered reports whether the service has the volume: a volume that it has created, or a first class disk that was
// not unregistered.
func (s *Service) registered(vctx *simulator.Context, id cnstypes.CnsVolumeId) bool {
	_, there := FirstClass(vctx)[types.ID(id)]
	s.mu.Lock()
	defer s.mu.Unlock()
	return there && !s.unregistered[id.Id]
}

// Unregister takes a volume off the books; the disk stays.
func (s *Service) Unregister(id string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.unregistered[id] = true
}

// CnsAttachVolume attaches volumes.
func (s *Service) CnsAttachVolume(ctx *simulator.Context, req *cnstypes.CnsAttachVolume) soap.HasFault {
	var ids []cnstypes.CnsVolumeId
	for _, spec := range req.AttachSpecs {
		ids = append(ids, spec.VolumeId)
		placed := spec.ControllerKey != nil || spec.UnitNumber != nil || spec.DiskMode != "" || spec.Sharing != ""
		if placed && !s.choosesPlace() {
			// An element that the version does not have (judgement: as any service of vCenter).
			return &methods.CnsAttachVolumeBody{Fault_: simulator.Fault("", &types.InvalidRequest{})}
		}
	}
	return &methods.CnsAttachVolumeBody{Res: &cnstypes.CnsAttachVolumeResponse{
		Returnval: s.each(ctx, "CnsAttachVolume", ids, func(vctx *simulator.Context, n int) (cnstypes.BaseCnsVolumeOperationResult, types.BaseMethodFault) {
			return s.attach(vctx, &req.AttachSpecs[n])
		}),
	}}
}

func (s *Service) attach(vctx *simulator.Context, spec *cnstypes.CnsVolumeAttachDetachSpec) (cnstypes.BaseCnsVolumeOperationResult, types.BaseMethodFault) {
	vm, ok := vctx.Map.Get(spec.Vm).(*simulator.VirtualMachine)
	if !ok {
		return nil, &types.ManagedObjectNotFound{Obj: spec.Vm}
	}
	id := types.ID(spec.VolumeId)
	holders := Holders(vctx, id)
	if slices.Contains(holders, spec.Vm) && s.choosesPlace() {
		return attached(vctx, vm, id), nil // govmomi, TestClient of cns: no fault since 9.1
	}
	if len(holders) > 0 && !s.choosesPlace() {
		return nil, &types.ResourceInUse{Type: "VStorageObject", Name: id.Id}
	}
	fault := s.disks.AttachFirstClass(vctx, spec.Vm, Attachment{
		ID: id, ControllerKey: spec.ControllerKey, UnitNumber: spec.UnitNumber, Mode: spec.DiskMode, Sharing: spec.Sharing,
	})
	if fault != nil {
		return nil, wrapped("AttachDisk", fault)
	}
	return attached(vctx, vm, id), nil
}

// wrapped is the fault of a call that the service makes for its client
// (vsphere-csi-driver#1621).
func wrapped(call string, fault types.BaseMethodFault) types.BaseMethodFault {
	f := &cnstypes.CnsFault{Reason: "CNS: Failed to attach disk when calling " + call}
	f.FaultCause = &types.LocalizedMethodFault{Fault: fault}
	return f
}

func attached(vctx *simulator.Context, vm *simulator.VirtualMachine, id types.ID) *cnstypes.CnsVolumeAttachResult {
	result := &cnstypes.CnsVolumeAttachResult{CnsVolumeOperationResult: cnstypes.CnsVolumeOperationResult{VolumeId: cnstypes.CnsVolumeId(id)}}
	vctx.WithLock(vm, func() {
		if disk := find(vm, id); disk != nil {
			if b, ok := disk.Backing.(*types.VirtualDiskFlatVer2BackingInfo); ok {
				result.DiskUUID = b.Uuid
			}
		}
	})
	return result
}

// CnsDetachVolume detaches volumes.
func (s *Service) CnsDetachVolume(ctx *simulator.Context, req *cnstypes.CnsDetachVolume) soap.HasFault {
	var ids []cnstypes.CnsVolumeId
	for _, spec := range req.DetachSpecs {
		ids = append(ids, spec.VolumeId)
	}
	return &methods.CnsDetachVolumeBody{Res: &cnstypes.CnsDetachVolumeResponse{
		Returnval: s.each(ctx, "CnsDetachVolume", ids, func(vctx *simulator.Context, n int) (cnstypes.BaseCnsVolumeOperationResult, types.BaseMethodFault) {
			spec := req.DetachSpecs[n]
			if _, ok := vctx.Map.Get(spec.Vm).(*simulator.VirtualMachine); !ok {
				return nil, &types.ManagedObjectNotFound{Obj: spec.Vm}
			}
			return &cnstypes.CnsVolumeOperationResult{VolumeId: spec.VolumeId}, s.disks.DetachFirstClass(vctx, spec.Vm, types.ID(spec.VolumeId))
		}),
	}}
}

// CnsExtendVolume makes volumes larger.
func (s *Service) CnsExtendVolume(ctx *simulator.Context, req *cnstypes.CnsExtendVolume) soap.HasFault {
	var ids []cnstypes.CnsVolumeId
	for _, spec := range req.ExtendSpecs {
		ids = append(ids, spec.VolumeId)
	}
	return &methods.CnsExtendVolumeBody{Res: &cnstypes.CnsExtendVolumeResponse{
		Returnval: s.each(ctx, "CnsExtendVolume", ids, func(vctx *simulator.Context, n int) (cnstypes.BaseCnsVolumeOperationResult, types.BaseMethodFault) {
			spec := req.ExtendSpecs[n]
			return &cnstypes.CnsVolumeOperationResult{VolumeId: spec.VolumeId}, s.disks.ExtendFirstClass(vctx, types.ID(spec.VolumeId), spec.CapacityInMb)
		}),
	}}
}

// Holders returns the virtual machines that have the first class disk, by its record and by their devices.
func Holders(ctx *simulator.Context, id types.ID) []types.ManagedObjectReference {
	consumers := map[string]bool{}
	if d, ok := FirstClass(ctx)[id]; ok {
		for _, c := range d.Config.ConsumerId {
			consumers[c.Id] = true
		}
	}
	var out []types.ManagedObjectReference
	for _, e := range ctx.Map.All("VirtualMachine") {
		vm, ok := e.(*simulator.VirtualMachine)
		if !ok || vm.Config == nil {
			continue
		}
		ctx.WithLock(vm, func() {
			if consumers[vm.Config.Uuid] || find(vm, id) != nil {
				out = append(out, vm.Self)
			}
		})
	}
	return out
}

func find(vm *simulator.VirtualMachine, id types.ID) *types.VirtualDisk {
	for _, d := range vm.Config.Hardware.Device {
		if disk, ok := d.(*types.VirtualDisk); ok && disk.VDiskId != nil && *disk.VDiskId == id {
			return disk
		}
	}
	return nil
}
