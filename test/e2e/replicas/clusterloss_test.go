// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package replicas

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	vimtypes "github.com/vmware/govmomi/vim25/types"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/rest"
)

// patience is what a user, or a program that discovers first, is expected to have.
const patience = time.Minute

// namespaced makes a namespace.
func (s *set) namespaced(name string) {
	s.Helper()
	_, err := s.host().CoreV1().Namespaces().Create(s.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}}, metav1.CreateOptions{})
	if err != nil {
		s.Fatal(err)
	}
}

// within fails if what it waits for takes longer than patience allows, and logs how long it took.
func (s *set) within(what string, check func(ctx context.Context) error) {
	s.Helper()
	began := time.Now()
	ctx, cancel := context.WithTimeout(s.Context(), patience)
	defer cancel()
	for {
		err := check(ctx)
		if err == nil {
			s.Logf("%-48s %5.2f s", what, time.Since(began).Seconds())
			return
		}
		select {
		case <-ctx.Done():
			s.Errorf("%s: not within %s: %v", what, patience, err)
			return
		case <-time.After(loadPause):
		}
	}
}

// deleted deletes a namespace and waits until it is gone.
func (s *set) deleted(name string) {
	s.Helper()
	namespaces := s.host().CoreV1().Namespaces()
	if err := namespaces.Delete(s.Context(), name, metav1.DeleteOptions{}); err != nil {
		s.Errorf("deleting namespace %s: %v", name, err)
		return
	}
	s.within("deletion of namespace "+name, func(ctx context.Context) error {
		got, err := namespaces.Get(ctx, name, metav1.GetOptions{})
		if apierrors.IsNotFound(err) {
			return nil
		}
		return fmt.Errorf("it has conditions %+v (error %w)", got.Status.Conditions, err)
	})
}

// discovers asks for all groups with all kinds, as helm does before anything else: in one
// request as newer clients do, or in one for each version of a group.
func (s *set) discovers(what string, legacy bool) {
	s.Helper()
	config := rest.CopyConfig(s.RestConfig())
	config.Timeout = patience
	client, err := discovery.NewDiscoveryClientForConfig(config)
	if err != nil {
		s.Error(err)
		return
	}
	client.UseLegacyDiscovery = legacy
	s.within("discovery "+what, func(context.Context) error {
		_, all, err := client.ServerGroupsAndResources()
		if err != nil {
			return err
		}
		for _, list := range all {
			if list.GroupVersion == "vm.slipway.dev/v1alpha1" && len(list.APIResources) > 0 {
				return nil
			}
		}
		return errors.New("virtual machines are not among the kinds")
	})
}

// A replica is killed, and the Service goes on sending requests to it, as it does until the
// readiness probe has failed often enough. Nothing of the host cluster that asks for all kinds
// of all groups waits for it.
func TestNothingOfTheHostClusterWaitsForAReplicaThatIsLost(t *testing.T) {
	t.Parallel()
	s := newSet(t)
	s.scaled(3)
	s.start(1, 2)
	s.members(3)
	lost := s.leader()
	if lease := s.holderOf(0, 1, 2); lease == lost {
		// What is in vSphere waits for the Lease of who had it, and that is another matter.
		s.leaderApart(lost)
		lost = s.leader()
	}
	for _, name := range []string{"before-the-loss", "without-vms", "with-vms"} {
		s.namespaced(name)
	}
	s.deleted("before-the-loss") // to compare with
	manifest := strings.ReplaceAll(imageManifest, "namespace: default", "namespace: with-vms") + "---\napiVersion: vm.slipway.dev/v1alpha1\nkind: VirtualMachine\n" +
		"metadata: {name: doomed, namespace: with-vms}\nspec:\n  cpu: {sockets: 1}\n  memory: {guest: 1Gi}\n  image: {name: photon-5}\n"
	if err := s.Apply(t.Context(), []byte(manifest)); err != nil {
		t.Fatal(err)
	}
	s.powered("doomed", vimtypes.VirtualMachinePowerStatePoweredOn)
	s.service.blind.Store(true)
	began := time.Now()
	s.kill(lost)
	t.Logf("%s is lost, whose member led", s.pods[lost].name)

	var all sync.WaitGroup
	all.Go(func() { s.deleted("without-vms") })
	all.Go(func() { s.deleted("with-vms") })
	all.Go(func() { s.discovers("in one request", false) })
	all.Go(func() { s.discovers("group by group", true) })
	all.Wait()
	s.within("start of kube-controller-manager", s.RestartControllerManager)
	s.namespaced("made-since")
	s.within("its first service account", func(ctx context.Context) error {
		_, err := s.host().CoreV1().ServiceAccounts("made-since").Get(ctx, "default", metav1.GetOptions{})
		return err
	})
	s.deleted("made-since")
	t.Logf("all of that was done %.2f s after the loss", time.Since(began).Seconds())
	s.service.blind.Store(false)
	s.start(lost)
}
