// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package validation

import (
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/slipway-dev/slipway/pkg/apis/bounds"
	clusterv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/cluster/v1alpha1"
)

const (
	// maxAddresses is the maximum number of addresses of a machine (Cluster API's v1beta2).
	maxAddresses = 256
	// maxVersions is the maximum number of versions in a status (Cluster API's v1beta2).
	maxVersions = 100
	// maxFailureDomains is the maximum number of failure domains in a status (Cluster API's v1beta2).
	maxFailureDomains = 100
	// maxTargets is the maximum number of targets of a health check (Cluster API's v1beta2).
	maxTargets = 10_000
	// maxSelector is the maximum length of a selector in text form, in bytes (Cluster API's v1beta2).
	maxSelector = 4096
)

// ValidateMachineStatusUpdate checks a change of status.
func ValidateMachineStatusUpdate(obj, old *clusterv1alpha1.Machine) field.ErrorList {
	s, path := &obj.Status, field.NewPath("status")
	errs := validateMetaUpdate(&obj.ObjectMeta, &old.ObjectMeta)
	errs = append(errs, validateConditions(s.Conditions, path.Child("conditions"))...)
	errs = append(errs, validateAddresses(s.Addresses, path.Child("addresses"))...)
	errs = append(errs, validateName(s.NodeRef.Name, path.Child("nodeRef", "name"))...)
	errs = append(errs, bounds.ValidateSpec(s.NodeInfo, path.Child("nodeInfo"))...)
	errs = append(errs, validateLength(s.FailureDomain, maxName, path.Child("failureDomain"))...)
	errs = append(errs, validateEnum(s.Phase, path.Child("phase"), clusterv1alpha1.MachinePhasePending, clusterv1alpha1.MachinePhaseProvisioning,
		clusterv1alpha1.MachinePhaseProvisioned, clusterv1alpha1.MachinePhaseRunning, clusterv1alpha1.MachinePhaseUpdating, clusterv1alpha1.MachinePhaseDeleting,
		clusterv1alpha1.MachinePhaseFailed)...)
	if d := s.Deletion; d != nil {
		errs = append(errs, validateEnum(d.Stage, path.Child("deletion", "stage"),
			clusterv1alpha1.MachineDeletionStagePreDrainHook, clusterv1alpha1.MachineDeletionStageDrain, clusterv1alpha1.MachineDeletionStageVolumeDetach,
			clusterv1alpha1.MachineDeletionStagePreTerminateHook, clusterv1alpha1.MachineDeletionStageInfrastructure,
			clusterv1alpha1.MachineDeletionStageBootstrap, clusterv1alpha1.MachineDeletionStageNode, clusterv1alpha1.MachineDeletionStageCompleted)...)
	}
	return errs
}

// maxName is the maximum length of a failure domain name or an address, in bytes (Cluster API's v1beta2).
const maxName = 256

func validateAddresses(addresses []clusterv1alpha1.MachineAddress, path *field.Path) field.ErrorList {
	if len(addresses) > maxAddresses {
		return field.ErrorList{field.TooMany(path, len(addresses), maxAddresses)}
	}
	var errs field.ErrorList
	for i, address := range addresses {
		at := path.Index(i)
		errs = append(errs, validateRequiredEnum(address.Type, at.Child("type"), clusterv1alpha1.MachineHostName, clusterv1alpha1.MachineExternalIP,
			clusterv1alpha1.MachineInternalIP, clusterv1alpha1.MachineExternalDNS, clusterv1alpha1.MachineInternalDNS)...)
		if address.Address == "" {
			errs = append(errs, field.Required(at.Child("address"), "must be an address or a name"))
		}
		errs = append(errs, validateLength(address.Address, maxName, at.Child("address"))...)
		if problem := bounds.Text(address.Address, false); problem != "" {
			errs = append(errs, field.Invalid(at.Child("address"), field.OmitValueType{}, problem))
		}
	}
	return errs
}

// ValidateClusterStatusUpdate checks a change of status.
func ValidateClusterStatusUpdate(obj, old *clusterv1alpha1.Cluster) field.ErrorList {
	s, path := &obj.Status, field.NewPath("status")
	errs := validateMetaUpdate(&obj.ObjectMeta, &old.ObjectMeta)
	errs = append(errs, validateConditions(s.Conditions, path.Child("conditions"))...)
	errs = append(errs, validateEnum(s.Phase, path.Child("phase"), clusterv1alpha1.ClusterPhasePending, clusterv1alpha1.ClusterPhaseProvisioning,
		clusterv1alpha1.ClusterPhaseProvisioned, clusterv1alpha1.ClusterPhaseDeleting)...)
	domains := path.Child("failureDomains")
	if n := len(s.FailureDomains); n > maxFailureDomains {
		return append(errs, field.TooMany(domains, n, maxFailureDomains))
	}
	for i := range s.FailureDomains {
		errs = append(errs, bounds.ValidateSpec(&s.FailureDomains[i], domains.Index(i))...)
	}
	return errs
}

// ValidateMachineSetStatusUpdate checks a change of status.
func ValidateMachineSetStatusUpdate(obj, old *clusterv1alpha1.MachineSet) field.ErrorList {
	s, path := &obj.Status, field.NewPath("status")
	errs := validateMetaUpdate(&obj.ObjectMeta, &old.ObjectMeta)
	errs = append(errs, validateConditions(s.Conditions, path.Child("conditions"))...)
	errs = append(errs, validateReplicaStatus(s.Replicas, s.ReadyReplicas, s.AvailableReplicas, s.UpToDateReplicas, path)...)
	errs = append(errs, validateLength(s.Selector, maxSelector, path.Child("selector"))...)
	errs = append(errs, validateVersions(s.Versions, path.Child("versions"))...)
	return errs
}

// ValidateMachineDeploymentStatusUpdate checks a change of status.
func ValidateMachineDeploymentStatusUpdate(obj, old *clusterv1alpha1.MachineDeployment) field.ErrorList {
	s, path := &obj.Status, field.NewPath("status")
	errs := validateMetaUpdate(&obj.ObjectMeta, &old.ObjectMeta)
	errs = append(errs, validateConditions(s.Conditions, path.Child("conditions"))...)
	errs = append(errs, validateReplicaStatus(s.Replicas, s.ReadyReplicas, s.AvailableReplicas, s.UpToDateReplicas, path)...)
	errs = append(errs, validateLength(s.Selector, maxSelector, path.Child("selector"))...)
	errs = append(errs, validateVersions(s.Versions, path.Child("versions"))...)
	errs = append(errs, validateEnum(s.Phase, path.Child("phase"), clusterv1alpha1.MachineDeploymentPhaseScalingUp,
		clusterv1alpha1.MachineDeploymentPhaseScalingDown, clusterv1alpha1.MachineDeploymentPhaseRunning)...)
	return errs
}

// ValidateMachineHealthCheckStatusUpdate checks a change of status.
func ValidateMachineHealthCheckStatusUpdate(obj, old *clusterv1alpha1.MachineHealthCheck) field.ErrorList {
	s, path := &obj.Status, field.NewPath("status")
	errs := validateMetaUpdate(&obj.ObjectMeta, &old.ObjectMeta)
	errs = append(errs, validateConditions(s.Conditions, path.Child("conditions"))...)
	errs = append(errs, validateNotNegative(s.ExpectedMachines, path.Child("expectedMachines"))...)
	errs = append(errs, validateNotNegative(s.CurrentHealthy, path.Child("currentHealthy"))...)
	errs = append(errs, validateNotNegative(s.RemediationsAllowed, path.Child("remediationsAllowed"))...)
	if n := len(s.Targets); n > maxTargets {
		return append(errs, field.TooMany(path.Child("targets"), n, maxTargets))
	}
	for i, target := range s.Targets {
		errs = append(errs, validateReferenceName(target, path.Child("targets").Index(i))...)
	}
	return errs
}

func validateReplicaStatus(replicas, ready, available, upToDate *int32, path *field.Path) field.ErrorList {
	errs := validateNotNegative(replicas, path.Child("replicas"))
	errs = append(errs, validateNotNegative(ready, path.Child("readyReplicas"))...)
	errs = append(errs, validateNotNegative(available, path.Child("availableReplicas"))...)
	return append(errs, validateNotNegative(upToDate, path.Child("upToDateReplicas"))...)
}

func validateVersions(versions []clusterv1alpha1.StatusVersion, path *field.Path) field.ErrorList {
	if len(versions) > maxVersions {
		return field.ErrorList{field.TooMany(path, len(versions), maxVersions)}
	}
	var errs field.ErrorList
	for i, v := range versions {
		errs = append(errs, validateLength(v.Version, maxName, path.Index(i).Child("version"))...)
		errs = append(errs, validateNotNegative(&v.Replicas, path.Index(i).Child("replicas"))...)
	}
	return errs
}

// validateLength checks the length of a text in bytes.
func validateLength(text string, most int, path *field.Path) field.ErrorList {
	if len(text) <= most {
		return nil
	}
	return field.ErrorList{field.TooLong(path, "", most)}
}
