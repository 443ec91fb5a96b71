// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package root_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	itv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/instancetype/v1alpha1"
	"github.com/slipway-dev/slipway/pkg/apis/vm/orphans"
	vmv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/vm/v1alpha1"
	"github.com/slipway-dev/slipway/pkg/provider/vmrecord"
	"github.com/slipway-dev/slipway/test/clitest"
)

const lostUID = "6d0c1e5c-8a3f-4f0e-9b1a-1f0a2c9d7e55"

// lostVM is a VM with a record of an object that does not exist.
func lostVM(t *testing.T, name string, change func(*orphans.RecordedVM, *vmv1alpha1.VirtualMachine)) orphans.RecordedVM {
	t.Helper()
	vm := clitest.Machine("dev", name)
	vm.UID, vm.Generation = lostUID, 7
	vm.Status.Zone = "east"
	vm.Status.InstancetypeRef = &vmv1alpha1.InstancetypeRef{Name: "u1.small", ControllerRevisionRef: &vmv1alpha1.ControllerRevisionRef{Name: "r-1"}}
	k := orphans.RecordedVM{
		Orphan: orphans.Orphan{Namespace: "dev", Name: name, UID: lostUID, VCenter: "vc", UniqueID: "vm-7", VSphereName: name},
		State:  orphans.Missing, Recorded: 7, InstanceUUID: lostUID, BiosUUID: "b",
	}
	if change != nil {
		change(&k, &vm)
	}
	groups := vmrecord.Namespace{
		Group:   func(name string) *vmv1alpha1.VirtualMachineGroup { return lostGroups()[name] },
		Machine: func(string) *vmv1alpha1.VirtualMachine { return nil },
	}
	text, err := vmrecord.Text(&vm, []*itv1alpha1.ControllerRevision{{ObjectMeta: metav1.ObjectMeta{Name: "r-1"}, Data: runtime.RawExtension{Raw: []byte(`{}`)}, Revision: 3}}, groups.GroupsOf(&vm), "")
	if err != nil {
		t.Fatal(err)
	}
	if k.Record == "" {
		k.Record = text
	}
	return k
}

func TestRecover_ListsRecoverableVMs(t *testing.T) {
	s := &clitest.APIServer{Orphans: orphans.Report{VCenter: "vc", Kept: []orphans.RecordedVM{
		lostVM(t, "web", nil), lostVM(t, "db", func(k *orphans.RecordedVM, _ *vmv1alpha1.VirtualMachine) { k.State, k.Generation = orphans.Older, 5 }),
	}}}
	code, out, errOut := run(t, s, "recover", "-A")
	want := "" +
		"NAMESPACE   NAME   STATE     RECORD   OBJECT   VCENTER   VM\n" +
		"dev         web    Missing   7        none     vc        vm-7\n" +
		"dev         db     Older     7        5        vc        vm-7\n"
	if diff := cmp.Diff(want, out); code != 0 || diff != "" || len(s.Requests) != 0 {
		t.Errorf("exit code %d, %s, requests %q (-want +got):\n%s", code, errOut, s.Requests, diff)
	}
	if _, out, _ = run(t, &clitest.APIServer{Orphans: orphans.Report{VCenter: "vc"}}, "recover", "-A"); out != "Nothing to recover in vCenter vc.\n" {
		t.Errorf("without any: %q", out)
	}
	for _, args := range [][]string{{"recover", "--all", "-A"}, {"recover", "--all", "-A", "--dry-run"}} {
		if _, out, _ = run(t, &clitest.APIServer{Orphans: orphans.Report{VCenter: "vc"}}, args...); out != "Nothing to recover in vCenter vc.\n" {
			t.Errorf("%v without any: %q", args, out)
		}
	}
	if code, _, errOut = run(t, s, "recover", "web", "--all"); code == 0 || !strings.Contains(errOut, "names and --all are mutually exclusive") {
		t.Errorf("names and --all: exit code %d, %q", code, errOut)
	}
	if code, _, errOut = run(t, s, "recover", "web", "-A"); code == 0 || !strings.Contains(errOut, "--all-namespaces") {
		t.Errorf("names in all namespaces: exit code %d, %q", code, errOut)
	}
}

func TestRecover_CreatesVMsAfterTheirPinnedRevisions(t *testing.T) {
	s := &clitest.APIServer{Orphans: orphans.Report{VCenter: "vc", Kept: []orphans.RecordedVM{lostVM(t, "db", nil), lostVM(t, "web", nil)}}}
	code, out, errOut := run(t, s, "recover", "--all", "-A", "--dry-run")
	if want := "virtualmachine dev/db created (server dry run)\nvirtualmachine dev/web created (server dry run)\n"; code != 0 || out != want {
		t.Fatalf("exit code %d, %s\n%s", code, out, errOut)
	}
	if len(s.Requests) != 3 {
		t.Fatalf("%d requests, want one for the revision that both have, and one for each:\n%s", len(s.Requests), strings.Join(s.Requests, "\n"))
	}
	for i, want := range [][]string{
		{"/controllerrevisions?dryRun=All", `"name":"r-1"`, itv1alpha1.AnnotationRecovered, `"revision":3`},
		{"/namespaces/dev/virtualmachines?dryRun=All", `"name":"db"`, `"generation":7`, `"vm.slipway.dev.protected/recovered":"` + lostUID + `"`, `"zone":"east"`, `"uniqueID":"vm-7"`, `"biosUUID":"b"`, `"instanceUUID":"` + lostUID},
		{"/namespaces/dev/virtualmachines?dryRun=All", `"name":"web"`},
	} {
		for _, text := range want {
			if !strings.Contains(s.Requests[i], text) {
				t.Errorf("request %d has no %s:\n%s", i, text, s.Requests[i])
			}
		}
	}
	s.Requests = nil
	if code, out, errOut = run(t, s, "recover", "-n", "dev", "web"); code != 0 || !strings.Contains(out, "virtualmachine dev/web created\n") {
		t.Errorf("by name: exit code %d, %s%s", code, out, errOut)
	}
}

// lostGroups are shop, which has db and web, and site, which shop is in.
func lostGroups() map[string]*vmv1alpha1.VirtualMachineGroup {
	named := func(name, above string, members ...vmv1alpha1.VirtualMachineGroupMember) *vmv1alpha1.VirtualMachineGroup {
		return &vmv1alpha1.VirtualMachineGroup{
			ObjectMeta: metav1.ObjectMeta{Namespace: "dev", Name: name, UID: "g", Labels: map[string]string{"tier": name}},
			Spec:       vmv1alpha1.VirtualMachineGroupSpec{GroupName: above, BootOrder: []vmv1alpha1.VirtualMachineGroupStep{{Members: members, PowerOnDelaySeconds: 5}}},
		}
	}
	return map[string]*vmv1alpha1.VirtualMachineGroup{
		"shop": named("shop", "site", vmv1alpha1.VirtualMachineGroupMember{Name: "web"}, vmv1alpha1.VirtualMachineGroupMember{Name: "db"}),
		"site": named("site", "", vmv1alpha1.VirtualMachineGroupMember{Kind: vmv1alpha1.GroupMemberKind, Name: "shop"}),
	}
}

func TestRecover_CreatesGroupsBeforeTheirVMs(t *testing.T) {
	grouped := func(_ *orphans.RecordedVM, vm *vmv1alpha1.VirtualMachine) { vm.Spec.GroupName = "shop" }
	report := orphans.Report{VCenter: "vc", Kept: []orphans.RecordedVM{lostVM(t, "db", grouped), lostVM(t, "web", grouped)}}
	s := &clitest.APIServer{Orphans: report}
	code, out, errOut := run(t, s, "recover", "--all", "-A")
	want := "virtualmachinegroup dev/shop created\nvirtualmachinegroup dev/site created\nvirtualmachine dev/db created\nvirtualmachine dev/web created\n"
	if code != 0 || out != want {
		t.Fatalf("exit code %d, %s\n%s", code, out, errOut)
	}
	for i, want := range [][]string{
		{"/controllerrevisions"},
		{"/namespaces/dev/virtualmachinegroups", `"name":"shop"`, `"groupName":"site"`, `"powerOnDelaySeconds":5`, `"tier":"shop"`, `"name":"web"},{`},
		{"/namespaces/dev/virtualmachinegroups", `"name":"site"`, `"name":"shop"`},
		{"/namespaces/dev/virtualmachines", `"name":"db"`},
		{"/namespaces/dev/virtualmachines", `"name":"web"`},
	} {
		for _, text := range want {
			if !strings.Contains(s.Requests[i], text) {
				t.Errorf("request %d has no %s:\n%s", i, text, s.Requests[i])
			}
		}
	}
	if code, out, errOut = run(t, &clitest.APIServer{Orphans: report, Refuse: "virtualmachinegroups"}, "recover", "--all", "-A"); code == 0 || strings.Contains(out, "dev/db") ||
		!strings.Contains(errOut, "recreating VirtualMachineGroup shop: ") {
		t.Errorf("without its group: exit code %d, %s%s; want no virtual machine, which would be listed no more", code, out, errOut)
	}
}

func TestRecover_RejectsVMsOfUncertainIdentity(t *testing.T) {
	for name, tc := range map[string]struct {
		kept []orphans.RecordedVM
		says string
	}{
		"a copy":                 {[]orphans.RecordedVM{lostVM(t, "web", func(k *orphans.RecordedVM, _ *vmv1alpha1.VirtualMachine) { k.InstanceUUID = "x" })}, "the VM is a copy: its instance UUID is x"},
		"two of a name":          {[]orphans.RecordedVM{lostVM(t, "web", nil), lostVM(t, "web", func(k *orphans.RecordedVM, _ *vmv1alpha1.VirtualMachine) { k.UniqueID = "vm-8" })}, "2 VMs claim to be this virtual machine, vm-7 in vc, vm-8 in vc"},
		"another's record":       {[]orphans.RecordedVM{lostVM(t, "web", func(_ *orphans.RecordedVM, vm *vmv1alpha1.VirtualMachine) { vm.Namespace = "prod" })}, "its record belongs to prod/web"},
		"a record of another ID": {[]orphans.RecordedVM{lostVM(t, "web", func(_ *orphans.RecordedVM, vm *vmv1alpha1.VirtualMachine) { vm.UID = "other" })}, "with UID other"},
		"something else":         {[]orphans.RecordedVM{lostVM(t, "web", func(k *orphans.RecordedVM, _ *vmv1alpha1.VirtualMachine) { k.Record = "%" })}, "not valid base64"},
		"another object":         {[]orphans.RecordedVM{lostVM(t, "web", func(k *orphans.RecordedVM, _ *vmv1alpha1.VirtualMachine) { k.State = orphans.NameTaken })}, "another object has this name"},
	} {
		s := &clitest.APIServer{Orphans: orphans.Report{VCenter: "vc", Kept: tc.kept}}
		code, out, errOut := run(t, s, "recover", "--all", "-A")
		if code == 0 || !strings.Contains(errOut, tc.says) || len(s.Requests) != 0 {
			t.Errorf("%s: exit code %d, %s%s, requests %q; want it refused: %s", name, code, out, errOut, s.Requests, tc.says)
		}
	}
	// With a copy present, the original is recreated.
	s := &clitest.APIServer{Orphans: orphans.Report{VCenter: "vc", Kept: []orphans.RecordedVM{
		lostVM(t, "web", nil), lostVM(t, "web", func(k *orphans.RecordedVM, _ *vmv1alpha1.VirtualMachine) { k.InstanceUUID, k.UniqueID = "x", "vm-8" }),
	}}}
	if _, out, errOut := run(t, s, "recover", "--all", "-A"); !strings.Contains(out, "virtualmachine dev/web created") || !strings.Contains(errOut, "vm-8") {
		t.Errorf("with a copy: %s%s", out, errOut)
	}
}

func TestRecover_FailsIfNoVMHasARecord(t *testing.T) {
	code, _, errOut := run(t, &clitest.APIServer{Orphans: orphans.Report{VCenter: "vc"}}, "recover", "-n", "dev", "web")
	if code == 0 || !strings.Contains(errOut, "virtualmachine dev/web: nothing to recover: no vSphere VM claims to be this virtual machine") {
		t.Errorf("exit code %d, %q", code, errOut)
	}
}
