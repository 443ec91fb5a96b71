// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package apiserver

import (
	"context"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metainternalversion "k8s.io/apimachinery/pkg/apis/meta/internalversion"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/apimachinery/pkg/watch"
	genericapirequest "k8s.io/apiserver/pkg/endpoints/request"
	"k8s.io/apiserver/pkg/registry/generic"
	"k8s.io/apiserver/pkg/registry/rest"
	"k8s.io/apiserver/pkg/storage/storagebackend"
	"k8s.io/client-go/tools/cache"

	"github.com/slipway-dev/slipway/pkg/apis/scheme"
	vmv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/vm/v1alpha1"
	"github.com/slipway-dev/slipway/pkg/generated/informers/externalversions"
	"github.com/slipway-dev/slipway/pkg/registry/standard"
	"github.com/slipway-dev/slipway/pkg/registry/vm/references"
	"github.com/slipway-dev/slipway/pkg/registry/vm/virtualmachineinstance"
)

// instances returns the endpoints of instances with a watch cache.
func instances(t *testing.T) (*standard.REST, *standard.StatusREST) {
	t.Helper()
	etcd := startEtcd(t)
	kind := virtualmachineinstance.Kind()
	config := storagebackend.NewDefaultConfig("", newStorageCodec())
	config.Transport.ServerList = []string{etcd.Endpoint()}
	embedded := NewEmbedded(generic.RESTOptions{
		StorageConfig: config.ForResource(kind.Plural), ResourcePrefix: "/instances", CountMetricPollPeriod: time.Minute,
	}, etcd.Client, 0)
	t.Cleanup(embedded.Close)
	main, status, err := standard.NewREST(embedded, scheme.Scheme, kind)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(main.Destroy)
	return main, status
}

// observed returns an instance with an observed address.
func observed(name, ip string) *vmv1alpha1.VirtualMachineInstance {
	return &vmv1alpha1.VirtualMachineInstance{
		ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: metav1.NamespaceDefault},
		Status:     vmv1alpha1.VirtualMachineInstanceStatus{Network: &vmv1alpha1.VirtualMachineNetworkStatus{PrimaryIP4: ip}},
	}
}

// seen waits until the informer has the object with the given address.
func seen(ctx context.Context, t *testing.T, indexer cache.Indexer, name, ip string) *vmv1alpha1.VirtualMachineInstance {
	t.Helper()
	var found *vmv1alpha1.VirtualMachineInstance
	err := wait.PollUntilContextTimeout(ctx, time.Millisecond, time.Minute, true, func(context.Context) (bool, error) {
		obj, _, err := indexer.GetByKey(metav1.NamespaceDefault + "/" + name)
		found, _ = obj.(*vmv1alpha1.VirtualMachineInstance)
		return found != nil && found.Status.Network != nil && found.Status.Network.PrimaryIP4 == ip, err
	})
	if err != nil {
		t.Fatalf("the informer does not have %s at %s but %+v", name, ip, found)
	}
	return found
}

// The last admission plugin charges quotas.
func TestStandardREST_RejectsANameInUseBeforeAdmission(t *testing.T) {
	main, _ := instances(t)
	ctx := genericapirequest.WithNamespace(t.Context(), metav1.NamespaceDefault)
	admitted := 0
	create := func() error {
		_, err := main.Create(ctx, observed("a", ""), func(context.Context, runtime.Object) error { admitted++; return nil }, &metav1.CreateOptions{})
		return err
	}
	if err := create(); err != nil {
		t.Fatal(err)
	}
	// A read of the latest version waits until the watch cache contains the object, but not until the cache is
	// initialized.
	if err := wait.PollUntilContextTimeout(ctx, time.Millisecond, time.Minute, true, func(ctx context.Context) (bool, error) {
		_, err := main.List(ctx, &metainternalversion.ListOptions{})
		return err == nil, nil
	}); err != nil {
		t.Fatal(err)
	}
	if err := create(); !apierrors.IsAlreadyExists(err) || admitted != 1 {
		t.Errorf("a second creation returned %v after %d admissions, want AlreadyExists after 1", err, admitted)
	}
	if _, _, err := main.Delete(ctx, "a", rest.ValidateAllObjectFunc, &metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	if err := create(); err != nil || admitted != 2 {
		t.Errorf("a creation after the deletion returned %v after %d admissions, want no error after 2", err, admitted)
	}
}

func TestInformers_ShareTheObjectsOfTheWatchCache(t *testing.T) {
	main, status := instances(t)
	ctx := genericapirequest.WithNamespace(t.Context(), metav1.NamespaceDefault)
	create := func(name string) {
		if _, err := main.Create(ctx, observed(name, ""), rest.ValidateAllObjectFunc, &metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	move := func(name, ip string) {
		stored, err := main.Get(ctx, name, &metav1.GetOptions{})
		if err != nil {
			t.Fatal(err)
		}
		moved := observed(name, ip)
		moved.ResourceVersion = stored.(*vmv1alpha1.VirtualMachineInstance).ResourceVersion
		next := rest.DefaultUpdatedObjectInfo(moved)
		if _, _, err := status.Update(ctx, name, next, rest.ValidateAllObjectFunc, rest.ValidateAllObjectUpdateFunc, false, &metav1.UpdateOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	create("listed")
	move("listed", "192.0.2.1")

	factory := externalversions.NewSharedInformerFactory(nil, 0) // sends no requests
	ShareObjects(factory, &references.Readers{Machines: main, Instances: main})
	informer := factory.Vm().V1alpha1().VirtualMachineInstances().Informer()
	stop := make(chan struct{})
	defer factory.Shutdown()
	defer close(stop)
	go informer.Run(stop)

	same := func(name, ip string) *vmv1alpha1.VirtualMachineInstance {
		t.Helper()
		got := seen(t.Context(), t, informer.GetIndexer(), name, ip)
		cached, err := main.Get(ctx, name, &metav1.GetOptions{ResourceVersion: got.ResourceVersion})
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(cached, got); diff != "" {
			t.Errorf("%s (-watch cache +informer):\n%s", name, diff)
		}
		if got.Status.Network != cached.(*vmv1alpha1.VirtualMachineInstance).Status.Network {
			t.Errorf("%s at %s: the informer holds a copy", name, ip)
		}
		return got
	}
	before := same("listed", "192.0.2.1")
	create("watched")
	move("watched", "192.0.2.2")
	same("watched", "192.0.2.2")
	move("listed", "192.0.2.3")
	same("listed", "192.0.2.3")

	// The cache contains a newer version, which has its own event.
	if got := (shared{func() *standard.REST { return main }}).held(ctx, watch.Event{Type: watch.Modified, Object: before}); got != before {
		t.Errorf("got %+v for an event of an object that has changed since, want the object of the event", got)
	}

	if _, _, err := main.Delete(ctx, "watched", rest.ValidateAllObjectFunc, &metav1.DeleteOptions{}); err != nil && !apierrors.IsNotFound(err) {
		t.Fatal(err)
	}
	err := wait.PollUntilContextTimeout(t.Context(), time.Millisecond, time.Minute, true, func(context.Context) (bool, error) {
		return len(informer.GetIndexer().ListKeys()) == 1, nil
	})
	if err != nil {
		t.Errorf("the informer has %v after a deletion", informer.GetIndexer().ListKeys())
	}
}
