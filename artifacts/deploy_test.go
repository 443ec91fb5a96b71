// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package artifacts

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/yaml"
)

// roles returns the rules of every role in the deployment by name.
func roles(t *testing.T) map[string][]rbacv1.PolicyRule {
	t.Helper()
	all := map[string][]rbacv1.PolicyRule{}
	files, err := filepath.Glob("deploy/base/2*-rbac-*.yaml")
	if err != nil || len(files) < 5 {
		t.Fatalf("%d files with permissions of the server, %v", len(files), err)
	}
	for _, name := range append(files, "deploy/base/30-rbac-users.yaml", "deploy/cluster-api/rbac.yaml", "deploy/components/monitoring/servicemonitor.yaml") {
		data, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		for decoder := yaml.NewYAMLOrJSONDecoder(bytes.NewReader(data), 4096); ; {
			var role rbacv1.ClusterRole // also used for Roles, which have the same fields
			err := decoder.Decode(&role)
			if errors.Is(err, io.EOF) {
				break
			}
			if err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			all[role.Name] = append(all[role.Name], role.Rules...)
		}
	}
	return all
}

func TestRoles_HaveNoWildcards(t *testing.T) {
	for name, rules := range roles(t) {
		for _, rule := range rules {
			for _, list := range [][]string{rule.APIGroups, rule.Resources, rule.Verbs, rule.NonResourceURLs} {
				if slices.Contains(list, "*") {
					t.Errorf("role %s has the rule %v", name, rule)
				}
			}
		}
	}
}

// permissions returns the permissions of the server, such as "secrets get". Permissions in one namespace have the
// namespace as prefix.
func permissions(t *testing.T, all map[string]*unstructured.Unstructured) map[string]bool {
	t.Helper()
	got := map[string]bool{}
	for name, o := range all {
		if !strings.Contains(o.GetKind(), "Binding") || !strings.HasPrefix(o.GetName(), "slipway-apiserver") {
			continue
		}
		b := typed[rbacv1.RoleBinding](t, o) // also used for ClusterRoleBindings, which have the same fields
		role := all[b.RoleRef.Kind+" "+b.RoleRef.Name]
		if role == nil {
			if !strings.HasPrefix(b.RoleRef.Name, "system:") && !strings.HasPrefix(b.RoleRef.Name, "extension-") {
				t.Errorf("%s binds %s, which does not exist", name, b.RoleRef.Name)
			}
			continue
		}
		r := typed[rbacv1.ClusterRole](t, role)
		if r.AggregationRule != nil {
			got["providers"] = true
		}
		for _, rule := range r.Rules {
			for _, resource := range rule.Resources {
				for _, verb := range rule.Verbs {
					got[strings.TrimSpace(resource+" "+verb+" "+b.Namespace)] = true
				}
			}
		}
	}
	return got
}

func TestServerPermissions_FollowTheEnabledFeatures(t *testing.T) {
	base := permissions(t, built(t, "deploy/base"))
	for name, want := range map[string][]string{
		overlays + "secret-namespaces": {"- secrets get", "+ secrets get team-a"},
		"named-networks":               {"- nodes list", "- nodes watch", "- servicecidrs list", "- servicecidrs watch"},
		"no-providers":                 {"- providers"},
		overlays + "cert-manager": {
			"- apiservices list", "- apiservices patch", "- apiservices watch",
			"- secrets create slipway-system", "- secrets list slipway-system", "- secrets update slipway-system", "- secrets watch slipway-system",
		},
	} {
		var all map[string]*unstructured.Unstructured
		if strings.HasPrefix(name, overlays) {
			all = built(t, name)
		} else {
			all = together(t, name)
		}
		got := permissions(t, all)
		var diff []string
		for p := range base {
			if !got[p] {
				diff = append(diff, "- "+p)
			}
		}
		for p := range got {
			if !base[p] {
				diff = append(diff, "+ "+p)
			}
		}
		slices.Sort(diff)
		slices.Sort(want)
		if diff := cmp.Diff(want, diff); diff != "" {
			t.Errorf("%s changes the server's permissions (-want +got):\n%s", name, diff)
		}
	}
	if !base["secrets get"] || base["secrets list"] || base["secrets create"] || base["secrets update"] {
		t.Error("the server has a permission other than get for Secrets of all namespaces")
	}
}

// A user with this role who is not in --privileged-users can only get the report of orphans, because admission
// rejects other writes. The other permissions that privileged users need are in the roles view and edit.
func TestRecoveryRole_HasNoPermissionsOnVirtualMachines(t *testing.T) {
	want := []rbacv1.PolicyRule{
		{APIGroups: []string{"vm.slipway.dev"}, Resources: []string{"orphans"}, Verbs: []string{"list"}},
		{APIGroups: []string{"vm.slipway.dev"}, Resources: []string{"virtualmachines/status"}, Verbs: []string{"update"}},
		{APIGroups: []string{"instancetype.slipway.dev"}, Resources: []string{"controllerrevisions"}, Verbs: []string{"create"}},
	}
	if diff := cmp.Diff(want, roles(t)["slipway-recovery"]); diff != "" {
		t.Errorf("slipway-recovery (-want +got):\n%s", diff)
	}
}

func TestUserRoles_DoNotWriteObjectsOfControllers(t *testing.T) {
	reads := []string{"get", "list", "watch"}
	for name, rules := range roles(t) {
		for _, rule := range rules {
			if name == "slipway-recovery" && slices.Equal(rule.Resources, []string{"virtualmachines/status"}) {
				continue // only for privileged users, who restore objects
			}
			for _, resource := range []string{"virtualmachines/status", "virtualmachineinstances", "virtualmachineinstances/status", "virtualmachineimages/status", "clustervirtualmachineimages/status",
				"slipwayclusters/status", "clusters/status", "machines/status", "machinesets/status", "machinedeployments/status", "machinehealthchecks/status"} {
				if slices.Contains(rule.Resources, resource) && slices.ContainsFunc(rule.Verbs, func(v string) bool { return !slices.Contains(reads, v) }) {
					t.Errorf("role %s may %v %s", name, rule.Verbs, resource)
				}
			}
		}
	}
}

// workload contains the images of a StatefulSet or a pod.
type workload struct {
	Kind string
	Spec struct {
		Template struct {
			Spec struct{ Containers []struct{ Image string } }
		}
		Containers []struct{ Image string }
	}
}

// objectsOf returns the objects in a file.
func objectsOf(t *testing.T, file string) map[string]workload {
	t.Helper()
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	objects, err := Decode(data)
	if err != nil {
		t.Fatal(err)
	}
	all := map[string]workload{}
	for _, o := range objects {
		var w workload
		text, err := o.MarshalJSON()
		if err == nil {
			err = json.Unmarshal(text, &w)
		}
		if err != nil {
			t.Fatalf("%s: %v", file, err)
		}
		all[w.Kind] = w
	}
	return all
}

func TestPodDisruptionBudgets_SelectPodsAndAllowOne(t *testing.T) {
	all := built(t, overlays+"etcd")
	for _, name := range []string{"slipway-apiserver", "slipway-etcd"} {
		labels := typed[appsv1.StatefulSet](t, all["StatefulSet "+name]).Spec.Template.Labels
		budget := typed[policyv1.PodDisruptionBudget](t, all["PodDisruptionBudget "+name]).Spec
		if diff := cmp.Diff(labels, budget.Selector.MatchLabels); diff != "" || len(labels) == 0 {
			t.Errorf("%s: the budget selects other pods (-pods +budget):\n%s", name, diff)
		}
		if m := budget.MaxUnavailable; m == nil || m.IntValue() != 1 {
			t.Errorf("%s: maxUnavailable is %v, want 1", name, m)
		}
	}
}

func TestRestore_UsesTheImageOfTheServer(t *testing.T) {
	server, pod := objectsOf(t, "deploy/base/50-deployment.yaml")["StatefulSet"], objectsOf(t, "recovery/restore.yaml")["Pod"]
	if want, got := server.Spec.Template.Spec.Containers[0].Image, pod.Spec.Containers[0].Image; got != want {
		t.Errorf("the pod uses the image %s, the server %s", got, want)
	}
}

// A replica that is shutting down continues to serve until its readiness probe has failed, if another replica can
// serve requests.
func TestServer_ServesUntilItsProbeHasFailed(t *testing.T) {
	spec := typed[appsv1.StatefulSet](t, built(t, overlays+"external-etcd")["StatefulSet slipway-apiserver"]).Spec.Template.Spec
	c := spec.Containers[0]
	i := slices.IndexFunc(c.Args, func(arg string) bool { return strings.HasPrefix(arg, "--shutdown-delay-duration=") })
	if i < 0 {
		t.Fatalf("no --shutdown-delay-duration in %v", c.Args)
	}
	delay, err := time.ParseDuration(strings.TrimPrefix(c.Args[i], "--shutdown-delay-duration="))
	if err != nil {
		t.Fatal(err)
	}
	probe := time.Duration(c.ReadinessProbe.PeriodSeconds*c.ReadinessProbe.FailureThreshold) * time.Second
	if probe <= 0 || delay <= probe {
		t.Errorf("the server serves for %s, but the probe fails after %s", delay, probe)
	}
	// A create in vSphere that is in progress may take 5 seconds, and requests one minute.
	if grace := time.Duration(*spec.TerminationGracePeriodSeconds) * time.Second; grace < delay+65*time.Second {
		t.Errorf("the grace period of %s is shorter than a shutdown may take", grace)
	}
	if spec.PriorityClassName != "system-cluster-critical" {
		t.Errorf("priority class %q: pods with a higher priority may preempt the server, and then no namespace can be deleted", spec.PriorityClassName)
	}
}

// A restart does not repair a slow store, so a slow store must not fail the liveness probe.
func TestServer_IsNotRestartedWhenItIsSlow(t *testing.T) {
	c := typed[appsv1.StatefulSet](t, built(t, "deploy/base")["StatefulSet slipway-apiserver"]).Spec.Template.Spec.Containers[0]
	for name, probe := range map[string]*corev1.Probe{"livenessProbe": c.LivenessProbe, "startupProbe": c.StartupProbe} {
		if probe.HTTPGet.Path != "/livez?exclude=etcd" || probe.TimeoutSeconds < 15 || probe.FailureThreshold < 8 {
			t.Errorf("%s: %s, timeout %d s, %d failures", name, probe.HTTPGet.Path, probe.TimeoutSeconds, probe.FailureThreshold)
		}
	}
	var probes []string
	comments := regexp.MustCompile(`(?m)^ *(#|\{\{).*\n`)
	for _, file := range []string{"deploy/base/50-deployment.yaml", "chart/slipway/templates/50-deployment.yaml"} {
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		text := comments.ReplaceAllString(string(data), "")
		probes = append(probes, regexp.MustCompile(`(?s) livenessProbe:.*? resources:`).FindString(text))
	}
	if diff := cmp.Diff(probes[0], probes[1]); diff != "" || probes[0] == "" {
		t.Errorf("probes of the chart (-base +chart):\n%s", diff)
	}
	if start := c.StartupProbe.PeriodSeconds * c.StartupProbe.FailureThreshold; start < 300 {
		t.Errorf("the startup probe fails after %d s, before the server itself stops", start)
	}
}
