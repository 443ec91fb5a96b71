// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package artifacts

import (
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/pod-security-admission/api"
	"k8s.io/pod-security-admission/policy"
)

// pods returns the pod templates of a file or overlay by the kind of their object.
func pods(t *testing.T, file string) map[string]corev1.PodTemplateSpec {
	t.Helper()
	var objects []*unstructured.Unstructured
	switch {
	case strings.HasPrefix(file, overlays):
		objects = slices.Collect(maps.Values(built(t, file)))
	case strings.HasPrefix(file, "deploy/components/"):
		objects = slices.Collect(maps.Values(together(t, "etcd", filepath.Base(file))))
	default:
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if objects, err = Decode(data); err != nil {
			t.Fatal(err)
		}
	}
	var err error
	found := map[string]corev1.PodTemplateSpec{}
	for _, u := range objects {
		var set appsv1.StatefulSet
		var pod corev1.Pod
		switch u.GetKind() {
		case "StatefulSet":
			err = runtime.DefaultUnstructuredConverter.FromUnstructured(u.Object, &set)
			found[set.Kind+" "+set.Name] = set.Spec.Template
		case "Pod":
			err = runtime.DefaultUnstructuredConverter.FromUnstructured(u.Object, &pod)
			found[pod.Kind+" "+pod.Name] = corev1.PodTemplateSpec{ObjectMeta: pod.ObjectMeta, Spec: pod.Spec}
		}
		if err != nil {
			t.Fatalf("%s: %v", file, err)
		}
	}
	return found
}

// The namespace specifies the Pod Security Standard, which all pods must meet.
func TestPods_MeetThePodSecurityStandard(t *testing.T) {
	objects, err := Objects(func(file string) bool { return file != "deploy/base/10-namespace.yaml" })
	if err != nil {
		t.Fatal(err)
	}
	none := api.LevelVersion{Level: api.LevelPrivileged, Version: api.LatestVersion()}
	enforced, errs := api.PolicyToEvaluate(objects[0].GetLabels(), api.Policy{Enforce: none, Warn: none, Audit: none})
	if len(errs) > 0 {
		t.Fatal(errs.ToAggregate())
	}
	for mode, level := range map[string]api.LevelVersion{"enforce": enforced.Enforce, "warn": enforced.Warn, "audit": enforced.Audit} {
		if level.Level != api.LevelRestricted {
			t.Errorf("%s is %q, want %s", mode, level.Level, api.LevelRestricted)
		}
	}
	evaluator, err := policy.NewEvaluator(policy.DefaultChecks(), nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range []string{"deploy/base/50-deployment.yaml", "recovery/restore.yaml", overlays + "etcd", overlays + "external-etcd", overlays + "cert-manager", "deploy/components/etcd-restore"} {
		found := pods(t, file)
		if len(found) == 0 {
			t.Errorf("no pod in %s", file)
		}
		for kind, pod := range found {
			results := evaluator.EvaluatePod(enforced.Enforce, &metav1.ObjectMeta{Labels: pod.Labels}, &pod.Spec)
			if result := policy.AggregateCheckResults(results); !result.Allowed || len(results) == 0 {
				t.Errorf("%s, %s: %d checks: %s", file, kind, len(results), result.ForbiddenDetail())
			}
		}
	}
}
