// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package app

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
	"k8s.io/cli-runtime/pkg/genericiooptions"
	"k8s.io/client-go/rest"

	"github.com/slipway-dev/slipway/pkg/apis/scheme"
	"github.com/slipway-dev/slipway/pkg/apis/vm/backup"
	"github.com/slipway-dev/slipway/pkg/apis/vm/orphans"
	vmv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/vm/v1alpha1"
	"github.com/slipway-dev/slipway/pkg/generated/clientset/versioned"
)

// apiServer answers like slipway-apiserver for the virtual machines that it
// was given, and records the requests that change something.
type apiServer struct {
	vms []vmv1alpha1.VirtualMachine
	// images and clusterImages are those of namespaces and of the cluster.
	images        []vmv1alpha1.VirtualMachineImage
	clusterImages []vmv1alpha1.ClusterVirtualMachineImage
	libraries     []vmv1alpha1.ContentLibrary
	// groups are the names of those of the namespace dev.
	groups   []string
	requests []string
	refresh  vmv1alpha1.RefreshResult
	// orphans is the report of them.
	orphans orphans.Report
	// uniqueIDs are those of VMs that are taken over, by instance UUID.
	uniqueIDs map[string]string
	vcenters  []vmv1alpha1.VCenter
	zones     []vmv1alpha1.Zone
	// console is the answer to console, and picture that to screenshot.
	console vmv1alpha1.VirtualMachineConsoleStatus
	picture []byte
	// store is the answer to backup.
	store []byte
	// absent is a cluster without slipway-apiserver.
	absent bool
	// refuse is a resource of which nothing is made.
	refuse string
	// answers are what is at other paths, and refused those that may not be read.
	answers map[string]any
	refused []string
	// watched is what watches tell at a time, one after the other, and versions are where they
	// were asked to begin.
	watched  []string
	versions []string
	watching sync.Mutex
}

const apiPrefix = "/apis/vm.slipway.dev/v1alpha1/namespaces/"

func (s *apiServer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Content-Type", "application/json")
	if r.Method == http.MethodPost || r.Method == http.MethodPatch {
		body, _ := io.ReadAll(r.Body)
		s.requests = append(s.requests, r.URL.RequestURI()+" "+asJSON(body))
	}
	if s.absent {
		w.Header().Set("Content-Type", "text/plain")
		http.Error(w, "404 page not found", http.StatusNotFound)
		return
	}
	if r.Method == http.MethodPost && s.refuse != "" && strings.HasSuffix(r.URL.Path, "/"+s.refuse) {
		w.WriteHeader(http.StatusForbidden)
		_, _ = io.WriteString(w, `{"kind":"Status","apiVersion":"v1","status":"Failure","reason":"Forbidden","message":"not allowed","code":403}`)
		return
	}
	if s.serveOther(w, r) || s.serveOne(w, r) || s.serveImages(w, r.URL.Path) || s.serveAdoption(w, r) {
		return
	}
	parts := strings.Split(strings.TrimPrefix(r.URL.Path, apiPrefix), "/") // namespace, virtualmachines, name, subresource
	switch {
	case len(parts) == 3 && parts[1] == "virtualmachinegroups":
		if slices.Contains(s.groups, parts[2]) {
			_, _ = fmt.Fprintf(w, `{"metadata":{"name":%q}}`, parts[2])
			return
		}
	case strings.HasSuffix(r.URL.Path, "/virtualmachines"):
		list := vmv1alpha1.VirtualMachineList{}
		for _, vm := range s.vms {
			if r.URL.Query().Get("labelSelector") != "app=none" && (len(parts) < 2 || strings.HasPrefix(r.URL.Path, "/apis/vm.slipway.dev/v1alpha1/virtualmachines") || vm.Namespace == parts[0]) {
				list.Items = append(list.Items, vm)
			}
		}
		_ = json.NewEncoder(w).Encode(list)
		return
	case len(parts) == 3 || len(parts) == 4:
		for _, vm := range s.vms {
			if vm.Namespace != parts[0] || vm.Name != parts[2] {
				continue
			}
			if len(parts) == 4 && strings.HasPrefix(parts[3], "refresh-") {
				result := s.refresh
				result.Namespace, result.Name = vm.Namespace, vm.Name
				_ = json.NewEncoder(w).Encode(result)
				return
			}
			switch {
			case len(parts) == 4 && parts[3] == "console":
				_ = json.NewEncoder(w).Encode(vmv1alpha1.VirtualMachineConsole{ObjectMeta: metav1.ObjectMeta{Namespace: vm.Namespace, Name: vm.Name}, Status: s.console})
			case len(parts) == 4 && parts[3] == "screenshot":
				w.Header().Set("Content-Type", "image/png")
				_, _ = w.Write(s.picture)
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

// serveOther answers what has its answer by path.
func (s *apiServer) serveOther(w http.ResponseWriter, r *http.Request) bool {
	answer, ok := s.answers[r.URL.Path]
	switch {
	case slices.Contains(s.refused, r.URL.Path):
		w.WriteHeader(http.StatusForbidden)
		_, _ = io.WriteString(w, `{"kind":"Status","apiVersion":"v1","status":"Failure","reason":"Forbidden","message":"not allowed","code":403}`)
	case !ok:
		return false
	case r.URL.Query().Get("watch") != "":
		s.watching.Lock()
		s.versions = append(s.versions, r.URL.Query().Get("resourceVersion"))
		told := ""
		if len(s.watched) > 0 {
			told, s.watched = s.watched[0], s.watched[1:]
		}
		s.watching.Unlock()
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

// serveOne answers what is asked at one path.
func (s *apiServer) serveOne(w http.ResponseWriter, r *http.Request) bool {
	if r.URL.Path == orphans.Path {
		_ = json.NewEncoder(w).Encode(s.orphans)
		return true
	}
	if r.URL.Path == backup.Path && r.Method == http.MethodPost {
		w.Header().Set("Content-Type", backup.MediaType)
		_, _ = w.Write(s.store)
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

// asJSON is what was sent, which an object may be in protobuf.
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

// run starts virtctl with args against s and returns what it printed.
func run(t *testing.T, s *apiServer, args ...string) (code int, out, errOut string) {
	t.Helper()
	return runAs(t, "virtctl", "", s, args...)
}

// runAs is run under another name of the program, with standard input.
func runAs(t *testing.T, program, stdin string, s http.Handler, args ...string) (code int, out, errOut string) {
	t.Helper()
	server := httptest.NewServer(s)
	t.Cleanup(server.Close)
	kubeconfig := filepath.Join(t.TempDir(), "kubeconfig")
	config := fmt.Sprintf(`{"apiVersion":"v1","kind":"Config","current-context":"c",
"clusters":[{"name":"c","cluster":{"server":%q}}],"users":[{"name":"u","user":{}}],
"contexts":[{"name":"c","context":{"cluster":"c","user":"u","namespace":"dev"}}]}`, server.URL)
	if err := os.WriteFile(kubeconfig, []byte(config), 0o600); err != nil {
		t.Fatal(err)
	}
	var stdout, stderr bytes.Buffer
	streams := genericiooptions.IOStreams{In: strings.NewReader(stdin), Out: &stdout, ErrOut: &stderr}
	code = Main(context.Background(), append([]string{program, "--kubeconfig", kubeconfig}, args...), streams)
	return code, stdout.String(), stderr.String()
}

func machine(namespace, name string) vmv1alpha1.VirtualMachine {
	return vmv1alpha1.VirtualMachine{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}}
}

// fixtureClient is a client of a server.
func fixtureClient(t *testing.T, url string) versioned.Interface {
	t.Helper()
	client, err := versioned.NewForConfig(&rest.Config{Host: url})
	if err != nil {
		t.Fatal(err)
	}
	return client
}
