// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package root_test

import (
	"bufio"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/cli-runtime/pkg/genericclioptions"
	"k8s.io/cli-runtime/pkg/genericiooptions"
	"k8s.io/utils/ptr"

	"github.com/slipway-dev/slipway/cmd/virtctl/cli"
	"github.com/slipway-dev/slipway/cmd/virtctl/dashboard"
	"github.com/slipway-dev/slipway/cmd/virtctl/root"
	"github.com/slipway-dev/slipway/test/clitest"
)

func TestDashboard_RejectsInvalidPorts(t *testing.T) {
	for _, port := range []string{"-1", "65536"} {
		code, out, errOut := run(t, &clitest.APIServer{}, "dashboard", "--port", port)
		if code != 1 || out != "" || errOut != "error: --port "+port+": must be from 0 (a free port) to 65535\n" {
			t.Errorf("port %s: exit code %d, %q %q", port, code, out, errOut)
		}
	}
}

func TestDashboard_PrintsItsURL(t *testing.T) {
	server := httptest.NewServer(&clitest.APIServer{})
	defer server.Close()
	flags := genericclioptions.NewConfigFlags(true)
	flags.APIServer, flags.Namespace, flags.KubeConfig = &server.URL, ptr.To("team-a"), ptr.To("/dev/null")
	read, write := io.Pipe()
	cmd := root.NewCommand("virtctl", cli.NewFactory(flags, genericiooptions.IOStreams{Out: write, ErrOut: io.Discard}))
	cmd.SetArgs([]string{"dashboard"})
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- cmd.ExecuteContext(ctx) }()
	line, err := bufio.NewReader(read).ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	u, err := url.Parse(strings.TrimSpace(line))
	if err != nil {
		t.Fatal(err)
	}
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://"+u.Host+"/session", nil)
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set(dashboard.TokenHeader, strings.TrimPrefix(u.Fragment, "token="))
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = resp.Body.Close() }()
	var got dashboard.Session
	if err := json.NewDecoder(resp.Body).Decode(&got); err != nil {
		t.Fatal(err)
	}
	got.Version = ""
	if diff := cmp.Diff(dashboard.Session{Server: server.URL, Namespace: "team-a", OnlyNamespace: true}, got); diff != "" {
		t.Errorf("session (-want +got):\n%s", diff)
	}
	cancel()
	if err := <-ended; err != nil {
		t.Errorf("the end: %v", err)
	}
}
