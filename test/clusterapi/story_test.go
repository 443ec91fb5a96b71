// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package clusterapi

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/slipway-dev/slipway/pkg/apis/conditions"
	vmv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/vm/v1alpha1"
)

var (
	templates       = vmv1alpha1.SchemeGroupVersion.WithResource("virtualmachinetemplates")
	slipwayClusters = vmv1alpha1.SchemeGroupVersion.WithResource("slipwayclusters")
)

// The example, with the real controllers of Cluster API, from the creation of nodes to their deletion.
func TestClusterAPI_CreatesNodesFromVirtualMachines(t *testing.T) {
	s := newScene(t)
	for _, step := range []struct {
		name string
		do   func(*scene)
	}{
		{"the control plane has a node", (*scene).controlPlane},
		{"a deployment of five has five nodes", (*scene).grown},
		{"labels change without new machines", (*scene).relabelled},
		{"a smaller deployment keeps two", (*scene).shrunk},
		{"another template replaces all", (*scene).rolledOut},
		{"a node that is not well is replaced", (*scene).remediated},
		{"paused objects are not changed", (*scene).paused},
		{"a node is drained before its virtual machine goes", (*scene).drained},
		{"nothing is left of a deleted cluster", (*scene).deleted},
	} {
		if !t.Run(step.name, func(t *testing.T) { step.do(s.in(t)) }) {
			return
		}
	}
}

// controlPlane waits for the node of the control plane's Machine.
func (s *scene) controlPlane() {
	s.wants(clusters, "demo", ".status.initialization.infrastructureProvisioned", "true",
		".spec.controlPlaneEndpoint.host", s.endpoint.Hostname(), ".spec.controlPlaneEndpoint.port", s.endpoint.Port(),
		".status.failureDomains[*].name", "default second")
	// Cluster API only watches nodes of a cluster whose control plane is initialized, and finds the first node at the
	// next reconcile.
	eventually(s.T, "the Machine of the control plane has a node", func(ctx context.Context) error {
		now := fmt.Sprintf(`{"metadata":{"annotations":{"looked-at":%q}}}`, time.Now())
		u, err := s.of(capiMachines).Patch(ctx, "demo-control-plane", types.MergePatchType, []byte(now), metav1.PatchOptions{})
		if err != nil {
			return err
		}
		if got := s.read(u, ".status.nodeRef.name"); got != "demo-control-plane" {
			return fmt.Errorf("node %q: %v", got, u.Object["status"])
		}
		return nil
	})
	s.wants(clusters, "demo", `.status.conditions[?(@.type=="ControlPlaneInitialized")].status`, "True")
}

// scale scales the deployment as kubectl scale does.
func (s *scene) scale(replicas int) {
	s.Helper()
	_, err := s.of(deployments).Patch(s.Context(), "demo-workers", types.MergePatchType, fmt.Appendf(nil, `{"spec":{"replicas":%d}}`, replicas), metav1.PatchOptions{}, "scale")
	s.must(err)
}

func (s *scene) grown() {
	s.settled(0)
	s.scale(5)
	s.provisioned(s.settled(5))
}

func (s *scene) shrunk() {
	s.scale(2)
	s.settled(2)
}

// provisioned checks each worker against the contract of Cluster API.
func (s *scene) provisioned(vms []vmv1alpha1.VirtualMachine) {
	for _, vm := range vms {
		s.wants(capiMachines, vm.Name, ".status.nodeRef.name", vm.Name, ".spec.providerID", "vsphere://"+vm.Status.BiosUUID,
			".status.failureDomain", vm.Status.Zone, ".status.initialization.infrastructureProvisioned", "true",
			`.status.addresses[?(@.type=="InternalIP")].address`, vm.Status.Network.PrimaryIP4+" "+vm.Status.Network.PrimaryIP6,
			`.status.conditions[?(@.type=="InfrastructureReady")].status`, "True", ".status.phase", "Running")
		owner := metav1.GetControllerOf(&vm)
		if owner == nil || owner.APIVersion != capi.String() || owner.Kind != "Machine" || owner.Name != vm.Name {
			s.Errorf("%s is controlled by %+v, want its Machine", vm.Name, owner)
		}
		node, err := env.Work.Client().CoreV1().Nodes().Get(s.Context(), vm.Name, metav1.GetOptions{})
		s.must(err)
		if got := node.Annotations["cluster.x-k8s.io/machine"]; got != vm.Name || slices.Contains(node.Spec.Taints, joining) {
			s.Errorf("node %s is of Machine %q and has the taints %v", node.Name, got, node.Spec.Taints)
		}
	}
	s.bootstrapped(&vms[0])
	s.applied(&vms[0])
}

// applied checks that each of the two field managers of a MachineSet owns its fields.
func (s *scene) applied(vm *vmv1alpha1.VirtualMachine) {
	got := map[string]bool{}
	for _, f := range vm.ManagedFields {
		if f.Operation != metav1.ManagedFieldsOperationApply {
			continue
		}
		for _, part := range []string{`"f:spec"`, `"f:labels"`} {
			if strings.Contains(f.FieldsV1.GetRawString(), part) {
				got[f.Manager+" "+part] = true
			}
		}
	}
	want := map[string]bool{`capi-machineset "f:spec"`: true, `capi-machineset-metadata "f:labels"`: true}
	if diff := cmp.Diff(want, got); diff != "" {
		s.Errorf("applied fields of %s (-want +got):\n%s", vm.Name, diff)
	}
}

// relabelled changes a label in the template of the Machines, which does not replace them.
func (s *scene) relabelled() {
	before, err := s.workers(s.Context())
	s.must(err)
	for _, value := range []string{`"gold"`, "null"} {
		s.patch(deployments, "demo-workers", `{"spec":{"template":{"metadata":{"labels":{"tier":`+value+`}}}}}`)
		eventually(s.T, "all workers have the label "+value, func(ctx context.Context) error {
			vms, err := s.workers(ctx)
			if err != nil {
				return err
			}
			for _, vm := range vms {
				if !slices.ContainsFunc(before, func(b vmv1alpha1.VirtualMachine) bool { return b.UID == vm.UID }) {
					s.Fatalf("%s was made for a label", vm.Name)
				}
				if got := vm.Labels["tier"]; got != strings.Trim(strings.TrimPrefix(value, "null"), `"`) {
					return fmt.Errorf("%s has tier %q", vm.Name, got)
				}
			}
			return nil
		})
	}
}

// rolledOut changes the template of the deployment and sets a failure domain.
func (s *scene) rolledOut() {
	before := s.settled(2)
	template, err := s.vms.VirtualMachineTemplates(s.namespace).Get(s.Context(), "demo-workers", metav1.GetOptions{})
	s.must(err)
	next := &vmv1alpha1.VirtualMachineTemplate{ObjectMeta: metav1.ObjectMeta{Name: "demo-workers-2"}, Spec: template.Spec}
	next.Spec.Template.Metadata.Annotations = map[string]string{"generation": "2"}
	_, err = s.vms.VirtualMachineTemplates(s.namespace).Create(s.Context(), next, metav1.CreateOptions{})
	s.must(err)
	s.patch(deployments, "demo-workers", `{"spec":{"template":{"spec":{"failureDomain":"second","infrastructureRef":{"name":"demo-workers-2"}}}}}`)
	for _, vm := range before {
		s.awaitDeleted(machines, vm.Name)
	}
	for _, vm := range s.settled(2) {
		if vm.Annotations["generation"] != "2" || vm.Status.Zone != "second" {
			s.Errorf("%s has the annotations %v and is in zone %q, want those of the second template and zone second", vm.Name, vm.Annotations, vm.Status.Zone)
		}
		s.wants(capiMachines, vm.Name, ".status.failureDomain", "second")
	}
}

// remediated makes a node unhealthy.
func (s *scene) remediated() {
	before := s.settled(2)
	s.patch(healthChecks, "demo-workers", `{"spec":{"checks":{"unhealthyNodeConditions":[{"type":"Ready","status":"False","timeoutSeconds":0}]}}}`)
	s.must(env.Work.SetReady(s.Context(), before[0].Name, corev1.ConditionFalse))
	s.awaitDeleted(capiMachines, before[0].Name)
	s.awaitDeleted(machines, before[0].Name)
	if vms := s.settled(2); !slices.ContainsFunc(vms, func(vm vmv1alpha1.VirtualMachine) bool { return vm.UID == before[1].UID }) {
		s.Errorf("the healthy %s was replaced, too", before[1].Name)
	}
}

// paused pauses the Cluster and then one virtual machine, and deletes the Machine of that VM while it is paused.
func (s *scene) paused() {
	vms := s.settled(2)
	isPaused := `.status.conditions[?(@.type=="Paused")].status`
	for _, paused := range []struct{ value, status string }{{"true", "True"}, {"false", ""}} {
		s.patch(clusters, "demo", `{"spec":{"paused":`+paused.value+`}}`)
		for _, vm := range vms {
			s.wants(machines, vm.Name, isPaused, paused.status)
		}
	}
	name := vms[0].Name
	s.patch(machines, name, `{"metadata":{"annotations":{"cluster.x-k8s.io/paused":""}}}`)
	s.wants(machines, name, isPaused, "True")
	s.remove(capiMachines, name)
	eventually(s.T, "the paused "+name+" is not changed", func(ctx context.Context) error {
		vm, err := s.vms.VirtualMachines(s.namespace).Get(ctx, name, metav1.GetOptions{})
		if err != nil {
			return err
		}
		c := conditions.Find(vm.Status.Conditions, vmv1alpha1.ConditionPaused)
		if vm.DeletionTimestamp == nil || c == nil || !strings.HasPrefix(c.Message, "deletion is paused") {
			return fmt.Errorf("deletion since %v, %+v", vm.DeletionTimestamp, c)
		}
		return nil
	})
	s.patch(machines, name, `{"metadata":{"annotations":{"cluster.x-k8s.io/paused":null}}}`)
	s.awaitDeleted(machines, name)
	s.awaitDeleted(capiMachines, name)
}

// drained deletes a Machine whose node has a Pod that may not be evicted yet.
func (s *scene) drained() {
	vms := s.settled(2)
	name := vms[0].Name
	workload := env.Work.Client()
	_, err := workload.PolicyV1().PodDisruptionBudgets("default").Create(s.Context(), &policyv1.PodDisruptionBudget{
		ObjectMeta: metav1.ObjectMeta{Name: "guard"},
		Spec:       policyv1.PodDisruptionBudgetSpec{MinAvailable: &intstr.IntOrString{IntVal: 1}, Selector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": "guarded"}}},
	}, metav1.CreateOptions{})
	s.must(err)
	_, err = env.Work.AddPod(s.Context(), "default", "guarded", name)
	s.must(err)
	s.remove(capiMachines, name)
	s.wants(capiMachines, name, `.status.conditions[?(@.type=="Deleting")].reason`, "DrainingNode")
	eventually(s.T, "the budget keeps the Pod", func(ctx context.Context) error {
		u, err := s.of(capiMachines).Get(ctx, name, metav1.GetOptions{})
		if err != nil {
			return err
		}
		if message := s.read(u, `.status.conditions[?(@.type=="Deleting")].message`); !strings.Contains(message, "disruption budget") {
			return fmt.Errorf("the message is %q", message)
		}
		return nil
	})
	vm, err := s.vms.VirtualMachines(s.namespace).Get(s.Context(), name, metav1.GetOptions{})
	s.must(err)
	if vm.DeletionTimestamp != nil {
		s.Errorf("%s is deleted before its node is drained", name)
	}
	s.must(workload.PolicyV1().PodDisruptionBudgets("default").Delete(s.Context(), "guard", metav1.DeleteOptions{}))
	s.awaitDeleted(machines, name)
	s.awaitDeleted(capiMachines, name)
	pods, err := workload.CoreV1().Pods("default").List(s.Context(), metav1.ListOptions{})
	s.must(err)
	if len(pods.Items) != 0 {
		s.Errorf("left on the node: %v", pods.Items)
	}
}

// deleted deletes the Cluster with all its objects.
func (s *scene) deleted() {
	s.settled(2)
	s.remove(clusters, "demo")
	s.awaitDeleted(clusters, "demo")
	s.awaitDeleted(slipwayClusters, "demo")
	for _, template := range []string{"demo-workers", "demo-workers-2"} {
		s.awaitDeleted(templates, template)
	}
	if left := append(s.list(capiMachines, ""), s.list(machines, "")...); len(left) != 0 {
		s.Errorf("left of the Cluster: %v", left)
	}
}
