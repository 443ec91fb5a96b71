// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package reasons

import vmv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/vm/v1alpha1"

// readable are the reasons of an object that refers to an object in vSphere.
func readable(what string, more ...Reason) []Reason {
	return append([]Reason{
		met("vSphere has the " + what + "."),
		{isFalse, "NotFound", "vSphere does not have the " + what + ", or there is no such VCenter.", "Create it in vSphere, or correct the name; it is checked again automatically."},
		{isFalse, "Invalid", "The " + what + " cannot be used, or the name is ambiguous.", "Correct the name, or the " + what + " in vSphere."},
		{isUnknown, "UnknownState", "vSphere could not be read.", connect},
	}, more...)
}

var location = []Condition{
	{Type: "Ready", Normal: isTrue, Means: "All files of the present version of the image are at the location.",
		Reasons: readable("item or datastore",
			Reason{isFalse, "InProgress", "The image is being copied, or waits for other copies.", nothing},
			Reason{isFalse, "Error", "The copy failed.", retried},
			Reason{isFalse, "NotReady", "A VM has found that the copies are incomplete or outdated; they are checked.", nothing},
			Reason{isFalse, "Conflict", "Two locations of the cache are the same datastore and policy.", "Remove one of them from `spec.locations`."},
			Reason{isFalse, "Deleting", "The copies are being removed.", nothing},
			Reason{isFalse, "InUse", "The copies are not removed, because a VM uses them.", "Nothing, or delete the VM that the message names."},
			Reason{isFalse, "NotRemoved", "The copies could not be removed.", retried})},
	{Type: "ProviderReady", Normal: isTrue, Means: "The image was found in the vCenter of the location.", Reasons: readable("item or datastore")},
	{Type: "OVFReady", Normal: isTrue, Means: "The description of the image was found.", Reasons: readable("item or datastore")},
}

var imageKinds = []Kind{
	{Names: []string{"VirtualMachineImage", "ClusterVirtualMachineImage"}, Group: vmv1alpha1.SchemeGroupVersion, Conditions: []Condition{
		{Type: "SettingsApplied", Normal: isTrue, Means: "VMs of the image get all settings and devices that it requests.", Absent: "The image is not an OVF item, or was not read yet.",
			Reasons: readable("item",
				Reason{isTrue, "DefaultConfiguration", "The image has several configurations, and VMs get the default one.", nothing},
				Reason{isFalse, "NotApplied", "VMs do not get settings, devices or sections that the image requests; the message names them.", "Set them in the spec of the VM if it needs them; do not use the image if the spec has no such field."})},
		{Type: "Ready", Normal: isTrue, Means: "vSphere has the image, and VMs can be created from it.", Reasons: readable("item or template")},
		{Type: "OVFReady", Normal: isTrue, Means: "The status describes the present content of the image completely.", Absent: "The image is not an OVF item, or was not read yet.",
			Reasons: readable("item", Reason{isFalse, "Incomplete", "The description of the image is too long or has too many entries; the message lists the omitted parts.",
				"Nothing, if the VM does not need it; else simplify the OVF."})},
	}},
	{Names: []string{"VirtualMachineImageCache"}, Group: vmv1alpha1.SchemeGroupVersion, Conditions: []Condition{
		{Type: "Ready", Normal: isTrue, Means: "All locations are Ready. Otherwise the message names the location, and the reason is that of its condition.",
			Reasons: []Reason{met("All copies exist."), {isUnknown, "UnknownState", "A location was not checked yet.", nothing}},
			Copies:  []Copy{{Of: "VirtualMachineImageCache locations Ready"}}},
		{Type: "ProviderReady", Normal: isTrue, Means: "The image was found in the vCenter of each location.",
			Reasons: []Reason{met("All locations have it."), {isUnknown, "UnknownState", "A location was not checked yet.", nothing}},
			Copies:  []Copy{{Of: "VirtualMachineImageCache locations ProviderReady"}}},
		{Type: "OVFReady", Normal: isTrue, Means: "The description of the image was found for each location.",
			Reasons: []Reason{met("All locations have it."), {isUnknown, "UnknownState", "A location was not checked yet.", nothing}},
			Copies:  []Copy{{Of: "VirtualMachineImageCache locations OVFReady"}}},
		{Type: "FilesReady", Normal: isTrue, Means: "All files are copied in all locations.",
			Reasons: []Reason{met("All copies exist."), {isUnknown, "UnknownState", "A location was not checked yet.", nothing}},
			Copies:  []Copy{{Of: "VirtualMachineImageCache locations Ready"}}},
	}},
	{Names: []string{"VirtualMachineImageCache"}, List: "locations", Group: vmv1alpha1.SchemeGroupVersion, Conditions: location},
	{Names: []string{"ContentLibrary"}, Group: vmv1alpha1.SchemeGroupVersion, Conditions: []Condition{
		{Type: "Ready", Normal: isTrue, Means: "The library was listed, and its items have image objects.",
			Reasons: readable("library", Reason{isFalse, "Error", "An image object could not be written.", retried})},
	}},
}
