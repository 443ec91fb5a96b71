// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package create

import (
	"bytes"
	"context"
	"encoding/base64"
	"fmt"

	"github.com/vmware/govmomi/vapi/rest"
	"github.com/vmware/govmomi/vapi/vcenter"
	"github.com/vmware/govmomi/vim25/types"
	"github.com/vmware/govmomi/vim25/xml"

	vmv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/vm/v1alpha1"
	"github.com/slipway-dev/slipway/pkg/provider/vsphere/configspec"
	"github.com/slipway-dev/slipway/pkg/provider/vsphere/descriptor"
	"github.com/slipway-dev/slipway/pkg/provider/vsphere/placement"
)

// provisioning returns the provisioning of the image's disks (vSphere Automation API, Vcenter Ovf
// DiskProvisioningType). The default is thin, like that of disks that are added later. The setting of the boot disk
// applies to all disks of the image.
func provisioning(boot *vmv1alpha1.VirtualMachineBootDisk) string {
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

// prepare returns the configuration for the create request. For a template it has only the differences, because a
// clone has the configuration of its template. For a library item it is the item's configuration with the differences
// applied.
func (c *Creator) prepare(ctx context.Context, want *configspec.Desired, rep *placement.Report, diffs []configspec.Difference) (types.VirtualMachineConfigSpec, *descriptor.Image, error) {
	spec := configspec.Spec(diffs)
	if rep.Source.LibraryItem == "" {
		return spec, nil, nil
	}
	image, err := c.Descriptors.Read(ctx, c.Actor.Session, rep.Source.LibraryItem)
	if err != nil {
		return spec, nil, err
	}
	if image.Description.Status.EULA && !want.AcceptEULA {
		return spec, nil, &descriptor.UnusableError{Message: "the image has a license agreement: set spec.acceptEULA to true if you accept it"}
	}
	if configspec.NewerHardware(configspec.RequiredHardwareVersion(diffs), image.Config.Version) {
		spec.Version = configspec.RequiredHardwareVersion(diffs)
	}
	want.ImageProperties = image.VApp
	return image.ApplyDefaults(spec), image, nil
}

func (c *Creator) build(ctx context.Context, want configspec.Desired, rep *placement.Report, folder types.ManagedObjectReference, spec types.VirtualMachineConfigSpec) (types.ManagedObjectReference, error) {
	if rep.Source.LibraryItem != "" {
		return c.deploy(ctx, want, rep, folder, spec)
	}
	return c.clone(ctx, want, rep, folder, spec)
}

// deploy deploys an OVF item of a content library.
func (c *Creator) deploy(ctx context.Context, want configspec.Desired, rep *placement.Report, folder types.ManagedObjectReference, spec types.VirtualMachineConfigSpec) (types.ManagedObjectReference, error) {
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

// deployment returns the deployment request. It has one storage policy for all files of the image (vSphere
// Automation API, Vcenter Ovf ResourcePoolDeploymentSpec.storage_profile_id). The boot disk's own policy is applied
// after the deployment.
func deployment(want configspec.Desired, rep *placement.Report, folder types.ManagedObjectReference, doc string) vcenter.Deploy {
	target := vcenter.Target{ResourcePoolID: rep.Pool.Value, FolderID: folder.Value}
	if rep.Host != nil {
		target.HostID = rep.Host.Value
	}
	return vcenter.Deploy{
		DeploymentSpec: vcenter.DeploymentSpec{
			Name:                want.Name,
			AcceptAllEULA:       want.AcceptEULA,
			DefaultDatastoreID:  rep.Datastore.Value,
			StorageProfileID:    configspec.HomeProfile(want),
			StorageProvisioning: provisioning(want.Effective.BootDisk),
			VmConfigSpec:        &vcenter.VmConfigSpec{Provider: "XML", XML: doc},
		},
		Target: target,
	}
}

// encode returns the XML form of a configuration for vCenter's REST API: the SOAP form in base64.
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
