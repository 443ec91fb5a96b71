// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package vsphere

import (
	"errors"
	"net/url"
	"slices"
	"strings"
	"testing"

	"github.com/vmware/govmomi/vapi/library"
	"github.com/vmware/govmomi/vim25/soap"
	"k8s.io/apimachinery/pkg/api/meta"

	vmv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/vm/v1alpha1"
	"github.com/slipway-dev/slipway/pkg/provider"
	"github.com/slipway-dev/slipway/test/vcenter"
)

// ovfDescriptor returns an OVF descriptor with one disk. It adds sections to the virtual system.
func ovfDescriptor(version, sections string) string {
	return `<?xml version="1.0"?>
<Envelope xmlns="http://schemas.dmtf.org/ovf/envelope/1" xmlns:ovf="http://schemas.dmtf.org/ovf/envelope/1"
  xmlns:rasd="http://schemas.dmtf.org/wbem/wscim/1/cim-schema/2/CIM_ResourceAllocationSettingData"
  xmlns:vssd="http://schemas.dmtf.org/wbem/wscim/1/cim-schema/2/CIM_VirtualSystemSettingData" xmlns:vmw="http://www.vmware.com/schema/ovf">
<References><File ovf:href="boot.vmdk" ovf:id="file1"/></References>
<DiskSection><Info/><Disk ovf:capacity="16" ovf:capacityAllocationUnits="byte * 2^30" ovf:diskId="disk1" ovf:fileRef="file1"/></DiskSection>
<VirtualSystem ovf:id="one"><Info/>` + sections + `<OperatingSystemSection ovf:id="36" vmw:osType="vmwarePhoton64Guest"><Info/></OperatingSystemSection>
<VirtualHardwareSection><Info/>
<System><vssd:ElementName>x</vssd:ElementName><vssd:InstanceID>0</vssd:InstanceID><vssd:VirtualSystemType>` + version + `</vssd:VirtualSystemType></System>
<Item><rasd:Address>0</rasd:Address><rasd:ElementName>SCSI controller 0</rasd:ElementName><rasd:InstanceID>3</rasd:InstanceID><rasd:ResourceSubType>VirtualSCSI</rasd:ResourceSubType><rasd:ResourceType>6</rasd:ResourceType></Item>
<Item><rasd:AddressOnParent>0</rasd:AddressOnParent><rasd:ElementName>Hard disk 1</rasd:ElementName><rasd:HostResource>ovf:/disk/disk1</rasd:HostResource><rasd:InstanceID>4</rasd:InstanceID><rasd:Parent>3</rasd:Parent><rasd:ResourceType>17</rasd:ResourceType></Item>
</VirtualHardwareSection></VirtualSystem></Envelope>`
}

// uploadItem adds an OVF item with the files, each in the form name=content.
func uploadItem(t *testing.T, ready vcenter.Ready, name string, files ...string) {
	t.Helper()
	addItem(t, ready, name, library.ItemTypeOVF)
	m := libraries(t, ready)
	found, err := m.FindLibraryItems(t.Context(), library.FindItem{Name: name})
	if err != nil || len(found) != 1 {
		t.Fatalf("items %v, %v; want one", found, err)
	}
	session, err := m.CreateLibraryItemUpdateSession(t.Context(), library.Session{LibraryItemID: found[0]})
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range files {
		file, content, _ := strings.Cut(f, "=")
		added, err := m.AddLibraryItemFile(t.Context(), session, library.UpdateFile{Name: file, SourceType: "PUSH", Size: int64(len(content))})
		if err != nil {
			t.Fatal(err)
		}
		u, err := url.Parse(added.UploadEndpoint.URI)
		if err != nil {
			t.Fatal(err)
		}
		param := soap.DefaultUpload
		param.ContentLength = int64(len(content))
		if err := m.Client.Upload(t.Context(), strings.NewReader(content), u, &param); err != nil {
			t.Fatal(err)
		}
	}
	if err := m.CompleteLibraryItemUpdateSession(t.Context(), session); err != nil {
		t.Fatal(err)
	}
}

func TestImages_AreNotUsableIfNoVMCanBeCreated(t *testing.T) {
	t.Parallel()
	ready := startVCenter(t)
	p, _ := startProvider(t, ready, nil)
	uploadItem(t, ready, "newest", "newest.ovf="+ovfDescriptor("vmx-21", ""), "boot.vmdk=disk")
	uploadItem(t, ready, "future", "future.ovf="+ovfDescriptor("vmx-99", ""), "boot.vmdk=disk")
	uploadItem(t, ready, "half", "half.ovf="+ovfDescriptor("vmx-19", ""))
	items, err := p.driver.Images().Items(t.Context(), "slipway")
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]string{
		"newest": "",
		"future": "the image has hardware version 99, but the hosts of this vCenter support at most 21",
		"half":   `file "boot.vmdk" of the OVF descriptor is missing in the library item`,
	} {
		i := slices.IndexFunc(items, func(i provider.LibraryItem) bool { return i.Name == name })
		_, err := p.driver.Images().DescribeItem(t.Context(), items[i])
		var notUsable *provider.NotUsableError
		if want == "" && err != nil || want != "" && (!errors.As(err, &notUsable) || !strings.Contains(err.Error(), want)) {
			t.Errorf("%s: error %v, want a NotUsableError with %q", name, err, want)
		}
	}
}

func TestImages_RequireAcceptanceOfALicenseAgreement(t *testing.T) {
	t.Parallel()
	ready := startVCenter(t)
	p, counted := startProvider(t, ready, nil)
	uploadItem(t, ready, "licensed", "licensed.ovf="+ovfDescriptor("vmx-19", `<EulaSection><Info/><License>Do not copy.</License></EulaSection>`), "boot.vmdk=disk")
	l := newLoop(t, p)
	req := newRequest("licensed", libraryImage())
	req.Image.Spec.ContentLibrary.Item = "licensed"
	refused := func() bool {
		c := meta.FindStatusCondition(req.VM.Status.Conditions, vmv1alpha1.ConditionCreated)
		return c != nil && c.Status == "False" && strings.Contains(c.Message, "set spec.acceptEULA to true")
	}
	l.until("the create is refused", refused, req)
	if n := counted.snapshot()["rest.DeployLibraryItem"]; n != 0 {
		t.Errorf("%d deployments were attempted without an acceptance", n)
	}
	req.AcceptEULA = true
	l.until("the VM runs", isRunning(req), req)
}

func TestStatus_HasTheVCenterOfTheVM(t *testing.T) {
	t.Parallel()
	ready := startVCenter(t)
	p, _ := startProvider(t, ready, nil)
	l := newLoop(t, p)
	req := newRequest("web", templateImage())
	l.until("the VM runs", isRunning(req), req)
	if got, want := req.VM.Status.VCenterInstanceUUID, admin(t, ready).ServiceContent.About.InstanceUuid; got == nil || *got != want {
		t.Errorf("status.vCenterInstanceUUID is %v, want %q", got, want)
	}
}
