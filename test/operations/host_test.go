// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package operations

import (
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	vmv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/vm/v1alpha1"
	"github.com/slipway-dev/slipway/pkg/generated/clientset/versioned"
	"github.com/slipway-dev/slipway/test/localcluster/process"
	"github.com/slipway-dev/slipway/test/testenv"
)

// The management cluster does not answer. Requests that need a quota decision are refused with the reason, and all
// others succeed.
func TestManagementCluster_UnreachableRejectsOnlyRequestsThatItDecides(t *testing.T) {
	u, free := admin(t), admin(t)
	u.Apply(testenv.Catalogue + testenv.VM("web"))
	u.Kubectl("wait", "--for=condition=Ready", "vm/web", "--timeout=90s")
	u.Apply("apiVersion: v1\nkind: ResourceQuota\nmetadata: {name: team}\nspec: {hard: {vm.slipway.dev/vcpus: \"6\"}}\n")
	// kube-controller-manager reads the API every 30 seconds.
	testenv.Eventually(t, 5*time.Minute, "the quota is counted, and the server has received it", func() error {
		_, errOut, err := u.Try(testenv.VMWith("probe", "powerState: PoweredOff", "cpu: {sockets: 64}", "memory: {guest: 1Gi}"), "kubectl", "create", "--dry-run=server", "-f", "-")
		if err == nil || !strings.Contains(errOut, "exceeded quota: team") {
			return fmt.Errorf("64 vCPUs are answered with %v %s", err, errOut)
		}
		return nil
	})
	config, err := testenv.Of(t).DirectConfig("direct-admin", "system:masters")
	if err != nil {
		t.Fatal(err)
	}
	config.Timeout = testenv.Long
	client, err := versioned.NewForConfig(config)
	if err != nil {
		t.Fatal(err)
	}
	vms := client.VmV1alpha1().VirtualMachines(u.Namespace)
	if _, err := client.VmV1alpha1().VirtualMachines(free.Namespace).Create(t.Context(), oneVCPU("before"), metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}

	pid := testenv.Of(t).PID("kube-apiserver")
	if err := process.Freeze(pid); err != nil {
		t.Fatal(err)
	}
	goOn := sync.OnceFunc(func() { _ = process.Thaw(pid) })
	t.Cleanup(goOn)
	// The client would wait for Retry-After and repeat the request.
	err = client.VmV1alpha1().RESTClient().Post().Namespace(u.Namespace).Resource("virtualmachines").Body(oneVCPU("charged")).MaxRetries(0).Do(t.Context()).Error()
	if want := "cannot charge the ResourceQuotas of namespace " + u.Namespace + ": it timed out"; !apierrors.IsServiceUnavailable(err) || !strings.Contains(err.Error(), want) {
		t.Errorf("creating a VM that cannot be charged: %v, want status 503 with %q", err, want)
	}
	if _, again := apierrors.SuggestsClientDelay(err); !again {
		t.Errorf("the answer %v has no Retry-After", err)
	}
	if _, err := client.VmV1alpha1().VirtualMachines(free.Namespace).Create(t.Context(), oneVCPU("free"), metav1.CreateOptions{}); err != nil {
		t.Errorf("creating in a namespace without quota: %v", err)
	}
	if _, err := vms.Patch(t.Context(), "web", types.MergePatchType, []byte(`{"metadata":{"labels":{"a":"b"}}}`), metav1.PatchOptions{}); err != nil {
		t.Errorf("labelling a VM in a namespace with quota: %v", err)
	}
	if _, err := vms.Patch(t.Context(), "web", types.MergePatchType, []byte(`{"status":{"printableStatus":"Seen"}}`), metav1.PatchOptions{}, "status"); err != nil {
		t.Errorf("writing status in a namespace with quota: %v", err)
	}
	goOn()
	testenv.Eventually(t, testenv.Long, "a VM can be charged again", func() error {
		_, err := vms.Create(t.Context(), oneVCPU("charged"), metav1.CreateOptions{})
		return err
	})
	u.Wants("resourcequota/team", `.status.used.vm\.slipway\.dev/vcpus`, "3")
}

// oneVCPU is a powered-off VM.
func oneVCPU(name string) *vmv1alpha1.VirtualMachine {
	memory := resource.MustParse("1Gi")
	return &vmv1alpha1.VirtualMachine{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec: vmv1alpha1.VirtualMachineSpec{
			Image: &vmv1alpha1.VirtualMachineImageRef{Name: "photon-5"}, PowerState: vmv1alpha1.PoweredOff,
			CPU: &vmv1alpha1.VirtualMachineCPU{Sockets: 1}, Memory: &vmv1alpha1.VirtualMachineMemory{Guest: &memory},
		},
	}
}
