// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package app

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/spf13/pflag"

	"github.com/slipway-dev/slipway/test/house"
)

// inHostCluster simulates a Pod, which needs no kubeconfig.
func inHostCluster(t *testing.T) { t.Setenv(serviceHost, "10.0.0.1") }

func TestOptions_ReportInvalidFlags(t *testing.T) {
	inHostCluster(t)
	thumbprint := " --vcenter-thumbprint=" + strings.Repeat("0A:", 19) + "0A"
	notPEM := filepath.Join(t.TempDir(), "ca.crt")
	if err := os.WriteFile(notPEM, []byte("hunter2"), 0o600); err != nil {
		t.Fatal(err)
	}
	const vcenter = "--vcenter-url=https://vc/sdk --vcenter-credentials-file=f"
	for name, tc := range map[string]struct{ args, want string }{
		"no store":                         {"", "either --etcd-servers or --data-dir must be set"},
		"unsafe with an etcd of others":    {"--etcd-servers=http://e --etcd-unsafe-no-fsync", "--etcd-unsafe-no-fsync"},
		"garbage never collected":          {"--data-dir=d --gc-percent=-1", "--gc-percent -1: must be at least 10 and at most 1000"},
		"quota too small":                  {"--data-dir=d --etcd-quota-backend-bytes=1024", "--etcd-quota-backend-bytes 1024: must be 0, or at least 67108864"},
		"quota of an etcd of others":       {"--etcd-servers=http://e --etcd-quota-backend-bytes=67108864", "cannot be used with --etcd-servers"},
		"a delay without end":              {"--data-dir=d --shutdown-delay-duration=1h", "--shutdown-delay-duration 1h0m0s: must be at least 0s and at most 10m0s"},
		"snapshots of an etcd of others":   {"--etcd-servers=http://e --etcd-snapshot-dir=s", ""},
		"snapshots among the data":         {"--data-dir=d --etcd-snapshot-dir=d/member-data/s", "--etcd-snapshot-dir d/member-data/s: must not be inside the etcd data"},
		"snapshots all the time":           {"--data-dir=d --etcd-snapshot-interval=1s", "--etcd-snapshot-interval 1s: must be at least 1m0s"},
		"no snapshot is kept":              {"--data-dir=d --etcd-snapshot-retention=0", "--etcd-snapshot-retention 0: must be at least 1 and at most 10000"},
		"snapshots next to the data":       {"--data-dir=d --etcd-snapshot-dir=d/snapshots", ""},
		"vCenter without TLS":              {"--data-dir=d --vcenter-url=http://vc/sdk --vcenter-credentials-file=f", "--vcenter-url"},
		"vCenter without credentials":      {"--data-dir=d --vcenter-url=https://vc/sdk", "--vcenter-credentials-file"},
		"two sources of credentials":       {"--data-dir=d " + vcenter + " --vcenter-credentials-secret=a/b", "exactly one of"},
		"bad name of a Secret":             {"--data-dir=d --vcenter-url=https://vc/sdk --vcenter-credentials-secret=b", "NAMESPACE/NAME"},
		"CA and thumbprint":                {"--data-dir=d " + vcenter + " --vcenter-ca-file=c" + thumbprint, "at most one of"},
		"thumbprint that is none":          {"--data-dir=d " + vcenter + " --vcenter-thumbprint=AA:BB", `--vcenter-thumbprint: vCenter thumbprint "AA:BB": must be a SHA-256`},
		"missing CA":                       {"--data-dir=d " + vcenter + " --vcenter-ca-file=/absent", "--vcenter-ca-file: reading vCenter CA file: open /absent"},
		"CA that is none":                  {"--data-dir=d " + vcenter + " --vcenter-ca-file=" + notPEM, "--vcenter-ca-file: vCenter CA: no certificate found"},
		"missing certificate":              {"--data-dir=d --tls-cert-file=/absent --tls-private-key-file=/absent", "--tls-cert-file: open /absent"},
		"missing kubeconfig":               {"--data-dir=d --kubeconfig=/absent", "--kubeconfig: open /absent"},
		"missing CA of etcd":               {"--etcd-servers=https://e --etcd-cafile=/absent", "--etcd-cafile: open /absent"},
		"CA without vCenter":               {"--data-dir=d --vcenter-ca-file=c", "require --vcenter-url"},
		"bad namespace of Secrets":         {"--data-dir=d --vcenter-secrets-namespace=a/b", `--vcenter-secrets-namespace "a/b"`},
		"empty network, no vCenter":        {"--data-dir=d --vcenter-networks=a,,b", "--vcenter-networks"},
		"no creations":                     {"--data-dir=d --machine-creations-per-minute=0", "--machine-creations-per-minute 0: must be at least 1 and at most 10000"},
		"no Machines":                      {"--data-dir=d --max-machines-per-namespace=0", "--max-machines-per-namespace 0: must be at least 1 and at most 100000"},
		"templates without bounds":         {"--data-dir=d --max-template-annotations-bytes=1000000", "--max-template-annotations-bytes 1000000: must be at least 1 and at most 262144"},
		"no watches":                       {"--data-dir=d --max-watches-per-user=0", "--max-watches-per-user 0: must be at least 1 and at most 100000"},
		"no workers":                       {"--data-dir=d --controllers-workers=0", "--controllers-workers 0"},
		"no creates":                       {"--data-dir=d --concurrent-creates=-1", "--concurrent-creates -1"},
		"too many workers":                 {"--data-dir=d --controllers-workers=1025", "--controllers-workers 1025: must be at least 1 and at most 1024"},
		"too many creates":                 {"--data-dir=d --concurrent-creates=257", "--concurrent-creates 257: must be at least 1 and at most 256"},
		"too many reconfigurations":        {"--data-dir=d --concurrent-reconfigurations=257", "--concurrent-reconfigurations 257"},
		"no power changes":                 {"--data-dir=d --concurrent-power-changes=0", "--concurrent-power-changes 0"},
		"metrics that are none":            {"--data-dir=d --vm-metrics=all", "--vm-metrics \"all\""},
		"no connections of probes":         {"--data-dir=d --probe-connections=0", "--probe-connections 0"},
		"a network without bits":           {"--data-dir=d --probe-networks=10.0.0.0/8,10.0.0.1", "--probe-networks \"10.0.0.1\""},
		"a network with bits of hosts":     {"--data-dir=d --probe-networks=10.0.0.1/8", "--probe-networks \"10.0.0.1/8\""},
		"no deletes":                       {"--data-dir=d --concurrent-deletes=0", "--concurrent-deletes 0"},
		"no publishes":                     {"--data-dir=d --concurrent-publishes=0", "--concurrent-publishes 0: must be at least 1 and at most 256"},
		"too many calls":                   {"--data-dir=d " + vcenter + " --vcenter-max-calls=1000", "--vcenter-max-calls 1000: must be at least 1 and at most 256"},
		"unknown policy":                   {"--data-dir=d --instancetype-reference-policy=expand", "Reference, Expand, ExpandAll"},
		"unknown fast deploy":              {"--data-dir=d --fast-deploy=Linked", `--fast-deploy "Linked": must be one of off, direct, linked`},
		"negative aging":                   {"--data-dir=d --queue-aging=-1s", "--queue-aging -1s"},
		"busy resync":                      {"--data-dir=d --resync-period=1ms", "--resync-period 1ms"},
		"election without a namespace":     {"--data-dir=d --leader-elect-namespace=", "--leader-elect-namespace must not be empty"},
		"a store without a namespace":      {"--data-dir=d --leader-elect=false --leader-elect-namespace=", "--leader-elect-namespace must not be empty"},
		"everything that vCenter needs":    {"--data-dir=d " + vcenter + thumbprint, ""},
		"a store and nothing else":         {"--data-dir=d", ""},
		"the credentials come in a Secret": {"--data-dir=d --vcenter-url=https://vc/sdk --vcenter-credentials-secret=a/b", ""},
	} {
		t.Run(name, func(t *testing.T) {
			err := parse(t, tc.args).Validate()
			if tc.want == "" && err != nil {
				t.Fatalf("refused: %v", err)
			}
			if tc.want != "" && (err == nil || !strings.Contains(err.Error(), tc.want)) {
				t.Fatalf("error %v, want one that contains %q", err, tc.want)
			}
		})
	}
}

func TestOptions_RequireKubeconfigsOutsideOfTheManagementCluster(t *testing.T) {
	t.Setenv(serviceHost, "")
	err := parse(t, "--data-dir=d").Validate()
	for _, flag := range []string{"--kubeconfig", "--authentication-kubeconfig", "--authorization-kubeconfig"} {
		if err == nil || !strings.Contains(err.Error(), flag+" must be given") {
			t.Errorf("error %v, want one that requires %s", err, flag)
		}
	}
}

func TestOptions_RejectCredentialsInTheURLWithoutShowingThem(t *testing.T) {
	inHostCluster(t)
	err := parse(t, "--data-dir=d --vcenter-url=https://root:hunter2@vc/sdk --vcenter-credentials-file=f").Validate()
	if err == nil || strings.Contains(err.Error(), "hunter2") {
		t.Errorf("error %v, want one without the password", err)
	}
}

func TestOptions_StandaloneServerHasNoVCenter(t *testing.T) {
	o, err := NewStandaloneOptions(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = o.Recommended.SecureServing.Listener.Close() }()
	if err := o.Validate(); err != nil {
		t.Errorf("the standalone options are refused: %v", err)
	}
	o.VCenter.URL, o.VCenter.CredentialsFile = "https://vc/sdk", "f"
	if err := o.Validate(); err == nil || !strings.Contains(err.Error(), "management cluster") {
		t.Errorf("error %v, want one about the management cluster", err)
	}
}

func parse(t *testing.T, args string) *Options {
	t.Helper()
	o := NewOptions()
	flags := pflag.NewFlagSet("test", pflag.ContinueOnError)
	for _, set := range o.Flags().FlagSets {
		flags.AddFlagSet(set)
	}
	if err := flags.Parse(strings.Fields(args)); err != nil {
		t.Fatal(err)
	}
	return o
}

func TestOptions_UnknownFlagIsReportedInOneLine(t *testing.T) {
	cmd := NewCommand(t.Context())
	var out strings.Builder
	cmd.SetOut(&out)
	cmd.SetErr(&out)
	cmd.SilenceErrors = true
	cmd.SetArgs([]string{"--bogus"})
	err := cmd.Execute()
	if err == nil || err.Error() != "unknown flag: --bogus; run slipway-apiserver --help for the list of flags" || out.Len() > 0 {
		t.Errorf("error %v, output %q", err, out.String())
	}
}

func TestFlags_HaveTheDefaultsThatTheLimitsDocument(t *testing.T) {
	defaults := map[string]string{}
	for _, set := range NewOptions().Flags().FlagSets {
		set.VisitAll(func(f *pflag.Flag) { defaults[f.Name] = f.DefValue })
	}
	for _, g := range house.Groups {
		for _, l := range g.Limits {
			if value, ok := defaults[l.Flag]; l.Flag != "" && (!ok || value != l.Default) {
				t.Errorf("test/house/limits_table.go has --%s=%s; the flag exists: %t, its default: %q", l.Flag, l.Default, ok, value)
			}
		}
	}
}
