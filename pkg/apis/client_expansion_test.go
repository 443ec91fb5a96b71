// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package apis_test

import (
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer/protobuf"
	"k8s.io/client-go/rest"
	clienttesting "k8s.io/client-go/testing"

	vmv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/vm/v1alpha1"
	"github.com/slipway-dev/slipway/pkg/generated/clientset/versioned"
	"github.com/slipway-dev/slipway/pkg/generated/clientset/versioned/fake"
	"github.com/slipway-dev/slipway/pkg/generated/clientset/versioned/scheme"
	vmclient "github.com/slipway-dev/slipway/pkg/generated/clientset/versioned/typed/vm/v1alpha1"
)

// exchange is a request that the server received.
type exchange struct {
	Method, Path, Query, ContentType string
	Body                             runtime.Object
}

// startServer starts a server that responds to every request with answer in protobuf and stores the request in the
// returned exchange.
func startServer(t *testing.T, answer runtime.Object) (vmclient.VirtualMachineInterface, *exchange) {
	t.Helper()
	seen := &exchange{}
	serializer := protobuf.NewSerializer(scheme.Scheme, scheme.Scheme)
	codec := scheme.Codecs.CodecForVersions(serializer, serializer, vmv1alpha1.SchemeGroupVersion, vmv1alpha1.SchemeGroupVersion)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		*seen = exchange{Method: r.Method, Path: r.URL.Path, Query: r.URL.RawQuery, ContentType: r.Header.Get("Content-Type")}
		data, err := io.ReadAll(r.Body)
		if err == nil && len(data) > 0 {
			seen.Body, err = runtime.Decode(codec, data)
		}
		if err != nil {
			t.Errorf("reading the body: %v", err)
		}
		out, err := runtime.Encode(codec, answer)
		if err != nil {
			t.Errorf("writing the answer: %v", err)
		}
		w.Header().Set("Content-Type", runtime.ContentTypeProtobuf)
		if _, err := w.Write(out); err != nil {
			t.Errorf("sending the answer: %v", err)
		}
	}))
	t.Cleanup(server.Close)
	clients, err := versioned.NewForConfig(&rest.Config{Host: server.URL})
	if err != nil {
		t.Fatal(err)
	}
	return clients.VmV1alpha1().VirtualMachines("dev"), seen
}

func TestClientRefresh_PostsOptionsAndReturnsResult(t *testing.T) {
	vms, seen := startServer(t, &vmv1alpha1.RefreshResult{NewRevision: "r2", Changed: true})
	body := &vmv1alpha1.RefreshOptions{DryRun: []string{"All"}}
	for subresource, call := range map[string]func(context.Context, string, *vmv1alpha1.RefreshOptions, metav1.CreateOptions) (*vmv1alpha1.RefreshResult, error){
		"refresh-instancetype": vms.RefreshInstancetype,
		"refresh-preference":   vms.RefreshPreference,
	} {
		t.Run(subresource, func(t *testing.T) {
			result, err := call(t.Context(), "web", body, metav1.CreateOptions{DryRun: []string{"All"}})
			if err != nil {
				t.Fatal(err)
			}
			if result.NewRevision != "r2" || !result.Changed {
				t.Errorf("result is %+v", result)
			}
			want := &exchange{"POST", "/apis/vm.slipway.dev/v1alpha1/namespaces/dev/virtualmachines/web/" + subresource, "dryRun=All", runtime.ContentTypeProtobuf, body}
			if diff := cmp.Diff(want, seen, withoutKind); diff != "" {
				t.Errorf("request differs (-want +got):\n%s", diff)
			}
		})
	}
}

func TestClientPower_PostsOptionsAndReturnsVirtualMachine(t *testing.T) {
	answer := &vmv1alpha1.VirtualMachine{ObjectMeta: metav1.ObjectMeta{Name: "web"}}
	vms, seen := startServer(t, answer)
	for subresource, call := range map[string]func(context.Context, string, *vmv1alpha1.PowerOptions, metav1.CreateOptions) (*vmv1alpha1.VirtualMachine, error){
		"start":   vms.Start,
		"stop":    vms.Stop,
		"restart": vms.Restart,
		"suspend": vms.Suspend,
	} {
		t.Run(subresource, func(t *testing.T) {
			got, err := call(t.Context(), "web", nil, metav1.CreateOptions{})
			if err != nil {
				t.Fatal(err)
			}
			if got.Name != "web" {
				t.Errorf("name is %q, want web", got.Name)
			}
			want := &exchange{"POST", "/apis/vm.slipway.dev/v1alpha1/namespaces/dev/virtualmachines/web/" + subresource, "", runtime.ContentTypeProtobuf, &vmv1alpha1.PowerOptions{}}
			if diff := cmp.Diff(want, seen, withoutKind); diff != "" {
				t.Errorf("request differs (-want +got):\n%s", diff)
			}
		})
	}
}

func TestClientExpandSpec_SendsGeneration(t *testing.T) {
	vms, seen := startServer(t, &vmv1alpha1.VirtualMachine{Spec: vmv1alpha1.VirtualMachineSpec{CPU: &vmv1alpha1.VirtualMachineCPU{Sockets: 4}}})
	got, err := vms.ExpandSpec(t.Context(), "web", vmv1alpha1.ExpandOptions{Generation: "latest"})
	if err != nil {
		t.Fatal(err)
	}
	if got.Spec.CPU == nil || got.Spec.CPU.Sockets != 4 {
		t.Errorf("cpu is %+v, want 4 sockets", got.Spec.CPU)
	}
	want := &exchange{"GET", "/apis/vm.slipway.dev/v1alpha1/namespaces/dev/virtualmachines/web/expand-spec", "generation=latest", "", nil}
	if diff := cmp.Diff(want, seen); diff != "" {
		t.Errorf("request differs (-want +got):\n%s", diff)
	}
}

func TestFakeClient_RecordsSubresourcesAndUsesReactors(t *testing.T) {
	stored := &vmv1alpha1.VirtualMachine{ObjectMeta: metav1.ObjectMeta{Name: "web", Namespace: "dev"}}
	clients := fake.NewClientset(stored)
	clients.PrependReactor("create", "virtualmachines/refresh-instancetype", func(clienttesting.Action) (bool, runtime.Object, error) {
		return true, &vmv1alpha1.RefreshResult{NewRevision: "r2"}, nil
	})
	vms := clients.VmV1alpha1().VirtualMachines("dev")

	result, err := vms.RefreshInstancetype(t.Context(), "web", nil, metav1.CreateOptions{})
	if err != nil || result.NewRevision != "r2" {
		t.Fatalf("got %+v, %v", result, err)
	}
	if _, err := vms.Stop(t.Context(), "web", &vmv1alpha1.PowerOptions{Mode: vmv1alpha1.PowerOpModeHard}, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	var calls []string
	for _, action := range clients.Actions() {
		calls = append(calls, action.GetVerb()+" "+action.GetSubresource())
	}
	if diff := cmp.Diff([]string{"create refresh-instancetype", "create stop"}, calls); diff != "" {
		t.Errorf("calls differ (-want +got):\n%s", diff)
	}
	if got, err := vms.Get(t.Context(), "web", metav1.GetOptions{}); err != nil || got.Name != "web" {
		t.Errorf("the stored virtual machine became %+v, %v", got, err)
	}
}

// withoutKind ignores the kind of bodies, which decoding can set.
var withoutKind = cmp.Options{
	cmpopts.IgnoreTypes(metav1.TypeMeta{}),
}

func TestClientConsole_PostsAndReturnsTicket(t *testing.T) {
	vms, seen := startServer(t, &vmv1alpha1.VirtualMachineConsole{Status: vmv1alpha1.VirtualMachineConsoleStatus{Ticket: "secret"}})
	got, err := vms.Console(t.Context(), "web", metav1.CreateOptions{DryRun: []string{"All"}})
	if err != nil || got.Status.Ticket != "secret" {
		t.Errorf("console %+v, error %v", got, err)
	}
	if seen.Method != http.MethodPost || !strings.HasSuffix(seen.Path, "/namespaces/dev/virtualmachines/web/console") || seen.Query != "dryRun=All" {
		t.Errorf("request %+v, want a POST to console", seen)
	}
}

func TestClientScreenshot_ReturnsResponseBody(t *testing.T) {
	answer, code := "a picture", http.StatusOK
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method != http.MethodGet || !strings.HasSuffix(r.URL.Path, "/namespaces/dev/virtualmachines/web/screenshot") {
			t.Errorf("request %s %s, want a GET of the screenshot", r.Method, r.URL.Path)
		}
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(code)
		_, _ = io.WriteString(w, answer)
	}))
	t.Cleanup(server.Close)
	clients, err := versioned.NewForConfig(&rest.Config{Host: server.URL})
	if err != nil {
		t.Fatal(err)
	}
	vms := clients.VmV1alpha1().VirtualMachines("dev")
	if got, err := vms.Screenshot(t.Context(), "web"); err != nil || string(got) != answer {
		t.Errorf("got %q, error %v, want %q", got, err, answer)
	}
	answer, code = `{"kind":"Status","apiVersion":"v1","status":"Failure","message":"it is off","reason":"Conflict","code":409}`, http.StatusConflict
	if _, err := vms.Screenshot(t.Context(), "web"); !apierrors.IsConflict(err) || err.Error() != "it is off" {
		t.Errorf("error %v, want the error of the server", err)
	}
}
