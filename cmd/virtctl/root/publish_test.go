// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package root_test

import (
	"strings"
	"testing"
	"testing/synctest"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	vmv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/vm/v1alpha1"
	"github.com/slipway-dev/slipway/test/clitest"
)

func TestPublish_RejectsInvalidFlags(t *testing.T) {
	for want, args := range map[string][]string{
		"--library is required":                                      {"publish", "web"},
		"accepts 1 arg(s), received 0":                               {"publish", "--library", "golden"},
		"accepts 1 arg(s), received 2":                               {"publish", "web", "db", "--library", "golden"},
		"--ttl 1.5s: must be a non-negative number of whole seconds": {"publish", "web", "--library", "golden", "--ttl", "1500ms"},
		"--ttl 59s: must be at least 1m0s":                           {"publish", "web", "--library", "golden", "--wait", "--ttl", "59s"},
		"--ttl -1s: must be a non-negative number of whole seconds":  {"publish", "web", "--library", "golden", "--ttl", "-1s"},
		`unknown flag: --content-library`:                            {"publish", "web", "--content-library", "golden"},
		`invalid argument "x" for "--timeout"`:                       {"publish", "web", "--library", "golden", "--timeout", "x"},
	} {
		s := &clitest.APIServer{}
		if code, _, errOut := run(t, s, args...); code == 0 || !strings.Contains(errOut, want) || len(s.Requests) != 0 {
			t.Errorf("%v: code %d, %q, requests %v; want none and %q", args, code, errOut, s.Requests, want)
		}
	}
}

func TestPublish_ReportsTheFirstUnfulfilledCondition(t *testing.T) {
	condition := func(kind string, status metav1.ConditionStatus, message string) metav1.Condition {
		return metav1.Condition{Type: kind, Status: status, Reason: "NotReady", Message: message}
	}
	for want, all := range map[string][]metav1.Condition{
		"waiting for the server":     nil,
		"SourceValid: it runs":       {condition("Uploaded", "False", "waits"), condition("SourceValid", "False", "it runs")},
		"TargetValid: NotReady":      {condition("SourceValid", "True", ""), condition("TargetValid", "Unknown", "")},
		"ImageAvailable: none as of": {condition("SourceValid", "True", ""), condition("Uploaded", "True", ""), condition("ImageAvailable", "False", "none as of")},
	} {
		r := vmv1alpha1.VirtualMachinePublishRequest{}
		r.Name, r.Status.Conditions = "web-1", all
		s := &clitest.APIServer{Answers: map[string]any{
			clitest.APIPrefix + "dev/virtualmachinepublishrequests": r, clitest.APIPrefix + "dev/virtualmachinepublishrequests/web-1": r,
		}}
		synctest.Test(t, func(t *testing.T) {
			code, _, errOut := clitest.RunInBubble(t.Context(), t, s, "publish", "web", "--library", "golden", "--wait", "--timeout", "1s")
			if code != 3 || !strings.HasSuffix(errOut, "(--timeout 1s): "+want+"\n") {
				t.Errorf("%v: exit code %d, %q, want %q", all, code, errOut, want)
			}
		})
	}
}

func TestPublish_WaitEndsIfTheRequestIsStalled(t *testing.T) {
	r := vmv1alpha1.VirtualMachinePublishRequest{}
	r.Name, r.Status.Conditions = "web-1", []metav1.Condition{
		{Type: vmv1alpha1.ConditionStalled, Status: metav1.ConditionTrue, Reason: vmv1alpha1.ReasonNameTaken, Message: "TargetValid is False: the item is of another namespace"},
		{Type: vmv1alpha1.ConditionTargetValid, Status: metav1.ConditionFalse, Reason: vmv1alpha1.ReasonNameTaken},
	}
	s := &clitest.APIServer{Answers: map[string]any{
		clitest.APIPrefix + "dev/virtualmachinepublishrequests": r, clitest.APIPrefix + "dev/virtualmachinepublishrequests/web-1": r,
	}}
	const want = "virtualmachinepublishrequest web-1 is Stalled (NameTaken): TargetValid is False: the item is of another namespace\n"
	synctest.Test(t, func(t *testing.T) {
		code, _, errOut := clitest.RunInBubble(t.Context(), t, s, "publish", "web", "--library", "golden", "--wait")
		if code != 1 || !strings.HasSuffix(errOut, want) {
			t.Errorf("exit code %d, %q, want 1 and %q", code, errOut, want)
		}
	})
}
