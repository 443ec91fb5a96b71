// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package apis_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/slipway-dev/slipway/pkg/apis/vm/fitting"
	vmv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/vm/v1alpha1"
)

// image returns an image with three properties: one that can be set, one that is not user-configurable, and one that is
// required.
func image(change func(*vmv1alpha1.VirtualMachineImageStatus)) *vmv1alpha1.VirtualMachineImage {
	i := &vmv1alpha1.VirtualMachineImage{ObjectMeta: metav1.ObjectMeta{Name: "appliance"}}
	i.Status = vmv1alpha1.VirtualMachineImageStatus{
		Type: vmv1alpha1.ImageTypeOVF, Firmware: vmv1alpha1.BootloaderBIOS,
		Disks: []vmv1alpha1.VirtualMachineImageDisk{{Capacity: resource.NewQuantity(16<<30, resource.BinarySI)}},
		Properties: []vmv1alpha1.VirtualMachineImageProperty{
			{Key: "hostname", UserConfigurable: true}, {Key: "build"}, {Key: "password", UserConfigurable: true, Required: true},
		},
		Conditions: []metav1.Condition{{Type: vmv1alpha1.ConditionReady, Status: metav1.ConditionTrue}, {Type: vmv1alpha1.ConditionOVFReady, Status: metav1.ConditionTrue}},
	}
	if change != nil {
		change(&i.Status)
	}
	return i
}

func vApp(secret string, keys ...string) *vmv1alpha1.VirtualMachineBootstrap {
	v := &vmv1alpha1.VAppConfigBootstrap{RawProperties: secret, Properties: map[string]string{}}
	for _, key := range keys {
		v.Properties[key] = "hunter2"
	}
	return &vmv1alpha1.VirtualMachineBootstrap{VAppConfig: v}
}

func TestProperties_RejectsKeysThatTheImageDoesNotHave(t *testing.T) {
	many := func(s *vmv1alpha1.VirtualMachineImageStatus) {
		s.Properties = nil
		for n := range 256 {
			s.Properties = append(s.Properties, vmv1alpha1.VirtualMachineImageProperty{Key: fmt.Sprintf("p%03d", n), UserConfigurable: true})
		}
	}
	missing := `spec.bootstrap.vAppConfig.properties[password]: Required value: image appliance requires this property and has no default value`
	for name, tc := range map[string]struct {
		change    func(*vmv1alpha1.VirtualMachineImageStatus)
		bootstrap *vmv1alpha1.VirtualMachineBootstrap
		secret    []string
		want      []string
	}{
		"all required properties": {bootstrap: vApp("", "password", "hostname")},
		"an unknown key": {bootstrap: vApp("", "password", "hostnam"),
			want: []string{`spec.bootstrap.vAppConfig.properties: Invalid value: "hostnam": image appliance does not have this property; it has hostname, password`}},
		"a key in another case": {bootstrap: vApp("", "Password"), want: []string{
			`spec.bootstrap.vAppConfig.properties: Invalid value: "Password": image appliance does not have this property; it has hostname, password`, missing}},
		"a property that is not user-configurable": {bootstrap: vApp("", "password", "build"),
			want: []string{`spec.bootstrap.vAppConfig.properties: Invalid value: "build": this property of image appliance is not user-configurable`}},
		"a missing required property":           {bootstrap: vApp("", "hostname"), want: []string{missing}},
		"no values at all":                      {want: []string{missing}},
		"cloud-init, which needs no properties": {bootstrap: &vmv1alpha1.VirtualMachineBootstrap{CloudInit: &vmv1alpha1.CloudInitBootstrap{}}},
		"a Secret with unknown keys":            {bootstrap: vApp("secret", "hostname")},
		"a Secret with the required key":        {bootstrap: vApp("secret", "hostname"), secret: []string{"password"}},
		"a Secret without the required key":     {bootstrap: vApp("secret", "hostname"), secret: []string{}, want: []string{missing}},
		"a Secret with an unknown property":     {bootstrap: vApp("secret"), secret: []string{"password", "x"}, want: []string{`spec.bootstrap.vAppConfig.properties: Invalid value: "x": image appliance does not have this property; it has hostname, password`}},
		"an image without properties":           {change: func(s *vmv1alpha1.VirtualMachineImageStatus) { s.Properties = nil }, bootstrap: vApp("", "any")},
		"an image with incomplete status":       {change: func(s *vmv1alpha1.VirtualMachineImageStatus) { s.Conditions[1].Status = metav1.ConditionFalse }, bootstrap: vApp("", "any")},
		"an image that cannot be read":          {change: func(s *vmv1alpha1.VirtualMachineImageStatus) { s.Conditions[0].Status = metav1.ConditionUnknown }, bootstrap: vApp("", "any")},
		"an image without status":               {change: func(s *vmv1alpha1.VirtualMachineImageStatus) { *s = vmv1alpha1.VirtualMachineImageStatus{} }, bootstrap: vApp("", "any")},
		"a template": {change: func(s *vmv1alpha1.VirtualMachineImageStatus) {
			s.Type, s.Conditions = vmv1alpha1.ImageTypeTemplate, s.Conditions[:1]
		}, want: []string{missing}},
		"very many properties": {change: many, bootstrap: vApp("", "x"),
			want: []string{`spec.bootstrap.vAppConfig.properties: Invalid value: "x": image appliance does not have this property; it has p000, p001, p002, p003, p004, p005, p006, p007, ` +
				`p008, p009, p010, p011, p012, p013, p014, p015, p016, p017, p018, p019 and 236 more`}},
	} {
		t.Run(name, func(t *testing.T) {
			var got []string
			for _, err := range fitting.ValidateProperties(image(tc.change), tc.bootstrap, tc.secret) {
				got = append(got, err.Error())
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			if strings.Contains(fmt.Sprint(got), "hunter2") {
				t.Error("an error contains the value of a property")
			}
		})
	}
	if got := fitting.ValidateProperties(nil, vApp("", "x"), nil); got != nil {
		t.Errorf("without an image: %v", got)
	}
}

func TestEULA_RequiresAcceptance(t *testing.T) {
	licensed := func(s *vmv1alpha1.VirtualMachineImageStatus) { s.EULA = true }
	for name, tc := range map[string]struct {
		change   func(*vmv1alpha1.VirtualMachineImageStatus)
		accepted bool
		want     string
	}{
		"no agreement":            {},
		"no agreement, accepted":  {accepted: true},
		"an agreement":            {change: licensed, want: "spec.acceptEULA: Required value: image appliance has a license agreement"},
		"an agreement, accepted":  {change: licensed, accepted: true},
		"an agreement, not Ready": {change: func(s *vmv1alpha1.VirtualMachineImageStatus) { s.EULA, s.Conditions = true, nil }},
	} {
		t.Run(name, func(t *testing.T) {
			got := fitting.ValidateEULA(image(tc.change), tc.accepted)
			if (len(got) > 0) != (tc.want != "") || len(got) > 0 && !strings.HasPrefix(got[0].Error(), tc.want) {
				t.Errorf("errors %v, want %q", got, tc.want)
			}
		})
	}
}

func TestDiskAndFirmware_MustFitTheImage(t *testing.T) {
	yes, no := true, false
	disk := func(size string) *vmv1alpha1.VirtualMachineBootDisk {
		q := resource.MustParse(size)
		return &vmv1alpha1.VirtualMachineBootDisk{Capacity: &q}
	}
	for name, tc := range map[string]struct {
		change   func(*vmv1alpha1.VirtualMachineImageStatus)
		disk     *vmv1alpha1.VirtualMachineBootDisk
		firmware *vmv1alpha1.VirtualMachineFirmware
		want     string
	}{
		"nothing requested":              {},
		"a disk of the same size":        {disk: disk("16Gi")},
		"a larger disk":                  {disk: disk("17Gi")},
		"only a storage class":           {disk: &vmv1alpha1.VirtualMachineBootDisk{StorageClass: "gold"}},
		"a smaller disk":                 {disk: disk("15Gi"), want: `spec.bootDisk.size: Invalid value: "15Gi": must be at least 16Gi, the size of the boot disk of image appliance`},
		"a disk of no known size":        {disk: disk("1Gi"), change: func(s *vmv1alpha1.VirtualMachineImageStatus) { s.Disks[0].Capacity = nil }},
		"no disk":                        {disk: disk("1Gi"), change: func(s *vmv1alpha1.VirtualMachineImageStatus) { s.Disks = nil }},
		"an ISO":                         {change: func(s *vmv1alpha1.VirtualMachineImageStatus) { s.Type = vmv1alpha1.ImageTypeISO }, want: `spec.image.name: Invalid value: "appliance": is an ISO image`},
		"an ISO that is not Ready":       {change: func(s *vmv1alpha1.VirtualMachineImageStatus) { s.Type, s.Conditions = vmv1alpha1.ImageTypeISO, nil }},
		"secure boot on BIOS":            {firmware: &vmv1alpha1.VirtualMachineFirmware{SecureBoot: &yes}, want: `spec.firmware.secureBoot: Invalid value: true: requires EFI, but image appliance has BIOS`},
		"no secure boot on BIOS":         {firmware: &vmv1alpha1.VirtualMachineFirmware{SecureBoot: &no}},
		"secure boot and another loader": {firmware: &vmv1alpha1.VirtualMachineFirmware{SecureBoot: &yes, Bootloader: vmv1alpha1.BootloaderEFI}},
		"secure boot on EFI": {firmware: &vmv1alpha1.VirtualMachineFirmware{SecureBoot: &yes}, change: func(s *vmv1alpha1.VirtualMachineImageStatus) {
			s.Firmware = vmv1alpha1.BootloaderEFI
		}},
		"secure boot with unknown firmware": {firmware: &vmv1alpha1.VirtualMachineFirmware{SecureBoot: &yes}, change: func(s *vmv1alpha1.VirtualMachineImageStatus) { s.Firmware = "" }},
	} {
		t.Run(name, func(t *testing.T) {
			i := image(tc.change)
			errs := append(fitting.ValidateDisk(i, tc.disk), fitting.ValidateFirmware(i, tc.firmware)...)
			switch got := fmt.Sprint(errs.ToAggregate()); {
			case tc.want == "" && len(errs) > 0:
				t.Errorf("%s, want nothing", got)
			case tc.want != "" && !strings.Contains(got, tc.want):
				t.Errorf("%s, want %s", got, tc.want)
			}
		})
	}
}
