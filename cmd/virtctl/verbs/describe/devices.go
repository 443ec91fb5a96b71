// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package describe

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/slipway-dev/slipway/cmd/virtctl/cli"
	vmv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/vm/v1alpha1"
)

// disks shows the boot disk and the volumes, desired and attached.
func (l *look) disks(w io.Writer) bool {
	spec, status := &l.vm.Spec, &l.vm.Status
	var boot *vmv1alpha1.VirtualMachineBootDiskStatus
	if status.Storage != nil {
		boot = status.Storage.BootDisk
	}
	if boot == nil && spec.BootDisk == nil && len(spec.Volumes) == 0 && len(status.Volumes) == 0 {
		return false
	}
	cli.Row(w, "DISK", "WHAT", "SIZE", "ATTACHED", "STORAGE CLASS", "COMPLIANCE", "PROBLEM")
	if boot != nil || spec.BootDisk != nil {
		wanted, class := (*resource.Quantity)(nil), spec.StorageClass
		if spec.BootDisk != nil {
			wanted = spec.BootDisk.Capacity
			if spec.BootDisk.StorageClass != "" {
				class = spec.BootDisk.StorageClass
			}
		}
		has := vmv1alpha1.VirtualMachineVolumeStatus{}
		if boot != nil {
			has = vmv1alpha1.VirtualMachineVolumeStatus{Attached: true, Capacity: boot.Capacity, Compliance: boot.Compliance}
		}
		volumeRow(w, "(boot disk)", "of the image", wanted, class, &has)
	}
	for i := range spec.Volumes {
		v := &spec.Volumes[i]
		has := volumeStatus(status.Volumes, v.Name)
		what, wanted, class := "disk", (*resource.Quantity)(nil), spec.StorageClass
		switch {
		case v.PersistentVolumeClaim != nil:
			what, class = "claim "+v.PersistentVolumeClaim.ClaimName, ""
		case v.Disk != nil:
			wanted = v.Disk.Capacity
			if v.Disk.StorageClass != "" {
				class = v.Disk.StorageClass
			}
		case v.CDROM != nil && v.CDROM.Image != nil:
			what, class = "CD-ROM, "+v.CDROM.Image.Name, ""
		case v.CDROM != nil:
			what, class = "CD-ROM, empty", ""
		}
		volumeRow(w, v.Name, what, wanted, class, has)
	}
	for i := range status.Volumes {
		v := &status.Volumes[i]
		if !slices.ContainsFunc(spec.Volumes, func(s vmv1alpha1.VirtualMachineVolume) bool { return s.Name == v.Name }) {
			volumeRow(w, v.Name, "not in the spec", nil, "", v)
		}
	}
	return true
}

func volumeStatus(all []vmv1alpha1.VirtualMachineVolumeStatus, name string) *vmv1alpha1.VirtualMachineVolumeStatus {
	for i := range all {
		if all[i].Name == name {
			return &all[i]
		}
	}
	return &vmv1alpha1.VirtualMachineVolumeStatus{}
}

func volumeRow(w io.Writer, name, what string, wanted *resource.Quantity, class string, has *vmv1alpha1.VirtualMachineVolumeStatus) {
	size := cli.BytesOf(has.Capacity)
	if wanted != nil && (has.Capacity == nil || has.Capacity.Value() != wanted.Value()) {
		size = joined(" ", size, fmt.Sprintf("(%s desired)", wanted))
	}
	attached := "no"
	if has.Attached {
		attached = "yes"
	}
	if has.StorageClass != "" {
		class = has.StorageClass
	}
	cli.Row(w, name, what, cli.Dash(size), attached, cli.Dash(class), cli.Dash(has.Compliance), cli.Dash(cli.Clipped(has.Error, describedMessage)))
}

// networks shows the interfaces, desired and reported by the guest.
func (l *look) networks(w io.Writer) bool {
	var wanted []vmv1alpha1.VirtualMachineNetworkInterface
	switch {
	case l.instance != nil && l.instance.Spec.Network != nil: // includes models that the preference sets
		wanted = l.instance.Spec.Network.Interfaces
	case l.vm.Spec.Network != nil:
		wanted = l.vm.Spec.Network.Interfaces
	}
	var seen []vmv1alpha1.VirtualMachineNetworkInterfaceStatus
	if l.vm.Status.Network != nil {
		seen = l.vm.Status.Network.Interfaces
	}
	if len(wanted) == 0 && len(seen) == 0 {
		return false
	}
	cli.Row(w, "INTERFACE", "NETWORK", "MODEL", "MAC", "LINK", "ADDRESSES")
	for i := range wanted {
		is := interfaceStatus(seen, wanted[i].Name)
		network := wanted[i].Network
		if network == "" {
			network = "(default)"
		}
		interfaceRow(w, wanted[i].Name, network, wanted[i].Model, is)
	}
	for i := range seen {
		if !slices.ContainsFunc(wanted, func(w vmv1alpha1.VirtualMachineNetworkInterface) bool { return w.Name == seen[i].Name }) {
			interfaceRow(w, cmp.Or(seen[i].Name, "(guest only)"), "", "", &seen[i])
		}
	}
	return true
}

func interfaceStatus(all []vmv1alpha1.VirtualMachineNetworkInterfaceStatus, name string) *vmv1alpha1.VirtualMachineNetworkInterfaceStatus {
	for i := range all {
		if all[i].Name == name {
			return &all[i]
		}
	}
	return &vmv1alpha1.VirtualMachineNetworkInterfaceStatus{}
}

func interfaceRow(w io.Writer, name, network, model string, is *vmv1alpha1.VirtualMachineNetworkInterfaceStatus) {
	link := "down"
	switch {
	case is.MACAddress == "" && !is.Connected:
		link = "-"
	case is.Connected:
		link = "up"
	}
	cli.Row(w, name, cli.Dash(network), cli.Dash(model), cli.Dash(is.MACAddress), link, cli.Dash(cli.Clipped(strings.Join(is.IPAddresses, ", "), describedMessage)))
}
