// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package machine

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"

	clusterv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/cluster/v1alpha1"
	"github.com/slipway-dev/slipway/pkg/cluster/contract"
	"github.com/slipway-dev/slipway/pkg/controller/cluster/machine/step"
)

// config returns the bootstrap object "b".
func config(status map[string]any) *unstructured.Unstructured {
	return other("ExampleConfig", "b", map[string]any{"status": status})
}

func initialized(field string) map[string]any { return map[string]any{field: true} }

func withPausedAnnotation(o *unstructured.Unstructured) *unstructured.Unstructured {
	o.SetAnnotations(map[string]string{clusterv1alpha1.PausedAnnotation: "true"})
	return o
}

// Behaviors MB28-34, MB36, MC27, MT5-7 of test/behaviours.
func TestBootstrap_CopiesTheDataSecretName(t *testing.T) {
	ready := map[string]any{"initialization": initialized("dataSecretCreated"), "dataSecretName": "made"}
	old := map[string]any{"ready": true, "dataSecretName": "made"}
	halfWritten := func(m *machine) { withConfig(m); m.Spec.Bootstrap.DataSecretName = pointer("made") } // The status was not written.
	tests := map[string]struct {
		machine  func(*machine)
		config   *unstructured.Unstructured
		contract string
		unread   error
		secret   string
		created  bool
		fails    string
		after    time.Duration
	}{
		"no reference":                           {machine: func(*machine) {}, secret: "data"},
		"cannot be read":                         {machine: withConfig, unread: contract.ErrUnreadable, fails: "bootstrap: could not be read"},
		"does not exist":                         {machine: withConfig, after: 30 * time.Second},
		"not ready":                              {machine: withConfig, config: config(map[string]any{"dataSecretName": "made"})},
		"ready":                                  {machine: withConfig, config: config(ready), secret: "made", created: true},
		"ready, the name is in the spec":         {machine: halfWritten, config: config(map[string]any{}), secret: "made", created: true},
		"ready by v1beta1":                       {machine: withConfig, config: config(old), contract: contract.V1Beta1, secret: "made", created: true},
		"ready and paused":                       {machine: withConfig, config: withPausedAnnotation(config(ready)), secret: "made", created: true},
		"ready and paused by v1beta1":            {machine: withConfig, config: withPausedAnnotation(config(old)), contract: contract.V1Beta1, secret: "made", created: true},
		"ready without name":                     {machine: withConfig, config: config(map[string]any{"initialization": initialized("dataSecretCreated")}), fails: "status.dataSecretName of ExampleConfig ns/b is empty"},
		"wrong type":                             {machine: withConfig, config: config(map[string]any{"initialization": map[string]any{"dataSecretCreated": "yes"}}), fails: "status.initialization.dataSecretCreated"},
		"ready while it is deleted":              {machine: withConfig, config: markDeleting(config(ready))},
		"does not exist, the Machine is deleted": {machine: func(m *machine) { withConfig(m); deleted(m) }},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			objects := []runtime.Object{newMachine(test.machine), newCluster(), infra()}
			if test.config != nil {
				objects = append(objects, test.config)
			}
			f := newFixture(t, objects...)
			if test.contract != "" {
				f.contract = test.contract
			}
			f.unread["ExampleConfig"] = test.unread
			if test.fails != "" {
				f.expectError(test.fails)
			} else if got := f.reconcile().RequeueAfter; got != test.after {
				t.Errorf("requeued after %s, want %s", got, test.after)
			}
			m := f.machine()
			if got := m.Spec.Bootstrap.DataSecretName; (got == nil) != (test.secret == "") || got != nil && *got != test.secret {
				t.Errorf("data Secret %v", got)
			}
			if got := step.IsTrue(m.Status.Initialization.BootstrapDataSecretCreated); got != test.created {
				t.Errorf("created: %t", got)
			}
		})
	}
}

// Behaviors MB35 of test/behaviours.
func TestBootstrap_NeverChangesTheDataSecretName(t *testing.T) {
	f := newFixture(t, newMachine(withConfig, func(m *machine) {
		m.Spec.Bootstrap.DataSecretName, m.Status.Initialization.BootstrapDataSecretCreated = pointer("first"), pointer(true)
	}), newCluster(), infra(), config(map[string]any{"initialization": map[string]any{"dataSecretCreated": false}, "dataSecretName": "second"}))
	f.reconcile()
	m := f.machine()
	if *m.Spec.Bootstrap.DataSecretName != "first" || !step.IsTrue(m.Status.Initialization.BootstrapDataSecretCreated) {
		t.Errorf("bootstrap %+v, %+v", m.Spec.Bootstrap, m.Status.Initialization)
	}
}

// Behaviors MB21, MB37-38, MT5, MT8 of test/behaviours.
func TestAdopt_SetsTheMachineAsController(t *testing.T) {
	ref := func(api, kind string, controller *bool) metav1.OwnerReference {
		return metav1.OwnerReference{APIVersion: api, Kind: kind, Name: "x", UID: "x", Controller: controller}
	}
	ours := metav1.OwnerReference{
		APIVersion: "cluster.slipway.dev/v1alpha1", Kind: "Machine", Name: "m", UID: "uid-m", Controller: pointer(true), BlockOwnerDeletion: pointer(true),
	}
	viewer := ref("example.org/v1", "Viewer", nil)
	set, plane := ref("cluster.slipway.dev/v1alpha9", "MachineSet", pointer(true)), ref(exampleAPI+"/v7", "ExampleControlPlane", pointer(true))
	earlier := ours
	earlier.Controller, earlier.APIVersion = nil, "cluster.slipway.dev/v1"
	tests := map[string]struct {
		machine func(*machine)
		owners  []metav1.OwnerReference
		want    []metav1.OwnerReference
		fails   string
	}{
		"no owner":                                {want: []metav1.OwnerReference{ours}},
		"others may own it too":                   {owners: []metav1.OwnerReference{viewer}, want: []metav1.OwnerReference{viewer, ours}},
		"controlled by the set before":            {owners: []metav1.OwnerReference{set, viewer}, want: []metav1.OwnerReference{viewer, ours}},
		"controlled by the control plane":         {machine: ofControlPlane, owners: []metav1.OwnerReference{plane}, want: []metav1.OwnerReference{ours}},
		"a control plane and a worker":            {owners: []metav1.OwnerReference{plane}, want: []metav1.OwnerReference{plane}, fails: "is controlled by ExampleControlPlane x"},
		"another controller":                      {owners: []metav1.OwnerReference{ref("v1", "Other", pointer(true))}, want: []metav1.OwnerReference{ref("v1", "Other", pointer(true))}, fails: "is controlled by Other x"},
		"an owner in another version is replaced": {owners: []metav1.OwnerReference{earlier, viewer}, want: []metav1.OwnerReference{ours, viewer}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			o := provisionedInfra()
			o.SetOwnerReferences(test.owners)
			change := func(*machine) {}
			if test.machine != nil {
				change = test.machine
			}
			f := newFixture(t, newMachine(change), newCluster(withControlPlane), o)
			if test.fails != "" {
				f.expectError(test.fails)
				if f.machine().Spec.ProviderID != "" {
					t.Error("fields of an object of another controller were copied")
				}
				if is, message := f.condition(clusterv1alpha1.InfrastructureReadyCondition); is != "False ObjectControlledByAnother" || !strings.Contains(message, test.fails) {
					t.Errorf("InfrastructureReady is %s %q, want the name of the controller", is, message)
				}
			} else {
				f.reconcile()
			}
			got := f.object("ExampleMachine", "i")
			if diff := cmp.Diff(test.want, got.GetOwnerReferences()); diff != "" {
				t.Errorf("owners (-want +got):\n%s", diff)
			}
			if label := got.GetLabels()[clusterv1alpha1.ClusterNameLabel]; (label == "c") != (test.fails == "") {
				t.Errorf("label of the Cluster %q", label)
			}
		})
	}
}

// Behaviors MB39-42, MB45-48, MB52-54, MC26, MC28, MT8-10, MT33 of test/behaviours.
func TestInfrastructure_CopiesFields(t *testing.T) {
	status := func(fields map[string]any) map[string]any {
		all := map[string]any{"initialization": initialized("provisioned")}
		for k, v := range fields {
			all[k] = v
		}
		return all
	}
	full := func(st map[string]any) *unstructured.Unstructured {
		return other("ExampleMachine", "i", map[string]any{"spec": map[string]any{"providerID": providerID}, "status": st})
	}
	addresses := []any{map[string]any{"type": "InternalIP", "address": "10.0.0.1"}}
	there := provisioned
	tests := map[string]struct {
		machine  func(*machine)
		infra    *unstructured.Unstructured
		contract string
		unread   error
		provider string
		fails    string
		after    time.Duration
		ip, zone string
	}{
		"cannot be read":                            {unread: contract.ErrUnreadable, fails: "infrastructure: could not be read"},
		"does not exist":                            {after: 30 * time.Second},
		"not provisioned":                           {infra: other("ExampleMachine", "i", map[string]any{"spec": map[string]any{"providerID": providerID}})},
		"provisioned":                               {infra: full(status(nil)), provider: providerID},
		"provisioned by v1beta1":                    {infra: full(map[string]any{"ready": true}), contract: contract.V1Beta1, provider: providerID},
		"provisioned and paused":                    {infra: withPausedAnnotation(full(status(nil))), provider: providerID},
		"addresses and failure domain":              {infra: full(status(map[string]any{"addresses": addresses, "failureDomain": "z"})), provider: providerID, ip: "10.0.0.1", zone: "z"},
		"while it is deleted":                       {infra: markDeleting(full(status(nil)))},
		"an address of an unknown type":             {infra: full(status(map[string]any{"addresses": []any{map[string]any{"type": "IPv4", "address": "x"}}})), fails: `entry 0 has type "IPv4"`},
		"a failure domain of the wrong type":        {infra: full(status(map[string]any{"failureDomain": int64(7), "addresses": addresses})), fails: "status.failureDomain of ExampleMachine ns/i"},
		"deleted before provisioning, with Machine": {machine: deleted},
		"deleted after provisioning, with Machine":  {machine: func(m *machine) { there(m); deleted(m) }, provider: providerID},
		"deleted after provisioning":                {machine: there, fails: "was deleted while its Machine exists", provider: providerID},
		"cannot be read after provisioning":         {machine: there, unread: contract.ErrUnreadable, fails: "could not be read", provider: providerID},
		"no longer provisioned, new values":         {machine: there, infra: other("ExampleMachine", "i", map[string]any{"spec": map[string]any{"providerID": "example://2"}, "status": map[string]any{"addresses": addresses}}), provider: "example://2", ip: "10.0.0.1"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			change := func(*machine) {}
			if test.machine != nil {
				change = test.machine
			}
			objects := []runtime.Object{newMachine(change), newCluster()}
			if test.infra != nil {
				objects = append(objects, test.infra)
			}
			f := newFixture(t, objects...)
			f.unread["ExampleMachine"] = test.unread
			if test.contract != "" {
				f.contract = test.contract
			}
			if test.fails != "" {
				f.expectError(test.fails)
			} else if got := f.reconcile().RequeueAfter; got != test.after {
				t.Errorf("requeued after %s, want %s", got, test.after)
			}
			m := f.machine()
			if m.Spec.ProviderID != test.provider || step.IsProvisioned(m) != (test.provider != "") {
				t.Errorf("provider ID %q, provisioned %t", m.Spec.ProviderID, step.IsProvisioned(m))
			}
			ip := ""
			if len(m.Status.Addresses) > 0 {
				ip = m.Status.Addresses[0].Address
			}
			if ip != test.ip || m.Status.FailureDomain != test.zone {
				t.Errorf("address %q, failure domain %q", ip, m.Status.FailureDomain)
			}
		})
	}
}

// Behaviors MB43-44 of test/behaviours.
func TestInfrastructure_CopiesTheOldFailureDomainToTheSpec(t *testing.T) {
	o := provisionedInfra()
	f := newFixture(t, newMachine(func(m *machine) { m.Spec.FailureDomain = "asked" }), newCluster(), o)
	f.set("ExampleMachine", "i", "new", "status", "failureDomain")
	f.reconcile()
	if m := f.machine(); m.Spec.FailureDomain != "asked" || m.Status.FailureDomain != "new" {
		t.Errorf("spec %q, status %q", m.Spec.FailureDomain, m.Status.FailureDomain)
	}
	f.set("ExampleMachine", "i", "old", "spec", "failureDomain")
	f.reconcile()
	if m := f.machine(); m.Spec.FailureDomain != "old" || m.Status.FailureDomain != "new" {
		t.Errorf("spec %q, status %q", m.Spec.FailureDomain, m.Status.FailureDomain)
	}
}

// Behaviors MB46, MB49-51 of test/behaviours.
func TestInfrastructure_StaysProvisionedAndCopiesChanges(t *testing.T) {
	f := newFixture(t, newMachine(), newCluster(), provisionedInfra())
	f.reconcile()
	f.set("ExampleMachine", "i", false, "status", "initialization", "provisioned")
	f.set("ExampleMachine", "i", []any{map[string]any{"type": "InternalIP", "address": "10.0.0.2"}}, "status", "addresses")
	f.set("ExampleMachine", "i", "z2", "status", "failureDomain")
	f.reconcile()
	m := f.machine()
	if !step.IsProvisioned(m) || len(m.Status.Addresses) != 1 || m.Status.FailureDomain != "z2" {
		t.Errorf("status %+v", m.Status)
	}
	f.unread["ExampleMachine"] = contract.ErrUnreadable
	f.expectError("could not be read")
	if !step.IsProvisioned(f.machine()) {
		t.Error("a read error reset the provisioned infrastructure")
	}
}

// Behaviors MB48 of test/behaviours.
func TestInfrastructure_WaitsForTheProviderID(t *testing.T) {
	f := newFixture(t, newMachine(), newCluster(), provisionedInfra())
	f.set("ExampleMachine", "i", "", "spec", "providerID")
	if got := f.reconcile(); got.RequeueAfter != 0 || step.IsProvisioned(f.machine()) {
		t.Errorf("result %+v, provisioned %t", got, step.IsProvisioned(f.machine()))
	}
	f.set("ExampleMachine", "i", providerID, "spec", "providerID")
	f.now = f.now.Add(2 * time.Second)
	if got := f.reconcile().RequeueAfter; got != 3*time.Second || step.IsProvisioned(f.machine()) {
		t.Errorf("an event after 2 s: requeued after %s, provisioned %t", got, step.IsProvisioned(f.machine()))
	}
	f.now = f.now.Add(3 * time.Second)
	if f.reconcile(); !step.IsProvisioned(f.machine()) {
		t.Error("not provisioned after 5 s")
	}
}

// Behaviors MB19, MB52, MT28 of test/behaviours.
func TestInfrastructure_DeletionIsATerminalFailure(t *testing.T) {
	f := newFixture(t, newMachine(provisioned), newCluster())
	f.expectError("was deleted")
	f.expect("InfrastructureReady", "False ObjectDeleted", "ExampleMachine has been deleted while the Machine still exists")
}

func TestProviderFailure_IsReportedInTheConditionOfTheObject(t *testing.T) {
	for reason, want := range map[string][2]string{
		"Broken":    {"False Broken", "ExampleMachine reports a failure: no disk"},
		"two words": {"False NotReady", "ExampleMachine reports a failure: two words: no disk"},
	} {
		f := newFixture(t, newMachine(withConfig), newCluster(), provisionedInfra(), config(map[string]any{"failureMessage": "no token"}))
		f.set("ExampleMachine", "i", reason, "status", "failureReason")
		f.set("ExampleMachine", "i", "no disk", "status", "failureMessage")
		f.reconcile()
		f.expect("InfrastructureReady", want[0], want[1])
		f.expect("BootstrapConfigReady", "False NotReady", "ExampleConfig reports a failure: no token")
	}
}

// Behaviors MB55-62, MC29 of test/behaviours.
func TestCertificates_ReadTheExpiryFromAnnotations(t *testing.T) {
	const early, late = "2027-01-01T00:00:00Z", "2028-01-01T00:00:00Z"
	key := clusterv1alpha1.MachineCertificatesExpiryDateAnnotation
	tests := map[string]struct {
		worker             bool
		onMachine, onOther string
		before             bool
		want, fails        string
	}{
		"a worker":                      {worker: true, onMachine: early},
		"no annotation":                 {},
		"on the bootstrap object":       {onOther: late, want: late},
		"on the Machine":                {onMachine: early, want: early},
		"on both":                       {onMachine: early, onOther: late, want: early},
		"removed":                       {before: true},
		"invalid time":                  {before: true, onMachine: "never", want: late, fails: "annotation machine.cluster.x-k8s.io/certificates-expiry of the Machine"},
		"invalid time on the bootstrap": {onOther: "never", fails: "of ExampleConfig ns/b"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			c := config(nil)
			if test.onOther != "" {
				c.SetAnnotations(map[string]string{key: test.onOther})
			}
			f := newFixture(t, newMachine(withConfig, func(m *machine) {
				if !test.worker {
					ofControlPlane(m)
				}
				if test.onMachine != "" {
					annotated(key, test.onMachine)(m)
				}
				if test.before {
					at, _ := time.Parse(time.RFC3339, late)
					m.Status.CertificatesExpiryDate = pointer(metav1.NewTime(at))
				}
			}), newCluster(), infra(), c)
			if test.fails != "" {
				f.expectError(test.fails)
			} else {
				f.reconcile()
			}
			got := ""
			if at := f.machine().Status.CertificatesExpiryDate; at != nil {
				got = at.UTC().Format(time.RFC3339)
			}
			if got != test.want {
				t.Errorf("certificates expire %q, want %q", got, test.want)
			}
		})
	}
}
