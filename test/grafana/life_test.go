// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package grafana

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"slices"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	vmv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/vm/v1alpha1"
	"github.com/slipway-dev/slipway/pkg/generated/clientset/versioned"
	vmclient "github.com/slipway-dev/slipway/pkg/generated/clientset/versioned/typed/vm/v1alpha1"
	"github.com/slipway-dev/slipway/test/catalogue"
	"github.com/slipway-dev/slipway/test/localcluster"
	"github.com/slipway-dev/slipway/test/prometheus"
	"github.com/slipway-dev/slipway/test/vsphereclient"
)

// namespaces are those of the fleet.
var namespaces = []string{"shop", "payments"}

const (
	// machines are so many in the end, besides those that go again.
	machines = 48
	// atOnce are made in one turn, and in others eachTurn. Turns are so many scrapes apart.
	atOnce, eachTurn, apart = 28, 2, 2
)

// life is what goes on while Prometheus looks.
type life struct {
	t       *testing.T
	cluster *localcluster.Cluster
	server  *prometheus.Server
	slipway versioned.Interface
	// made are there, of number that were made so far, and stopped are to start again.
	made, stopped []*vmv1alpha1.VirtualMachine
	number        int
	listener      net.Listener
}

func newLife(t *testing.T, c *localcluster.Cluster, server *prometheus.Server) *life {
	t.Helper()
	slipway, err := versioned.NewForConfig(c.RestConfig())
	must(t, err)
	l := &life{t: t, cluster: c, server: server, slipway: slipway}
	// Guests that are probed are at an address of this host.
	l.listener, err = net.Listen("tcp", "127.0.7.1:0")
	must(t, err)
	t.Cleanup(func() { _ = l.listener.Close() })
	for _, n := range namespaces {
		must(t, c.Apply(t.Context(), catalogue.Manifests(n)))
	}
	for n := 1; n <= 2; n++ {
		// Real ones are not done at once.
		for _, task := range []string{"CreateVm", "CloneVm", "ReconfigVm", "PowerOnVM_Task", "PowerOffVM_Task", "Destroy_Task"} {
			must(t, l.order(t.Context(), n, http.MethodPut, "/taskdelay?ms=1200&method="+task))
		}
	}
	return l
}

// order orders something of a simulated vCenter.
func (l *life) order(ctx context.Context, vcenter int, method, path string) error {
	_, err := vsphereclient.Order(ctx, l.cluster.VCenterOf(vcenter).ControlURL, method, path)
	return err
}

// happen returns when Prometheus has read the server often enough.
func (l *life) happen(ctx context.Context) error {
	for turn := 0; turn*apart < scrapes; turn++ {
		if err := l.turn(ctx, turn); err != nil {
			return fmt.Errorf("turn %d: %w", turn, err)
		}
		if err := l.scraped(ctx, turn*apart); err != nil {
			return err
		}
	}
	return l.scraped(ctx, scrapes)
}

// scraped waits until Prometheus has read the server so often.
func (l *life) scraped(ctx context.Context, times int) error {
	return until(ctx, fmt.Sprintf("Prometheus has read the server %d times", times), func(ctx context.Context) (bool, error) {
		got, err := l.server.Now(ctx, "sum_over_time(up[1h])")
		return err == nil && len(got) == 1 && got[0].Samples[0].Value >= float64(times), nil
	})
}

// turn lets something happen.
func (l *life) turn(ctx context.Context, n int) error {
	count := eachTurn
	if n == 5 {
		count = atOnce
	}
	for range count {
		if len(l.made) < machines {
			if err := l.create(ctx); err != nil {
				return err
			}
		}
	}
	if err := errors.Join(l.look(ctx), l.probed(ctx)); err != nil {
		return err
	}
	switch n {
	case 18:
		return l.edit(ctx)
	case 20, 21:
		return l.refresh(ctx, n-20)
	case 26:
		return l.order(ctx, 2, http.MethodPost, "/outage?seconds=4")
	}
	switch n % 5 {
	case 1:
		return l.stop(ctx)
	case 3:
		return l.start(ctx)
	case 4:
		return l.replace(ctx)
	}
	return nil
}

func (l *life) vms(namespace string) vmclient.VirtualMachineInterface {
	return l.slipway.VmV1alpha1().VirtualMachines(namespace)
}

// create makes the next one: some have a probe, one waits for an image that nobody has.
func (l *life) create(ctx context.Context) error {
	i := l.number
	l.number++
	vm := &vmv1alpha1.VirtualMachine{ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprintf("web-%d", i+1), Namespace: namespaces[min(i%3, 1)]}}
	vm.Spec.Instancetype = &vmv1alpha1.InstancetypeMatcher{Name: catalogue.Small, Kind: "VirtualMachineInstancetype"}
	vm.Spec.Image = &vmv1alpha1.VirtualMachineImageRef{Name: catalogue.Item}
	switch {
	case i%8 == 5: // in a zone of the first vCenter, whose guests are told their addresses
		vm.Name, vm.Spec.Zone = fmt.Sprintf("api-%d", i+1), vmv1alpha1.DefaultZone
		address := l.listener.Addr().(*net.TCPAddr)
		vm.Spec.ReadinessProbe = &vmv1alpha1.VirtualMachineReadinessProbe{TCPSocket: &vmv1alpha1.TCPSocketAction{Host: address.IP.String(), Port: int32(address.Port)}, PeriodSeconds: 2}
		if i == machines-3 {
			vm.Spec.ReadinessProbe.TCPSocket.Port = 9 // nobody is there
		}
	case i == 12:
		vm.Spec.Image.Name = "nowhere"
	}
	made, err := l.vms(vm.Namespace).Create(ctx, vm, metav1.CreateOptions{})
	l.made = append(l.made, made)
	return err
}

// look reads what somebody would, and something that is not there.
func (l *life) look(ctx context.Context) error {
	for _, n := range namespaces {
		if _, err := l.vms(n).List(ctx, metav1.ListOptions{}); err != nil {
			return err
		}
	}
	if _, err := l.vms(namespaces[0]).Get(ctx, "nobody", metav1.GetOptions{}); !apierrors.IsNotFound(err) {
		return fmt.Errorf("there is a VM nobody: %w", err)
	}
	return nil
}

// probed gives guests that have no address yet the one that is probed.
func (l *life) probed(ctx context.Context) error {
	for _, made := range l.made {
		if made.Spec.ReadinessProbe == nil {
			continue
		}
		vm, err := l.vms(made.Namespace).Get(ctx, made.Name, metav1.GetOptions{})
		if err != nil {
			return err
		}
		n := vm.Status.Network
		if n == nil || n.PrimaryIP4 == "" {
			continue
		}
		q := url.Values{"vm": {vm.Status.UniqueID}, "address": {n.PrimaryIP4, made.Spec.ReadinessProbe.TCPSocket.Host}}
		if err := l.order(ctx, 1, http.MethodPut, "/vm/guest?"+q.Encode()); err != nil {
			return err
		}
	}
	return nil
}

// power changes the power state that is desired.
func (l *life) power(ctx context.Context, vm *vmv1alpha1.VirtualMachine, state vmv1alpha1.PowerState) error {
	patch := fmt.Appendf(nil, `{"spec":{"powerState":%q,"powerOffMode":"Hard"}}`, state)
	_, err := l.vms(vm.Namespace).Patch(ctx, vm.Name, types.MergePatchType, patch, metav1.PatchOptions{})
	return err
}

// stop powers some off that are without a probe: the simulated guest forgets its address with it.
func (l *life) stop(ctx context.Context) error {
	for _, vm := range l.made[:len(l.made)/2] {
		if len(l.stopped) < 5 && !slices.Contains(l.stopped, vm) && vm.Spec.ReadinessProbe == nil && vm.Spec.Image.Name == catalogue.Item {
			l.stopped = append(l.stopped, vm)
			if err := l.power(ctx, vm, vmv1alpha1.PoweredOff); err != nil {
				return err
			}
		}
	}
	return nil
}

// start starts all but one of those again.
func (l *life) start(ctx context.Context) error {
	for _, vm := range l.stopped[min(1, len(l.stopped)):] {
		if err := l.power(ctx, vm, vmv1alpha1.PoweredOn); err != nil {
			return err
		}
	}
	l.stopped = l.stopped[:min(1, len(l.stopped))]
	return nil
}

// replace deletes one of the newest, and makes room for another.
func (l *life) replace(ctx context.Context) error {
	for i, vm := range slices.Backward(l.made) {
		if vm.Spec.ReadinessProbe == nil && i > machines/2 {
			l.made = slices.Delete(l.made, i, i+1)
			return l.vms(vm.Namespace).Delete(ctx, vm.Name, metav1.DeleteOptions{})
		}
	}
	return nil
}

// edit changes an instance type, so that machines are outdated.
func (l *life) edit(ctx context.Context) error {
	_, err := l.slipway.InstancetypeV1alpha1().VirtualMachineInstancetypes(namespaces[0]).Patch(ctx, catalogue.Small, types.MergePatchType,
		[]byte(`{"spec":{"memory":{"guest":"3Gi"}}}`), metav1.PatchOptions{})
	return err
}

// refresh takes some machines to what the instance type has become.
func (l *life) refresh(ctx context.Context, part int) error {
	for i, vm := range l.made {
		if vm.Namespace != namespaces[0] || vm.Spec.Instancetype.Name != catalogue.Small || i%2 != part {
			continue
		}
		if _, err := l.vms(vm.Namespace).RefreshInstancetype(ctx, vm.Name, &vmv1alpha1.RefreshOptions{}, metav1.CreateOptions{}); err != nil {
			return err
		}
	}
	return nil
}
