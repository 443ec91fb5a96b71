// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package app

import (
	"errors"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/slipway-dev/slipway/test/simulated"
	"github.com/slipway-dev/slipway/test/vcenter"
)

func TestMain(m *testing.M) { simulated.Main(m) }

func TestCheckOfVCenterEndsByWhatIsMissing(t *testing.T) {
	ready := simulated.Start(t)
	credentials := filepath.Join(t.TempDir(), "credentials")
	write := func(password string) {
		t.Helper()
		if err := os.WriteFile(credentials, []byte("username: "+vcenter.DefaultUsername+"\npassword: "+password+"\n"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	check := func(more string) (string, error) {
		var out strings.Builder
		err := checkVCenter(t.Context(), parse(t, "--check-vcenter --vcenter-url="+ready.URL+" --vcenter-ca-file="+ready.CAFile+
			" --vcenter-credentials-file="+credentials+" "+more), &out)
		return out.String(), err
	}
	const places = "--vcenter-folder=/DC0/vm/slipway --vcenter-datastore=LocalDS_0 --vcenter-network=DC0_DVPG0"
	write(vcenter.DefaultPassword)
	if out, err := check(places); err != nil || !strings.Contains(out, "folder /DC0/vm/slipway: ok") {
		t.Errorf("with all privileges: %v\n%s", err, out)
	}
	simulated.Control(t, ready, http.MethodPut, "/permissions?entity=/DC0/vm/slipway&without=VirtualMachine.Interact.PowerOn")
	if out, err := check(places); !errors.Is(err, errLacking) || !strings.Contains(out, "folder /DC0/vm/slipway: missing privilege VirtualMachine.Interact.PowerOn\n") {
		t.Errorf("without a privilege: %v\n%s", err, out)
	}
	if _, err := check("--vcenter-max-calls=0"); err == nil || !strings.Contains(err.Error(), "--vcenter-max-calls 0") {
		t.Errorf("bad flag: %v", err)
	}
	write("wrong")
	if out, err := check(places); err == nil || errors.Is(err, errLacking) || strings.Contains(err.Error()+out, "wrong") {
		t.Errorf("wrong password: %v\n%s", err, out)
	}
	if err := checkVCenter(t.Context(), parse(t, "--check-vcenter"), &strings.Builder{}); err == nil || !strings.Contains(err.Error(), "--vcenter-url") {
		t.Errorf("without vCenter: %v", err)
	}
}
