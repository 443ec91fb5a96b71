// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package access

import "github.com/slipway-dev/slipway/pkg/provider/vsphere/placement"

// Root is the kind of vCenter's root folder. Privileges for content libraries and global
// permissions apply to it. The other kinds of objects are those of placement.SurveyResult.
const Root = "vCenter"

// Required lists the required privileges by kind of object. The vSphere Web Services API names them
// under "Required Privileges" of the methods that are called, and under "Reconfigure privilege" of
// the properties that are set.
var Required = map[string][]string{
	Root: {
		"System.Read",
		"ContentLibrary.DownloadSession", "ContentLibrary.GetConfiguration",
		"ContentLibrary.ReadStorage", "ContentLibrary.TypeIntrospection",
	},
	placement.WhatFolder: {
		"System.Read", "Folder.Create",
		"VApp.ApplicationConfig", "VApp.Import",
		"VirtualMachine.Config.AddExistingDisk", "VirtualMachine.Config.AddNewDisk",
		"VirtualMachine.Config.AddRemoveDevice", "VirtualMachine.Config.AdvancedConfig",
		"VirtualMachine.Config.Annotation", "VirtualMachine.Config.CPUCount",
		"VirtualMachine.Config.DiskExtend", "VirtualMachine.Config.EditDevice",
		"VirtualMachine.Config.ManagedBy", "VirtualMachine.Config.Memory",
		"VirtualMachine.Config.RemoveDisk", "VirtualMachine.Config.Rename",
		"VirtualMachine.Config.Resource", "VirtualMachine.Config.Settings",
		"VirtualMachine.Config.UpgradeVirtualHardware",
		"VirtualMachine.Interact.PowerOff", "VirtualMachine.Interact.PowerOn",
		"VirtualMachine.Interact.Reset", "VirtualMachine.Interact.Suspend",
		"VirtualMachine.Inventory.Create", "VirtualMachine.Inventory.CreateFromExisting",
		"VirtualMachine.Inventory.Delete", "VirtualMachine.Inventory.Unregister",
		"VirtualMachine.Provisioning.Customize", "VirtualMachine.Provisioning.DeployTemplate",
	},
	placement.WhatPool:      {"System.Read", "Resource.AssignVMToPool", "VApp.Import"},
	placement.WhatDatastore: {"System.Read", "Datastore.AllocateSpace"},
	placement.WhatNetwork:   {"System.Read", "Network.Assign"},
}

// MinAPIVersion is the oldest API version of vCenter that can deploy images of content libraries.
const MinAPIVersion = placement.MinDeployAPI
