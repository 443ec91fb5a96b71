// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package integration

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/events"
	"k8s.io/utils/ptr"

	"github.com/slipway-dev/slipway/cmd/slipway-apiserver/app"
	clusterv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/cluster/v1alpha1"
	"github.com/slipway-dev/slipway/pkg/apis/conditions"
	vmv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/vm/v1alpha1"
	"github.com/slipway-dev/slipway/pkg/cluster/contract"
	"github.com/slipway-dev/slipway/pkg/controller"
	"github.com/slipway-dev/slipway/pkg/controller/cluster/machineset"
	"github.com/slipway-dev/slipway/pkg/generated/clientset/versioned"
	vmclient "github.com/slipway-dev/slipway/pkg/generated/clientset/versioned/typed/vm/v1alpha1"
	"github.com/slipway-dev/slipway/pkg/generated/informers/externalversions"
	"github.com/slipway-dev/slipway/pkg/store/maintenance"
	"github.com/slipway-dev/slipway/test/integration/framework"
)

const (
	// victims is the number of virtual machines of another tenant.
	victims = 100
	// setsQuota is the quota of etcd. etcd updates its size when it commits. The reserve for deletions, 5 % of the
	// quota, is many times the data written between two commits.
	setsQuota = maintenance.MinQuota * 3 / 2
)

func TestStore_SetsStopAtTheReserveAndAnotherTenantCanDelete(t *testing.T) {
	fillBySet(t, framework.StartStandaloneIn(t, t.TempDir(), largeTemplates, func(o *app.Options) { o.EtcdQuotaBytes = setsQuota }))
}

// largeTemplates removes the limit on the size of templates.
func largeTemplates(o *app.Options) { o.Workloads.MaxTemplateAnnotations = 256 << 10 }

func TestMachines_OfANamespaceAreLimitedForUsersAndSets(t *testing.T) {
	s := framework.StartStandaloneIn(t, t.TempDir(), func(o *app.Options) { o.Workloads.MaxMachines = 3 })
	alice := framework.Client(t, s.ConfigFor("alice"))
	createSet(t, alice, "team-a", nil)
	ctx, cancel := context.WithCancel(t.Context())
	var running sync.WaitGroup
	defer running.Wait()
	defer cancel()
	running.Go(func() { runMachineSets(ctx, t, s.Config()) })
	message := ""
	err := wait.PollUntilContextTimeout(t.Context(), 50*time.Millisecond, time.Minute, true, func(ctx context.Context) (bool, error) {
		set, err := alice.ClusterV1alpha1().MachineSets("team-a").Get(ctx, "large", metav1.GetOptions{})
		if c := conditions.Find(set.Status.Conditions, clusterv1alpha1.ScalingUpCondition); c != nil {
			message = c.Message
		}
		return strings.Contains(message, "from 3 to 10000 replicas is blocked because") &&
			strings.Contains(message, "namespace team-a has 3 Machines; the maximum is 3 (--max-machines-per-namespace)"), err
	})
	if err != nil {
		t.Errorf("%v: ScalingUp has the message %q", err, message)
	}
	one := &clusterv1alpha1.Machine{ObjectMeta: metav1.ObjectMeta{Name: "m"}, Spec: machineSpec()}
	if _, err := alice.ClusterV1alpha1().Machines("team-a").Create(t.Context(), one, metav1.CreateOptions{}); !apierrors.IsForbidden(err) {
		t.Errorf("another Machine of a user: %v, want Forbidden", err)
	}
	if _, err := alice.ClusterV1alpha1().Machines("team-b").Create(t.Context(), one, metav1.CreateOptions{}); err != nil {
		t.Errorf("a Machine of another namespace: %v", err)
	}
}

// fillBySet fills the store of s with a MachineSet of 10,000 large Machines. The server writes the status of their VMs
// until a write is rejected. Meanwhile it deletes the objects that another tenant has created.
func fillBySet(t *testing.T, s *framework.Server) {
	t.Helper()
	const mine, others = "team-a", "team-b"
	bob := framework.Client(t, s.ConfigFor("bob")).VmV1alpha1().VirtualMachines(others)
	for i := range victims {
		vm := inlineVM(fmt.Sprintf("vm-%d", i))
		vm.Namespace = others
		if _, err := bob.Create(t.Context(), vm, metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	alice, privileged := framework.Client(t, s.ConfigFor("alice")), s.Client(t).VmV1alpha1()
	createSet(t, alice, mine, map[string]string{"large": strings.Repeat("v", 64<<10)})
	ctx, cancel := context.WithCancel(t.Context())
	var running sync.WaitGroup
	defer running.Wait()
	defer cancel()
	running.Go(func() { runMachineSets(ctx, t, s.Config()) })

	message := ""
	err := wait.PollUntilContextTimeout(t.Context(), 100*time.Millisecond, time.Minute, true, func(ctx context.Context) (bool, error) {
		set, err := alice.ClusterV1alpha1().MachineSets(mine).Get(ctx, "large", metav1.GetOptions{})
		if err != nil {
			return false, err
		}
		if c := conditions.Find(set.Status.Conditions, clusterv1alpha1.ScalingUpCondition); c != nil {
			message = c.Message
		}
		return strings.Contains(message, "is blocked because") && strings.Contains(message, "etcd has space only for updates and deletions"), nil
	})
	if err != nil {
		t.Errorf("the set does not report that it has stopped: %v: ScalingUp has the message %q", err, message)
	}
	refused := make(chan struct{})
	running.Go(func() { writeStatuses(ctx, privileged.VirtualMachines(mine), sync.OnceFunc(func() { close(refused) })) })
	<-refused
	deleted := 0
	for i := range victims {
		name := fmt.Sprintf("vm-%d", i)
		if err := bob.Delete(t.Context(), name, metav1.DeleteOptions{}); err != nil {
			t.Logf("deleting %s: %v", name, err)
			continue
		}
		// As the controller does when the VM is deleted in vSphere.
		if _, err := privileged.VirtualMachines(others).Patch(t.Context(), name, types.MergePatchType, []byte(`{"metadata":{"finalizers":null}}`), metav1.PatchOptions{}); err != nil {
			t.Logf("removing the finalizer of %s: %v", name, err)
			continue
		}
		deleted++
	}
	if deleted != victims {
		t.Errorf("%d of %d virtual machines were deleted", deleted, victims)
	}
}

// createSet creates a MachineSet called large and the objects that it references. Its templates set annotations on
// the objects created from them.
func createSet(t *testing.T, c versioned.Interface, namespace string, annotations map[string]string) {
	t.Helper()
	cluster := &clusterv1alpha1.Cluster{ObjectMeta: metav1.ObjectMeta{Name: "shop"}}
	template := &vmv1alpha1.VirtualMachineTemplate{ObjectMeta: metav1.ObjectMeta{Name: "m"}}
	template.Spec.Template.Spec = inlineVM("").Spec
	labels := map[string]string{"app": "large"}
	set := &clusterv1alpha1.MachineSet{ObjectMeta: metav1.ObjectMeta{Name: "large"}}
	set.Spec.ClusterName, set.Spec.Replicas, set.Spec.Selector.MatchLabels = "shop", ptr.To[int32](10_000), labels
	set.Spec.Template.Metadata = clusterv1alpha1.ObjectMeta{Labels: labels, Annotations: annotations}
	set.Spec.Template.Spec = machineSpec()
	set.Spec.Template.Spec.InfrastructureRef.Kind = "VirtualMachineTemplate"
	_, err := c.ClusterV1alpha1().Clusters(namespace).Create(t.Context(), cluster, metav1.CreateOptions{})
	if err == nil {
		_, err = c.VmV1alpha1().VirtualMachineTemplates(namespace).Create(t.Context(), template, metav1.CreateOptions{})
	}
	if err == nil {
		_, err = c.ClusterV1alpha1().MachineSets(namespace).Create(t.Context(), set, metav1.CreateOptions{})
	}
	if err != nil {
		t.Fatal(err)
	}
}

// runMachineSets runs the MachineSet controller until ctx is done.
func runMachineSets(ctx context.Context, t *testing.T, config *rest.Config) {
	client := versioned.NewForConfigOrDie(config)
	json := rest.CopyConfig(config)
	json.ContentType, json.AcceptContentTypes = "", ""
	informers := externalversions.NewSharedInformerFactoryWithOptions(client, 0, externalversions.WithTransform(controller.StripManagedFields))
	c, err := machineset.New(machineset.Deps{
		Client: client, Informers: informers, External: contract.New(contract.Options{OwnClient: dynamic.NewForConfigOrDie(json)}), Recorder: events.NewFakeRecorder(1 << 20),
		CreationsPerMinute: 1_000_000, // so that the reserve is reached soon
	})
	if err == nil {
		err = c.Run(ctx)
	}
	if err != nil && ctx.Err() == nil {
		t.Error(err)
	}
	informers.Shutdown()
}

// writeStatuses updates the status of all VMs, one after the other, and calls refused when an update is rejected.
func writeStatuses(ctx context.Context, all vmclient.VirtualMachineInterface, refused func()) {
	for n := 0; ctx.Err() == nil; n++ {
		list, err := all.List(ctx, metav1.ListOptions{Limit: 10})
		if err != nil {
			continue
		}
		for _, vm := range list.Items {
			patch := fmt.Sprintf(`{"status":{"uniqueID":"vm-%d"}}`, n)
			_, err := all.Patch(ctx, vm.Name, types.MergePatchType, []byte(patch), metav1.PatchOptions{}, "status")
			if err != nil && !apierrors.IsConflict(err) && !apierrors.IsNotFound(err) {
				refused()
			}
		}
	}
	refused()
}
