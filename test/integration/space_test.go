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

	"github.com/slipway-dev/slipway/cmd/slipway-apiserver/app"
	"github.com/slipway-dev/slipway/pkg/embeddedetcd"
	"github.com/slipway-dev/slipway/test/integration/framework"
)

func TestS15FullStoreRefusesNewObjectsAndTakesUpdatesAndDeletions(t *testing.T) {
	s := framework.StartStandaloneIn(t, t.TempDir(), func(o *app.Options) { o.EtcdQuotaBytes = embeddedetcd.MinQuota })
	vms := framework.Client(t, s.ConfigFor("alice")).VmV1alpha1().VirtualMachines(namespace)
	large := map[string]string{"large": strings.Repeat("v", 200<<10)}
	var err error
	made := 0
	for ; err == nil && made < 1000; made++ {
		vm := inlineVM(fmt.Sprintf("vm-%d", made))
		vm.Annotations = large
		_, err = vms.Create(t.Context(), vm, metav1.CreateOptions{})
	}
	if status := apierrors.APIStatus(nil); !errors.As(err, &status) || status.Status().Code != 507 ||
		!strings.Contains(err.Error(), "virtualmachines.vm.slipway.dev cannot be created: the embedded etcd has room for updates and deletions only") {
		t.Fatalf("the %d. object: error %v, want a status 507 that says why", made, err)
	}
	if err := framework.Client(t, s.Config()).Discovery().RESTClient().Get().AbsPath("/readyz/etcd-space").Do(t.Context()).Error(); err == nil {
		t.Error("/readyz does not tell")
	}
	for i := range 3 {
		patch := fmt.Sprintf(`{"metadata":{"labels":{"n":"%d"}}}`, i)
		if _, err := vms.Patch(t.Context(), "vm-0", types.MergePatchType, []byte(patch), metav1.PatchOptions{}); err != nil {
			t.Errorf("an update: %v", err)
		}
	}
	if err := vms.Delete(t.Context(), "vm-1", metav1.DeleteOptions{}); err != nil {
		t.Errorf("a deletion: %v", err)
	}
}
