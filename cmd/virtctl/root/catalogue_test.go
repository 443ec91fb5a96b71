// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package root_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/slipway-dev/slipway/test/clitest"
)

const kubevirtCatalogue = `apiVersion: instancetype.kubevirt.io/v1beta1
kind: VirtualMachineClusterInstancetype
metadata:
  name: cx1.large
  labels: {instancetype.kubevirt.io/vendor: kubevirt.io}
  uid: 1234
spec:
  cpu: {guest: 2, dedicatedCPUPlacement: true, isolateEmulatorThread: true}
  memory: {guest: 4Gi}
---
apiVersion: v1
kind: List
items:
- apiVersion: instancetype.kubevirt.io/v1beta1
  kind: VirtualMachinePreference
  metadata: {name: fedora}
  spec: {firmware: {preferredEfi: {secureBoot: true}}, madeUp: 1}
- apiVersion: v1
  kind: ConfigMap
  metadata: {name: other}
- apiVersion: instancetype.kubevirt.io/v1beta1
  kind: VirtualMachineClusterInstancetype
  metadata: {name: gn1}
  spec: {cpu: {guest: 4}, memory: {guest: 16Gi}, gpus: [{name: gpu1, deviceName: nvidia.com/A400}], nodeSelector: {gpu: "yes"}}
`

func TestImport_ConvertsACatalogueAndReportsEachObject(t *testing.T) {
	file := filepath.Join(t.TempDir(), "catalogue.yaml")
	if err := os.WriteFile(file, []byte(kubevirtCatalogue), 0o600); err != nil {
		t.Fatal(err)
	}
	code, out, errOut := run(t, &clitest.APIServer{}, "import", "-f", file)
	wantOut := `apiVersion: instancetype.slipway.dev/v1alpha1
kind: VirtualMachineClusterInstancetype
metadata:
  labels:
    instancetype.kubevirt.io/vendor: kubevirt.io
  name: cx1.large
spec:
  cpu:
    dedicatedCPUPlacement: true
    guest: 2
    isolateEmulatorThread: true
  memory:
    guest: 4Gi
---
apiVersion: instancetype.slipway.dev/v1alpha1
kind: VirtualMachinePreference
metadata:
  name: fedora
spec:
  firmware:
    preferredEfi:
      secureBoot: true
---
apiVersion: instancetype.slipway.dev/v1alpha1
kind: VirtualMachineClusterInstancetype
metadata:
  name: gn1
spec:
  cpu:
    guest: 4
  gpus:
  - deviceName: nvidia.com/A400
    name: gpu1
  memory:
    guest: 16Gi
  nodeSelector:
    gpu: "yes"
`
	wantErr := `VirtualMachineClusterInstancetype/cx1.large: spec.cpu.isolateEmulatorThread: has no effect on vSphere; the value is stored but not applied
VirtualMachinePreference/fedora: dropped: unknown field "spec.madeUp"
ConfigMap/other: skipped, apiVersion "v1" is not of group instancetype.kubevirt.io
VirtualMachineClusterInstancetype/gn1: spec.nodeSelector: vSphere chooses the host; the value is stored but not applied
VirtualMachineClusterInstancetype/gn1: spec.gpus[0].deviceName: nvidia.com/A400 is not a vSphere device, and virtual machines with it are rejected; use a vGPU profile, for example grid_a100-10c, or vendor:device in hexadecimal, for example 10de:2231
`
	if diff := cmp.Diff([]any{0, wantOut, wantErr}, []any{code, out, errOut}); diff != "" {
		t.Error(diff)
	}
}

func TestImport_SkipsObjectsThatTheServerRejects(t *testing.T) {
	const catalogue = `apiVersion: instancetype.kubevirt.io/v1beta1
kind: VirtualMachineClusterPreference
metadata: {name: bad}
spec: {devices: {preferredInterfaceModel: token-ring}}
---
apiVersion: instancetype.kubevirt.io/v1beta1
kind: VirtualMachineClusterPreference
metadata: {name: igb}
spec: {devices: {preferredInterfaceModel: igb}}
---
apiVersion: instancetype.kubevirt.io/v1beta1
kind: VirtualMachineClusterInstancetype
metadata: {name: private}
spec: {cpu: {guest: 2}, memory: {guest: 2G}}
`
	code, out, errOut := runAs(t, "virtctl", catalogue, &clitest.APIServer{}, "import", "-f", "-")
	if code != 1 || strings.Contains(out, "name: bad") || !strings.Contains(out, "name: igb") || !strings.Contains(out, "name: private") {
		t.Errorf("exit code %d, output:\n%s\nwant the objects that the server accepts, and failure", code, out)
	}
	for _, want := range []string{
		`VirtualMachineClusterPreference/bad: skipped, the server would reject it: spec.devices.preferredInterfaceModel: Unsupported value: "token-ring"`,
		"VirtualMachineClusterPreference/igb: spec.devices.preferredInterfaceModel: has no effect on vSphere",
		"VirtualMachineClusterInstancetype/private: converted",
		"1 of 3 objects were skipped because the server would reject them",
	} {
		if !strings.Contains(errOut, want) {
			t.Errorf("%q is missing in %s", want, errOut)
		}
	}
}

func TestImport_RejectsUnknownKindsOfTheGroup(t *testing.T) {
	file := filepath.Join(t.TempDir(), "bad.yaml")
	if err := os.WriteFile(file, []byte("apiVersion: instancetype.kubevirt.io/v1beta1\nkind: Nonsense\nmetadata: {name: x}\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	code, out, errOut := run(t, &clitest.APIServer{}, "import", "-f", file)
	if code != 1 || out != "" || !strings.Contains(errOut, `converting Nonsense/x: kind "Nonsense" is not one of`) {
		t.Errorf("exit code %d, output %q, error %q", code, out, errOut)
	}
}

func TestImport_FailsWithoutObjects(t *testing.T) {
	code, out, errOut := runAs(t, "virtctl", "foo: bar\n", &clitest.APIServer{}, "import", "-f", "-")
	if code != 1 || out != "" || !strings.Contains(errOut, `the catalogue contains no object of group instancetype.kubevirt.io`) {
		t.Errorf("exit code %d, output %q, error %q", code, out, errOut)
	}
}
