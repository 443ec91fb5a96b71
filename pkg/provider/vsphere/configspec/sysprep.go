// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package configspec

import (
	"cmp"
	"strings"

	"github.com/vmware/govmomi/vim25/types"
)

const (
	sysprepPath = "bootstrap.sysprep"
	// maxComputerName is the longest name of a computer with Windows; vSphere cuts longer
	// ones, which are not unique any more then (CustomizationUserData.computerName).
	maxComputerName = 15
	// greenwich is the index of GMT Standard Time.
	greenwich = 85
	workgroup = "WORKGROUP"
)

// sysprep is the answer file, or what vSphere makes one of.
func sysprep(want Want) types.BaseCustomizationIdentitySettings {
	secret := want.Data.Sysprep
	a := want.Effective.Bootstrap.Sysprep.Answers
	if a == nil {
		return &types.CustomizationSysprepText{Value: secret.Unattend}
	}
	out := &types.CustomizationSysprep{
		GuiUnattended: types.CustomizationGuiUnattended{
			Password: password(secret.AdministratorPassword), TimeZone: greenwich,
			AutoLogon: a.AutoLogonCount > 0, AutoLogonCount: a.AutoLogonCount,
		},
		UserData: types.CustomizationUserData{
			FullName: a.FullName, OrgName: a.Organization, ProductId: secret.ProductKey,
			ComputerName: &types.CustomizationFixedName{Name: computerName(want)},
		},
	}
	if a.TimeZone != nil {
		out.GuiUnattended.TimeZone = *a.TimeZone
	}
	if d := a.Domain; d != nil {
		out.Identification = types.CustomizationIdentification{
			JoinDomain: d.Name, DomainAdmin: d.User, DomainAdminPassword: password(secret.DomainPassword), DomainOU: d.OrganizationalUnit,
		}
	} else {
		out.Identification.JoinWorkgroup = cmp.Or(a.Workgroup, workgroup)
	}
	if len(a.RunOnce) > 0 {
		out.GuiRunOnce = &types.CustomizationGuiRunOnce{CommandList: a.RunOnce}
	}
	return out
}

// password is one that vSphere does not decrypt; an empty one is none.
func password(text string) *types.CustomizationPassword {
	if text == "" {
		return nil
	}
	return &types.CustomizationPassword{Value: text, PlainText: true}
}

// refusedComputerName says why Windows cannot have the name.
func refusedComputerName(in *input, say func(format string, args ...any)) {
	name := computerName(in.Want)
	switch {
	case in.vm.Config != nil && !in.New: // It has had its first start.
	case len(name) > maxComputerName:
		say("%s: Windows takes %d characters, and the name %q has %d: set network.hostName", sysprepPath, maxComputerName, name, len(name))
	case strings.Trim(name, "0123456789") == "":
		say("%s: Windows takes no name of digits alone, as %q is: set network.hostName", sysprepPath, name)
	}
}
