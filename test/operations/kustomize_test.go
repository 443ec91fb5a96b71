// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package operations

import (
	"encoding/base64"
	"errors"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"k8s.io/client-go/rest"
	"sigs.k8s.io/yaml"

	"github.com/slipway-dev/slipway/artifacts/kustomized"
	"github.com/slipway-dev/slipway/test/documented"
	"github.com/slipway-dev/slipway/test/testenv"
)

// project is the directory in which the documented commands run.
const project = "../.."

// types runs a command line exactly as documented.
func (u user) types(command string) string {
	u.T.Helper()
	u.T.Logf("$ %s", command)
	cmd := exec.CommandContext(u.T.Context(), "bash", "-o", "pipefail", "-ec", command)
	cmd.Dir = project
	cmd.Env = append(os.Environ(), "HOME="+u.T.TempDir(), "KUBECONFIG="+u.Kubeconfig, "PATH="+testenv.BinDir()+string(os.PathListSeparator)+os.Getenv("PATH"))
	out, err := cmd.CombinedOutput()
	if err != nil {
		u.T.Fatalf("%v\n%s", err, out)
	}
	return string(out)
}

// The documented commands install Slipway in a new cluster and create a VM.
func TestManifests_InstallAReplicaThatCreatesAVMAsDocumented(t *testing.T) {
	pods, change := newContainers(t)
	testenv.Own(t, change)
	pods.run()
	u := admin(t)
	i := newInstaller(t, u)
	commands, err := documented.Commands(project, documented.Operate+"install-with-manifests.md", "## Install")
	if err != nil {
		t.Fatal(err)
	}
	said := ""
	for _, command := range commands {
		said += i.types(command)
	}
	for _, text := range []string{
		"namespace/slipway-system created\n", "networkpolicy.networking.k8s.io/slipway-default-deny created\n", "statefulset.apps/slipway-apiserver created\n",
		"apiservice.apiregistration.k8s.io/v1alpha1.vm.slipway.dev condition met\n", "apiservice.apiregistration.k8s.io/v1alpha1.cluster.slipway.dev condition met\n",
	} {
		if !strings.Contains(said, text) {
			t.Errorf("the output lacks %q:\n%s", text, said)
		}
	}
	if n := len(pods.all()); n != 1 {
		t.Errorf("%d pods run, want 1", n)
	}

	i.describesVCenter()
	zones, err := os.ReadFile(filepath.Join(project, "artifacts/examples/zones.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	u.Apply(string(zones))
	u.Kubectl("wait", "--for=condition=Ready", "vcenter/default", "zone/zone-a", "--timeout=90s")
	u.Apply(testenv.Catalogue + testenv.VM("first"))
	u.Kubectl("wait", "--for=condition=Ready", "vm/first", "--timeout=90s")

	i.scalesInVain(pods)
	i.updates(pods)
	i.turnsSnapshotsOn(pods)
	u.Kubectl("wait", "--for=condition=Ready", "vm/first", "--timeout=90s")
}

// scalesInVain scales the StatefulSet to two replicas. The second one has its own empty store and does not serve it.
func (i installer) scalesInVain(pods *containers) {
	i.T.Helper()
	i.types("kubectl scale -n slipway-system statefulset/slipway-apiserver --replicas=2")
	config, err := testenv.Of(i.T).DirectConfig("slipway-admin", "system:masters")
	if err != nil {
		i.T.Fatal(err)
	}
	config.Insecure, config.CAData, config.CAFile = true, nil, ""
	client, err := rest.HTTPClientFor(config)
	if err != nil {
		i.T.Fatal(err)
	}
	testenv.Eventually(i.T, testenv.Long, "the second replica is refused by the identity of the store", func() error {
		pod := pods.all()[serverName+"-1"]
		if pod == nil {
			return errors.New("it does not run")
		}
		got := answer(i.T.Context(), client, "https://"+pod.address+"/apis/vm.slipway.dev/v1alpha1/virtualmachines")
		if got.code != http.StatusServiceUnavailable || !got.again || !strings.Contains(got.text, "the store is not served: ") || !strings.Contains(got.text, " has the ID ") {
			return fmt.Errorf("%d %s", got.code, got.text)
		}
		return nil
	})
	if pods.all()[serverName+"-1"].ready {
		i.T.Error("the second replica is ready")
	}
	i.types("kubectl scale -n slipway-system statefulset/slipway-apiserver --replicas=1")
	testenv.Eventually(i.T, testenv.Long, "the second replica ends", func() error {
		if n := len(pods.all()); n != 1 {
			return fmt.Errorf("%d pods run", n)
		}
		return nil
	})
}

// updates changes the image of the replica as documented.
func (i installer) updates(pods *containers) {
	i.T.Helper()
	i.typesAll("upgrade.md", "## Change the image alone", "apiservice.apiregistration.k8s.io/v1alpha1.vm.slipway.dev condition met")
	for name, pod := range pods.all() {
		if !strings.HasSuffix(pod.image, ":v0.2.0") {
			i.T.Errorf("%s runs %s after the update", name, pod.image)
		}
	}
}

// turnsSnapshotsOn adds a volume for snapshots as documented.
func (i installer) turnsSnapshotsOn(pods *containers) {
	i.T.Helper()
	pods.orphaned.Store(true)
	i.typesAll("back-up-the-store.md", "## Snapshots on a schedule", "statefulset.apps/slipway-apiserver created\n")
	testenv.Eventually(i.T, testenv.Long, "the replica has taken a snapshot", func() error {
		files, err := filepath.Glob(filepath.Join(pods.snapshots("*"), "slipway-*.db"))
		if err == nil && len(files) == 0 {
			err = errors.New("it does not exist")
		}
		return err
	})
}

// typesAll runs all commands of a section of a page for operators and checks their output.
func (i installer) typesAll(page, heading, want string) {
	i.T.Helper()
	commands, err := documented.Commands(project, documented.Operate+page, heading)
	if err != nil {
		i.T.Fatal(err)
	}
	said := ""
	for _, command := range commands {
		said += i.types(command)
	}
	if !strings.Contains(said, want) {
		i.T.Errorf("the output of the commands of %q lacks %q:\n%s", heading, want, said)
	}
}

// describesVCenter applies the VCenter example with the address of the simulated vCenter.
func (i installer) describesVCenter() {
	i.T.Helper()
	example, err := os.ReadFile(filepath.Join(project, "artifacts/examples/vcenter.yaml"))
	if err != nil {
		i.T.Fatal(err)
	}
	v := testenv.Of(i.T).VCenter()
	ca, err := os.ReadFile(v.CAFile)
	if err != nil {
		i.T.Fatal(err)
	}
	text := string(example)
	for what, is := range map[string]string{
		"url: https://vcenter.example.com/sdk": "url: " + v.URL,
		"username: slipway@vsphere.local":      "username: " + v.Username,
		"password: change-me":                  "password: " + v.Password,
		`thumbprint: "00:11:22:33:44:55:66:77:88:99:AA:BB:CC:DD:EE:FF:00:11:22:33"`: "caBundle: " + base64.StdEncoding.EncodeToString(ca),
	} {
		if !strings.Contains(text, what) {
			i.T.Fatalf("the example has no %q", what)
		}
		text = strings.ReplaceAll(text, what, is)
	}
	user{testenv.User{T: i.T, Kubeconfig: i.Kubeconfig}}.Apply(text) // its objects have namespaces
}

// A real kube-apiserver checks the overlays: each field is known and valid.
func TestOverlays_AreAcceptedByTheManagementCluster(t *testing.T) {
	t.Parallel()
	u := user{testenv.User{T: t, Kubeconfig: testenv.Of(t).AdminKubeconfig}} // the objects have namespaces
	overlays, err := filepath.Glob(filepath.Join(project, "artifacts/deploy/overlays/*"))
	if err != nil || len(overlays) == 0 {
		t.Fatalf("overlays %v, %v", overlays, err)
	}
	// The overlay of --secret-namespaces binds a role in a namespace that exists.
	named := strings.NewReplacer("namespace: team-a\n", "namespace: "+admin(t).Namespace+"\n")
	dirs := []string{"deploy"}
	for _, dir := range overlays {
		dirs = append(dirs, "deploy/overlays/"+filepath.Base(dir))
	}
	for _, dir := range dirs {
		objects, err := kustomized.Build(os.DirFS(filepath.Join(project, "artifacts")), "resources: [../"+dir+"]\n")
		if err != nil {
			t.Fatal(err)
		}
		var known strings.Builder
		n := 0
		for _, o := range objects {
			if group := o.GroupVersionKind().Group; group == "monitoring.coreos.com" || group == "cert-manager.io" {
				continue // their kinds are not installed here
			}
			text, err := yaml.Marshal(o.Object)
			if err != nil {
				t.Fatal(err)
			}
			_, _ = fmt.Fprintf(&known, "---\n%s", named.Replace(string(text)))
			n++
		}
		// The environment owns some of them.
		said := u.Apply(known.String(), "--server-side", "--force-conflicts", "--dry-run=server", "--validate=strict")
		if got := strings.Count(said, " serverside-applied (server dry run)\n"); got != n {
			t.Errorf("%s: %d of %d objects are accepted:\n%s", dir, got, n, said)
		}
	}
}
