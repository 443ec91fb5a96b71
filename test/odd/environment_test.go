// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package odd

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/slipway-dev/slipway/test/fleetcheck"
	"github.com/slipway-dev/slipway/test/localcluster"
	"github.com/slipway-dev/slipway/test/schema"
	"github.com/slipway-dev/slipway/test/vsphereclient"
)

const (
	namespace = "odd"
	// userName is a user with all permissions that is not privileged.
	userName = "odd-user"
)

// catalogue has the objects that VMs refer to.
const catalogue = `
apiVersion: v1
kind: Namespace
metadata: {name: odd}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata: {name: odd-user}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: cluster-admin}
subjects: [{apiGroup: rbac.authorization.k8s.io, kind: User, name: odd-user}]
---
apiVersion: instancetype.slipway.dev/v1alpha1
kind: VirtualMachineInstancetype
metadata: {name: small, namespace: odd}
spec: {cpu: {guest: 1}, memory: {guest: 1Gi}}
---
apiVersion: instancetype.slipway.dev/v1alpha1
kind: VirtualMachinePreference
metadata: {name: plain, namespace: odd}
spec: {}
---
apiVersion: vm.slipway.dev/v1alpha1
kind: VirtualMachineImage
metadata: {name: item, namespace: odd}
spec: {contentLibrary: {library: slipway, item: photon-5}}
---
apiVersion: vm.slipway.dev/v1alpha1
kind: VirtualMachineImage
metadata: {name: appliance, namespace: odd}
spec: {contentLibrary: {library: slipway, item: ubuntu-24.04-appliance}}
`

// environment is the whole environment, and the user that sends odd values.
type environment struct {
	t       *testing.T
	cluster *localcluster.Cluster
	check   *fleetcheck.Checker
	host    kubernetes.Interface
	admin   rest.Interface // a direct connection to the server, for paths outside of its API groups
	client  *http.Client
	address string

	mu sync.Mutex
	// codes counts the answers, by code.
	codes map[int]int
}

func start(t *testing.T) *environment {
	t.Helper()
	dir, err := os.MkdirTemp("", "slipway-odd-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if t.Failed() {
			t.Logf("the logs are kept in %s", localcluster.LogDir(dir))
			return
		}
		_ = os.RemoveAll(dir)
	})
	e := &environment{t: t, codes: map[int]int{}}
	e.cluster, err = localcluster.Start(t.Context(), localcluster.Options{
		DataDir: dir, BinDir: "../../bin", UnsafeNoFsync: true, GuestBootDelay: 100 * time.Millisecond,
		SlipwayArgs: []string{"--v=2"}, VCenterArgs: []string{"--control-listen=127.0.0.1:0"},
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := e.cluster.Stop(); err != nil {
			t.Error(err)
		}
	})
	if err := e.prepare(t.Context()); err != nil {
		t.Fatal(err)
	}
	return e
}

func (e *environment) prepare(ctx context.Context) error {
	direct, err := e.cluster.DirectConfig("slipway-admin", "system:masters")
	if err != nil {
		return err
	}
	admin, err := kubernetes.NewForConfig(direct)
	if err != nil {
		return err
	}
	e.admin = admin.RESTClient()
	if e.host, err = kubernetes.NewForConfig(e.cluster.RestConfig()); err != nil {
		return err
	}
	user, err := e.cluster.UserConfig(userName)
	if err != nil {
		return err
	}
	if e.client, err = rest.HTTPClientFor(user); err != nil {
		return err
	}
	e.address = user.Host
	if e.check, err = fleetcheck.New(ctx, e.cluster); err != nil {
		return err
	}
	if err := e.cluster.Apply(ctx, []byte(catalogue)); err != nil {
		return err
	}
	data := map[string][]byte{}
	for key, text := range secret {
		data[key] = []byte(text)
		if err := e.makeSecret(ctx, "data-"+key, map[string][]byte{"hostname": []byte(text)}); err != nil {
			return err
		}
	}
	return e.makeSecret(ctx, "data", data)
}

func (e *environment) makeSecret(ctx context.Context, name string, data map[string][]byte) error {
	s := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: name}, Data: data}
	_, err := e.host.CoreV1().Secrets(namespace).Create(ctx, s, metav1.CreateOptions{})
	return err
}

// ask sends a request as the user. A response with an internal error fails the test.
func (e *environment) ask(method, path, format, body string) (code int, answer []byte) {
	e.t.Helper()
	request, err := http.NewRequestWithContext(e.t.Context(), method, e.address+path, strings.NewReader(body))
	if err != nil {
		e.t.Fatal(err)
	}
	if format != "" {
		request.Header.Set("Content-Type", format)
	}
	response, err := e.client.Do(request)
	if err != nil {
		e.t.Fatalf("%s %s: no answer: %v", method, path, err)
	}
	defer func() { _ = response.Body.Close() }()
	if answer, err = io.ReadAll(response.Body); err != nil {
		e.t.Fatalf("%s %s: the answer ends early: %v", method, path, err)
	}
	e.mu.Lock()
	e.codes[response.StatusCode]++
	e.mu.Unlock()
	if response.StatusCode >= http.StatusInternalServerError {
		e.t.Errorf("%s %s %.2000q: answer %d %.400q", method, path, body, response.StatusCode, answer)
	}
	return response.StatusCode, answer
}

// schemas reads the schemas of a group from the server itself, because the management cluster reads them only
// periodically.
func (e *environment) schemas(group string) schema.Schemas {
	e.t.Helper()
	document, err := e.admin.Get().RequestURI("/openapi/v3/apis/" + group + "/v1alpha1").DoRaw(e.t.Context())
	if err != nil {
		e.t.Fatal(err)
	}
	all, err := schema.Parse(document)
	if err != nil {
		e.t.Fatalf("the schema of %s: %v", group, err)
	}
	return all
}

// order sends a control request to the simulated vCenter.
func (e *environment) order(method, path string) {
	e.t.Helper()
	if _, err := vsphereclient.Order(e.t.Context(), e.cluster.VCenter().ControlURL, method, path); err != nil {
		e.t.Fatal(err)
	}
}

var (
	passesPattern = regexp.MustCompile(`(?m)^workqueue_work_duration_seconds_count\{name="virtualmachine"\} (\S+)$`)
	// faultsPattern matches log lines about internal errors, and about rejected status updates, which only controllers
	// send.
	faultsPattern = regexp.MustCompile(`(?m)^apiserver_request_total\{code="(?:5\d\d",[^}]*|4(?:00|13|22)",[^}]*subresource="status",[^}]*)\} [1-9].*$`)
)

// numbers are metrics of the server: the reconciles of a VM, and counters that must stay zero.
func (e *environment) numbers() (passes int, faults []string) {
	e.t.Helper()
	page, err := e.admin.Get().RequestURI("/metrics").DoRaw(e.t.Context())
	if err != nil {
		e.t.Fatal(err)
	}
	found := passesPattern.FindSubmatch(page)
	if found == nil {
		e.t.Fatal("the metrics do not contain the number of reconciles")
	}
	n, err := strconv.ParseFloat(string(found[1]), 64)
	if err != nil {
		e.t.Fatal(err)
	}
	for _, line := range faultsPattern.FindAllString(string(page), -1) {
		if strings.Contains(line, `slipway.dev",`) { // and not a path such as /readyz
			faults = append(faults, line)
		}
	}
	return int(n), faults
}

// decode decodes a JSON response.
func decode[T any](t *testing.T, answer []byte) T {
	t.Helper()
	var into T
	if err := json.Unmarshal(answer, &into); err != nil {
		t.Fatal(fmt.Errorf("reading %.200q: %w", answer, err))
	}
	return into
}
