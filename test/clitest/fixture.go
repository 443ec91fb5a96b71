// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package clitest

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/cli-runtime/pkg/genericclioptions"
	"k8s.io/cli-runtime/pkg/genericiooptions"
	"k8s.io/client-go/rest"

	"github.com/slipway-dev/slipway/cmd/virtctl/root"
	"github.com/slipway-dev/slipway/pkg/apis/scheme"
	"github.com/slipway-dev/slipway/pkg/apis/vm/backup"
	"github.com/slipway-dev/slipway/pkg/apis/vm/orphans"
	vmv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/vm/v1alpha1"
	"github.com/slipway-dev/slipway/pkg/apiserver/inprocess"
)

// APIServer answers like slipway-apiserver for the given virtual machines, and records the requests that change
// objects.
type APIServer struct {
	VMs []vmv1alpha1.VirtualMachine
	// Images and clusterImages are namespaced and cluster-scoped images.
	Images        []vmv1alpha1.VirtualMachineImage
	ClusterImages []vmv1alpha1.ClusterVirtualMachineImage
	Libraries     []vmv1alpha1.ContentLibrary
	// Groups are the names of the groups in the namespace dev.
	Groups   []string
	Requests []string
	Refresh  vmv1alpha1.RefreshResult
	// Orphans is the report of orphans.
	Orphans orphans.Report
	// UniqueIDs are the object names of adopted VMs, by instance UUID.
	UniqueIDs map[string]string
	Vcenters  []vmv1alpha1.VCenter
	Zones     []vmv1alpha1.Zone
	// Console is the response to console, and picture is the response to screenshot.
	Console vmv1alpha1.VirtualMachineConsoleStatus
	Picture []byte
	// Store is the response to backup.
	Store []byte
	// Absent simulates a cluster without slipway-apiserver.
	Absent bool
	// Refuse is a resource whose creation is rejected.
	Refuse string
	// Answers are the responses of other paths, and refused are the paths that may not be read.
	Answers map[string]any
	Refused []string
	// Watched are the events of successive watches, and versions are the resource versions at which they were
	// requested to start.
	Watched  []string
	Versions []string
	Watching sync.Mutex
}

// APIPrefix is the prefix of the paths of namespaced objects in vm.slipway.dev.
const APIPrefix = "/apis/vm.slipway.dev/v1alpha1/namespaces/"

// ServeHTTP implements http.Handler.
func (s *APIServer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Content-Type", "application/json")
	if r.Method == http.MethodPost || r.Method == http.MethodPatch {
		body, _ := io.ReadAll(r.Body)
		s.Requests = append(s.Requests, r.URL.RequestURI()+" "+asJSON(body))
	}
	if s.Absent {
		w.Header().Set("Content-Type", "text/plain")
		http.Error(w, "404 page not found", http.StatusNotFound)
		return
	}
	if r.Method == http.MethodPost && s.Refuse != "" && strings.HasSuffix(r.URL.Path, "/"+s.Refuse) {
		w.WriteHeader(http.StatusForbidden)
		_, _ = io.WriteString(w, `{"kind":"Status","apiVersion":"v1","status":"Failure","reason":"Forbidden","message":"not allowed","code":403}`)
		return
	}
	if s.serveOther(w, r) || s.serveOne(w, r) || s.serveImages(w, r.URL.Path) || s.serveAdoption(w, r) {
		return
	}
	parts := strings.Split(strings.TrimPrefix(r.URL.Path, APIPrefix), "/") // namespace, virtualmachines, name, subresource
	switch {
	case len(parts) == 3 && parts[1] == "virtualmachinegroups":
		if slices.Contains(s.Groups, parts[2]) {
			_, _ = fmt.Fprintf(w, `{"metadata":{"name":%q}}`, parts[2])
			return
		}
	case strings.HasSuffix(r.URL.Path, "/virtualmachines"):
		list := vmv1alpha1.VirtualMachineList{}
		for _, vm := range s.VMs {
			if r.URL.Query().Get("labelSelector") != "app=none" && (len(parts) < 2 || strings.HasPrefix(r.URL.Path, "/apis/vm.slipway.dev/v1alpha1/virtualmachines") || vm.Namespace == parts[0]) {
				list.Items = append(list.Items, vm)
			}
		}
		_ = json.NewEncoder(w).Encode(list)
		return
	case len(parts) == 3 || len(parts) == 4:
		for _, vm := range s.VMs {
			if vm.Namespace != parts[0] || vm.Name != parts[2] {
				continue
			}
			if len(parts) == 4 && strings.HasPrefix(parts[3], "refresh-") {
				result := s.Refresh
				result.Namespace, result.Name = vm.Namespace, vm.Name
				_ = json.NewEncoder(w).Encode(result)
				return
			}
			switch {
			case len(parts) == 4 && parts[3] == "console":
				_ = json.NewEncoder(w).Encode(vmv1alpha1.VirtualMachineConsole{ObjectMeta: metav1.ObjectMeta{Namespace: vm.Namespace, Name: vm.Name}, Status: s.Console})
			case len(parts) == 4 && parts[3] == "screenshot":
				w.Header().Set("Content-Type", "image/png")
				_, _ = w.Write(s.Picture)
			default:
				_ = json.NewEncoder(w).Encode(vm)
			}
			return
		}
	}
	w.WriteHeader(http.StatusNotFound)
	_ = json.NewEncoder(w).Encode(metav1.Status{TypeMeta: metav1.TypeMeta{Kind: "Status", APIVersion: "v1"}, Status: metav1.StatusFailure, Reason: metav1.StatusReasonNotFound, Code: 404,
		Message: fmt.Sprintf("%q not found", path.Base(r.URL.Path))})
}

// serveOther answers requests with Answers.
func (s *APIServer) serveOther(w http.ResponseWriter, r *http.Request) bool {
	answer, ok := s.Answers[r.URL.Path]
	switch {
	case slices.Contains(s.Refused, r.URL.Path):
		w.WriteHeader(http.StatusForbidden)
		_, _ = io.WriteString(w, `{"kind":"Status","apiVersion":"v1","status":"Failure","reason":"Forbidden","message":"not allowed","code":403}`)
	case !ok:
		return false
	case r.URL.Query().Get("watch") != "":
		s.Watching.Lock()
		s.Versions = append(s.Versions, r.URL.Query().Get("resourceVersion"))
		told := ""
		if len(s.Watched) > 0 {
			told, s.Watched = s.Watched[0], s.Watched[1:]
		}
		s.Watching.Unlock()
		_, _ = io.WriteString(w, told)
		if flusher, ok := w.(http.Flusher); ok {
			flusher.Flush()
		}
		if told == "" {
			<-r.Context().Done()
		}
	default:
		_ = json.NewEncoder(w).Encode(answer)
	}
	return true
}

// serveOne answers requests for one path.
func (s *APIServer) serveOne(w http.ResponseWriter, r *http.Request) bool {
	if r.URL.Path == orphans.Path {
		_ = json.NewEncoder(w).Encode(s.Orphans)
		return true
	}
	if r.URL.Path == backup.Path && r.Method == http.MethodPost {
		w.Header().Set("Content-Type", backup.MediaType)
		_, _ = w.Write(s.Store)
		return true
	}
	if r.Method == http.MethodPost && (strings.HasSuffix(r.URL.Path, "/controllerrevisions") || strings.HasSuffix(r.URL.Path, "/virtualmachinegroups")) {
		_, _ = io.WriteString(w, `{"metadata":{"name":"made"}}`)
		return true
	}
	if r.URL.Path == "/api/v1/namespaces" {
		_, _ = io.WriteString(w, `{"items":[{"metadata":{"name":"dev"}},{"metadata":{"name":"prod"}}]}`)
		return true
	}
	if r.URL.Path == "/apis/instancetype.slipway.dev/v1alpha1/virtualmachineclusterinstancetypes/u1.small" {
		_, _ = io.WriteString(w, `{"metadata":{"name":"u1.small"},"spec":{"cpu":{"guest":2},"memory":{"guest":"3Gi"}}}`)
		return true
	}
	return false
}

// asJSON returns the sent object, which may be protobuf, as JSON.
func asJSON(body []byte) string {
	obj, _, err := scheme.Codecs.UniversalDeserializer().Decode(body, nil, nil)
	if err != nil {
		return string(body)
	}
	out, err := json.Marshal(obj)
	if err != nil {
		return err.Error()
	}
	return string(out)
}

// Run runs virtctl under the given program name, with standard input and arguments, against s. It returns the exit
// code and the output.
func Run(t *testing.T, program, stdin string, s http.Handler, args ...string) (code int, out, errOut string) {
	t.Helper()
	server := httptest.NewServer(s)
	t.Cleanup(server.Close)
	return execute(t.Context(), t, genericclioptions.NewConfigFlags(true), server.URL, program, stdin, args)
}

// RunInBubble runs virtctl like Run and calls s without a connection, so that it can be used in a bubble of
// testing/synctest.
func RunInBubble(ctx context.Context, t *testing.T, s http.Handler, args ...string) (code int, out, errOut string) {
	t.Helper()
	flags := genericclioptions.NewConfigFlags(true).WithWrapConfigFn(func(config *rest.Config) *rest.Config {
		config.Transport = inprocess.Transport(s)
		return config
	})
	return execute(ctx, t, flags, "http://cluster.example.com", "virtctl", "", args)
}

// execute runs virtctl with a kubeconfig of a server.
func execute(ctx context.Context, t *testing.T, flags *genericclioptions.ConfigFlags, url, program, stdin string, args []string) (code int, out, errOut string) {
	t.Helper()
	kubeconfig := filepath.Join(t.TempDir(), "kubeconfig")
	config := fmt.Sprintf(`{"apiVersion":"v1","kind":"Config","current-context":"c",
"clusters":[{"name":"c","cluster":{"server":%q}}],"users":[{"name":"u","user":{}}],
"contexts":[{"name":"c","context":{"cluster":"c","user":"u","namespace":"dev"}}]}`, url)
	if err := os.WriteFile(kubeconfig, []byte(config), 0o600); err != nil {
		t.Fatal(err)
	}
	var stdout, stderr bytes.Buffer
	streams := genericiooptions.IOStreams{In: strings.NewReader(stdin), Out: &stdout, ErrOut: &stderr}
	code = root.Main(ctx, append([]string{program, "--kubeconfig", kubeconfig}, args...), flags, streams)
	return code, stdout.String(), stderr.String()
}

// Machine returns a virtual machine.
func Machine(namespace, name string) vmv1alpha1.VirtualMachine {
	return vmv1alpha1.VirtualMachine{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}}
}

// serveAdoption answers requests for vCenters and zones, and creations of virtual machines.
func (s *APIServer) serveAdoption(w http.ResponseWriter, r *http.Request) bool {
	switch {
	case strings.HasSuffix(r.URL.Path, "/v1alpha1/vcenters"):
		_ = json.NewEncoder(w).Encode(vmv1alpha1.VCenterList{Items: s.Vcenters})
	case strings.HasSuffix(r.URL.Path, "/v1alpha1/zones"):
		_ = json.NewEncoder(w).Encode(vmv1alpha1.ZoneList{Items: s.Zones})
	case strings.HasSuffix(r.URL.Path, "/virtualmachines") && r.Method == http.MethodPost:
		s.create(w, r)
	default:
		return false
	}
	return true
}

// serveImages answers requests for images, if path is one.
func (s *APIServer) serveImages(w http.ResponseWriter, path string) bool {
	const group = "/apis/vm.slipway.dev/v1alpha1/"
	rest := strings.TrimPrefix(path, group)
	switch {
	case rest == "contentlibraries":
		_ = json.NewEncoder(w).Encode(vmv1alpha1.ContentLibraryList{Items: s.Libraries})
		return true
	case rest == "clustervirtualmachineimages":
		_ = json.NewEncoder(w).Encode(vmv1alpha1.ClusterVirtualMachineImageList{Items: s.ClusterImages})
		return true
	case strings.HasSuffix(rest, "virtualmachineimages"):
		var list vmv1alpha1.VirtualMachineImageList
		for _, i := range s.Images {
			if rest == "virtualmachineimages" || rest == "namespaces/"+i.Namespace+"/virtualmachineimages" {
				list.Items = append(list.Items, i)
			}
		}
		_ = json.NewEncoder(w).Encode(list)
		return true
	}
	for _, i := range s.Images {
		if rest == "namespaces/"+i.Namespace+"/virtualmachineimages/"+i.Name {
			_ = json.NewEncoder(w).Encode(i)
			return true
		}
	}
	for _, i := range s.ClusterImages {
		if rest == "clustervirtualmachineimages/"+i.Name {
			_ = json.NewEncoder(w).Encode(i)
			return true
		}
	}
	return false
}

// create creates a virtual machine as the server and its controller do. It refuses the name forbidden, and never
// adopts the machine named slow.
func (s *APIServer) create(w http.ResponseWriter, r *http.Request) {
	_, body, _ := strings.Cut(s.Requests[len(s.Requests)-1], " ")
	var vm vmv1alpha1.VirtualMachine
	if err := runtime.DecodeInto(scheme.Codecs.UniversalDeserializer(), []byte(body), &vm); err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	refuse := func(code int32, why metav1.StatusReason, message string) {
		w.WriteHeader(int(code))
		_ = json.NewEncoder(w).Encode(metav1.Status{
			TypeMeta: metav1.TypeMeta{Kind: "Status", APIVersion: "v1"}, Status: metav1.StatusFailure, Reason: why, Code: code, Message: message})
	}
	switch {
	case vm.Name == "forbidden":
		refuse(http.StatusForbidden, metav1.StatusReasonForbidden, "only privileged users may set spec.instanceUUID")
		return
	case slices.ContainsFunc(s.VMs, func(other vmv1alpha1.VirtualMachine) bool { return other.Name == vm.Name }):
		refuse(http.StatusConflict, metav1.StatusReasonAlreadyExists, "exists")
		return
	}
	if r.URL.Query().Get("dryRun") == "" {
		stored := vm
		stored.Status.UniqueID = s.UniqueIDs[vm.Spec.InstanceUUID]
		for _, kind := range []string{vmv1alpha1.ConditionCreated, vmv1alpha1.ConditionConfigurationSynced} {
			c := metav1.Condition{Type: kind, Status: "True", Reason: "Succeeded"}
			if vm.Name == "slow" {
				c.Status, c.Reason, c.Message = "False", "Error", "the folder"
			}
			stored.Status.Conditions = append(stored.Status.Conditions, c)
		}
		s.VMs = append(s.VMs, stored)
	}
	w.WriteHeader(http.StatusCreated)
	_ = json.NewEncoder(w).Encode(vm)
}
