// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package root_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/vmware/govmomi/find"
	"github.com/vmware/govmomi/vim25/types"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	vmv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/vm/v1alpha1"
	"github.com/slipway-dev/slipway/test/clitest"
	"github.com/slipway-dev/slipway/test/vcenter"
	"github.com/slipway-dev/slipway/test/vsphereclient"
)

func TestAdopt_PrintsComparesAndAdopts(t *testing.T) {
	vc := clitest.UseVCenter(t)
	s := &clitest.APIServer{UniqueIDs: map[string]string{}}
	made := foreignVMs(t, vc, "web", "slow", "forbidden", "vCLS-1")
	for id, ref := range made {
		s.UniqueIDs[id] = ref
	}
	const folder = "/DC0/vm/slipway/old"

	code, out, errOut := run(t, s, "adopt", folder+"/web")
	for _, want := range []string{"# " + folder + "/web\n", "# - interface eth0 stays on its network /DC0/network/", "kind: VirtualMachine", "  name: web\n", "  namespace: dev\n", "  powerState: PoweredOff\n"} {
		if code != 0 || !strings.Contains(out, want) {
			t.Errorf("exit code %d, %s; want %q in\n%s", code, errOut, want, out)
		}
	}
	if len(s.Requests) > 0 {
		t.Errorf("requests %q, want none that changes something", s.Requests)
	}

	code, out, errOut = run(t, s, "adopt", "--folder", folder, "--dry-run")
	want := "" +
		"VM                               NAME        ZONE   POWER        CHANGES\n" +
		"/DC0/vm/slipway/old/forbidden   forbidden          PoweredOff   refused: only privileged users may set spec.instanceUUID\n" +
		"/DC0/vm/slipway/old/slow        slow               PoweredOff   none\n" +
		"/DC0/vm/slipway/old/web         web                PoweredOff   none\n"
	if diff := cmp.Diff(strings.Fields(want), strings.Fields(out)); code != 1 || diff != "" || !strings.Contains(errOut, "skipped "+folder+"/vCLS-1: it is a system VM") {
		t.Errorf("exit code %d, %s (-want +got):\n%s", code, errOut, diff)
	}
	if len(s.VMs) > 0 {
		t.Errorf("the dry run has made %v", s.VMs)
	}

	code, out, errOut = run(t, s, "adopt", "--folder", folder, "--apply", "--timeout", "5s")
	if code != 3 || out != folder+"/slow: Created is False: Error the folder\n"+folder+"/web is adopted as VirtualMachine dev/web\n" {
		t.Errorf("exit code %d, %s", code, out)
	}
	for _, want := range []string{
		"error: " + folder + "/forbidden: only privileged users", "error: " + folder + "/slow: not adopted yet: Created is False: Error the folder",
		"1 of 3 virtual machines are not adopted",
	} {
		if !strings.Contains(errOut, want) {
			t.Errorf("%s\nwant %q", errOut, want)
		}
	}
	// The same again goes on with the same objects.
	if _, out, errOut = run(t, s, "adopt", folder+"/web", "--apply"); out != folder+"/web is adopted as VirtualMachine dev/web\n" || len(s.VMs) != 2 {
		t.Errorf("once more: %s%s, %d objects", out, errOut, len(s.VMs))
	}
	for i := range s.VMs {
		s.VMs[i].Spec.InstanceUUID = "another"
	}
	if _, out, _ = run(t, s, "adopt", folder+"/web"); !strings.Contains(out, "# - other VMs would also be named web\n") {
		t.Errorf("with another object of that name:\n%s", out)
	}
}

func TestAdopt_PrintsTheRecoverCommandForAnOrphan(t *testing.T) {
	vc := clitest.UseVCenter(t)
	foreignVMs(t, vc, "one")
	client, err := vsphereclient.Login(t.Context(), vc.Ready().URL, vc.Ready().CAFile, vcenter.DefaultUsername, vcenter.DefaultPassword)
	if err != nil {
		t.Fatal(err)
	}
	vm, err := find.NewFinder(client.Client).VirtualMachine(t.Context(), "/DC0/vm/slipway/old/one")
	if err != nil {
		t.Fatal(err)
	}
	task, err := vm.Reconfigure(t.Context(), types.VirtualMachineConfigSpec{ExtraConfig: []types.BaseOptionValue{&types.OptionValue{Key: "slipway.vm", Value: "dev/one/0b1c"}}})
	if err == nil {
		err = task.Wait(t.Context())
	}
	if err != nil {
		t.Fatal(err)
	}
	const orphan = "it belongs to VirtualMachine dev/one, which does not exist: recreate the object with virtctl recover -n dev one"
	if code, _, errOut := run(t, &clitest.APIServer{}, "adopt", "/DC0/vm/slipway/old/one"); code != 1 || !strings.Contains(errOut, orphan) {
		t.Errorf("exit code %d, %s; want %q", code, errOut, orphan)
	}
	s := &clitest.APIServer{VMs: []vmv1alpha1.VirtualMachine{{ObjectMeta: metav1.ObjectMeta{Namespace: "dev", Name: "one"}}}}
	if _, _, errOut := run(t, s, "adopt", "/DC0/vm/slipway/old/one"); !strings.Contains(errOut, "it already belongs to VirtualMachine dev/one") {
		t.Errorf("of an object that exists: %s", errOut)
	}
}

func TestAdopt_RejectsInvalidArguments(t *testing.T) {
	vc := clitest.UseVCenter(t)
	foreignVMs(t, vc, "vCLS-1")
	other := vmv1alpha1.VCenter{ObjectMeta: metav1.ObjectMeta{Name: "west"}}
	for name, tc := range map[string]struct {
		args     []string
		vcenters []vmv1alpha1.VCenter
		want     string
	}{
		"nothing named":       {nil, nil, "no virtual machine specified: give one or more inventory paths, or use --folder"},
		"both":                {[]string{"web", "--apply", "--dry-run"}, nil, "--apply and --dry-run are mutually exclusive"},
		"no such VM":          {[]string{"/DC0/vm/none"}, nil, `finding "/DC0/vm/none": not found, or not visible to the account`},
		"no such folder":      {[]string{"--folder", "/DC0/vm/none"}, nil, `--folder "/DC0/vm/none": not found, or not visible to the account`},
		"another vCenter":     {[]string{"/DC0/vm/slipway/old/*"}, []vmv1alpha1.VCenter{other}, "is not managed by Slipway (known: west)"},
		"nothing to take":     {[]string{"/DC0/vm/slipway/old/*"}, nil, "skipped /DC0/vm/slipway/old/vCLS-1: it is a system VM of vSphere Cluster Services"},
		"a password is wrong": {[]string{"web", "--vcenter-username", "unknown"}, nil, "logging in to vCenter"},
	} {
		t.Run(name, func(t *testing.T) {
			code, out, errOut := run(t, &clitest.APIServer{Vcenters: tc.vcenters}, append([]string{"adopt"}, tc.args...)...)
			if code != 1 || !strings.Contains(errOut, tc.want) || strings.Contains(errOut, vcenter.DefaultPassword) {
				t.Errorf("exit code %d, %s%s; want %q", code, out, errOut, tc.want)
			}
		})
	}
}
