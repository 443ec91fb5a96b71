// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package vm

import (
	"bytes"
	"compress/gzip"
	"encoding/base64"
	"strings"
	"testing"

	vmv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/vm/v1alpha1"
)

// gzipped compresses text.
func gzipped(t *testing.T, text string) string {
	t.Helper()
	var out bytes.Buffer
	w := gzip.NewWriter(&out)
	if _, err := w.Write([]byte(text)); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return out.String()
}

// cloud-init ignores user data without one of its markers, and reports that only in a log of the guest.
func TestUserData_IsUnpackedOrRejected(t *testing.T) {
	const config = "#cloud-config\npackages: [nginx]\n"
	const ignored = "False/Invalid: is ignored by cloud-init: it must begin with #cloud-config, #!, #include or another marker of user data, or be a MIME archive"
	inBase64 := func(text string) string { return base64.StdEncoding.EncodeToString([]byte(text)) }
	wrapped := func(text string) string { // in the format of base64(1)
		out := ""
		for len(text) > 76 {
			out, text = out+text[:76]+"\n", text[76:]
		}
		return out + text + "\n"
	}
	long := config + strings.Repeat("# hunter2\n", 1000)
	for name, tc := range map[string]struct{ value, want string }{
		"a cloud-config":                        {config, config},
		"a script":                              {"#!/bin/sh\n", "#!/bin/sh\n"},
		"after white space":                     {"\n #Cloud-Config\n", "\n #Cloud-Config\n"},
		"an archive of cloud-configs":           {"#cloud-config-archive\n[]\n", "#cloud-config-archive\n[]\n"},
		"a template":                            {"## template: jinja\n#cloud-config\n", "## template: jinja\n#cloud-config\n"},
		"an include file":                       {"#include-once\nhttps://example.org\n", "#include-once\nhttps://example.org\n"},
		"a MIME archive":                        {"Content-Type: multipart/mixed; boundary=a\nMIME-Version: 1.0\n", "Content-Type: multipart/mixed; boundary=a\nMIME-Version: 1.0\n"},
		"PowerShell":                            {"#ps1_sysnative\n", "#ps1_sysnative\n"},
		"a batch file":                          {"rem cmd\ndir\n", "rem cmd\ndir\n"},
		"Talos Linux":                           {"version: v1alpha1\nmachine: {}\n", "version: v1alpha1\nmachine: {}\n"},
		"several documents of Talos":            {"---\napiVersion: v1alpha1\nkind: HostnameConfig\n", "---\napiVersion: v1alpha1\nkind: HostnameConfig\n"},
		"Bottlerocket":                          {"# a comment\n[settings.kubernetes]\n", "# a comment\n[settings.kubernetes]\n"},
		"nothing":                               {" \n", " \n"},
		"packed":                                {gzipped(t, config), config},
		"packed, in base64":                     {inBase64(gzipped(t, config)), config},
		"packed, in base64 of many lines":       {wrapped(inBase64(gzipped(t, long))), long},
		"in base64":                             {inBase64(config), config},
		"no header":                             {"packages: [hunter2]\n", ignored},
		"a header that is not at the beginning": {"# hunter2\n#cloud-config\n", ignored},
		"no header, packed":                     {gzipped(t, "hunter2"), ignored},
		"no header, in base64":                  {inBase64("hunter2"), ignored},
		"packed twice":                          {gzipped(t, gzipped(t, config)), config},
		"packed three times":                    {gzipped(t, gzipped(t, gzipped(t, config))), ignored},
		"truncated":                             {gzipped(t, long)[:100], "False/Invalid: cannot be unpacked with gzip: unexpected EOF"},
		"too long when unpacked":                {gzipped(t, config+strings.Repeat(" ", 5<<20)), "False/Invalid: has more than 4194304 bytes after unpacking"},
	} {
		for key, from := range map[string]string{"user-data": "rawCloudConfig", "vendor-data": "rawVendorData"} {
			t.Run(name+" as "+key, func(t *testing.T) {
				ci := &vmv1alpha1.CloudInitBootstrap{RawCloudConfig: fromSecret}
				if key == "vendor-data" {
					ci = &vmv1alpha1.CloudInitBootstrap{RawVendorData: fromSecret}
				}
				h := newHarness(t, fresh(boots(vmv1alpha1.VirtualMachineBootstrap{CloudInit: ci})), photon())
				h.secret("s", map[string][]byte{key: []byte(tc.value)})
				h.mustReconcile()
				got := ""
				c := findCondition(h.vm(), vmv1alpha1.ConditionBootstrapReady)
				if data := h.provider.requests[0].Bootstrap; data != nil {
					got = string(data.CloudConfig) + string(data.VendorData)
				} else {
					_, why, _ := strings.Cut(c.Message, `spec.bootstrap.cloudInit.`+from+`: the value of key "`+key+`" of Secret "s" in namespace "ns" `)
					got = string(c.Status) + "/" + c.Reason + ": " + why
				}
				if got != tc.want || strings.Contains(c.Message, "hunter2") {
					t.Errorf("%.200q, BootstrapReady %s %q; want %.200q", got, c.Status, c.Message, tc.want)
				}
			})
		}
	}
}
