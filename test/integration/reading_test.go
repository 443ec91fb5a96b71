// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package integration

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/rest"

	vmv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/vm/v1alpha1"
	"github.com/slipway-dev/slipway/test/integration/framework"
)

func TestFieldSelectors_FindVMs(t *testing.T) {
	c := framework.StartStandalone(t).Client(t)
	vms := c.VmV1alpha1().VirtualMachines(namespace)
	off := inlineVM("off")
	off.Spec.PowerState = vmv1alpha1.PoweredOff
	createVM(t, c, off)
	on := createVM(t, c, inlineVM("on"))
	on.Status = vmv1alpha1.VirtualMachineStatus{
		Phase: vmv1alpha1.PhaseRunning, PowerState: vmv1alpha1.PoweredOn, NodeName: "esx-1",
		InstancetypeRef: &vmv1alpha1.InstancetypeRef{Name: "small", Kind: "virtualmachineclusterinstancetype", Outdated: true},
	}
	if _, err := vms.UpdateStatus(t.Context(), on, metav1.UpdateOptions{}); err != nil {
		t.Fatal(err)
	}
	for selector, want := range map[string][]string{
		"spec.powerState=PoweredOff":              {"off"},
		"status.powerState=PoweredOn":             {"on"},
		"status.phase=Running":                    {"on"},
		"status.nodeName=esx-1":                   {"on"},
		"status.nodeName=":                        {"off"},
		"status.instancetypeRef.name=small":       {"on"},
		"status.nodeName=esx-2":                   nil,
		"status.instancetypeRef.outdated=true":    {"on"},
		"status.instancetypeRef.outdated=false":   {"off"},
		"status.instancetypeRef.outdated!=false":  {"on"},
		"status.instancetypeRef.outdated!=true":   {"off"},
		"status.preferenceRef.outdated=true":      nil,
		"status.preferenceRef.outdated=false":     {"off", "on"},
		"metadata.name=on":                        {"on"},
		"spec.powerState!=Suspended":              {"off", "on"},
		"status.nodeName=esx-1,metadata.name!=on": nil,
	} {
		list, err := vms.List(t.Context(), metav1.ListOptions{FieldSelector: selector})
		if err != nil {
			t.Errorf("%s: %v", selector, err)
			continue
		}
		var names []string
		for _, vm := range list.Items {
			names = append(names, vm.Name)
		}
		if diff := cmp.Diff(want, names, cmpopts.EquateEmpty()); diff != "" {
			t.Errorf("%s (-want +got):\n%s", selector, diff)
		}
	}
	if _, err := vms.List(t.Context(), metav1.ListOptions{FieldSelector: "spec.guestID=x"}); !apierrors.IsBadRequest(err) {
		t.Errorf("a field that cannot be selected: %v, want BadRequest", err)
	}
}

func TestWatch_DeliversChangesInOrder(t *testing.T) {
	c := framework.StartStandalone(t).Client(t)
	vms := c.VmV1alpha1().VirtualMachines(namespace)
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	w, err := vms.Watch(ctx, metav1.ListOptions{FieldSelector: "status.nodeName=esx-1"})
	if err != nil {
		t.Fatal(err)
	}
	defer w.Stop()
	vm := createVM(t, c, inlineVM("moving"))
	for _, node := range []string{"esx-1", "esx-2"} {
		vm.Status.NodeName = node
		if vm, err = vms.UpdateStatus(ctx, vm, metav1.UpdateOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	for _, want := range []watch.EventType{watch.Added, watch.Deleted} {
		select {
		case event := <-w.ResultChan():
			if event.Type != want {
				t.Fatalf("event %s, want %s: the VM came to the host and left it", event.Type, want)
			}
		case <-ctx.Done():
			t.Fatalf("no %s event", want)
		}
	}
}

func TestTable_HasTheColumnsOfTheVM(t *testing.T) {
	s := framework.StartStandalone(t)
	c := s.Client(t)
	createClusterInstancetype(t, c, "small", 2, "2Gi")
	vm := createVM(t, c, typedVM("shown", "small"))
	memory := inlineVM("").Spec.Memory.Guest
	vm.Status = vmv1alpha1.VirtualMachineStatus{
		PrintableStatus: "Running", PowerState: vmv1alpha1.PoweredOn, NodeName: "esx-1",
		Resources:        &vmv1alpha1.VirtualMachineResources{VCPUs: 2, Memory: memory},
		DesiredResources: &vmv1alpha1.VirtualMachineResources{VCPUs: 4, Memory: memory},
		Network:          &vmv1alpha1.VirtualMachineNetworkStatus{PrimaryIP4: "192.0.2.7"},
	}
	if _, err := c.VmV1alpha1().VirtualMachines(namespace).UpdateStatus(t.Context(), vm, metav1.UpdateOptions{}); err != nil {
		t.Fatal(err)
	}
	var table metav1.Table
	getJSON(t, s.Config(), machinesPath, "application/json;as=Table;v=v1;g=meta.k8s.io", &table)

	var narrow []string
	for _, column := range table.ColumnDefinitions {
		if column.Priority == 0 {
			narrow = append(narrow, strings.ToUpper(column.Name))
		}
	}
	if diff := cmp.Diff([]string{"NAME", "STATUS", "POWER", "TYPE", "OUTDATED", "CPU", "MEMORY", "IP", "HOST", "AGE"}, narrow); diff != "" {
		t.Errorf("columns (-want +got):\n%s", diff)
	}
	if len(table.Rows) != 1 {
		t.Fatalf("%d rows, want 1", len(table.Rows))
	}
	want := []any{"shown", "Running", "PoweredOn", "small", "", "2 (4 desired)", "2Gi", "192.0.2.7", "esx-1"}
	if diff := cmp.Diff(want, table.Rows[0].Cells[:len(want)]); diff != "" {
		t.Errorf("cells (-want +got):\n%s", diff)
	}
}

func TestDiscovery_ListsEveryResource(t *testing.T) {
	c := framework.StartStandalone(t).Client(t)
	resources, err := c.Discovery().ServerResourcesForGroupVersion("vm.slipway.dev/v1alpha1")
	if err != nil {
		t.Fatal(err)
	}
	short := map[string][]string{}
	var subresources []string
	for _, r := range resources.APIResources {
		if name, sub, ok := strings.Cut(r.Name, "/"); ok && name == "virtualmachines" {
			subresources = append(subresources, sub)
		} else if !ok {
			short[r.Name] = r.ShortNames
		}
	}
	slices.Sort(subresources)
	if diff := cmp.Diff([]string{"console", "expand-spec", "refresh-instancetype", "refresh-preference", "restart", "screenshot", "start", "status", "stop", "suspend"}, subresources); diff != "" {
		t.Errorf("subresources (-want +got):\n%s", diff)
	}
	wantShort := map[string]string{"virtualmachines": "vm", "virtualmachineinstances": "vmi", "virtualmachineclasses": "vmclass", "virtualmachineimages": "vmimage", "clustervirtualmachineimages": "cvmimage"}
	for resource, want := range wantShort {
		if !slices.Contains(short[resource], want) {
			t.Errorf("short names of %s = %q, want %s among them", resource, short[resource], want)
		}
	}
}

func TestOpenAPI_DescribesFieldsOfTheVM(t *testing.T) {
	s := framework.StartStandalone(t)
	for path, want := range map[string]string{
		"/openapi/v2": `"/apis/vm.slipway.dev/v1alpha1/namespaces/{namespace}/virtualmachines/{name}/refresh-instancetype"`,
		"/openapi/v3/apis/vm.slipway.dev/v1alpha1":           "instancetype refers to the instance type that defines the size",
		"/openapi/v3/apis/instancetype.slipway.dev/v1alpha1": "preferredCPUTopology",
	} {
		if body := getBody(t, s.Config(), path, "application/json"); !strings.Contains(string(body), want) {
			t.Errorf("%s (%d bytes) does not contain %s", path, len(body), want)
		}
	}
}

func TestHealthEndpoints_ListTheirChecks(t *testing.T) {
	s := framework.StartStandalone(t)
	body := string(getBody(t, s.Config(), "/readyz?verbose", "text/plain"))
	for _, check := range []string{"[+]etcd ok", "[+]etcd-readiness ok", "[+]informers ok"} {
		if !strings.Contains(body, check) {
			t.Errorf("/readyz lacks %q:\n%s", check, body)
		}
	}
	if body := string(getBody(t, s.Config(), "/metrics", "text/plain")); !strings.Contains(body, "apiserver_request_total") {
		t.Error("/metrics lacks apiserver_request_total")
	}
}

// F115
func TestWarnings_ReportFieldsWithoutEffect(t *testing.T) {
	config := framework.StartStandalone(t).Config()
	var warnings recorder
	config.WarningHandler = &warnings
	vm := inlineVM("warned")
	vm.Spec.CPU.Model = "Skylake"
	createVM(t, framework.Client(t, config), vm)
	if len(warnings) != 1 || !strings.HasPrefix(warnings[0], "spec.cpu.model: ") {
		t.Errorf("warnings = %q, want one about spec.cpu.model", warnings)
	}
}

type recorder []string

func (r *recorder) HandleWarningHeader(_ int, _ string, text string) { *r = append(*r, text) }

func getJSON(t *testing.T, config *rest.Config, path, accept string, into any) {
	t.Helper()
	if err := json.Unmarshal(getBody(t, config, path, accept), into); err != nil {
		t.Fatalf("%s: %v", path, err)
	}
}

func getBody(t *testing.T, config *rest.Config, path, accept string) []byte {
	t.Helper()
	client, err := rest.HTTPClientFor(config)
	if err != nil {
		t.Fatal(err)
	}
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, strings.TrimSuffix(config.Host, "/")+path, nil)
	if err != nil {
		t.Fatal(err)
	}
	request.Header.Set("Accept", accept)
	response, err := client.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = response.Body.Close() }()
	body, err := io.ReadAll(response.Body)
	if err != nil || response.StatusCode != http.StatusOK {
		t.Fatalf("%s: status %d, error %v: %.500s", path, response.StatusCode, err, body)
	}
	return body
}
