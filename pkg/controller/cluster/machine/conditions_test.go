// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package machine

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"

	clusterv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/cluster/v1alpha1"
	"github.com/slipway-dev/slipway/pkg/apis/conditions"
	"github.com/slipway-dev/slipway/pkg/cluster/contract"
	"github.com/slipway-dev/slipway/pkg/controller/cluster/machine/step"
)

// ready returns the Ready condition of a referenced object.
func ready(fields map[string]any) map[string]any {
	c := map[string]any{"type": "Ready", "lastTransitionTime": "2026-01-01T00:00:00Z"}
	for k, v := range fields {
		c[k] = v
	}
	return c
}

// Behaviors MB96-97, MC1-2, MT5-6, MT8-9 of test/behaviours.
func TestConditions_MirrorReadyOfReferencedObjects(t *testing.T) {
	const condition, secret = "InfrastructureReady", "BootstrapConfigReady"
	with := func(kind, name string, status map[string]any) *unstructured.Unstructured {
		return other(kind, name, map[string]any{"status": status})
	}
	of := func(c ...any) map[string]any { return map[string]any{"conditions": c} }
	tests := map[string]struct {
		changes   []func(*machine)
		bootstrap *unstructured.Unstructured
		infra     *unstructured.Unstructured
		unread    string
		kind      string
		want      string
	}{
		"Secret of the user":      {kind: secret, infra: infra(), want: "True DataSecretProvided "},
		"bootstrap True":          {changes: changesOf(withConfig), bootstrap: with("ExampleConfig", "b", of(ready(map[string]any{"status": "True", "reason": "Fine"}))), infra: infra(), kind: secret, want: "True Fine "},
		"bootstrap False":         {changes: changesOf(withConfig), bootstrap: with("ExampleConfig", "b", of(ready(map[string]any{"status": "False", "reason": "Bad", "message": "no"}))), infra: infra(), kind: secret, want: "False Bad no"},
		"bootstrap no Ready":      {changes: changesOf(withConfig), bootstrap: config(nil), infra: infra(), kind: secret, want: "False NotReady ExampleConfig status.initialization.dataSecretCreated is false"},
		"bootstrap done":          {changes: changesOf(withConfig), bootstrap: config(map[string]any{"initialization": initialized("dataSecretCreated"), "dataSecretName": "s"}), infra: infra(), kind: secret, want: "True Ready "},
		"bootstrap invalid":       {changes: changesOf(withConfig), bootstrap: with("ExampleConfig", "b", of(ready(map[string]any{"status": "Fine"}))), infra: infra(), kind: secret, want: `Unknown InvalidConditionReported status.conditions of ExampleConfig ns/b: Ready: status must be True, False or Unknown, not "Fine"`},
		"bootstrap unread":        {changes: changesOf(withConfig), infra: infra(), unread: "ExampleConfig", kind: secret, want: "Unknown InternalError cannot read ExampleConfig: " + contract.ErrUnreadable.Error()},
		"bootstrap deleted":       {changes: changesOf(withConfig, deleted, created, annotated(preTerminate, "")), infra: provisionedInfra(), kind: secret, want: "False ObjectDeleted ExampleConfig has been deleted"},
		"bootstrap never existed": {changes: changesOf(withConfig, deleted, annotated(preTerminate, "")), infra: provisionedInfra(), kind: secret, want: "False ObjectDoesNotExist ExampleConfig does not exist"},
		"bootstrap missing":       {changes: changesOf(withConfig), infra: infra(), kind: secret, want: "False ObjectDoesNotExist ExampleConfig does not exist"},

		"infra True":                    {infra: with("ExampleMachine", "i", of(ready(map[string]any{"status": "True", "reason": "Fine", "message": "m"}))), kind: condition, want: "True Fine m"},
		"infra True without reason":     {infra: with("ExampleMachine", "i", of(ready(map[string]any{"status": "True"}))), kind: condition, want: "True Ready "},
		"infra False":                   {infra: with("ExampleMachine", "i", of(ready(map[string]any{"status": "False", "reason": "Bad", "message": "no"}))), kind: condition, want: "False Bad no"},
		"infra no Ready":                {infra: infra(), kind: condition, want: "False NotReady ExampleMachine status.initialization.provisioned is false"},
		"infra provisioned":             {infra: provisionedInfra(), kind: condition, want: "True Ready "},
		"infra invalid":                 {infra: with("ExampleMachine", "i", of(ready(map[string]any{"status": int64(1)}))), kind: condition, want: "Unknown InvalidConditionReported status.conditions of ExampleMachine ns/i: Ready: status must be a string, not int64"},
		"infra unread":                  {unread: "ExampleMachine", kind: condition, want: "Unknown InternalError cannot read ExampleMachine: " + contract.ErrUnreadable.Error()},
		"infra deleted with Machine":    {changes: changesOf(running, deleted, annotated(preTerminate, "")), kind: condition, want: "False ObjectDeleted ExampleMachine has been deleted"},
		"infra never existed, deleting": {changes: changesOf(deleted, annotated(preTerminate, "")), kind: condition, want: "False ObjectDoesNotExist ExampleMachine does not exist"},
		"infra deleted while running":   {changes: changesOf(running), kind: condition, want: "False ObjectDeleted ExampleMachine has been deleted while the Machine still exists"},
		"infra not created yet":         {kind: condition, want: "False ObjectDoesNotExist ExampleMachine does not exist"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			objects := []runtime.Object{newMachine(test.changes...), newCluster(), newNode()}
			for _, o := range []*unstructured.Unstructured{test.bootstrap, test.infra} {
				if o != nil {
					objects = append(objects, o)
				}
			}
			f := newFixture(t, objects...)
			if test.unread != "" {
				f.unread[test.unread] = contract.ErrUnreadable
			}
			_, _ = f.tryReconcile() // The conditions are written even if the reconcile fails.
			if is, message := f.condition(test.kind); is+" "+message != test.want {
				t.Errorf("%s is %q, want %q", test.kind, is+" "+message, test.want)
			}
		})
	}
}

func changesOf(changes ...func(*machine)) []func(*machine) { return changes }

// created sets that the bootstrap data exists.
func created(m *machine) {
	m.Spec.Bootstrap.DataSecretName, m.Status.Initialization.BootstrapDataSecretCreated = pointer("s"), pointer(true)
}

func TestConditions_KeepTheTimeOfMirroredConditions(t *testing.T) {
	f := newFixture(t, newMachine(), newCluster(), other("ExampleMachine", "i", map[string]any{"status": map[string]any{
		"conditions": []any{ready(map[string]any{"status": "False", "reason": "Bad"})},
	}}))
	f.reconcile()
	c := conditions.Find(f.machine().Status.Conditions, "InfrastructureReady")
	if want := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC); !c.LastTransitionTime.Time.Equal(want) {
		t.Errorf("transition time %s", c.LastTransitionTime)
	}
}

// minReadySeconds counts from the transition time of Ready.
func TestFinishConditions_ChangesTheTimeOnlyWithTheStatus(t *testing.T) {
	before, reported := metav1.NewTime(began.Add(-time.Hour)), metav1.NewTime(began.Add(-time.Minute))
	tests := map[string]struct {
		was  []metav1.Condition
		is   metav1.Condition
		want metav1.Time
	}{
		"the same status": {
			was: []metav1.Condition{{Type: "Ready", Status: "False", Reason: "NotReady", LastTransitionTime: before}},
			is:  metav1.Condition{Type: "Ready", Status: "False", Reason: "Other"}, want: before,
		},
		"another status": {
			was: []metav1.Condition{{Type: "Ready", Status: "False", LastTransitionTime: before}},
			is:  metav1.Condition{Type: "Ready", Status: "True"}, want: metav1.NewTime(began),
		},
		"no condition before": {is: metav1.Condition{Type: "Ready", Status: "True"}, want: metav1.NewTime(began)},
		"a time of its own": {
			was: []metav1.Condition{{Type: "InfrastructureReady", Status: "True", LastTransitionTime: before}},
			is:  metav1.Condition{Type: "InfrastructureReady", Status: "True", LastTransitionTime: reported}, want: reported,
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			all := []metav1.Condition{test.is}
			finishConditions(test.was, all, 7, began.Add(500*time.Millisecond))
			want := test.is
			want.ObservedGeneration, want.LastTransitionTime = 7, test.want
			if diff := cmp.Diff([]metav1.Condition{want}, all); diff != "" {
				t.Errorf("conditions (-want +got):\n%s", diff)
			}
		})
	}
}

// Behaviors MB99, MC6 of test/behaviours.
func TestUpdating_DependsOnTheAnnotations(t *testing.T) {
	begun := annotated(clusterv1alpha1.UpdateInProgressAnnotation, "")
	pending := annotated(clusterv1alpha1.PendingHooksAnnotation, "Other,UpdateMachine")
	for name, test := range map[string]struct {
		changes []func(*machine)
		want    string
	}{
		"not updating":  {nil, "False NotUpdating"},
		"another hook":  {changesOf(annotated(clusterv1alpha1.PendingHooksAnnotation, "Other")), "False NotUpdating"},
		"begun":         {changesOf(begun), "True InPlaceUpdating"},
		"running":       {changesOf(begun, pending), "True InPlaceUpdating"},
		"about to end":  {changesOf(pending), "True InPlaceUpdating"},
		"it is deleted": {changesOf(begun, deleted, annotated(preTerminate, "")), "False NotUpdating"},
	} {
		f := newFixture(t, newMachine(test.changes...), newCluster(), infra())
		f.reconcile()
		if is, _ := f.condition("Updating"); is != test.want {
			t.Errorf("%s: Updating is %q, want %q", name, is, test.want)
		}
	}
}

// Behaviors MB100, MC7 of test/behaviours.
func TestUpToDate_ComparesTemplates(t *testing.T) {
	spec := func(change func(*clusterv1alpha1.MachineSpec)) func(*deployment) {
		return func(d *deployment) { change(&d.Spec.Template.Spec) }
	}
	at := func(t time.Time) func(*deployment) {
		return func(d *deployment) { d.Spec.Rollout.After = pointer(metav1.NewTime(t)) }
	}
	older := newSet(func(s *machineSet) {
		s.Spec.Template.Spec.Bootstrap.ConfigRef = clusterv1alpha1.ContractVersionedObjectReference{Kind: "ExampleConfigTemplate", Name: "x"}
	})
	secret := func(name string) func(*clusterv1alpha1.MachineSpec) {
		return func(s *clusterv1alpha1.MachineSpec) { s.Bootstrap.DataSecretName = &name }
	}
	tests := map[string]struct {
		machine    []func(*machine)
		set        *machineSet
		deployment func(*deployment)
		updating   bool
		want       string
	}{
		"the same template":                {want: "True UpToDate "},
		"another version":                  {deployment: spec(func(s *clusterv1alpha1.MachineSpec) { s.Version = "v2" }), want: "False NotUpToDate * Version , v2 required"},
		"another infrastructure":           {deployment: spec(func(s *clusterv1alpha1.MachineSpec) { s.InfrastructureRef.Name = "y" }), want: "False NotUpToDate *  is not up-to-date"},
		"another bootstrap":                {set: older, want: "False NotUpToDate * ExampleConfig is not up-to-date"},
		"another Secret":                   {deployment: spec(secret("b")), want: "False NotUpToDate * spec.bootstrap.dataSecretName nil, b required"},
		"another domain":                   {deployment: spec(func(s *clusterv1alpha1.MachineSpec) { s.FailureDomain = "z" }), want: "False NotUpToDate * Failure domain , z required"},
		"a field that is changed in place": {deployment: spec(func(s *clusterv1alpha1.MachineSpec) { s.MinReadySeconds = pointer[int32](7) }), want: "True UpToDate "},
		"rollout.after in the future":      {deployment: at(began.Add(time.Hour)), want: "True UpToDate "},
		"rollout.after has passed":         {deployment: at(began.Add(-time.Minute)), want: "False NotUpToDate * MachineDeployment spec.rollout.after expired"},
		"rollout.after before the set":     {deployment: at(began.Add(-2 * time.Hour)), want: "True UpToDate "},
		"both":                             {deployment: func(d *deployment) { at(began.Add(-time.Minute))(d); d.Spec.Template.Spec.Version = "v2" }, want: "False NotUpToDate * Version , v2 required\n* MachineDeployment spec.rollout.after expired"},
		"updated in place":                 {updating: true, want: "False Updating * In-place update in progress"},
		"another kubelet": {
			machine: changesOf(func(m *machine) {
				m.Spec.Version, m.Status.NodeInfo = "v2", &clusterv1alpha1.NodeSystemInfo{KubeletVersion: "v1"}
			}), want: "False Updating * Node.status.nodeInfo.kubeletVersion v1, v2 required",
		},
	}
	for name, test := range tests {
		set, d := test.set, newDeployment()
		if set == nil {
			set = newSet()
		}
		if test.deployment != nil {
			test.deployment(d)
		}
		var updating step.Progress
		if test.updating {
			updating = step.Progress{Reason: "InPlaceUpdating", Message: "In-place update in progress"}
		}
		c := upToDateCondition(newMachine(test.machine...), set, d, updating, began)
		if got := string(c.Status) + " " + c.Reason + " " + c.Message; got != test.want {
			t.Errorf("%s: UpToDate is %q, want %q", name, got, test.want)
		}
	}
}

// Behaviors MB81, MB100 of test/behaviours: a standalone Machine, or one in a standalone MachineSet, has no template to
// compare with.
func TestUpToDate_IsSetOnlyForMachinesOfDeployments(t *testing.T) {
	for name, test := range map[string]struct {
		objects []runtime.Object
		has     bool
	}{
		"standalone":         {[]runtime.Object{newMachine()}, false},
		"of a set":           {[]runtime.Object{ownedMachine(), newSet(func(s *machineSet) { s.Labels = nil })}, false},
		"of an orphaned set": {[]runtime.Object{ownedMachine(), newSet()}, false},
		"of a deployment":    {[]runtime.Object{ownedMachine(), newSet(), newDeployment()}, true},
	} {
		f := newFixture(t, append(test.objects, newCluster(), infra())...)
		f.reconcile()
		if is, _ := f.condition("UpToDate"); (is != "") != test.has {
			t.Errorf("%s: UpToDate is %q", name, is)
		}
	}
	f := newFixture(t, ownedMachine(), newCluster(), infra())
	f.expectError("reading MachineSet ns/s, the owner of Machine m")
	f = newFixture(t, ownedMachine(), newCluster(), infra(), newSet(func(s *machineSet) {
		s.OwnerReferences = []metav1.OwnerReference{{APIVersion: "cluster.slipway.dev/v1alpha1", Kind: "MachineDeployment", Name: "d", UID: "uid-d", Controller: pointer(true)}}
	}))
	f.expectError("reading MachineDeployment ns/d, the owner of Machine m")
	f.edit(deleted)
	f.reconcile()
}

// Behaviors MB104, MC9 of test/behaviours.
func TestAvailable_WaitsForMinReadySeconds(t *testing.T) {
	m := newMachine(func(m *machine) { m.Spec.MinReadySeconds = pointer[int32](60) })
	is := func(status metav1.ConditionStatus, since time.Duration) metav1.Condition {
		return metav1.Condition{Type: "Ready", Status: status, LastTransitionTime: metav1.NewTime(began.Add(-since))}
	}
	for name, test := range map[string]struct {
		ready metav1.Condition
		want  string
		left  time.Duration
	}{
		"not Ready":              {is("False", time.Hour), "False NotReady", 0},
		"unknown":                {is("Unknown", time.Hour), "False NotReady", 0},
		"Ready for a short time": {is("True", 20*time.Second), "False WaitingForMinReadySeconds", 40 * time.Second},
		"Ready for long enough":  {is("True", 60*time.Second), "True Available", 0},
	} {
		c, left := availableCondition(m, test.ready, began)
		if got := string(c.Status) + " " + c.Reason; got != test.want || left != test.left {
			t.Errorf("%s: Available is %q, %s left", name, got, left)
		}
	}
	f := newFixture(t, newMachine(running, func(m *machine) { m.Spec.MinReadySeconds = pointer[int32](60) }), newCluster(), provisionedInfra(), newNode())
	if got := f.reconcile().RequeueAfter; got != 60*time.Second {
		t.Errorf("requeued after %s", got)
	}
}

// Behaviors MB105, MT13 of test/behaviours: each change of the phase sets lastUpdated.
func TestPhase_DependsOnTheStageOfTheLifecycle(t *testing.T) {
	f := newFixture(t, newMachine(withConfig), newCluster(), infra(), config(map[string]any{}))
	expect := func(want clusterv1alpha1.MachinePhase) {
		t.Helper()
		f.now = f.now.Add(time.Minute)
		f.reconcile()
		if m := f.machine(); m.Status.Phase != want || !m.Status.LastUpdated.Time.Equal(f.now) {
			t.Errorf("phase %s since %s, want %s since %s", m.Status.Phase, m.Status.LastUpdated, want, f.now)
		}
	}
	expect(clusterv1alpha1.MachinePhasePending)
	f.set("ExampleConfig", "b", "made", "status", "dataSecretName")
	f.set("ExampleConfig", "b", true, "status", "initialization", "dataSecretCreated")
	expect(clusterv1alpha1.MachinePhaseProvisioning)
	f.set("ExampleMachine", "i", providerID, "spec", "providerID")
	f.set("ExampleMachine", "i", true, "status", "initialization", "provisioned")
	expect(clusterv1alpha1.MachinePhaseProvisioned)
	f.add(newNode())
	expect(clusterv1alpha1.MachinePhaseRunning)
	f.edit(annotated(clusterv1alpha1.UpdateInProgressAnnotation, ""))
	expect(clusterv1alpha1.MachinePhaseUpdating)
	f.edit(func(m *machine) { m.Annotations = nil; deleted(m); annotated(preDrain, "")(m) })
	expect(clusterv1alpha1.MachinePhaseDeleting)

	own := newFixture(t, newMachine(), newCluster(), infra())
	own.reconcile()
	if got := own.machine().Status.Phase; got != clusterv1alpha1.MachinePhaseProvisioning {
		t.Errorf("phase %s with a Secret of the user", got)
	}
}

// Behaviors MC24 of test/behaviours: a Machine with a terminal failure is not shown as Running.
func TestPhase_IsFailedAfterATerminalFailure(t *testing.T) {
	failure := func(o *unstructured.Unstructured, field, text string) *unstructured.Unstructured {
		if err := unstructured.SetNestedField(o.Object, text, "status", field); err != nil {
			t.Fatal(err)
		}
		return o
	}
	tests := map[string]struct {
		changes   []func(*machine)
		bootstrap *unstructured.Unstructured
		infra     *unstructured.Unstructured
		want      string
		// progressCondition is the condition that contains the cause.
		condition, says string
	}{
		"infrastructure reports a message": {
			infra: failure(infra(), "failureMessage", "out of hosts"), want: "Failed",
			condition: "InfrastructureReady", says: "False NotReady ExampleMachine reports a failure: out of hosts",
		},
		"infrastructure reports a reason": {
			changes: changesOf(running), infra: failure(provisionedInfra(), "failureReason", "NoHosts"), want: "Failed",
			condition: "InfrastructureReady", says: "False NoHosts ExampleMachine reports a failure: NoHosts",
		},
		"bootstrap object reports a message": {
			changes: changesOf(withConfig), bootstrap: failure(config(map[string]any{}), "failureMessage", "out of hosts"), infra: infra(), want: "Failed",
			condition: "BootstrapConfigReady", says: "False NotReady ExampleConfig reports a failure: out of hosts",
		},
		"infrastructure was deleted": {
			changes: changesOf(running), want: "Failed",
			condition: "InfrastructureReady", says: "False ObjectDeleted ExampleMachine has been deleted while the Machine still exists",
		},
		"infrastructure does not exist yet": {
			want: "Provisioning", condition: "InfrastructureReady", says: "False ObjectDoesNotExist ExampleMachine does not exist",
		},
		"the Machine is being deleted": {
			changes: changesOf(running, deleted, annotated(preDrain, "")), infra: failure(provisionedInfra(), "failureMessage", "out of hosts"), want: "Deleting",
			condition: "InfrastructureReady", says: "False NotReady ExampleMachine reports a failure: out of hosts",
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			objects := []runtime.Object{newMachine(test.changes...), newCluster(), newNode()}
			for _, o := range []*unstructured.Unstructured{test.bootstrap, test.infra} {
				if o != nil {
					objects = append(objects, o)
				}
			}
			f := newFixture(t, objects...)
			_, _ = f.tryReconcile() // Deleted infrastructure is also an error.
			if got := string(f.machine().Status.Phase); got != test.want {
				t.Errorf("phase %s, want %s", got, test.want)
			}
			if is, message := f.condition(test.condition); is+" "+message != test.says {
				t.Errorf("%s is %q, want %q", test.condition, is+" "+message, test.says)
			}
		})
	}
}

func TestConditions_AreSorted(t *testing.T) {
	f := newFixture(t, newMachine(func(m *machine) {
		m.Status.Conditions = []metav1.Condition{{Type: "Zebra", Status: "True"}, {Type: "APIServerPodHealthy", Status: "True"}, {Type: "HealthCheckSucceeded", Status: "True"}}
	}), newCluster(), infra())
	f.reconcile()
	var got []string
	for _, c := range f.machine().Status.Conditions {
		got = append(got, c.Type)
	}
	want := []string{
		"Available", "Ready", "BootstrapConfigReady", "InfrastructureReady", "NodeHealthy", "NodeReady", "APIServerPodHealthy", "Zebra",
		"HealthCheckSucceeded", "Updating", "Paused", "Deleting",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("conditions (-want +got):\n%s", diff)
	}
}
