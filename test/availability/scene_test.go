// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package availability

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/vmware/govmomi/vim25/mo"
	vimtypes "github.com/vmware/govmomi/vim25/types"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/utils/ptr"

	vmv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/vm/v1alpha1"
	"github.com/slipway-dev/slipway/pkg/generated/clientset/versioned"
	"github.com/slipway-dev/slipway/test/localcluster"
	"github.com/slipway-dev/slipway/test/localcluster/process"
	"github.com/slipway-dev/slipway/test/vsphereclient"
)

// deadline is many times the duration on an idle machine.
const deadline = 2 * time.Minute

// namespace of the virtual machines.
const namespace = "default"

// Names of the programs of the environment.
const (
	slipway       = "slipway-apiserver"
	kubeAPIServer = "kube-apiserver"
)

// scene is an environment of one test.
type scene struct {
	*testing.T
	*localcluster.Cluster
	dir, bin string
}

func newScene(t *testing.T, slipwayArgs ...string) *scene {
	t.Helper()
	return newSceneWith(t, func(*localcluster.Options) {}, slipwayArgs...)
}

// newSceneWith starts an environment with changed options.
func newSceneWith(t *testing.T, change func(*localcluster.Options), slipwayArgs ...string) *scene {
	t.Helper()
	bin, err := filepath.Abs("../../bin")
	if err != nil {
		t.Fatal(err)
	}
	s := &scene{T: t, dir: t.TempDir(), bin: bin}
	o := localcluster.Options{
		DataDir: s.dir, BinDir: bin, UnsafeNoFsync: true, GuestBootDelay: 100 * time.Millisecond,
		SlipwayArgs: slipwayArgs, VCenterArgs: []string{"--control-listen=127.0.0.1:0"},
	}
	change(&o)
	s.Cluster, err = localcluster.Start(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if t.Failed() {
			t.Logf("the end of the log of %s:\n%s", slipway, s.log())
		}
		if err := s.Stop(); err != nil {
			t.Error(err)
		}
	})
	return s
}

// log returns the end of the log of slipway-apiserver.
func (s *scene) log() string {
	data, err := os.ReadFile(filepath.Join(localcluster.LogDir(s.dir), slipway+".log"))
	if err != nil {
		return err.Error()
	}
	return string(data[max(0, len(data)-8000):])
}

// pause stops a program. It continues when the returned function is called, or at the end of the test.
func (s *scene) pause(part string) (resume func()) {
	s.Helper()
	pid := s.PID(part)
	if pid == 0 {
		s.Fatalf("%s does not run", part)
	}
	resume = func() { _ = process.Thaw(pid) }
	s.Cleanup(resume)
	if err := process.Freeze(pid); err != nil {
		s.Fatal(err)
	}
	return resume
}

// direct returns a client of slipway-apiserver that does not use kube-apiserver. An empty host means that of the
// environment.
func (s *scene) direct(host string) *rest.Config {
	s.Helper()
	config, err := s.DirectConfig("slipway-admin", "system:masters")
	if err != nil {
		s.Fatal(err)
	}
	if host != "" {
		config.Host = host
	}
	return config
}

func (s *scene) client(config *rest.Config) versioned.Interface {
	s.Helper()
	client, err := versioned.NewForConfig(config)
	if err != nil {
		s.Fatal(err)
	}
	return client
}

// answer returns the status code of one GET, 0 if there was no answer, and whether the answer has a Retry-After
// header.
func (s *scene) answer(config *rest.Config, path string) (code int, again bool) {
	s.Helper()
	code, again, _ = s.ask(config, path)
	return code, again
}

// ask is like answer, and also returns the body.
func (s *scene) ask(config *rest.Config, path string) (code int, again bool, text string) {
	s.Helper()
	client, err := rest.HTTPClientFor(config)
	if err != nil {
		s.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(s.Context(), 10*time.Second)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, config.Host+path, nil)
	if err != nil {
		s.Fatal(err)
	}
	resp, err := client.Do(req)
	if err != nil {
		return 0, false, err.Error()
	}
	defer func() { _ = resp.Body.Close() }()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		return 0, false, err.Error()
	}
	return resp.StatusCode, resp.Header.Get("Retry-After") != "", string(body)
}

// eventually waits until check returns nil.
func (s *scene) eventually(what string, check func() error) {
	s.Helper()
	var last error
	err := wait.PollUntilContextTimeout(s.Context(), 50*time.Millisecond, deadline, true, func(context.Context) (bool, error) {
		last = check()
		return last == nil, nil
	})
	if err != nil {
		s.Fatalf("%s: %v; last: %v", what, err, last)
	}
}

// make creates running virtual machines and waits until they are ready.
func (s *scene) make(names ...string) {
	s.Helper()
	s.apply(names...)
	s.ready(names...)
}

const imageManifest = "apiVersion: vm.slipway.dev/v1alpha1\nkind: VirtualMachineImage\nmetadata: {name: photon-5, namespace: default}\n" +
	"spec:\n  contentLibrary: {library: slipway, item: photon-5}\n"

// image creates the image of all virtual machines.
func (s *scene) image() {
	s.Helper()
	if err := s.Apply(s.Context(), []byte(imageManifest)); err != nil {
		s.Fatal(err)
	}
}

// apply creates running virtual machines.
func (s *scene) apply(names ...string) {
	s.Helper()
	manifest := imageManifest
	for _, name := range names {
		manifest += fmt.Sprintf("---\napiVersion: vm.slipway.dev/v1alpha1\nkind: VirtualMachine\nmetadata: {name: %s, namespace: default}\n"+
			"spec:\n  cpu: {sockets: 1}\n  memory: {guest: 1Gi}\n  image: {name: photon-5}\n", name)
	}
	if err := s.Apply(s.Context(), []byte(manifest)); err != nil {
		s.Fatal(err)
	}
}

// makeTyped creates a running virtual machine that pins the first of these instance types. The nth type has n CPUs.
func (s *scene) makeTyped(name string, instancetypes ...string) {
	s.Helper()
	var manifest string
	for i, instancetype := range instancetypes {
		manifest += fmt.Sprintf("apiVersion: instancetype.slipway.dev/v1alpha1\nkind: VirtualMachineInstancetype\nmetadata: {name: %s, namespace: default}\n"+
			"spec:\n  cpu: {guest: %d}\n  memory: {guest: 1Gi}\n---\n", instancetype, i+1)
	}
	manifest += fmt.Sprintf("apiVersion: vm.slipway.dev/v1alpha1\nkind: VirtualMachine\nmetadata: {name: %s, namespace: default}\n"+
		"spec:\n  instancetype: {name: %s, kind: VirtualMachineInstancetype}\n  image: {name: photon-5}\n", name, instancetypes[0])
	if err := s.Apply(s.Context(), []byte(manifest)); err != nil {
		s.Fatal(err)
	}
	s.ready(name)
}

// applyOn creates a running virtual machine in a zone. The image must exist: see apply and image.
func (s *scene) applyOn(client versioned.Interface, name, zone string) {
	s.Helper()
	memory := resource.MustParse("1Gi")
	_, err := client.VmV1alpha1().VirtualMachines(namespace).Create(s.Context(), &vmv1alpha1.VirtualMachine{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec: vmv1alpha1.VirtualMachineSpec{
			Zone: zone,
			CPU:  &vmv1alpha1.VirtualMachineCPU{Sockets: 1}, Memory: &vmv1alpha1.VirtualMachineMemory{Guest: &memory},
			Image: &vmv1alpha1.VirtualMachineImageRef{Name: "photon-5"},
		},
	}, metav1.CreateOptions{})
	if err != nil {
		s.Fatal(err)
	}
}

// ready waits until virtual machines are ready.
func (s *scene) ready(names ...string) {
	s.Helper()
	s.readyOn(s.client(s.RestConfig()), names...)
}

// readyOn waits until the replica of a client is ready.
func (s *scene) readyOn(client versioned.Interface, names ...string) {
	s.Helper()
	for _, name := range names {
		s.eventually(name+" is ready", func() error {
			vm, err := client.VmV1alpha1().VirtualMachines(namespace).Get(s.Context(), name, metav1.GetOptions{})
			if err != nil || meta.IsStatusConditionTrue(vm.Status.Conditions, vmv1alpha1.ConditionReady) {
				return err
			}
			return fmt.Errorf("conditions %+v", vm.Status.Conditions)
		})
	}
}

// powerOff sets the desired power state to PoweredOff.
func (s *scene) powerOff(client versioned.Interface, name string) {
	s.Helper()
	s.patch(client, name, `{"spec":{"powerState":"PoweredOff","powerOffMode":"Hard"}}`)
}

// patch changes a virtual machine. It retries until the server accepts the change.
func (s *scene) patch(client versioned.Interface, name, patch string) {
	s.Helper()
	s.eventually(fmt.Sprintf("%s of %s is accepted", patch, name), func() error {
		_, err := client.VmV1alpha1().VirtualMachines(namespace).Patch(s.Context(), name, types.MergePatchType, []byte(patch), metav1.PatchOptions{})
		return err
	})
}

// poweredSays waits until the status of a VM is powered off.
func (s *scene) poweredSays(client versioned.Interface, name string) {
	s.Helper()
	s.eventually("the status of "+name+" is powered off", func() error {
		vm, err := client.VmV1alpha1().VirtualMachines(namespace).Get(s.Context(), name, metav1.GetOptions{})
		if err == nil && vm.Status.PowerState != vmv1alpha1.PoweredOff {
			err = fmt.Errorf("it is %q", vm.Status.PowerState)
		}
		return err
	})
}

// powered waits until vSphere shows the state.
func (s *scene) powered(name string, state vimtypes.VirtualMachinePowerState) {
	s.Helper()
	v := s.VCenter()
	client, err := vsphereclient.Login(s.Context(), v.URL, v.CAFile, v.Username, v.Password)
	if err != nil {
		s.Fatal(err)
	}
	defer func() { _ = client.Logout(context.WithoutCancel(s.Context())) }()
	s.eventually(name+" is "+string(state), func() error {
		var vms []mo.VirtualMachine
		if err := vsphereclient.Everything(s.Context(), client, "VirtualMachine", []string{"name", "runtime.powerState"}, &vms); err != nil {
			return err
		}
		for _, vm := range vms {
			if vm.Name == name && vm.Runtime.PowerState == state {
				return nil
			}
		}
		return fmt.Errorf("it is not among %d VMs", len(vms))
	})
}

// order sends a control request to the simulated vCenter.
func (s *scene) order(method, path string, into any) {
	s.Helper()
	body, err := vsphereclient.Order(s.Context(), s.VCenter().ControlURL, method, path)
	if err != nil {
		s.Fatal(err)
	}
	if into != nil {
		if err := json.Unmarshal(body, into); err != nil {
			s.Fatal(err)
		}
	}
}

// calls returns how often a method of vSphere was called since the start.
func (s *scene) calls(method string) int {
	s.Helper()
	var all map[string]int
	s.order(http.MethodGet, "/calls", &all)
	return all[method]
}

// holder returns the holder of the vCenter's Lease. It is empty if the Lease was released.
func (s *scene) holder() string {
	s.Helper()
	holder, _ := s.lease()
	return holder
}

// host is a client of the management cluster.
func (s *scene) host() kubernetes.Interface {
	s.Helper()
	host, err := kubernetes.NewForConfig(s.RestConfig())
	if err != nil {
		s.Fatal(err)
	}
	return host
}

// knownRevision returns the store revision that the management cluster records.
func (s *scene) knownRevision() int64 {
	s.Helper()
	known, err := s.host().CoreV1().ConfigMaps("slipway-system").Get(s.Context(), "slipway-store", metav1.GetOptions{})
	if err != nil {
		s.Fatal(err)
	}
	return s.revision(known.Data["revision"])
}

// revision parses a revision of the store, for example a resourceVersion.
func (s *scene) revision(n string) int64 {
	s.Helper()
	revision, err := strconv.ParseInt(n, 10, 64)
	if err != nil {
		s.Fatal(err)
	}
	return revision
}

// lease returns the holder of the Lease and the time of its last renewal.
func (s *scene) lease() (holder string, renewed time.Time) {
	s.Helper()
	lease, err := s.host().CoordinationV1().Leases("slipway-system").Get(s.Context(), vcenterLease, metav1.GetOptions{})
	if err != nil {
		s.Fatal(err)
	}
	return ptr.Deref(lease.Spec.HolderIdentity, ""), ptr.Deref(lease.Spec.RenewTime, metav1.MicroTime{}).Time
}

// arguments returns the command-line arguments of a program.
func (s *scene) arguments(part string) []string {
	s.Helper()
	line, err := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", s.PID(part)))
	if err != nil {
		s.Fatal(err)
	}
	return strings.Split(strings.TrimSuffix(string(line), "\x00"), "\x00")[1:]
}
