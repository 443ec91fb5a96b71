// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/slipway-dev/slipway/pkg/apis/vm/orphans"
	"github.com/slipway-dev/slipway/pkg/generated/clientset/versioned"
)

// ReadOrphans reads the report of orphans and copies.
func ReadOrphans(ctx context.Context, client versioned.Interface) (*orphans.Report, error) {
	answer := client.VmV1alpha1().RESTClient().Get().AbsPath(orphans.Path).Do(ctx)
	data, _ := answer.Raw() // an error has the reason in the body
	if err := answer.Error(); err != nil {
		if said := strings.TrimSpace(string(data)); said != "" && !strings.HasPrefix(said, "{") {
			return nil, fmt.Errorf("reading the report of orphans: %s", Printable(said))
		}
		return nil, fmt.Errorf("reading the report of orphans: %s", Reason(err))
	}
	var report orphans.Report
	if err := json.Unmarshal(data, &report); err != nil {
		return nil, fmt.Errorf("reading the report of orphans: %w", err)
	}
	return &report, nil
}

// Uncovered returns an error if a report does not cover all vCenters.
func Uncovered(report *orphans.Report) error {
	var all []string
	for _, u := range report.Unknown {
		all = append(all, Printable(u.VCenter)+" ("+Printable(u.Why)+")")
	}
	if len(all) == 0 {
		return nil
	}
	return fmt.Errorf("the orphans of vCenter %s are unknown: retry, or query another replica", strings.Join(all, ", "))
}
