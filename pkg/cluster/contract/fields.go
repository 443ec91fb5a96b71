// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package contract

import (
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/slipway-dev/slipway/pkg/apis/bounds"
	clusterv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/cluster/v1alpha1"
)

type object = unstructured.Unstructured

// Limits for values that are copied from provider objects. They match Slipway's own API, which would reject a status
// with larger values.
const (
	maxAddresses = 256
	maxText      = 512
	// maxName is the maximum length of a failure domain's name, a failure reason and an address.
	maxName       = 256
	maxConditions = 100
)

// IsInfraProvisioned reports whether the infrastructure of a machine or a cluster is provisioned.
func IsInfraProvisioned(k Kind, o *object) (bool, error) {
	return isInitialized(k, o, "provisioned", "ready")
}

// IsBootstrapCreated reports whether the Secret with the bootstrap data exists.
func IsBootstrapCreated(k Kind, o *object) (bool, error) {
	return isInitialized(k, o, "dataSecretCreated", "ready")
}

// IsControlPlaneInitialized reports whether the API server of a control plane can be reached.
func IsControlPlaneInitialized(k Kind, o *object) (bool, error) {
	return isInitialized(k, o, "controlPlaneInitialized", "initialized")
}

// IsExternallyManaged reports whether a control plane runs without Machines.
func IsExternallyManaged(o *object) (bool, error) {
	return boolField(o, "status", "externalManagedControlPlane")
}

// IsInterruptible reports whether the provider may terminate the machine at any time.
func IsInterruptible(o *object) (bool, error) { return boolField(o, "status", "interruptible") }

// DataSecretName returns the name of the Secret with the bootstrap data.
func DataSecretName(o *object) (string, error) {
	return stringField(o, maxText, "status", "dataSecretName")
}

// ProviderID returns the provider ID, which identifies the Node of a machine.
func ProviderID(o *object) (string, error) { return stringField(o, maxText, "spec", "providerID") }

// FailureDomain returns the failure domain that the machine runs in.
func FailureDomain(o *object) (string, error) {
	return stringField(o, maxName, "status", "failureDomain")
}

// OldFailureDomain returns the failure domain in the spec. In v1beta1 of the contract the provider sets it, and the
// controller copies it to the Machine's spec. It is also read for v1beta2.
func OldFailureDomain(o *object) (string, error) {
	return stringField(o, maxName, "spec", "failureDomain")
}

// Failure returns the reason and message of a failure that the provider reports as terminal. A reason that is not valid
// in a condition is moved into the message.
func Failure(o *object) (reason, message string, err error) {
	if reason, err = stringField(o, maxName, "status", "failureReason"); err != nil {
		return "", "", err
	}
	if message, err = rawStringField(o, "status", "failureMessage"); err != nil {
		return "", "", err
	}
	if !isReason(reason) {
		reason, message = "", reason+": "+message
	}
	return reason, message, nil
}

// addressTypes are the address types of the contract.
var addressTypes = []clusterv1alpha1.MachineAddressType{
	clusterv1alpha1.MachineHostName, clusterv1alpha1.MachineExternalIP, clusterv1alpha1.MachineInternalIP,
	clusterv1alpha1.MachineExternalDNS, clusterv1alpha1.MachineInternalDNS,
}

// Addresses returns the addresses of a machine.
func Addresses(o *object) ([]clusterv1alpha1.MachineAddress, error) {
	path := []string{"status", "addresses"}
	list, err := objectList(o, maxAddresses, path...)
	if err != nil {
		return nil, err
	}
	var all []clusterv1alpha1.MachineAddress
	for i, entry := range list {
		kind, _ := entry["type"].(string)
		value, _ := entry["address"].(string)
		if !slices.Contains(addressTypes, clusterv1alpha1.MachineAddressType(kind)) {
			return nil, fieldError(o, path, "entry %d has type %.40q; allowed are %v", i, kind, addressTypes)
		}
		if value == "" || len(value) > maxName {
			return nil, fieldError(o, path, "entry %d must have an address of 1 to %d characters", i, maxName)
		}
		all = append(all, clusterv1alpha1.MachineAddress{Type: clusterv1alpha1.MachineAddressType(kind), Address: bounds.Clean(value)})
	}
	return all, nil
}

// ControlPlaneEndpoint returns the endpoint of an infrastructure cluster or a control plane. The zero value means that
// it has none.
func ControlPlaneEndpoint(o *object) (clusterv1alpha1.APIEndpoint, error) {
	host, err := stringField(o, maxText, "spec", "controlPlaneEndpoint", "host")
	if err != nil {
		return clusterv1alpha1.APIEndpoint{}, err
	}
	path := []string{"spec", "controlPlaneEndpoint", "port"}
	port, _, err := unstructured.NestedInt64(o.Object, path...)
	if err != nil {
		return clusterv1alpha1.APIEndpoint{}, fieldError(o, path, "%v", err)
	}
	if port < 0 || port > 65535 {
		return clusterv1alpha1.APIEndpoint{}, fieldError(o, path, "%d is not a port; allowed are 0 to 65535", port)
	}
	return clusterv1alpha1.APIEndpoint{Host: host, Port: int32(port)}, nil
}

// isInitialized returns the boolean field of status.initialization, or the v1beta1 field old of status.
func isInitialized(k Kind, o *object, field, old string) (bool, error) {
	isOld, err := usesV1Beta1(k, o)
	switch {
	case err != nil:
		return false, err
	case isOld:
		return boolField(o, "status", old)
	}
	return boolField(o, "status", "initialization", field)
}

// usesV1Beta1 reports whether an object is read by the paths of v1beta1. If no label names the version of the contract,
// an object without v1beta2 fields is read by the v1beta1 paths.
func usesV1Beta1(k Kind, o *object) (bool, error) {
	if k.Version == V1Beta1 || !k.Assumed {
		return k.Version == V1Beta1, nil
	}
	path := []string{"status", "initialization"}
	_, found, err := unstructured.NestedFieldNoCopy(o.Object, path...)
	if err != nil {
		return false, fieldError(o, path, "%v", err)
	}
	return !found, nil
}

func boolField(o *object, path ...string) (bool, error) {
	value, _, err := unstructured.NestedBool(o.Object, path...)
	if err != nil {
		return false, fieldError(o, path, "%v", err)
	}
	return value, nil
}

// stringField returns a string field and checks its length and characters.
func stringField(o *object, limit int, path ...string) (string, error) {
	value, err := rawStringField(o, path...)
	if err != nil {
		return "", err
	}
	if len(value) > limit {
		return "", fieldError(o, path, "it has %d characters; the maximum is %d", len(value), limit)
	}
	if problem := bounds.Text(value, false); problem != "" {
		return "", fieldError(o, path, "it %s", problem)
	}
	return value, nil
}

func rawStringField(o *object, path ...string) (string, error) {
	value, _, err := unstructured.NestedString(o.Object, path...)
	if err != nil {
		return "", fieldError(o, path, "%v", err)
	}
	return value, nil
}

// objectList returns a list of objects. A list of more than limit entries is an error.
func objectList(o *object, limit int, path ...string) ([]map[string]any, error) {
	value, found, err := unstructured.NestedFieldNoCopy(o.Object, path...)
	if err != nil {
		return nil, fieldError(o, path, "%v", err)
	}
	if !found || value == nil {
		return nil, nil
	}
	list, ok := value.([]any)
	if !ok {
		return nil, fieldError(o, path, "it is not a list")
	}
	if len(list) > limit {
		return nil, fieldError(o, path, "it has %d entries; the maximum is %d", len(list), limit)
	}
	all := make([]map[string]any, len(list))
	for i, entry := range list {
		if all[i], ok = entry.(map[string]any); !ok {
			return nil, fieldError(o, path, "entry %d is not an object", i)
		}
	}
	return all, nil
}

func fieldError(o *object, path []string, format string, args ...any) error {
	return fmt.Errorf("%s of %s %s/%s: %s", strings.Join(path, "."), o.GetKind(), o.GetNamespace(), o.GetName(), fmt.Sprintf(format, args...))
}
