// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package app

import (
	"context"
	"fmt"
	"sync"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/tools/events"
	"k8s.io/component-base/metrics/legacyregistry"

	"github.com/slipway-dev/slipway/pkg/apiserver"
	"github.com/slipway-dev/slipway/pkg/controller"
	"github.com/slipway-dev/slipway/pkg/controller/priorityqueue"
	"github.com/slipway-dev/slipway/pkg/controller/virtualmachine"
	"github.com/slipway-dev/slipway/pkg/controller/virtualmachine/synchronizer"
	"github.com/slipway-dev/slipway/pkg/generated/clientset/versioned"
	clientscheme "github.com/slipway-dev/slipway/pkg/generated/clientset/versioned/scheme"
	"github.com/slipway-dev/slipway/pkg/generated/informers/externalversions"
	"github.com/slipway-dev/slipway/pkg/provider/vsphere"
)

// runVirtualMachines wires provider and controller of virtual machines and runs them.
func runVirtualMachines(ctx context.Context, d *controllerDeps) error {
	client, err := versioned.NewForConfig(protobufConfig(d.loopback))
	if err != nil {
		return fmt.Errorf("making the client of our own API: %w", err)
	}
	// The caches come first: they take a second, and new virtual machines wait for them.
	// The inventory of vCenter takes many, and none of them waits for it.
	cached := make(chan struct{})
	hypervisor, err := newProvider(d, cached)
	if err != nil {
		return err
	}
	broadcaster := events.NewBroadcaster(&events.EventSinkImpl{Interface: d.host.EventsV1()})
	defer broadcaster.Shutdown()
	if err := broadcaster.StartRecordingToSinkWithContext(ctx); err != nil {
		return fmt.Errorf("starting to record events: %w", err)
	}
	informers := externalversions.NewSharedInformerFactoryWithOptions(apiserver.Listing(client), 0,
		externalversions.WithTransform(controller.WithoutManagedFields))
	o := &d.options.Controllers
	vms, err := virtualmachine.New(virtualmachine.Deps{
		Client: client, Informers: informers, Host: d.host, Provider: hypervisor,
		Recorder: broadcaster.NewRecorder(clientscheme.Scheme, serverName),
		Policy:   synchronizer.Policy(o.InstancetypeReferencePolicy),
		Workers:  o.Workers, ResyncPeriod: o.ResyncPeriod,
		Queue: controller.QueueOptions{Aging: o.QueueAging, Fairness: o.QueueFairness}, Blocking: o.BlockingOperations,
	})
	if err != nil {
		return fmt.Errorf("making the controller: %w", err)
	}
	d.health.set(informersSynced(informers), hypervisor.Healthy)
	legacyregistry.RawMustRegister(vms.Collectors()...)
	d.mux.Handle("/debug/queue", priorityqueue.Handler(vms.Queue()))

	// The provider ends with the controller, also when that fails.
	ctx, cancel := context.WithCancel(ctx)
	var all sync.WaitGroup
	defer all.Wait()
	defer cancel()
	all.Go(func() { hypervisor.Run(ctx) })
	all.Go(func() {
		if cache.WaitForCacheSync(ctx.Done(), informersSynced(informers)) {
			close(cached)
		}
	})
	return vms.Run(ctx)
}

func newProvider(d *controllerDeps, readAfter <-chan struct{}) (*vsphere.Provider, error) {
	v := &d.options.VCenter
	credentials, err := v.credentials(d.host)
	if err != nil {
		return nil, err
	}
	p, err := vsphere.New(vsphere.Config{
		URL: v.URL, CAFile: v.CAFile, Thumbprint: v.Thumbprint, Credentials: credentials,
		Datacenter: v.Datacenter, ResourcePool: v.ResourcePool, Folder: v.Folder, Datastore: v.Datastore, Network: v.Network,
		ConcurrentCreates: d.options.Controllers.ConcurrentCreates, Alone: d.alone, ReadAfter: readAfter,
	})
	if err != nil {
		return nil, fmt.Errorf("preparing the connection to vCenter %s: %w", v.URL, err)
	}
	return p, nil
}

// informersSynced asks the informers of the kinds that every pass needs.
func informersSynced(f externalversions.SharedInformerFactory) func() bool {
	vm := f.Vm().V1alpha1()
	synced := []func() bool{
		vm.VirtualMachines().Informer().HasSynced,
		vm.VirtualMachineInstances().Informer().HasSynced,
		vm.VirtualMachineClasses().Informer().HasSynced,
		vm.VirtualMachineImages().Informer().HasSynced,
	}
	return func() bool {
		for _, hasSynced := range synced {
			if !hasSynced() {
				return false
			}
		}
		return true
	}
}

// protobufConfig is config for a client that speaks protobuf and is not limited: the
// server on the other side is this process.
func protobufConfig(config *rest.Config) *rest.Config {
	c := rest.CopyConfig(config)
	c.ContentType = runtime.ContentTypeProtobuf
	c.AcceptContentTypes = runtime.ContentTypeProtobuf + "," + runtime.ContentTypeJSON
	c.QPS = -1
	c.UserAgent = serverName + "/" + version
	// Warnings are for the author of an object, who got them; the log is not.
	c.WarningHandler = rest.NoWarnings{}
	return c
}
