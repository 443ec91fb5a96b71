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

// Bounds of what is taken over from objects that others write: those of our own API, which
// would refuse all that is written with what it cannot have.
const (
	maxAddresses = 256
	maxText      = 512
	// maxName is the longest name of a failure domain, reason of a failure, or address.
	maxName       = 256
	maxConditions = 100
)

// InfraProvisioned says that the infrastructure of a machine, or of a cluster, is there.
func InfraProvisioned(k Kind, o *object) (bool, error) {
	return initialized(k, o, "provisioned", "ready")
}

// BootstrapCreated says that the Secret with the bootstrap data is there.
func BootstrapCreated(k Kind, o *object) (bool, error) {
	return initialized(k, o, "dataSecretCreated", "ready")
}

// ControlPlaneInitialized says that a control plane can be reached.
func ControlPlaneInitialized(k Kind, o *object) (bool, error) {
	return initialized(k, o, "controlPlaneInitialized", "initialized")
}

// ExternallyManaged says that a control plane has no Machines.
func ExternallyManaged(o *object) (bool, error) {
	return boolean(o, "status", "externalManagedControlPlane")
}

// Interruptible says that the provider may take the machine away at any time.
func Interruptible(o *object) (bool, error) { return boolean(o, "status", "interruptible") }

// DataSecretName is the name of the Secret with the bootstrap data.
func DataSecretName(o *object) (string, error) { return text(o, maxText, "status", "dataSecretName") }

// ProviderID is by what a Node is found.
func ProviderID(o *object) (string, error) { return text(o, maxText, "spec", "providerID") }

// FailureDomain is where the machine is.
func FailureDomain(o *object) (string, error) { return text(o, maxName, "status", "failureDomain") }

// OldFailureDomain is where the machine is by the contract of v1beta1, which has the provider
// decide what the spec of the Machine says. It is honoured under v1beta2 too.
func OldFailureDomain(o *object) (string, error) { return text(o, maxName, "spec", "failureDomain") }

// Failure returns the reason and the message of a failure that the provider reports as final. A
// reason that a condition of our API cannot have becomes a part of the message.
func Failure(o *object) (reason, message string, err error) {
	if reason, err = text(o, maxName, "status", "failureReason"); err != nil {
		return "", "", err
	}
	if message, err = anyText(o, "status", "failureMessage"); err != nil {
		return "", "", err
	}
	if !isReason(reason) {
		reason, message = "", reason+": "+message
	}
	return reason, message, nil
}

// addressTypes are the types of addresses that the contract has.
var addressTypes = []clusterv1alpha1.MachineAddressType{
	clusterv1alpha1.MachineHostName, clusterv1alpha1.MachineExternalIP, clusterv1alpha1.MachineInternalIP,
	clusterv1alpha1.MachineExternalDNS, clusterv1alpha1.MachineInternalDNS,
}

// Addresses are those of a machine.
func Addresses(o *object) ([]clusterv1alpha1.MachineAddress, error) {
	path := []string{"status", "addresses"}
	list, err := objects(o, maxAddresses, path...)
	if err != nil {
		return nil, err
	}
	var all []clusterv1alpha1.MachineAddress
	for i, entry := range list {
		kind, _ := entry["type"].(string)
		value, _ := entry["address"].(string)
		if !slices.Contains(addressTypes, clusterv1alpha1.MachineAddressType(kind)) {
			return nil, fault(o, path, "entry %d has type %.40q; allowed are %v", i, kind, addressTypes)
		}
		if value == "" || len(value) > maxName {
			return nil, fault(o, path, "entry %d has no address of at most %d characters", i, maxName)
		}
		all = append(all, clusterv1alpha1.MachineAddress{Type: clusterv1alpha1.MachineAddressType(kind), Address: bounds.Clean(value)})
	}
	return all, nil
}

// ControlPlaneEndpoint is what an infrastructure of a cluster, or a control plane, offers;
// the zero value is none.
func ControlPlaneEndpoint(o *object) (clusterv1alpha1.APIEndpoint, error) {
	host, err := text(o, maxText, "spec", "controlPlaneEndpoint", "host")
	if err != nil {
		return clusterv1alpha1.APIEndpoint{}, err
	}
	path := []string{"spec", "controlPlaneEndpoint", "port"}
	port, _, err := unstructured.NestedInt64(o.Object, path...)
	if err != nil {
		return clusterv1alpha1.APIEndpoint{}, fault(o, path, "%v", err)
	}
	if port < 0 || port > 65535 {
		return clusterv1alpha1.APIEndpoint{}, fault(o, path, "%d is no port", port)
	}
	return clusterv1alpha1.APIEndpoint{Host: host, Port: int32(port)}, nil
}

// initialized is field of status.initialization, or old of status by the paths of v1beta1.
func initialized(k Kind, o *object, field, old string) (bool, error) {
	isOld, err := isOld(k, o)
	switch {
	case err != nil:
		return false, err
	case isOld:
		return boolean(o, "status", old)
	}
	return boolean(o, "status", "initialization", field)
}

// isOld tells whether the paths of v1beta1 hold for an object: by its kind, or, where no label
// says so, because it has nothing of v1beta2.
func isOld(k Kind, o *object) (bool, error) {
	if k.Version == V1Beta1 || !k.Assumed {
		return k.Version == V1Beta1, nil
	}
	path := []string{"status", "initialization"}
	_, found, err := unstructured.NestedFieldNoCopy(o.Object, path...)
	if err != nil {
		return false, fault(o, path, "%v", err)
	}
	return !found, nil
}

func boolean(o *object, path ...string) (bool, error) {
	value, _, err := unstructured.NestedBool(o.Object, path...)
	if err != nil {
		return false, fault(o, path, "%v", err)
	}
	return value, nil
}

// text is a string that is taken over, and so bounded.
func text(o *object, most int, path ...string) (string, error) {
	value, err := anyText(o, path...)
	if err != nil {
		return "", err
	}
	if len(value) > most {
		return "", fault(o, path, "%d characters are more than %d", len(value), most)
	}
	if wrong := bounds.Text(value, false); wrong != "" {
		return "", fault(o, path, "it %s", wrong)
	}
	return value, nil
}

func anyText(o *object, path ...string) (string, error) {
	value, _, err := unstructured.NestedString(o.Object, path...)
	if err != nil {
		return "", fault(o, path, "%v", err)
	}
	return value, nil
}

// objects is a list of objects of at most most entries.
func objects(o *object, most int, path ...string) ([]map[string]any, error) {
	value, found, err := unstructured.NestedFieldNoCopy(o.Object, path...)
	if err != nil {
		return nil, fault(o, path, "%v", err)
	}
	if !found || value == nil {
		return nil, nil
	}
	list, ok := value.([]any)
	if !ok {
		return nil, fault(o, path, "it is no list")
	}
	if len(list) > most {
		return nil, fault(o, path, "%d entries are more than %d", len(list), most)
	}
	all := make([]map[string]any, len(list))
	for i, entry := range list {
		if all[i], ok = entry.(map[string]any); !ok {
			return nil, fault(o, path, "entry %d is no object", i)
		}
	}
	return all, nil
}

func fault(o *object, path []string, format string, args ...any) error {
	return fmt.Errorf("%s of %s %s/%s: %s", strings.Join(path, "."), o.GetKind(), o.GetNamespace(), o.GetName(), fmt.Sprintf(format, args...))
}
