// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package identity

import (
	"context"
	"errors"
	"fmt"
	"strconv"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

const (
	// ConfigMapName is the name of the ConfigMap in the management cluster that has the last known state.
	ConfigMapName = "slipway-store"
	// AcceptAnnotation on that ConfigMap has the ID of another or older store that may be served. It is
	// removed when that store is served.
	AcceptAnnotation = "slipway.dev/accept-store"

	idKey       = "id"
	clusterKey  = "cluster"
	revisionKey = "revision"
)

// errRefused is in errors about a store that must not be served.
var errRefused = errors.New("the store is not served")

// attempts bounds the conflicts with other replicas that update the ConfigMap.
const attempts = 5

// compare decides about the store and records its state in the management cluster. held is the reason why
// the controllers wait, empty if they do not.
func (g *Gate) compare(ctx context.Context) (now state, held string, err error) {
	for range attempts {
		now, held, err = g.compareOnce(ctx)
		if !apierrors.IsAlreadyExists(err) && !apierrors.IsConflict(err) {
			break
		}
	}
	return now, held, err
}

// compareOnce reads the ConfigMap first: the store can only be further by the time that it is read,
// also when other replicas write to both.
func (g *Gate) compareOnce(ctx context.Context) (now state, held string, err error) {
	maps := g.host.CoreV1().ConfigMaps(g.namespace)
	known, err := maps.Get(ctx, ConfigMapName, metav1.GetOptions{})
	write := func() error { _, err := maps.Update(ctx, known, metav1.UpdateOptions{}); return wrapUpdate(err) }
	if apierrors.IsNotFound(err) {
		known = &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: ConfigMapName, Namespace: g.namespace}}
		write = func() error { _, err := maps.Create(ctx, known, metav1.CreateOptions{}); return wrapUpdate(err) }
	} else if err != nil {
		return now, "", fmt.Errorf("reading the known store from the management cluster: %w", err)
	}
	recorded, err := decode(known)
	if err != nil {
		return now, "", err
	}
	if now, held, err = g.read(ctx); err != nil {
		if seen := g.seen.Load(); errors.Is(err, errRefused) && (recorded == nil || recorded.id == seen.id && recorded.revision < seen.revision) {
			encode(known, *seen) // the next process compares with it
			if failed := write(); failed != nil {
				err = fmt.Errorf("%w; %w", err, failed)
			}
		}
		return now, "", err
	}
	accepted, annotated := known.Annotations[AcceptAnnotation]
	switch verdict, reason := decide(recorded, accepted, now); {
	case verdict == refuse:
		return now, "", fmt.Errorf("%w: %s. Check the mounted volume, --etcd-servers and --etcd-prefix. To serve it all the same: kubectl annotate configmap --overwrite -n %s %s %s=%s",
			errRefused, reason, g.namespace, ConfigMapName, AcceptAnnotation, now.id)
	case verdict == hold && held == "":
		// The wait is in the store before the ConfigMap changes: after a crash in between the decision is repeated.
		if err := g.store.hold(ctx, reason); err != nil {
			return now, "", err
		}
		held = reason
	}
	use := annotated && accepted == now.id
	if !use && recorded != nil && *recorded == now {
		return now, held, nil
	}
	if use {
		delete(known.Annotations, AcceptAnnotation)
	}
	encode(known, now)
	return now, held, write()
}

func wrapUpdate(err error) error {
	if err != nil {
		return fmt.Errorf("recording the store in the management cluster: %w", err)
	}
	return nil
}

func encode(m *corev1.ConfigMap, s state) {
	if m.Data == nil {
		m.Data = map[string]string{}
	}
	m.Data[idKey], m.Data[clusterKey], m.Data[revisionKey] = s.id, s.cluster, strconv.FormatInt(s.revision, 10)
}

// decode returns the state in the ConfigMap, nil if it has none.
func decode(m *corev1.ConfigMap) (*state, error) {
	if m.Data[idKey] == "" {
		return nil, nil
	}
	revision, err := strconv.ParseInt(m.Data[revisionKey], 10, 64)
	if err != nil {
		return nil, fmt.Errorf("ConfigMap %s/%s: %s %q: must be a number", m.Namespace, m.Name, revisionKey, m.Data[revisionKey])
	}
	return &state{id: m.Data[idKey], cluster: m.Data[clusterKey], revision: revision}, nil
}
