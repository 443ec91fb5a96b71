// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package integration

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/slipway-dev/slipway/test/integration/framework"
)

func TestLimits_RejectUnboundedValuesWithTheField(t *testing.T) {
	client := restClient(t, framework.StartStandalone(t).Config())
	const size = "cpu: {sockets: 1}, memory: {guest: 1Gi}"
	vm := func(spec string) string { return manifest("VirtualMachine", "v", "{"+size+", "+spec+"}") }
	many := func(n int, item string) string { return "[" + strings.Repeat(item+",", n) + "]" }

	for name, tc := range map[string]struct {
		path, body, field string
	}{
		"S1 zero time":                  {machinesPath, vm(`nextRestartTime: "0001-01-01T00:00:00Z"`), "spec.nextRestartTime"},
		"S2 escape in a device":         {machinesPath, vm(`devices: {gpus: [{name: g, deviceName: "grid\u001bx"}]}`), "spec.devices.gpus[0].deviceName"},
		"S2 escape in a property":       {machinesPath, vm(`bootstrap: {vAppConfig: {properties: {a: "x\u001by"}}}`), "spec.bootstrap.vAppConfig.properties[a]"},
		"S2 escape in an instance type": {instancetypePath, manifest("VirtualMachineClusterInstancetype", "i", `{cpu: {guest: 1}, memory: {guest: 1Gi}, gpus: [{name: g, deviceName: "x\u001b]0;x\u0007"}]}`), "spec.gpus[0].deviceName"},
		"S3 long network":               {machinesPath, vm("network: {interfaces: [{name: a, network: " + strings.Repeat("n", 100_000) + "}]}"), "spec.network.interfaces[0].network"},
		"S3 long library":               {imagesPath, manifest("VirtualMachineImage", "i", "{contentLibrary: {item: a, library: "+strings.Repeat("n", 100_000)+"}}"), "spec.contentLibrary.library"},
		"S4 20,000 volumes":             {machinesPath, vm("volumes: " + many(20_000, "{name: A}")), "spec.volumes"},
		"S4 20,000 addresses":           {machinesPath, vm("network: {interfaces: [{name: a, addresses: " + many(20_000, "x") + "}]}"), "spec.network.interfaces[0].addresses"},
	} {
		t.Run(name, func(t *testing.T) {
			err := postYAML(t, client, tc.path, tc.body)
			var status apierrors.APIStatus
			if !apierrors.IsInvalid(err) || !errors.As(err, &status) {
				t.Fatalf("answer %.200v, want 422 Invalid", err)
			}
			causes := status.Status().Details.Causes
			if len(causes) != 1 || causes[0].Field != tc.field {
				t.Errorf("causes %.300v, want one about %s", causes, tc.field)
			}
			if n := len(err.Error()); n > 2000 {
				t.Errorf("the answer has %d characters", n)
			}
		})
	}
}

func TestLimits_RejectObjectsAboveOneMebibyte(t *testing.T) {
	client := framework.StartStandalone(t).Client(t).VmV1alpha1().VirtualMachines(namespace)
	large := inlineVM("large")
	large.Spec.CPU.Model = strings.Repeat("x", 2_200_000)
	_, err := client.Create(t.Context(), large, metav1.CreateOptions{})
	wantTooLarge(t, "create", err)

	stored, err := client.Create(t.Context(), inlineVM("small"), metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	stored.Spec.CPU.Model = strings.Repeat("x", 1<<20)
	_, err = client.Update(t.Context(), stored, metav1.UpdateOptions{})
	wantTooLarge(t, "update", err)
	patch := fmt.Sprintf(`{"spec":{"cpu":{"model":%q}}}`, stored.Spec.CPU.Model)
	_, err = client.Patch(t.Context(), "small", types.MergePatchType, []byte(patch), metav1.PatchOptions{})
	wantTooLarge(t, "patch", err)
}

func wantTooLarge(t *testing.T, what string, err error) {
	t.Helper()
	if !apierrors.IsRequestEntityTooLargeError(err) || !strings.Contains(err.Error(), "the maximum is 1048576") {
		t.Errorf("%s: answer %.300v, want 413 that names the bound", what, err)
	}
}
