// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package availability

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/vmware/govmomi/vim25/mo"
	vimtypes "github.com/vmware/govmomi/vim25/types"
	clientv3 "go.etcd.io/etcd/client/v3"
	"go.etcd.io/etcd/etcdutl/v3/snapshot"
	"go.uber.org/zap"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"

	"github.com/slipway-dev/slipway/pkg/apis/vm/orphans"
	vmv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/vm/v1alpha1"
	"github.com/slipway-dev/slipway/pkg/generated/clientset/versioned"
	"github.com/slipway-dev/slipway/test/localcluster"
	"github.com/slipway-dev/slipway/test/vsphereclient"
)

// save writes a snapshot to a file.
func (e *etcd) save() (file string) {
	e.Helper()
	file = filepath.Join(e.TempDir(), "snapshot.db")
	config := clientv3.Config{Endpoints: []string{"http://" + e.members[0].client}}
	if _, err := snapshot.NewV3(zap.NewNop()).Save(e.Context(), config, file); err != nil {
		e.Fatal(err)
	}
	return file
}

// restore replaces the data of all members by a snapshot, as etcd's documentation describes for Kubernetes. The members
// must not run.
func (e *etcd) restore(file string, args ...string) {
	e.Helper()
	for i, m := range e.members {
		if err := os.RemoveAll(m.dir); err != nil {
			e.Fatal(err)
		}
		_, peer, _ := strings.Cut(strings.Split(e.initial, ",")[i], "=")
		command := exec.CommandContext(e.Context(), filepath.Join(filepath.Dir(m.spec.Path), "etcdutl"), append([]string{
			"snapshot", "restore", file, "--data-dir=" + m.dir, "--name=" + m.spec.Name,
			"--initial-cluster=" + e.initial, "--initial-advertise-peer-urls=" + peer,
		}, args...)...)
		if out, err := command.CombinedOutput(); err != nil {
			e.Fatalf("%v: %v\n%s", command.Args, err, out)
		}
	}
}

// bumped are the flags of a restore whose revisions are later than any that clients have received.
var bumped = []string{"--bump-revision=1000000000", "--mark-compacted"}

// released runs etcd release and checks its output.
func (s *scene) released(args ...string) {
	s.Helper()
	command := exec.CommandContext(s.Context(), filepath.Join(s.bin, slipway), append([]string{"etcd", "release"}, args...)...)
	out, err := command.CombinedOutput()
	if err != nil || !strings.HasPrefix(string(out), "released") {
		s.Fatalf("%v: %v\n%s", command.Args, err, out)
	}
}

// The etcd cluster gets the data of a snapshot while no server runs.
func TestServers_WriteNothingToVSphereBeforeARestoredStoreIsReleased(t *testing.T) {
	t.Parallel()
	etcd := newEtcd(t, 3)
	s := newSet(t, etcd, "--shutdown-delay-duration=0s")
	s.make("kept", "doomed")
	through := s.client(s.RestConfig())
	snapshot := etcd.save()
	s.deletes(through, "doomed")
	s.make("since")
	known, tasks := s.inventory(), s.changes()

	for i := range s.servers {
		s.stop(i)
	}
	etcd.stop(etcd.all()...)
	etcd.restore(snapshot, bumped...)
	etcd.start(etcd.all()...)
	s.start(1, 2, 0)
	for i := range s.servers {
		s.has(i, "doomed", "kept")
		s.awaitsRelease(s.servers[i].direct, s.logFile(i))
	}
	s.powerOff(through, "kept")
	s.untaken()
	if diff := cmp.Diff(tasks, s.changes()); diff != "" {
		t.Errorf("tasks of vSphere before the release (-before +after):\n%s", diff)
	}
	if diff := cmp.Diff(known, s.inventory()); diff != "" {
		t.Errorf("VMs before the release (-before +after):\n%s", diff)
	}

	// A restart does not release the store, although the management cluster has recorded it.
	s.kill(2)
	s.start(2)
	s.awaitsRelease(s.servers[2].direct, s.logFile(2))

	s.released("--etcd-servers=" + etcd.endpoints())
	s.powered("kept", vimtypes.VirtualMachinePowerStatePoweredOff)
	s.missing("doomed")
	s.poweredSays(through, "kept")
	tasks["PowerOffVM_Task"]++
	known["kept"] = strings.Replace(known["kept"], "poweredOn", "poweredOff", 1)
	if diff := cmp.Diff(known, s.inventory()); diff != "" {
		t.Errorf("VMs after the release (-before +after):\n%s", diff)
	}
	after := s.changes()
	delete(tasks, "ReconfigVM_Task") // records
	delete(after, "ReconfigVM_Task")
	if diff := cmp.Diff(tasks, after); diff != "" {
		t.Errorf("tasks of vSphere (-before and one power off +after):\n%s", diff)
	}
}

// deletes deletes a virtual machine and waits until it is not found.
func (s *scene) deletes(client versioned.Interface, name string) {
	s.Helper()
	vms := client.VmV1alpha1().VirtualMachines(namespace)
	if err := vms.Delete(s.Context(), name, metav1.DeleteOptions{}); err != nil {
		s.Fatal(err)
	}
	s.eventually(name+" is deleted", func() error {
		_, err := vms.Get(s.Context(), name, metav1.GetOptions{})
		if apierrors.IsNotFound(err) {
			return nil
		}
		return fmt.Errorf("it is found: %w", err)
	})
}

// changes returns how many tasks that change vSphere were started, by method.
func (s *scene) changes() map[string]int {
	s.Helper()
	var all map[string]int
	s.order(http.MethodGet, "/calls", &all)
	maps.DeleteFunc(all, func(call string, _ int) bool {
		return !strings.HasSuffix(call, "_Task") && !strings.Contains(call, "ovf/library-item") && call != "CancelTask" || strings.HasPrefix(call, "Search")
	})
	return all
}

// has waits until a server serves these VMs and no others.
func (s *set) has(i int, want ...string) {
	s.Helper()
	s.eventually(fmt.Sprintf("%s serves %q", s.servers[i].name, want), func() error {
		list, err := s.client(s.servers[i].direct).VmV1alpha1().VirtualMachines("").List(s.Context(), metav1.ListOptions{})
		if err != nil {
			return err
		}
		var got []string
		for i := range list.Items {
			got = append(got, list.Items[i].Name)
		}
		if slices.Sort(got); !slices.Equal(got, want) {
			return fmt.Errorf("it serves %q", got)
		}
		return nil
	})
}

func (s *set) logFile(i int) string {
	if i == 0 {
		return filepath.Join(localcluster.LogDir(s.dir), slipway+".log")
	}
	return s.servers[i].spec.LogFile
}

// waits is the message that a server logs every minute while its controllers wait.
const waits = "nothing is done in vSphere until"

// awaitsRelease waits until the server has logged, since its last start, that its controllers wait. It checks that
// the server reports no state of vSphere.
func (s *scene) awaitsRelease(direct *rest.Config, logFile string) {
	s.Helper()
	s.eventually("the controllers of "+direct.Host+" wait", func() error {
		log, err := os.ReadFile(logFile)
		if err != nil {
			return err
		}
		text := string(log)
		if i := strings.LastIndex(text, "Serving securely"); i >= 0 && strings.Contains(text[i:], waits) {
			return nil
		}
		return errors.New("the log has no such line")
	})
	if code, again, text := s.ask(direct, orphans.Path); code != http.StatusServiceUnavailable || !again {
		s.Errorf("before the release %s reports orphans: %d, Retry-After %t: %s", direct.Host, code, again, text)
	}
}

// untaken checks that no replica holds a Lease.
func (s *scene) untaken() {
	s.Helper()
	all, err := s.host().CoordinationV1().Leases("slipway-system").List(s.Context(), metav1.ListOptions{})
	if err != nil {
		s.Fatal(err)
	}
	for _, lease := range all.Items {
		if holder := lease.Spec.HolderIdentity; holder != nil && *holder != "" {
			s.Errorf("before the release %s has the Lease %s", *holder, lease.Name)
		}
	}
	if len(all.Items) == 0 {
		s.Error("there is no Lease")
	}
}

// missing waits until the status of a VM reports that it is not in vSphere.
func (s *scene) missing(name string) {
	s.Helper()
	s.eventually(name+" is missing", func() error {
		vm, err := s.client(s.RestConfig()).VmV1alpha1().VirtualMachines(namespace).Get(s.Context(), name, metav1.GetOptions{})
		if err == nil && vm.Status.PrintableStatus != vmv1alpha1.ReasonMissing {
			err = fmt.Errorf("it is %s: %+v", vm.Status.PrintableStatus, vm.Status.Conditions)
		}
		return err
	})
}

// inventory returns the VMs of vCenter by name, with ID and power state. Two VMs with one name are an error.
func (s *scene) inventory() map[string]string {
	s.Helper()
	v := s.VCenter()
	client, err := vsphereclient.Login(s.Context(), v.URL, v.CAFile, v.Username, v.Password)
	if err != nil {
		s.Fatal(err)
	}
	defer func() { _ = client.Logout(context.WithoutCancel(s.Context())) }()
	var vms []mo.VirtualMachine
	if err := vsphereclient.Everything(s.Context(), client, "VirtualMachine", []string{"name", "runtime.powerState"}, &vms); err != nil {
		s.Fatal(err)
	}
	all := map[string]string{}
	for _, vm := range vms {
		if _, twice := all[vm.Name]; twice {
			s.Errorf("vCenter has %s twice", vm.Name)
		}
		all[vm.Name] = vm.Self.Value + " " + string(vm.Runtime.PowerState)
	}
	return all
}
