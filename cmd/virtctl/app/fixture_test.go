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
	"net/url"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/cli-runtime/pkg/genericiooptions"
	"k8s.io/client-go/rest"
	"k8s.io/utils/ptr"

	"github.com/spf13/cobra"

	"github.com/slipway-dev/slipway/pkg/apis/scheme"
	"github.com/slipway-dev/slipway/pkg/apis/vm/backup"
	"github.com/slipway-dev/slipway/pkg/apis/vm/orphans"
	vmv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/vm/v1alpha1"
	"github.com/slipway-dev/slipway/pkg/generated/clientset/versioned"
	"github.com/slipway-dev/slipway/test/vcenter"
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

// runWith runs the commands that add adds, as a program of that name with standard input and arguments,
// against s, and returns the exit code and what it printed.
func runWith(t *testing.T, add func(*cobra.Command, *Factory), program, stdin string, s http.Handler, args ...string) (code int, out, errOut string) {
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
	code = mainWith(context.Background(), append([]string{program, "--kubeconfig", kubeconfig}, args...), streams, add)
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

// serveAdoption answers for vCenters and zones, and for virtual machines that are made.
func (s *apiServer) serveAdoption(w http.ResponseWriter, r *http.Request) bool {
	switch {
	case strings.HasSuffix(r.URL.Path, "/v1alpha1/vcenters"):
		_ = json.NewEncoder(w).Encode(vmv1alpha1.VCenterList{Items: s.vcenters})
	case strings.HasSuffix(r.URL.Path, "/v1alpha1/zones"):
		_ = json.NewEncoder(w).Encode(vmv1alpha1.ZoneList{Items: s.zones})
	case strings.HasSuffix(r.URL.Path, "/virtualmachines") && r.Method == http.MethodPost:
		s.create(w, r)
	default:
		return false
	}
	return true
}

// serveImages answers for images, if path is of them.
func (s *apiServer) serveImages(w http.ResponseWriter, path string) bool {
	const group = "/apis/vm.slipway.dev/v1alpha1/"
	rest := strings.TrimPrefix(path, group)
	switch {
	case rest == "contentlibraries":
		_ = json.NewEncoder(w).Encode(vmv1alpha1.ContentLibraryList{Items: s.libraries})
		return true
	case rest == "clustervirtualmachineimages":
		_ = json.NewEncoder(w).Encode(vmv1alpha1.ClusterVirtualMachineImageList{Items: s.clusterImages})
		return true
	case strings.HasSuffix(rest, "virtualmachineimages"):
		var list vmv1alpha1.VirtualMachineImageList
		for _, i := range s.images {
			if rest == "virtualmachineimages" || rest == "namespaces/"+i.Namespace+"/virtualmachineimages" {
				list.Items = append(list.Items, i)
			}
		}
		_ = json.NewEncoder(w).Encode(list)
		return true
	}
	for _, i := range s.images {
		if rest == "namespaces/"+i.Namespace+"/virtualmachineimages/"+i.Name {
			_ = json.NewEncoder(w).Encode(i)
			return true
		}
	}
	for _, i := range s.clusterImages {
		if rest == "clustervirtualmachineimages/"+i.Name {
			_ = json.NewEncoder(w).Encode(i)
			return true
		}
	}
	return false
}

// useVCenter starts a simulated vCenter, which the environment names as that of govc does.
func useVCenter(t *testing.T) *vcenter.Server {
	t.Helper()
	dir := t.TempDir()
	vc, err := vcenter.Start(t.Context(), vcenter.Options{Listen: "127.0.0.1:0", Username: vcenter.DefaultUsername, StateDir: dir})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = vc.Stop(context.WithoutCancel(t.Context())) })
	u, err := url.Parse(vc.Ready().URL)
	if err != nil {
		t.Fatal(err)
	}
	for name, value := range map[string]string{
		"GOVC_URL": u.Host, "GOVC_USERNAME": vcenter.DefaultUsername, "GOVC_PASSWORD": vcenter.DefaultPassword, "GOVC_TLS_CA_CERTS": vc.Ready().CAFile, "GOVC_INSECURE": "",
	} {
		t.Setenv(name, value)
	}
	return vc
}

var noon = time.Date(2026, 5, 1, 12, 0, 0, 0, time.UTC)

func before(d time.Duration) metav1.Time { return metav1.NewTime(noon.Add(-d)) }

func condition(kind string, status metav1.ConditionStatus, reason, message string, ago time.Duration) metav1.Condition {
	return metav1.Condition{Type: kind, Status: status, Reason: reason, Message: message, LastTransitionTime: before(ago)}
}

func eventOf(kind, name, reason, message string, ago time.Duration) corev1.Event {
	return corev1.Event{
		ObjectMeta: metav1.ObjectMeta{Namespace: "dev", Name: name + reason}, Type: corev1.EventTypeNormal, Reason: reason, Message: message,
		InvolvedObject: corev1.ObjectReference{APIVersion: "vm.slipway.dev/v1alpha1", Kind: kind, Name: name}, EventTime: metav1.NewMicroTime(before(ago).Time),
	}
}

func sized(vcpus int32, memory string) *vmv1alpha1.VirtualMachineResources {
	return &vmv1alpha1.VirtualMachineResources{VCPUs: vcpus, Memory: ptr.To(resource.MustParse(memory))}
}

// told is what a watch tells of one event.
func told(t *testing.T, kind string, object any) string {
	t.Helper()
	data, err := json.Marshal(map[string]any{"type": kind, "object": object})
	if err != nil {
		t.Fatal(err)
	}
	return string(data) + "\n"
}

// create makes a virtual machine as the server and its controller would. It refuses one that
// is named forbidden, and never takes over one that is named slow.
func (s *apiServer) create(w http.ResponseWriter, r *http.Request) {
	_, body, _ := strings.Cut(s.requests[len(s.requests)-1], " ")
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
	case slices.ContainsFunc(s.vms, func(other vmv1alpha1.VirtualMachine) bool { return other.Name == vm.Name }):
		refuse(http.StatusConflict, metav1.StatusReasonAlreadyExists, "exists")
		return
	}
	if r.URL.Query().Get("dryRun") == "" {
		stored := vm
		stored.Status.UniqueID = s.uniqueIDs[vm.Spec.InstanceUUID]
		for _, kind := range []string{vmv1alpha1.ConditionCreated, vmv1alpha1.ConditionConfigurationSynced} {
			c := metav1.Condition{Type: kind, Status: "True", Reason: "Succeeded"}
			if vm.Name == "slow" {
				c.Status, c.Reason, c.Message = "False", "Error", "the folder"
			}
			stored.Status.Conditions = append(stored.Status.Conditions, c)
		}
		s.vms = append(s.vms, stored)
	}
	w.WriteHeader(http.StatusCreated)
	_ = json.NewEncoder(w).Encode(vm)
}
