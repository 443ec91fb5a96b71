// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package root_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	vmv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/vm/v1alpha1"
	"github.com/slipway-dev/slipway/test/clitest"
)

func imageServer() *clitest.APIServer {
	quantity := func(text string) *resource.Quantity { q := resource.MustParse(text); return &q }
	secure := true
	photon := vmv1alpha1.VirtualMachineImageSpec{ContentLibrary: &vmv1alpha1.ContentLibraryImageSource{Library: "golden", Item: "photon-5"}}
	return &clitest.APIServer{
		Images: []vmv1alpha1.VirtualMachineImage{
			{ObjectMeta: metav1.ObjectMeta{Namespace: "dev", Name: "photon"}, Spec: photon},
			{ObjectMeta: metav1.ObjectMeta{Namespace: "prod", Name: "old"}, Spec: vmv1alpha1.VirtualMachineImageSpec{
				Template: &vmv1alpha1.TemplateImageSource{InventoryPath: "templates/old"}},
				Status: vmv1alpha1.VirtualMachineImageStatus{Conditions: []metav1.Condition{{Type: "Ready", Status: "False", Reason: "NotFound", Message: "vSphere has no template"}}}},
		},
		ClusterImages: []vmv1alpha1.ClusterVirtualMachineImage{{ObjectMeta: metav1.ObjectMeta{Name: "photon"}, Spec: photon, Status: vmv1alpha1.VirtualMachineImageStatus{
			Conditions: []metav1.Condition{{Type: "Ready", Status: "True", Reason: "Succeeded"}},
			GuestID:    "vmwarePhoton64Guest", Firmware: vmv1alpha1.BootloaderEFI, SecureBoot: &secure, HardwareVersion: 19,
			Disks:    []vmv1alpha1.VirtualMachineImageDisk{{Name: "Hard disk 1", Capacity: quantity("16Gi")}, {Name: "Hard disk 2"}},
			VCenters: []string{"default", "west"}, Networks: []string{"nic0", "nic1"}, ContentSize: quantity("1Gi"), ContentVersion: "3",
			Properties: []vmv1alpha1.VirtualMachineImageProperty{{Key: "hostname", Type: "string(1..)", Required: true, Label: "Host \x1b]0;owned\x07"}},
		}}},
	}
}

func TestImage_ListsImages(t *testing.T) {
	s := imageServer()
	code, out, errOut := run(t, s, "image", "list")
	want := "" +
		"NAME     KIND                         READY   GUEST                 FIRMWARE   DISK   LOCATION\n" +
		"photon   ClusterVirtualMachineImage   True    vmwarePhoton64Guest   EFI        16Gi   golden/photon-5\n" +
		"photon   VirtualMachineImage                                                          golden/photon-5\n"
	if diff := cmp.Diff(want, out); code != 0 || diff != "" {
		t.Errorf("exit code %d, %s (-want +got):\n%s", code, errOut, diff)
	}
	_, out, _ = run(t, s, "image", "list", "-A")
	if want := "prod        old      VirtualMachineImage          NotFound"; !strings.Contains(out, want) || !strings.HasPrefix(out, "NAMESPACE ") {
		t.Errorf("of all namespaces, without %q:\n%s", want, out)
	}
	if _, out, _ = run(t, &clitest.APIServer{}, "image", "list"); out != "No images.\n" {
		t.Errorf("without any: %q", out)
	}
	if code, _, errOut = run(t, &clitest.APIServer{Absent: true}, "image", "list"); code == 0 || !strings.Contains(errOut, "does not serve vm.slipway.dev/v1alpha1") {
		t.Errorf("without a server: exit code %d, %q", code, errOut)
	}
}

func TestImage_WarnsAboutImagesThatCannotBeListed(t *testing.T) {
	const own, ofCluster = clitest.APIPrefix + "dev/virtualmachineimages", "/apis/vm.slipway.dev/v1alpha1/clustervirtualmachineimages"
	for name, tc := range map[string]struct {
		refused      []string
		code         int
		shown, error string
	}{
		"those of the namespace": {[]string{own}, 0, "ClusterVirtualMachineImage", "warning: listing images: not allowed\n"},
		"those of the cluster":   {[]string{ofCluster}, 0, " VirtualMachineImage", "warning: listing cluster images: not allowed\n"},
		"none":                   {[]string{own, ofCluster}, 1, "", "error: listing images: not allowed\n"},
	} {
		s := imageServer()
		s.Refused = tc.refused
		code, out, errOut := run(t, s, "image", "list")
		if code != tc.code || errOut != tc.error || !strings.Contains(out, tc.shown) || strings.Count(out, "photon ") != 1-tc.code {
			t.Errorf("%s: exit code %d, %q\n%s", name, code, errOut, out)
		}
	}
}

func TestImage_DescribesAnImage(t *testing.T) {
	s := imageServer()
	code, out, errOut := run(t, s, "image", "describe", "clustervirtualmachineimage/photon")
	want := `Name:             photon
Kind:             ClusterVirtualMachineImage
ContentLibrary:   golden/photon-5
Guest:            vmwarePhoton64Guest
Firmware:         EFI with secure boot
Hardware:         vmx-19
Size:             1Gi
Version:          3
Networks:         nic0, nic1
vCenters:         default, west

CONDITION   STATUS   REASON      MESSAGE
Ready       True     Succeeded   

DISK          CAPACITY
Hard disk 1   16Gi
Hard disk 2   

PROPERTY   TYPE          REQUIRED   DEFAULT   LABEL
hostname   string(1..)   true                 Host ` + "\uFFFD]0;owned\uFFFD\n"
	if diff := cmp.Diff(want, out); code != 0 || diff != "" {
		t.Errorf("exit code %d, %s (-want +got):\n%s", code, errOut, diff)
	}
	if _, out, _ = run(t, s, "image", "describe", "old", "-n", "prod"); !strings.Contains(out, "vSphere has no template") || !strings.Contains(out, "Namespace:   prod") {
		t.Errorf("of another namespace:\n%s", out)
	}
	for what, wanted := range map[string]string{
		"none":                 `reading VirtualMachineImage "none": not found`,
		"Floppy/photon":        `kind of image "Floppy" is not supported`,
		"VirtualMachineImage/": "has no name",
	} {
		if code, _, errOut = run(t, s, "image", "describe", what); code == 0 || !strings.Contains(errOut, wanted) {
			t.Errorf("%s: exit code %d, %q; want %q", what, code, errOut, wanted)
		}
	}
}
