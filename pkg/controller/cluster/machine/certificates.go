// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package machine

import (
	"context"
	"fmt"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	clusterv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/cluster/v1alpha1"
	"github.com/slipway-dev/slipway/pkg/controller/cluster/machine/step"
)

// certificates copies the expiry date of a control plane's certificates from the annotation of the Machine, or else of
// its bootstrap object.
func certificates(_ context.Context, s *step.State) (report step.Report, _ error) {
	m := s.Machine
	if !step.IsControlPlane(m) {
		return report, nil
	}
	text, ok := m.Annotations[clusterv1alpha1.MachineCertificatesExpiryDateAnnotation]
	where := "the Machine"
	if !ok && s.Bootstrap.Object != nil {
		text, ok = s.Bootstrap.Object.GetAnnotations()[clusterv1alpha1.MachineCertificatesExpiryDateAnnotation]
		where = s.Bootstrap.Describe()
	}
	if !ok {
		m.Status.CertificatesExpiryDate = nil
		return report, nil
	}
	at, err := time.Parse(time.RFC3339, text)
	if err != nil {
		return report, fmt.Errorf("annotation %s of %s is %.80q, which is not an RFC 3339 time", clusterv1alpha1.MachineCertificatesExpiryDateAnnotation, where, text)
	}
	expiry := metav1.NewTime(at.UTC())
	m.Status.CertificatesExpiryDate = &expiry
	return report, nil
}
