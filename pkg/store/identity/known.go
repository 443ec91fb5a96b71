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
	"k8s.io/client-go/kubernetes"
	typedcorev1 "k8s.io/client-go/kubernetes/typed/core/v1"
)

const (
	// ConfigMapName is the ConfigMap of the host cluster that knows the store.
	ConfigMapName = "slipway-store"
	// AcceptAnnotation on that ConfigMap has the ID of another store that may be served.
	// It is removed when that has happened.
	AcceptAnnotation = "slipway.dev/accept-store"

	idKey       = "id"
	revisionKey = "revision"
)

// errRefused is in errors that say that the store is not the known one.
var errRefused = errors.New("the store is not served")

// attempts are made when another replica tells the host cluster at the same time.
const attempts = 5

// compare judges the store by what the host cluster knows and what this process has seen,
// and lets the host cluster know it.
func compare(ctx context.Context, host kubernetes.Interface, namespace string, seen *store, read func(context.Context) (store, error)) (now store, err error) {
	for range attempts {
		now, err = compareOnce(ctx, host.CoreV1().ConfigMaps(namespace), namespace, seen, read)
		if !apierrors.IsAlreadyExists(err) && !apierrors.IsConflict(err) {
			return now, err
		}
	}
	return now, err
}

// compareOnce asks the host cluster first: the store can only be further by the time that
// it is read, also when other replicas write to both.
func compareOnce(ctx context.Context, maps typedcorev1.ConfigMapInterface, namespace string, seen *store, read func(context.Context) (store, error)) (now store, err error) {
	known, err := maps.Get(ctx, ConfigMapName, metav1.GetOptions{})
	write := func() error { _, err := maps.Update(ctx, known, metav1.UpdateOptions{}); return told(err) }
	if apierrors.IsNotFound(err) {
		known = &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: ConfigMapName, Namespace: namespace}}
		write = func() error { _, err := maps.Create(ctx, known, metav1.CreateOptions{}); return told(err) }
	} else if err != nil {
		return now, fmt.Errorf("asking the host cluster for the store that it knows: %w", err)
	}
	if now, err = read(ctx); err != nil {
		return now, err
	}
	knows, err := remembered(known)
	if err != nil {
		return now, err
	}
	before := further(knows, seen)
	accepted, marked := known.Annotations[AcceptAnnotation]
	if refusal := judge(before, accepted, now); refusal != "" {
		refused := fmt.Errorf("%w: %s To serve it all the same: kubectl annotate configmap --overwrite -n %s %s %s=%s",
			errRefused, refusal, namespace, ConfigMapName, AcceptAnnotation, now.id)
		if before == knows {
			return now, refused
		}
		remember(known, *before) // else the next process could not tell that it is older
		if err := write(); err != nil {
			return now, fmt.Errorf("%w; %w", refused, err)
		}
		return now, refused
	}
	used := marked && accepted == now.id
	if !used && knows != nil && *knows == now {
		return now, nil
	}
	if used {
		delete(known.Annotations, AcceptAnnotation)
	}
	remember(known, now)
	return now, write()
}

// Known tells whether the host cluster knows a store.
func Known(ctx context.Context, host kubernetes.Interface, namespace string) (bool, error) {
	m, err := host.CoreV1().ConfigMaps(namespace).Get(ctx, ConfigMapName, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("asking the host cluster whether it knows a store: %w", err)
	}
	return m.Data[idKey] != "", nil
}

func told(err error) error {
	if err != nil {
		return fmt.Errorf("telling the host cluster of the store: %w", err)
	}
	return nil
}

func remember(m *corev1.ConfigMap, s store) {
	if m.Data == nil {
		m.Data = map[string]string{}
	}
	m.Data[idKey], m.Data[revisionKey] = s.id, strconv.FormatInt(s.revision, 10)
}

// remembered is the store that the ConfigMap has, nil if it has none.
func remembered(m *corev1.ConfigMap) (*store, error) {
	if m.Data[idKey] == "" {
		return nil, nil
	}
	revision, err := strconv.ParseInt(m.Data[revisionKey], 10, 64)
	if err != nil {
		return nil, fmt.Errorf("ConfigMap %s/%s: %s %q: must be a number", m.Namespace, m.Name, revisionKey, m.Data[revisionKey])
	}
	return &store{id: m.Data[idKey], revision: revision}, nil
}
