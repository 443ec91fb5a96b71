// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	auditv1 "k8s.io/apiserver/pkg/apis/audit/v1"

	vmv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/vm/v1alpha1"
	"github.com/slipway-dev/slipway/pkg/generated/clientset/versioned"

	"github.com/slipway-dev/slipway/test/testenv"
)

// audited are the events of the server so far.
func audited(t *testing.T) (events []auditv1.Event, text string) {
	t.Helper()
	data, err := os.ReadFile(testenv.AuditLog(t))
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.SplitAfter(string(data), "\n")
	for _, line := range lines[:len(lines)-1] { // the last may be being written
		var event auditv1.Event
		if err := json.Unmarshal([]byte(line), &event); err != nil {
			t.Fatalf("%v: %s", err, line)
		}
		events = append(events, event)
	}
	return events, string(data)
}

func TestTheExampleOfAnAuditPolicyTellsWhoChangedWhatAndNoSecrets(t *testing.T) {
	t.Parallel()
	u := admin(t)
	jane := "jane-" + u.namespace
	for _, role := range []string{"slipway-edit", "slipway-view"} {
		u.kubectl("create", "rolebinding", role, "--clusterrole="+role, "--user="+jane)
	}
	config, err := environment(t).UserConfig(jane)
	if err != nil {
		t.Fatal(err)
	}
	client, err := versioned.NewForConfig(config)
	if err != nil {
		t.Fatal(err)
	}
	vms, secret := client.VmV1alpha1().VirtualMachines(u.namespace), "in-"+u.namespace
	eventually(t, short, "the rights hold", func() error {
		_, err := vms.List(t.Context(), metav1.ListOptions{})
		return err
	})
	vm := oneVCPU("web")
	vm.Annotations = map[string]string{"example.com/a": secret}
	bad := oneVCPU("bad")
	bad.Spec.CPU.Sockets = -1
	_, badly := vms.Create(t.Context(), bad, metav1.CreateOptions{})
	_, created := vms.Create(t.Context(), vm, metav1.CreateOptions{})
	_, stopped := vms.Stop(t.Context(), "web", nil, metav1.CreateOptions{})
	_, read := vms.Get(t.Context(), "web", metav1.GetOptions{}) // nobody is told of that
	_, expanded := vms.ExpandSpec(t.Context(), "web", vmv1alpha1.ExpandOptions{})
	_, refused := client.VmV1alpha1().VCenters().Create(t.Context(), &vmv1alpha1.VCenter{ObjectMeta: metav1.ObjectMeta{Name: secret}}, metav1.CreateOptions{})
	deleted := vms.Delete(t.Context(), "web", metav1.DeleteOptions{})
	if err := errors.Join(created, stopped, read, expanded, deleted); err != nil || badly == nil || refused == nil {
		t.Fatalf("%v; a VM with -1 sockets: %v; a VCenter of an ordinary user: %v", err, badly, refused)
	}

	want := []string{
		"create vm.slipway.dev virtualmachines bad: 422",
		"create vm.slipway.dev virtualmachines web: 201",
		"create vm.slipway.dev virtualmachines/stop web: 201",
		"get vm.slipway.dev virtualmachines/expand-spec web: 200",
		"delete vm.slipway.dev virtualmachines web: 200",
	}
	eventually(t, short, "the log tells it", func() error {
		events, text := audited(t)
		if strings.Contains(text, `"`+secret+`"`) {
			t.Fatal("the log holds what is in an object")
		}
		var got []string
		for _, event := range events {
			if event.User.Username == "system:apiserver" {
				t.Fatalf("the log tells of what the controllers do: %+v", event)
			}
			if o := event.ObjectRef; event.User.Username == jane && o != nil {
				got = append(got, fmt.Sprintf("%s %s %s %s: %d", event.Verb, o.APIGroup, strings.Trim(o.Resource+"/"+o.Subresource, "/"), o.Name, event.ResponseStatus.Code))
			}
		}
		if diff := cmp.Diff(want, got); diff != "" {
			return errorf("(-want +got):\n%s", diff)
		}
		return nil
	})
	// What the host cluster refuses by RBAC reaches the log of the host cluster alone.
	events, _ := audited(t)
	if slices.ContainsFunc(events, func(e auditv1.Event) bool {
		return e.ObjectRef != nil && e.ObjectRef.Resource == "vcenters" && e.User.Username == jane
	}) {
		t.Error("the server was asked for what kube-apiserver refuses")
	}
}
