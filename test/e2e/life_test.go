// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"fmt"
	"strings"
	"testing"

	vimtypes "github.com/vmware/govmomi/vim25/types"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	kstatus "sigs.k8s.io/cli-utils/pkg/kstatus/status"

	"github.com/slipway-dev/slipway/test/argocd"
	"github.com/slipway-dev/slipway/test/testenv"
)

// F26 F60, and the output of kubectl.
func TestVirtualMachine_IsAppliedChangedAndDeleted(t *testing.T) {
	t.Parallel()
	u := admin(t)
	for _, api := range []string{"v1alpha1.vm.slipway.dev", "v1alpha1.instancetype.slipway.dev", "v1alpha1.cluster.slipway.dev"} {
		u.Meets("Available", "apiservice/"+api)
	}
	u.Put(testenv.Catalogue)
	u.Apply(testenv.VM("web"))
	u.is("vm/web", "new", kstatus.InProgressStatus, "")
	u.Ready("vm/web")
	u.part("as in the vCenter", func(t *testing.T, u user) {
		vm, ok := testenv.Inventory(t, u.Namespace)["web"]
		if !ok {
			t.Fatal("the VM is Ready and not in the vCenter")
		}
		if got := u.Get("vm/web", ".metadata.uid"); got != vm.Config.InstanceUuid {
			t.Errorf("instance UUID %q, want the UID of the object, %q", vm.Config.InstanceUuid, got)
		}
		if hw := vm.Config.Hardware; hw.NumCPU != 2 || hw.MemoryMB != 2048 {
			t.Errorf("the vCenter has %d vCPUs and %d MB, want 2 and 2048 of the instance type", hw.NumCPU, hw.MemoryMB)
		}
		for _, path := range []string{".status.network.primaryIP4", ".status.network.primaryIP6", ".status.nodeName", ".status.uniqueID", ".status.instancetypeRef.controllerRevisionRef.name"} {
			if u.Get("vm/web", path) == "" {
				t.Errorf("%s is empty on a Ready VM", path)
			}
		}
		u.Wants("vm/web", ".status.instancetypeRef.name", "small")
		u.Wants("vm/web", ".spec.instancetype", `{"kind":"VirtualMachineInstancetype","name":"small"}`)
	})
	u.part("as kubectl shows it", func(t *testing.T, u user) {
		testenv.Holds(t, "kubectl get vm,vmi -o wide", u.Kubectl("get", "vm,vmi", "-o", "wide"),
			"STATUS", "POWER", "TYPE", "CPU", "MEMORY", "IP", "HOST", "AGE", "PoweredOn", "small", "2Gi", "virtualmachineinstance")
		testenv.Holds(t, "kubectl explain", u.Kubectl("explain", "vm.spec.instancetype"), "inferFromVolume", "DESCRIPTION")
	})
	u.part("powered", func(t *testing.T, u user) { u.powers(t) })
	u.part("paused and deleted", func(t *testing.T, u user) {
		u.Annotate("vm/web", "vm.slipway.dev/paused=")
		u.Meets("Paused", "vm/web")
		u.is("vm/web", "paused, and matches its spec", kstatus.CurrentStatus, "")
		u.Patch("vm/web", `{"spec":{"powerState":"PoweredOff"}}`)
		u.is("vm/web", "paused before its spec was applied", kstatus.InProgressStatus, "generation")
		u.Kubectl("delete", "vm/web", "--wait=false")
		u.is("vm/web", "being deleted", kstatus.TerminatingStatus, "")
		u.Annotate("vm/web", "vm.slipway.dev/paused-")
		u.Kubectl("wait", "--for=delete", "vm/web", "--timeout=90s")
		testenv.Gone(t, u.Namespace)
	})
}

func (u user) powers(t *testing.T) {
	if out := u.Virtctl("stop", "web", "--mode", "Hard"); !strings.Contains(out, "will be powered off") {
		t.Errorf("virtctl stop printed %q", out)
	}
	u.Wants("vm/web", ".status.powerState", "PoweredOff")
	u.Wants("vmi/web", ".metadata.name", "")
	if got := testenv.Inventory(t, u.Namespace)["web"].Runtime.PowerState; got != vimtypes.VirtualMachinePowerStatePoweredOff {
		t.Errorf("the power state in vCenter is %s, want poweredOff", got)
	}
	u.is("vm/web", "stopped", kstatus.CurrentStatus, "")

	u.Patch("vm/web", `{"spec":{"powerState":"PoweredOn"}}`)
	u.Wants("vm/web", ".status.powerState", "PoweredOn")
	u.Wants("vmi/web", ".metadata.name", "web")
	u.Virtctl("suspend", "web", "--mode", "Hard")
	u.Wants("vm/web", ".status.powerState", "Suspended")
	u.Wants("vmi/web", ".metadata.name", "web")
	u.Virtctl("start", "web")
	u.Wants("vm/web", ".status.powerState", "PoweredOn")
	u.Virtctl("restart", "web")
	u.Restarted("web")
	u.Wants("vm/web", ".status.powerState", "PoweredOn")
	u.is("vm/web", "running again", kstatus.CurrentStatus, "")
	if ip := u.Get("vm/web", ".status.network.primaryIP4"); ip == "" {
		t.Error("the kstatus of a VM without an address is Current")
	}
}

// is waits until the kstatus library, which Flux and kpt use, computes the given status of an object and a message with
// the text. The health in Argo CD must agree.
func (u user) is(object, what string, want kstatus.Status, text string) {
	u.T.Helper()
	checks, err := argocd.Shipped()
	if err != nil {
		u.T.Fatal(err)
	}
	testenv.Eventually(u.T, testenv.Long, "kstatus of "+object+" that is "+what, func() error {
		is := &unstructured.Unstructured{}
		if err := is.UnmarshalJSON([]byte(u.Get(object, "@"))); err != nil {
			return err
		}
		got, err := kstatus.Compute(is)
		if err == nil {
			err = checks.Agree(is, got)
		}
		if err == nil && (got.Status != want || !strings.Contains(got.Message, text)) {
			err = fmt.Errorf("%s (%s), want %s (%s)", got.Status, got.Message, want, text)
		}
		return err
	})
}

func TestKstatus_DistinguishesProgressFromFailure(t *testing.T) {
	t.Parallel()
	u := admin(t)
	of := u.Namespace // in the names of cluster-scoped objects
	u.Put(testenv.Catalogue + testenv.InlineVM("web", "photon-5", "preference: {name: large, kind: VirtualMachinePreference}"))
	u.is("vm/web", "waiting for a preference", kstatus.InProgressStatus, "")
	u.Wants("vm/web", `.status.conditions[?(@.type=="PreferenceReady")].reason`, "NotFound")
	preference := func(vCPUs int) {
		u.Put(testenv.Manifest("instancetype", "VirtualMachinePreference", "large", fmt.Sprintf("requirements: {cpu: {guest: %d}}", vCPUs)))
	}
	preference(64)
	u.is("vm/web", "too small for its preference", kstatus.FailedStatus, "PreferenceReady is False")
	preference(1)
	u.is("vm/web", "running after all", kstatus.CurrentStatus, "")

	for object, tc := range map[string]struct {
		manifest string
		want     kstatus.Status
		text     string
	}{
		"vmimage/none":          {testenv.Manifest("vm", "VirtualMachineImage", "none", "contentLibrary: {library: slipway, item: none}"), kstatus.InProgressStatus, "has no item"},
		"cvmimage/photon-" + of: {testenv.Manifest("vm", "ClusterVirtualMachineImage", "photon-"+of, "contentLibrary: {library: slipway, item: photon-5}"), kstatus.CurrentStatus, ""},
		"contentlibrary/" + of:  {testenv.Manifest("vm", "ContentLibrary", of, "library: none"), kstatus.InProgressStatus, "none"},
		"vmsnap/none":           {testenv.Manifest("vm", "VirtualMachineSnapshot", "none", "vmName: none"), kstatus.InProgressStatus, "does not exist"},
	} {
		u.RemoveAtEnd(object)
		u.Put(tc.manifest)
		u.Wants(object, ".status.observedGeneration", "1")
		u.is(object, "reconciled", tc.want, tc.text)
	}
}

// The names are those that KubeVirt, VM Operator and Cluster API use for the same kinds, and one of Slipway alone.
func TestKinds_HaveCommonShortNames(t *testing.T) {
	t.Parallel()
	u := testenv.AsAdmin(t, testenv.Of(t).AdminKubeconfig)
	var all []string
	for resource, names := range map[string]string{
		"virtualmachines":                    "vm vms svm svms virtualmachine virtualmachines VirtualMachine",
		"virtualmachineinstances":            "vmi vmis svmi svmis virtualmachineinstance",
		"virtualmachineclasses":              "vmclass vmclasses svmclass svmclasses virtualmachineclass",
		"virtualmachinegroups":               "vmg vmgs svmg svmgs vmgroup vmgroups",
		"virtualmachineimages":               "vmimage vmimages svmimage svmimages",
		"clustervirtualmachineimages":        "cvmi cvmis scvmimage scvmimages cvmimage cvmimages clustervmimage",
		"virtualmachineimagecaches":          "vmic svmic svmics vmicache vmicaches vmimagecache",
		"virtualmachinesnapshots":            "vmsnap vmsnaps svmsnap svmsnaps vmsnapshot vmsnapshots",
		"virtualmachinepublishrequests":      "vmpub vmpubs svmpub svmpubs",
		"virtualmachinetemplates":            "vmtemplate vmtemplates svmtemplate svmtemplates",
		"contentlibraries":                   "clib clibs sclib sclibs contentlibrary",
		"vcenters":                           "vc vcs svcenter svcenters vcenter",
		"slipwayclusters":                    "slc slcs slipwaycluster",
		"zones":                              "zone szone szones",
		"virtualmachineinstancetypes":        "vminstancetype vminstancetypes vmf vmfs svmf svmfs",
		"virtualmachineclusterinstancetypes": "vmclusterinstancetype vmclusterinstancetypes vmcf vmcfs svmcf svmcfs",
		"virtualmachinepreferences":          "vmpref vmprefs vmp vmps svmp svmps",
		"virtualmachineclusterpreferences":   "vmclusterpref vmclusterprefs vmcp vmcps svmcp svmcps",
		"controllerrevisions":                "vmrev vmrevs vmrevision vmrevisions svmrev svmrevs",
		"machines":                           "ma sma", "machinesets": "ms sms", "machinedeployments": "md smd", "machinehealthchecks": "mhc mhcs smhc smhcs", "machinedrainrules": "mdr smdr", "clusters": "cl scl",
	} {
		for _, name := range strings.Fields(names) {
			all = append(all, name)
			m, err := testenv.Mapping(u.Kubeconfig, name)
			if err != nil || m.Resource.Resource != resource || !strings.HasSuffix(m.Resource.Group, ".slipway.dev") {
				t.Errorf("%s is %+v, %v; want %s", name, m, err, resource)
			}
		}
	}
	u.Kubectl("get", strings.Join(all, ","))
}
