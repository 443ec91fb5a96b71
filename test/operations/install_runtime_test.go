// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package operations

import (
	"context"
	"crypto/tls"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/utils/ptr"

	"github.com/slipway-dev/slipway/test/localcluster"
	"github.com/slipway-dev/slipway/test/localcluster/ports"
	"github.com/slipway-dev/slipway/test/localcluster/process"
	"github.com/slipway-dev/slipway/test/testenv"
)

const (
	systemNamespace = "slipway-system"
	serverName      = "slipway-apiserver"
	// runtimeInterval is the interval at which the containers are compared with the desired ones.
	runtimeInterval = 200 * time.Millisecond
)

// containers replaces the StatefulSet controller, nodes and Services. A pod of the server is a process of this
// machine with the arguments of its template. The management cluster reaches it through a proxy, as in clusters whose
// control plane is outside the pod network.
type containers struct {
	t    *testing.T
	host kubernetes.Interface
	dir  string

	// orphaned keeps pods running without a StatefulSet.
	orphaned atomic.Bool

	mu   sync.Mutex
	pods map[string]*container
}

// container is a running pod.
type container struct {
	process *process.Process
	address string
	probe   string
	// image and args are those of the template from which it was started.
	image string
	args  []string
	ready bool
}

// egress makes kube-apiserver connect to pods through a proxy at the socket.
const egress = `apiVersion: apiserver.k8s.io/v1beta1
kind: EgressSelectorConfiguration
egressSelections:
- name: cluster
  connection:
    proxyProtocol: HTTPConnect
    transport: {uds: {udsName: %s}}
`

// newContainers opens the socket, and changes the options of an environment so that its kube-apiserver uses it.
func newContainers(t *testing.T) (*containers, func(*localcluster.Options)) {
	t.Helper()
	dir, err := os.MkdirTemp("", "slipway-pods-") // the path of a socket is short
	if err != nil {
		t.Fatal(err)
	}
	c := &containers{t: t, dir: dir, pods: map[string]*container{}}
	socket := filepath.Join(dir, "proxy.sock")
	listener, err := net.Listen("unix", socket)
	if err != nil {
		t.Fatal(err)
	}
	proxy := &http.Server{Handler: http.HandlerFunc(c.connect), ReadHeaderTimeout: testenv.Short}
	go func() { _ = proxy.Serve(listener) }()
	t.Cleanup(func() {
		_ = proxy.Close()
		_ = os.RemoveAll(dir)
	})
	config := filepath.Join(dir, "egress.yaml")
	if err := os.WriteFile(config, fmt.Appendf(nil, egress, socket), 0o600); err != nil {
		t.Fatal(err)
	}
	return c, func(o *localcluster.Options) {
		o.NotInstalled = true
		o.KubeAPIServerArgs = append(o.KubeAPIServerArgs, "--egress-selector-config-file="+config)
	}
}

// connect connects to a ready pod and forwards the data.
func (c *containers) connect(w http.ResponseWriter, r *http.Request) {
	to := ""
	c.mu.Lock()
	for _, pod := range c.pods {
		if pod.ready {
			to = pod.address
		}
	}
	c.mu.Unlock()
	hijacker, ok := w.(http.Hijacker)
	if r.Method != http.MethodConnect || to == "" || !ok {
		http.Error(w, "no pod is ready", http.StatusBadGateway)
		return
	}
	pod, err := net.Dial("tcp", to)
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadGateway)
		return
	}
	defer func() { _ = pod.Close() }()
	w.WriteHeader(http.StatusOK)
	client, _, err := hijacker.Hijack()
	if err != nil {
		return
	}
	defer func() { _ = client.Close() }()
	ended := make(chan struct{}, 2)
	for _, way := range [][2]net.Conn{{pod, client}, {client, pod}} {
		go func() {
			_, _ = io.Copy(way[0], way[1])
			ended <- struct{}{}
		}()
	}
	<-ended
}

// run acts as the StatefulSet controller until the test ends.
func (c *containers) run() {
	c.t.Helper()
	var err error
	if c.host, err = kubernetes.NewForConfig(testenv.Of(c.t).RestConfig()); err != nil {
		c.t.Fatal(err)
	}
	ctx, stop := context.WithCancel(context.WithoutCancel(c.t.Context()))
	var running sync.WaitGroup
	running.Go(func() {
		for ctx.Err() == nil {
			if err := c.sync(ctx); err != nil && ctx.Err() == nil {
				c.t.Logf("the containers: %v", err)
			}
			select {
			case <-ctx.Done():
			case <-time.After(runtimeInterval):
			}
		}
	})
	c.t.Cleanup(func() {
		stop()
		running.Wait()
		for _, pod := range c.pods {
			_ = pod.process.Kill()
		}
	})
}

// sync starts and stops pods to reach the desired number, and returns the ready ones.
func (c *containers) sync(ctx context.Context) error {
	set, err := c.host.AppsV1().StatefulSets(systemNamespace).Get(ctx, serverName, metav1.GetOptions{})
	wanted := map[string]bool{}
	switch {
	case c.orphaned.Load() && (apierrors.IsNotFound(err) || err == nil && set.DeletionTimestamp != nil):
		_, err = c.publish(ctx)
		return err
	case apierrors.IsNotFound(err):
	case err != nil:
		return err
	case set.DeletionTimestamp == nil:
		for i := range *set.Spec.Replicas {
			name := fmt.Sprintf("%s-%d", serverName, i)
			wanted[name] = true
			if err := c.start(name, &set.Spec.Template.Spec.Containers[0]); err != nil {
				return err
			}
		}
	}
	for name := range c.all() {
		if !wanted[name] {
			if err := c.stop(name); err != nil {
				return err
			}
		}
	}
	if len(wanted) == 0 {
		return nil
	}
	ready, err := c.publish(ctx)
	if err != nil {
		return err
	}
	old := c.outdated(&set.Spec.Template.Spec.Containers[0])
	if err := c.report(ctx, set, len(wanted), ready, len(wanted)-len(old)); err != nil {
		return err
	}
	if len(old) == 0 || ready < len(wanted) {
		return nil
	}
	return c.stop(old[len(old)-1]) // it is restarted with the new template
}

// outdated returns the pods of another template, by name.
func (c *containers) outdated(template *corev1.Container) []string {
	var old []string
	for name, pod := range c.all() {
		if pod.image != template.Image || !slices.Equal(pod.args, template.Args) {
			old = append(old, name)
		}
	}
	slices.Sort(old)
	return old
}

func (c *containers) stop(name string) error {
	pod := c.all()[name]
	if err := pod.process.Stop(); err != nil {
		return err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.pods, name)
	return nil
}

// report writes the status of the StatefulSet for clients that wait for its rollout.
func (c *containers) report(ctx context.Context, set *appsv1.StatefulSet, pods, ready, updated int) error {
	status := set.Status
	status.ObservedGeneration = set.Generation
	status.Replicas, status.CurrentReplicas, status.UpdatedReplicas = int32(pods), int32(updated), int32(updated)
	status.ReadyReplicas, status.AvailableReplicas = int32(ready), int32(ready)
	if equality.Semantic.DeepEqual(status, set.Status) {
		return nil
	}
	set.Status = status
	_, err := c.host.AppsV1().StatefulSets(systemNamespace).UpdateStatus(ctx, set, metav1.UpdateOptions{})
	return err
}

func (c *containers) all() map[string]*container {
	c.mu.Lock()
	defer c.mu.Unlock()
	all := map[string]*container{}
	for name, pod := range c.pods {
		all[name] = pod
	}
	return all
}

// start starts a pod that does not run. Flags replace the node's settings: the address of the management cluster and
// the service account. The test does not simulate power failures, so writes are not synced to disk.
func (c *containers) start(name string, template *corev1.Container) error {
	if c.all()[name] != nil {
		return nil
	}
	given, err := ports.Load(filepath.Join(c.dir, name+".ports"), nil, "https")
	if err != nil {
		return err
	}
	kubeconfig, address := testenv.Of(c.t).ServerKubeconfig(), given.Address("https")
	var args []string
	for _, arg := range template.Args {
		flag, _, _ := strings.Cut(arg, "=")
		switch flag {
		case "--secure-port":
		case "--data-dir":
			args = append(args, "--data-dir="+filepath.Join(c.dir, name))
		case "--etcd-snapshot-dir":
			args = append(args, "--etcd-snapshot-dir="+c.snapshots(name))
		default:
			args = append(args, arg)
		}
	}
	args = append(args, fmt.Sprintf("--secure-port=%d", given["https"]), "--bind-address=127.0.0.1", "--etcd-unsafe-no-fsync",
		"--kubeconfig="+kubeconfig, "--authentication-kubeconfig="+kubeconfig, "--authorization-kubeconfig="+kubeconfig)
	started, err := process.Start(process.Spec{Name: name, Path: filepath.Join(testenv.BinDir(), serverName), Args: args, LogFile: filepath.Join(c.dir, name+".log"), StopTimeout: testenv.Short})
	if err != nil {
		return err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.pods[name] = &container{process: started, address: address, probe: "https://" + address + template.ReadinessProbe.HTTPGet.Path, image: template.Image, args: template.Args}
	return nil
}

// snapshots is the volume of a pod for snapshots.
func (c *containers) snapshots(name string) string { return filepath.Join(c.dir, name+"-snapshots") }

// publish runs the probes, writes the endpoints of the Service, and returns the number of ready pods.
func (c *containers) publish(ctx context.Context) (int, error) {
	// The kubelet does not verify the certificates of probed servers either.
	client := &http.Client{Timeout: 5 * time.Second, Transport: &http.Transport{DisableKeepAlives: true, TLSClientConfig: &tls.Config{InsecureSkipVerify: true}}}
	slice := &discoveryv1.EndpointSlice{
		ObjectMeta:  metav1.ObjectMeta{Name: serverName + "-pods", Labels: map[string]string{discoveryv1.LabelServiceName: serverName}},
		AddressType: discoveryv1.AddressTypeIPv4,
		Ports:       []discoveryv1.EndpointPort{{Name: ptr.To("https"), Port: ptr.To[int32](8443), Protocol: ptr.To(corev1.ProtocolTCP)}},
	}
	for _, pod := range c.all() {
		ready := false
		if resp, err := client.Get(pod.probe); err == nil {
			ready = resp.StatusCode == http.StatusOK
			_ = resp.Body.Close()
		}
		c.mu.Lock()
		pod.ready = ready
		c.mu.Unlock()
		if ready {
			slice.Endpoints = append(slice.Endpoints, discoveryv1.Endpoint{Addresses: []string{fmt.Sprintf("10.1.0.%d", len(slice.Endpoints)+1)}, Conditions: discoveryv1.EndpointConditions{Ready: ptr.To(true)}})
		}
	}
	published := c.host.DiscoveryV1().EndpointSlices(systemNamespace)
	was, err := published.Get(ctx, slice.Name, metav1.GetOptions{})
	switch {
	case apierrors.IsNotFound(err):
		_, err = published.Create(ctx, slice, metav1.CreateOptions{})
	case err == nil && len(was.Endpoints) != len(slice.Endpoints):
		was.Endpoints = slice.Endpoints
		_, err = published.Update(ctx, was, metav1.UpdateOptions{})
	}
	return len(slice.Endpoints), err
}
