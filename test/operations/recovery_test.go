// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package operations

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/slipway-dev/slipway/pkg/apis/conditions"
	vmv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/vm/v1alpha1"
	"github.com/slipway-dev/slipway/test/catalogue"
)

const (
	teamA, teamB = "team-a", "team-b"
	// each is the number of virtual machines in a namespace.
	each = 15
)

// lostStore deletes the store and recovers the objects from vSphere.
func lostStore(t *testing.T) {
	s := newStoreScene(t)
	if err := s.Apply(t.Context(), catalogue.Manifests(teamA)); err != nil {
		t.Fatal(err)
	}
	s.group(teamA)
	s.fill(teamA, each)
	s.fill(teamB, each)
	s.ready(2*each, teamA, teamB)
	// Pinned revisions are kept, although their source has changed.
	types := s.api.InstancetypeV1alpha1().VirtualMachineInstancetypes(teamA)
	small, err := types.Get(t.Context(), catalogue.Small, metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	small.Spec.CPU.Guest = 4
	if _, err := types.Update(t.Context(), small, metav1.UpdateOptions{}); err != nil {
		t.Fatal(err)
	}
	if out, err := s.virtctl("", "-n", teamB, "stop", "web-07", "--mode", "Hard"); err != nil {
		t.Fatal(out, err)
	}
	s.eventually("web-07 is off", func(ctx context.Context) error {
		vm, err := s.api.VmV1alpha1().VirtualMachines(teamB).Get(ctx, "web-07", metav1.GetOptions{})
		if err == nil && vm.Status.PowerState != vmv1alpha1.PoweredOff {
			err = fmt.Errorf("it is %s", vm.Status.PowerState)
		}
		return err
	})
	grouped := s.groups(teamA)
	objects, machines := s.ready(2*each, teamA, teamB), s.inventory()

	s.lose()
	if list, err := s.api.VmV1alpha1().VirtualMachines("").List(t.Context(), metav1.ListOptions{}); err != nil || len(list.Items) != 0 {
		t.Fatalf("%d virtual machines in an empty store, error %v", len(list.Items), err)
	}
	s.eventually("all are listed as missing", func(context.Context) error {
		out, err := s.virtctl("", "recover", "-A")
		if n := strings.Count(out, " Missing "); err == nil && n != 2*each {
			err = fmt.Errorf("%d are missing: %s", n, out)
		}
		return err
	})
	s.forbidden()
	if out, err := s.virtctl("", "recover", "--all", "-A", "--dry-run"); err != nil || strings.Count(out, "created (server dry run)") != 2*each+len(grouped) {
		t.Fatalf("dry run: %v\n%s", err, out)
	}
	if list, err := s.api.VmV1alpha1().VirtualMachines("").List(t.Context(), metav1.ListOptions{}); err != nil || len(list.Items) != 0 {
		t.Fatalf("%d virtual machines after a dry run, error %v", len(list.Items), err)
	}

	s.recover()
	if diff := cmp.Diff(objects, s.ready(2*each, teamA, teamB)); diff != "" {
		t.Errorf("virtual machines (-before +after):\n%s", diff)
	}
	if diff := cmp.Diff(grouped, s.groups(teamA)); diff != "" {
		t.Errorf("groups (-before +after):\n%s", diff)
	}
	s.restart() // The in-memory state is lost, and all objects are reconciled again.
	s.ready(2*each, teamA, teamB)
	if diff := cmp.Diff(machines, s.inventory()); diff != "" {
		t.Errorf("VMs of vCenter (-before +after):\n%s", diff)
	}
	if out, err := s.virtctl("", "recover", "-A"); err != nil || !strings.Contains(out, "Nothing to recover in vCenter ") {
		t.Errorf("after all: %v\n%s", err, out)
	}
	// The VMs are managed as before.
	if out, err := s.virtctl("", "-n", teamA, "stop", "web-00", "--mode", "Hard"); err != nil {
		t.Fatal(out, err)
	}
	s.eventually("web-00 is off", func(context.Context) error {
		if m := s.inventory()[objects[teamA+"/web-00"].UniqueID]; m.Power != "poweredOff" {
			return fmt.Errorf("it is %s", m.Power)
		}
		return nil
	})
}

// recover recreates all objects while virtctl is killed repeatedly.
func (s *storeScene) recover() {
	s.Helper()
	// virtctl is killed after each object that it creates for one VM, and then between VMs.
	virtctl := func(cmd *exec.Cmd) error { return cmd.Process.Kill() }
	s.killed(1, virtctl, "recover", "-n", teamA, keeper)
	s.killed(1, virtctl, "recover", "-n", teamA, keeper)
	s.killed(5, virtctl, "recover", "--all", "-n", teamA)
	s.killed(5, func(*exec.Cmd) error { return s.KillSlipway() }, "recover", "--all", "-n", teamB)
	if err := s.RestartSlipway(s.Context()); err != nil {
		s.Fatal(err)
	}
	s.eventually("the rest is recovered", func(context.Context) error {
		_, err := s.virtctl("", "recover", "--all", "-A")
		return err
	})
}

// lose kills the server, removes its data and serves an empty store, as docs/how-to/operate/recover-a-lost-store.md describes.
func (s *storeScene) lose() {
	s.Helper()
	commands := s.documented("recover-a-lost-store.md", "## Start with an empty store")
	s.follow(commands[:len(commands)-1])
	if err := os.RemoveAll(s.SlipwayDataDir()); err != nil {
		s.Fatal(err)
	}
	restarted := make(chan error, 1)
	go func() { restarted <- s.RestartSlipway(s.Context()) }()
	s.accept()
	if err := <-restarted; err != nil {
		s.Fatal(err)
	}
	releaseStore(s.T)
}

func (s *storeScene) restart() {
	s.Helper()
	if err := s.KillSlipway(); err != nil {
		s.Fatal(err)
	}
	if err := s.RestartSlipway(s.Context()); err != nil {
		s.Fatal(err)
	}
}

// forbidden checks that ordinary users cannot read records, even with the permission to list orphans.
func (s *storeScene) forbidden() {
	s.Helper()
	const binding = `
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata: {name: alice-orphans}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: slipway-orphan-report}
subjects: [{apiGroup: rbac.authorization.k8s.io, kind: User, name: alice}]
`
	if err := s.Apply(s.Context(), []byte(binding)); err != nil {
		s.Fatal(err)
	}
	alice, err := s.UserKubeconfig("alice")
	if err != nil {
		s.Fatal(err)
	}
	s.eventually("alice may list orphans", func(context.Context) error {
		_, err := s.virtctl(alice, "orphans")
		return err
	})
	if out, err := s.virtctl(alice, "recover", "-A"); err == nil || !strings.Contains(err.Error(), "only privileged users") {
		s.Errorf("alice reads records: %v\n%s", err, out)
	}
}

// killed runs virtctl, and kills a process when virtctl has created this many objects.
func (s *storeScene) killed(some int, kill func(*exec.Cmd) error, args ...string) {
	s.Helper()
	cmd := s.command("", args...)
	out, err := cmd.StdoutPipe()
	if err != nil {
		s.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		s.Fatal(err)
	}
	lines := bufio.NewScanner(out)
	for n := 0; n < some && lines.Scan(); n++ {
	}
	if err := kill(cmd); err != nil {
		s.Fatal(err)
	}
	for lines.Scan() {
	}
	if err := cmd.Wait(); err == nil {
		s.Log("it was done before it was killed")
	}
}

// restoredStore checks that nothing is destroyed or duplicated, and that the restored store is updated from vSphere.
// The commands are those of docs/how-to/operate.
func restoredStore(t *testing.T) {
	s := newStoreScene(t)
	const machines = 3
	if err := s.Apply(t.Context(), catalogue.Manifests(teamA)); err != nil {
		t.Fatal(err)
	}
	for i := range machines {
		s.create(teamA, fmt.Sprintf("web-%02d", i), "")
	}
	s.ready(machines, teamA)
	s.follow(s.documented("back-up-the-store.md", "## On demand"))

	s.since()
	vms := s.api.VmV1alpha1().VirtualMachines(teamA)
	objects, before := s.ready(machines, teamA), s.inventory()

	s.follow(s.documented("restore-the-store.md", "## Restore into the embedded etcd"))
	if list, err := vms.List(t.Context(), metav1.ListOptions{}); err != nil || len(list.Items) != machines {
		t.Errorf("%d virtual machines are served before the release, %v; want %d", len(list.Items), err, machines)
	}
	if out, err := s.virtctl("", "recover", "-A"); err == nil {
		t.Errorf("the controllers run before the release: %s", out)
	}
	s.follow(s.documented("restore-the-store.md", "## Release the store"))
	s.eventually("one is older than its record, and one is missing", func(ctx context.Context) error {
		older, err := vms.Get(ctx, "web-00", metav1.GetOptions{})
		if err != nil {
			return err
		}
		if c := conditions.Find(older.Status.Conditions, vmv1alpha1.ConditionBackupUpToDate); c == nil || c.Reason != vmv1alpha1.ReasonRecordNewer {
			return fmt.Errorf("web-00: %+v", c)
		}
		missing, err := vms.Get(ctx, "web-01", metav1.GetOptions{})
		if err == nil && missing.Status.PrintableStatus != "Missing" {
			err = fmt.Errorf("web-01 is %s", missing.Status.PrintableStatus)
		}
		return err
	})
	if diff := cmp.Diff(before, s.inventory()); diff != "" {
		t.Errorf("an older store has changed VMs (-before +after):\n%s", diff)
	}
	s.eventually("the differences are listed", func(context.Context) error {
		out, err := s.virtctl("", "recover", "-A")
		if err == nil && (strings.Count(out, " Older ") != 1 || strings.Count(out, " Missing ") != 1) {
			err = fmt.Errorf("listed: %s", out)
		}
		return err
	})
	if out, err := s.virtctl("", "recover", "--all", "-A"); err != nil || strings.Count(out, " updated\n") != 1 || strings.Count(out, " created\n") != 1 {
		t.Errorf("recovered: %v\n%s", err, out)
	}
	if diff := cmp.Diff(objects, s.readyBut("web-01", machines, teamA)); diff != "" {
		t.Errorf("virtual machines (-before +after):\n%s", diff)
	}
	after := s.inventory()
	for id, m := range before {
		if m.Power != after[id].Power || m.Booted != after[id].Booted {
			t.Errorf("%s was %+v, and is %+v", id, m, after[id])
		}
	}
	if len(after) != len(before) {
		t.Errorf("vCenter had %d VMs, and has %d", len(before), len(after))
	}
	if err := vms.DeleteCollection(t.Context(), metav1.DeleteOptions{}, metav1.ListOptions{}); err != nil {
		t.Fatal(err)
	}
	s.eventually("all are deleted", func(ctx context.Context) error {
		list, err := vms.List(ctx, metav1.ListOptions{})
		if err == nil && len(list.Items) > 0 {
			err = fmt.Errorf("%d are left", len(list.Items))
		}
		return err
	})
}

// since powers one virtual machine off, deletes one and creates one.
func (s *storeScene) since() {
	s.Helper()
	vms := s.api.VmV1alpha1().VirtualMachines(teamA)
	if out, err := s.virtctl("", "-n", teamA, "stop", "web-00", "--mode", "Hard"); err != nil {
		s.Fatal(out, err)
	}
	if err := vms.Delete(s.Context(), "web-01", metav1.DeleteOptions{}); err != nil {
		s.Fatal(err)
	}
	s.create(teamA, "since", "")
	s.eventually("one is off, and one is deleted", func(ctx context.Context) error {
		off, err := vms.Get(ctx, "web-00", metav1.GetOptions{})
		if err != nil || off.Status.PowerState != vmv1alpha1.PoweredOff {
			return fmt.Errorf("web-00: %v", err)
		}
		if _, err := vms.Get(ctx, "web-01", metav1.GetOptions{}); !apierrors.IsNotFound(err) {
			return fmt.Errorf("web-01: %v", err)
		}
		return nil
	})
}
