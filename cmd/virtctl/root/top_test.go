// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package root_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	vmv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/vm/v1alpha1"
	"github.com/slipway-dev/slipway/test/clitest"
)

func quantity(text string) *resource.Quantity { return ptr.To(resource.MustParse(text)) }

// loadedVMs are virtual machines of two zones and namespaces.
func loadedVMs() []vmv1alpha1.VirtualMachine {
	web, db, fresh := clitest.Machine("dev", "web"), clitest.Machine("prod", "db"), clitest.Machine("dev", "new")
	web.Status = vmv1alpha1.VirtualMachineStatus{PowerState: vmv1alpha1.PoweredOn, Zone: "east", Resources: clitest.Sized(2, "4Gi"),
		Storage: &vmv1alpha1.VirtualMachineStorageStatus{Committed: quantity("3Gi"), Provisioned: quantity("16Gi")}}
	db.Status = vmv1alpha1.VirtualMachineStatus{PowerState: vmv1alpha1.PoweredOff, Zone: "west", Resources: clitest.Sized(8, "2Gi"),
		Storage: &vmv1alpha1.VirtualMachineStorageStatus{Committed: quantity("1Gi"), Provisioned: quantity("64Gi")}}
	fresh.Spec = vmv1alpha1.VirtualMachineSpec{CPU: &vmv1alpha1.VirtualMachineCPU{Sockets: 2, Cores: 2}, Memory: &vmv1alpha1.VirtualMachineMemory{Guest: quantity("1Gi")}}
	return []vmv1alpha1.VirtualMachine{web, db, fresh}
}

func TestTop_ShowsTheSizeOfVMs(t *testing.T) {
	s := &clitest.APIServer{VMs: loadedVMs()}
	code, out, errOut := run(t, s, "top", "vm", "-A", "--sort-by", "cpu", "--sum")
	want := `NAMESPACE   NAME   POWER        CPU   MEMORY    STORAGE   PROVISIONED
prod        db     PoweredOff   8     2.0 GiB   1.0 GiB   64.0 GiB
dev         new    -            4     1.0 GiB   -         -
dev         web    PoweredOn    2     4.0 GiB   3.0 GiB   16.0 GiB
            (3)                 14    7.0 GiB   4.0 GiB   80.0 GiB
`
	if diff := cmp.Diff(want, out); code != 0 || diff != "" {
		t.Errorf("exit code %d, %s (-want +got):\n%s", code, errOut, diff)
	}
	for by, first := range map[string]string{"name": "new", "memory": "web", "storage": "web", "provisioned": "web"} {
		if _, out, _ = run(t, s, "top", "vm", "--sort-by", by); !strings.HasPrefix(strings.Split(out, "\n")[1], first+" ") {
			t.Errorf("sorted by %s, %s is not the first:\n%s", by, first, out)
		}
	}
	if _, out, _ = run(t, s, "top", "vm", "web"); strings.Count(out, "\n") != 2 || !strings.Contains(out, "\nweb ") {
		t.Errorf("of one:\n%s", out)
	}
	if code, _, errOut = run(t, s, "top", "vm", "-l", "app=none"); code != 0 || errOut != "No virtual machines.\n" {
		t.Errorf("of none: exit code %d, %q", code, errOut)
	}
}

const usageMetrics = `# HELP slipway_virtualmachine_cpu_usage_hertz CPU that a virtual machine uses.
# TYPE slipway_virtualmachine_cpu_usage_hertz gauge
slipway_virtualmachine_cpu_usage_hertz{name="web",namespace="dev"} 1.5e+09
# TYPE slipway_virtualmachine_memory_active_bytes gauge
slipway_virtualmachine_memory_active_bytes{name="web",namespace="dev"} 1.073741824e+09
slipway_virtualmachine_memory_active_bytes{name="db",namespace="prod"} 2.147483648e+09
# TYPE slipway_virtualmachine_memory_host_bytes gauge
slipway_virtualmachine_memory_host_bytes{name="web",namespace="dev"} 3.221225472e+09
`

func TestTop_ShowsTheUseOfVMsFromMetrics(t *testing.T) {
	s := &clitest.APIServer{VMs: loadedVMs()[:2]}
	code, out, errOut := runAs(t, "virtctl", usageMetrics, s, "top", "vm", "-A", "--metrics", "-", "--sort-by", "memory-used", "--sum")
	want := `NAMESPACE   NAME   POWER        CPU   MEMORY    STORAGE   PROVISIONED   CPU USED   MEMORY ACTIVE   HOST MEMORY
prod        db     PoweredOff   8     2.0 GiB   1.0 GiB   64.0 GiB      -          2.0 GiB         -
dev         web    PoweredOn    2     4.0 GiB   3.0 GiB   16.0 GiB      1500 MHz   1.0 GiB         3.0 GiB
            (2)                 10    6.0 GiB   4.0 GiB   80.0 GiB      1500 MHz   3.0 GiB         3.0 GiB
`
	if diff := cmp.Diff(want, out); code != 0 || diff != "" || errOut != "" {
		t.Errorf("exit code %d, %s (-want +got):\n%s", code, errOut, diff)
	}
	_, _, errOut = runAs(t, "virtctl", "up 1\n", s, "top", "vm", "-A", "--metrics", "-")
	if !strings.HasPrefix(errOut, "warning: --metrics - has no usage metrics") {
		t.Errorf("of metrics without use: %q", errOut)
	}
	if code, _, errOut = runAs(t, "virtctl", "<html>", s, "top", "vm", "-A", "--metrics", "-"); code != 1 || !strings.HasPrefix(errOut, "error: --metrics -: not in the text format of Prometheus") {
		t.Errorf("of what are no metrics: exit code %d, %q", code, errOut)
	}
}

func TestTop_RejectsInvalidFlags(t *testing.T) {
	for want, args := range map[string][]string{
		`--sort-by "size" is not supported: use one of cpu, cpu-used, memory,`:    {"top", "vm", "--sort-by", "size"},
		`--sort-by "vms" is not supported: use one of cpu, memory, name, storage`: {"top", "zone", "--sort-by", "vms"},
		"--sort-by cpu-used requires --metrics":                                   {"top", "vm", "--sort-by", "cpu-used"},
		"names and --selector are mutually exclusive":                             {"top", "vm", "web", "-l", "app=web"},
		"--all-namespaces cannot be combined with names":                          {"top", "vm", "web", "-A"},
		"zone north: not found":                                                   {"top", "zone", "north"},
		"virtualmachine dev/web: not found":                                       {"top", "vm", "web"},
	} {
		if code, out, errOut := run(t, &clitest.APIServer{}, args...); code != 1 || out != "" || !strings.Contains(errOut, want) {
			t.Errorf("%v: exit code %d, %q; want %q", args, code, errOut, want)
		}
	}
}

func TestTop_ShowsTheUseOfZones(t *testing.T) {
	zone := func(name string, free *vmv1alpha1.ZoneResources) vmv1alpha1.Zone {
		z := vmv1alpha1.Zone{ObjectMeta: metav1.ObjectMeta{Name: name}, Status: vmv1alpha1.ZoneStatus{Hosts: 3, VirtualMachines: 1, Free: free,
			Conditions: []metav1.Condition{clitest.Condition(vmv1alpha1.ConditionReady, metav1.ConditionTrue, "Succeeded", "", 0)}}}
		if free != nil {
			z.Status.Capacity = &vmv1alpha1.ZoneResources{CPU: quantity("20G"), Memory: quantity("64Gi"), Storage: quantity("1Ti")}
		}
		return z
	}
	s := &clitest.APIServer{VMs: loadedVMs(), Zones: []vmv1alpha1.Zone{
		zone("away", nil),
		zone("east", &vmv1alpha1.ZoneResources{CPU: quantity("15G"), Memory: quantity("48Gi"), Storage: quantity("1Ti")}),
		zone("west", &vmv1alpha1.ZoneResources{CPU: quantity("18G"), Memory: quantity("8Gi"), Storage: quantity("512Gi")}),
	}}
	s.Zones[0].Status.Conditions[0].Status, s.Zones[0].Status.Conditions[0].Reason = metav1.ConditionFalse, "Unreachable"
	code, out, errOut := run(t, s, "top", "zone", "--sort-by", "memory")
	want := `NAME   VCENTER   READY         HOSTS   CPU IN USE                  MEMORY IN USE                STORAGE IN USE               VMS   VCPUS   VM MEMORY   VM STORAGE
west   default   True          3       2.0 GHz of 20.0 GHz (10%)   56.0 GiB of 64.0 GiB (88%)   512.0 GiB of 1.0 TiB (50%)   1     0       0 B         64.0 GiB
east   default   True          3       5.0 GHz of 20.0 GHz (25%)   16.0 GiB of 64.0 GiB (25%)   0 B of 1.0 TiB (0%)          1     2       4.0 GiB     16.0 GiB
away   default   Unreachable   3       -                           -                            -                            1     0       0 B         0 B
`
	if diff := cmp.Diff(want, out); code != 0 || diff != "" {
		t.Errorf("exit code %d, %s (-want +got):\n%s", code, errOut, diff)
	}
	s.Refused = []string{"/apis/vm.slipway.dev/v1alpha1/virtualmachines"}
	if code, out, _ = run(t, s, "top", "zone", "east"); code != 0 || strings.Contains(out, "VCPUS") || !strings.Contains(out, "\neast ") || strings.Contains(out, "west") {
		t.Errorf("without the right to list virtual machines: exit code %d\n%s", code, out)
	}
}
