// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package contract

import (
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

type object = unstructured.Unstructured

// Bounds of what is taken over from objects that others write.
const (
	maxAddresses  = 256
	maxText       = 512
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
func DataSecretName(o *object) (string, error) { return text(o, "status", "dataSecretName") }

// ProviderID is by what a Node is found.
func ProviderID(o *object) (string, error) { return text(o, "spec", "providerID") }

// FailureDomain is where the machine is.
func FailureDomain(o *object) (string, error) { return text(o, "status", "failureDomain") }

// OldFailureDomain is where the machine is by the contract of v1beta1, which has the provider
// decide what the spec of the Machine says. It is honoured under v1beta2 too.
func OldFailureDomain(o *object) (string, error) { return text(o, "spec", "failureDomain") }

// Failure are the reason and the message of a failure that the provider calls final.
func Failure(o *object) (reason, message string, err error) {
	if reason, err = text(o, "status", "failureReason"); err != nil {
		return "", "", err
	}
	message, err = anyText(o, "status", "failureMessage")
	return reason, message, err
}

// Address is one of a machine.
type Address struct {
	// Type is one of AddressTypes.
	Type    string
	Address string
}

// AddressTypes are the types of addresses that the contract has.
var AddressTypes = []string{"Hostname", "ExternalIP", "InternalIP", "ExternalDNS", "InternalDNS"}

// Addresses are those of a machine.
func Addresses(o *object) ([]Address, error) {
	path := []string{"status", "addresses"}
	list, err := objects(o, maxAddresses, path...)
	if err != nil {
		return nil, err
	}
	var all []Address
	for i, entry := range list {
		kind, _ := entry["type"].(string)
		value, _ := entry["address"].(string)
		if !slices.Contains(AddressTypes, kind) {
			return nil, fault(o, path, "entry %d has type %.40q; allowed are %s", i, kind, strings.Join(AddressTypes, ", "))
		}
		if value == "" || len(value) > maxText/2 {
			return nil, fault(o, path, "entry %d has no address of at most %d characters", i, maxText/2)
		}
		all = append(all, Address{Type: kind, Address: value})
	}
	return all, nil
}

// Endpoint is where the API of a cluster is reached.
type Endpoint struct {
	Host string
	Port int32
}

// ControlPlaneEndpoint is what an infrastructure of a cluster, or a control plane, offers;
// the zero value is none.
func ControlPlaneEndpoint(o *object) (Endpoint, error) {
	host, err := text(o, "spec", "controlPlaneEndpoint", "host")
	if err != nil {
		return Endpoint{}, err
	}
	path := []string{"spec", "controlPlaneEndpoint", "port"}
	port, _, err := unstructured.NestedInt64(o.Object, path...)
	if err != nil {
		return Endpoint{}, fault(o, path, "%v", err)
	}
	if port < 0 || port > 65535 {
		return Endpoint{}, fault(o, path, "%d is no port", port)
	}
	return Endpoint{Host: host, Port: int32(port)}, nil
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
func text(o *object, path ...string) (string, error) {
	value, err := anyText(o, path...)
	if err == nil && len(value) > maxText {
		return "", fault(o, path, "%d characters are more than %d", len(value), maxText)
	}
	return value, err
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
