// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package operations

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"go.etcd.io/etcd/client/pkg/v3/transport"
	clientv3 "go.etcd.io/etcd/client/v3"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/slipway-dev/slipway/artifacts/kustomized"
	"github.com/slipway-dev/slipway/test/documented"
	"github.com/slipway-dev/slipway/test/localcluster/ports"
	"github.com/slipway-dev/slipway/test/localcluster/process"
	"github.com/slipway-dev/slipway/test/testenv"
)

// etcdMembers runs the containers of components/etcd as processes on loopback: the arguments are
// those of the manifests, with other addresses and directories.
type etcdMembers struct {
	t       *testing.T
	pod     corev1.PodSpec
	servers string
	dir     string
	data    string
	ports   ports.Set
}

const etcdMemberCount = 3

func memberName(i int) string { return fmt.Sprintf("slipway-etcd-%d", i) }

func newEtcdMembers(t *testing.T) *etcdMembers {
	t.Helper()
	objects, err := kustomized.Build(os.DirFS(filepath.Join(project, "artifacts")),
		"resources: [../deploy/base]\ncomponents: [../deploy/components/etcd, ../deploy/components/etcd-restore]\n")
	if err != nil {
		t.Fatal(err)
	}
	e := &etcdMembers{t: t, dir: t.TempDir()}
	for _, o := range objects {
		var set appsv1.StatefulSet
		if o.GetKind() != "StatefulSet" {
			continue
		}
		if err := runtime.DefaultUnstructuredConverter.FromUnstructured(o.Object, &set); err != nil {
			t.Fatal(err)
		}
		if set.Name == "slipway-etcd" {
			e.pod = set.Spec.Template.Spec
		} else {
			e.servers = set.Spec.Template.Spec.Containers[0].Env[0].Value
		}
	}
	var names []string
	for i := range etcdMemberCount {
		for _, port := range []string{"2379", "2380", "2381"} {
			names = append(names, memberName(i)+":"+port)
		}
	}
	if e.ports, err = ports.Load(filepath.Join(e.dir, "ports"), nil, names...); err != nil {
		t.Fatal(err)
	}
	e.createCertificates()
	return e
}

// createCertificates runs the documented commands. The members have no names on loopback, so
// their certificate is for its address.
func (e *etcdMembers) createCertificates() {
	e.t.Helper()
	commands, err := documented.Commands(project, documented.Operate+"high-availability.md", "## Without cert-manager")
	if err != nil {
		e.t.Fatal(err)
	}
	script := ""
	for _, command := range commands {
		if strings.HasPrefix(command, "NAMES=") {
			command = "NAMES=IP:127.0.0.1"
		}
		if !strings.HasPrefix(command, "kubectl ") {
			script += command + "\n"
		}
	}
	cmd := exec.CommandContext(e.t.Context(), "bash", "-ec", script)
	cmd.Dir = e.dir
	if out, err := cmd.CombinedOutput(); err != nil {
		e.t.Fatalf("%v\n%s\n%s", err, script, out)
	}
}

// local returns the arguments of a member on loopback.
func (e *etcdMembers) local(member string, args []string) []string {
	var pairs []string
	for _, port := range []string{"2379", "2380", "2381"} {
		pairs = append(pairs, "0.0.0.0:"+port, e.ports.Address(member+":"+port), "$(POD_NAME).slipway-etcd.slipway-system.svc:"+port, e.ports.Address(member+":"+port))
		for i := range etcdMemberCount {
			pairs = append(pairs, memberName(i)+".slipway-etcd.slipway-system.svc:"+port, e.ports.Address(memberName(i)+":"+port))
		}
	}
	pairs = append(pairs, "$(POD_NAME)", member, "=/data/", "="+filepath.Join(e.dir, e.data, member)+"/", "/snapshot/", e.dir+"/",
		"/tls/ca.crt", filepath.Join(e.dir, "etcd-ca.crt"), "/tls/tls.crt", filepath.Join(e.dir, "etcd.crt"), "/tls/tls.key", filepath.Join(e.dir, "etcd.key"))
	replacer := strings.NewReplacer(pairs...)
	var all []string
	for _, arg := range args {
		all = append(all, replacer.Replace(arg))
	}
	return all
}

// run starts the members with their data in a directory, and waits for their readiness probes.
func (e *etcdMembers) run(data string) (stop func()) {
	e.t.Helper()
	e.data = data
	container := e.pod.Containers[0]
	var running []*process.Process
	stop = func() {
		for _, p := range running {
			_ = p.Stop()
		}
	}
	e.t.Cleanup(stop)
	for i := range etcdMemberCount {
		p, err := process.Start(process.Spec{
			Name: memberName(i), Path: filepath.Join(testenv.BinDir(), filepath.Base(container.Command[0])), Args: e.local(memberName(i), container.Args), LogFile: filepath.Join(e.dir, memberName(i)+".log"),
		})
		if err != nil {
			e.t.Fatal(err)
		}
		running = append(running, p)
	}
	for i, p := range running {
		url := "http://" + e.ports.Address(memberName(i)+":2381") + container.ReadinessProbe.HTTPGet.Path
		ctx, cancel := context.WithTimeout(e.t.Context(), testenv.Long)
		err := p.WaitFor(ctx, func(context.Context) error {
			response, err := http.Get(url)
			if err != nil {
				return err
			}
			defer func() { _ = response.Body.Close() }()
			if response.StatusCode != http.StatusOK {
				return fmt.Errorf("%s: %s", url, response.Status)
			}
			return nil
		})
		cancel()
		if err != nil {
			e.t.Fatal(err)
		}
	}
	return stop
}

// restore runs the container that restores a snapshot, for each member.
func (e *etcdMembers) restore(data string) {
	e.t.Helper()
	e.data = data
	container := e.pod.InitContainers[1]
	for i := range etcdMemberCount {
		cmd := exec.CommandContext(e.t.Context(), filepath.Join(testenv.BinDir(), filepath.Base(container.Command[0])), e.local(memberName(i), container.Args)...)
		if out, err := cmd.CombinedOutput(); err != nil {
			e.t.Fatalf("%v\n%s", err, out)
		}
	}
}

// client returns a client of the addresses that the server has, with the documented certificate.
func (e *etcdMembers) client() *clientv3.Client {
	e.t.Helper()
	files := transport.TLSInfo{
		TrustedCAFile: filepath.Join(e.dir, "etcd-ca.crt"), CertFile: filepath.Join(e.dir, "client.crt"), KeyFile: filepath.Join(e.dir, "client.key"),
	}
	config, err := files.ClientConfig()
	if err != nil {
		e.t.Fatal(err)
	}
	endpoints := strings.Split(e.local(memberName(0), []string{e.servers})[0], ",")
	client, err := clientv3.New(clientv3.Config{Endpoints: endpoints, TLS: config, DialTimeout: testenv.Short})
	if err != nil {
		e.t.Fatal(err)
	}
	e.t.Cleanup(func() { _ = client.Close() })
	return client
}

func TestEtcdMembers_FormAClusterThatServesTheServersCertificateOnly(t *testing.T) {
	t.Parallel()
	e := newEtcdMembers(t)
	e.run("first")
	client := e.client()
	members, err := client.MemberList(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if len(members.Members) != etcdMemberCount {
		t.Errorf("%d members, want %d", len(members.Members), etcdMemberCount)
	}
	for _, endpoint := range client.Endpoints() {
		if _, err := client.Status(t.Context(), endpoint); err != nil {
			t.Errorf("%s: %v", endpoint, err)
		}
	}
	files := transport.TLSInfo{TrustedCAFile: filepath.Join(e.dir, "etcd-ca.crt")}
	config, err := files.ClientConfig()
	if err != nil {
		t.Fatal(err)
	}
	anonymous := &http.Client{Transport: &http.Transport{TLSClientConfig: config}}
	if response, err := anonymous.Get(client.Endpoints()[0] + "/version"); err == nil || !strings.Contains(err.Error(), "certificate required") {
		t.Errorf("a client without a certificate: %v %v, want a refusal", response, err)
	}
}

func TestEtcdMembers_RestoreASnapshotWithLaterRevisions(t *testing.T) {
	t.Parallel()
	e := newEtcdMembers(t)
	stop := e.run("first")
	client := e.client()
	before, err := client.Put(t.Context(), "/registry/slipway.dev/key", "value")
	if err != nil {
		t.Fatal(err)
	}
	snapshot, err := client.Snapshot(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	content, err := io.ReadAll(snapshot)
	if err == nil {
		err = os.WriteFile(filepath.Join(e.dir, "slipway.db"), content, 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
	stop()
	e.restore("second")
	e.run("second")
	for _, endpoint := range client.Endpoints() {
		status, err := client.Status(t.Context(), endpoint)
		if err != nil {
			t.Fatal(err)
		}
		if least := before.Header.Revision + 1_000_000_000; status.Header.Revision < least {
			t.Errorf("%s is at revision %d, want at least %d", endpoint, status.Header.Revision, least)
		}
	}
	got, err := client.Get(t.Context(), "/registry/slipway.dev/key")
	if err != nil || len(got.Kvs) != 1 || string(got.Kvs[0].Value) != "value" {
		t.Errorf("restored: %v, %v", got, err)
	}
}
