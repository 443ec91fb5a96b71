// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package fleetcheck

import (
	"context"
	"fmt"
	"slices"
	"strings"

	clientv3 "go.etcd.io/etcd/client/v3"
	"go.uber.org/zap"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	vmv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/vm/v1alpha1"
	"github.com/slipway-dev/slipway/pkg/store/embedded"
)

func (c *Checker) lookAtAPI(ctx context.Context, seen *Sight) error {
	seen.objects, seen.instances, seen.running = map[string]object{}, map[string]bool{}, nil
	list, err := c.api.VmV1alpha1().VirtualMachines("").List(ctx, metav1.ListOptions{})
	if err != nil {
		return fmt.Errorf("listing virtual machines: %w", err)
	}
	for i := range list.Items {
		o := &list.Items[i]
		seen.objects[o.Namespace+"/"+o.Name] = objectOf(o)
	}
	instances, err := c.api.VmV1alpha1().VirtualMachineInstances("").List(ctx, metav1.ListOptions{})
	if err != nil {
		return fmt.Errorf("listing instances: %w", err)
	}
	for _, i := range instances.Items {
		seen.instances[i.Namespace+"/"+i.Name] = true
		// A running VM keeps its size until it is restarted.
		for _, r := range []*vmv1alpha1.AppliedRevision{i.Spec.Instancetype, i.Spec.Preference} {
			if r != nil {
				seen.running = append(seen.running, i.Namespace+"/"+r.RevisionName)
			}
		}
	}
	return nil
}

func objectOf(o *vmv1alpha1.VirtualMachine) object {
	seen := object{
		uid: string(o.UID), moID: o.Status.UniqueID, power: string(o.Status.PowerState),
		deleting: o.DeletionTimestamp != nil, waits: len(o.Status.RestartRequired) > 0,
	}
	for _, c := range o.Status.Conditions {
		if c.Type == "Ready" {
			seen.ready = c.Status == metav1.ConditionTrue
		}
		if c.Status != metav1.ConditionTrue {
			seen.says += fmt.Sprintf("%s=%s (%s: %s) ", c.Type, c.Status, c.Reason, c.Message)
		}
	}
	if r := o.Status.InstancetypeRef; r != nil && r.ControllerRevisionRef != nil {
		seen.revisions = append(seen.revisions, o.Namespace+"/"+r.ControllerRevisionRef.Name)
	}
	if r := o.Status.PreferenceRef; r != nil && r.ControllerRevisionRef != nil {
		seen.revisions = append(seen.revisions, o.Namespace+"/"+r.ControllerRevisionRef.Name)
	}
	return seen
}

func (c *Checker) lookAtRevisions(ctx context.Context, seen *Sight) error {
	seen.revisions = map[string]bool{}
	revisions, err := c.api.InstancetypeV1alpha1().ControllerRevisions("").List(ctx, metav1.ListOptions{})
	if err != nil {
		return fmt.Errorf("listing revisions: %w", err)
	}
	for _, r := range revisions.Items {
		seen.revisions[r.Namespace+"/"+r.Name] = true
	}
	return nil
}

// lookAtHost reads the objects for the virtual machines from the management cluster.
func (c *Checker) lookAtHost(ctx context.Context, seen *Sight) error {
	seen.active, seen.captured = map[string]bool{}, nil
	all, err := c.host.CoreV1().Namespaces().List(ctx, metav1.ListOptions{})
	if err != nil {
		return fmt.Errorf("listing namespaces: %w", err)
	}
	for _, n := range all.Items {
		seen.active[n.Name] = n.Status.Phase == corev1.NamespaceActive
	}
	revisions, err := c.host.AppsV1().ControllerRevisions("").List(ctx, metav1.ListOptions{})
	if err != nil {
		return fmt.Errorf("listing the ControllerRevisions of the management cluster: %w", err)
	}
	for _, r := range revisions.Items {
		seen.captured = append(seen.captured, r.Namespace+"/"+r.Name)
	}
	lease, err := c.host.CoordinationV1().Leases("slipway-system").Get(ctx, "slipway-controllers", metav1.GetOptions{})
	if err != nil && !apierrors.IsNotFound(err) {
		return fmt.Errorf("reading the Lease of the controllers: %w", err)
	}
	if err == nil {
		seen.leader = ptr.Deref(lease.Spec.HolderIdentity, "")
	}
	return nil
}

// storePrefix is the prefix of the keys of all objects.
const storePrefix = "/registry/slipway.dev/"

// Store connects to the etcd of the running server. The caller closes the client.
func (c *Checker) Store() (*clientv3.Client, error) {
	endpoint, err := embedded.Endpoint(c.StoreDir)
	if err != nil {
		return nil, err
	}
	client, err := clientv3.New(clientv3.Config{Endpoints: []string{endpoint}, Logger: zap.NewNop()})
	if err != nil {
		return nil, fmt.Errorf("connecting to the store: %w", err)
	}
	return client, nil
}

// lookAtStore reads the keys of these kinds.
func (c *Checker) lookAtStore(ctx context.Context, seen *Sight) error {
	client, err := c.Store()
	if err != nil {
		return err
	}
	defer func() { _ = client.Close() }()
	answer, err := client.Get(ctx, storePrefix, clientv3.WithPrefix(), clientv3.WithKeysOnly())
	if err != nil {
		return fmt.Errorf("reading the store: %w", err)
	}
	seen.stored = map[string]bool{}
	for _, kv := range answer.Kvs {
		parts := strings.Split(strings.TrimPrefix(string(kv.Key), storePrefix), "/")
		if n := len(parts); n >= 3 && slices.Contains(storedKinds, parts[n-3]) {
			seen.stored[strings.Join(parts[n-3:], "/")] = true
		}
	}
	return nil
}
