// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package root_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	vmv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/vm/v1alpha1"
	"github.com/slipway-dev/slipway/test/clitest"
)

// createdManifests are what create prints for some flags.
var createdManifests = map[string]struct{ args, want string }{
	"cluster instance type": {"instancetype --name u1.small --cpu 1 --memory 2Gi", `apiVersion: instancetype.slipway.dev/v1alpha1
kind: VirtualMachineClusterInstancetype
metadata:
  name: u1.small
spec:
  cpu:
    guest: 1
  memory:
    guest: 2Gi
`},
	"namespaced instance type with a GPU": {"instancetype --namespaced --name gpu --cpu 8 --memory 32Gi --gpu name:g,devicename:grid_a100-10c", `apiVersion: instancetype.slipway.dev/v1alpha1
kind: VirtualMachineInstancetype
metadata:
  name: gpu
spec:
  cpu:
    guest: 8
  gpus:
  - deviceName: grid_a100-10c
    name: g
  memory:
    guest: 32Gi
`},
	"preference": {"preference --name linux.efi --efi --secure-boot --disk-bus virtio --cpu-topology cores", `apiVersion: instancetype.slipway.dev/v1alpha1
kind: VirtualMachineClusterPreference
metadata:
  name: linux.efi
spec:
  cpu:
    preferredCPUTopology: cores
  devices:
    preferredDiskBus: virtio
  firmware:
    preferredEfi:
      secureBoot: true
`},
	"virtual machine with references": {"vm --name web --image photon-5 --instancetype virtualmachineinstancetype/u1 --preference linux", `apiVersion: vm.slipway.dev/v1alpha1
kind: VirtualMachine
metadata:
  name: web
spec:
  image:
    name: photon-5
  instancetype:
    kind: virtualmachineinstancetype
    name: u1
  preference:
    name: linux
`},
	"virtual machine with inline size": {"vm --name db --image u --cpu 4 --memory 16Gi --network prod --cloud-init-secret s", `apiVersion: vm.slipway.dev/v1alpha1
kind: VirtualMachine
metadata:
  name: db
spec:
  bootstrap:
    cloudInit:
      rawCloudConfig:
        key: user-data
        name: s
  cpu:
    sockets: 4
  image:
    name: u
  memory:
    guest: 16Gi
  network:
    interfaces:
    - name: eth0
      network: prod
`},
	"virtual machine that infers": {"vm --name app --image clustervirtualmachineimage/u --infer-instancetype --infer-preference", `apiVersion: vm.slipway.dev/v1alpha1
kind: VirtualMachine
metadata:
  name: app
spec:
  image:
    kind: ClusterVirtualMachineImage
    name: u
  instancetype:
    inferFromVolume: image
  preference:
    inferFromVolume: image
`},
}

func TestCreate_PrintsManifests(t *testing.T) {
	for name, tc := range createdManifests {
		t.Run(name, func(t *testing.T) {
			s := &clitest.APIServer{}
			code, out, errOut := run(t, s, append([]string{"create"}, strings.Fields(tc.args)...)...)
			if diff := cmp.Diff([]any{0, tc.want, ""}, []any{code, out, errOut}); diff != "" {
				t.Error(diff)
			}
			if len(s.Requests) != 0 {
				t.Errorf("requests %q, want none: create only prints", s.Requests)
			}
		})
	}
}

func TestCreate_FindsTheKindOfTheImage(t *testing.T) {
	cluster := vmv1alpha1.ClusterVirtualMachineImage{ObjectMeta: metav1.ObjectMeta{Name: "photon-5"}}
	own := vmv1alpha1.VirtualMachineImage{ObjectMeta: metav1.ObjectMeta{Name: "photon-5", Namespace: "dev"}}
	for name, tc := range map[string]struct {
		server      *clitest.APIServer
		image, want string
	}{
		"only in the cluster":     {&clitest.APIServer{ClusterImages: []vmv1alpha1.ClusterVirtualMachineImage{cluster}}, "photon-5", "  image:\n    kind: ClusterVirtualMachineImage\n    name: photon-5\n"},
		"also in the namespace":   {&clitest.APIServer{ClusterImages: []vmv1alpha1.ClusterVirtualMachineImage{cluster}, Images: []vmv1alpha1.VirtualMachineImage{own}}, "photon-5", "  image:\n    name: photon-5\n"},
		"in neither":              {&clitest.APIServer{}, "photon-5", "  image:\n    name: photon-5\n"},
		"with a kind":             {&clitest.APIServer{ClusterImages: []vmv1alpha1.ClusterVirtualMachineImage{cluster}}, "VirtualMachineImage/photon-5", "  image:\n    kind: VirtualMachineImage\n    name: photon-5\n"},
		"in a cluster without us": {&clitest.APIServer{Absent: true}, "photon-5", "  image:\n    name: photon-5\n"},
	} {
		t.Run(name, func(t *testing.T) {
			code, out, errOut := run(t, tc.server, "create", "vm", "--name=a", "--class=c", "--image="+tc.image)
			if code != 0 || errOut != "" || !strings.Contains(out, tc.want) {
				t.Errorf("exit code %d, error %q, output without %q:\n%s", code, errOut, tc.want, out)
			}
		})
	}
}

func TestCreate_RejectsInvalidFlagsWithTheAllowedValues(t *testing.T) {
	for args, want := range map[string]string{
		"instancetype --name a --cpu 0 --memory 1Gi":                        "--cpu 0 must be at least 1",
		"instancetype --name a --cpu 1 --memory lots":                       `--memory "lots" is not a positive quantity such as 512Mi or 4Gi`,
		"instancetype --name a --cpu 1 --memory 1Gi --gpu name:x":           `--gpu "name:x" lacks devicename; required: name, devicename`,
		"instancetype --name a --cpu 1 --memory 1Gi --gpu nothing":          `--gpu "nothing": "nothing" is not key:value`,
		"preference --name a --cpu-topology round":                          `--cpu-topology "round" is not one of sockets, cores, threads, spread, any`,
		"vm --name a --image floppy/i --class c":                            `kind of image "floppy" is not supported: use VirtualMachineImage or ClusterVirtualMachineImage`,
		"vm --name a --image i":                                             "exactly one of --instancetype, --infer-instancetype, --class, or --cpu with --memory; 0 are set",
		"vm --name a --image i --class c --instancetype u":                  "exactly one of --instancetype, --infer-instancetype, --class, or --cpu with --memory; 2 are set",
		"vm --name a --image i --class c --preference p --infer-preference": "--preference and --infer-preference are mutually exclusive",
		"vm --name a --image i --cpu 1":                                     "--cpu 1 requires --memory, such as --memory 4Gi",
		"vm --name a --image i --cpu 1 --memory 300":                        "--memory 300: must be a multiple of 4Mi, from 4Mi to 24Ti",
		"vm --name a": `required flag(s) "image" not set`,
	} {
		code, out, errOut := run(t, &clitest.APIServer{}, append([]string{"create"}, strings.Fields(args)...)...)
		if code != 1 || out != "" || !strings.Contains(errOut, want) || strings.Count(errOut, "\n") != 1 {
			t.Errorf("create %s: exit code %d, output %q, error %q, want one line with %q", args, code, out, errOut, want)
		}
	}
}

func TestCreate_ManifestHasTheNamespaceOfTheFlag(t *testing.T) {
	for args, want := range map[string]bool{
		"-n story create vm --name a --image i --class c":                         true,
		"create vm --name a --image i --class c":                                  false,
		"-n story create instancetype --namespaced --name a --cpu 1 --memory 1Gi": true,
		"-n story create instancetype --name a --cpu 1 --memory 1Gi":              false,
		"-n story create preference --namespaced --name a --cpu-topology cores":   true,
	} {
		code, out, errOut := run(t, &clitest.APIServer{}, strings.Fields(args)...)
		if code != 0 || strings.Contains(out, "  namespace: story\n") != want {
			t.Errorf("%s: exit code %d, %s, namespace %t, want %t:\n%s", args, code, errOut, !want, want, out)
		}
	}
}
