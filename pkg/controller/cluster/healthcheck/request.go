// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package healthcheck

import (
	"context"
	"errors"
	"fmt"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"

	clusterv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/cluster/v1alpha1"
	"github.com/slipway-dev/slipway/pkg/cluster/contract"
)

// requestClient returns the client and the kind of remediation requests.
func (p *reconcileRun) requestClient(ctx context.Context) (dynamic.ResourceInterface, contract.Kind, error) {
	ref := p.check.Spec.Remediation.TemplateRef
	kind, err := p.external.Resolve(ctx, groupOf(ref.APIVersion), clusterv1alpha1.KindFromTemplate(ref.Kind))
	if err != nil {
		return nil, kind, fmt.Errorf("resolving the remediation request kind for template kind %s: %w", ref.Kind, err)
	}
	return kind.Client.Resource(kind.GVR).Namespace(p.check.Namespace), kind, nil
}

func groupOf(apiVersion string) string { return schema.FromAPIVersionAndKind(apiVersion, "").Group }

// createRequest creates a remediation request with the name of m, and sets the ExternallyRemediated condition of m.
func (p *reconcileRun) createRequest(ctx context.Context, m *machine) error {
	requests, kind, err := p.requestClient(ctx)
	if err != nil {
		setExternallyRemediated(m, p.at, clusterv1alpha1.RemediationRequestCreationFailedReason, err.Error())
		return err
	}
	existing, err := requests.Get(ctx, m.Name, metav1.GetOptions{})
	switch {
	case err == nil && isRequest(existing, m):
		setExternallyRemediated(m, p.at, clusterv1alpha1.WaitingForRemediationReason, "")
		return nil
	case err == nil:
		message := fmt.Sprintf("%s %s exists and is not a remediation request", kind.GVK.Kind, m.Name)
		setExternallyRemediated(m, p.at, clusterv1alpha1.RemediationRequestCreationFailedReason, message)
		return errors.New(message)
	case !contract.IsNotFound(err):
		return fmt.Errorf("reading %s %s: %w", kind.GVK.Kind, m.Name, err)
	}
	ref := p.check.Spec.Remediation.TemplateRef
	template, _, err := p.external.Get(ctx, contract.Reference{Group: groupOf(ref.APIVersion), Kind: ref.Kind, Name: ref.Name}, p.check.Namespace)
	if err != nil {
		message := fmt.Sprintf("Error retrieving remediation template %s %s", ref.Kind, ref.Name)
		setExternallyRemediated(m, p.at, clusterv1alpha1.RemediationTemplateNotFoundReason, message)
		return fmt.Errorf("%s: %w", message, err)
	}
	created, err := contract.Clone(template, contract.ObjectMetadata{
		Namespace: m.Namespace, Name: m.Name, Labels: map[string]string{clusterv1alpha1.ClusterNameLabel: m.Spec.ClusterName},
		Owner: &metav1.OwnerReference{APIVersion: clusterv1alpha1.SchemeGroupVersion.String(), Kind: "Machine", Name: m.Name, UID: m.UID},
	})
	if err == nil {
		created.SetGroupVersionKind(kind.GVK)
		_, err = requests.Create(ctx, created, metav1.CreateOptions{})
	}
	if err != nil && !apierrors.IsAlreadyExists(err) {
		setExternallyRemediated(m, p.at, clusterv1alpha1.RemediationRequestCreationFailedReason, "Creating "+kind.GVK.Kind+" "+m.Name+" failed")
		return fmt.Errorf("creating %s %s: %w", kind.GVK.Kind, m.Name, err)
	}
	setExternallyRemediated(m, p.at, clusterv1alpha1.WaitingForRemediationReason, "")
	return nil
}

// isRequest reports whether o is a remediation request for m: m owns it but does not control it. The infrastructure
// object of m, which may have the same kind and name, is controlled by m.
func isRequest(o metav1.Object, m *machine) bool {
	return metav1.GetControllerOf(o) == nil &&
		slices.ContainsFunc(o.GetOwnerReferences(), func(r metav1.OwnerReference) bool { return r.UID == m.UID })
}

// deleteRequest deletes the remediation request of m, and removes the ExternallyRemediated condition of m.
func (p *reconcileRun) deleteRequest(ctx context.Context, m *machine) error {
	if p.check.Spec.Remediation.TemplateRef.IsDefined() {
		requests, kind, err := p.requestClient(ctx)
		if err != nil {
			return err
		}
		existing, err := requests.Get(ctx, m.Name, metav1.GetOptions{})
		if err != nil && !contract.IsNotFound(err) {
			return fmt.Errorf("reading %s %s: %w", kind.GVK.Kind, m.Name, err)
		}
		if err == nil && isRequest(existing, m) {
			err = requests.Delete(ctx, m.Name, metav1.DeleteOptions{Preconditions: metav1.NewUIDPreconditions(string(existing.GetUID()))})
			if err != nil && !contract.IsNotFound(err) {
				return fmt.Errorf("deleting %s %s: %w", kind.GVK.Kind, m.Name, err)
			}
		}
	}
	setExternallyRemediated(m, p.at, "", "")
	return nil
}
