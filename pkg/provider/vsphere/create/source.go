// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package create

import (
	"bytes"
	"context"
	"encoding/base64"
	"fmt"

	"github.com/vmware/govmomi/object"
	"github.com/vmware/govmomi/property"
	"github.com/vmware/govmomi/vapi/rest"
	"github.com/vmware/govmomi/vapi/vcenter"
	"github.com/vmware/govmomi/vim25/methods"
	"github.com/vmware/govmomi/vim25/mo"
	"github.com/vmware/govmomi/vim25/types"
	"github.com/vmware/govmomi/vim25/xml"

	vmv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/vm/v1alpha1"
	"github.com/slipway-dev/slipway/pkg/provider/vsphere/configspec"
	"github.com/slipway-dev/slipway/pkg/provider/vsphere/observe"
	"github.com/slipway-dev/slipway/pkg/provider/vsphere/placement"
)

// provisioned is how the disks of an image are provisioned (vSphere Automation API, Vcenter
// Ovf DiskProvisioningType): thin, as those that are added later are, unless the spec says
// something else of the boot disk. All of an image's disks are provisioned alike.
func provisioned(boot *vmv1alpha1.VirtualMachineBootDisk) string {
	if boot != nil {
		switch boot.Provisioning {
		case vmv1alpha1.DiskProvisioningThick:
			return "thick"
		case vmv1alpha1.DiskProvisioningThickEagerZero:
			return "eagerZeroedThick"
		case vmv1alpha1.DiskProvisioningThin:
		}
	}
	return "thin"
}

// prepare returns the configuration of the request, laid over what the image brings. A
// clone brings all that its template has; of a library item it is read.
func (c *Creator) prepare(ctx context.Context, want *configspec.Want, rep *placement.Report) (types.VirtualMachineConfigSpec, error) {
	diffs := configspec.Differences(*want, &mo.VirtualMachine{})
	spec := configspec.Spec(diffs)
	if rep.Source.LibraryItem == "" {
		return spec, nil
	}
	image, err := c.Descriptors.Read(ctx, c.Actor.Session, rep.Source.LibraryItem)
	if err != nil {
		return spec, err
	}
	if configspec.NewerHardware(configspec.Upgrade(diffs), image.Config.Version) {
		spec.Version = configspec.Upgrade(diffs)
	}
	want.ImageProperties = image.VApp
	return image.Under(spec), nil
}

func (c *Creator) build(ctx context.Context, want configspec.Want, rep *placement.Report, folder types.ManagedObjectReference, spec types.VirtualMachineConfigSpec) (types.ManagedObjectReference, error) {
	if rep.Source.LibraryItem != "" {
		return c.deploy(ctx, want, rep, folder, spec)
	}
	return c.clone(ctx, want, rep, folder, spec)
}

// deploy deploys an OVF item of a content library.
func (c *Creator) deploy(ctx context.Context, want configspec.Want, rep *placement.Report, folder types.ManagedObjectReference, spec types.VirtualMachineConfigSpec) (types.ManagedObjectReference, error) {
	doc, err := encode(spec)
	if err != nil {
		return types.ManagedObjectReference{}, err
	}
	var ref *types.ManagedObjectReference
	err = c.Actor.Session.WithLongREST(ctx, "rest.DeployLibraryItem", func(ctx context.Context, rc *rest.Client) error {
		var derr error
		ref, derr = vcenter.NewManager(rc).DeployLibraryItem(ctx, rep.Source.LibraryItem, deployment(want, rep, folder, doc))
		return derr
	})
	if err != nil {
		return types.ManagedObjectReference{}, fmt.Errorf("deploying library item %s: %w", rep.Source.LibraryItem, err)
	}
	return *ref, nil
}

// deployment has one policy for all that the image brings (vSphere Automation API, Vcenter
// Ovf ResourcePoolDeploymentSpec.storage_profile_id); the boot disk gets its own when the
// VM is there. It accepts the licences of the image: who offers it as one has read them.
func deployment(want configspec.Want, rep *placement.Report, folder types.ManagedObjectReference, doc string) vcenter.Deploy {
	return vcenter.Deploy{
		DeploymentSpec: vcenter.DeploymentSpec{
			Name:                want.Name,
			AcceptAllEULA:       true,
			DefaultDatastoreID:  rep.Datastore.Value,
			StorageProfileID:    configspec.HomeProfile(want),
			StorageProvisioning: provisioned(want.Effective.BootDisk),
			VmConfigSpec:        &vcenter.VmConfigSpec{Provider: "XML", XML: doc},
		},
		Target: vcenter.Target{ResourcePoolID: rep.Pool.Value, FolderID: folder.Value},
	}
}

// encode is the XML that vCenter's REST API takes: the SOAP form in base64.
func encode(spec types.VirtualMachineConfigSpec) (string, error) {
	var b bytes.Buffer
	b.WriteString(xml.Header)
	e := xml.NewEncoder(&b)
	start := xml.StartElement{
		Name: xml.Name{Local: "obj"},
		Attr: []xml.Attr{
			{Name: xml.Name{Local: "xmlns:vim25"}, Value: "urn:vim25"},
			{Name: xml.Name{Local: "xmlns:xsi"}, Value: "http://www.w3.org/2001/XMLSchema-instance"},
			{Name: xml.Name{Local: "xsi:type"}, Value: "vim25:VirtualMachineConfigSpec"},
		},
	}
	if err := e.EncodeElement(spec, start); err != nil {
		return "", fmt.Errorf("encoding the configuration: %w", err)
	}
	return base64.StdEncoding.EncodeToString(b.Bytes()), nil
}

func (c *Creator) clone(ctx context.Context, want configspec.Want, rep *placement.Report, folder types.ManagedObjectReference, spec types.VirtualMachineConfigSpec) (types.ManagedObjectReference, error) {
	vim, err := c.Actor.Session.Vim(ctx)
	if err != nil {
		return types.ManagedObjectReference{}, err
	}
	var template mo.VirtualMachine
	if err := property.DefaultCollector(vim).RetrieveOne(ctx, rep.Source.Template, []string{"config.hardware.device", "config.extraConfig"}, &template); err != nil {
		return types.ManagedObjectReference{}, fmt.Errorf("reading template %s: %w", rep.Source.Template.Value, err)
	}
	if template.Config == nil {
		return types.ManagedObjectReference{}, fmt.Errorf("template %s: its configuration cannot be read", rep.Source.Template.Value)
	}
	res, err := methods.CloneVM_Task(ctx, vim, &types.CloneVM_Task{
		This: rep.Source.Template, Folder: folder, Name: want.Name, Spec: cloneOf(&template, want, rep, folder, spec),
	})
	if err != nil {
		return types.ManagedObjectReference{}, fmt.Errorf("cloning template %s: %w", rep.Source.Template.Value, err)
	}
	result, err := c.Actor.Inventory.WaitTask(ctx, res.Returnval)
	if err != nil {
		return types.ManagedObjectReference{}, fmt.Errorf("cloning template %s: %w", rep.Source.Template.Value, err)
	}
	ref, ok := result.(types.ManagedObjectReference)
	if !ok {
		return types.ManagedObjectReference{}, fmt.Errorf("cloning template %s: vSphere returned no virtual machine", rep.Source.Template.Value)
	}
	return ref, nil
}

// cloneOf is the request for a clone of template. Its adapters give way to those of
// spec, for where the clone goes the template's networks may not be. A TPM is made
// anew: with a copy the clone would have the template's secrets. What we have once said
// of the template, a pause for example, is not said of the clone.
func cloneOf(template *mo.VirtualMachine, want configspec.Want, rep *placement.Report, folder types.ManagedObjectReference, spec types.VirtualMachineConfigSpec) types.VirtualMachineCloneSpec {
	spec.Name, spec.DeviceChange = "", configspec.CloneDevices(want, template, spec.DeviceChange)
	for _, o := range template.Config.ExtraConfig {
		if key := o.GetOptionValue().Key; observe.Ours(key) {
			spec.ExtraConfig = object.OptionValueList(spec.ExtraConfig).Join(&types.OptionValue{Key: key, Value: ""})
		}
	}
	out := types.VirtualMachineCloneSpec{
		Location: types.VirtualMachineRelocateSpec{
			Pool: &rep.Pool, Datastore: &rep.Datastore, Folder: &folder, Disk: configspec.CloneDisks(want, template, rep.Datastore),
		},
		Config: &spec,
	}
	if id := configspec.HomeProfile(want); id != "" {
		out.Location.Profile = []types.BaseVirtualMachineProfileSpec{&types.VirtualMachineDefinedProfileSpec{ProfileId: id}}
	}
	if configspec.HasTPM(template) {
		out.TpmProvisionPolicy = string(types.VirtualMachineCloneSpecTpmProvisionPolicyReplace)
	}
	return out
}
