// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package workload

import (
	"context"
	"errors"
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/tools/cache"
	"k8s.io/klog/v2"

	clusterv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/cluster/v1alpha1"
	"github.com/slipway-dev/slipway/pkg/priorityqueue"
)

// readKubeconfig reads the kubeconfig of a cluster from its Secret.
func (c *Clusters) readKubeconfig(ctx context.Context, cluster types.NamespacedName) (kubeconfig []byte, version string, err error) {
	ctx, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	name := cluster.Name + clusterv1alpha1.KubeconfigSecretSuffix
	secret, err := c.options.Host.CoreV1().Secrets(cluster.Namespace).Get(ctx, name, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return nil, "", fmt.Errorf("the Secret %s/%s does not exist", cluster.Namespace, name)
	}
	if err != nil {
		return nil, "", fmt.Errorf("reading the kubeconfig: %w", err)
	}
	kubeconfig, found := secret.Data[clusterv1alpha1.SecretDataKey]
	if !found {
		return nil, secret.ResourceVersion, fmt.Errorf("the Secret %s/%s has no key %q", cluster.Namespace, name, clusterv1alpha1.SecretDataKey)
	}
	return kubeconfig, secret.ResourceVersion, nil
}

// dial opens a connection with a kubeconfig.
func (c *Clusters) dial(ctx context.Context, cluster types.NamespacedName, kubeconfig []byte) (*Connection, error) {
	config, err := parseKubeconfig(kubeconfig)
	if err != nil {
		return nil, shortError{fmt.Errorf("the kubeconfig in the Secret %s/%s%s: %w", cluster.Namespace, cluster.Name, clusterv1alpha1.KubeconfigSecretSuffix, err)}
	}
	return dial(ctx, dialOptions{
		cluster: cluster, config: c.options.configure(config, c.readLimits.limiters(cluster.Namespace)),
		wake:   func() { c.queue.AddWithOpts(priorityqueue.AddOpts{Priority: probing}, cluster) },
		onNode: func(n *corev1.Node) { c.notifyNode(cluster, n) }, listSlots: c.listSlots,
		hasMachine: func(providerID string) bool { return c.hasMachine(cluster, providerID) },
	})
}

// secretTypes are excluded from the watch. Most Secrets have one of these types, and kubeconfig Secrets do not.
var secretTypes = []corev1.SecretType{
	corev1.SecretTypeServiceAccountToken, corev1.SecretTypeTLS, corev1.SecretTypeDockerConfigJson,
	corev1.SecretTypeBootstrapToken, "helm.sh/release.v1",
}

// watchSecrets watches the resource versions of Secrets until ctx is done. It reads only metadata and stores nothing.
// By default the server has no permission to watch Secrets; changes are then noticed at the next connection attempt. A
// permission that is granted later takes effect after a restart.
func (c *Clusters) watchSecrets(ctx context.Context) {
	if c.options.Metadata == nil {
		return
	}
	var selectors []fields.Selector
	for _, t := range secretTypes {
		selectors = append(selectors, fields.OneTermNotEqualSelector("type", string(t)))
	}
	selector := fields.AndSelectors(selectors...).String()
	client := c.options.Metadata.Resource(corev1.SchemeGroupVersion.WithResource("secrets"))
	source := &cache.ListWatch{
		ListWithContextFunc: func(ctx context.Context, o metav1.ListOptions) (runtime.Object, error) {
			o.FieldSelector = selector
			return client.List(ctx, o)
		},
		WatchFuncWithContext: func(ctx context.Context, o metav1.ListOptions) (watch.Interface, error) {
			o.FieldSelector = selector
			return client.Watch(ctx, o)
		},
	}
	if _, err := source.ListWithContext(ctx, metav1.ListOptions{Limit: 1}); apierrors.IsForbidden(err) {
		klog.FromContext(ctx).Info("No permission to watch Secrets; a changed kubeconfig is noticed at the next connection attempt")
		return
	}
	cache.NewReflectorWithOptions(cache.ToListWatcherWithWatchListSemantics(source, c.options.Metadata), &metav1.PartialObjectMetadata{},
		secretStore{c.onSecretVersion}, cache.ReflectorOptions{Name: "workload-kubeconfigs"}).RunWithContext(ctx)
}

// onSecretVersion queues a cluster if the version of its Secret differs from the version that was read.
func (c *Clusters) onSecretVersion(secret types.NamespacedName, version string) {
	name, isKubeconfig := strings.CutSuffix(secret.Name, clusterv1alpha1.KubeconfigSecretSuffix)
	if !isKubeconfig {
		return
	}
	cluster := types.NamespacedName{Namespace: secret.Namespace, Name: name}
	c.mu.Lock()
	defer c.mu.Unlock()
	s := c.states[cluster]
	if s == nil || s.version == version {
		return
	}
	s.secretChanged = true
	c.queue.Forget(cluster)
	c.queue.AddWithOpts(priorityqueue.AddOpts{Priority: probing}, cluster)
}

// secretStore passes the reflector's objects to onVersion and stores nothing.
type secretStore struct {
	onVersion func(types.NamespacedName, string)
}

var errNoSecret = errors.New("object is not the metadata of a Secret")

// Add implements cache.ReflectorStore.
func (s secretStore) Add(obj any) error {
	m, ok := obj.(*metav1.PartialObjectMetadata)
	if !ok {
		return errNoSecret
	}
	s.onVersion(types.NamespacedName{Namespace: m.Namespace, Name: m.Name}, m.ResourceVersion)
	return nil
}

// Update implements cache.ReflectorStore.
func (s secretStore) Update(obj any) error { return s.Add(obj) }

// Delete implements cache.ReflectorStore. It does not close the connection, because Machines may have to be drained
// after the kubeconfig was deleted.
func (secretStore) Delete(any) error { return nil }

// Replace implements cache.ReflectorStore.
func (s secretStore) Replace(objs []any, _ string) error {
	var errs []error
	for _, obj := range objs {
		errs = append(errs, s.Add(obj))
	}
	return errors.Join(errs...)
}

// Resync implements cache.ReflectorStore.
func (secretStore) Resync() error { return nil }
