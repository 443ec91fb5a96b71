// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package vm

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime"
	clienttesting "k8s.io/client-go/testing"

	vmv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/vm/v1alpha1"
	"github.com/slipway-dev/slipway/pkg/controller"
	"github.com/slipway-dev/slipway/pkg/controller/vm/bootstrap"
	"github.com/slipway-dev/slipway/pkg/provider"
)

// fromSecret refers to the Secret s with the default keys.
var fromSecret = &vmv1alpha1.SecretKeySelector{Name: "s"}

// everyProvider has the default key of each value.
var everyProvider = map[string]vmv1alpha1.VirtualMachineBootstrap{
	"vendor-data":     {CloudInit: &vmv1alpha1.CloudInitBootstrap{RawVendorData: fromSecret}},
	"network-config":  {CloudInit: &vmv1alpha1.CloudInitBootstrap{RawNetworkConfig: fromSecret}},
	"ignition":        {Ignition: &vmv1alpha1.IgnitionBootstrap{RawConfig: fromSecret}},
	"unattend":        {Sysprep: &vmv1alpha1.SysprepBootstrap{RawSysprep: fromSecret}},
	"product-key":     {Sysprep: &vmv1alpha1.SysprepBootstrap{Answers: &vmv1alpha1.SysprepAnswers{ProductKey: fromSecret}}},
	"password":        {Sysprep: &vmv1alpha1.SysprepBootstrap{Answers: &vmv1alpha1.SysprepAnswers{AdministratorPassword: fromSecret}}},
	"domain-password": {Sysprep: &vmv1alpha1.SysprepBootstrap{Answers: &vmv1alpha1.SysprepAnswers{Domain: &vmv1alpha1.SysprepDomain{Password: fromSecret}}}},
}

func TestBootstrap_ConvertsValuesForTheGuest(t *testing.T) {
	for name, tc := range map[string]struct {
		key, value string
		want       provider.BootstrapData
	}{
		"vendor data":                          {"vendor-data", "#cloud-config\n", provider.BootstrapData{VendorData: []byte("#cloud-config\n")}},
		"a network configuration":              {"network-config", "version: 1\nconfig: []\n", provider.BootstrapData{NetworkConfig: []byte(`{"config":[],"version":1}`)}},
		"a network configuration as in a file": {"network-config", "network: {version: 2}\n", provider.BootstrapData{NetworkConfig: []byte(`{"version":2}`)}},
		"Ignition":                             {"ignition", `{"ignition":{"version":"3.4.0"}}`, provider.BootstrapData{Ignition: []byte(`{"ignition":{"version":"3.4.0"}}`)}},
		"an answer file of Windows":            {"unattend", "\ufeff<a>\r\n\t</a>\r\n", provider.BootstrapData{Sysprep: provider.SysprepData{Unattend: "<a>\n\t</a>\n"}}},
		"a product key":                        {"product-key", "AAAA-BBBB\n", provider.BootstrapData{Sysprep: provider.SysprepData{ProductKey: "AAAA-BBBB"}}},
		"a password":                           {"password", " with spaces \r\n", provider.BootstrapData{Sysprep: provider.SysprepData{AdministratorPassword: " with spaces "}}},
		"a password of a domain":               {"domain-password", "x", provider.BootstrapData{Sysprep: provider.SysprepData{DomainPassword: "x"}}},
	} {
		t.Run(name, func(t *testing.T) {
			h := newHarness(t, fresh(boots(everyProvider[tc.key])), photon())
			h.secret("s", map[string][]byte{tc.key: []byte(tc.value)})
			h.mustReconcile()
			if diff := cmp.Diff(&tc.want, h.provider.requests[0].Bootstrap); diff != "" {
				t.Errorf("bootstrap data (-want +got):\n%s", diff)
			}
		})
	}
}

func TestBootstrap_ReportsInvalidValuesByFieldAndKeyOnly(t *testing.T) {
	for name, tc := range map[string]struct{ key, value, field, why string }{
		"vendor data that is too long":            {"vendor-data", "hunter2" + random(100_000), "cloudInit.rawVendorData", "is too long"},
		"an invalid network configuration":        {"network-config", "hunter2: true", "cloudInit.rawNetworkConfig", "its version must be 1 or 2"},
		"a network configuration as text":         {"network-config", "hunter2", "cloudInit.rawNetworkConfig", "is not a YAML mapping"},
		"an unknown version":                      {"network-config", "version: 3\nx: hunter2", "cloudInit.rawNetworkConfig", "its version must be 1 or 2"},
		"a long network configuration":            {"network-config", "version: 2\nx: hunter2" + strings.Repeat("x", bootstrap.MaxNetworkConfig), "cloudInit.rawNetworkConfig", "the maximum is 16384"},
		"Butane":                                  {"ignition", "variant: hunter2", "ignition.rawConfig", "is not JSON"},
		"JSON for another program":                {"ignition", `{"password":"hunter2"}`, "ignition.rawConfig", "has no ignition.version"},
		"an empty answer file":                    {"unattend", " \r\n", "sysprep.rawSysprep", "is empty"},
		"an answer file in UTF-16":                {"unattend", "\xff\xfeh\x00u\x00n\x00t\x00e\x00r\x002\x00", "sysprep.rawSysprep", "is not UTF-8"},
		"a long answer file":                      {"unattend", "hunter2" + strings.Repeat("x", bootstrap.MaxAnswerFile), "sysprep.rawSysprep", "the maximum is 524288"},
		"an empty password":                       {"password", "\n", "sysprep.answers.administratorPassword", "is empty"},
		"a password of two lines":                 {"password", "hunter2\nhunter2", "sysprep.answers.administratorPassword", "contains control characters"},
		"a password that is too long for Windows": {"domain-password", strings.Repeat("hunter2", 20), "sysprep.answers.domain.password", "is longer than 127 bytes"},
		"a product key with escape in it":         {"product-key", "hunter2\x1b", "sysprep.answers.productKey", "contains control characters"},
		"an empty value":                          {"password", "", "sysprep.answers.administratorPassword", "is empty"},
		"random data where text is expected":      {"network-config", "\x00hunter2", "cloudInit.rawNetworkConfig", "is not a YAML mapping"},
	} {
		t.Run(name, func(t *testing.T) {
			h := newHarness(t, fresh(boots(everyProvider[tc.key])), photon())
			h.secret("s", map[string][]byte{tc.key: []byte(tc.value)})
			result := h.mustReconcile()
			c := findCondition(h.vm(), vmv1alpha1.ConditionBootstrapReady)
			if c.Status != "False" || c.Reason != vmv1alpha1.ReasonInvalid || result.RequeueAfter != controller.Recheck {
				t.Errorf("BootstrapReady is %s/%s, requeued after %s; want False/Invalid and a requeue", c.Status, c.Reason, result.RequeueAfter)
			}
			if want := `spec.bootstrap.` + tc.field + `: the value of key "` + tc.key + `" of Secret "s"`; !strings.HasPrefix(c.Message, want) ||
				!strings.Contains(c.Message, tc.why) || strings.Contains(c.Message, "hunter2") {
				t.Errorf("message %q, want %s, %q and not the value", c.Message, want, tc.why)
			}
			if h.provider.requests[0].PrerequisitesReady {
				t.Error("the VM was created nevertheless")
			}
		})
	}
}

// random returns text that cannot be compressed.
func random(n int) string {
	out, state := make([]byte, n), uint32(1)
	for i := range out {
		state ^= state << 13
		state ^= state >> 17
		state ^= state << 5
		out[i] = byte(' ' + state%95)
	}
	return string(out)
}

func TestBootstrap_ReportsASecretThatTheServerMayNotRead(t *testing.T) {
	h := newHarness(t, fresh(boots(vmv1alpha1.VirtualMachineBootstrap{CloudInit: &vmv1alpha1.CloudInitBootstrap{RawCloudConfig: fromSecret}})), photon())
	h.host.PrependReactor("get", "secrets", func(clienttesting.Action) (bool, runtime.Object, error) {
		return true, nil, apierrors.NewForbidden(corev1.Resource("secrets"), "s", errors.New("--secret-namespaces does not include it"))
	})
	h.mustReconcile()
	if got := h.condition(vmv1alpha1.ConditionBootstrapReady); got != "False/NotAllowed" {
		t.Errorf("BootstrapReady is %s", got)
	}
	c := findCondition(h.vm(), vmv1alpha1.ConditionBootstrapReady)
	if !strings.Contains(c.Message, `Secret "s" in namespace`) || !strings.Contains(c.Message, "--secret-namespaces does not include it") {
		t.Errorf("message %q", c.Message)
	}
}

func TestBootstrap_ReadsSecretsAgainOnlyForANewInstanceID(t *testing.T) {
	instance := func(id string) func(*vmv1alpha1.VirtualMachine) {
		return boots(vmv1alpha1.VirtualMachineBootstrap{CloudInit: &vmv1alpha1.CloudInitBootstrap{InstanceID: id, RawCloudConfig: fromSecret}})
	}
	for name, tc := range map[string]struct {
		spec, instanceID string
		ready            string
		want             bool
	}{
		"unchanged":                  {"", "", "True", false},
		"unchanged, set in the spec": {"a", "a", "True", false},
		"another ID":                 {"b", "a", "True", true},
		"the first ID in the spec":   {"b", "", "True", true},
		"the object's UID again":     {"", "a", "True", true},
		"not read before":            {"", "", "False", true},
	} {
		t.Run(name, func(t *testing.T) {
			h := newHarness(t, fresh(instance(tc.spec), func(vm *vmv1alpha1.VirtualMachine) {
				vm.Status.UniqueID = "vm-1"
				setTrue(vm, time.Now(), vmv1alpha1.ConditionCreated)
				if tc.instanceID != "" {
					vm.Status.Bootstrap = &vmv1alpha1.VirtualMachineBootstrapStatus{InstanceID: tc.instanceID}
				}
				if tc.ready == "False" {
					setFalse(vm, time.Now(), vmv1alpha1.ConditionBootstrapReady, vmv1alpha1.ReasonNotFound, "")
				} else {
					setTrue(vm, time.Now(), vmv1alpha1.ConditionBootstrapReady)
				}
			}), photon())
			h.secret("s", map[string][]byte{"user-data": []byte("#!new")})
			h.mustReconcile()
			got := h.provider.requests[0].Bootstrap
			if (got != nil) != tc.want || got != nil && string(got.CloudConfig) != "#!new" {
				t.Errorf("bootstrap data %+v, want any: %t", got, tc.want)
			}
			if got := h.condition(vmv1alpha1.ConditionBootstrapReady); got != "True/Succeeded" {
				t.Errorf("BootstrapReady is %s", got)
			}
		})
	}
}
