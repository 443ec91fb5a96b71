// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package localcluster

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"strconv"
	"strings"
	"time"

	"k8s.io/client-go/rest"

	"github.com/slipway-dev/slipway/test/localcluster/ports"
)

// probeTimeout limits one readiness request.
const probeTimeout = 5 * time.Second

// maxProbeAnswer is the maximum size of an answer that is read and printed, in bytes.
const maxProbeAnswer = 2048

func port(s ports.Set, name string) string { return strconv.Itoa(s[name]) }

// healthy requests path from the server of config, and requires status 200.
func healthy(config *rest.Config, path string) func(context.Context) error {
	return func(ctx context.Context) error {
		client, err := rest.HTTPClientFor(config)
		if err != nil {
			return err
		}
		ctx, cancel := context.WithTimeout(ctx, probeTimeout)
		defer cancel()
		req, err := http.NewRequestWithContext(ctx, http.MethodGet, config.Host+path, nil)
		if err != nil {
			return err
		}
		resp, err := client.Do(req)
		if err != nil {
			return err
		}
		defer resp.Body.Close()
		body, err := io.ReadAll(io.LimitReader(resp.Body, maxProbeAnswer))
		if err != nil {
			return err
		}
		if resp.StatusCode != http.StatusOK {
			return fmt.Errorf("%s answers %s: %s", path, resp.Status, strings.TrimSpace(string(body)))
		}
		return nil
	}
}

// VCenter is the connection data of the simulated vCenter.
type VCenter struct {
	// URL is that of the SDK, for example https://127.0.0.1:8989/sdk.
	URL string `json:"url"`
	// Thumbprint of the serving certificate.
	Thumbprint string `json:"thumbprint"`
	// CAFile holds the certificate to trust.
	CAFile string `json:"caFile"`
	// ControlURL is the URL for injecting faults. It is empty if the simulator has none.
	ControlURL string `json:"controlURL,omitempty"`
	// Username and Password log in as administrator.
	Username string `json:"-"`
	Password string `json:"-"`
}

// readVCenter reads the connection data that the simulated vCenter writes when it listens.
func readVCenter(file string) (VCenter, error) {
	data, err := os.ReadFile(file)
	if err != nil {
		return VCenter{}, err
	}
	var v VCenter
	if err := json.Unmarshal(data, &v); err != nil {
		return VCenter{}, fmt.Errorf("reading %s: %w", file, err)
	}
	if v.URL == "" {
		return VCenter{}, fmt.Errorf("%s names no URL", file)
	}
	return v, nil
}
