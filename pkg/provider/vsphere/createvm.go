// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package vsphere

import (
	"context"
	"errors"
	"strings"

	"github.com/vmware/govmomi/vim25/mo"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	vmv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/vm/v1alpha1"
	"github.com/slipway-dev/slipway/pkg/provider"
	"github.com/slipway-dev/slipway/pkg/provider/vsphere/configspec"
	"github.com/slipway-dev/slipway/pkg/provider/vsphere/create"
	"github.com/slipway-dev/slipway/pkg/provider/vsphere/observe"
	"github.com/slipway-dev/slipway/pkg/provider/vsphere/update"
)

// create handles a virtual machine that vSphere does not have.
func (p *Provider) create(ctx context.Context, key types.NamespacedName, req *provider.Request) (<-chan error, error) {
	forgetVM(&req.VM.Status)
	p.applyReport(key, req)
	if _, busy := p.ops.Running(key); busy {
		return nil, provider.ErrReconcileInProgress
	}
	if refused := configspec.Refused(p.want(req), &mo.VirtualMachine{}); len(refused) > 0 {
		err := errors.New(strings.Join(refused, "; "))
		notCreated(req, vmv1alpha1.ReasonInvalid, err.Error())
		return nil, &provider.NoRequeueError{Err: err}
	}
	if !req.PrerequisitesReady || req.Effective == nil || req.Image == nil {
		notCreated(req, vmv1alpha1.ReasonWaitingForPrerequisites, waitingFor(req))
		if ch, err := p.check(ctx, key, req, false); ch != nil || err != nil {
			return ch, err
		}
		if err := p.lookAgain(key, req.Now); err != nil || req.VM.Spec.InstanceUUID == "" {
			return nil, err
		}
		return nil, &provider.RequeueError{After: recheck, Reason: "the vSphere VM that is named is looked for again"}
	}
	id := fingerprint("create", req.Effective, req.Image.Spec)
	if wait, err := p.attempts.pause(key, id); wait > 0 {
		notCreated(req, vmv1alpha1.ReasonError, err.Error())
		return nil, &provider.RequeueError{After: wait, Reason: "the last create failed: " + err.Error()}
	}
	want, now := p.want(req), req.Now
	effective, image := req.Effective.DeepCopy(), req.Image.DeepCopy()
	want.Effective = effective
	ch, err := p.ops.StartCreate(ctx, key, req.Priority, func(ctx context.Context) error {
		rep := p.places.Check(ctx, effective, image)
		p.keepReport(key, checked{rep: rep, at: now})
		if err := rep.Err(); err != nil {
			return err
		}
		err := p.creator.Create(ctx, want, rep)
		if create.Gone(err) {
			p.places.Invalidate()
		}
		return err
	})
	switch {
	case errors.Is(err, provider.ErrTooManyCreates):
		notCreated(req, vmv1alpha1.ReasonTooManyCreates, "other virtual machines are created first")
		return nil, err
	case err != nil:
		return nil, err
	}
	p.attempts.started(key, id)
	notCreated(req, vmv1alpha1.ReasonCreating, "")
	return ch, nil
}

// prerequisites are the conditions that a create waits for.
var prerequisites = []string{
	vmv1alpha1.ConditionClassReady, vmv1alpha1.ConditionInstancetypeReady, vmv1alpha1.ConditionPreferenceReady,
	vmv1alpha1.ConditionImageReady, vmv1alpha1.ConditionImageCacheReady, vmv1alpha1.ConditionBootstrapReady,
	vmv1alpha1.ConditionPlacementReady, vmv1alpha1.ConditionStorageReady, vmv1alpha1.ConditionNetworkReady,
}

// waitingFor says what a create waits for. A VM that is taken over needs none of it.
func waitingFor(req *provider.Request) string {
	if id := req.VM.Spec.InstanceUUID; id != "" {
		return missing(req) + ", or for a vSphere VM with instance UUID " + id + " below the configured folder"
	}
	return missing(req)
}

// missing names the prerequisites that are not there.
func missing(req *provider.Request) string {
	var kinds []string
	for _, kind := range prerequisites {
		if c := meta.FindStatusCondition(req.VM.Status.Conditions, kind); c != nil && c.Status != metav1.ConditionTrue {
			kinds = append(kinds, kind)
		}
	}
	switch {
	case len(kinds) > 0:
		return "waiting for " + strings.Join(kinds, ", ")
	case req.Effective == nil:
		return "waiting for a size: the effective spec cannot be resolved"
	case req.Image == nil:
		return "waiting for the image"
	}
	return "waiting for other conditions"
}

// want is the configuration that req asks for.
func (p *Provider) want(req *provider.Request) configspec.Want {
	w := configspec.Want{
		Name:         req.VM.Name,
		Owner:        observe.Owner{Key: keyOf(req), UID: string(req.VM.UID)},
		InstanceUUID: instanceUUID(req),
		ProviderID:   req.VM.Spec.ProviderID,
		Effective:    req.Effective,
	}
	if own := req.VM.Spec.Devices; req.VM.Spec.Preference != nil && req.VM.Spec.ClassName == "" {
		w.TPMPreferred = own == nil || own.TPM == nil
	}
	if req.Bootstrap != nil {
		w.UserData, w.VAppProperties = req.Bootstrap.CloudConfig, req.Bootstrap.VAppProperties
	}
	return w
}

// forgetVM clears what status says of a vSphere VM that is not there.
func forgetVM(st *vmv1alpha1.VirtualMachineStatus) {
	st.PowerState, st.UniqueID, st.BiosUUID, st.InstanceUUID, st.HardwareVersion = "", "", "", "", 0
	st.Guest, st.Network, st.Storage = nil, nil, nil
	st.Volumes, st.NodeName, st.RestartRequired = nil, "", nil
}

func notCreated(req *provider.Request, reason, message string) {
	condition(req, vmv1alpha1.ConditionCreated, metav1.ConditionFalse, reason, message)
}

func condition(req *provider.Request, kind string, status metav1.ConditionStatus, reason, message string) {
	update.SetCondition(&req.VM.Status, req.VM.Generation, req.Now, kind, status, reason, message)
}
