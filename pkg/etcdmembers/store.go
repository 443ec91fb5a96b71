// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package etcdmembers

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
)

// ConfigMapName is the ConfigMap of the host cluster that has the record.
const ConfigMapName = "slipway-etcd"

// LostAnnotation on that ConfigMap has the ID of the cluster when the data of all its members is
// lost for good: one of the replicas founds another then. It is removed when that has happened.
const LostAnnotation = "slipway.dev/lost-cluster"

// attempts are made when another replica writes the record at the same time.
const attempts = 5

// records is where the record is.
type records struct {
	host      kubernetes.Interface
	namespace string
}

// read returns the record, nil if there is none.
func (s records) read(ctx context.Context) (*record, error) {
	_, r, err := s.get(ctx)
	return r, err
}

func (s records) get(ctx context.Context) (*corev1.ConfigMap, *record, error) {
	m, err := s.host.CoreV1().ConfigMaps(s.namespace).Get(ctx, ConfigMapName, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return nil, nil, nil
	}
	if err != nil {
		return nil, nil, fmt.Errorf("reading the members of etcd that the host cluster knows: %w", err)
	}
	r, err := decode(m.Data)
	if err != nil {
		return nil, nil, fmt.Errorf("ConfigMap %s/%s: %w", s.namespace, ConfigMapName, err)
	}
	r.lost = m.Annotations[LostAnnotation]
	return m, r, nil
}

// change lets f change the record, which is nil when there is none, by compare-and-swap. f
// returns nil to leave it as it is.
func (s records) change(ctx context.Context, f func(*record) *record) (err error) {
	maps := s.host.CoreV1().ConfigMaps(s.namespace)
	for range attempts {
		var m *corev1.ConfigMap
		var r *record
		if m, r, err = s.get(ctx); err != nil {
			return err
		}
		missing := r == nil
		if r = f(r); r == nil {
			return nil
		}
		if missing {
			m = &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: ConfigMapName, Namespace: s.namespace}, Data: r.encode()}
			_, err = maps.Create(ctx, m, metav1.CreateOptions{})
		} else {
			m.Data = r.encode()
			if r.lost == "" {
				delete(m.Annotations, LostAnnotation)
			}
			_, err = maps.Update(ctx, m, metav1.UpdateOptions{})
		}
		if !apierrors.IsAlreadyExists(err) && !apierrors.IsConflict(err) {
			break
		}
	}
	if err != nil {
		return fmt.Errorf("telling the host cluster of the members of etcd: %w", err)
	}
	return nil
}
