// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

// Package external reads the objects that a Machine refers to, sets the Machine as their controller, and copies their
// state to the Machine. It uses only the contract of these objects (pkg/cluster/contract).
package external

import (
	"context"
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/klog/v2"

	clusterv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/cluster/v1alpha1"
	"github.com/slipway-dev/slipway/pkg/cluster/contract"
	"github.com/slipway-dev/slipway/pkg/controller"
	"github.com/slipway-dev/slipway/pkg/controller/cluster/machine/step"
)

// providerDelay is how long events are ignored for a Machine whose infrastructure is provisioned but has no provider ID
// yet.
const providerDelay = 5 * time.Second

// Objects reads objects of external kinds.
type Objects interface {
	// Get returns a shared object, or the API's NotFound if the object does not exist (see contract.IsNotFound). Other
	// errors mean that its state is unknown.
	Get(ctx context.Context, ref contract.Reference, namespace string) (*unstructured.Unstructured, contract.Kind, error)
}

// Reconciler reconciles the objects that Machines refer to.
type Reconciler struct {
	Objects Objects
	// Writes limits how often an object is written.
	Writes *controller.WriteLimit
}

// Read reads the object that a Machine in the namespace refers to.
func (r *Reconciler) Read(ctx context.Context, namespace string, ref clusterv1alpha1.ContractVersionedObjectReference) step.External {
	if !ref.IsDefined() {
		return step.External{}
	}
	o, kind, err := r.get(ctx, namespace, ref)
	switch {
	case err == nil:
		return step.External{Object: o, Kind: kind}
	case contract.IsNotFound(err):
		return step.External{Kind: kind, NotFound: true}
	}
	return step.External{Kind: kind, Err: err}
}

// ControlPlane reads the control plane of a Cluster. It returns nil if the Cluster has none or it does not exist.
func (r *Reconciler) ControlPlane(ctx context.Context, c *clusterv1alpha1.Cluster) (*unstructured.Unstructured, error) {
	ref := c.Spec.ControlPlaneRef
	if !ref.IsDefined() {
		return nil, nil
	}
	o, _, err := r.get(ctx, c.Namespace, ref)
	if contract.IsNotFound(err) {
		klog.FromContext(ctx).Info("The control plane of the Cluster does not exist", "kind", ref.Kind, "name", ref.Name)
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("control plane: %w", err)
	}
	return o, nil
}

func (r *Reconciler) get(ctx context.Context, namespace string, ref clusterv1alpha1.ContractVersionedObjectReference) (*unstructured.Unstructured, contract.Kind, error) {
	return r.Objects.Get(ctx, contract.Reference{Group: ref.APIGroup, Kind: ref.Kind, Name: ref.Name}, namespace)
}

// Bootstrap copies the name of the Secret with the bootstrap data from the bootstrap object, once. Without a bootstrap
// object, the user sets the name.
func (r *Reconciler) Bootstrap(ctx context.Context, s *step.State) (report step.Report, _ error) {
	m, e := s.Machine, &s.Bootstrap
	switch {
	case !m.Spec.Bootstrap.ConfigRef.IsDefined():
		return report, nil
	case e.Err != nil:
		return report, fmt.Errorf("bootstrap: %w", e.Err)
	case e.NotFound:
		if !s.IsDeleting() {
			report.RequeueAfter(controller.Poll) // The object has no owner yet, so its creation triggers no event.
		}
		return report, nil
	}
	if ours, err := r.adopt(ctx, s, e, &report); err != nil || !ours {
		return report, err
	}
	yes := true
	if m.Spec.Bootstrap.DataSecretName != nil {
		m.Status.Initialization.BootstrapDataSecretCreated = &yes
		return report, nil
	}
	created, err := contract.IsBootstrapCreated(e.Kind, e.Object)
	if err != nil || !created || e.Object.GetDeletionTimestamp() != nil {
		return report, err
	}
	name, err := contract.DataSecretName(e.Object)
	switch {
	case err != nil:
		return report, err
	case name == "":
		return report, fmt.Errorf("status.dataSecretName of %s is empty, but the object reports that the Secret was created", e.Describe())
	}
	m.Spec.Bootstrap.DataSecretName, m.Status.Initialization.BootstrapDataSecretCreated = &name, &yes
	return report, nil
}

// Infrastructure copies provider ID, addresses and failure domain from the infrastructure object. Once the Machine is
// provisioned, it remains so.
func (r *Reconciler) Infrastructure(ctx context.Context, s *step.State) (report step.Report, _ error) {
	m, e := s.Machine, &s.Infra
	switch {
	case e.Err != nil:
		return report, fmt.Errorf("infrastructure: %w", e.Err)
	case e.NotFound && s.IsDeleting():
		return report, nil
	case e.NotFound && step.IsProvisioned(m):
		ref := m.Spec.InfrastructureRef
		return report, fmt.Errorf("infrastructure: %s %s/%s was deleted while its Machine exists", ref.Kind, m.Namespace, ref.Name)
	case e.NotFound:
		report.RequeueAfter(controller.Poll)
		return report, nil
	case e.Object == nil:
		return report, nil // Validation requires a reference.
	}
	if ours, err := r.adopt(ctx, s, e, &report); err != nil || !ours {
		return report, err
	}
	provisioned, err := contract.IsInfraProvisioned(e.Kind, e.Object)
	if err != nil || e.Object.GetDeletionTimestamp() != nil || !provisioned && !step.IsProvisioned(m) {
		return report, err
	}
	missing, err := copyInfrastructure(m, e.Object)
	if missing {
		// Events are ignored for a time, because there are many changes until the provider ID is set.
		report.IgnoreEventsFor = providerDelay
	}
	return report, err
}

// copyInfrastructure copies the fields, and reports whether the provider ID is missing.
func copyInfrastructure(m *clusterv1alpha1.Machine, infra *unstructured.Unstructured) (missing bool, _ error) {
	provider, err := contract.ProviderID(infra)
	if err != nil || provider == "" {
		return err == nil, err
	}
	addresses, err := contract.Addresses(infra)
	if err != nil {
		return false, err
	}
	old, err := contract.OldFailureDomain(infra)
	if err != nil {
		return false, err
	}
	domain, err := contract.FailureDomain(infra)
	if err != nil {
		return false, err
	}
	yes := true
	m.Spec.ProviderID, m.Status.Initialization.InfrastructureProvisioned = provider, &yes
	if addresses != nil {
		m.Status.Addresses = addresses
	}
	if old != "" {
		m.Spec.FailureDomain = old
	}
	if domain != "" {
		m.Status.FailureDomain = domain
	}
	return false, nil
}
