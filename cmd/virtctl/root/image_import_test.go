// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package root_test

import (
	"bytes"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/slipway-dev/slipway/cmd/virtctl/cli"
	vmv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/vm/v1alpha1"
	"github.com/slipway-dev/slipway/test/clitest"
)

// anISO writes one to import.
func anISO(t *testing.T) string {
	t.Helper()
	content := make([]byte, 20*2048)
	copy(content[16*2048:], "\x01CD001\x01")
	path := filepath.Join(t.TempDir(), "tools.iso")
	if err := os.WriteFile(path, content, 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestImageImport_ShowsProgress(t *testing.T) {
	clitest.UseVCenter(t)
	path := anISO(t)
	code, out, errOut := run(t, &clitest.APIServer{}, "image", "import", path, "--library", "slipway", "--name", "Tools 12")
	// In which pieces it is sent is the transport's matter.
	out = regexp.MustCompile(`uploading: [0-9]0?% .*\n`).ReplaceAllString(out, "")
	want := "no manifest has digests of tools.iso; sending without verification\nchecking: 80% of 40.0 KiB\nchecking: 100% of 40.0 KiB\n" +
		"uploading: 100% of 40.0 KiB\nimported " + path + " as item \"Tools 12\" of content library \"slipway\", version 2\n"
	if diff := cmp.Diff(want, out); code != 0 || diff != "" {
		t.Errorf("exit code %d, %s (-want +got):\n%s", code, errOut, diff)
	}
	code, _, errOut = run(t, &clitest.APIServer{}, "image", "import", path, "--library", "slipway", "--name", "Tools 12")
	if code != 1 || !strings.Contains(errOut, `error: importing `+path+`: content library "slipway" already has an item "Tools 12": use --update`) {
		t.Errorf("exit code %d, %s", code, errOut)
	}
}

func TestImageImport_WaitsForTheImage(t *testing.T) {
	clitest.UseVCenter(t)
	s := &clitest.APIServer{}
	code, _, errOut := run(t, s, "image", "import", anISO(t), "--library", "slipway", "--wait")
	if code != 1 || !strings.Contains(errOut, `no ContentLibrary object publishes the content library "slipway"`) {
		t.Errorf("without a ContentLibrary: exit code %d, %s", code, errOut)
	}
	s.Libraries = []vmv1alpha1.ContentLibrary{{ObjectMeta: metav1.ObjectMeta{Name: "all"}, Spec: vmv1alpha1.ContentLibrarySpec{Library: "slipway"}}}
	code, _, errOut = run(t, s, "image", "import", anISO(t), "--library", "slipway", "--wait", "--timeout", "1ms")
	if code != 3 || !strings.Contains(errOut, `item "tools" was imported, but no image of it is ready yet: no image exists`) {
		t.Errorf("without an image: exit code %d, %s", code, errOut)
	}
	image := vmv1alpha1.ClusterVirtualMachineImage{ObjectMeta: metav1.ObjectMeta{Name: "tools"}}
	image.Spec.ContentLibrary = &vmv1alpha1.ContentLibraryImageSource{Library: "slipway", Item: "tools"}
	image.Status.ContentVersion = "2" // of the version before
	s.ClusterImages = []vmv1alpha1.ClusterVirtualMachineImage{image}
	code, _, errOut = run(t, s, "image", "import", anISO(t), "--library", "slipway", "--update", "--wait", "--timeout", "1ms")
	if code != 3 || !strings.Contains(errOut, `ClusterVirtualMachineImage/tools is of version "2"`) {
		t.Errorf("with an image of the old version: exit code %d, %s", code, errOut)
	}
}

func TestImageImport_RequiresAVCenterAndAnAccount(t *testing.T) {
	path := anISO(t)
	for name, tc := range map[string]struct {
		url, user, password string
		args                []string
		want                string
	}{
		"no vCenter":         {want: "no vCenter specified: use --vcenter-url or GOVC_URL"},
		"no https":           {url: "http://vc", want: "is not a valid vCenter address"},
		"no host":            {url: "https://", want: "is not a valid vCenter address"},
		"no account":         {url: "vc", want: "user name and password are required: use --vcenter-username and --vcenter-password-file"},
		"no password":        {url: "vc", user: "me", want: "user name and password are required: use --vcenter-username and --vcenter-password-file"},
		"no password file":   {url: "vc", user: "me", args: []string{"--vcenter-password-file", "/none"}, want: "reading --vcenter-password-file"},
		"a name of controls": {url: "vc", user: "me", password: "x", args: []string{"--name", "a\x1b[2J"}, want: "--name"},
		"no such authority":  {url: "vc", user: "me", password: "x", args: []string{"--vcenter-ca-file", "/none"}, want: "reading the certificates of authorities"},
	} {
		t.Run(name, func(t *testing.T) {
			for key, value := range map[string]string{"GOVC_URL": tc.url, "GOVC_USERNAME": tc.user, "GOVC_PASSWORD": tc.password, "GOVC_TLS_CA_CERTS": ""} {
				t.Setenv(key, value)
			}
			code, _, errOut := run(t, &clitest.APIServer{}, append([]string{"image", "import", path, "--library", "l"}, tc.args...)...)
			if code != 1 || !strings.Contains(errOut, tc.want) {
				t.Errorf("exit code %d, %q; want %q", code, errOut, tc.want)
			}
		})
	}
}

func TestProgress_IsOneLineUntilAMessageIsPrinted(t *testing.T) {
	var out bytes.Buffer
	p := &cli.Progress{Out: &out, Bar: &out}
	p.At("uploading", 0, 2048)
	p.At("uploading", 1, 2048) // no whole percent
	p.At("uploading", 1024, 2048)
	p.Say("broken")
	p.At("uploading", 2048, 2048)
	p.End()
	want := "\ruploading [" + strings.Repeat(" ", 30) + "]   0% of 2.0 KiB\ruploading [" + strings.Repeat("=", 15) + strings.Repeat(" ", 15) + "]  50% of 2.0 KiB\nbroken\n" +
		"\ruploading [" + strings.Repeat("=", 30) + "] 100% of 2.0 KiB\n"
	if diff := cmp.Diff(want, out.String()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
