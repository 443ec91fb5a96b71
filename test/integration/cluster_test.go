// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package integration

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	autoscalingv1 "k8s.io/api/autoscaling/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"

	clusterv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/cluster/v1alpha1"
	"github.com/slipway-dev/slipway/test/integration/framework"
)

func machineSpec() clusterv1alpha1.MachineSpec {
	return clusterv1alpha1.MachineSpec{
		ClusterName:       "shop",
		Version:           "1.36.3",
		Bootstrap:         clusterv1alpha1.Bootstrap{DataSecretName: ptr.To("user-data")},
		InfrastructureRef: clusterv1alpha1.ContractVersionedObjectReference{APIGroup: "vm.slipway.dev", Kind: "VirtualMachine", Name: "m"},
	}
}

func deployment(name string) *clusterv1alpha1.MachineDeployment {
	d := &clusterv1alpha1.MachineDeployment{ObjectMeta: metav1.ObjectMeta{Name: name}}
	d.Spec.ClusterName, d.Spec.Template.Spec = "shop", machineSpec()
	d.Spec.Template.Spec.InfrastructureRef.Kind = "VirtualMachineTemplate"
	return d
}

func TestMachine_CreationSetsDefaults(t *testing.T) {
	c := framework.StartStandalone(t).Client(t)
	machines := c.ClusterV1alpha1().Machines(namespace)
	asked := &clusterv1alpha1.Machine{ObjectMeta: metav1.ObjectMeta{Name: "m"}, Spec: machineSpec()}
	asked.Status.Phase = clusterv1alpha1.MachinePhaseRunning
	got, err := machines.Create(t.Context(), asked, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	want := machineSpec()
	want.Version, want.Deletion.NodeDeletionTimeoutSeconds = "v1.36.3", ptr.To[int32](10)
	if diff := cmp.Diff(want, got.Spec); diff != "" {
		t.Errorf("spec (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(map[string]string{"cluster.x-k8s.io/cluster-name": "shop"}, got.Labels); diff != "" {
		t.Errorf("labels (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string{"machine.cluster.x-k8s.io"}, got.Finalizers); diff != "" {
		t.Errorf("finalizers (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(clusterv1alpha1.MachineStatus{ObservedGeneration: -1}, got.Status); diff != "" {
		t.Errorf("status (-want +got):\n%s", diff)
	}

	// The same manifest again, as kubectl replace sends it.
	again := &clusterv1alpha1.Machine{ObjectMeta: metav1.ObjectMeta{Name: "m", ResourceVersion: got.ResourceVersion}, Spec: machineSpec()}
	replaced, err := machines.Update(t.Context(), again, metav1.UpdateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(got, replaced); diff != "" {
		t.Errorf("the machine after the replacement (-before +after):\n%s", diff)
	}
}

func TestCluster_CreationSetsItsFinalizer(t *testing.T) {
	clusters := framework.StartStandalone(t).Client(t).ClusterV1alpha1().Clusters(namespace)
	got, err := clusters.Create(t.Context(), &clusterv1alpha1.Cluster{ObjectMeta: metav1.ObjectMeta{Name: "shop", Finalizers: []string{"example.com/other"}}}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	want := []string{"example.com/other", "cluster.cluster.x-k8s.io"}
	if diff := cmp.Diff(want, got.Finalizers); diff != "" {
		t.Errorf("finalizers (-want +got):\n%s", diff)
	}
	// A user who replaces the object with a manifest, or removes all finalizers, does not remove this finalizer.
	got.Finalizers = nil
	if got, err = clusters.Update(t.Context(), got, metav1.UpdateOptions{}); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want[1:], got.Finalizers); diff != "" {
		t.Errorf("finalizers after an update (-want +got):\n%s", diff)
	}
	// The finalizer can be removed while the object is being deleted.
	if err := clusters.Delete(t.Context(), "shop", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	if got, err = clusters.Get(t.Context(), "shop", metav1.GetOptions{}); err != nil {
		t.Fatalf("the Cluster was deleted without its controller: %v", err)
	}
	got.Finalizers = nil
	if _, err := clusters.Update(t.Context(), got, metav1.UpdateOptions{}); err != nil {
		t.Fatal(err)
	}
	if _, err := clusters.Get(t.Context(), "shop", metav1.GetOptions{}); !apierrors.IsNotFound(err) {
		t.Errorf("without finalizers: %v, want NotFound", err)
	}
}

func TestMachine_StatusChangesThroughTheStatusEndpointOnly(t *testing.T) {
	c := framework.StartStandalone(t).Client(t)
	machines := c.ClusterV1alpha1().Machines(namespace)
	m, err := machines.Create(t.Context(), &clusterv1alpha1.Machine{ObjectMeta: metav1.ObjectMeta{Name: "m"}, Spec: machineSpec()}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	m.Status.NodeRef.Name, m.Spec.ProviderID = "node-1", "vsphere://1"
	if m, err = machines.Update(t.Context(), m, metav1.UpdateOptions{}); err != nil {
		t.Fatal(err)
	}
	if m.Status.NodeRef.Name != "" || m.Spec.ProviderID != "vsphere://1" || m.Generation != 2 {
		t.Errorf("after an update nodeRef is %q, providerID %q, generation %d", m.Status.NodeRef.Name, m.Spec.ProviderID, m.Generation)
	}
	m.Status.NodeRef.Name, m.Spec.ProviderID, m.Finalizers = "node-1", "vsphere://2", nil
	if m, err = machines.UpdateStatus(t.Context(), m, metav1.UpdateOptions{}); err != nil {
		t.Fatal(err)
	}
	if m.Status.NodeRef.Name != "node-1" || m.Spec.ProviderID != "vsphere://1" || m.Generation != 2 || len(m.Finalizers) != 1 {
		t.Errorf("after an update of status nodeRef is %q, providerID %q, generation %d, finalizers %v", m.Status.NodeRef.Name, m.Spec.ProviderID, m.Generation, m.Finalizers)
	}
	for field, want := range map[string]int{"spec.clusterName=shop": 1, "spec.providerID=vsphere://1": 1, "status.nodeRef.name=node-1": 1, "spec.clusterName=other": 0} {
		list, err := machines.List(t.Context(), metav1.ListOptions{FieldSelector: field})
		if err != nil || len(list.Items) != want {
			t.Errorf("%s selects %d machines (%v), want %d", field, len(list.Items), err, want)
		}
	}
}

func TestMachineDeployment_IsScaledThroughScale(t *testing.T) {
	c := framework.StartStandalone(t).Client(t)
	deployments := c.ClusterV1alpha1().MachineDeployments(namespace)
	d, err := deployments.Create(t.Context(), deployment("workers"), metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	d.Status.Replicas = ptr.To[int32](3)
	if d, err = deployments.UpdateStatus(t.Context(), d, metav1.UpdateOptions{}); err != nil {
		t.Fatal(err)
	}
	scale, err := deployments.GetScale(t.Context(), "workers", metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	want := &autoscalingv1.Scale{
		ObjectMeta: metav1.ObjectMeta{Name: "workers", Namespace: namespace, UID: d.UID, ResourceVersion: d.ResourceVersion, CreationTimestamp: d.CreationTimestamp},
		Spec:       autoscalingv1.ScaleSpec{Replicas: 1},
		Status:     autoscalingv1.ScaleStatus{Replicas: 3, Selector: "cluster.x-k8s.io/cluster-name=shop,cluster.x-k8s.io/deployment-name=workers"},
	}
	if diff := cmp.Diff(want, scale); diff != "" {
		t.Errorf("the scale (-want +got):\n%s", diff)
	}
	scale.Spec.Replicas = 7
	if scale, err = deployments.UpdateScale(t.Context(), "workers", scale, metav1.UpdateOptions{DryRun: []string{metav1.DryRunAll}}); err != nil || scale.Spec.Replicas != 7 {
		t.Fatalf("a dry run answered %v, %v", scale, err)
	}
	replicas := func() int32 {
		t.Helper()
		if d, err = deployments.Get(t.Context(), "workers", metav1.GetOptions{}); err != nil {
			t.Fatal(err)
		}
		return *d.Spec.Replicas
	}
	if got := replicas(); got != 1 {
		t.Errorf("after a dry run %d replicas are desired, want 1", got)
	}
	scale.ResourceVersion = d.ResourceVersion
	if _, err = deployments.UpdateScale(t.Context(), "workers", scale, metav1.UpdateOptions{}); err != nil || replicas() != 7 || d.Generation != 2 {
		t.Errorf("after an update of the scale (%v) %d replicas are desired, generation %d", err, replicas(), d.Generation)
	}
	if _, err = deployments.UpdateScale(t.Context(), "workers", scale, metav1.UpdateOptions{}); !apierrors.IsConflict(err) {
		t.Errorf("an update of an old scale: %v, want a conflict", err)
	}
	patch := func(body string, options metav1.PatchOptions) error {
		return c.ClusterV1alpha1().RESTClient().Patch(types.MergePatchType).Namespace(namespace).Resource("machinedeployments").Name("workers").
			SubResource("scale").VersionedParams(&options, metav1.ParameterCodec).Body([]byte(body)).Do(t.Context()).Error()
	}
	if err := patch(`{"spec":{"replicas":4}}`, metav1.PatchOptions{}); err != nil {
		t.Errorf("a patch of the scale: %v", err)
	}
	if got := replicas(); got != 4 {
		t.Errorf("after a patch of the scale %d replicas are desired, want 4", got)
	}
	if err := patch(`{"spec":{"replicas":-1}}`, metav1.PatchOptions{}); !apierrors.IsInvalid(err) || !strings.Contains(err.Error(), "spec.replicas") {
		t.Errorf("a negative scale: %v", err)
	}
	if _, err = deployments.GetScale(t.Context(), "gone", metav1.GetOptions{}); !apierrors.IsNotFound(err) {
		t.Errorf("the scale of a missing object: %v", err)
	}
	scale.Name, scale.ResourceVersion = "gone", ""
	if _, err = deployments.UpdateScale(t.Context(), "gone", scale, metav1.UpdateOptions{}); !apierrors.IsNotFound(err) {
		t.Errorf("scaling a missing object: %v", err)
	}
}

func TestMachineDeployment_ReplicasAreOwnedByTheScalingClient(t *testing.T) {
	c := framework.StartStandalone(t).Client(t)
	deployments := c.ClusterV1alpha1().MachineDeployments(namespace)
	const manifest = `{"apiVersion":"cluster.slipway.dev/v1alpha1","kind":"MachineDeployment","metadata":{"name":"workers"},"spec":{"clusterName":"shop","replicas":2,
		"template":{"spec":{"clusterName":"shop","bootstrap":{"dataSecretName":"d"},"infrastructureRef":{"apiGroup":"vm.slipway.dev","kind":"VirtualMachineTemplate","name":"t"}}}}}`
	apply := func(manifest string, options metav1.PatchOptions) (*clusterv1alpha1.MachineDeployment, error) {
		options.FieldManager = "git"
		return deployments.Patch(t.Context(), "workers", types.ApplyPatchType, []byte(manifest), options)
	}
	if _, err := apply(manifest, metav1.PatchOptions{}); err != nil {
		t.Fatal(err)
	}
	scale, err := deployments.GetScale(t.Context(), "workers", metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	scale.Spec.Replicas = 5
	if _, err := deployments.UpdateScale(t.Context(), "workers", scale, metav1.UpdateOptions{FieldManager: "autoscaler"}); err != nil {
		t.Fatal(err)
	}
	if _, err := apply(manifest, metav1.PatchOptions{}); !apierrors.IsConflict(err) || !strings.Contains(err.Error(), `"autoscaler" with subresource "scale"`) {
		t.Errorf("the previous number is applied again: %v, want a conflict with the client that scaled", err)
	}
	got, err := apply(strings.Replace(manifest, `"replicas":2,`, "", 1), metav1.PatchOptions{})
	if err != nil || *got.Spec.Replicas != 5 {
		t.Errorf("a manifest without a number is applied: %v, %v replicas, want 5", err, got.Spec.Replicas)
	}
}

func TestMachineTemplate_IsAdmitted(t *testing.T) {
	c := framework.Client(t, framework.StartStandalone(t).ConfigFor("alice"))
	of := deployment("other")
	of.Spec.Template.Metadata.Annotations = map[string]string{"a.protected/b": "c"}
	_, err := c.ClusterV1alpha1().MachineDeployments(namespace).Create(t.Context(), of, metav1.CreateOptions{})
	if !apierrors.IsForbidden(err) || !strings.Contains(err.Error(), "spec.template.metadata.annotations[a.protected/b]") {
		t.Errorf("a template with a protected key: %v, want Forbidden", err)
	}
}
