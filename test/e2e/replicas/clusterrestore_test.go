// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package replicas

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/vmware/govmomi/vim25/mo"
	vimtypes "github.com/vmware/govmomi/vim25/types"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/slipway-dev/slipway/pkg/apis/vm/orphans"
	vmv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/vm/v1alpha1"
	"github.com/slipway-dev/slipway/test/localcluster"
	"github.com/slipway-dev/slipway/test/vsphereclient"
)

// What is typed is what docs/operations.md says. The replicas without data start before the one
// that has the snapshot, as they may: the StatefulSet starts all at once.
func TestThreeReplicasAreRestoredAsDocumentedAndDoNothingInVSphereBefore(t *testing.T) {
	t.Parallel()
	s := newSet(t, "--shutdown-delay-duration=0s")
	s.service.keeps.Store(true)
	k := newKeeper(s)
	k.obey()
	s.scaled(3)
	k.obey()
	s.members(3)
	s.scene.make("kept", "doomed")
	k.follow(s.documentedIn("### Backup")...)
	through := s.client(s.RestConfig())
	s.goes(through, "doomed")
	s.scene.make("since")
	cluster, known := s.cluster(), s.inventory()

	restore := s.documentedIn("### Restore")
	k.follow(s.next(&restore, "--replicas=0")...)
	tasks := s.changes()
	k.follow(s.next(&restore, "--replicas=3")...)
	s.members(3)
	if now := s.cluster(); now == cluster {
		t.Errorf("the cluster is %s, as before the restore", now)
	}
	for i := range s.pods {
		s.ready(i)
		s.has(i, "doomed", "kept")
		s.awaitsRelease(i)
	}
	s.powerOff(through, "kept") // which nobody does yet
	s.untaken()
	if diff := cmp.Diff(tasks, s.changes()); diff != "" {
		t.Errorf("what was asked of vSphere before the release (-before +after):\n%s", diff)
	}
	if diff := cmp.Diff(known, s.inventory()); diff != "" {
		t.Errorf("VMs before the release (-before +after):\n%s", diff)
	}

	k.follow(restore...)
	s.reports("since")
	s.missing("doomed")
	s.powered("kept", vimtypes.VirtualMachinePowerStatePoweredOff)
	s.poweredSays(through, "kept")
	k.tells("virtctl orphans", "since")
	k.tells("virtctl recover --all -A", "") // what it has made when it fails it does not say again
	s.readyOn(through, "since")
	for i := range s.pods {
		s.has(i, "doomed", "kept", "since")
	}
	tasks["PowerOffVM_Task"]++
	known["kept"] = strings.Replace(known["kept"], "poweredOn", "poweredOff", 1)
	if diff := cmp.Diff(known, s.inventory()); diff != "" {
		t.Errorf("VMs after the release (-before +after):\n%s", diff)
	}
	after := s.changes()
	delete(tasks, "ReconfigVM_Task") // records
	delete(after, "ReconfigVM_Task")
	if diff := cmp.Diff(tasks, after); diff != "" {
		t.Errorf("what was asked of vSphere (-before and one power off +after):\n%s", diff)
	}
}

// changes are the tasks that change something, and no searches.
func (s *set) changes() map[string]int {
	s.Helper()
	all := s.tasks()
	maps.DeleteFunc(all, func(task string, _ int) bool { return strings.HasPrefix(task, "Search") })
	return all
}

// follow types commands one after the other, and does between them what kubelets and controllers do.
func (k *keeper) follow(commands ...string) {
	k.Helper()
	for _, command := range commands {
		k.typed(command)
		switch {
		case strings.Contains(command, " scale ") && !strings.Contains(command, "--replicas=0"):
			k.comesWithoutData(1, 2)
			k.obey()
		case strings.Contains(command, " scale "):
			k.obey()
		case strings.HasPrefix(command, "kubectl apply -f artifacts/recovery/restore.yaml"):
			patch := fmt.Sprintf(`{"status":{"phase":"Running","conditions":[{"type":"Ready","status":%q}]}}`, corev1.ConditionTrue)
			_, err := k.host().CoreV1().Pods(systemNamespace).Patch(k.Context(), "slipway-restore", types.MergePatchType, []byte(patch), metav1.PatchOptions{}, "status")
			if err != nil {
				k.Fatal(err)
			}
		}
	}
}

// comesWithoutData starts replicas on new volumes, and waits until they wait for one that has data.
func (k *keeper) comesWithoutData(which ...int) {
	k.Helper()
	for _, i := range which {
		k.claim(i)
		k.pod(i)
		if left, err := os.ReadDir(k.pods[i].dir); !errors.Is(err, os.ErrNotExist) {
			k.Errorf("the volume of %s has %v (error %v)", k.pods[i].name, left, err)
		}
		k.begin(i)
	}
	for _, i := range which {
		k.eventually(k.pods[i].name+" waits for one with data", func() error {
			if _, _, text := k.ask(k.pods[i].direct, "/readyz/etcd-quorum"); !strings.Contains(text, "the host cluster knows a store") {
				return errors.New(text)
			}
			return nil
		})
	}
}

// has wants a replica to have these virtual machines, and no others.
func (s *set) has(i int, want ...string) {
	s.Helper()
	s.eventually(fmt.Sprintf("%s serves %q", s.pods[i].name, want), func() error {
		list, err := s.client(s.pods[i].direct).VmV1alpha1().VirtualMachines("").List(s.Context(), metav1.ListOptions{})
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

// awaitsRelease wants a replica to say so, and to tell nothing of vSphere.
func (s *set) awaitsRelease(i int) {
	s.Helper()
	file := s.pods[i].spec.LogFile
	if i == 0 {
		file = filepath.Join(localcluster.LogDir(s.dir), slipway+".log")
	}
	s.eventually(s.pods[i].name+" says that it waits for the release", func() error {
		log, err := os.ReadFile(file)
		if err == nil && !strings.Contains(string(log), "nothing is done in vSphere until") {
			err = errors.New("it does not")
		}
		return err
	})
	if code, again, text := s.ask(s.pods[i].direct, orphans.Path); code != http.StatusServiceUnavailable || !again {
		s.Errorf("before the release %s tells of orphans: %d, Retry-After %t: %s", s.pods[i].name, code, again, text)
	}
}

// untaken wants that nobody has a Lease.
func (s *set) untaken() {
	s.Helper()
	all, err := s.host().CoordinationV1().Leases(systemNamespace).List(s.Context(), metav1.ListOptions{})
	if err != nil {
		s.Fatal(err)
	}
	for _, lease := range all.Items {
		if holder := lease.Spec.HolderIdentity; holder != nil && *holder != "" {
			s.Errorf("before the release %s has the Lease %s", *holder, lease.Name)
		}
	}
	if len(all.Items) == 0 {
		s.Error("there is no Lease to look at")
	}
}

// reports waits until the replica that takes care of the vCenter reports one orphan.
func (s *set) reports(name string) {
	s.Helper()
	s.eventually(name+" is reported as an orphan", func() error {
		code, _, text := s.ask(s.pods[s.holderOf(0, 1, 2)].direct, orphans.Path)
		if code != http.StatusOK || strings.Count(text, `"vSphereName"`) != 1 || !strings.Contains(text, fmt.Sprintf("%q", name)) {
			return fmt.Errorf("the report is %d %s", code, text)
		}
		return nil
	})
}

// tells types a command that not every replica can answer, again if it fails, until it says a text.
func (k *keeper) tells(command, text string) {
	k.Helper()
	k.eventually(fmt.Sprintf("%s says %q", command, text), func() error {
		said, err := k.try(command)
		if err == nil && !strings.Contains(said, text) {
			err = fmt.Errorf("it says %s", said)
		}
		return err
	})
}

// missing waits until a virtual machine says that vSphere does not have it any more.
func (s *set) missing(name string) {
	s.Helper()
	s.eventually(name+" is missing", func() error {
		vm, err := s.client(s.RestConfig()).VmV1alpha1().VirtualMachines(namespace).Get(s.Context(), name, metav1.GetOptions{})
		if err == nil && vm.Status.PrintableStatus != vmv1alpha1.ReasonMissing {
			err = fmt.Errorf("it is %s: %+v", vm.Status.PrintableStatus, vm.Status.Conditions)
		}
		return err
	})
}

// inventory are the VMs of vCenter by name, with ID and power state; two of one name are an error.
func (s *set) inventory() map[string]string {
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
