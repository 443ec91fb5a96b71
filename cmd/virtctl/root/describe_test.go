// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package root_test

import (
	"maps"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	vmv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/vm/v1alpha1"
	"github.com/slipway-dev/slipway/test/clitest"
)

// running serves a virtual machine that runs, of an instance type that has changed since, and with
// a change that takes a restart.
func running() *clitest.APIServer {
	vm := clitest.Machine("dev", "web")
	vm.CreationTimestamp = clitest.Before(50 * time.Hour)
	vm.Spec = vmv1alpha1.VirtualMachineSpec{
		PowerState: vmv1alpha1.PoweredOn, Instancetype: &vmv1alpha1.InstancetypeMatcher{Name: "u1.small"},
		Image:   &vmv1alpha1.VirtualMachineImageRef{Kind: vmv1alpha1.ClusterImageKind, Name: "photon"},
		Network: &vmv1alpha1.VirtualMachineNetworkSpec{Interfaces: []vmv1alpha1.VirtualMachineNetworkInterface{{Name: "eth0"}}},
		Volumes: []vmv1alpha1.VirtualMachineVolume{
			{Name: "data", Disk: &vmv1alpha1.DiskVolumeSource{Capacity: ptr.To(resource.MustParse("8Gi"))}},
			{Name: "pg", PersistentVolumeClaim: &vmv1alpha1.PersistentVolumeClaimVolumeSource{ClaimName: "pg-0"}},
		},
	}
	vm.Status = vmv1alpha1.VirtualMachineStatus{
		PrintableStatus: "RestartRequired", PowerState: vmv1alpha1.PoweredOn, UniqueID: "vm-42", HardwareVersion: 21, InstanceUUID: "u-1",
		Zone: "east", NodeName: "esx-1", Resources: clitest.Sized(2, "4Gi"), DesiredResources: clitest.Sized(4, "4Gi"),
		InstancetypeRef: &vmv1alpha1.InstancetypeRef{Name: "u1.small", Kind: "virtualmachineclusterinstancetype", SourceGeneration: 1, LatestGeneration: 3, Outdated: true},
		PreferenceRef:   &vmv1alpha1.PreferenceRef{Name: "linux", Kind: "virtualmachinepreference", SourceGeneration: 2, Outdated: true},
		Conditions: []metav1.Condition{
			clitest.Condition(vmv1alpha1.ConditionReady, metav1.ConditionTrue, "Succeeded", "", time.Hour),
			clitest.Condition(vmv1alpha1.ConditionCreated, metav1.ConditionTrue, "Succeeded", "", 3*time.Minute), // found again after a restart
			clitest.Condition(vmv1alpha1.ConditionConfigurationSynced, metav1.ConditionFalse, "RestartRequired", "a power cycle is needed to change cpu.cores", time.Hour),
		},
		CreationTime:    ptr.To(clitest.Before(49 * time.Hour)),
		LastRestartTime: ptr.To(clitest.Before(2 * time.Hour)),
		Guest:           &vmv1alpha1.VirtualMachineGuestStatus{GuestFullName: "Photon OS", ToolsRunning: true, ToolsVersion: "12416", Heartbeat: "Green", BootTime: ptr.To(clitest.Before(2 * time.Hour))},
		Network: &vmv1alpha1.VirtualMachineNetworkStatus{PrimaryIP4: "192.0.2.5", HostName: "web", Interfaces: []vmv1alpha1.VirtualMachineNetworkInterfaceStatus{
			{Name: "eth0", MACAddress: "00:50:56:00:00:01", Connected: true, IPAddresses: []string{"192.0.2.5/24"}},
			{MACAddress: "02:42:00:00:00:01", IPAddresses: []string{"172.17.0.1/16"}},
		}},
		Storage: &vmv1alpha1.VirtualMachineStorageStatus{Committed: ptr.To(resource.MustParse("3Gi")), Provisioned: ptr.To(resource.MustParse("24Gi")), BootDisk: &vmv1alpha1.VirtualMachineBootDiskStatus{Capacity: ptr.To(resource.MustParse("16Gi")), Compliance: "compliant"}},
		Volumes: []vmv1alpha1.VirtualMachineVolumeStatus{
			{Name: "data", Attached: true, Capacity: ptr.To(resource.MustParse("4Gi")), StorageClass: "gold"},
			{Name: "pg", Error: "another VM has it"}, {Name: "old", Attached: true, Capacity: ptr.To(resource.MustParse("1Gi"))},
		},
		Snapshots: []vmv1alpha1.VirtualMachineSnapshotNode{
			{UniqueID: "snapshot-1", Name: "first", CreationTime: ptr.To(clitest.Before(30 * time.Hour))}, {UniqueID: "snapshot-2", Name: "second", Parent: "snapshot-1", CreationTime: ptr.To(clitest.Before(20 * time.Hour))},
		},
		CurrentSnapshot: "second",
		RestartRequired: []vmv1alpha1.RestartRequirement{{Path: "cpu.cores", Running: "1", Desired: "2"}, {Path: "cpu.hotAddEnabled", Running: "false", Desired: "true"}},
	}
	instance := vmv1alpha1.VirtualMachineInstance{Spec: vmv1alpha1.VirtualMachineInstanceSpec{
		Network: &vmv1alpha1.VirtualMachineNetworkSpec{Interfaces: []vmv1alpha1.VirtualMachineNetworkInterface{{Name: "eth0", Model: "vmxnet3"}}},
	}}
	return described(vm, []string{"second"}, map[string]any{clitest.APIPrefix + "dev/virtualmachineinstances/web": instance},
		clitest.EventOf("VirtualMachine", "web", "PoweredOn", "The virtual machine is powered on", 2*time.Hour),
		clitest.EventOf("VirtualMachineSnapshot", "second", "Ready", "vSphere has it", 20*time.Minute),
	)
}

// described serves a VM with snapshots and events, and other answers by path.
func described(vm vmv1alpha1.VirtualMachine, snapshots []string, answers map[string]any, events ...corev1.Event) *clitest.APIServer {
	s := clitest.WithEvents(events...)
	s.VMs = []vmv1alpha1.VirtualMachine{vm}
	maps.Copy(s.Answers, answers)
	list := vmv1alpha1.VirtualMachineSnapshotList{}
	for _, name := range snapshots {
		list.Items = append(list.Items, vmv1alpha1.VirtualMachineSnapshot{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: vmv1alpha1.VirtualMachineSnapshotSpec{VMName: vm.Name}})
	}
	s.Answers[clitest.APIPrefix+"dev/virtualmachinesnapshots"] = list
	return s
}

// screen returns what describe prints of web at noon.
func screen(t *testing.T, s *clitest.APIServer) string {
	t.Helper()
	code, out, errOut := clitest.RunInBubble(t.Context(), t, s, "describe", "web")
	if code != 0 || errOut != "" {
		t.Fatalf("exit code %d: %s", code, errOut)
	}
	return out
}

func TestDescribe_ShowsAVMAndItsPendingChanges(t *testing.T) {
	want := `Name:            web
Namespace:       dev
Status:          RestartRequired, PoweredOn
Ready:           True, for 60m
Instance type:   u1.small, generation 1, OUTDATED: generation 3 is available, see virtctl refresh instancetype web --dry-run
Preference:      linux (namespaced), generation 2, OUTDATED: deleted since
Size:            2 vCPU, 4Gi
Image:           photon (cluster-scoped)
Guest:           Photon OS, VMware Tools 12416 running, heartbeat Green
Address:         192.0.2.5 (web)
Zone:            east
Host:            esx-1
Storage:         3.0 GiB in use of up to 24.0 GiB
Snapshots:       2, current: second
In vSphere:      vm-42, vmx-21, instance UUID u-1
Created:         2d2h ago, 2026-04-29T10:00:00Z

WAITING FOR                 REASON            FOR   MESSAGE
ConfigurationSynced=False   RestartRequired   60m   a power cycle is needed to change cpu.cores
Restart to apply pending changes: virtctl restart web

LAST OPERATION          WHEN
restarted on request    120m ago, 2026-05-01T10:00:00Z
powered on              120m ago, 2026-05-01T10:00:00Z
snapshot second taken   20h ago, 2026-04-30T16:00:00Z
created in vSphere      2d1h ago, 2026-04-29T11:00:00Z

FIELD               DESIRED     RUNNING     STATE
powerState          PoweredOn   PoweredOn   same
vCPUs               4           2           requires a restart
memory              4Gi         4Gi         same
cpu.hotAddEnabled   true        false       requires a restart

DISK          WHAT              SIZE                ATTACHED   STORAGE CLASS   COMPLIANCE   PROBLEM
(boot disk)   of the image      16Gi                yes        -               compliant    -
data          disk              4Gi (8Gi desired)   yes        gold            -            -
pg            claim pg-0        -                   no         -               -            another VM has it
old           not in the spec   1Gi                 yes        -               -            -

INTERFACE      NETWORK     MODEL     MAC                 LINK   ADDRESSES
eth0           (default)   vmxnet3   00:50:56:00:00:01   up     192.0.2.5/24
(guest only)   -           -         02:42:00:00:00:01   down   172.17.0.1/16

EVENT       TYPE     SEEN   OF                              MESSAGE
PoweredOn   Normal   120m   -                               The virtual machine is powered on
Ready       Normal   20m    virtualmachinesnapshot/second   vSphere has it
`
	clitest.AtNoon(t, func(t *testing.T) {
		if diff := cmp.Diff(want, screen(t, running())); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
	})
}

func TestDescribe_PrintsCommandsWithTheNamespaceOfTheFlag(t *testing.T) {
	clitest.AtNoon(t, func(t *testing.T) {
		code, out, errOut := clitest.RunInBubble(t.Context(), t, running(), "describe", "web", "-n", "dev")
		for _, want := range []string{"virtctl -n dev restart web\n", "see virtctl -n dev refresh instancetype web --dry-run\n"} {
			if code != 0 || !strings.Contains(out, want) {
				t.Errorf("exit code %d, %s; want %q in\n%s", code, errOut, want, out)
			}
		}
	})
}

func TestDescribe_ReportsThatTheInstanceTypeWasRecreated(t *testing.T) {
	s := running()
	ref := s.VMs[0].Status.InstancetypeRef
	ref.LatestGeneration = ref.SourceGeneration
	clitest.AtNoon(t, func(t *testing.T) {
		const want = "u1.small, generation 1, OUTDATED: deleted and recreated since, see virtctl refresh instancetype web --dry-run\n"
		if got := screen(t, s); !strings.Contains(got, want) {
			t.Errorf("want %q in\n%s", want, got)
		}
	})
}

func TestDescribe_ShowsUnfulfilledConditions(t *testing.T) {
	vm := clitest.Machine("dev", "web")
	vm.CreationTimestamp = clitest.Before(time.Minute)
	vm.Spec.PowerState, vm.Spec.Instancetype = vmv1alpha1.PoweredOn, &vmv1alpha1.InstancetypeMatcher{Name: "u1.small"}
	vm.DeletionTimestamp, vm.Finalizers = ptr.To(clitest.Before(time.Second)), []string{"vm.slipway.dev/virtualmachine"}
	vm.Status.Resources = clitest.Sized(2, "4Gi")
	vm.Status.Conditions = []metav1.Condition{
		clitest.Condition(vmv1alpha1.ConditionReady, metav1.ConditionFalse, "WaitingForPrerequisites", "see the others", time.Minute),
		clitest.Condition(vmv1alpha1.ConditionPaused, metav1.ConditionTrue, "Paused", "an annotation", time.Minute),
		clitest.Condition(vmv1alpha1.ConditionNetworkReady, metav1.ConditionTrue, "Succeeded", "", time.Minute),
		clitest.Condition(vmv1alpha1.ConditionCreated, metav1.ConditionUnknown, "UnknownState", "vCenter does not answer", time.Minute),
		clitest.Condition(vmv1alpha1.ConditionImageReady, metav1.ConditionFalse, "NotFound", strings.Repeat("a\n", 1000), time.Minute),
	}
	s := described(vm, nil, nil)
	s.Refused = []string{"/api/v1/namespaces/dev/events"}
	want := `Name:            web
Namespace:       dev
Status:          Deleting
Ready:           False (WaitingForPrerequisites), for 60s
Instance type:   u1.small, not pinned yet
Size:            2 vCPU, 4Gi
Created:         60s ago, 2026-05-01T11:59:00Z

WAITING FOR        REASON         FOR   MESSAGE
deletion                          1s    finalizers: vm.slipway.dev/virtualmachine
Paused=True        Paused         60s   an annotation
Created=Unknown    UnknownState   60s   vCenter does not answer
ImageReady=False   NotFound       60s   ` + strings.Repeat("a; ", 132) + "a…" + `

LAST OPERATION       WHEN
deletion requested   1s ago, 2026-05-01T11:59:59Z

FIELD        DESIRED     RUNNING   STATE
powerState   PoweredOn   -         not yet
vCPUs        2           -         not yet
memory       4Gi         -         not yet

Events cannot be read: listing events: not allowed
`
	clitest.AtNoon(t, func(t *testing.T) {
		if diff := cmp.Diff(want, screen(t, s)); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
	})
}

func TestDescribe_OmitsConditionsThatRepeatASizeFailure(t *testing.T) {
	size := clitest.Condition(vmv1alpha1.ConditionInstancetypeReady, metav1.ConditionFalse, "NotFound", "no instance type u9", time.Minute)
	synchronized := clitest.Condition(vmv1alpha1.ConditionSynchronized, metav1.ConditionFalse, "NotFound", "no instance type u9", time.Minute)
	waits := clitest.Condition(vmv1alpha1.ConditionInstancetypeReady, metav1.ConditionFalse, "WaitingForPrerequisites", "", time.Minute)
	for name, tc := range map[string]struct{ all, want []metav1.Condition }{
		"with a size that failed":    {[]metav1.Condition{synchronized, size}, []metav1.Condition{size}},
		"with a size that waits":     {[]metav1.Condition{synchronized, waits}, []metav1.Condition{synchronized}},
		"when nothing else tells it": {[]metav1.Condition{synchronized}, []metav1.Condition{synchronized}},
	} {
		vm := clitest.Machine("dev", "web")
		vm.Status.Conditions = tc.all
		code, out, errOut := run(t, described(vm, nil, nil), "describe", "web")
		_, rows, _ := strings.Cut(out, "WAITING FOR")
		_, rows, _ = strings.Cut(rows, "\n")
		rows, _, _ = strings.Cut(rows, "\n\n")
		var got, want []string
		for row := range strings.Lines(rows) {
			got = append(got, strings.Fields(row)[0])
		}
		for _, c := range tc.want {
			want = append(want, c.Type+"="+string(c.Status))
		}
		if diff := cmp.Diff(want, got); code != 0 || diff != "" {
			t.Errorf("%s: exit code %d, %s (-want +got):\n%s", name, code, errOut, diff)
		}
	}
}

func TestDescribe_ShowsTheNewestEventsWithoutControlCharacters(t *testing.T) {
	const most, evil = 10, "x\x1b]0;owned\x07\u202e\ty"
	vm := running().VMs[0]
	vm.Status.Network.HostName, vm.Status.PrintableStatus, vm.Status.RestartRequired[0].Desired = evil, evil, evil
	vm.Status.Snapshots[1].Name = strings.Repeat("long", 1000)
	var events []corev1.Event
	for range most + 2 {
		events = append(events, clitest.EventOf("VirtualMachineSnapshot", evil, evil, evil, time.Hour))
	}
	clitest.AtNoon(t, func(t *testing.T) {
		out := screen(t, described(vm, []string{evil}, nil, events...))
		if i := strings.IndexAny(out, "\x1b\x07\t\u202e"); i >= 0 {
			t.Errorf("a character that steers a terminal is printed at %d", i)
		}
		if n := strings.Count(out, "virtualmachinesnapshot/x�]0;owned���y"); n != most || !strings.HasSuffix(out, "\n2 earlier: virtctl events web\n") {
			t.Errorf("%d events and no word of the others:\n%s", n, out)
		}
		if strings.Contains(out, strings.Repeat("long", 100)) {
			t.Error("the name of a snapshot is printed with all of its length")
		}
	})
}

func TestDescribe_OmitsPartsThatAreForbiddenOrBelongToOtherObjects(t *testing.T) {
	vm := clitest.Machine("dev", "web")
	vm.UID = "now"
	was, is := clitest.EventOf("VirtualMachine", "web", "WasBefore", "of another one", time.Hour), clitest.EventOf("VirtualMachine", "web", "Is", "of this one", time.Hour)
	was.InvolvedObject.UID, is.InvolvedObject.UID = "before", "now"
	s := &clitest.APIServer{VMs: []vmv1alpha1.VirtualMachine{vm}, Answers: map[string]any{"/api/v1/namespaces/dev/events": corev1.EventList{Items: []corev1.Event{was, is}}}}
	ours := clitest.APIPrefix + "dev/"
	s.Refused = []string{ours + "virtualmachineinstances/web", ours + "virtualmachinesnapshots", ours + "virtualmachinepublishrequests"}
	code, out, errOut := run(t, s, "describe", "web")
	if code != 0 || !strings.Contains(out, "of this one") || strings.Contains(out, "WasBefore") || errOut != "" {
		t.Errorf("exit code %d, %q\n%s", code, errOut, out)
	}
	if code, out, errOut = run(t, s, "describe", "db"); code != 1 || out != "" || errOut != "error: virtualmachine dev/db: not found\n" {
		t.Errorf("of one that is not there: exit code %d, %q, %q", code, out, errOut)
	}
	s.Refused = append(s.Refused, "/api/v1/namespaces/dev/events")
	if code, out, _ = run(t, s, "describe", "web"); code != 0 || !strings.HasSuffix(out, "\nEvents cannot be read: listing events: not allowed\n") {
		t.Errorf("without the right to list events: exit code %d\n%s", code, out)
	}
}
